"""Confusion networks: times, conversions, and how they are written."""

from __future__ import annotations

import gzip
import io
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoding
from decoding.corpus.outcomes import Segment
from decoding.corpus.writers import json_lines
from decoding.minimum_risk.confusion_network import sort_times
from decoding.minimum_risk.edit import edit
from decoding.tasks.confusion import ConfusionTask, network_ctm, network_text
from lattices import Lattice, best, read, read_references
from lattices.errors import FormatError, SpaceError
from tests.decoding.minimum_risk.test_edit import probabilities, risk
from tests.strategies import small_lattices

SAUSAGE = [
    (0, 1, "the", math.log(0.6)),
    (0, 1, "a", math.log(0.4)),
    (1, 2, "cat", math.log(0.7)),
    (1, 2, "", math.log(0.3)),
    (2, 3, "sat", math.log(0.9)),
    (2, 3, "sad", math.log(0.1)),
]
TIMES = [0.0, 0.5, 1.0, 2.0]


def test_a_network_is_its_own() -> None:
    """The network of a network has its bins, with its posteriors and times."""
    network = edit(Lattice.from_arcs(SAUSAGE, [3], times=TIMES, id="s")).network
    rows = [[(each.word, round(each.posterior, 9)) for each in row] for row in network.bins]
    nothing = [("", 1.0)]
    assert rows == [
        nothing,
        [("the", 0.6), ("a", 0.4)],
        nothing,
        [("cat", 0.7), ("", 0.3)],
        nothing,
        [("sat", 0.9), ("sad", 0.1)],
        nothing,
    ]
    assert network.times is not None
    assert np.array(network.times)[1::2] == pytest.approx(np.array(list(pairwise(TIMES))))
    moments = [moment for each in network.words for moment in (each.begin, each.end)]
    assert moments == pytest.approx([0.0, 0.5, 0.5, 1.0, 1.0, 2.0])
    again = edit(network.to_lattice()).network
    assert [[(each.word, round(each.posterior, 9)) for each in row] for row in again.bins] == rows
    assert np.array(again.times) == pytest.approx(np.array(network.times))


def test_times_are_averages() -> None:
    """By hand: "b" is said from 0.4 with mass 0.25 and from 0.8 with mass 0.75."""
    lattice = Lattice.from_arcs(
        [
            (0, 1, "a", math.log(0.25)),
            (0, 2, "a", math.log(0.75)),
            (1, 3, "b"),
            (2, 3, "b"),
        ],
        [3],
        times=[0.0, 0.4, 0.8, 1.0],
    )
    network = edit(lattice).network
    first, second = network.words
    assert (first.word, second.word) == ("a", "b")
    assert first[1:] == pytest.approx((1.0, 0.0, 0.7))
    assert second[1:] == pytest.approx((1.0, 0.7, 1.0))
    # an empty bin is where the word before it ends: at 0 before any
    assert np.array(network.times) == pytest.approx(
        np.array([(0, 0), (0, 0.7), (0.7, 0.7), (0.7, 1), (1, 1)])
    )


def test_a_word_without_a_path_has_the_times_of_its_bin() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b")], [2], times=[0.0, 1.0, 3.0])
    network = edit(lattice, start=["a", "q"], decode=False).network
    assert network.words[1] == ("q", 0.0, 1.0, 3.0)
    (q,) = (each for each in network.bins[3] if each.word == "q")
    assert q == ("q", 0.0, None, None)
    assert "q" not in {path.tokens[1] for path in network.to_lattice().paths()}


def isotonic(values: list[float]) -> list[float]:
    """Return the isotonic regression by its minimax formula."""
    return [
        max(
            min(float(np.mean(values[first : last + 1])) for last in range(place, len(values)))
            for first in range(place + 1)
        )
        for place in range(len(values))
    ]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5))
def test_times_in_order(rows: list[tuple[int, int]]) -> None:
    begins, ends = sort_times(*np.array(rows, dtype=np.float64).T)
    both = np.stack((begins, ends), axis=1).reshape(-1)
    assert both == pytest.approx(isotonic([float(each) for row in rows for each in row]))


