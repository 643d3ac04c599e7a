"""Coverage-guided fuzzing of a target, the long form of tests/fuzz/test_fuzz.py.

    python -m tests.fuzz.atheris_run packet CORPUS -max_total_time=600

The options are those of libFuzzer, such as -timeout=10, -rss_limit_mb=512 or a file to try again. Hypothesis makes the
arguments of the target from the bytes, and prints those with which it fails.
"""

import sys


def main(name: str, *options: str) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris  # type: ignore[import-untyped,unused-ignore]

    with atheris.instrument_imports(include=["mqttpub"]):
        from tests.fuzz.strategies import fuzzed
    atheris.Setup([sys.argv[0], *options], fuzzed(name).hypothesis.fuzz_one_input)  # type: ignore[attr-defined]
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
