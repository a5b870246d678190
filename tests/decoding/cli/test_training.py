"""``fstmetrics train``: from files to weights, stopped and taken up, with a decoder or not."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from decoding import plot
from decoding.cli import main as cli
from decoding.training.envelope import EnvelopeCorpus
from decoding.training.learner import Learner
from decoding.training.mert import MERT
from fstmetrics import BLEU, WER
from lattices import Hypothesis, Lattice, NBest, read, write
from lattices.formats.weights import read_weights, write_weights
from tests.decoding.cli.commandline import command, words
from tests.decoding.training.test_mert import UNIFORM, separable

LEARNERS = ("mert", "mira", "pro", "perceptron", "softmax-margin", "risk", "xbleu")


run = command("train")


def corpus(folder: Path, kind: str = "list", segments: int = 12, **rest: Any) -> tuple[Path, Path]:
    """Write spaces whose right sentence has the highest x - 2y + z, and the references."""
    spaces, references = separable(kind, segments, **rest)
    source = folder / f"{kind}.jsonl"
    write(source, spaces)
    return source, words(folder / f"{kind}.refs", *(some[0] for some in references))


def word_error_rate(source: Path, refs: Path, weights: Path) -> float:
    """Return the judge's opinion: the best of each space by the weights, over all of them."""
    evaluators = [WER().against([line]) for line in refs.read_text().splitlines()]
    return EnvelopeCorpus(list(read(source)), evaluators).score(read_weights(weights))


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_trains(
    learner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path, "lattice", 40)
    start = tmp_path / "start.txt"
    write_weights(UNIFORM, start)
    before = word_error_rate(source, refs, start)
    out = tmp_path / "w.txt"
    argv = ["--refs", refs, "--metric", "wer", "grr", "--learner", learner, "--start", start]
    argv += {"pro": ["--set", "rounds=8"], "xbleu": ["--set", "order=2"]}.get(learner, [])
    assert run(source, *argv, "-o", out) == 0
    after = word_error_rate(source, refs, out)
    assert after < before - 0.1
    told = capsys.readouterr().err.splitlines()
    row = next(line.split() for line in told if line.startswith("WER"))
    assert row[3:] == [f"{100 * before:.2f}", f"{100 * after:.2f}"]
    assert any(line.startswith("4-GRR") for line in told)
    assert told[-1].startswith("40 segments, 0 failed, 3 weights, ")


@pytest.mark.parametrize("learner", ["mira", "perceptron", "softmax-margin", "risk"])
@pytest.mark.parametrize("kind", ["lattice", "forest"])
def test_bleu_trains_on_lattices_and_forests(
    learner: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path, kind, 30)
    argv = ["--refs", refs, "--metric", "bleu:order=2", "--learner", learner]
    assert run(source, *argv, "-o", tmp_path / "w.txt") == 0
    told = capsys.readouterr().err
    scores = told[told.index("\nmetric") :].splitlines()[2]
    before, after = map(float, scores.split()[-2:])
    assert after > before + 0.1
    brevity = "smooth" if learner == "softmax-margin" else "standard"
    judge = str(BLEU(order=2, smooth="add-k", brevity=brevity))
    assert f"single sentences are scored by {judge}" in told
    approximate = "exact for 0.0% of the segments in the last round, approximate for the others"
    # softmax-margin and risk sum over lists, which here are all there is
    assert (approximate in told) == (learner == "softmax-margin")


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
def test_the_weights_are_those_of_python(kind: str, tmp_path: Path) -> None:
    source, refs = corpus(tmp_path, kind)
    out = tmp_path / "w.txt"
    argv = ["--refs", refs, "--metric", "wer", "--set", "restarts=1", "--seed", 3]
    assert run(source, *argv, "-o", out, "-q") == 0
    spaces, references = separable(kind)
    learner = MERT(restarts=1, seed=3).fit(spaces, references, WER(), progress=False)
    assert dict(read_weights(out)) == learner.weights
    assert run(source, *argv, "--average", "-o", out, "-q") == 0
    assert dict(read_weights(out)) == learner.average()


