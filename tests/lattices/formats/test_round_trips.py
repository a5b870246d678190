"""Real lattices and n-best lists through every writable format and back.

The judge knows nothing of the formats but which of them add an end state: what differs between
what was written and what was read must be what the writer said it would leave out, no more and
no less. The files that come with the package are always there; the others where ``shared_data``
is.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lattices import Hypothesis, best, k_best, path_count
from lattices.arrays import Array
from lattices.errors import FormatError
from lattices.formats import FORMATS, LossWarning, formats, read, write
from lattices.spaces import Lattice, NBest, Space
from lattices.testing import sentences
from tests.lattices.real_spaces import OURS, SHARED, bare, bundled, lattices_of
from tests.strategies import small_lattices

TOLERANCE = 1e-6


# What is written -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A format with options; ``{}`` in an option is the folder that is written to."""

    format: str
    write: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[str, str] = field(default_factory=dict)
    exact: bool | None = None

    def __str__(self) -> str:
        return " ".join([self.format, *(f"{key}={value}" for key, value in self.write.items())])

    @property
    def is_exact(self) -> bool:
        return FORMATS.get(self.format).exact if self.exact is None else self.exact


TABLE = {"symbols": "{}/words.txt"}
PROBABILITY = {"scores": "probability"}

#: words that are all digits are told to be words
WORDS = {"labels": "words"}
VARIANTS = [
    Variant("jsonl"),
    Variant("arrow"),
    Variant("parquet"),
    Variant("htk"),
    Variant("plf"),
    Variant("plf", PROBABILITY, PROBABILITY, exact=False),
    Variant("openfst"),
    Variant("openfst", {"arc_type": "log"}),
    Variant("openfst", {"arc_type": "log64"}, exact=True),
    Variant("openfst", TABLE, TABLE),
    Variant("openfst-text", {}, WORDS),
    Variant("openfst-text", {"acceptor": "no"}, WORDS),
    Variant("openfst-text", {"labels": "numbers", **TABLE}, TABLE),
    Variant("k2", {}, WORDS),
    Variant("k2", TABLE, TABLE),
    Variant("kaldi", {}, WORDS),
    Variant("kaldi", {"type": "lattice"}, WORDS),
    Variant("kaldi", TABLE, TABLE),
    Variant("kaldi-binary"),
    Variant("kaldi-binary", {"arc_type": "lattice4", **TABLE}, TABLE),
    Variant("kaldi-binary", {"arc_type": "lattice8"}, exact=True),
    Variant("kaldi-binary", {"arc_type": "compactlattice84"}, exact=True),
    Variant("kaldi-scp", {"ark": "{}/segments.ark"}),
    Variant("kaldi-scp", {"ark": "{}/segments.txt", "binary": "false"}),
    Variant("mesh"),
    Variant("sausages", {}, WORDS),
    Variant("sausages", {"binary": "true", **TABLE}, TABLE),
    Variant("moses-nbest"),
    Variant("nbest-tsv"),
    Variant("csv"),
]
#: Formats that store the scores as features of these names, and keep more of their own.
OWN_FEATURES = {
    "htk": re.compile("acoustic|x[1-9]"),
    "kaldi": re.compile("graph|acoustic"),
    "kaldi-binary": re.compile("graph|acoustic"),
    "kaldi-scp": re.compile("graph|acoustic"),
    "plf": re.compile("LatticeCost_0"),
}
OWN_METADATA = {"htk": {"weights", "header"}, "mesh": {"posterior"}}
#: Formats with one state where all paths end, or without what is on no path.
OWN_ENDS = {"htk", "k2", "plf"}
CONFUSION_NETWORKS = {"mesh", "sausages"}


