"""The metric obeys the laws, agrees with its definition, and is at home in every command."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from weighted_wer import WeightedWER

import lattices
from decoding import mbr, oracle, oracle_kbest, sample_data, worst
from decoding.cli.main import main
from fstmetrics import WER, parse_metric
from fstmetrics.testing import check_metric
from lattices import Forest, NBest, OptionError

WORDS = ["the", "a", "of", "cat", "hat", "mat"]


@pytest.fixture
def fstmetrics(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The command: runs, must succeed, and returns what it said."""

    def run(*argv: object) -> str:
        code = main([*map(str, argv)])
        out, err = capfd.readouterr()
        assert code == 0, (argv, err)
        return out + err

    return run


@pytest.mark.parametrize("weight", [0.0, 0.37, 0.5, 1.0])
def test_laws(weight: float) -> None:
    """Among them: the machine finds the best sentence of every small lattice, at its score."""
    check_metric(WeightedWER(weight=weight))


def least_cost(h: tuple[str, ...], r: tuple[str, ...], v: dict[str, float]) -> float:
    """Return the least cost of all alignments, each of which is looked at."""
    costs = []
    if h:
        costs.append(v[h[0]] + least_cost(h[1:], r, v))
    if r:
        costs.append(v[r[0]] + least_cost(h, r[1:], v))
    if h and r:
        price = 0.0 if h[0] == r[0] else max(v[h[0]], v[r[0]])
        costs.append(price + least_cost(h[1:], r[1:], v))
    return min(costs, default=0.0)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_the_definition(weight: float) -> None:
    chance = random.Random(0)
    v = {word: weight if word in ("the", "a", "of") else 1.0 for word in WORDS}
    for _ in range(100):
        h, r = (tuple(chance.choices(WORDS, k=chance.randrange(6))) for _ in range(2))
        wanted = least_cost(h, r, v) / (sum(v[word] for word in r) or 1.0)
        came = WeightedWER(weight=weight).against([r]).score(h)
        assert came == pytest.approx(wanted, abs=1e-12)


def test_of_weight_one_it_is_wer_on_real_lattices() -> None:
    folder = sample_data()
    for line in (folder / "refs.txt").read_text().splitlines()[:3]:
        name, _, reference = line.partition(" ")
        lattice = next(lattices.read(folder / f"{name}.slf.gz"))
        ours = oracle(lattice, WeightedWER(weight=1.0).against([reference]))
        assert ours.score == pytest.approx(oracle(lattice, WER().against([reference])).score)
        light = oracle(lattice, WeightedWER(weight=0.1).against([reference]))
        assert light.exact
        assert light.score <= WeightedWER(weight=0.1).against([reference]).score(ours.text)


def test_forests_lists_and_engines() -> None:
    edges = [(0, [], ["cat"]), (0, [], ["hat"]), (1, [0], ["the", 0]), (1, [0], ["a", 0])]
    forest = Forest.from_edges(edges)
    evaluator = WeightedWER().against(["a mat", "the cat of"])
    assert oracle(forest, evaluator).text == "the cat"
    lattice = lattices.to_lattice(forest)
    for engine in ("kernel", "openfst"):
        assert oracle(lattice, evaluator, engine=engine).score == pytest.approx(0.25)
    ranked = [each.score for each in oracle_kbest(lattice, evaluator, 4)]
    assert ranked == sorted(ranked)
    assert worst(lattice, evaluator)[0].score == max(ranked)
    assert oracle(NBest.from_hypotheses(lattices.k_best(lattice, 4)), evaluator).text == "the cat"
    assert mbr(lattice, WeightedWER()).text


def test_options_are_looked_at(tmp_path: Path) -> None:
    metric = parse_metric("WWER:weight=0.25")
    assert (metric, str(metric)) == (WeightedWER(weight=0.25), "wwer:weight=0.25")
    for weight in ("0.001", "2", "-0.5", "nan"):
        with pytest.raises(OptionError, match=f"weight={float(weight)}, expected 0, 0.01"):
            parse_metric(f"wwer:weight={weight}")
    words = tmp_path / "words.txt"
    words.write_text("cat\n")
    with_file = parse_metric(f"wwer:weight=0,words={words}")
    assert with_file.against(["the cat"]).score("the") == 0.0


def test_it_is_known_to_every_command(tmp_path: Path, fstmetrics: Callable[..., str]) -> None:
    """It is found by its entry point, with workers, too."""
    assert "wwer" in fstmetrics("metrics")
    demo, out = tmp_path / "demo", tmp_path / "out"
    fstmetrics("demo", "--copy", demo)
    spaces = [demo / "s035.slf.gz", demo / "s036.slf.gz"]
    refs = ["--refs", demo / "refs.txt", "--metric", "wwer"]
    for command in (["oracle"], ["oracle", "--worst"], ["oracle", "--workers", 2]):
        assert "WWER" in fstmetrics(*command, *spaces, *refs)
    fstmetrics("tune-mbr", *spaces, *refs, "-o", out)
    lists = tmp_path / "lists.jsonl"
    fstmetrics("nbest", *spaces, "-k", 20, "-o", lists)
    assert "WWER" in fstmetrics("mbr", lists, *refs)
    weights = tmp_path / "weights.txt"
    fstmetrics("train", lists, *refs, "--learner", "mira", "--set", "epochs=1", "-o", weights)
    assert "WWER" in fstmetrics("rescore", lists, *refs, "--weights", weights)
    hyps = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    for path, text in zip(hyps, ["the cat", "a cat", "hat"], strict=True):
        path.write_text(f"{text}\nyes\n")
    plain, human = tmp_path / "refs", tmp_path / "human"
    plain.write_text("the cat\nyes\n")
    human.write_text("one 3\ntwo 2\nthree 1\n")
    refs = ["--refs", plain, "--metric", "wwer"]
    assert "0.0000" in fstmetrics("score", hyps[0], *refs)
    assert "WWER" in fstmetrics("compare", *hyps, *refs)
    assert "WWER" in fstmetrics("correlate", *hyps, *refs, "--human", human)
    sweep = ["--option", "weight", "--values", "0,0.5,1"]
    fstmetrics("study", "sweep", *hyps, *refs, *sweep)
    fstmetrics("compile", "--metric", "wwer", "--ref", "the cat", "-o", tmp_path / "cat.fst")
    listed = fstmetrics("oracle", lists, "--refs", demo / "refs.txt", "--metric", "wwer",
                        "--format", "jsonl", "-q")  # fmt: skip
    assert all("wwer" in json.dumps(json.loads(line)) for line in listed.splitlines())
