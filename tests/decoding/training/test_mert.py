"""Minimum error rate training: what it finds, and that it can be stopped and taken up again."""

from __future__ import annotations

import itertools
import json
import pickle
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.training import envelope
from decoding.training.envelope import EnvelopeCorpus
from decoding.training.learner import History, Learner, Round
from decoding.training.mert import MERT
from fstmetrics import BLEU, BLEUSBP, GRR, TBLEU, WER
from fstmetrics.contract import quality
from lattices import Forest, Hypothesis, Lattice, NBest
from lattices.errors import FormatError, OptionError
from tests.decoding.training.test_line_search import problems
from tests.strategies import FEATURE_NAMES, examples


def separable(kind, segments=12, seed=0):
    """Spaces whose right sentence has the highest x - 2y + z: right weights get them all."""
    rng = np.random.default_rng(seed)
    spaces, references = [], []
    for number in range(segments):
        rows = rng.normal(size=(6, 3)).round(3)
        right = int(np.argmax(rows @ [1.0, -2.0, 1.0]))
        words = [f"{'right' if row == right else 'wrong'} w{row}" for row in range(6)]
        features = [dict(zip("xyz", map(float, row), strict=True)) for row in rows]
        name = f"s{number}"
        if kind == "list":
            entries = zip(words, features, strict=True)
            hypotheses = [Hypothesis(tuple(text.split()), 0.0, row) for text, row in entries]
            spaces.append(NBest.from_hypotheses(hypotheses, id=name))
        elif kind == "lattice":
            arcs = []
            for row, (text, values) in enumerate(zip(words, features, strict=True)):
                one, other = text.split()
                arcs += [(0, row + 1, one, 0.0, values), (row + 1, 7, other)]
            spaces.append(Lattice.from_arcs(arcs, finals=[7], id=name))
        else:
            edges = []
            for row, (text, values) in enumerate(zip(words, features, strict=True)):
                one, other = text.split()
                edges += [(row, [], [one], 0.0, values), (6, [row], [0, other])]
            spaces.append(Forest.from_edges(edges, root=6, id=name))
        references.append([words[right]])
    return spaces, references


UNIFORM = {"x": 0.5, "y": 0.5, "z": 0.5}


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize(
    "metric", [BLEU(order=2), BLEUSBP(order=2), GRR(n=2), WER(), TBLEU(order=2)]
)
def test_a_separable_corpus_is_solved(kind, metric):
    spaces, references = separable(kind)
    learner = MERT(seed=3).fit(spaces, references, metric)
    perfect = 1.0 if metric.higher_is_better else 0.0
    assert learner.history[-1].score == pytest.approx(perfect)
    corpus = EnvelopeCorpus(spaces, [metric.against(some) for some in references])
    assert corpus.score(learner.weights) == pytest.approx(perfect)
    assert learner.finished


@settings(max_examples=30)
@given(problems(), st.integers(0, 3), st.booleans())
def test_it_never_gets_worse_and_says_what_it_has(problem, seed, powell):
    spaces, references, metric = problem
    start = dict.fromkeys(FEATURE_NAMES, 1.0)
    corpus = EnvelopeCorpus(spaces, [metric.against(some) for some in references])
    before = corpus.score(start)
    learner = MERT(start=start, seed=seed, restarts=1, random_directions=2, powell=powell)
    learner.fit(spaces, references, metric)
    scores = [quality(metric, each.score) for each in learner.history]
    assert scores == sorted(scores)
    assert corpus.score(learner.weights) == learner.history[-1].score
    assert quality(metric, learner.history[-1].score) >= quality(metric, before)
    assert all(np.isfinite(list(learner.average().values())))