def test_history(tmp_path: Path) -> None:
    source, refs = corpus(tmp_path)
    out, table = tmp_path / "w.txt", tmp_path / "rounds.tsv"
    argv = ["--refs", refs, "--metric", "wer", "--history", table]
    assert run(source, *argv, "-o", out, "-q") == 0
    head, *rows = [line.split("\t") for line in table.read_text().splitlines()]
    assert head[:3] == ["number", "score", "seconds"]
    assert head[-3:] == ["weight x", "weight y", "weight z"]
    # what it began with, and all rounds; those of MERT's are its best so far
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert [float(value) for value in rows[0][-3:]] == pytest.approx([1 / 3] * 3)
    assert [float(value) for value in rows[-1][-3:]] == list(read_weights(out).values())


@pytest.mark.filterwarnings("always::decoding.training.learner.TrainingWarning")
def test_rounds_are_told_and_a_start_that_nothing_beats_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path)
    start, out = tmp_path / "start.txt", tmp_path / "w.txt"
    # solves all segments, but the learner moves far away from it
    write_weights({"x": 1.0, "y": -2.0, "z": 1.0}, start)
    argv = ["--refs", refs, "--metric", "wer", "--learner", "perceptron", "--start", start]
    argv += ["--set", "rate=100", "--set", "epochs=3", "--set", "averaged=false"]
    assert run(source, *argv, "-o", out) == 0
    told = capsys.readouterr().err
    assert "warning: perceptron found nothing better than the weights it began with" in told
    assert read_weights(out) == read_weights(start)
    head, *rows = [line.split() for line in told.splitlines()[1:6]]
    assert head == ["round", "WER", "%"]
    assert rows[0] == ["start", "0.00", "chosen"]
    assert [row[0] for row in rows[1:]] == ["1", "2", "3"]
    assert all(float(row[1]) > 0.0 for row in rows[1:])


def test_of_many_rounds_the_better_ones_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path, segments=30, seed=8)
    argv = [
        "--refs",
        refs,
        "--metric",
        "wer",
        "--set",
        "restarts=40",
        "--set",
        "random_directions=0",
    ]
    assert run(source, *argv, "-o", tmp_path / "w.txt") == 0
    lines = capsys.readouterr().err.splitlines()
    shown = lines[1 : next(i for i, line in enumerate(lines) if line.endswith("are left out"))]
    scores = [float(line.split()[1]) for line in shown]
    assert scores[:-1] == sorted(set(scores), reverse=True)
    assert len(shown) < 30


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    source, refs = corpus(tmp_path)
    picture, again = tmp_path / "rounds.svg", tmp_path / "again.svg"
    argv = [source, "--refs", refs, "--metric", "wer", "-q", "-o", tmp_path / "w.txt"]
    assert run(*argv, "--plot", picture) == 0
    learner = MERT().fit(*separable("list"), WER(), progress=False)
    plot(learner.history).save(again)
    assert picture.read_bytes() == again.read_bytes()


def test_held_out_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, refs = corpus(tmp_path)
    dev, dev_refs = corpus(tmp_path, "lattice", 9, seed=5)
    start, out = tmp_path / "start.txt", tmp_path / "w.txt"
    write_weights(UNIFORM, start)
    argv = ["--refs", refs, "--metric", "wer", "--start", start]
    assert run(source, *argv, "--dev", dev, "--dev-refs", dev_refs, "-o", out) == 0
    told = capsys.readouterr().err.splitlines()
    place = next(number for number, line in enumerate(told) if line.startswith("held out"))
    expected = [word_error_rate(dev, dev_refs, file) for file in (start, out)]
    assert told[place + 1].split()[3:] == [f"{100 * each:.2f}" for each in expected]
    # rounds are chosen by it
    rounds = [line.split() for line in told[1 : told.index(next(x for x in told if "metric" in x))]]
    assert told[0].split() == ["round", "WER", "%", "held", "out"]
    assert f"{100 * expected[1]:.2f}" == min((row[2] for row in rounds), key=float)
    assert [row[2] for row in rounds if row[-1] == "chosen"] == [f"{100 * expected[1]:.2f}"]


