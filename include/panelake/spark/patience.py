"""How long a client waits for a Connect server that does not answer.

A server that is there and busy is asked again for some seconds. One that refuses connections is gone, and with it the
session and all it held: asking again is pointless, and every call that a failing block still makes while it cleans up
(settings put back, a cache given up, the session ended) would wait just as long as the first.
"""

from __future__ import annotations

import socket

from pyspark.sql.connect.client.retries import DefaultPolicy

_SECONDS = 2.0


class WhileItListens(DefaultPolicy):  # type: ignore[misc] # pyspark is not typed
    """Tries again while something accepts connections at the server's address."""

    def __init__(self, host: str, port: int, max_retries: int) -> None:
        super().__init__(max_retries=max_retries)
        self._address = (host, port)

    def can_retry(self, error: BaseException) -> bool:
        """Whether the error may pass, and the server is not known to be gone."""
        return super().can_retry(error) and not refuses(*self._address)


def refuses(host: str, port: int) -> bool:
    """Whether the machine answers that nobody listens there; silence is no refusal."""
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
