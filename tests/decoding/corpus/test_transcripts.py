"""Transcripts as systems: votes of their words."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

import lattices
from decoding.corpus.transcripts import is_transcript, read_transcripts
from decoding.minimum_risk.edit import edit
from lattices import FormatError, best
from tests.decoding.cli.commandline import cats, command

run = command("mbr")

CTM = """\
;; a comment
s1 1 0.00 0.20 the 0.9
s1 1 0.20 0.30 cat 0.8
s2 1 0.00 0.40 no
"""


def test_layouts(tmp_path: Path) -> None:
    expected = {"s1": ("the", "cat"), "s2": ("no",)}
    for name, text in {
        "a.txt": "s1 the cat\n\ns2  no\n",
        "a.trn": "the cat (s1)\nno (s2)\n",
        "b": "the cat (s1)\nno (s2)\n",
        "a.ctm": CTM,
    }.items():
        path = tmp_path / name
        path.write_text(text)
        assert is_transcript(str(path))
        found = read_transcripts(str(path))
        if name != "a.ctm":
            assert {id: best(space).tokens for id, space in found.items()} == expected
        else:
            assert [best(space).tokens for space in found.values()] == list(expected.values())
        assert all(space.id == id for id, space in found.items())
    assert not is_transcript(str(cats(tmp_path / "cats.jsonl")))
    (tmp_path / "silent.txt").write_text("s1\n")
    assert best(read_transcripts(str(tmp_path / "silent.txt"))["s1"]).tokens == ()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "\n", "a.txt: no segment in it"),
        ("a.txt", "s1 a\ns1 b\n", "a.txt:2"),
        ("a.trn", "{ a / b } c (s1)\n", "segment 's1': a hypothesis has alternatives"),
    ],
)
def test_what_is_wrong(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError) as raised:
        read_transcripts(str(tmp_path / name))
    assert said in str(raised.value)


def test_words_are_voted_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Systems that only substitute, seldom the same: the majority of each place wins."""
    rng = random.Random(7)
    truth = {f"s{n}": [f"w{rng.randrange(50)}" for _ in range(8)] for n in range(20)}
    said: list[dict[str, list[str]]] = []
    for system in range(3):
        said.append({})
        for id, words in truth.items():
            said[-1][id] = list(words)
            # at most one system is wrong at a place
            for place in range(system, len(words), 6):
                said[-1][id][place] = f"wrong{system}"
        lines = "".join(f"{id} {' '.join(words)}\n" for id, words in said[-1].items())
        (tmp_path / f"{system}.txt").write_text(lines)
    (tmp_path / "text").write_text("".join(f"{i} {' '.join(w)}\n" for i, w in truth.items()))
    files = [tmp_path / f"{system}.txt" for system in range(3)]
    assert run("--systems", *files, "--refs", tmp_path / "text", "--format", "jsonl") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["id"] for each in found] == list(truth)
    for each in found:
        places = zip(*(system[each["id"]] for system in said), strict=True)
        assert each["words"] == [Counter(words).most_common(1)[0][0] for words in places]
        assert each["method"] == "edit"
        assert each["scores"] == {"wer": 0.0}


def test_insertions_weights_and_spaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"a": "x y", "b": "x z y", "c": "x z y"}.items():
        (tmp_path / f"{name}.txt").write_text(f"s1 {text}\n")
    files = [tmp_path / f"{name}.txt" for name in "abc"]
    assert run("--systems", *files, "-q") == 0
    assert capsys.readouterr().out.split("\t")[2] == "x z y\n"
    assert run("--systems", *files, "--system-weights", 5, 1, 1, "-q") == 0
    assert capsys.readouterr().out.split("\t")[2] == "x y\n"
    # the first system may be a lattice
    spaces = tmp_path / "a.jsonl"
    lattices.write(spaces, read_transcripts(str(files[0])).values())
    assert run(spaces, "--systems", *files[1:], "--metric", "wer", "-q") == 0
    assert capsys.readouterr().out.split("\t")[2] == "x z y\n"


def test_a_segment_that_a_system_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("s1 x\ns2 y\n")
    (tmp_path / "b.txt").write_text("s1 x\n")
    assert run("--systems", tmp_path / "a.txt", tmp_path / "b.txt", "-q") == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("s1\t")
    assert "segment 's2'" in printed.err
    flags = ["--resume", "-o", tmp_path / "out"]
    assert run("--systems", tmp_path / "a.txt", tmp_path / "b.txt", *flags) == 2
    assert "--resume is for spaces" in capsys.readouterr().err