def test_weights_for_decoders(tmp_path: Path) -> None:
    source, refs = corpus(tmp_path)
    out, template = tmp_path / "w", words(tmp_path / "moses.ini", "[weight]", "x= 1", "[search]")
    argv = [source, "--refs", refs, "--metric", "wer", "-q", "-o", out]
    assert run(*argv) == 0
    plain = dict(read_weights(out))
    assert run(*argv, "--weights-format", "travatar") == 0
    assert all("=" in line for line in out.read_text().splitlines())
    assert dict(read_weights(out)) == plain
    assert run(*argv, "--weights-format", "moses", "--template", template) == 0
    assert out.read_text().startswith("[weight]\nx= ")
    assert out.read_text().endswith("\n[search]\n")
    assert dict(read_weights(out)) == plain


def test_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source, refs = corpus(tmp_path)
    assert run(source, "--refs", refs, "--metric", "wer", "-q") == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["x", "y", "z"]


@pytest.mark.parametrize("learner", ["mert", "mira"])
def test_resuming(
    learner: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, refs = corpus(tmp_path, segments=20, seed=8)
    whole, parts, state = (tmp_path / name for name in ("whole", "parts", "run.json"))
    argv = [source, "--refs", refs, "--metric", "grr:n=2", "--learner", learner, "--seed", 2]
    assert run(*argv, "-o", whole, "-q") == 0
    saved = Learner.save

    def stopped(self: Learner, path: Any) -> None:
        saved(self, path)
        if len(self.history) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "save", stopped)
        assert run(*argv, "--checkpoint", state, "-o", parts) == 130
    assert "--resume goes on from here" in capsys.readouterr().err
    assert not parts.exists()
    assert run(*argv, "--checkpoint", state, "-o", parts) == 2
    assert "there is a checkpoint" in capsys.readouterr().err
    other = [*argv, "--seed", 3]
    assert run(*other, "--checkpoint", state, "--resume", "-o", parts) == 2
    assert "of a run with another seed" in capsys.readouterr().err
    other = ["wer" if each == "grr:n=2" else each for each in argv]
    assert run(*other, "--checkpoint", state, "--resume", "-o", parts) == 2
    assert (
        "other spaces, other references, other held-out spaces or another metric"
        in capsys.readouterr().err
    )
    assert run(*argv, "--checkpoint", state, "--resume", "-o", parts) == 0
    assert "going on after 2 rounds" in capsys.readouterr().err
    assert parts.read_bytes() == whole.read_bytes()
    # what has ended is not begun again
    rounds = json.loads(state.read_text())["history"]
    assert run(*argv, "--checkpoint", state, "--resume", "-o", parts, "-q") == 0
    assert parts.read_bytes() == whole.read_bytes()
    assert json.loads(state.read_text())["history"] == rounds


def test_bad_segments_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, refs = corpus(tmp_path)
    good = tmp_path / "good.txt"
    argv = ["--metric", "wer", "-q"]
    assert run(source, "--refs", refs, *argv, "-o", good) == 0
    bare = Lattice.from_arcs([(0, 1, "a", 1.0)], [1], id="bare")
    dead = Lattice.from_arcs([(0, 1, "a", 1.0, {"x": 1.0})], [2], id="dead", states=3)
    empty = NBest.from_hypotheses([], id="empty", feature_names=["x"])
    write(tmp_path / "bad.jsonl", [bare, dead, empty])
    text = source.read_text() + (tmp_path / "bad.jsonl").read_text() + "what?\n"
    source.write_text(text)
    words(refs, *refs.read_text().splitlines(), "a", "a", "a", "a")
    out = tmp_path / "w.txt"
    assert run(source, "--refs", refs, *argv, "-o", out) == 1
    told = capsys.readouterr().err
    assert "segment 'bare': no features to weight" in told
    assert "segment 'dead': the lattice has no complete path" in told
    assert "segment 'empty': " in told
    assert "list.jsonl:16: " in told
    assert out.read_bytes() == good.read_bytes()


