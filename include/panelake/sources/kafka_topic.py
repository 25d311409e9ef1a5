"""A Kafka topic whose messages are JSON objects: offset ranges, recorded per slice.

A slice takes from the end of the slice before it, else from the first message at or after its start by the broker's
time, to the first message at or after its end, and never what a later slice took already. A partition that was added
since is taken from its first message on. A message's place is its partition, then its offset.

Nothing is skipped in silence: messages that the broker let go before their slice, a topic that was made anew or lost a
partition, and a compacted topic, whose messages may go at any time, are refused.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.errors import BadInputError, PartDownError, TransientError
from panelake.slices import Slice
from panelake.sources import json_lines
from panelake.sources.files import SourceFile
from panelake.sources.inputs import UNKNOWN, Recorded, TimeSpan
from panelake.sources.lines import LINE
from panelake.sources.source import BLOCK, FILE, POSITION, empty_frame

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_MESSAGES_A_TASK = 500_000
_NO_OFFSET = 1 << 62
_MESSAGES_A_BATCH = 10_000
_WAIT_SECONDS = 60.0
_POLL_SECONDS = 1.0
_PIECE = re.compile(r"kafka:(?P<topic>.+)/(?P<partition>\d+)/(?P<first>\d+)-(?P<last>\d+)")
_RANGES = "task int, servers string, topic string, partition int, first bigint, last bigint"
_MESSAGES = f"{LINE} binary, {FILE} string, {POSITION} bigint, {BLOCK} bigint"


class Reader(json_lines.Reader):
    """Reads a stream's topic."""

    def pieces(self, part: Slice, recorded: Recorded) -> list[SourceFile]:
        """One offset range a partition, also where it is empty: the next slice goes on from its end."""
        if part in recorded:
            return self._still_there([taken.file for taken in recorded[part].files])
        consumer = _consumer(self.declared.source.servers)
        try:
            around = _Around(_preceding_ends(part, recorded), _following_starts(part, recorded))
            partitions = self._partitions(consumer)
            self._require_sound(partitions, around)
            return [self._range(consumer, partition, part, around) for partition in partitions]
        finally:
            consumer.close()

    def span(self, piece: SourceFile) -> TimeSpan:  # noqa: ARG002 - event times are in the messages
        """Unknown: every range belongs to one slice alone."""
        return UNKNOWN

    def read(self, spark: SparkSession, pieces: Sequence[SourceFile]) -> DataFrame:
        """The messages of the ranges, parsed as JSON lines are."""
        ranges = [row for piece in pieces for row in _tasks(self.declared.source.servers, piece)]
        if not ranges:
            return empty_frame(spark, self.declared)
        rows = [(index, *row) for index, row in enumerate(ranges)]
        asked = spark.createDataFrame(rows, _RANGES).repartitionById(len(rows), F.col("task"))
        messages = asked.drop("task").mapInArrow(read_ranges, _MESSAGES)
        return self.parsed(messages.withColumn(LINE, F.col(LINE).cast("string")))

    def _partitions(self, consumer: Consumer) -> list[int]:
        topic = self.declared.source.topic
        found = _asked(lambda: consumer.list_topics(topic, timeout=_WAIT_SECONDS)).topics[topic]
        if found.error is not None or not found.partitions:
            raise PartDownError(
                f"stream {self.stream}: topic {topic!r} is not there ({found.error}); create it, or correct 'topic'"
            )
        return sorted(found.partitions)

    def _require_sound(self, partitions: Sequence[int], around: _Around) -> None:
        """Refuse a topic that cannot be the one that slices were taken from, and one that drops messages by key."""
        source = self.declared.source
        gone = sorted((around.ends.keys() | around.starts.keys()) - {*partitions})
        if gone:
            raise BadInputError(
                f"stream {self.stream}: topic {source.topic} has {len(partitions)} partitions, and earlier slices took"
                f" from partition {gone[0]}; was the topic made anew? Give the new one a stream of its own"
            )
        policy = cleanup_policy(source.servers, source.topic)
        if "compact" in policy:
            raise BadInputError(
                f"stream {self.stream}: topic {source.topic} has cleanup.policy={policy}: the broker drops messages"
                " that a later one of the same key replaces, also before a slice took them;"
                " copy it to a topic with cleanup.policy=delete, and read that"
            )

    def _range(self, consumer: Consumer, partition: int, part: Slice, around: _Around) -> SourceFile:
        topic = self.declared.source.topic
        first = around.first(partition)
        if first is None:
            first = _offset_at(consumer, topic, partition, part.start)
        last = min(_offset_at(consumer, topic, partition, part.end), around.starts.get(partition, _NO_OFFSET))
        last = max(first, last)
        self._require_kept(consumer, topic, partition, first, last)
        return SourceFile(f"kafka:{topic}/{partition}/{first}-{last}", last - first, 0)

    def _require_kept(self, consumer: Consumer, topic: str, partition: int, first: int, last: int) -> None:
        low, high = _watermarks(consumer, topic, partition)
        if last > high:
            raise BadInputError(
                f"stream {self.stream}: {topic}/{partition} ends at offset {high}, and slices were taken up to {last}:"
                " the topic was made anew or lost messages. Give the new one a stream of its own"
            )
        if first < min(low, last):
            raise BadInputError(
                f"stream {self.stream}: messages {first} to {min(low, last) - 1} of {topic}/{partition} belong to this"
                " slice, and the broker keeps them no more; lengthen the topic's retention, and ingest in time"
            )

    def _still_there(self, pieces: list[SourceFile]) -> list[SourceFile]:
        """The recorded ranges, refused where the broker has let go of their messages."""
        consumer = _consumer(self.declared.source.servers)
        try:
            for piece in pieces:
                self._require_kept(consumer, *_parts(piece))
        finally:
            consumer.close()
        return pieces


