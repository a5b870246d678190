"""The lattice: an acyclic weighted automaton over words, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lattices._native import (
    FeatureColumns,
    LatticeColumns,
    lattice_of_columns,
    path_fields,
    topological_numbers,
)
from lattices._native import normal_form as normal_form
from lattices.arrays import Array, FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import SpaceError, expecting
from lattices.spaces.base import SpaceBase, check_count, check_whole
from lattices.spaces.features import (
    FeatureMatrix,
    FeatureRows,
    Features,
    Weights,
    check_features,
    feature_columns,
    feature_matrix,
    make_rows,
    reorder_rows,
    weight_vector,
)
from lattices.spaces.hypothesis import Hypothesis
from lattices.vocabulary import Vocabulary

if TYPE_CHECKING:
    from lattices.drawing import Svg

#: in normal form, or so but for the order of arcs; states are in no topological order; or
#: something is wrong, which it takes a second look to name
NORMAL, UNSORTED, UNORDERED, WRONG = 0, 1, 2, 3
#: columns that native code may own
NATIVE = ("src", "dst", "label", "score", "final", "in_arc", "in_offset", "out_offset")


@dataclass(frozen=True, eq=False, repr=False)
class Lattice(SpaceBase):
    """An acyclic weighted automaton over words, stored in read-only columns.

    Building one checks it and puts it in normal form: states are numbered in
    topological order (kept as they are if they already are), arcs are sorted by source
    and then by target, parallel arcs staying in the order given. Dead states are kept;
    :func:`lattices.trim` removes and counts them.

    Attributes
    ----------
    vocabulary : Vocabulary
        The words behind ``label``.
    src, dst, label : int32 columns, one entry an arc
        ``label`` 0 is epsilon.
    score : float64 column, one entry an arc
        The model's log-score, higher is better.
    final : float64 column, one entry a state
        The log-score of ending there, ``-inf`` where the path may not end.
    start : int
        The initial state.
    features : scipy.sparse.csr_array or None
        One row an arc, one column a feature name.
    final_features : scipy.sparse.csr_array or None
        One row a state.
    feature_names : tuple of str
    times : float64 column or None
        One entry a state, in seconds.
    id, source, references
        The segment's name, the input, and the references (text, or lattices).
    metadata : mapping
        What else the file said.
    in_arc, in_offset, out_offset : int32 columns
        Made here: arcs into state ``q`` are ``in_arc[in_offset[q]:in_offset[q + 1]]``,
        arcs out of it ``out_offset[q]`` up to ``out_offset[q + 1]``.

    Raises
    ------
    SpaceError
        If the automaton has a cycle, no final state, a state or word that does not
        exist, or a score that is not finite.

    Examples
    --------
    >>> lattice = Lattice.from_arcs(
    ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.2), (1, 2, "cat", -0.5)], finals={2: 0.0}
    ... )
    >>> lattice
    <Lattice '' of 3 states, 3 arcs>
    >>> [hypothesis.text for hypothesis in lattice.paths()]
    ['a cat', 'the cat']
    """

    kind = "lattice"
    _scores = ("score", "final")

    vocabulary: Vocabulary
    src: IntColumn
    dst: IntColumn
    label: IntColumn
    score: FloatColumn
    final: FloatColumn
    start: int = 0
    features: FeatureMatrix | None = Features()  # noqa: RUF009
    final_features: FeatureMatrix | None = Features()  # noqa: RUF009
    feature_names: tuple[str, ...] = ()
    times: FloatColumn | None = None
    id: str = ""
    source: str = ""
    references: tuple[Any, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    in_arc: IntColumn = field(init=False)
    in_offset: IntColumn = field(init=False)
    out_offset: IntColumn = field(init=False)

    def __post_init__(self) -> None:
        """Check the columns and put them in normal form."""
        put = self.__dict__.__setitem__
        self._take_columns(ints, "src", "dst", "label")
        self._take_columns(floats, "score", "final")
        self._take_names("feature_names", "references")
        check_whole([self.start], "the start state")
        put("start", int(self.start))
        self._check_lengths()
        found = self._normal_form()
        if found[0] == WRONG:
            self._check_values()
        for name, count, what in (
            ("features", self.num_arcs, "arc features"),
            ("final_features", self.num_states, "final features"),
        ):
            given = self.__dict__[name]
            if given is not None:
                put(name, check_features(given, count, self.feature_names, what))
        if self.times is not None:
            self._take_columns(floats, "times")
            if self.times.shape != self.final.shape:
                raise SpaceError(f"{self.times.size} times for {self.num_states} states")
        self._normalise(*found)

    def _check_lengths(self) -> None:
        arcs, states = self.num_arcs, self.num_states
        for name in ("dst", "label", "score"):
            if getattr(self, name).shape != (arcs,):
                raise SpaceError(f"{len(getattr(self, name))} entries in {name!r} for {arcs} arcs")
        if states == 0:
            raise SpaceError("a lattice has at least one state")
        if not 0 <= self.start < states:
            raise SpaceError(f"start state {self.start} is not one of 0..{states - 1}")

    def _check_values(self) -> None:
        arcs, states = self.num_arcs, self.num_states
        if arcs:
            for name, column, bound in (
                ("source state", self.src, states),
                ("target state", self.dst, states),
                ("word", self.label, len(self.vocabulary)),
            ):
                if column.min() < 0 or column.max() >= bound:
                    arc = int(np.flatnonzero((column < 0) | (column >= bound))[0])
                    raise SpaceError(f"arc {arc} has {name} {column[arc]}, expected 0..{bound - 1}")
            self._check_scores("arc")
        ending = self.final > -np.inf
        if not ending.any():
            if np.isnan(self.final).any():
                raise SpaceError("a final score is not a number")
            raise SpaceError("no state is final")
        if not (np.isfinite(self.final) | (self.final == -np.inf)).all():
            raise SpaceError("a final score is infinite or not a number")

    def _normal_form(self) -> tuple[int, Array, Array, Array, Array]:
        columns = self.src, self.dst, self.label, self.score, self.final
        return normal_form(*columns, len(self.vocabulary))

    def _normalise(
        self, state: int, order: Array, in_arc: Array, in_offset: Array, out_offset: Array
    ) -> None:
        put = self.__dict__.__setitem__
        if state == UNORDERED:
            self._renumber()
            state, order, in_arc, in_offset, out_offset = self._normal_form()
        if state == UNSORTED:
            for name in ("src", "dst", "label"):
                put(name, ints(getattr(self, name)[order]))
            put("score", floats(self.score[order]))
            features = make_rows(self)
            if features is not None:
                put("features", reorder_rows(features, order))
        put("in_arc", ints(in_arc))
        put("in_offset", ints(in_offset))
        put("out_offset", ints(out_offset))

    def _renumber(self) -> None:
        """Number the states in topological order."""
        put = self.__dict__.__setitem__
        number, done = topological_numbers(self.src, self.dst, self.num_states)
        if done < self.num_states:
            raise SpaceError(
                f"the lattice has a cycle through state {int(np.flatnonzero(number < 0)[0])}; "
                "only acyclic lattices can be searched"
            )
        put("src", ints(number[self.src]))
        put("dst", ints(number[self.dst]))
        put("start", int(number[self.start]))
        order = np.argsort(number)
        put("final", floats(self.final[order]))
        if self.times is not None:
            put("times", floats(self.times[order]))
        last = make_rows(self, "final_features")
        if last is not None:
            put("final_features", reorder_rows(last, order))

    @classmethod
    def from_arcs(
        cls,
        arcs: Iterable[Sequence[Any]],
        finals: Mapping[int, float] | Iterable[int],
        *,
        states: int | None = None,
        vocabulary: Vocabulary | None = None,
        final_features: Mapping[int, Mapping[str, float]] | None = None,
        feature_names: Iterable[str] = (),
        **rest: Any,
    ) -> Lattice:
        """Build a lattice from rows ``(src, dst, word, score, features)``, the last two optional.

        Parameters
        ----------
        arcs
            A word of ``""`` is epsilon.
        finals
            Final states, with their scores if it is a mapping.
        states
            How many; by default one more than the largest that is named.
        vocabulary
            Grows by the new words; a fresh one by default.
        final_features
            Features of ending in a state, by name.
        feature_names
            Names whose order is to be kept; others are appended as they come.
        **rest
            ``start``, ``times``, ``id``, ``source``, ``references``, ``metadata``.
        """
        words = Vocabulary() if vocabulary is None else vocabulary
        with expecting("finals are states, or a mapping from states to scores"):
            ending = dict(finals) if isinstance(finals, Mapping) else dict.fromkeys(finals, 0.0)
        with expecting("an arc is (src, dst, word, score, features), the last two optional"):
            rows = list(arcs)
            src = [row[0] for row in rows]
            dst = [row[1] for row in rows]
            label = words.add_all(row[2] for row in rows)
            score = floats([row[3] if len(row) > 3 else 0.0 for row in rows], "the scores of arcs")
            given = [row[4] if len(row) > 4 else None for row in rows]
        start = rest.get("start", 0)
        check_whole([*src, *dst, *ending, start], "a state")
        if states is None:
            states = 1 + max((*src, *dst, *ending, start))
        check_count(states, "states", len(rows), "arcs")
        if odd := [state for state in ending if not 0 <= state < states]:
            raise SpaceError(f"final state {odd[0]} is not one of 0..{states - 1}")
        final = np.full(states, -np.inf)
        with expecting("the score of a final state is a number"):
            final[ints(list(ending))] = floats([*ending.values()], "the scores of final states")
        features = last = None
        with expecting("features are a mapping from names to numbers"):
            names = list(feature_names)
            if final_features or any(given) or names:
                features = feature_matrix(given, names)
                known = final_features or {}
                last = feature_matrix((known.get(state) for state in range(states)), names)
                # the finals may have brought names the arcs do not use
                features = features.widen(len(names))
        return cls(
            vocabulary=words,
            src=ints(src),
            dst=ints(dst),
            label=ints(label),
            score=score,
            final=floats(final),
            features=features,
            final_features=last,
            feature_names=tuple(names),
            **rest,
        )

    @classmethod
    def from_columns(
        cls,
        columns: LatticeColumns,
        features: FeatureColumns | None,
        vocabulary: Vocabulary,
        **about: Any,
    ) -> Lattice:
        """Return a lattice whose columns native code owns; arrays are made when one is asked for.

        ``about`` has ``feature_names`` and ``id``, and may have ``times``, ``source``,
        ``references`` and ``metadata``.
        """
        return cls.from_normal_form(
            **{
                "vocabulary": vocabulary,
                "start": columns.start,
                "columns": columns,
                "feature_columns": features,
                "feature_names": (),
                "times": None,
                "source": "",
                "references": (),
                "metadata": {},
                **about,
            }
        )

    if not TYPE_CHECKING:  # the fields are declared above

        def __getattr__(self, name: str) -> Any:
            """Make an array of a column that native code owns; Python asks for what is missing."""
            columns = self.__dict__.get("columns")
            if columns is None or name not in NATIVE:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            made = self.__dict__[name] = getattr(columns, name)
            return made

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: arrays, whoever owns them."""
        for name in NATIVE:
            getattr(self, name)
        make_rows(self)
        make_rows(self, "final_features")
        return super().__getstate__()

    @property
    def native_columns(self) -> tuple[LatticeColumns, FeatureColumns | None] | None:
        """Columns and features if native code owns them, and no others were made of these."""
        held = self.__dict__
        if "features" in held or not {"columns", "feature_columns"} <= held.keys():
            return None
        return held["columns"], held["feature_columns"]

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self.final)

    @property
    def num_arcs(self) -> int:
        """How many arcs there are."""
        return len(self.src)

    @cached_property
    def finals(self) -> IntColumn:
        """The final states, in order."""
        return ints(np.flatnonzero(self.final > -np.inf))

    @cached_property
    def columns(self) -> LatticeColumns:
        """The columns as native code takes them: checked once, for any number of calls."""
        return LatticeColumns(
            self.src,
            self.dst,
            self.label,
            self.score,
            self.final,
            self.in_arc,
            self.in_offset,
            self.out_offset,
            self.start,
            f"lattice {self.id!r}",
        )

    @cached_property
    def feature_columns(self) -> FeatureColumns | None:
        """The features as native code takes them, or None if there are none."""
        return feature_columns(
            self.feature_names, self.num_arcs, make_rows(self), make_rows(self, "final_features")
        )

    def reweighted(self, weights: Weights, *, missing: str = "warn") -> Lattice:
        """Return the lattice with every score set to ``features @ weights``.

        A feature without a weight counts nothing: with one warning, or without a word if
        ``missing`` is ``zero``. It is an error if that is ``error``, or if no feature has a weight.

        Examples
        --------
        >>> lattice = Lattice.from_arcs([(0, 1, "a", 0.0, {"lm": -2.0})], finals=[1])
        >>> lattice.reweighted({"lm": 0.5}).score.tolist()
        [-1.0]
        """
        features = self._weighable()
        vector = weight_vector(weights, self.feature_names, missing)
        final = self.final.copy()
        last = 0.0 if self.final_features is None else (self.final_features @ vector)[self.finals]
        final[self.finals] = last
        return self.replaced(score=features @ vector, final=final)

    def hypothesis(self, arcs: Sequence[int]) -> Hypothesis:
        """Return the sentence of a complete path, given as indexes of arcs.

        Raises
        ------
        SpaceError
            If the arcs are not a path from the start to a final state, or if its scores add up
            to infinity.

        Examples
        --------
        >>> lattice = Lattice.from_arcs([(0, 1, "a", -1.0), (1, 2, "b", -0.5)], finals=[2])
        >>> lattice.hypothesis([0, 1])
        Hypothesis(tokens=('a', 'b'), score=-1.5, features={}, arcs=(0, 1), index=-1)
        """
        strings = self.vocabulary.strings
        with expecting("arcs are a sequence of their numbers"):
            return Hypothesis(*path_fields(self.columns, self.feature_columns, strings, arcs))

    def paths(self) -> Iterator[Hypothesis]:
        """Iterate over every complete path, depth first: for small lattices and for tests."""
        stack: list[tuple[int, tuple[int, ...]]] = [(self.start, ())]
        while stack:
            state, arcs = stack.pop()
            if self.final[state] > -np.inf:
                yield self.hypothesis(arcs)
            for arc in range(self.out_offset[state + 1] - 1, self.out_offset[state] - 1, -1):
                stack.append((int(self.dst[arc]), (*arcs, arc)))

    def __repr__(self) -> str:
        """Return the segment's name and the size."""
        return f"<Lattice {self.id!r} of {self.num_states} states, {self.num_arcs} arcs>"

    def plot(
        self,
        best: object = None,
        oracle: object = None,
        mbr: object = None,
        *,
        posteriors: object = None,
        scores: bool = False,
    ) -> Svg:
        """Return a picture of the lattice as SVG: a notebook shows it, ``save(path)`` writes it.

        States are in layers from left to right, final ones have a double border. Cost: linear in
        the layers that arcs cross; half a second for a few hundred arcs. A notebook shows lattices
        of up to 300 arcs by themselves, and the plain text of larger ones.

        Parameters
        ----------
        best, oracle, mbr
            What to point out: hypotheses, results that have one, or sentences. The path
            of a hypothesis of another lattice, say before pruning, is looked up by its words.
        posteriors : Posteriors or column, optional
            Of :func:`lattices.posteriors`: lines are as thick, and the number is beside the word.
        scores : bool
            Whether the model's scores are beside the words.

        Raises
        ------
        SpaceError
            If something to point out is not in the lattice, or if the lattice is too large to be
            drawn: :func:`lattices.prune` it first.

        Examples
        --------
        >>> lattice = Lattice.from_arcs(
        ...     [(0, 1, "a", -0.1), (0, 1, "the", -0.2), (1, 2, "cat", -0.5)], finals=[2]
        ... )
        >>> picture = lattice.plot(best="a cat", oracle="the cat")
        >>> str(picture).count('<g class="arc"')
        3
        """
        from lattices.drawing import draw
        from lattices.spaces.pictures import lattice_graph

        marks = {"1-best": best, "oracle": oracle, "MBR": mbr}
        return draw(lattice_graph(self, marks, posteriors, scores))

    def _repr_svg_(self) -> str | None:
        """Return the picture for a notebook, which shows the plain text of what is too large."""
        from lattices.drawing.graph import READABLE

        return str(self.plot()) if self.num_arcs <= READABLE else None