def test_a_metric_without_a_machine(tmp_path: Path) -> None:
    """What the error for MIRA with chrF on lattices says can be done, can be done."""
    source, refs = corpus(tmp_path, "lattice")
    lists, out = tmp_path / "lists.jsonl", tmp_path / "w.txt"
    assert cli.main(["nbest", str(source), "-k", "9", "--unique", "-o", str(lists)]) == 0
    argv = ["--refs", refs, "--metric", "chrf", "-q", "-o", out]
    uniform = tmp_path / "uniform"
    write_weights(UNIFORM, uniform)
    before = word_error_rate(source, refs, uniform)
    for some in (
        [lists, "--learner", "mira"],
        [source, "--learner", "mira", "--set", "judge=grr"],
        [source, "--learner", "mert"],
    ):
        assert run(*some, *argv) == 0
        assert word_error_rate(source, refs, out) < before


def featured(*names: str, id: str = "s", **rest: Any) -> Lattice:
    rows = [(0, 1, word, 0.0, dict.fromkeys(names, 1.0)) for word in "ab"]
    return Lattice.from_arcs(rows, [1], id=id, **rest)


@pytest.mark.parametrize(
    ("spaces", "argv", "message"),
    [
        ([featured(references=["a"])], [], "no features to weight"),
        ([featured("lm")], [], "give them by --refs FILE"),
        (
            [featured("lm", references=["a"]), featured("LM", id="t", references=["a"])],
            [],
            "segment 's' has the features lm and segment 't' LM: they are not of one model",
        ),
        (
            [featured("lm", "tm", references=["a"])],
            ["--learner", "mira", "--metric", "ter"],
            "has no machine and cannot search a lattice; take its n-best list (lattices.k_best) "
            "(from the shell: train on the lists of fstmetrics nbest SPACES -k 100",
        ),
        (
            [featured("lm", "tm", references=["a"])],
            ["--learner", "mira", "--metric", "bleu:tokenize=intl"],
            "depends on what stands beside a word; take an n-best list (lattices.k_best) "
            "(from the shell: train on the lists of fstmetrics nbest SPACES -k 100",
        ),
        (
            [featured("lm", "tm", references=["a"])],
            ["--start", "START", "--set", "missing=error"],
            "no weight to start with for the features tm",
        ),
        (
            [featured("l m", references=["a"])],
            [],
            "a weight file cannot hold a feature called 'l m'",
        ),
        ([featured("lm", references=["a"])], ["--refs", "REFS"], "2 lines for 1 segments"),
    ],
)
def test_bad_input(
    spaces: list[Lattice],
    argv: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "w.txt"
    write(source, spaces)
    files = {
        "START": words(tmp_path / "start", "lm 1"),
        "REFS": words(tmp_path / "refs", "a b", "a a"),
    }
    assert run(source, *(files.get(each, each) for each in argv), "-o", out) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--learner", "mirra"], "did you mean mira?"),
        (
            ["--set", "restart=3"],
            "mert has no option '--set restart' (it has --set missing, --set restarts, ",
        ),
        (["--set", "restarts=x"], "learner mert: --set restarts is a whole number, not 'x'"),
        (["--set", "powell=1"], "learner mert: --set powell is true or false, not '1'"),
        (["--set", "bounds={"], "learner mert: --set bounds is JSON, not '{'"),
        (["--set", "seed=1"], "seed is given by --seed"),
        (["--set", "restarts=1", "--set", "restarts=2"], "is given twice"),
        (["--set", "restarts=-1"], "restarts is a number from 0 up, not -1"),
        (["--seed", "-1"], "no whole number from 0"),
        (["--resume"], "--resume needs --checkpoint"),
        (["--template", "x"], "--template goes with --weights-format moses"),
        (["--dev-refs", "x"], "--dev-refs goes with --dev"),
        (["--decoder", "x"], "the decoder writes them"),
        (["--plot", "-"], "--plot is a file"),
        (["--plot", "rounds.gif"], "a picture ends in one of"),
        (["--plot", "none/rounds.svg"], "no such directory"),
        (["--history", "-"], "--history and -o are the same file"),
        (["--metric", "blue"], "bleu"),
        (["-o", "none/w.txt"], "no such directory"),
    ],
)
def test_wrong_usage(
    argv: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path, segments=2)
    assert run(source, "--refs", refs, *argv) == 2
    assert message in capsys.readouterr().err


