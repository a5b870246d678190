"""Results of minimum-Bayes-risk decoding."""

from __future__ import annotations

from dataclasses import dataclass

from lattices.spaces import Hypothesis


@dataclass(frozen=True)
class Consensus:
    """A sentence chosen for what can be expected of it.

    Attributes
    ----------
    hypothesis : Hypothesis
        The sentence with its model score; with features and path where the space has them.
        Of several spaces, those of the first that has the sentence.
    expected : float
        What the method maximised or minimised for it: the expected metric in the metric's own
        direction; the metric against the average of the evidence for ``aggregate``; the linear
        gain for ``linear``; for ``edit`` the expected number of edits.
    method : str
        ``pairwise``, ``aggregate``, ``linear``, ``consensus``, ``edit``, ``exact`` or ``search``.
    exact : bool
        Whether no candidate of the method is better by its own objective.
    candidates : int
        How many sentences could have been chosen; -1 if all of the space could.
    evidence : int
        How many weighted sentences were averaged over; -1 if all of the space were.
    """

    hypothesis: Hypothesis
    expected: float
    method: str
    exact: bool
    candidates: int
    evidence: int

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words."""
        return self.hypothesis.tokens

    @property
    def text(self) -> str:
        """The words, joined by blanks."""
        return self.hypothesis.text