def test_the_same_seed_gives_the_same_weights_and_another_one_others():
    spaces, references = separable("list", segments=30, seed=5)
    # noise that no weights explain
    references[::3] = [[text[0].replace("right", "wrong")] for text in references[::3]]
    one, same, other = (
        MERT(seed=seed).fit(spaces, references, BLEU(order=2)).weights for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


class Stopped(Exception):
    pass


@pytest.mark.parametrize("powell", [False, True])
def test_a_stopped_fit_goes_on_to_the_same_weights(tmp_path, monkeypatch, powell):
    spaces, references = separable("lattice", segments=20, seed=8)
    references[::3] = [[text[0].replace("right", "wrong")] for text in references[::3]]
    options = {"start": UNIFORM, "seed": 4, "restarts": 2, "powell": powell}
    metric = GRR(n=2)
    whole = MERT(**options).fit(spaces, references, metric)
    assert len(whole.history) > 4
    searched = MERT._step
    for stop in (1, 7, 20, 45):
        path = tmp_path / f"{stop}.json"
        count = 0

        def counted(self, *args, _stop=stop):
            nonlocal count
            count += 1
            if count == _stop:
                raise Stopped
            return searched(self, *args)

        monkeypatch.setattr(MERT, "_step", counted)
        learner = MERT(**options)
        with pytest.raises(Stopped):
            learner.fit(spaces, references, metric, checkpoint=path)
        monkeypatch.setattr(MERT, "_step", searched)
        # in the same process, from a pickle, and from the file if a round was done
        copies = [pickle.loads(pickle.dumps(learner)), learner]
        if path.exists():
            copies.append(MERT.load(path))
        for copy in copies:
            assert not copy.finished
            again = copy.fit(spaces, references, metric)
            assert again.weights == whole.weights
            assert again.average() == whole.average()
            assert [r.score for r in again.history] == [r.score for r in whole.history]


def test_an_unfinished_fit_goes_on_with_its_own_task_only(tmp_path, monkeypatch):
    spaces, references = separable("list")
    searched = MERT._step

    def stop(self, *args):
        raise Stopped

    monkeypatch.setattr(MERT, "_step", stop)
    learner = MERT()
    with pytest.raises(Stopped):
        learner.fit(spaces, references, WER())
    monkeypatch.setattr(MERT, "_step", searched)
    with pytest.raises(OptionError, match="unfinished"):
        learner.fit(spaces, references, GRR())
    with pytest.raises(OptionError, match="unfinished"):
        learner.fit(spaces[1:], references[1:], WER())
    assert learner.fit(spaces, references, WER()).finished


def test_fixed_weights_stay_and_bounds_hold():
    spaces, references = separable("lattice")
    options = {"start": UNIFORM, "fixed": ["x"], "bounds": {"y": (-0.7, None), "z": (None, 0.3)}}
    learner = MERT(**options, seed=1).fit(spaces, references, WER())
    for each in learner.history:
        assert each.weights["x"] == 0.5
        assert each.weights["y"] >= -0.7
        assert each.weights["z"] <= 0.3
    assert learner.weights["y"] < 0.0
    free = MERT(start=UNIFORM, seed=1).fit(spaces, references, WER())
    assert free.history[-1].score == 0.0


def test_all_weights_fixed_is_no_search():
    spaces, references = separable("list")
    learner = MERT(start=UNIFORM, fixed=["x", "y", "z"]).fit(spaces, references, WER())
    assert learner.weights == UNIFORM


def test_weights_of_features_that_no_space_has_are_kept():
    spaces, references = separable("list")
    learner = MERT(start={**UNIFORM, "unk": 5.0}).fit(spaces, references, WER())
    assert learner.weights["unk"] == 5.0
    assert learner.average()["unk"] == 5.0


def test_the_length_of_the_weights_stays_near_that_of_the_start():
    spaces, references = separable("list")
    learner = MERT(start=UNIFORM, restarts=3).fit(spaces, references, BLEU(order=2))
    lengths = [np.linalg.norm(list(each.weights.values())) for each in learner.history]
    assert all(0.7 <= length / np.linalg.norm([0.5] * 3) <= 1.42 for length in lengths)


def test_zero_weights_are_a_start_too():
    spaces, references = separable("lattice")
    learner = MERT(start=dict.fromkeys("xyz", 0.0)).fit(spaces, references, WER())
    assert learner.history[-1].score == 0.0


def test_history_is_a_table():
    spaces, references = separable("list")
    columns = MERT(restarts=1).fit(spaces, references, WER()).history.as_columns()
    assert {"number", "score", "seconds", "start", "pass", "gain", "weight x"} <= set(columns)
    assert len({len(column) for column in columns.values()}) == 1
    assert columns["number"] == list(range(1, len(columns["number"]) + 1))
    some = History([Round(1, 0.0, 0.0, {"a": 1.0}, {}), Round(2, 0.0, 0.0, {"b": 1.0}, {"k": 1})])
    assert some.as_columns()["weight a"] == [1.0, None]
    assert some.as_columns()["k"] == [None, 1]
    assert [each.number for each in some[1:]] == [2]


def test_a_second_fit_begins_where_the_first_one_ended():
    spaces, references = separable("list")
    learner = MERT(restarts=0).fit(spaces, references, WER())
    rounds, weights = len(learner.history), dict(learner.weights)
    learner.fit(spaces, references, WER())
    assert len(learner.history) == rounds + 1
    assert learner.weights == weights
    wider = [
        NBest.from_hypotheses([*space, Hypothesis(("new",), 0.0, {"new": 1.0})]) for space in spaces
    ]
    assert learner.fit(wider, references, WER()).history[-1].score == 0.0
    assert "new" in learner.weights


def test_checkpoints_are_exact_and_others_are_refused(tmp_path):
    spaces, references = separable("forest")
    learner = MERT(seed=2, restarts=1, bounds={"x": (0.0, np.inf)}).fit(spaces, references, WER())
    path = tmp_path / "mert.json"
    learner.save(path)
    assert json.loads(path.read_text())["options"]["bounds"] == {"x": [0.0, None]}
    loaded = MERT.load(path)
    assert loaded.weights == learner.weights
    assert loaded.history.as_columns() == learner.history.as_columns()
    assert loaded.random.bit_generator.state == learner.random.bit_generator.state
    again = tmp_path / "again.json"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    for text, problem in (
        ("{", "mert.json:1: no checkpoint of 'mert'"),
        ("[]", "no checkpoint of 'mert'"),
        ('{"learner": "mira"}', "a checkpoint of 'mira', expected one of 'mert'"),
        ('{"learner": "mert", "version": 99}', "version 99"),
        ('{"learner": "mert", "version": 3}', "no whole checkpoint"),
        ('{"learner": "mert", "version": 3, "options": {"x": 1}}', "no whole checkpoint"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=problem.replace("[", r"\[")):
            MERT.load(path)


def test_a_damaged_checkpoint_is_one_clear_error(tmp_path):
    spaces, references = separable("list")
    path = tmp_path / "mert.json"
    learner = MERT(seed=2, restarts=1).fit(spaces, references, WER(), checkpoint=path)
    whole = path.read_bytes()
    content = json.loads(whole)
    damaged = [whole[:place] for place in range(0, len(whole) - 2, 7)]
    # every byte by night, others each day
    step = examples(1, 11)
    for place in range(date.today().toordinal() % step, len(whole), step):
        flipped = bytes([whole[place] ^ 1 << place % 8])
        damaged.append(whole[:place] + flipped + whole[place + 1 :])
    values = [-1, 10**30, 1e308, None, True, "x", [], {}, [[]], {"lm": "x"}, float("nan")]
    for key, value in itertools.product(content, values):
        if content[key] != value or type(content[key]) is not type(value):
            damaged.append(json.dumps({**content, key: value}).encode())
    damaged += [b"[" * 200_000, b'{"learner":' * 200_000, b'{"options": ' + b"[" * 900]
    damaged += [whole.replace(b'"state": {', b'"state": {"x": ' + b"[" * n + b"]" * n + b",")
                for n in (100, 400, 900, 100_000)]  # fmt: skip
    for text in damaged:
        path.write_bytes(text)
        try:
            found = MERT.load(path)
        except FormatError as problem:
            assert "\n" not in str(problem)  # noqa: PT017
        else:
            # blanks between the values may be others
            assert json.loads(text) == content
            assert found.weights == learner.weights


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"restarts": -1}, "restarts is a number from 0 up"),
        ({"most_passes": 0}, "most_passes is at least 1"),
        ({"epsilon": float("nan")}, "epsilon is a number"),
        ({"fixed": "lm"}, "a list of names"),
        ({"bounds": {"lm": (1.0, 0.0)}}, "cannot be from 1.0 to 0.0"),
        ({"bounds": {"lm": (0.0, float("nan"))}}, "expected two numbers"),
        ({"bounds": {"lm": (0.0,)}}, "expected two numbers"),
        ({"bounds": {"lm": None}}, "expected two numbers"),
        ({"bounds": {"lm": ("1", None)}}, "expected two numbers"),
        ({"bounds": {"lm": (float("inf"), None)}}, "cannot be from inf to inf"),
        ({"bounds": [1, 2]}, "two numbers for each name"),
        ({"start": {"lm": float("inf")}}, "not finite"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, problem):
    with pytest.raises(OptionError, match=problem):
        MERT(**options)