# with a decoder

#: rescores the lattices and says a few of their paths, as decoders do
SCRIPT = """\
import sys
from decoding.cli import main as cli
sys.exit(cli.main(["rescore", *sys.argv[1:]]))
"""


@pytest.fixture
def start(tmp_path: Path) -> Path:
    write_weights(UNIFORM, tmp_path / "start.txt")
    return tmp_path / "start.txt"


def test_a_decoder_in_the_loop(
    tmp_path: Path, start: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path, "lattice", 20)
    script, out, table = tmp_path / "decoder.py", tmp_path / "w.txt", tmp_path / "rounds.tsv"
    script.write_text(SCRIPT)
    command = " ".join(map(shlex.quote, (sys.executable, str(script), str(source))))
    command += " --weights {weights} -k 3 -o {output}.jsonl -q"
    argv = ["--refs", refs, "--metric", "wer", "--start", start, "--history", table]
    assert run(*argv, "--decoder", command, "--iterations", 3, "-o", out) == 0
    before, after = (word_error_rate(source, refs, file) for file in (start, out))
    assert before > 0.3
    assert after < 0.1
    told = capsys.readouterr().err
    assert f"decoding 1: wer {before:.4f}, 60 hypotheses, 60 new" in told
    row = next(line.split() for line in told.splitlines() if line.startswith("WER"))
    assert row[2:] == [f"{100 * before:.2f}", f"{100 * after:.2f}"]
    assert table.read_text().startswith("number\tscore")


