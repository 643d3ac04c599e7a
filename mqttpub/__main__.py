"""`python -m mqttpub`."""

from .cli.main import run

run()
