"""``fstmetrics score``, ``info``, ``compile``, ``formats``, ``metrics`` and ``demo``."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from decoding import mbr, sample_data
from decoding.cli.main import main
from fstmetrics import CER, GRR, METRICS, WER
from lattices import Lattice, Vocabulary, write
from lattices.formats import FORMATS, read
from tests.decoding.cli.commandline import CAT, lattice_line, words


def run(*argv: object) -> int:
    return main([str(argument) for argument in argv])


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


# score


def test_lines_are_scored_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = words(tmp_path / "one", "the cat", "", "the cat sat")
    two = words(tmp_path / "two", "the hat", "x", "the cat sat")
    refs = words(tmp_path / "refs", "the cat", "", "the cat sat")
    assert run("score", one, two, "--refs", refs, "--metric", "wer", "cer") == 0
    printed = capsys.readouterr()
    assert cells(printed.out) == [
        ["system", "segments", "WER", "sub", "del", "ins", "CER", "sub", "del", "ins"],
        [str(one), "3", "0.0000", "0", "0", "0", "0.0000", "0", "0", "0"],
        [str(two), "3", "0.4000", "1", "0", "1", "0.1111", "1", "0", "1"],
    ]
    assert printed.err == "fstmetrics: references are taken line by line\n"


@pytest.mark.parametrize("layout", ["auto", "kaldi"])
def test_lines_with_ids(layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "one", "u2 the cat sat", "u1")
    refs = words(tmp_path / "refs", "u1 the", "u2 the cat sat")
    flags = ["--refs-format", layout, "--metric", "wer", "--format", "json", "--segments"]
    assert run("score", system, "--refs", refs, *flags) == 0
    printed = capsys.readouterr()
    (found,) = json.loads(printed.out)["systems"]
    assert found["scores"] == {"wer": 0.25}
    assert found["stats"]["wer"]["deletions"] == 1.0
    assert found["segment_scores"] == [
        {"id": "u2", "scores": {"wer": 0.0}},
        {"id": "u1", "scores": {"wer": 1.0}},
    ]
    assert (found["segments"], found["failed"]) == (2, 0)
    assert printed.err == "fstmetrics: references are taken by id\n"


def test_equal_first_words_are_not_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system, refs = words(tmp_path / "one", "the cat"), words(tmp_path / "refs", "the cat sat")
    assert run("score", system, "--refs", refs, "--metric", "wer", "--format", "tsv") == 0
    assert capsys.readouterr().out.splitlines()[1] == f"{system}\t1\t{1 / 3!r}"


def test_segments_as_table_and_tsv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "one", "a b", "a")
    refs = words(tmp_path / "refs", "a b", "a b")
    assert run("score", system, "--refs", refs, "--segments", "--metric", "wer") == 0
    assert cells(capsys.readouterr().out) == [
        ["system", "segment", "WER"],
        [str(system), "1", "0.0000"],
        [str(system), "2", "0.5000"],
        [],
        ["system", "segments", "WER", "sub", "del", "ins"],
        [str(system), "2", "0.2500", "0", "1", "0"],
    ]
    out = tmp_path / "out.tsv"
    flags = ["--segments", "--metric", "wer", "--format", "tsv", "-o", out]
    assert run("score", system, "--refs", refs, *flags) == 0
    assert out.read_text() == f"system\tsegment\twer\n{system}\t1\t0.0\n{system}\t2\t0.5\n"


def test_of_lists_the_best_entry_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = words(
        tmp_path / "a.tsv", "u1\t1\t-2\tthe hat", "u1\t2\t-1\tthe cat", "u2\t1\t-1\tthe cat"
    )
    refs = words(tmp_path / "text", "u1 the cat", "u2 the cat")
    assert run("score", lists, "--refs", refs, "--metric", "wer") == 0
    printed = capsys.readouterr()
    assert cells(printed.out)[1][:3] == [str(lists), "2", "0.0000"]
    assert f"{lists}: the best entry of each nbest-tsv list is scored" in printed.err
    # as text they would be three lines
    assert run("score", lists, "--refs", refs, "--input-format", "text") == 2
    assert f"{lists}:2: a second line for the id 'u1', which {lists}:1" in capsys.readouterr().err


def test_bad_lists_among_good_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = words(
        tmp_path / "a.tsv",
        "u1\t1\t-1\tthe cat", "u2\tx\t-1\tthe cat", "u3\t1\t-1\tthe", "u1\t1\t-1\tthe",
    )  # fmt: skip
    refs = words(tmp_path / "text", "u1 the cat", "u2 the cat")
    assert run("score", lists, "--refs", refs, "--metric", "wer") == 1
    printed = capsys.readouterr()
    assert cells(printed.out)[1][:3] == [str(lists), "1", "0.0000"]
    for line, problem in (
        (2, "rank 'x'"),
        (3, "segment 'u3': no reference"),
        (4, "segment 'u1': a second"),
    ):
        assert f"{lists}:{line}: {problem}" in printed.err


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        (["u1 a", "u2 b"], 1, "no hypotheses for 1 of 3 references"),
        (["u1 a", "u2 b", "u3 c", "u4 d"], 1, "no reference for 'u4'"),
        (["a", "b"], 2, "lines begin with what look like ids ('u1')"),
    ],
)
def test_lines_that_do_not_fit(
    lines: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    system = words(tmp_path / "one", *lines)
    refs = words(tmp_path / "text", "u1 a", "u2 b", "u3 c")
    assert run("score", system, "--refs", refs, "--metric", "wer") == code
    assert message in capsys.readouterr().err


def test_an_id_that_is_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "one", "u1 a", "u1 b")
    refs = words(tmp_path / "text", "u1 a", "u2 b")
    assert run("score", system, "--refs", refs, "--refs-format", "kaldi") == 2
    error = capsys.readouterr().err
    twice = f"{system}:2: a second line for the id 'u1', which {system}:1 has already"
    assert error == f"fstmetrics: error: {twice}\n"


def test_nothing_to_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = words(tmp_path / "a.tsv", "u1\t1\t-1\tthe cat")
    refs = words(tmp_path / "text", "u2 a", "u3 b")
    flags = ["--refs-format", "kaldi", "-o", tmp_path / "out"]
    assert run("score", system, "--refs", refs, *flags) == 2
    assert "no segment could be scored" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# info


def test_info_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        lattice_line("cat", CAT),
        lattice_line("wide", [(n, n + 1, w, 0.0) for n in range(100) for w in "ab"]),
        json.dumps({"id": "list", "nbest": [{"words": "a b"}, {"words": "c"}]}) + "\n",
    ]
    path.write_text("".join(lines))
    assert run("info", path) == 0
    assert cells(capsys.readouterr().out) == [
        ["id", "states", "arcs", "paths", "density", "shortest", "longest", "vocabulary"],
        ["cat", "3", "4", "4", "2.0", "2", "2", "4"],
        ["wide", "101", "200", "1.27e30", "2.0", "100", "100", "2"],
        ["list", "-", "-", "2", "-", "1", "2", "3"],
        ["total", "of", "3", "104", "204", "1.27e30", "2.0", "1", "100", "6"],
    ]


def test_info_is_exact_in_json_and_tsv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    # more paths than Python prints digits of by default
    arcs = [(n, n + 1, w, 0.0) for n in range(15000) for w in "ab"]
    path.write_text(lattice_line("x", arcs) + lattice_line("y", CAT, finals={"3": 0}, states=4))
    assert run("info", path, "--format", "jsonl", "--workers", "2") == 0
    first, second, total = map(_parsed, capsys.readouterr().out.splitlines())
    assert first["paths"] == hex(2**15000)
    assert (first["id"], first["longest"], first["vocabulary"]) == ("x", hex(15000), hex(2))
    assert (second["paths"], second["density"], second["shortest"]) == (hex(0), None, None)
    assert (total["total"]["segments"], total["total"]["paths"]) == (hex(2), hex(2**15000))
    assert run("info", path, "--format", "tsv", "-o", tmp_path / "out") == 0
    rows = [line.split("\t") for line in (tmp_path / "out").read_text().splitlines()]
    assert [row[0] for row in rows] == ["id", "x", "y", "total"]
    assert rows[2][1:] == ["4", "4", "0", "", "", "", "4"]


def _parsed(line: str) -> dict:
    """Read JSON whose whole numbers may be longer than ``int`` reads."""

    def number(text: str) -> str:
        value = 0
        for start in range(0, len(text), 1000):
            piece = text[start : start + 1000]
            value = value * 10 ** len(piece) + int(piece)
        return hex(value)

    return json.loads(line, parse_int=number)


def test_info_of_lists_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = words(tmp_path / "a.tsv", "u1\t1\t-2\tthe hat", "u1\t2\t-1\tthe cat")
    assert run("info", lists) == 0
    assert cells(capsys.readouterr().out)[-1] == [
        "total",
        "of",
        "1",
        "-",
        "-",
        "2",
        "-",
        "2",
        "2",
        "3",
    ]


def test_info_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(lattice_line("x", CAT) + "{broken\n")
    assert run("info", path) == 1
    printed = capsys.readouterr()
    assert cells(printed.out)[-1][:4] == ["total", "of", "1", "3"]
    assert f"{path}:2: not JSON" in printed.err
    path.write_text("{broken\n")
    assert run("info", path, "-o", tmp_path / "out") == 2
    assert "nothing could be measured" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# compile


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


# formats and metrics


def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("formats") == 0
    listing = capsys.readouterr().out
    assert [row[0] for row in cells(listing)[1:]] == list(FORMATS.names())
    assert run("formats", "htk") == 0
    shown = capsys.readouterr().out
    assert all(f"  {key}  " in shown for key in FORMATS.get("htk").options)
    for other in ("slf", "HTK", "Slf"):
        assert run("formats", other) == 0
        assert capsys.readouterr().out == shown
    assert run("formats", "hkt") == 2
    assert "did you mean htk?" in capsys.readouterr().err


def test_metrics(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "no_such_module:METRIC", METRICS.group)
    monkeypatch.setattr(METRICS, "_points", {**METRICS._found(), "broken": [broken]})
    assert run("metrics") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    named = [place for place, line in enumerate(lines) if not line.startswith(" ")]
    rows = {
        lines[begin].split()[0]: " ".join(" ".join(lines[begin:end]).split()[1:])
        for begin, end in zip(named, [*named[1:], len(lines)], strict=True)
    }
    assert list(rows) == list(METRICS.names())
    assert rows["grr"].endswith(" n=4, alpha=1, beta=0, similarity")
    assert rows["cer"].endswith(" spaces=true")
    assert rows["broken"].startswith("not available: ")
    assert run("metrics", "Grr") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("grr:n=4,alpha=1,beta=0,similarity\n\nn-gram recognition rate")
    assert "equation 6" in shown
    assert "``" not in shown


# demo


def test_demo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("demo") == 0
    printed = capsys.readouterr().out
    blocks = printed.split("\n\n")
    assert len([block for block in blocks if block.startswith("s0")]) == 19
    assert "\x1b" not in printed
    (block,) = [block for block in blocks if block.startswith("s036")]
    reference, chosen, best = (line.split() for line in block.splitlines())
    assert chosen[:3] == ["1-best", "16.7", "%"]
    assert best[:3] == ["oracle", "0.0", "%"]
    assert chosen[3:5] == ["she", "[was]"]
    assert best[3:] == reference[1:]
    scores = {row[0]: row[1:5:2] for row in cells(printed) if row and row[-1] == "better"}
    assert scores == {"WER": ["9.6", "2.3"], "WRR": ["90.4", "97.7"], "4-GRR": ["83.8", "95.9"]}
    assert "fstmetrics oracle " in printed.splitlines()[-1]


def test_demo_hint_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert run("demo", "--copy", folder) == 0
    assert run("oracle", *sorted(folder.glob("*.slf.gz")), "--refs", folder / "refs.txt") == 0
    assert "19 segments, 0 failed, references by id" in capsys.readouterr().err
    # what is there already stays as it is
    assert run("demo", "--copy", folder) == 2
    assert capsys.readouterr().err == f"fstmetrics: error: {folder}: File exists\n"


def test_demo_data_is_small() -> None:
    assert sum(path.stat().st_size for path in sample_data().iterdir()) < 1_000_000
    lattices = [space for path in sorted(sample_data().glob("*.slf.gz")) for space in read(path)]
    assert len(lattices) == 19
    assert {type(space) for space in lattices} == {Lattice}
