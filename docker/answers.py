"""The health check of a container: whether its part answers. `answers.py tcp://HOST:PORT` or `http://… [TEXT …]`.

An HTTP answer must be a success and hold every text.
"""

from __future__ import annotations

import socket
import sys
import urllib.request
from urllib.parse import urlsplit

SECONDS = 5.0


def answers(address: str, texts: list[str]) -> bool:
    """Whether somebody listens there and, over HTTP, says what is expected."""
    try:
        if address.startswith("tcp://"):
            parts = urlsplit(address)
            socket.create_connection((parts.hostname, parts.port), SECONDS).close()
            return True
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address, timeout=SECONDS) as answer:
            said = answer.read().decode(errors="replace")
    except OSError:
        return False
    return all(text in said for text in texts)


if __name__ == "__main__":
    sys.exit(0 if answers(sys.argv[1], sys.argv[2:]) else 1)
