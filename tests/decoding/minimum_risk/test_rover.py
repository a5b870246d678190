"""ROVER: votes counted by hand, and by NIST's rover where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from decoding import EditDistance, mbr
from decoding.corpus.transcripts import read_transcripts
from decoding.minimum_risk.edit import edit
from decoding.minimum_risk.method import MBRProblem
from decoding.minimum_risk.rover import Rover, rover
from fstmetrics import BLEU, WER
from lattices import Hypothesis, Lattice, NBest, OptionError
from tests.decoding.cli.commandline import command

run = command("mbr")

ANCHORS = ("a", "b", "c")
#: where Debian has the tools of NIST
NIST = shutil.which("rover", path="/usr/lib/sctk/bin") or shutil.which("rover")


def said(words: Sequence[tuple[str, float]]) -> Lattice:
    """Return what a system said."""
    arcs = [
        (place, place + 1, word, 0.0, {"confidence": confidence})
        for place, (word, confidence) in enumerate(words)
    ]
    return Lattice.from_arcs(arcs, [len(arcs)])


def drawn(rng: Random, systems: int) -> list[list[tuple[str, float]]]:
    """Return what systems said between words that all of them have: bins are never in doubt.

    With one such word instead of three, to shift it by substitutions could cost as little.
    """
    rows: list[list[tuple[str, float]]] = [[] for _ in range(systems)]
    for place in range(4):
        for row in rows:
            row += [(f"{name}{place}", rng.randint(1, 99) / 100) for name in ANCHORS]
            word = rng.choice(["x", "y", "z", ""])
            if word:
                row.append((f"{word}{place}", rng.randint(1, 99) / 100))
    return rows


@pytest.mark.parametrize("seed", range(30))
def test_votes_are_counted(seed: int) -> None:
    rng = Random(seed)
    systems = drawn(rng, rng.randint(2, 5))
    alpha, null = rng.randint(0, 10) / 10, rng.randint(0, 10) / 10
    weights = [rng.randint(1, 9) / 10 for _ in systems]
    found = rover(list(map(said, systems)), alpha=alpha, null=null, system_weights=weights)
    expected = []
    for place in range(4):
        expected += [(f"{name}{place}", 1.0) for name in ANCHORS]
        count: Counter[str] = Counter()
        sure: Counter[str] = Counter()
        for row, weight in zip(systems, weights, strict=True):
            after = [each for each in row if each[0] in (f"x{place}", f"y{place}", f"z{place}")]
            word, confidence = after[0] if after else ("", null)
            count[word] += weight
            sure[word] += weight * confidence
        of = sure if sure.total() else count
        votes = {
            word: alpha * count[word] / count.total() + (1 - alpha) * of[word] / of.total()
            for word in count
        }
        best = max(votes.values())
        winners = [word for word, vote in votes.items() if vote > best - 1e-9]
        if len(winners) > 1:
            return
        if winners[0]:
            expected.append((winners[0], best))
    words = found.network.words
    assert [word.word for word in words] == [word for word, _ in expected]
    assert list(found.tokens) == [word for word, _ in expected]
    assert [word.confidence for word in words] == pytest.approx([share for _, share in expected])
    for row in found.network.bins:
        assert sum(each.posterior for each in row) == pytest.approx(1.0)
        shares = [each.posterior for each in row]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("seed", range(30))
def test_without_confidences_systems_are_counted(seed: int) -> None:
    rng = Random(seed)
    systems = [
        said([(rng.choice("abc"), rng.random()) for _ in range(rng.randint(0, 6))])
        for _ in range(rng.randint(1, 4))
    ]
    counted, voted = edit(systems), rover(systems, alpha=1.0)
    assert voted.tokens == counted.tokens
    assert voted.network.words == counted.network.words
    assert voted.hypothesis == counted.hypothesis
    assert voted.method == "rover"


def test_the_method_by_its_name() -> None:
    systems = [said([("a", 0.2)]), said([("a", 0.3)]), said([("b", 0.9)])]
    assert mbr(systems, WER(), method=EditDistance()).text == "a"
    assert mbr(systems, WER(), method=Rover(alpha=0.0)).text == "b"
    assert mbr(systems, WER(), method="rover").text == "a"
    # not a sentence of one system, but of all of them
    assert mbr(systems, WER(), method=Rover(alpha=0.0)).hypothesis.score == -float("inf")
    with pytest.raises(OptionError, match="wer or wrr"):
        Rover().decide(MBRProblem(systems, BLEU()))


def test_what_has_no_confidences_is_refused() -> None:
    plain = Lattice.from_arcs([(0, 1, "a")], [1])
    with pytest.raises(OptionError, match="a confidence for each word"):
        rover([said([("a", 1.0)]), plain])
    several = Lattice.from_arcs([(0, 1, "a"), (0, 2, "b")], [1, 2])
    nbest = NBest.from_hypotheses([Hypothesis(("a",), 0.0)])
    ends = Lattice.from_arcs([(0, 1, "a"), (1, 2, "b")], [1, 2])
    for space in (several, nbest, ends):
        with pytest.raises(OptionError, match="one sentence"):
            rover([said([("a", 1.0)]), space])
    for options in ({"alpha": 1.5}, {"null": -0.1}):
        with pytest.raises(OptionError, match="from 0 to 1"):
            rover([said([("a", 1.0)])], **options)
        with pytest.raises(OptionError, match="from 0 to 1"):
            Rover(**options)
    with pytest.raises(OptionError, match=r"a confidence of 5\.0, expected one from 0 to 1"):
        rover([said([("a", 5.0)])])


def test_weights_whose_sum_is_not_finite() -> None:
    systems = [said([("a", 0.5)]), said([("b", 0.9)])]
    for weights in ([1e308, 1e308], [5e-324, 5e-324]):
        found = rover(systems, alpha=0.0, system_weights=weights)
        assert [word.confidence for word in found.network.words] == pytest.approx([0.9 / 1.4])


def test_messages_name_the_file_of_the_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("u1 a\nu2 a\n")
    second.write_text("u1 b\n")
    assert run("--systems", first, second) == 1
    assert f"{first}: segment 'u2': there is no segment 'u2'" in capsys.readouterr().err
    # wrong weights are told before any segment
    assert run("--systems", first, second, "--system-weights", "1") == 2
    assert "error: 1 weights of systems, but there are 2" in capsys.readouterr().err


def test_one_system_has_nobody_to_vote_with(tmp_path: Path) -> None:
    path, output = write_ctm(tmp_path / "one.ctm", [("a", 0.25), ("b", 0.75)]), tmp_path / "out"
    assert run("--systems", path, "--method", "rover", "-q", "-o", output) == 0
    assert output.read_text() == "u1\t0.0\ta b\n"


def write_ctm(path: Path, words: Sequence[tuple[str, float]]) -> Path:
    """Write words to a file; a word of a place and a slot, such as x2, has its time by them."""
    rows = []
    for place, (word, confidence) in enumerate(words):
        begin = place / 2
        if word[1:].isdigit():
            begin = 2.0 * int(word[1:]) + 0.5 * min(ord(word[0]) - ord("a"), len(ANCHORS))
        rows.append(f"u1 A {begin:.3f} 0.400 {word} {confidence:.2f}\n")
    path.write_text("".join(rows))
    return path


@pytest.mark.skipif(NIST is None, reason="needs rover of NIST's SCTK (Debian: sctk)")
@pytest.mark.parametrize("seed", range(40))
def test_nist_votes_the_same(seed: int, tmp_path: Path) -> None:
    """The words of ``rover -m avgconf`` where the alignment is not in doubt, and their times."""
    rng = Random(seed)
    systems = drawn(rng, rng.randint(2, 4))
    for words in systems:
        # NIST's program aligns the end of a sentence to anything
        words += [("a4", 0.5), ("b4", 0.5)]
    alpha, null = rng.randint(0, 9) / 10, rng.randint(1, 10) / 10
    paths = [
        str(write_ctm(tmp_path / f"{number}.ctm", words)) for number, words in enumerate(systems)
    ]
    hypotheses = [word for path in paths for word in ("-h", path, "ctm")]
    theirs, ours = tmp_path / "theirs.ctm", tmp_path / "ours.ctm"
    subprocess.run(
        [str(NIST), *hypotheses, "-o", theirs, "-m", "avgconf", "-a", f"{alpha}", "-c", f"{null}"],
        check=True,
        capture_output=True,
    )
    options = ["--set", f"alpha={alpha}", "--set", f"null={null}", "--format", "ctm", "-q"]
    found = run("--systems", *paths, "--method", "rover", *options, "--channel", "A", "-o", ours)
    assert found == 0
    right = [line.split()[2:5] for line in theirs.read_text().splitlines()]
    assert [line.split()[2:5] for line in ours.read_text().splitlines()] == right


def test_confidences_come_from_a_ctm(tmp_path: Path) -> None:
    path = write_ctm(tmp_path / "one.ctm", [("a", 0.25), ("b", 0.75)])
    lattice = read_transcripts(str(path))["u1"]
    assert [path.features["confidence"] for path in lattice.paths()] == [1.0]
    path.write_text("u1 A 0.0 0.4 a 0.25\nu1 A 0.5 0.4 b NA\n")
    assert not read_transcripts(str(path))["u1"].feature_names
