"""How to search: the engine, and what a search may take."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypedDict

from lattices.errors import OptionError, argument
from lattices.limits import MEMORY, NO_LIMIT

#: prefixes or labels that an exact search may keep
DEFAULT_BUDGET = 1_000_000
#: engines by which metrics of clipped matches are searched, too
OUR_ENGINES = ("auto", "kernel")
#: more than the native types hold is no limit
_MOST_LABELS = 2**62


def check_limits(budget: int, memory: int) -> None:
    """Refuse limits that leave nothing."""
    if budget < 1 or memory < 1:
        raise OptionError(
            f"{argument('budget')} and {argument('memory')} are at least 1, "
            f"not {budget} and {memory}"
        )


class SearchOptions(TypedDict, total=False):
    """The fields of :class:`Search`, as functions take them by name."""

    engine: str
    budget: int
    memory: int
    workers: int


@dataclass(frozen=True)
class Search:
    """How to search, in one object that all searches take.

    Examples
    --------
    >>> Search(budget=1000)
    Search(engine='auto', budget=1000, memory=2000000000, workers=1)
    >>> Search(memory=0)
    Traceback (most recent call last):
    lattices.errors.OptionError: budget and memory are at least 1, not 1000000 and 0
    """

    #: who intersects; ``auto`` is the kernel wherever it can run
    engine: str = "auto"
    #: how many labels a search under BLEU or chrF may keep; of the k best and the worst, how many
    #: prefixes, and of a forest pairs of a node and a matrix
    budget: int = DEFAULT_BUDGET
    #: how many bytes a search may take, by whatever engine; 2 GB if nothing is said
    memory: int = MEMORY
    #: threads
    workers: int = 1

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing, and a name that no engine has."""
        check_limits(self.budget, self.memory)
        if self.workers < 1:
            raise OptionError(f"{argument('workers')} is at least 1, not {self.workers}")
        if self.engine not in OUR_ENGINES:
            from lattices.intersection import ENGINES

            ENGINES.get(self.engine)
        object.__setattr__(self, "budget", min(self.budget, _MOST_LABELS))
        object.__setattr__(self, "memory", min(self.memory, NO_LIMIT))

    @classmethod
    def of(cls, function: str, options: SearchOptions) -> Search:
        """Return the search that the arguments of a function ask for; ``function`` is its name."""
        if not options:
            return SEARCH
        from lattices.spaces.arguments import WHOLE

        for name, value in options.items():
            if name not in _FIELDS:
                raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
            if name != "engine":
                WHOLE.check(function, name, value)
        return cls(**options)

    @property
    def is_ours(self) -> bool:
        """Whether metrics without a machine are searched, too."""
        return self.engine in OUR_ENGINES


_FIELDS = frozenset(field.name for field in fields(Search))
#: the default search
SEARCH = Search()
