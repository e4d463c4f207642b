"""Deployments: what meets on one key while a running system changes its design."""

from uniqfifo_spec.designs import LIST, ZSET
from uniqfifo_spec.explore.configuration import DEQUEUE, START, Configuration, enqueue, free
from uniqfifo_spec.keyspace import List, ZSet
from uniqfifo_spec.rejected import LEGACY

BACKLOG = (List((b"a", b"b", b"a")), None)
"""What legacy hosts may leave behind: pending ids, one of them twice."""

MIGRATED = (ZSet(((1, b"a"), (2, b"b"))), None)

SCENARIOS: dict[str, Configuration] = {
    # The list design's document: both generations share the same LIST until every host is new.
    "rolling-upgrade": Configuration((LEGACY, LIST)),
    # The zset design's: stop every host, deploy, start. All new hosts start at once.
    "cutover": Configuration((ZSET, ZSET), (((START,), *free(2)),) * 2, initial=BACKLOG),
    # Not every old host was stopped.
    "cutover-beside-old-host": Configuration(
        (LEGACY, ZSET), (free(2), ((START,), *free(2))), initial=BACKLOG
    ),
    # An old host comes back once the key is drained, and with it its type.
    "late-old-host": Configuration((LEGACY, ZSET), ((enqueue(b"a"),), (DEQUEUE, DEQUEUE))),
    # LIST hosts again, on keys that were migrated and not yet rolled back.
    "rollback": Configuration((LIST, LIST), initial=MIGRATED),
}
