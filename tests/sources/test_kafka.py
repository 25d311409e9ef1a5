from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from panelake.errors import BadInputError, PartDownError
from panelake.sources.inputs import SliceInput, choose_unseen
from panelake.sources.source import reader_of
from panelake.workspace import load_workspace

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

    producer = Producer({"bootstrap.servers": broker, "log_level": 0})
    for partition, second, value in messages:
        producer.produce(topic, value, partition=partition, timestamp=at(second) // 1000)
        producer.flush()


@cache  # a client that nobody holds any more takes its unanswered questions with it
def admin(broker):
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - an optional part

    return AdminClient({"bootstrap.servers": broker, "log_level": 0})


def make_topic(broker, name, partitions=2, **settings):
    from confluent_kafka.admin import NewTopic  # noqa: PLC0415 - an optional part

    [made] = admin(broker).create_topics([NewTopic(name, partitions, 1, config=settings)]).values()
    made.result(60)
    return name


@pytest.fixture(scope="module")
def topic(broker):
    return make_topic(broker, "cars")


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


class Slices:
    """What each slice takes of a topic, told by the reader alone: offset ranges need no Spark."""

    def __init__(self, folder, broker, topic):
        World(folder, "", f"{{format: kafka, servers: '{broker}', topic: {topic}}}")
        self.topic = topic
        self.reader = reader_of(load_workspace(folder), "cars")
        self.recorded = {}

    def take(self, index):
        """The slice's ranges as {partition: (first, last)}, recorded as ingest does."""
        pieces = self.reader.pieces(minute(index), self.recorded)
        if minute(index) not in self.recorded:
            self.recorded[minute(index)] = SliceInput(choose_unseen(pieces, self.recorded))
        places = [piece.path.removeprefix(f"kafka:{self.topic}/").split("/") for piece in pieces]
        return {int(partition): tuple(map(int, span.split("-"))) for partition, span in places}


def test_a_partition_that_was_added_is_taken_from_its_first_message_on(tmp_path, broker):
    #  slice         0               |  1
    #  partition 0   0 (5 s)         |  1 (65 s)
    #  partition 1   … is added      |  0 (50 s), 1 (70 s)
    slices = Slices(tmp_path, broker, make_topic(broker, "grown", 1))
    send(broker, "grown", [(0, 5, "{}")])
    assert slices.take(0) == {0: (0, 1)}
    from confluent_kafka.admin import NewPartitions  # noqa: PLC0415 - an optional part

    [grown] = admin(broker).create_partitions([NewPartitions("grown", 2)]).values()
    grown.result(60)
    send_when_known(broker, "grown", [(1, 50, "{}"), (0, 65, "{}"), (1, 70, "{}"), (1, 130, "{}")])
    assert slices.take(1) == {0: (1, 2), 1: (0, 2)}
    assert slices.take(0) == {0: (0, 1)}
    assert slices.take(2) == {0: (2, 2), 1: (2, 3)}


def send_when_known(broker, topic, messages):
    """Once every partition has a leader."""
    from confluent_kafka import Consumer  # noqa: PLC0415 - an optional part

    consumer = Consumer({"bootstrap.servers": broker, "group.id": "tests", "log_level": 0})
    wanted = {partition for partition, _, _ in messages}
    while not wanted <= {
        number for number, known in consumer.list_topics(topic).topics[topic].partitions.items() if known.leader >= 0
    }:
        time.sleep(0.1)
    consumer.close()
    send(broker, topic, messages)


def test_a_quiet_partition_goes_on_where_it_ended(tmp_path, broker):
    #  slice         0     | 1  | 2  | 3          after slice 2, a message comes whose time is in slice 1
    #  partition 0   0 (5) |    |    | 1 (70)
    slices = Slices(tmp_path, broker, make_topic(broker, "quiet", 1))
    send(broker, "quiet", [(0, 5, "{}")])
    assert [slices.take(0), slices.take(1), slices.take(2)] == [{0: (0, 1)}, {0: (1, 1)}, {0: (1, 1)}]
    send(broker, "quiet", [(0, 70, "{}"), (0, 250, "{}")])
    assert slices.take(3) == {0: (1, 2)}


def test_a_slice_that_comes_late_takes_nothing_that_a_later_one_took(tmp_path, broker):
    #  slice        0      | 1 (run last)   | 2
    #  offsets      0 (5)  | 1 (65) 2 (70)  | 3 (125) 4 (60)
    slices = Slices(tmp_path, broker, make_topic(broker, "gap", 1))
    send(broker, "gap", [(0, 5, "{}"), (0, 65, "{}"), (0, 70, "{}"), (0, 125, "{}"), (0, 60, "{}")])
    assert slices.take(0) == {0: (0, 1)}
    assert slices.take(2) == {0: (1, 5)}
    assert slices.take(1) == {0: (1, 1)}


def test_messages_that_expired_before_their_slice_are_told_by_offset(tmp_path, broker):
    slices = Slices(tmp_path, broker, make_topic(broker, "expired", 1))
    send(broker, "expired", [(0, 5, "{}"), (0, 65, "{}"), (0, 66, "{}"), (0, 125, "{}")])
    assert slices.take(0) == {0: (0, 1)}
    expire(broker, "expired", 2)
    with pytest.raises(BadInputError, match="messages 1 to 1 of expired/0 belong to this slice, and the broker keeps"):
        slices.take(1)
    with pytest.raises(BadInputError, match="messages 0 to 0 of expired/0"):
        slices.take(0)


def expire(broker, topic, offset):
    from confluent_kafka import TopicPartition  # noqa: PLC0415 - an optional part

    for done in admin(broker).delete_records([TopicPartition(topic, 0, offset)]).values():
        done.result(60)


def test_a_topic_that_was_made_anew_is_no_more_the_streams(tmp_path, broker):
    slices = Slices(tmp_path, broker, make_topic(broker, "anew", 2))
    send(broker, "anew", [(0, 5, "{}"), (0, 6, "{}"), (1, 7, "{}")])
    assert slices.take(0) == {0: (0, 2), 1: (0, 1)}
    remake(broker, "anew", 2)
    send_when_known(broker, "anew", [(0, 65, "{}")])
    with pytest.raises(BadInputError, match="anew/0 ends at offset 1, and slices were taken up to 2"):
        slices.take(1)
    remake(broker, "anew", 1)
    send_when_known(broker, "anew", [(0, 65 + second, "{}") for second in range(3)])
    with pytest.raises(BadInputError, match="has 1 partitions, and earlier slices took from partition 1"):
        slices.take(1)


def remake(broker, topic, partitions):
    for done in admin(broker).delete_topics([topic]).values():
        done.result(60)
    for _ in range(100):  # its name is free a moment later
        try:
            make_topic(broker, topic, partitions)
        except Exception:  # noqa: BLE001 - of the optional part
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"topic {topic} cannot be made anew")


