"""The page over the study: made from rates.json and the CSV files beside it, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from panelake.capacity import rates as kept
from panelake.capacity.design import AS_IS, Cluster, changed
from panelake.capacity.limits import LIMITS
from panelake.capacity.load import Load
from panelake.capacity.rates import Measured, Rates
from panelake.capacity.sizing import quantities
from panelake.capacity.stages import stage_needs
from panelake.capacity.study import AGES, LENGTHS, NEVER, RATES_ASKED, TABLES, WEATHER, aged
from panelake.capacity.words import digits, number, quantity, span
from panelake.experiments import table
from panelake.experiments.table import Table

NAME = "README.md"
RATES_FILE = "rates.json"
UNITS = {
    "ingest_tuples": "tuples/s of one core",
    "ingest_in_order": "tuples/s of one core, sources in time order",
    "pane_tuples": "tuples/s of one core",
    "pane_rows": "pane rows/s of one core, beside the tuples",
    "window_reads": "pane rows/s of one core, once for each query",
    "audit_tuples": "tuples/s of one core",
    "join_tuples": "tuples/s of one core, of both streams",
    "answer_row": "s of the client, an answer audited and published",
    "task": "s of the driver, a task",
    "number": "s, the commit of a slice's numbers",
    "past_slice": "s a slice, for each slice before it",
    "known_file": "s a slice, for each source file ever taken",
    "file_pair": "s a slice, for each such file and each new one",
    "logged_file": "s a read, for each file in bronze's log",
    "source_tuple": "bytes/tuple of the source (Parquet)",
    "bronze_tuple": "bytes/tuple of bronze",
    "pane_row_bytes": "bytes/pane row",
    "answer_row_bytes": "bytes/row of gold",
    "moved_tuple": "bytes/tuple shuffled by ingest",
    "moved_pane": "bytes/pane row shuffled by panes and windows",
    "moved_join": "bytes/tuple shuffled by a join",
    "ledger_row_bytes": "bytes/row of the ledger, compacted",
    "ledger_rows": "rows/slice of the ledger",
    "ledger_rows_a_query": "rows/slice more, a query",
    "commits": "commits/slice",
    "commits_a_query": "commits/slice more, a query",
}
Lines = Iterator[str]
_SMALL = 1e-3


def write(folder: Path) -> Path:
    """Put the page beside the files it is made from."""
    path = folder / NAME
    path.write_text(text(folder), encoding="utf-8")
    return path


def text(folder: Path) -> str:
    """Rates, sizes, limits, delays and what to change, each from its file."""
    measured = kept.read(folder / RATES_FILE)
    tables = {name: table.read(folder / f"{name}.csv") for name in TABLES}
    parts = (
        _opening(measured),
        _first(tables),
        _sizes(tables["sizes"]),
        _stages(tables["stages"]),
        _limits(tables["limits"]),
        _delays(tables["delays"]),
        _lengths(tables["lengths"]),
        _changes(),
        _measured(measured),
        _assumed(),
    )
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _opening(measured: Measured) -> Lines:
    machine, load = measured.machine, Load(1.0)
    yield "# Capacity, on paper"
    yield ""
    yield (
        "What a stream of a million tuples a second takes, what one of a hundred million, where it breaks first and"
        " what to change then. Nothing of this was run at such a size: rates were measured on"
        f" {machine['cores']} cores with {machine['memory_gb']} GB (Python {machine['python']}, slices of up to"
        f" {machine['tuples']:,} tuples, {machine['seconds']} s in all with the warming up, load"
        f" {machine['load']:g} at the end), the rest is arithmetic (`include/panelake/capacity`) and a simulation of"
        " slices that queue. Rates are those of a core, by processor time; fixed seconds are by the clock."
    )
    yield ""
    yield "```sh"
    yield "panelake bench capacity --out docs/capacity   # measures, then computes everything"
    yield "panelake bench capacity --out docs/capacity --rates docs/capacity/rates.json   # computes from these rates"
    yield "```"
    yield ""
    yield (
        f"The load: slices of {span(load.slice_seconds)}, {load.groups:,} groups, {load.queries} queries of"
        f" {span(load.range_seconds)} every {load.slide_seconds:g} s over units of {load.unit_seconds:g} s, a join over"
        f" {span(load.join_range_seconds)} of {load.joined_share:.0%} of the tuples, sources in files of"
        f" {load.source_file_bytes / 2**20:.0f} MiB, after one day unless said otherwise. *As it is* is the code as it"
        " stands on one driver, one slice after another. *Changed* is what the last section lists: in as many shards"
        f" as the rate needs ({changed(1e6).shards} at 1 M, {changed(1e8).shards} at 100 M)."
    )
    yield ""


def _first(tables: dict[str, Table]) -> Lines:
    """Where it breaks first, in one paragraph for each rate."""
    yield "## Where it breaks first"
    yield ""
    for label, rate in RATES_ASKED.items():
        ages = {limit.name: _value(tables["limits"], "days, as it is", limit.name, label) for limit in LIMITS}
        now = [name for name, days in ages.items() if days != NEVER and days < 1 and name != "two cores"]
        later = sorted((days, name) for name, days in ages.items() if days >= 1)
        cores = _value(tables["sizes"], AS_IS.name, rate, "cores")
        keeps = "no number of cores keeps up after a day" if cores == NEVER else f"{number(cores)} cores keep up"
        told = [f"**{label} tuples/s**, as it is: {keeps}."]
        if now:
            names = [f"{name} (after {span(ages[name] * 86_400)})" for name in sorted(now, key=ages.__getitem__)]
            told.append(f"Within the first day it breaks by: {', '.join(names)}.")
        if later:
            told.append("Later it breaks by: " + ", ".join(f"{n} (after {span(d * 86_400)})" for d, n in later) + ".")
        other = _value(tables["sizes"], "changed", rate, "cores")
        told.append(f"Changed, {number(other)} cores keep up." if other != NEVER else "Changed, it does not keep up.")
        yield "- " + " ".join(told)
    yield ""


def _sizes(found: Table) -> Lines:
    yield "## Sizes"
    yield ""
    columns = [(label, rate, design) for label, rate in RATES_ASKED.items() for design in found.panels()]
    yield from _head(["", *(f"{label}, {design}" for label, _, design in columns)])
    units = {name: unit for name, (_, unit) in quantities(Load(1.0), _ones(), AS_IS).items()}
    for name in found.contenders(AS_IS.name):
        cells = [_size(name, _value(found, design, rate, name), units.get(name, "")) for _, rate, design in columns]
        yield _row([name, *cells])
    yield ""
    yield "![cores over tuples a second](cores.png)"
    yield ""


def _size(name: str, value: float, unit: str) -> str:
    if value == NEVER:
        return "none keeps up"
    if name == "slice":
        return span(value)
    return quantity(value, unit) if unit else number(value)


def _stages(found: Table) -> Lines:
    yield "## Stages of a slice"
    yield ""
    yield (
        "Of one shard: serial seconds, that no core shortens, then core-seconds. *Most* is how many cores the driver"
        " can keep busy; cores are those of all shards at 70 %. `number` is the ordered commit."
    )
    yield ""
    yield from _head(["", "stage", "serial", "core-seconds", "tasks", "most", "cores at work"])
    for panel in found.panels():
        for stage in (name for name in found.xs(panel) if any(_of_stage(found, panel, name))):
            serial, work, tasks, most, busy = _of_stage(found, panel, stage)
            cells = [digits(serial), number(work), number(tasks), "" if most == NEVER else number(most), digits(busy)]
            yield _row([panel, str(stage), *cells])
    yield ""


def _of_stage(found: Table, panel: str, stage: float | str) -> list[float]:
    names = ("serial", "work", "tasks", "most", "cores")
    return [_value(found, panel, stage, name) for name in names]


def _limits(found: Table) -> Lines:
    yield "## Limits"
    yield ""
    yield (
        "The least rate that breaks each, after so long a run of the code as it is, and how much of it each rate uses"
        " after a day (1 is broken). What no rate reaches, or what is so at any rate, has no rate."
    )
    yield ""
    ages = [aged(age) for age in AGES]
    labels = list(RATES_ASKED)
    shares = [f"{label}, {design}" for label in labels for design in ("as it is", "changed")]
    yield from _head(["limit", "breaks when", *(f"after {age}" for age in ages), *(f"used at {one}" for one in shares)])
    first = {limit.name: _value(found, "rate, as it is", limit.name, ages[0]) for limit in LIMITS}
    for limit in sorted(LIMITS, key=lambda one: (first[one.name] == NEVER, first[one.name])):
        rates = [_value(found, "rate, as it is", limit.name, age) for age in ages]
        cells = ["" if rate == NEVER else f"{number(rate)}/s" for rate in rates]
        used = [_value(found, f"used, {d}", limit.name, label) for label in labels for d in ("as it is", "changed")]
        yield _row([limit.name, limit.breaks, *cells, *(digits(one) for one in used)])
    yield ""
    rows = _value(found, "answers", "answers", "rows a slice")
    yield (
        f"Answers depend on groups and queries, not on the rate: the one client is full at {number(rows)} answers a"
        f" slice, which {Load(1.0).queries} queries every {Load(1.0).slide_seconds:g} s reach at"
        f" {number(rows / Load(1.0).queries / (Load(1.0).slice_seconds / Load(1.0).slide_seconds))} groups."
    )
    yield ""


def _delays(found: Table) -> Lines:
    yield "## Slices that queue"
    yield ""
    yield (
        f"{WEATHER.days:g} days of slices, {WEATHER.bursts_a_day:g} bursts a day of {WEATHER.burst:g} times the calm"
        f" rate for {span(WEATHER.burst_seconds)}, and one slice that hangs for {span(WEATHER.hangs_seconds)}."
        f" Cores as the sizes above have them; where none keep up, what the work alone asks for. Means over"
        f" {len(found.seeds())} seeds."
    )
    yield ""
    yield from _head(
        ["", "cores", "busy", "median delay", "99 % within", "most behind", "behind at the end", "caught up"]
    )
    for name in found.xs("summary"):
        values = {one: _value(found, "summary", name, one) for one in found.contenders("summary")}
        caught = found.values("summary", name, "caught up after")
        yield _row([
            str(name),
            number(values["cores"]),
            f"{values['cores busy']:.0%}",
            span(values["median"]),
            span(values["p99"]),
            f"{digits(values['most behind'])} slices",
            f"{digits(values['behind at the end'])} slices",
            "never" if NEVER in caught else f"after {span(3_600 * values['caught up after'])}",
        ])  # fmt: skip
    yield ""
    yield "![slices that queue](delays.png)"
    yield ""


def _lengths(found: Table) -> Lines:
    yield "## Shorter and longer slices"
    yield ""
    yield "Cores that keep up after a day, and how old an answer's newest tuple is at most when it is published, calm."
    yield ""
    contenders = found.contenders("cores")
    yield from _head(["slices of", *contenders])
    for length in LENGTHS:
        cells = []
        for contender in contenders:
            cores = _value(found, "cores", length, contender)
            if cores == NEVER:
                cells.append("none keeps up")
            else:
                cells.append(f"{number(cores)} cores, {span(_value(found, 'oldest', length, contender))}")
        yield _row([span(length), *cells])
    yield ""


def _changes() -> Lines:
    yield "## What to change then"
    yield ""
    yield from _head(["limit", "change"])
    yield from (_row([limit.name, limit.change]) for limit in LIMITS)
    yield ""
    one = changed(1.0)
    yield (
        f"*Changed* in the tables is: {one.in_flight} slices under way at once (numbering, audit and publishing still"
        f" one after another, and a slice's ingest after the numbering of the one before), scans of"
        f" {one.scan_bytes / 2**20:.0f} MiB, memories of files and slices that are asked rather than read, answers"
        " audited and published by Spark at what the client takes a row, and shards of at most 5 M tuples/s, each with"
        " a driver, numbers and tables of its own. None of it is built."
    )
    yield ""


def _measured(measured: Measured) -> Lines:
    rates, known = measured.rates, measured.machine["slice"]
    yield "## Measured"
    yield ""
    yield (
        f"Held against the clock: a slice of {known['tuples']:,} tuples in {known['groups']:,} groups with"
        f" {known['queries']} queries and no join took {known['seconds']} s on the {measured.machine['cores']} cores,"
        f" at its quickest; the model says {digits(model_seconds(measured))} s."
    )
    yield ""
    yield from _head(["rate", "value", "unit"])
    yield from (_row([name, digits_or_small(getattr(rates, name)), unit]) for name, unit in UNITS.items())
    yield ""
    yield from _head(["stage", "fixed seconds of a slice", "more for each query"])
    yield from (
        _row([name, digits(value), digits(rates.a_query.get(name, 0.0))]) for name, value in rates.fixed.items()
    )
    yield ""


def model_seconds(measured: Measured) -> float:
    """What the model says of the slice that was measured, on the machine's cores, without the join."""
    known, length = measured.machine["slice"], Load(1.0).slice_seconds
    load = Load(
        known["tuples"] / length,
        groups=known["groups"],
        queries=known["queries"],
        range_seconds=known["range_seconds"],
        days=0,
    )
    needs = stage_needs(load, measured.rates, AS_IS)
    return sum(need.seconds(measured.machine["cores"]) for need in needs if need.name != "join")


