"""A step program as a table: place -> command, and place and reply -> next place or answer.

A running generator can be neither copied nor compared, so it cannot be part of a state. A place
can: it is a number. The table grows as replies are met, each time by running a fresh generator
through the replies so far.

Two runs that have issued the same commands share a place although their replies differed: what
`legacy` remembers of LINSERT's 3 is no more than what it does next. That is a guess; `sound` tells
whether it was right. A table with `merge` off makes no such guess.
"""

from collections.abc import Callable
from dataclasses import dataclass

from uniqfifo_spec.commands import Command, Error, Reply
from uniqfifo_spec.designs import Answer, Program

Replies = tuple[Reply, ...]
FIRST = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """The program is over."""

    answer: Answer


Outcome = int | Ended


class Places:
    """The table of one program. Its first command, if it has one, is at `FIRST`."""

    def __init__(self, program: Callable[[], Program], *, merge: bool = True) -> None:
        self.commands: list[Command] = []
        self._program = program
        self._merge = merge
        self._replies: list[Replies] = []  # per place: the replies that first led there
        self._next: dict[tuple[int, Reply], Outcome] = {}
        self._index: dict[tuple[int, object], int] = {}
        self.begin = self._outcome(self._run(()), -1, None, ())

    def after(self, place: int, reply: Reply) -> Outcome:
        """Where the program stands once the command at `place` was answered like this."""
        met = self._next.get((place, reply))
        if met is None:
            replies = (*self._replies[place], reply)
            met = self._outcome(self._run(replies), place, reply, replies)
            self._next[place, reply] = met
        return met

    def sound(self) -> bool:
        """Whether all runs that share a place went on alike, after every reply that was met there.

        A place comes after those that lead to it, so one pass sees every run that gets there.
        """
        runs: list[list[Replies]] = [[] for _ in self._replies]
        runs[:1] = [[()]]
        for (place, reply), outcome in sorted(self._next.items(), key=lambda item: item[0][0]):
            for run in runs[place]:
                replies = (*run, reply)
                if self._run(replies) != self._expected(outcome):
                    return False
                if not isinstance(outcome, Ended):
                    runs[outcome].append(replies)
        return True

    def _run(self, replies: Replies) -> Command | Ended:
        """What a fresh run does after these replies. An error reply ends it, unseen."""
        if replies and isinstance(replies[-1], Error):
            return Ended(replies[-1])
        program = self._program()
        try:
            command = next(program)
            for reply in replies:
                command = program.send(reply)
            return command
        except StopIteration as end:
            return Ended(end.value)

    def _outcome(
        self, found: Command | Ended, place: int, reply: Reply, replies: Replies
    ) -> Outcome:
        if isinstance(found, Ended):
            return found
        way = (place, found if self._merge else reply)
        if way not in self._index:
            self._index[way] = len(self.commands)
            self.commands.append(found)
            self._replies.append(replies)
        return self._index[way]

    def _expected(self, outcome: Outcome) -> Command | Ended:
        return outcome if isinstance(outcome, Ended) else self.commands[outcome]
