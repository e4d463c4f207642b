"""The queues of a run."""

QUEUES = {"list": "list", "zset": "zset", "strict": "zset-strict"}
"""Their keys and storages."""

FIRST = tuple(f"{number}" for number in range(10))
"""The ids that are pending in each when a run begins."""
