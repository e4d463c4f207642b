"""Runs the command line."""

from tests.robustness.cli import main

main(prog_name="python -m tests.robustness")
