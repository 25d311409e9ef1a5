"""Makes the warehouse's bucket where it is not there yet: `make_bucket.py NAME`.

Keys and AWS_ENDPOINT_URL come from the environment.
"""

from __future__ import annotations

import os
import sys

from pyarrow import fs


def make_bucket(name: str) -> None:
    """A second time nothing is left to do."""
    store = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], allow_bucket_creation=True)
    store.create_dir(name, recursive=False)


if __name__ == "__main__":
    make_bucket(sys.argv[1])
