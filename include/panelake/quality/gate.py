"""The gate: Great Expectations judges all metrics of a slice as one small frame.

Three expectations over rows of (observed, low, high) judge any number of rules at the same cost; what they name as
unexpected has failed. Anything the gate cannot judge has failed too.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import pandas as pd  # type: ignore[import-untyped]

from panelake.quality.metric import Metric, Verdict

Witness = Callable[[str, Any], None]  # is told what was validated, and Great Expectations' own result of it

_PLACE = "place"
_NAMES = ("table", "rule")
_import_lock = Lock()


def load_expectations() -> Any:
    """Great Expectations, imported on first use: that takes seconds, and other work can go on meanwhile."""
    logging.getLogger("great_expectations").setLevel(logging.WARNING)  # it would tell hundreds of lines of itself
    with _import_lock, _warnings_left_alone():
        import great_expectations  # noqa: PLC0415 - takes seconds

    return great_expectations


@contextmanager
def _warnings_left_alone() -> Iterator[None]:
    """Undo what the import does to the process: it redirects every warning into logging, and warns of itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        logging.captureWarnings(False)  # noqa: FBT003 - its signature


def quiet_context() -> Any:
    """A context that lives in memory: no progress bars, no folder for a site, nothing over the network."""
    gx = load_expectations()
    from great_expectations.data_context.types.base import (  # noqa: PLC0415 - takes seconds
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    stores = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    bars = ProgressBarsConfig(globally=False)
    config = DataContextConfig(store_backend_defaults=stores, progress_bars=bars, analytics_enabled=False)
    return gx.get_context(mode="ephemeral", project_config=config)


def unseen(_title: str, _result: Any) -> None:
    """The witness that looks at nothing."""


def judged(metrics: Sequence[Metric], witness: Witness = unseen) -> list[Verdict]:
    """A verdict on each metric, in order, with a sample of failing rows where it failed."""
    if not metrics:
        return []
    failed = _failing_places(_frame(metrics), witness)
    return [_verdict(metric, failed=place in failed) for place, metric in enumerate(metrics)]


def _verdict(metric: Metric, *, failed: bool) -> Verdict:
    began = time.perf_counter()
    sample = metric.sample() if failed else []
    return Verdict(metric, not failed, sample, time.perf_counter() - began)


def _frame(metrics: Sequence[Metric]) -> pd.DataFrame:
    """Numbers stay Python's own: a count beyond 2^53 is compared exactly."""
    numbers = {
        name: pd.Series([getattr(m, name) for m in metrics], dtype=object) for name in ("observed", "low", "high")
    }
    names = {name: [getattr(metric, name) for metric in metrics] for name in _NAMES}
    return pd.DataFrame({_PLACE: range(len(metrics)), **names, **numbers})


def _failing_places(frame: pd.DataFrame, witness: Witness) -> set[int]:
    context = quiet_context()
    source = context.data_sources.add_pandas("metrics").add_dataframe_asset("slice")
    batch = source.add_batch_definition_whole_dataframe("slice").get_batch({"dataframe": frame})
    places = {"result_format": "COMPLETE", "unexpected_index_column_names": [_PLACE, *_NAMES]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' own deprecations inside Great Expectations
        validated = batch.validate(_suite(), result_format=places)
    witness("all default rules", validated)
    failing: set[int] = set()
    for result in validated.results:
        if not result.success:
            named = {row[_PLACE] for row in result.result.get("unexpected_index_list") or ()}
            failing |= named or set(frame[_PLACE])
    return failing


def _suite() -> Any:
    gx = load_expectations()
    expectations = gx.expectations
    within = {"or_equal": True, "ignore_row_if": "either_value_is_missing"}
    return gx.ExpectationSuite(
        "metrics",
        expectations=[
            expectations.ExpectColumnValuesToNotBeNull(column="observed"),
            expectations.ExpectColumnPairValuesAToBeGreaterThanB(column_A="observed", column_B="low", **within),
            expectations.ExpectColumnPairValuesAToBeGreaterThanB(column_A="high", column_B="observed", **within),
        ],
    )