@settings(max_examples=60)
@given(small_lattices(), st.data())
def test_networks_as_lattices(lattice: Lattice, data: st.DataObject) -> None:
    times = np.sort(
        data.draw(
            st.lists(st.integers(0, 9), min_size=lattice.num_states, max_size=lattice.num_states)
        )
    )
    timed = Lattice(
        vocabulary=lattice.vocabulary,
        src=lattice.src,
        dst=lattice.dst,
        label=lattice.label,
        score=lattice.score,
        final=lattice.final,
        start=lattice.start,
        times=times,
        id="s 1" if data.draw(st.booleans()) else "s",
    )
    found = edit(timed)
    network = found.network
    converted = network.to_lattice()
    assert converted.num_states == len(network) + 1
    assert converted.times is not None
    assert (np.diff(converted.times) >= 0.0).all()
    mass = np.zeros(len(network))
    np.add.at(mass, converted.src, np.exp(converted.score))
    assert mass == pytest.approx(1.0)
    spoken = network.words
    assert tuple(each.word for each in spoken) == found.tokens
    moments = [moment for each in spoken for moment in (each.begin, each.end)]
    assert moments == sorted(moments)
    low, high = times.min(), times.max()
    assert all(low - 1e-9 <= moment <= high + 1e-9 for moment in moments)
    for row in network.bins:
        assert all(each.begin <= each.end + 1e-9 for each in row)


@pytest.mark.parametrize("format", ["mesh", "sausages"])
@settings(max_examples=25)
@given(lattice=small_lattices())
def test_written_and_read_back(format: str, lattice: Lattice) -> None:
    network = edit(lattice.replaced(id="s1")).network
    data = network_text(network, format).encode()
    from lattices.formats import FORMATS
    from lattices.vocabulary import Vocabulary

    form = FORMATS.get(format)
    (record,) = form.records(io.BytesIO(data), "x")
    again = form.parse(record, Vocabulary())
    assert isinstance(again, Lattice)
    assert again.id == "s1"

    def arcs(one: Lattice) -> list[tuple[int, str, float]]:
        return sorted(
            (int(src), one.vocabulary.word(int(label)), round(float(score), 9))
            for src, label, score in zip(one.src, one.label, one.score, strict=True)
        )

    assert arcs(again) == arcs(network.to_lattice())


def test_json_lines(tmp_path: Path) -> None:
    lattice = Lattice.from_arcs(SAUSAGE, [3], times=TIMES, id="s", references=["the cat sat"])
    found = edit(lattice, start=["a", "cat", "sat"])

    def fields_from(start: str, **options: Any) -> dict[str, Any]:
        (tmp_path / "start").write_text(f"s {start}\n")
        sentences = read_references([tmp_path / "start"], ["s"], format="kaldi")
        table = ConfusionTask(sentences, options).process([Segment(0, "", 0, lattice)])
        ((line,),) = json_lines(table)
        found: dict[str, Any] = json.loads(line)
        return found

    fields = fields_from("a cat sat")
    assert fields["text"] == "the cat sat"
    assert fields["words"][0] == {
        "word": "the",
        "confidence": pytest.approx(0.6),
        "begin": 0.0,
        "end": 0.5,
    }
    assert fields["expected_edits"] == pytest.approx(0.4 + 0.3 + 0.1)
    assert fields["objectives"] == pytest.approx([1.0, 0.8])
    assert fields["model_score"] == found.hypothesis.score == pytest.approx(math.log(0.378))
    assert (fields["settled"], len(fields["bins"])) == (True, 7)
    assert fields["bins"][3]["words"][1] == ["", pytest.approx(0.3)]
    assert fields_from("q", decode=False)["model_score"] is None


