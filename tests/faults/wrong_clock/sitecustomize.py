"""Python imports this by itself where its folder is on the path: the process then believes that it is another time."""

import datetime as dt
import os
import time

_OFFSET = float(os.environ["PANELAKE_TEST_CLOCK_OFFSET"])
_true_time = time.time


class _Wrong(dt.datetime):
    """A datetime like any other, but for what it takes for now."""

    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + dt.timedelta(seconds=_OFFSET)


time.time = lambda: _true_time() + _OFFSET
dt.datetime = _Wrong