def digits_or_small(value: float) -> str:
    """As `number`, but what is far below one with an exponent."""
    return number(value) if value >= _SMALL else f"{value:.3g}"


def _assumed() -> Lines:
    cluster = Cluster()
    yield "## Assumed, not measured"
    yield ""
    yield f"- Cores are {cluster.utilisation:.0%} busy, as fast as the measured ones, and share all work evenly."
    yield (
        f"- A core has {cluster.memory_per_core / 2**30:.0f} GiB, of which a task may sort in"
        f" {cluster.sort_share:.0%}, and {cluster.network_per_core / 1e6:.0f} MB/s of network (10 Gbit/s for 16 cores)."
    )
    yield f"- {cluster.snapshot_seconds:.0f} s a slice may go to reading bronze's log."
    yield "- An object store is as quick as the local disk was; Airflow's own seconds a task are left out."
    yield "- The report's seconds over a long history are left out too: `panelake bench history` measures them."
    yield "- All groups are equally frequent; no key is hot, none of its tuples late."
    yield ""


def _ones() -> Rates:
    """For the names and units of quantities alone."""
    ones = {field.name: 1.0 for field in fields(Rates)}
    return Rates(**(ones | {"fixed": {"ingest": 1.0}, "a_query": {}}))  # type: ignore[arg-type]


def _value(found: Table, panel: str, x: float | str, contender: str) -> float:
    return found.mean(panel, x, contender)


def _head(names: Sequence[str]) -> Lines:
    yield _row(names)
    yield "|" + "---|" * len(names)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