# The judge -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns:
    """A lattice in columns that compare; features are of arcs, then of ways to end."""

    src: Array
    dst: Array
    words: Array
    score: Array
    final: Array
    features: Mapping[str, Array]
    times: Array | None

    @classmethod
    def of(cls, lattice: Lattice) -> Columns:
        words = np.array(["", *lattice.vocabulary], object)
        arcs, ends = (
            np.zeros((rows, len(lattice.feature_names))) if matrix is None else matrix.toarray()
            for matrix, rows in (
                (lattice.features, lattice.num_arcs),
                (lattice.final_features, lattice.num_states),
            )
        )
        ends[lattice.final == -np.inf] = 0.0
        both = np.concatenate((arcs, ends))
        return cls(
            lattice.src,
            lattice.dst,
            words[lattice.label],
            lattice.score,
            lattice.final,
            {name: both[:, place] for place, name in enumerate(lattice.feature_names)},
            lattice.times,
        )

    def chosen(self, arcs: Array, states: Array) -> Columns:
        """Return these arcs and states only, numbered without gaps."""
        number = np.cumsum(states) - 1
        rows = np.concatenate((arcs, states))
        return Columns(
            number[self.src[arcs]],
            number[self.dst[arcs]],
            self.words[arcs],
            self.score[arcs],
            self.final[states],
            {name: column[rows] for name, column in self.features.items()},
            None if self.times is None else self.times[states],
        )

    def trimmed(self, start: int) -> Columns:
        """Return what lies on complete paths."""
        ahead, back = np.zeros((2, len(self.final)), bool)
        ahead[start] = True
        back |= self.final > -np.inf
        arcs = list(zip(self.src.tolist(), self.dst.tolist(), strict=True))
        for src, dst in arcs:
            ahead[dst] |= ahead[src]
        for src, dst in reversed(arcs):
            back[src] |= back[dst]
        states = ahead & back
        return self.chosen(states[self.src] & states[self.dst], states)

    def without_end(self) -> Columns:
        """Return the lattice whose last state, where nothing but epsilons lead, is no more."""
        last = len(self.final) - 1
        ending = self.dst == last
        sources = self.src[ending]
        assert np.flatnonzero(self.final > -np.inf).tolist() == [last]
        assert self.final[last] == 0.0
        assert not self.words[ending].any()
        assert len(np.unique(sources)) == len(sources)
        final = self.final.copy()
        final[sources] = self.score[ending]
        features = {name: column.copy() for name, column in self.features.items()}
        for column in features.values():
            column[len(self.src) + sources] = column[: len(self.src)][ending]
        states = np.arange(last + 1) < last
        moved = Columns(self.src, self.dst, self.words, self.score, final, features, self.times)
        return moved.chosen(~ending, states)

    def in_slots(self) -> Columns:
        """Return the arcs of every slot in the order of their words, most probable first."""
        words = np.unique(self.words.astype(str), return_inverse=True)[1]
        order = np.lexsort((-self.score, words, self.src))
        count = len(order)
        return Columns(
            self.src[order],
            self.dst[order],
            self.words[order],
            self.score[order],
            self.final,
            {
                name: np.concatenate((column[:count][order], column[count:]))
                for name, column in self.features.items()
            },
            self.times,
        )


def same(one: Array, other: Array, exact: bool) -> bool:
    if exact:
        return np.array_equal(one, other)
    return one.shape == other.shape and np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)


def aligned(before: Lattice, after: Lattice, variant: Variant) -> tuple[Columns, Columns]:
    """Return both with the same states, where the format has ends of its own."""
    one, other = Columns.of(before), Columns.of(after)
    if variant.format in CONFUSION_NETWORKS:
        return one.in_slots(), other.in_slots()
    ends = np.array_equal(before.finals, after.finals)
    if (before.start, len(one.final), ends) == (after.start, len(other.final), True) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("src", "dst")
    ):
        return one, other
    assert variant.format in OWN_ENDS, f"{after!r} came back for {before!r}"
    one, other = one.trimmed(before.start), other.trimmed(after.start)
    if len(other.final) == len(one.final) + 1:
        other = other.without_end()
    elif len(one.final) == len(other.final) + 1:
        one = one.without_end()
    return one, other


@dataclass
class Changes:
    """What must have been said to be lost, and what may have been: it was worth nothing."""

    lost: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)


