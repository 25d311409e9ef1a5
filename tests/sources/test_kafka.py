from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from panelake.errors import PartDownError

HELPER = Path(__file__).parents[1] / "stages" / "ingest_world.py"
spec = importlib.util.spec_from_file_location("ingest_world", HELPER)
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World, minute, assert_conserved, line, at = (
    ingest_world.World,
    ingest_world.minute,
    ingest_world.assert_conserved,
    ingest_world.line,
    ingest_world.at,
)

pytestmark = pytest.mark.spark


def send(broker, topic, messages):
    """(partition, broker second, value) each, in order."""
    from confluent_kafka import Producer  # noqa: PLC0415 - an optional part

    producer = Producer({"bootstrap.servers": broker})
    for partition, second, value in messages:
        producer.produce(topic, value, partition=partition, timestamp=at(second) // 1000)
        producer.flush()


@pytest.fixture(scope="module")
def topic(broker):
    from confluent_kafka.admin import AdminClient, NewTopic  # noqa: PLC0415 - an optional part

    admin = AdminClient({"bootstrap.servers": broker})
    [made] = admin.create_topics([NewTopic("cars", 2, 1)]).values()
    made.result(60)
    return "cars"


def test_messages_come_by_offset_ranges_that_are_recorded(tmp_path, spark_server, broker, topic):
    #  broker time   5 s      20 s      30 s    |  65 s       70 s
    #  partition 0   car 1    garbage           |  car 4
    #  partition 1            car 2     car 3   |  car 5 (event time 50 s: late)
    source = f"{{format: kafka, servers: '{broker}', topic: {topic}}}"
    world = World(tmp_path, spark_server, source, "lateness: 1 minute")
    early = [(0, 5, line(1, 1.0, 5)), (1, 20, line(2, 1.0, 4)), (0, 20, "garbage"), (1, 30, line(3, 1.0, 30))]
    send(broker, topic, [*early, (0, 65, line(4, 1.0, 65)), (1, 70, line(5, 1.0, 50))])
    first = world.ingest(minute(0))
    assert world.numbered() == [(0, 2, 4), (1, 1, 5), (2, 3, 30)]
    assert world.quarantined() == [("garbage", "not a JSON object")]
    assert world.rows("quarantine")[0]["_source"] == {"file": "kafka:cars/00000", "position": 1}
    send(broker, topic, [(0, 66, line(6, 1.0, 61))])
    second = world.ingest(minute(1))
    assert world.numbered()[3:] == [(3, 5, 50), (4, 6, 61), (5, 4, 65)]
    before = world.bronze()
    send(broker, topic, [(0, 67, line(7, 1.0, 62))])
    assert world.ingest(minute(1)).details["accepted"] == 3
    assert world.bronze() == before
    for entry in (first, second):
        assert_conserved(entry)


def test_a_topic_that_is_not_there_is_named(tmp_path, spark_server, broker):
    world = World(tmp_path, spark_server, f"{{format: kafka, servers: '{broker}', topic: trucks}}")
    with pytest.raises(PartDownError, match="topic 'trucks' is not there"):
        world.ingest(minute(0))