def test_what_ctm_cannot_hold() -> None:
    with pytest.raises(SpaceError, match="no times"):
        network_ctm(edit(Lattice.from_arcs([(0, 1, "a")], [1], id="s")).network)
    spaced = Lattice.from_arcs([(0, 1, "a b")], [1], id="s", times=[0, 1])
    with pytest.raises(FormatError, match="'a b' cannot stand"):
        network_ctm(edit(spaced).network)
    nameless = Lattice.from_arcs([(0, 1, "a")], [1], times=[0, 1])
    with pytest.raises(FormatError, match="'' cannot stand"):
        network_ctm(edit(nameless).network)


def test_recognized_speech(tmp_path: Path) -> None:
    """Real lattices: times within the recording, in order, and ctm that others can read."""
    folder = Path(decoding.__file__).parent / "data" / "pocketsphinx"
    lines = []
    for path in sorted(folder.glob("*.slf.gz"))[:6]:
        (lattice,) = read(path)
        assert isinstance(lattice, Lattice)
        assert lattice.times is not None
        found = edit(lattice)
        words = found.network.words
        assert len(words) == len(found.tokens) > 5
        moments = [moment for each in words for moment in (each.begin, each.end)]
        assert moments == sorted(moments)
        assert moments[0] >= lattice.times.min()
        assert moments[-1] <= lattice.times.max() + 1e-9
        # nobody says more than twelve words a second
        assert len(words) / (moments[-1] - moments[0]) < 12
        assert all(0.0 < each.confidence <= 1.0 for each in words)
        lines.append((lattice.id, found.text, network_ctm(found.network)))
    file = tmp_path / "all.ctm"
    file.write_text("".join(text for _, _, text in lines))
    references = read_references([file], [name for name, _, _ in lines], format="ctm")
    assert [references.get(name, 0)[0] for name, _, _ in lines] == [text for _, text, _ in lines]


def test_times_of_pocketsphinx(shared_data: Path) -> None:
    """Words of its SLF files are where its own files, which have them in frames, say."""
    for path in sorted((shared_data / "pocketsphinx").glob("*.sphinx.gz")):
        (lattice,) = read(str(path).replace(".sphinx.", ".slf."))
        assert isinstance(lattice, Lattice)
        frames: dict[str, set[int]] = {}
        with gzip.open(path, "rt") as lines:
            for line in lines:
                match line.split():
                    case [_, word, begin, _, _, ";", _]:
                        frames.setdefault(word.partition("(")[0], set()).add(int(begin))
        for each in edit(lattice).network.words:
            assert each.begin is not None
            # bins are made of several words, whose begins are averaged
            assert min(abs(100 * each.begin - frame) for frame in frames[each.word]) < 10


def test_real_lattices(shared_data: Path) -> None:
    """On lattices of a decoder, every sentence on the way is better than the one before."""
    path = shared_data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl"
    if not path.exists():
        pytest.skip(f"no {path}")
    for lattice in read(path):
        assert isinstance(lattice, Lattice)
        found = edit(lattice, scale=2.0)
        masses = probabilities(lattice, 2.0)
        assert found.settled
        assert list(found.objectives) == sorted(found.objectives, reverse=True)
        assert found.expected >= risk(found.tokens, masses) - 1e-9
        assert risk(found.tokens, masses) <= risk(best(lattice).tokens, masses) + 1e-9


def test_many_alternatives() -> None:
    """A network of 25 bins of 40 words each, in which no bin shares a word with its neighbours."""
    bins, count = 25, 40
    masses = np.random.default_rng(1).dirichlet(np.full(count, 0.5), bins)
    arcs = [
        (place, place + 1, f"w{place % 3}.{number}", math.log(masses[place, number]))
        for place in range(bins)
        for number in range(count)
    ]
    found = edit(Lattice.from_arcs(arcs, [bins]))
    assert found.tokens == tuple(f"w{n % 3}.{masses[n].argmax()}" for n in range(bins))
    assert found.expected == pytest.approx((1.0 - masses.max(axis=1)).sum())
    for place, row in enumerate(found.network.bins[1::2]):
        expected = {f"w{place % 3}.{number}": masses[place, number] for number in range(count)}
        assert {each.word: each.posterior for each in row} == pytest.approx(expected)
