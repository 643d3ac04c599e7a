"""`python -m mqttpub`."""

from .cli.start import run

run()
