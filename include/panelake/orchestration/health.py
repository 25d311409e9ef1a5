"""Whether an Airflow is healthy, as it says itself."""

from __future__ import annotations

import json
import urllib.request
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