def test_one_decoding_has_no_rounds_to_draw(
    tmp_path: Path, start: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, refs = corpus(tmp_path, segments=2)
    argv = ["--refs", refs, "--start", start, "--decoder", "false", "--plot", "rounds.svg"]
    assert run(*argv, "--iterations", 1) == 2
    assert "--iterations 1 has none of" in capsys.readouterr().err


def said(name: str, text: str, x: float, y: float) -> NBest:
    entries = [Hypothesis(tuple(text.split()), 0.0, {"x": x, "y": y})]
    entries.append(Hypothesis(("right",), 0.0, {"x": -x, "y": 1.0}))
    return NBest.from_hypotheses(entries, id=name)


def steps(folder: Path, decodings: list[list[NBest]]) -> str:
    """Return a command that prints one file after the other, the last one ever after."""
    for number, spaces in enumerate(decodings):
        write(folder / f"said{number}.jsonl", spaces)
    count = shlex.quote(str(folder / "count"))
    most = len(decodings) - 1
    return (
        f"test -s {{weights}} && n=$(cat {count} 2>/dev/null || echo 0) && "
        f"echo $((n < {most} ? n + 1 : n)) > {count} && cat {shlex.quote(str(folder))}/said$n.jsonl"
    )


def growing(count: int = 4) -> list[list[NBest]]:
    return [
        [said("s1", f"wrong {n}", 1.0 - n, 0.5 * n), said("s2", f"bad {n}", 0.5 + n, 0.25)][
            :: 1 if n % 2 else -1
        ]
        for n in range(count)
    ]


def test_a_decoder_that_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Segments in any order, references by id, and a run that is stopped and taken up again."""
    refs = words(tmp_path / "refs", "s1 right", "s2 right")
    start = words(tmp_path / "start", "x 1", "y 0.1")
    argv = ["--refs", refs, "--metric", "wer", "--start", start, "--set", "restarts=1"]
    (tmp_path / "one").mkdir()
    whole, parts, state = tmp_path / "whole", tmp_path / "parts", tmp_path / "state"
    command = steps(tmp_path / "one", growing())
    assert run(*argv, "--decoder", command, "-o", whole) == 0
    told = capsys.readouterr().err
    assert "decoding 2: " in told
    assert "8 hypotheses" not in told.split("decoding 2")[0]

    (tmp_path / "two").mkdir()
    argv += ["--decoder", steps(tmp_path / "two", growing()), "--checkpoint", state]
    fit = MERT.fit

    def stopped(self: MERT, *args: Any, **rest: Any) -> MERT:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MERT, "fit", stopped)
        assert run(*argv, "-o", parts) == 130
    assert MERT.fit is fit
    assert "--resume goes on from here" in capsys.readouterr().err
    assert run(*argv, "-o", parts) == 2
    assert "there is a checkpoint" in capsys.readouterr().err
    assert run(*argv, "--resume", "-o", parts) == 0
    assert f"going on with the run in {state}" in capsys.readouterr().err
    assert parts.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo {weights} > /dev/null; echo first >&2; echo 'no model' >&2; exit 7",
         "error: the decoder ended with exit code 7: first / no model"),
        ("test -s {weights}; exit 3", "exit code 3 and no word on standard error"),
        ("cat {weights} > /dev/null # {output}", "the decoder wrote nothing where {output} is"),
        ("touch {output}.a {output}.b # {weights}", "the decoder wrote 2 files"),
        ("echo what is this '{weights}'", "the output of the decoder cannot be read"),
        ("true", "the decoder's command has no place for {weights}"),
    ],
)  # fmt: skip
def test_decoders_that_fail(
    command: str, message: str, tmp_path: Path, start: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refs, out = words(tmp_path / "refs", "a"), tmp_path / "w.txt"
    argv = ["--refs", refs, "--start", start, "--decoder", command, "-o", out]
    assert run(*argv) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_segments_that_come_and_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refs = words(tmp_path / "refs", "s1 right", "s2 right")
    start = words(tmp_path / "start", "x 1", "y 0.1")
    first, second, *_ = growing()
    argv = ["--refs", refs, "--metric", "wer", "--start", start]
    command = steps(tmp_path, [first, second[:1]])
    assert run(*argv, "--decoder", command) == 2
    assert "decoded 2 segments at first, and now says nothing about" in capsys.readouterr().err
    words(refs, "right", "right", "right")
    (tmp_path / "count").unlink()
    assert run(*argv, "--decoder", command) == 2
    assert "3 lines for 2 segments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--refs", "x"], "--decoder needs --start and --refs"),
        (["--start", "x"], "--decoder needs --start and --refs"),
        (["--start", "x", "--refs", "x", "--average"], "--average cannot be used with --decoder"),
    ],
)
def test_wrong_usage_of_decoders(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--decoder", "x {weights}", *argv) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("learner", ["mert:restarts=1,random_directions=2", "pro:rounds=2", "risk"])
def test_workers_do_not_change_what_is_written(
    learner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path, "lattice", 20)
    lines = source.read_text().splitlines()
    lines[3] = "damaged"
    lines.append(lines[5])
    source.write_text("".join(line + "\n" for line in lines))
    with refs.open("a") as stream:
        stream.write("a second segment with the id of another\n")
    told = []
    for workers in (1, 2, 3):
        out = tmp_path / f"{workers}.txt"
        argv = ["--refs", refs, "--metric", "wer", "bleu", "--learner", learner]
        assert run(source, *argv, "--workers", workers, "-o", out) == 1
        told.append((out.read_bytes(), capsys.readouterr().err))
    assert told[0] == told[1] == told[2]
    assert "2 failed" in told[0][1]


def test_workers_are_for_learners_that_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, refs = corpus(tmp_path)
    argv = ["--refs", refs, "--workers", "2", "-o", tmp_path / "w.txt"]
    assert run(source, *argv, "--learner", "xbleu") == 2
    assert "--learner xbleu trains in one process" in capsys.readouterr().err
    start = tmp_path / "start.txt"
    write_weights(UNIFORM, start)
    assert run(*argv, "--start", start, "--decoder", "true {weights}") == 2
    assert "cannot be used with --decoder" in capsys.readouterr().err
    assert not (tmp_path / "w.txt").exists()