@dataclass(frozen=True)
class _Around:
    """Where the slice before ended and where later slices began, by partition."""

    ends: Mapping[int, int]
    starts: Mapping[int, int]

    def first(self, partition: int) -> int | None:
        """Where this slice goes on; None where time decides, since no slice was before it."""
        if partition in self.ends:
            return self.ends[partition]
        # The partition was added after the slice before: whatever it holds, no slice saw.
        return 0 if self.ends else None


def _following_starts(part: Slice, recorded: Recorded) -> dict[int, int]:
    """The first offset that any later slice took, by partition."""
    starts: dict[int, int] = {}
    for other in recorded:
        if other.start >= part.end:
            for _, partition, first, _ in (_parts(taken.file) for taken in recorded[other].files):
                starts[partition] = min(first, starts.get(partition, first))
    return starts


def cleanup_policy(servers: str, topic: str) -> str:
    """The topic's cleanup.policy; empty where the broker does not tell it to us."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional part
    from confluent_kafka.admin import (  # type: ignore[attr-defined]  # noqa: PLC0415 - the same; not declared
        AdminClient,
        ConfigResource,
        ResourceType,
    )

    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    [told] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    try:
        return str(told.result(_WAIT_SECONDS)["cleanup.policy"].value)
    except KafkaException:  # who may read need not be who may describe
        return ""


def _preceding_ends(part: Slice, recorded: Recorded) -> dict[int, int]:
    """How far the slices before this one got, by partition; one that was empty twice is recorded once."""
    ends: dict[int, int] = {}
    for other in recorded:
        if other.end <= part.start:
            for _, partition, _, last in (_parts(taken.file) for taken in recorded[other].files):
                ends[partition] = max(last, ends.get(partition, last))
    return ends


def _parts(piece: SourceFile) -> tuple[str, int, int, int]:
    match = _PIECE.fullmatch(piece.path)
    if match is None:
        raise BadInputError(f"{piece.path!r} is no offset range; was the stream's source another one before?")
    return match["topic"], int(match["partition"]), int(match["first"]), int(match["last"])


def _tasks(servers: str, piece: SourceFile) -> list[tuple[str, str, int, int, int]]:
    topic, partition, first, last = _parts(piece)
    starts = range(first, last, _MESSAGES_A_TASK)
    return [(servers, topic, partition, start, min(start + _MESSAGES_A_TASK, last)) for start in starts]


def _consumer(servers: str) -> Consumer:
    try:
        from confluent_kafka import Consumer  # noqa: PLC0415 - an optional part
    except ImportError:
        raise PartDownError("Kafka sources need confluent-kafka: install panelake[kafka]") from None
    settings = {
        "bootstrap.servers": servers,
        "group.id": "panelake",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "log_level": 0,
    }
    return Consumer(settings)


def _asked(ask: Any) -> Any:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional part

    try:
        return ask()
    except KafkaException as error:
        raise TransientError(f"the Kafka broker does not answer: {error}; check 'servers' and run it again") from None


def _offset_at(consumer: Consumer, topic: str, partition: int, instant: int) -> int:
    """The first offset at or after an instant by the broker's time; the end where there is none yet."""
    from confluent_kafka import TopicPartition  # noqa: PLC0415 - an optional part

    place = TopicPartition(topic, partition, instant // 1000)
    found = _asked(lambda: consumer.offsets_for_times([place], timeout=_WAIT_SECONDS))[0]
    if found.offset >= 0:
        return int(found.offset)
    return _watermarks(consumer, topic, partition)[1]


def _watermarks(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    from confluent_kafka import TopicPartition  # noqa: PLC0415 - an optional part

    place = TopicPartition(topic, partition)
    low, high = _asked(lambda: consumer.get_watermark_offsets(place, _WAIT_SECONDS))
    return int(low), int(high)


def read_ranges(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The messages of each offset range."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from _read_range(**row)


def _read_range(servers: str, topic: str, partition: int, first: int, last: int) -> Iterator[pa.RecordBatch]:
    from confluent_kafka import TopicPartition  # noqa: PLC0415 - an optional part

    consumer = _consumer(servers)
    try:
        consumer.assign([TopicPartition(topic, partition, first)])
        position, deadline = first, time.monotonic() + _WAIT_SECONDS
        while position < last:
            # It waits until it has as many as it was asked for: never for more than the range holds.
            messages = consumer.consume(min(_MESSAGES_A_BATCH, last - position), timeout=_POLL_SECONDS)
            if messages:
                rows, position = _taken(messages, position, last)
                deadline = time.monotonic() + _WAIT_SECONDS
                yield _batch(rows, f"kafka:{topic}/{partition:05d}", first)
            elif time.monotonic() > deadline:
                raise TransientError(f"no message of {topic}/{partition} from offset {position} on; run it again")
    finally:
        consumer.close()


def _taken(messages: Sequence[Any], position: int, last: int) -> tuple[list[tuple[int, bytes | None]], int]:
    """The messages below the range's end, and how far they lead; the partition's end leads to the range's."""
    from confluent_kafka import KafkaError  # noqa: PLC0415 - an optional part

    rows: list[tuple[int, bytes | None]] = []
    for message in messages:
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
            return rows, last
        if error is not None:
            raise TransientError(f"Kafka: {error}; run it again")
        position = message.offset() + 1
        if message.offset() < last:
            rows.append((message.offset(), message.value()))
    return rows, position


def _batch(rows: Sequence[tuple[int, bytes | None]], file: str, block: int) -> pa.RecordBatch:
    columns = [
        pa.array([value for _, value in rows], pa.binary()),
        pa.array([file] * len(rows), pa.string()),
        pa.array([offset for offset, _ in rows], pa.int64()),
        pa.array([block] * len(rows), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=[LINE, FILE, POSITION, BLOCK])