def test_a_compacted_topic_is_refused(tmp_path, broker):
    slices = Slices(tmp_path, broker, make_topic(broker, "latest", 1, **{"cleanup.policy": "compact"}))
    with pytest.raises(BadInputError, match=r"topic latest has cleanup\.policy=compact: the broker drops messages"):
        slices.take(0)


def test_slices_go_on_after_the_broker_was_killed(tmp_path, broker, broker_process):
    slices = Slices(tmp_path, broker, make_topic(broker, "killed", 2))
    send(broker, "killed", [(0, 5, "{}"), (1, 20, "{}")])
    assert slices.take(0) == {0: (0, 1), 1: (0, 1)}
    broker_process.kill()
    broker_process.start()
    send_when_known(broker, "killed", [(0, 65, "{}"), (1, 30, "{}"), (1, 66, "{}")])
    assert slices.take(0) == {0: (0, 1), 1: (0, 1)}
    assert slices.take(1) == {0: (1, 2), 1: (1, 3)}


def test_the_containers_topic_is_made_once(broker):
    script = Path(__file__).parents[2] / "docker" / "make_topic.py"
    for _ in range(2):
        subprocess.run([sys.executable, script, broker, "made", "3"], check=True)
    assert set(admin(broker).list_topics("made").topics["made"].partitions) == {0, 1, 2}
