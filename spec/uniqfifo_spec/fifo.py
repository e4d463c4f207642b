"""The queue itself: what `SPEC.md` calls the abstract queue (QUE, ENQ, DEQ, REM).

The state is a tuple of ids, head first, and nothing else. Everything a queue can be asked without
changing it is what Python says of that tuple: `len(pending)`, `id in pending`, `pending.index(id)`,
`pending[:n]`.

Each operation takes the state and returns (answer, next state).
"""

Id = bytes
Pending = tuple[Id, ...]


def enqueue(pending: Pending, id: Id) -> tuple[bool, Pending]:
    """Answer True and append `id`, or answer False and change nothing if it is pending."""
    return (False, pending) if id in pending else (True, (*pending, id))


def dequeue(pending: Pending) -> tuple[Id | None, Pending]:
    """Answer the head and drop it, or answer None if nothing is pending."""
    return (pending[0], pending[1:]) if pending else (None, pending)


def remove(pending: Pending, id: Id) -> tuple[bool, Pending]:
    """Drop every copy of `id` and answer whether there was one."""
    return id in pending, tuple(other for other in pending if other != id)