def test_tasks_that_cannot_be_are_refused():
    spaces, references = separable("list")
    with pytest.raises(OptionError, match="12 spaces, but references for 11"):
        MERT().fit(spaces, references[1:], WER())
    with pytest.raises(OptionError, match="no spaces"):
        MERT().fit([], [], WER())
    with pytest.raises(OptionError, match="a list of references for each"):
        MERT().fit(spaces, ["a b"] * 12, WER())
    with pytest.raises(OptionError, match="no weight to start with for the features y, z"):
        MERT(start={"x": 1.0}, missing="error").fit(spaces, references, WER())
    with pytest.raises(OptionError, match="no space has the fixed features lm"):
        MERT(fixed=["lm"]).fit(spaces, references, WER())
    with pytest.raises(OptionError, match="is empty"):
        MERT().fit([NBest.from_hypotheses([])], [["a"]], WER())


def test_progress_is_a_line_at_a_terminal(monkeypatch, capsys):
    spaces, references = separable("list")
    MERT(restarts=0).fit(spaces, references, WER())
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    MERT(restarts=0).fit(spaces, references, WER(), progress=False)
    assert capsys.readouterr().err == ""
    MERT(restarts=0).fit(spaces, references, WER())
    shown = capsys.readouterr().err
    assert "mert: round 1, start 0, pass 1" in shown
    assert shown.endswith("\r\033[K")
    assert "\n" not in shown