def test_times_of_a_ctm_come_out(tmp_path: Path) -> None:
    """With the words, as JSON and as ctm: means over the systems that said them."""
    systems = {
        "a": [(0.0, 0.5, "the"), (0.55, 0.3, "cat"), (1.0, 0.4, "sat")],
        "b": [(0.02, 0.46, "the"), (0.5, 0.34, "hat"), (1.1, 0.4, "sat")],
        "c": [(0.04, 0.5, "a"), (0.53, 0.32, "cat"), (1.2, 0.4, "sat"), (1.7, 0.2, "down")],
    }
    paths = []
    for name, rows in systems.items():
        paths.append(tmp_path / f"{name}.ctm")
        # in any order: words have times
        lines = [f"u1 A {begin} {duration} {word}\n" for begin, duration, word in rows]
        paths[-1].write_text("".join(reversed(lines)))
    out = tmp_path / "out"
    assert run("--systems", *paths, "--format", "ctm", "--channel", "A", "-q", "-o", out) == 0
    assert out.read_text() == (
        # NIST's rover has the same words and times
        "u1 A 0.010 0.480 the 0.666667\n"
        "u1 A 0.540 0.310 cat 0.666667\n"
        "u1 A 1.100 0.400 sat 1.000000\n"
    )
    assert run("--systems", *paths, "--format", "jsonl", "--confidences", "-q", "-o", out) == 0
    found = json.loads(out.read_text())["confidences"]
    assert [(word["word"], word["begin"], word["end"]) for word in found] == [
        ("the", pytest.approx(0.01), pytest.approx(0.49)),
        ("cat", pytest.approx(0.54), pytest.approx(0.85)),
        ("sat", pytest.approx(1.1), pytest.approx(1.5)),
    ]
    assert found[1]["alternatives"] == [["hat", pytest.approx(1 / 3)]]
    # a system without times has none for anybody
    (tmp_path / "d.txt").write_text("u1 the cat sat\n")
    argv = ["--systems", *paths, tmp_path / "d.txt", "-q", "-o", out]
    assert run(*argv, "--format", "jsonl", "--confidences") == 0
    assert json.loads(out.read_text())["confidences"][0]["begin"] is None
    assert run(*argv, "--format", "ctm") == 2


def test_who_speaks_over_another(tmp_path: Path) -> None:
    path = tmp_path / "a.ctm"
    path.write_text("u1 A 0.0 1.0 one\nu1 A 0.5 0.25 two\nu1 A 1.0 0.5 three\n")
    lattice = read_transcripts(str(path))["u1"]
    assert lattice.times is not None
    assert lattice.times.tolist() == [0.0, 0.5, 0.75, 1.0, 1.5]
    assert best(lattice).text == "one two three"


@pytest.mark.parametrize("seed", range(20))
def test_pauses_cost_nothing(seed: int, tmp_path: Path) -> None:
    """Pauses are arcs without words: every sentence has the expected edits that it has without."""
    rng = random.Random(seed)
    plain, timed = [], []
    for name in "abc":
        said = rng.choices("vwxyz", k=rng.randint(1, 7))
        path = tmp_path / f"{name}.txt"
        path.write_text(f"u1 {' '.join(said)}\n")
        plain.append(read_transcripts(str(path))["u1"])
        path = tmp_path / f"{name}.ctm"
        longs = rng.choices([1, 0.5, 1.5], k=len(said))
        rows = [
            f"u1 A {at} {long} {word}\n"
            for at, (long, word) in enumerate(zip(longs, said, strict=True))
        ]
        path.write_text("".join(rows))
        timed.append(read_transcripts(str(path))["u1"])
    for _ in range(5):
        start = rng.choices("vwxyz", k=rng.randint(0, 7))
        one, other = (edit(some, start=start, decode=False) for some in (plain, timed))
        assert one.expected == pytest.approx(other.expected)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("u1 A 0.5 0.5 two 1.5", "a confidence of 1.5"),
        ("u1 A 0.5 0.5 two sure", "a confidence of sure"),
        ("u1 A 0.5 x two", "duration x"),
        ("u1 A * * <ALT_BEGIN>", "<ALT_BEGIN> without"),
    ],
)
def test_bad_rows(row: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ctm"
    path.write_text(f"u1 A 0.0 0.5 one 0.5\n{row}\n")
    with pytest.raises(FormatError, match=problem) as raised:
        read_transcripts(str(path))
    assert f"{path}:2" in str(raised.value)
