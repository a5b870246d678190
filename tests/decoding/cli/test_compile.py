"""``fstmetrics compile``."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding import mbr
from fstmetrics import CER, GRR, WER
from lattices import Lattice, Vocabulary, write
from tests.decoding.cli.commandline import command, words

run = command()


def test_compiled_text_is_the_metric(capsys: pytest.CaptureFixture[str]) -> None:
    reference = "the cat sat"
    assert run("compile", "--metric", "grr:n=2", "--ref", reference, "--text") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][0] == "0"
    for sentence in ("the cat sat", "cat", "the dog sat", "", "sat sat the cat dog"):
        known = [word if word in reference.split() else "<other>" for word in sentence.split()]
        assert _cheapest(rows, known) == pytest.approx(
            -GRR(n=2).against([reference]).score(sentence)
        )


def _cheapest(rows: list[list[str]], sentence: list[str]) -> float:
    """Return the cost of the best path that reads a sentence, by relaxing until nothing changes."""
    arcs = [(row[0], row[1], row[2], float((*row, "0")[3])) for row in rows if len(row) > 2]
    finals = {row[0]: float((*row, "0")[1]) for row in rows if len(row) <= 2}
    costs = {rows[0][0]: 0.0}
    for word in (*sentence, None):
        changed = True
        while changed:
            changed = False
            for src, dst, label, cost in arcs:
                if label == "<eps>" and src in costs:
                    better = costs[src] + cost
                    if better < costs.get(dst, float("inf")):
                        costs[dst], changed = better, True
        if word is not None:
            reached: dict[str, float] = {}
            for src, dst, label, cost in arcs:
                if label == word and src in costs:
                    reached[dst] = min(costs[src] + cost, reached.get(dst, float("inf")))
            costs = reached
    return min(costs[state] + finals[state] for state in costs if state in finals)


def test_compiled_binary_is_what_the_machine_gives(tmp_path: Path) -> None:
    pynini = pytest.importorskip("pynini")
    out, symbols = tmp_path / "a.fst", tmp_path / "a.syms"
    flags = ["--ref", "the cat", "--ref", "a cat sat", "-o", out, "--symbols", symbols]
    assert run("compile", "--metric", "wer", *flags) == 0
    vocabulary = Vocabulary(["the", "cat", "a", "sat"])
    evaluator = WER().against(["the cat", "a cat sat"])
    expected = evaluator.machine(vocabulary).to_fst(vocabulary, symbols=True)
    found = pynini.Fst.read(str(out))
    assert pynini.isomorphic(found, expected)
    assert list(found.input_symbols()) == list(expected.input_symbols())
    assert symbols.read_text() == "<eps>\t0\nthe\t1\ncat\t2\na\t3\nsat\t4\n<other>\t5\n"


def test_compiled_linear_bleu_is_its_linear_form(capsys: pytest.CaptureFixture[str]) -> None:
    metric = "linear-bleu:order=2,p=0.5,r=0.5,T=1"
    assert run("compile", "--metric", metric, "--ref", "the cat sat", "--text") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    # -1 a word, 1 for each known one, 2 for each known pair
    for text, gain in (("the cat", 2), ("cat the", 0), ("<other> the cat", 1), ("cat sat sat", 2)):
        assert _cheapest(rows, text.split()) == pytest.approx(-gain, abs=1e-8)


def test_the_automaton_of_linear_mbr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pynini = pytest.importorskip("pynini")
    arcs = [
        (0, 1, "a", -1.0), (1, 2, "b"), (2, 5, "e"),
        (0, 3, "x", -1.1), (0, 3, "y", -1.2), (3, 4, "c"), (4, 5, "d"),
    ]  # fmt: skip
    lattice = Lattice.from_arcs(arcs, finals=[5], id="s")
    path = tmp_path / "s.jsonl"
    write(path, [lattice])
    flags = ["--metric", "linear-bleu", "--evidence", path, "--scale", 2, "-o", f"{tmp_path}/m/"]
    assert run("compile", *flags) == 0
    machine = pynini.Fst.read(str(tmp_path / "m" / "s.fst"))
    table = machine.input_symbols()
    sentences = pynini.union(*(
        pynini.accep(each.text, token_type=table) for each in lattice.paths()
    ))  # fmt: skip
    best = pynini.shortestpath(pynini.compose(sentences, machine)).project("input").rmepsilon()
    found = mbr(lattice, method="linear", scale=2.0)
    assert best.string(token_type=table) == found.text
    cost = float(pynini.shortestdistance(pynini.compose(sentences, machine), reverse=True)[0])
    assert cost == pytest.approx(-found.expected, abs=1e-5)
    assert run("compile", "--metric", "wer", "--evidence", path, "--text") == 2
    assert "--evidence makes machines of linear-bleu" in capsys.readouterr().err
    assert run("compile", "--ref", "a", "--scale", 2, "--text") == 2
    assert "--scale is for --evidence" in capsys.readouterr().err


def test_compiling_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", "--metric", "cer:spaces=false", "--ref", "ab a", "--text") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    score = CER(spaces=False).against(["ab a"]).score("abb")
    assert _cheapest(rows, ["a", "b", "b"]) == pytest.approx(score - 1)
    # a blank is a symbol, which a text file cannot hold
    for flags in (["--text"], ["--symbols", tmp_path / "syms"]):
        out = tmp_path / "out"
        assert run("compile", "--metric", "cer", "--ref", "ab a", *flags, "-o", out) == 2
        assert "has a blank in it" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []


def test_one_file_for_each_segment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = words(tmp_path / "text", "u1 the cat", "u2", "u3 a b c")
    second = words(tmp_path / "text2", "u2", "u3 a", "u1 a cat")
    folder = tmp_path / "machines"
    flags = ["--refs-format", "kaldi", "--text"]
    assert run("compile", "--refs", first, second, *flags, "-o", f"{folder}/") == 0
    assert sorted(path.name for path in folder.iterdir()) == ["u1.txt", "u2.txt", "u3.txt"]
    rows = [line.split("\t") for line in (folder / "u1.txt").read_text().splitlines()]
    assert _cheapest(rows, ["a", "cat"]) == _cheapest(rows, ["the", "cat"]) == -1.0
    plain = words(tmp_path / "refs", "the cat", "a")
    assert run("compile", "--refs", plain, "-o", folder) == 0
    assert {path.name for path in folder.iterdir()} >= {"1.fst", "2.fst"}
    assert run("compile", "--refs", plain, "-o", tmp_path / "one.fst") == 2
    assert "-o is a directory" in capsys.readouterr().err
    assert not (tmp_path / "one.fst").exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["u1 a", "u1 b"], "2: a second line for the id 'u1'"),
        (["../u1 a"], "the id '../u1' cannot be a file name"),
        (["u1 <other>"], "'<other>' is the name of another symbol"),
    ],
)
def test_what_cannot_be_compiled(
    lines: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = words(tmp_path / "text", *lines)
    folder = tmp_path / "machines"
    assert run("compile", "--refs", refs, "--refs-format", "kaldi", "-o", f"{folder}/") == 2
    assert message in capsys.readouterr().err
    assert not folder.exists()


def test_ids_must_be_in_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = words(tmp_path / "1", "u1 a"), words(tmp_path / "2", "u2 a")
    assert run("compile", "--refs", first, second, "--refs-format", "kaldi", "--text") == 2
    assert f"{second}: no reference for 'u1'" in capsys.readouterr().err


def test_a_compiled_machine_is_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is a lattice only without its loops; reading it says so."""
    out = tmp_path / "a.fst"
    assert run("compile", "--ref", "the cat", "-o", out) == 0
    assert run("info", out) == 2
    assert "cycle" in capsys.readouterr().err
