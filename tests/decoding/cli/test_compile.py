"""``fstmetrics compile``."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import decoding
from decoding import mbr, oracle, oracles
from fstmetrics import CER, GRR, WER, parse_metric
from lattices import Forest, Lattice, Vocabulary, from_fst, read, write
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


#: what the how-to says, with two files of a segment
PIPELINE = (
    "fstcompose '{0}.lattice.fst' '{0}.metric.fst' | fstshortestpath |"
    " fstproject --project_type=output | fstrmepsilon | fsttopsort |"
    " fstprint --acceptor --isymbols={1}"
)


@pytest.fixture
def openfst() -> None:
    if not shutil.which("fstcompose"):
        pytest.skip("OpenFst's tools are not installed (apt-get install libfst-tools)")


def composed(folder: Path, name: str, symbols: Path | None = None) -> tuple[float, list[str]]:
    """Return the cost and the words that OpenFst's tools find."""
    line = PIPELINE.format(name, symbols or "words.txt")
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=True)
    assert not done.stderr
    rows = [row.split("\t") for row in done.stdout.splitlines()]
    arcs = [row for row in rows if len(row) > 2]
    costs = [(*row, "0")[3 if len(row) > 2 else 1] for row in rows]
    return sum(map(float, costs)), [row[2] for row in arcs]


def check_oracles(
    folder: Path, spaces: list[Any], evaluators: list[Any], symbols: Path | None = None
) -> None:
    """Compare with what the command ``oracle`` finds."""
    found = oracles(spaces, evaluators)
    for space, evaluator, best in zip(spaces, evaluators, found, strict=True):
        cost, tokens = composed(folder, space.id, symbols)
        value = best.score if evaluator.metric.higher_is_better else 1.0 - best.score
        assert -cost == pytest.approx(value, abs=1e-5)
        assert evaluator.score(tokens) == best.score


@pytest.mark.usefixtures("openfst")
@pytest.mark.parametrize("metric", ["wer", "grr"])
def test_openfst_finds_the_oracles_of_speech_lattices(metric: str, tmp_path: Path) -> None:
    data = Path(decoding.__file__).parent / "data" / "pocketsphinx"
    files = sorted(data.glob("*.slf.gz"))
    flags = ["--refs", data / "refs.txt", "-o", f"{tmp_path}/fsts/"]
    assert run("compile", "--metric", metric, "--lattices", *files, *flags) == 0
    references = dict(line.split(" ", 1) for line in (data / "refs.txt").read_text().splitlines())
    spaces = [space for file in files for space in read(file)]
    evaluators = [parse_metric(metric).against([references[space.id]]) for space in spaces]
    check_oracles(tmp_path / "fsts", spaces, evaluators)


@pytest.mark.usefixtures("openfst")
@pytest.mark.parametrize("metric", ["wer", "grr"])
def test_openfst_finds_the_oracles_of_translation_lattices(
    metric: str, tmp_path: Path, shared_data: Path
) -> None:
    held = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    spaces = list(islice(read(held), 60))
    write(tmp_path / "some.jsonl", spaces)
    folder = tmp_path / "fsts"
    assert (
        run("compile", "--metric", metric, "--lattices", tmp_path / "some.jsonl", "-o", folder) == 0
    )
    evaluators = [parse_metric(metric).against(space.references) for space in spaces]
    check_oracles(folder, spaces, evaluators)
    # lattices that somebody has as OpenFst files, with a table for all of them
    symbols = shared_data / "multi30k-deen" / "words.syms"
    mine = tmp_path / "mine"
    mine.mkdir()
    with tarfile.open(held.with_name("val.de-en.lat.d10.att.tar.gz")) as archive:
        for space in spaces[:20]:
            text = archive.extractfile(f"{space.id}.att")
            assert text is not None
            subprocess.run(
                [
                    "fstcompile",
                    "--acceptor",
                    f"--isymbols={symbols}",
                    "-",
                    mine / f"{space.id}.fst",
                ],
                input=text.read(),
                check=True,
            )
    refs = words(tmp_path / "refs", *(f"{each.id} {each.references[0]}" for each in spaces[:20]))
    flags = ["--refs", refs, "--symbols-in", symbols, "-o", tmp_path / "theirs"]
    assert run("compile", "--metric", metric, "--lattices", mine, *flags) == 0
    assert not (tmp_path / "theirs" / "words.txt").exists()
    check_oracles(tmp_path / "theirs", spaces[:20], evaluators[:20], symbols)


def test_lattices_and_machines_compose(tmp_path: Path) -> None:
    """Characters, forests, scores of the model and ids of Kaldi, in pynini."""
    pynini = pytest.importorskip("pynini")
    arcs = [
        (0, 1, "a", -0.5), (0, 1, "", -1.0), (1, 2, "hat", -0.25), (1, 2, "cat", -1.5),
    ]  # fmt: skip
    lattice = Lattice.from_arcs(arcs, finals={2: -0.25}, id="AMI_H00-MEE068_0001.2")
    forest = Forest.from_lattice(lattice).replaced(id="", references=["a cat"])
    write(tmp_path / "some.jsonl", [lattice.replaced(references=["the cat"])])
    write(tmp_path / "forest.jsonl", [forest])
    for metric in (WER(), CER(spaces=False), GRR(n=2)):
        for weight in (0.0, 0.5, -1.0):
            folder = tmp_path / f"{metric.name}{weight}"
            flags = ["--metric", metric, "--model-weight", weight, "-o", f"{folder}/"]
            inputs = [tmp_path / "some.jsonl", tmp_path / "forest.jsonl"]
            assert run("compile", "--lattices", *inputs, *flags) == 0
            table = pynini.SymbolTable.read_text(str(folder / "words.txt"))
            for name, references in ((lattice.id, ["the cat"]), ("0", ["a cat"])):
                read_by, machine = (
                    pynini.Fst.read(str(folder / f"{name}.{kind}.fst"))
                    for kind in ("lattice", "metric")
                )
                best = pynini.shortestpath(pynini.compose(read_by, machine))
                (found,) = from_fst(best.set_output_symbols(table)).paths()
                expected = oracle(lattice, metric.against(references), model_weight=weight)
                value = expected.score if metric.higher_is_better else 1.0 - expected.score
                value += weight * expected.hypothesis.score
                assert found.score == pytest.approx(value, abs=1e-5)


def test_what_cannot_be_composed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1], id="s1", references=["a"])
    path, table = tmp_path / "s.jsonl", words(tmp_path / "words.txt", "<eps> 0", "a 1")
    write(path, [lattice])
    folder = ["-o", f"{tmp_path}/out/"]
    for flags, message in (
        (["--lattices", path], "go to a directory: -o DIR"),
        (["--lattices", path, "--text", *folder], "--text and --lattices exclude one another"),
        (
            ["--lattices", path, "--symbols-in", table, *folder],
            "has the word 'b', and --symbols-in",
        ),
        (["--lattices", path, "--metric", "bleu", *folder], "has no machine"),
        (["--lattices", path, path, *folder], "a second segment with the id 's1'"),
        (["--ref", "a", "--symbols-in", table, "--text"], "--symbols-in is for --lattices"),
        (["--text"], "one of --ref, --refs, --lattices and --evidence is needed"),
        (["--refs", table, "--refs-format", "auto", "--text"], "auto is for --lattices"),
    ):
        assert run("compile", *flags) == 2
        assert message in capsys.readouterr().err
    write(path, [lattice.replaced(references=[])])
    assert run("compile", "--lattices", path, *folder) == 2
    assert "no references in the file" in capsys.readouterr().err
    assert not (tmp_path / "out" / "words.txt").exists()
