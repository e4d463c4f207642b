"""Runs the command line. However it is ended, the servers and clients that it started end, too."""

import signal
import sys

from tests.robustness.cli import main

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
main(prog_name="python -m tests.robustness")
