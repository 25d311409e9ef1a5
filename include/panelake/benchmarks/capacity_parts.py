"""What single parts cost as they grow: the memories of files and of slices, bronze's log, a task, a number."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from panelake import tables
from panelake.benchmarks.capacity_slices import LENGTH, undisturbed
from panelake.catalog import Catalog
from panelake.ledger import Entry, Ledger
from panelake.numbers import RESERVATIONS, Numbers
from panelake.slices import Slice
from panelake.sources.files import SourceFile, list_files
from panelake.sources.inputs import InputFile, Inputs, SliceInput, TimeSpan, choose_by_time, require_unchanged
from panelake.spark.delta import read_slices

STREAM = "cars"
PAST_SLICES = 1_000
SLICES_OF_FILES, FILES_A_SLICE = 20, 100
FRESH = 10
LOGGED = 50_000
LISTED = 2_000
TASKS = 4_000


@dataclass(frozen=True)
class FileCosts:
    """Seconds for each file known, and for each pair of a known and a new one."""

    known: float
    pair: float


@dataclass(frozen=True)
class HistoryCosts:
    """Seconds to read one past slice's entry and number, bytes of a ledger row once compacted, seconds of a number."""

    entry: float
    number_row: float
    row_bytes: float
    number: float


def part_at(place: int) -> Slice:
    """The slices follow one another."""
    return Slice(place * LENGTH, (place + 1) * LENGTH)


def file_costs(folder: Path) -> FileCosts:
    """As intake has them: recorded inputs read twice, files listed, compared and chosen from."""
    memory = Inputs(Catalog(str(folder / "files")), STREAM)
    known = [_file(folder, number) for number in range(SLICES_OF_FILES * FILES_A_SLICE)]
    for place in range(SLICES_OF_FILES):
        mine = known[place * FILES_A_SLICE : (place + 1) * FILES_A_SLICE]
        memory.remember({file: TimeSpan(part_at(place).start, part_at(place).end - 1) for file in mine})
        memory.record(part_at(place), SliceInput(tuple(InputFile(file, fresh=True) for file in mine)))
    part = part_at(SLICES_OF_FILES)
    recorded, spans = memory.recorded(), memory.spans()
    fresh = [_file(folder, len(known) + number) for number in range(FRESH)]

    def recall() -> None:
        memory.recorded()
        memory.spans()
        require_unchanged(STREAM, recorded, known)
        choose_by_time(part, known, spans, recorded)
        memory.record(part_at(0), SliceInput(()))  # another run recorded it already: everything is read again

    with_fresh = undisturbed(lambda: choose_by_time(part, [*known, *fresh], spans, recorded))
    alone = undisturbed(lambda: choose_by_time(part, known, spans, recorded))
    return FileCosts(
        undisturbed(recall) / len(known) + _listing(folder / "landed"), (with_fresh - alone) / (len(known) * len(fresh))
    )


def _file(folder: Path, number: int) -> SourceFile:
    return SourceFile(f"{folder}/landed/{number // 1_000:05d}/part-{number:09d}.parquet", 1 << 27, number)


def _listing(folder: Path) -> float:
    folder.mkdir()
    for number in range(LISTED):
        (folder / f"part-{number:09d}.parquet").touch()
    return undisturbed(lambda: list_files(STREAM, str(folder))) / LISTED


def history_costs(folder: Path, entry: Entry, rows: int) -> HistoryCosts:
    """A ledger of many slices, each with so many rows, of which one is what a real one's ingest told, and is read."""
    catalog = Catalog(str(folder / "history"))
    ledger, numbers = Ledger(catalog), Numbers(catalog)
    empty = undisturbed(lambda: ledger.entries(stage="ingest", subject=STREAM))
    subjects = [("ingest", STREAM), *(("audit", f"gold/q{number}") for number in range(rows - 1))]
    past = [replace(entry, slice=part_at(place)) for place in range(PAST_SLICES)]
    ledger.record(replace(one, stage=stage, subject=subject) for one in past for stage, subject in subjects)
    for place in range(3):
        numbers.reserve(STREAM, part_at(place), 1)
    one = undisturbed(lambda: _numbers(numbers, 2))
    number = min(undisturbed(partial(numbers.reserve, STREAM, part_at(place), 1), repeats=1) for place in range(3, 9))
    _fill_numbers(catalog, 9)
    many = undisturbed(lambda: _numbers(numbers, PAST_SLICES - 1))
    read = undisturbed(lambda: ledger.entries(stage="ingest", subject=STREAM))
    return HistoryCosts(
        (read - empty) / PAST_SLICES, (many - one) / (PAST_SLICES - 3), _row_bytes(folder / "varied", entry), number
    )  # fmt: skip


