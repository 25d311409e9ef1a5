"""Makes a Kafka topic where it is not there yet: `make_topic.py SERVERS NAME PARTITIONS`."""

from __future__ import annotations

import sys

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

SECONDS = 60.0


def make_topic(servers: str, name: str, partitions: int) -> None:
    """A second time nothing is left to do."""
    admin = AdminClient({"bootstrap.servers": servers})
    [made] = admin.create_topics([NewTopic(name, partitions, 1)]).values()
    try:
        made.result(SECONDS)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


if __name__ == "__main__":
    make_topic(sys.argv[1], sys.argv[2], int(sys.argv[3]))
