"""One stage of one slice under spark-submit, on whatever master that was given.

    .venv/bin/python -m panelake.spark.job [--master URL] jobs/run_stage.py --workspace DIR --stage NAME --slice T

starts it with the project's own Spark, Java, jars and settings; exit codes as the command line's.
"""

from __future__ import annotations

import sys

from pyspark import SparkConf

from panelake.cli import main

if __name__ == "__main__":
    master = SparkConf().get("spark.master", "local[*]")
    sys.exit(main(["run", "--master", str(master), *sys.argv[1:]]))