def _row_bytes(folder: Path, entry: Entry) -> float:
    """Of a ledger of slices that told other figures each: the same row a thousand times would take no room."""
    catalog, generator = Catalog(str(folder)), Random(1)  # noqa: S311 - figures, not secrets
    text = json.dumps(entry.details)
    told = [re.sub(r"\d", lambda _: str(generator.randint(1, 9)), text) for _ in range(PAST_SLICES)]
    Ledger(catalog).record(
        replace(entry, slice=part_at(place), details=json.loads(one)) for place, one in enumerate(told)
    )
    size = sum(path.stat().st_size for path in Path(catalog.ledger("stages")).glob("*.parquet"))
    return size / PAST_SLICES


def _numbers(numbers: Numbers, place: int) -> None:
    """What ingest asks of them: thrice they are read."""
    numbers.taken(STREAM)
    numbers.require_free(STREAM, part_at(place))
    numbers.reserve(STREAM, part_at(place), 1)


def _fill_numbers(catalog: Catalog, first: int) -> None:
    from panelake.numbers import (  # noqa: PLC0415 - as a thousand commits would have written them
        NumberRange,
        _rows,
    )

    rows = _rows(STREAM, [NumberRange(part_at(place), place, 1) for place in range(first, PAST_SLICES)], version=first)
    tables.append(catalog.ledger("numbers"), rows.cast(RESERVATIONS))


def log_seconds(spark: SparkSession, folder: Path) -> float:
    """Seconds more for Spark to find no file among so many that a log lists, than in a log of few; a file."""
    few, warm, many = (_logged(folder / name, files) for name, files in (("few", 10), ("warm", 10), ("many", LOGGED)))
    for address in (warm, few):
        taken = undisturbed(partial(_none_found, spark, address), repeats=1)
    return (undisturbed(partial(_none_found, spark, many), repeats=1) - taken) / LOGGED


def _none_found(spark: SparkSession, address: str) -> None:
    count = read_slices(spark, address, LENGTH * 10 * LOGGED, LENGTH * 10 * LOGGED + 1).count()
    if count:
        raise AssertionError(f"{count} rows in a slice that is not there")


def _logged(address: Path, files: int) -> str:
    """A table whose log lists files that are not there: nothing but the log is read."""
    schema = pa.schema([("_date", pa.date32()), ("_seq", pa.int64()), ("_slice", tables.timestamp_type())])
    tables.create(str(address), schema, partition_by=["_date"])
    with (address / "_delta_log" / f"{1:020d}.json").open("w", encoding="utf-8") as log:
        for number in range(files):
            log.write(json.dumps({"add": _added(number)}) + "\n")
    DeltaTable(str(address)).create_checkpoint()
    return str(address)


def _added(number: int) -> dict[str, object]:
    stamp = f"1970-01-01T{number // 3_600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
    bounds = {"_seq": number, "_slice": stamp}
    told = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"_seq": 0, "_slice": 0}}
    return {
        "path": f"_date=1970-01-01/part-{number:09d}.parquet",
        "partitionValues": {"_date": "1970-01-01"},
        "size": 1 << 27,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps(told),
    }


def task_seconds(spark: SparkSession) -> float:
    """Of one task that does nothing, among many, on all of the machine's cores."""
    return undisturbed(lambda: spark.range(0, TASKS, 1, TASKS).count(), repeats=2) / TASKS
