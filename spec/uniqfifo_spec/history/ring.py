"""A doubly linked list of numbers that forgets and remembers in constant time."""

from collections.abc import Iterable
from itertools import pairwise

END = -1
"""What follows the last number, and precedes the first."""


class Ring:
    """`after[END]` is the first number, `after[n]` the one after n.

    What was lifted keeps its neighbours, so it can be put back, last lifted first: a search that
    backs out of a dead end needs nothing else.
    """

    __slots__ = ("after", "before")

    def __init__(self, numbers: Iterable[int]) -> None:
        pairs = [*pairwise([END, *numbers, END])]
        self.after = dict(pairs)
        self.before = {after: before for before, after in pairs}

    def lift(self, number: int) -> None:
        after, before = self.after[number], self.before[number]
        self.after[before] = after
        self.before[after] = before

    def put_back(self, number: int) -> None:
        self.after[self.before[number]] = number
        self.before[self.after[number]] = number
