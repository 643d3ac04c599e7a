"""A program of its own for tests that kill it: `mqttpub pipeline`, whose tasks run in the same process.

python -m tests.spark.without_jvm pipeline SOURCE... --out DIR [FLAG...]
"""

import sys

from mqttpub.cli.start import run

if __name__ == "__main__":
    sys.argv[2:2] = ["--master", "none", "--partitions", "6"]
    sys.exit(run())
