"""Whether an Airflow is healthy, as it says itself; `python -m panelake.orchestration.health URL [PART …]` asks it."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException

_PARTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")
_SECONDS = 5.0


def unhealthy_parts(url: str) -> list[str]:
    """The parts that do not say they are healthy; none means that all is well."""
    # No proxy: the address is on loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/api/v2/monitor/health", timeout=_SECONDS) as answer:
            said = json.load(answer)
    except (OSError, HTTPException, ValueError):
        return ["api-server"]
    return [part for part in _PARTS if (said.get(part) or {}).get("status") != "healthy"]


def main(arguments: Sequence[str]) -> int:
    """0 where the parts named are healthy, or all of them where none is."""
    url, *asked = arguments
    unhealthy = unhealthy_parts(url)
    return int(bool(unhealthy) and (not asked or "api-server" in unhealthy or bool({*asked} & {*unhealthy})))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