def test_a_learner_needs_its_two_methods():
    with pytest.raises(TypeError, match="abstract"):
        Learner()


def test_threads_do_not_change_the_weights():
    found = [
        MERT(start=UNIFORM, restarts=1, random_directions=3, workers=workers).fit(
            *separable("lattice"), WER()
        )
        for workers in (1, 3)
    ]
    assert found[0].weights == found[1].weights


@pytest.mark.parametrize("metric", [BLEU(), WER()], ids=str)
def test_features_that_are_put_together_anew_give_the_same_weights(metric, monkeypatch):
    rng = np.random.default_rng(3)
    spaces = [random_lattice(rng) for _ in range(9)]
    references = [[" ".join(rng.choice([*"abc"], 3))] for _ in spaces]
    fitted = []
    for kept in (envelope.KEPT, 0):
        monkeypatch.setattr(envelope, "KEPT", kept)
        monkeypatch.setattr(envelope, "AT_ONCE", 40)
        corpus = EnvelopeCorpus(spaces, [metric.against(some) for some in references])
        parts = [len(some.spaces) for some in corpus.envelopes([1.0] * 2, [0.0, 1.0])]
        assert (len(parts) == 1) == bool(kept)
        assert sum(parts) == len(spaces)
        learner = MERT(restarts=1).fit(spaces, references, metric)
        fitted.append((learner.weights, corpus.deviations.tolist()))
    assert fitted[0] == fitted[1]


def random_lattice(rng):
    """Return three places of four words each, with two features."""
    arcs = [
        (at, at + 1, word, 0.0, dict(zip(("lm", "tm"), rng.normal(size=2).tolist(), strict=True)))
        for at in range(3)
        for word in "abcd"
    ]
    return Lattice.from_arcs(arcs, finals=[3])
