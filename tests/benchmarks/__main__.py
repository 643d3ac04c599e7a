"""Runs a benchmark: python -m tests.benchmarks NAME [OPTIONS]; without a name, lists them."""

import sys

from tests.benchmarks.harness import main

if __name__ == "__main__":
    main(sys.argv[1:])
