"""Faults on real servers under load, and a verdict on every call: `python -m tests.robustness`."""