def changes(before: Space, after: Space, variant: Variant) -> Changes:
    """Return what differs, after checking that words, scores and paths do not."""
    exact = variant.is_exact
    assert type(after) is type(before)
    assert after.id == before.id
    if isinstance(before, Lattice):
        assert isinstance(after, Lattice)
        one, other = aligned(before, after, variant)
        for name in ("src", "dst", "words"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert same(one.score, other.score, exact)
        found = _changed_features(one.features, other.features, before, after, variant)
        if variant.format in CONFUSION_NETWORKS and other.final[-1] != one.final[-1]:
            found.lost.add("scores of ending")
        else:
            assert same(one.final, other.final, exact)
        if one.times is not None and (
            other.times is None or not same(one.times, other.times, exact)
        ):
            found.lost.add("times")
        assert one.times is not None or other.times is None
        if after.num_arcs != before.num_arcs:
            check_paths(before, after)
    else:
        assert isinstance(before, NBest)
        assert isinstance(after, NBest)
        assert [after.tokens(e) for e in range(len(after))] == [
            before.tokens(e) for e in range(len(before))
        ]
        assert same(before.score, after.score, exact)
        one_by_name, other_by_name = (
            {}
            if space.features is None
            else dict(zip(space.feature_names, space.features.toarray().T, strict=True))
            for space in (before, after)
        )
        found = _changed_features(one_by_name, other_by_name, before, after, variant)
    for name in ("source", "references"):
        if getattr(before, name) != getattr(after, name):
            assert not getattr(after, name)
            found.lost.add(name)
    # how to score is for the format to say, whatever was said before; see below
    kept = {key: value for key, value in before.metadata.items() if key != "weights"}
    if variant.format != "htk":
        kept = dict(before.metadata)
    if any(key not in after.metadata or after.metadata[key] != kept[key] for key in kept):
        found.lost.add("metadata")
    gained = after.metadata.keys() - before.metadata.keys()
    assert gained <= OWN_METADATA.get(variant.format, set())
    if variant.format == "htk" and after.metadata.get("weights"):
        again = after.reweighted(after.metadata["weights"])
        assert again.score.tolist() == after.score.tolist()
    return found


def _changed_features(
    one: Mapping[str, Array],
    other: Mapping[str, Array],
    before: Space,
    after: Space,
    variant: Variant,
) -> Changes:
    found = Changes()
    for name, column in one.items():
        if name not in other:
            (found.lost if column.any() else found.gone).add(f"features {name}")
        elif not same(column, other[name], variant.is_exact):
            found.lost.add(f"features {name}")
    for name in set(after.feature_names) - set(before.feature_names):
        assert OWN_FEATURES[variant.format].fullmatch(name), name
    return found


def check_paths(before: Lattice, after: Lattice) -> None:
    """Compare the number of paths, the best, the fifty best, and all of them if they are few."""
    count = path_count(before)
    assert path_count(after) == count
    ours, theirs = k_best(before, 50), k_best(after, 50)
    assert best(after).score == pytest.approx(ours[0].score, rel=TOLERANCE, abs=TOLERANCE)
    assert best(after).text in _texts(ours, ours[0].score - 1e-5)
    np.testing.assert_allclose(
        [path.score for path in theirs],
        [path.score for path in ours],
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
    # which of those that tie with the last are among the fifty is chance
    bound = ours[-1].score + 1e-5 * max(1.0, abs(ours[-1].score))
    assert _texts(ours, bound) == _texts(theirs, bound)
    if count <= 300:
        known, found = sentences(before), sentences(after)
        assert known.keys() == found.keys()
        for tokens, scores in known.items():
            assert found[tokens] == pytest.approx(scores, rel=TOLERANCE, abs=TOLERANCE)


def _texts(paths: Sequence[Hypothesis], bound: float) -> Counter[str]:
    return Counter(path.text for path in paths if path.score > bound)


# The trip ------------------------------------------------------------------------------------


def filled(options: Mapping[str, str], folder: Path) -> dict[str, Any]:
    return {key: value.format(folder) for key, value in options.items()}


def round_trip(folder: Path, spaces: Sequence[Space], variant: Variant) -> tuple[list[Space], str]:
    """Return what comes back, and the warning: without leave to lose, it is an error instead."""
    fmt = FORMATS.get(variant.format)
    target = folder / "files" if fmt.single else folder / f"segments{fmt.suffixes[0]}"
    if fmt.single:
        target.mkdir(exist_ok=True)
    options = filled(variant.write, folder)
    message = refusal = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            write(target, spaces, variant.format, **options)
        except FormatError as problem:
            refusal = str(problem)
            assert "lossy=True leaves them out" in refusal
    assert not caught
    if refusal:
        with pytest.warns(LossWarning) as said:
            write(target, spaces, variant.format, lossy=True, **options)
        (warning,) = said
        message = str(warning.message)
        first = re.search(r"cannot hold the (.*) of segment ", refusal)
        assert first is not None
        assert f" {first[1]} (first in segment " in message
    # the format is found, but for long files of k2: their beginning could be OpenFst's
    told = "k2" if variant.format == "k2" else None
    back = list(read(target, told, **filled(variant.read, folder)))
    by_id = {space.id: space for space in back}
    assert len(by_id) == len(back) == len(spaces)
    return [by_id[space.id] for space in spaces], message


def said_losses(message: str) -> set[str]:
    """Return what a warning names: one entry a kind, and one for each feature that is named."""
    if not message:
        return set()
    _, _, listed = message.partition("cannot hold, and left out: ")
    found = set()
    for what in re.findall(r"(?:^|; )(.*?) \(first in segment '.*?'\)", listed):
        if what.startswith("features "):
            found |= {f"features {name}" for name in re.findall(r"[^\s,']+", what[9:])}
        else:
            found.add("source" if what == "source texts" else what)
    return found


def check_round_trip(folder: Path, spaces: Sequence[Space], variant: Variant) -> set[str]:
    """Check that nothing is lost but what is said, and return that."""
    back, message = round_trip(folder, spaces, variant)
    total = Changes()
    for before, after in zip(spaces, back, strict=True):
        found = changes(before, after, variant)
        total.lost |= found.lost
        total.gone |= found.gone
    said = said_losses(message)
    if "features" in said:
        # all of them, which is right if there were any
        named = {what for what in total.lost | total.gone if what.startswith("features ")}
        assert named
        said = said - {"features"} | named
    assert total.lost <= said, f"{variant} lost {total.lost - said} and did not say so"
    assert said <= total.lost | total.gone, f"{variant} said {said - total.lost}, but has it"
    # what has come back has nothing more to lose
    again, message = round_trip(folder, back, variant)
    assert message == ""
    for before, after in zip(back, again, strict=True):
        assert not changes(before, after, variant).lost
    return said


def fits(space: Space, variant: Variant) -> bool:
    """Tell whether a format is one for such a space, told by its columns."""
    kind = "lattice" if isinstance(space, Lattice) else "nbest"
    if FORMATS.get(variant.format).kind not in (kind, "any"):
        return False
    if not isinstance(space, Lattice):
        return True
    if variant.format in CONFUSION_NETWORKS:
        last = space.num_states - 1
        chain = np.array_equal(space.dst, space.src + 1) and space.finals.tolist() == [last]
        chain = chain and space.start == 0
        slots = set(zip(space.src.tolist(), space.label.tolist(), strict=True))
        once = variant.format == "sausages" or len(slots) == space.num_arcs
        return chain and len(np.unique(space.src)) == last and once
    if variant.write == PROBABILITY:
        scores = np.concatenate((space.score, space.final[space.finals]))
        return bool((scores >= -100.0).all())
    return True


def trip(folder: Path, spaces: list[Space], variant: Variant) -> tuple[set[str], int]:
    """Return what the format said it lost, and how many segments it took; it refuses the others."""
    options = filled(variant.write, folder)
    going = [space for space in spaces if fits(space, variant)]
    for space in spaces:
        if not fits(space, variant):
            with pytest.raises(FormatError):
                write(folder / "refused", [space], variant.format, lossy=True, **options)
            assert not (folder / "refused").exists()
    return (check_round_trip(folder, going, variant) if going else set()), len(going)


def test_every_writable_format_is_tried() -> None:
    writable = {
        info.name
        for info in formats()
        if info.access == "read, write" and info.kind in ("lattice", "nbest", "any")
    }
    assert {variant.format for variant in VARIANTS} == writable


def trips(folder: Path, spaces: list[Space]) -> dict[str, tuple[set[str], int]]:
    """Return what each format that is for such spaces said it lost, and how many it took."""
    found = {}
    for number, variant in enumerate(VARIANTS):
        own = folder / str(number)
        own.mkdir()
        found[str(variant)] = trip(own, spaces, variant)
    return found


@pytest.mark.parametrize("name", OURS)
def test_files_of_the_package(tmp_path: Path, name: str) -> None:
    spaces = OURS[name](5)
    went = trips(tmp_path, spaces)
    for container in ("jsonl", "arrow", "parquet"):
        assert went[container] == (set(), len(spaces))
    taken = {"speech": "htk", "networks": "mesh", "lists": "moses-nbest"}[name]
    assert went[taken] == ({"references"}, len(spaces))
    assert went["sausages"][1] == (len(spaces) if name == "networks" else 0)


@pytest.mark.parametrize("name", SHARED)
def test_files_of_others(shared_data: Path, tmp_path: Path, name: str) -> None:
    spaces = SHARED[name](shared_data, 2 if name in ("ami", "d200", "hifst") else 4)
    went = trips(tmp_path, spaces)
    for container in ("jsonl", "arrow", "parquet"):
        assert went[container] == (set(), len(spaces))


#: Names that mean something to one format or another, and one that never does.
NAMES = st.permutations(["acoustic", "language", "posterior", "words", "x1", "lm", "tm_0", "tm_1"])
CARRIED = st.fixed_dictionaries(
    {},
    optional={
        "source": st.just("ein Haus"),
        "references": st.just(("a house", "the house")),
        "metadata": st.sampled_from([{"system": "s"}, {"weights": {"acoustic": 0.5, "lm": 1.0}}]),
    },
)


@st.composite
def laden_lattices(draw: st.DrawFn) -> Lattice:
    """Draw a lattice with features of arcs, of finals, or both; times; and what goes with it."""
    lattice = draw(small_lattices(words=["a", "it's", "<s>", "日本", "7"], features=True))
    columns = ("vocabulary", "src", "dst", "label", "score", "final", "start")
    kept = draw(
        st.sampled_from([("features", "final_features"), ("features",), ("final_features",)])
    )
    times = np.arange(float(lattice.num_states)) / 4 if draw(st.booleans()) else None
    carried: dict[str, Any] = draw(CARRIED)
    return Lattice(
        **{name: getattr(lattice, name) for name in (*columns, *kept)},
        feature_names=tuple(draw(NAMES)[:3]),
        times=times,
        id="seg-1",
        **carried,
    )


@settings(max_examples=100)
@given(laden_lattices(), st.sampled_from(VARIANTS))
@example(Lattice.from_arcs([(0, 1, "7")], finals=[0], states=2, id="seg-1"), Variant("plf"))
def test_random_lattices_with_all_they_can_have(lattice: Lattice, variant: Variant) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trip(Path(folder), [lattice], variant)


def test_what_slf_has_no_place_for_finds_one(tmp_path: Path) -> None:
    """Sentence tags that are words, features of ending, and words that no penalty counts."""
    spoken = Lattice.from_arcs(
        [(0, 1, "<s>", -1.0), (1, 2, "a", -0.5), (1, 2, "", -2.0), (2, 3, "</s>", 0.0)], [3], id="t"
    )
    ending = Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"acoustic": -3.0})],
        [1],
        final_features={1: {"language": -2.0}},
        id="e",
    )
    counted = Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"acoustic": -3.0, "words": 1.0}), (1, 2, "", -1.0, {"language": -3.0})],
        [2],
        id="w",
    )
    assert trip(tmp_path, [spoken, ending, counted], Variant("htk")) == (set(), 3)
    file = tmp_path / "files" / "t.slf"
    assert {"<s>", "</s>"} <= set(next(read(file)).vocabulary)
    assert {"<s>", "</s>"}.isdisjoint(next(read(file, tags="drop")).vocabulary)


def test_the_judge_hears_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers that leave something out without a word are found out."""
    monkeypatch.setattr("lattices.formats.openfst.text.note_losses", lambda *_: None)
    with pytest.raises(AssertionError, match="did not say so"):
        trip(tmp_path, bundled(2), Variant("openfst-text"))
    monkeypatch.setattr(
        "lattices.formats.openfst.text.note_losses",
        lambda lattice, losses: losses.add("scores", f"segment {lattice.id!r}"),
    )
    with pytest.raises(AssertionError, match="but has it"):
        trip(tmp_path, [bare(one) for one in lattices_of(bundled(2))], Variant("openfst-text"))
