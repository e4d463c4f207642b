"""The properties of `SPEC.md`, one class each; the longest are in `order` and `linearizable`.

Each sees every step of a run and keeps as little of it as its definition needs. Words as there: R
is the sequence of ids in the key, *taking* x is the step by which a dequeue removes a copy of x,
c₀(x) is the number of copies in the initial key.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from uniqfifo_spec.commands import Error
from uniqfifo_spec.designs import Design, Keys, run
from uniqfifo_spec.explore.clock import EPOCH, readings
from uniqfifo_spec.explore.configuration import START, Configuration
from uniqfifo_spec.explore.events import End, Judgement, Step, leaving
from uniqfifo_spec.fifo import Id

Ids = tuple[Id, ...]


class Stateless:
    """A property that needs no memory of the run."""

    def initial(self, keys: Keys, clients: int) -> None:
        return None

    def observe(self, state: Any, step: Step) -> tuple[Any, Judgement]:
        return None, None

    def quiescent(self, state: Any, keys: Keys, earliest: int) -> Judgement:
        return None

    def renumbered(self, state: Any, order: Sequence[int]) -> Any:
        return state


class Unique(Stateless):
    """When quiescent, no id has more than max(1, c₀) copies in R."""

    def __init__(self, initial: Keys) -> None:
        self._copies = Counter(leaving(initial))

    def quiescent(self, state: Any, keys: Keys, earliest: int) -> Judgement:
        queue = leaving(keys)
        return all(queue.count(id) <= max(1, self._copies[id]) for id in queue) if queue else None


class Quiet(Stateless):
    """An enqueue answered *already pending* changed no key's value in any of its steps."""

    def observe(self, state: Any, step: Step) -> tuple[None, Judgement]:
        call = step.calls[step.client]
        if step.id is None or step.end is not End.ANSWERED or step.answer is not False:
            return None, None
        return None, not (call and call.changed)


class NeverWedged(Stateless):
    """When quiescent, for every design in play and every id x: one already started client of that
    design, running alone and without start(), that calls enqueue(x) and then dequeue at most
    |R| + 1 times, gets no error and gets x.

    Keeps the designs that have a started client. One that is not to call start() first has done so.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._clients = configuration.clients
        self._started = frozenset(
            design
            for client, design in enumerate(self._clients)
            if START not in (*configuration.choices(client), ((),))[0]
        )
        self._ids = configuration.ids()

    def initial(self, keys: Keys, clients: int) -> Any:
        return self._started

    def observe(self, state: Any, step: Step) -> tuple[Any, Judgement]:
        if step.operation == START and step.end is End.ANSWERED:
            state |= {self._clients[step.client]}
        return state, None

    def quiescent(self, state: Any, keys: Keys, earliest: int) -> Judgement:
        return self.stuck(state, keys, earliest) is None if state else None

    def stuck(self, state: Any, keys: Keys, earliest: int = EPOCH) -> tuple[Design, Id] | None:
        """Whose client does not get back which id."""
        now = max(earliest, *readings(keys, EPOCH))
        for design in dict.fromkeys(self._clients):
            for id in self._ids:
                if design in state and not _gets_back(design, id, keys, now):
                    return design, id
        return None


def _gets_back(design: Design, id: Id, keys: Keys, now: int) -> bool:
    patience = len(leaving(keys)) + 1
    answer, keys = run(design.enqueue(id), keys, now)
    if isinstance(answer, Error):
        return False
    for _ in range(patience):
        answer, keys = run(design.dequeue(), keys, now)
        if answer == id or isinstance(answer, Error):
            break
    return answer == id


class DeliveredOnce(Stateless):
    """When quiescent, takings of x ≤ c₀(x) + enqueues answered *added* + unanswered enqueues.

    Keeps the right side less the left, per id, where the two differ.
    """

    def initial(self, keys: Keys, clients: int) -> Any:
        return _counts(Counter(leaving(keys)))

    def observe(self, state: Any, step: Step) -> tuple[Any, Judgement]:
        spare = Counter(dict(state))
        spare.subtract(step.taken)
        if step.id is not None:
            added = step.end is End.ANSWERED and step.answer is True
            spare[step.id] += added or step.end is End.UNANSWERED
        return _counts(spare), True if step.taken else None

    def quiescent(self, state: Any, keys: Keys, earliest: int) -> Judgement:
        return None if all(count > 0 for _, count in state) else False


def _counts(counter: Counter[Id]) -> tuple[tuple[Id, int], ...]:
    return tuple(sorted((id, count) for id, count in counter.items() if count))


class NothingLost(Stateless):
    """When quiescent, for every *answered* enqueue(x): x ∈ R, or a dequeue that took x ended (or
    lost its reply, or crashed) after that enqueue began.

    Keeps the ids for which only the first half can help, and per client: of an enqueue, whether the
    second half is met; of a dequeue, what it took.
    """

    def initial(self, keys: Keys, clients: int) -> Any:
        return frozenset(), (None,) * clients

    def observe(self, state: Any, step: Step) -> tuple[Any, Judgement]:
        due, notes = state[0], [*state[1]]
        client = step.client
        if step.begins:
            notes[client] = False if step.id is not None else ()
        if step.operation.verb == "dequeue":
            notes[client] += step.taken
        if step.ends:
            if step.id is not None and step.end is End.ANSWERED and not notes[client]:
                due |= {step.id}
            if step.operation.verb == "dequeue":
                due -= {*notes[client]}
                for other, call in enumerate(step.calls):
                    if call and {*call.operation.arguments} & {*notes[client]}:
                        notes[other] = True
            notes[client] = None
        return (due, tuple(notes)), None

    def quiescent(self, state: Any, keys: Keys, earliest: int) -> Judgement:
        return state[0] <= {*leaving(keys)} if state[0] else None

    def renumbered(self, state: Any, order: Sequence[int]) -> Any:
        return state[0], tuple(state[1][client] for client in order)