def build_lattice(
    *,
    vocabulary: Vocabulary,
    src: IntColumn,
    dst: IntColumn,
    label: IntColumn,
    score: FloatColumn,
    final: FloatColumn,
    start: int = 0,
    features: FeatureRows | None = None,
    final_features: FeatureRows | None = None,
    feature_names: tuple[str, ...] = (),
    times: FloatColumn | None = None,
    id: str = "",
    source: str = "",
    references: Sequence[Any] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Lattice:
    """Return ``Lattice(...)`` of the same arguments, in a third of the time.

    Native code owns the columns, unless the constructor has to sort states or name an error.
    """
    # features of ends alone are left to the constructor: native code has rows for arcs, too
    about: dict[str, Any] = {
        "id": id,
        "source": source,
        "references": references,
        "metadata": metadata or {},
    }
    usual = isinstance(references, tuple) and (features is not None or final_features is None)
    if times is not None:
        times = floats(times, "'times'")
        usual = usual and times.shape == final.shape
    if usual and (
        made := lattice_of_columns(
            src, dst, label, score, final, start, len(vocabulary), feature_names,
            _parts(features), _parts(final_features), f"lattice {id!r}",
        )
    ):  # fmt: skip
        about["feature_names"], about["times"] = feature_names, times
        return Lattice.from_columns(*made, vocabulary, **about)
    return Lattice(
        vocabulary=vocabulary, src=src, dst=dst, label=label, score=score, final=final, start=start,
        features=features, final_features=final_features, feature_names=feature_names, times=times,
        **about,
    )  # fmt: skip


def _parts(rows: FeatureRows | None) -> tuple[Array, Array, Array] | None:
    return None if rows is None else (rows.indptr, rows.indices, rows.data)
