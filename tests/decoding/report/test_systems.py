"""What a page says of a whole corpus, beside what the other commands say."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from decoding import best_of, mbr, oracle, sample_data
from decoding.cli.main import main
from decoding.corpus.outcomes import Failure
from decoding.report.systems import SystemReport, comparisons
from fstmetrics import GRR, WER, corpus_stats
from fstmetrics.statistics import Calibration, bootstrap, paired_bootstrap
from lattices import Hypothesis, Lattice, NBest, Space, read, read_references
from lattices.algorithms import best_words
from tests.decoding.report.pages import METRICS, collected, unpacked

OPTIONS = {"samples": 100, "level": 0.9, "seed": 3}


@pytest.fixture(scope="module")
def spaces() -> list[Lattice]:
    folder = sample_data()
    some = [lattice for path in sorted(folder.glob("s03*.slf.gz")) for lattice in read(path)]
    known = read_references([folder / "refs.txt"])
    return [each.replaced(references=known.get(each.id, 0)) for each in some]


@pytest.fixture(scope="module")
def system(spaces: list[Lattice]) -> SystemReport:
    found = collected(spaces)
    found.group_of = None
    return found


def test_scores_intervals_and_effects(spaces: list[Lattice], system: SystemReport) -> None:
    content, effects = system.content(**OPTIONS, top=5), comparisons([system], **OPTIONS)["effects"]
    references = [each.references for each in spaces]
    for place, metric in enumerate(METRICS):
        texts = {
            "one_best": [best_words(each) for each in spaces],
            "mbr": [mbr(each, WER()).tokens for each in spaces],
            "oracle": [
                oracle(each, metric.against(some)).tokens
                for each, some in zip(spaces, references, strict=True)
            ],
        }
        first = corpus_stats(metric, texts["one_best"], references)
        for kind, sentences in texts.items():
            rows = corpus_stats(metric, sentences, references)
            found = content["scores"][kind][place]
            estimate = bootstrap(metric, rows, **OPTIONS)
            assert found["score"] == pytest.approx(estimate.score)
            assert found["interval"] == pytest.approx(
                [estimate.interval.low, estimate.interval.high]
            )
            if kind == "one_best":
                continue
            effect = paired_bootstrap(metric, first, rows, **OPTIONS)
            other = effects[place][f"0-{list(texts).index(kind)}"]
            assert other["effect"] == pytest.approx(effect.effect)
            assert other["p"] == effect.p_value
            assert "mapsswe" not in other


def test_curve_is_that_of_the_command(
    spaces: list[Lattice], system: SystemReport, tmp_path: Path
) -> None:
    folder, output = sample_data(), tmp_path / "curve.json"
    argv = ["oracle", *map(str, sorted(folder.glob("s03*.slf.gz")))]
    argv += ["--refs", str(folder / "refs.txt"), "--metric", "wer", "grr", "--densities"]
    argv += ["1,2,5,10,20,50,100,200", "--format", "json", "-o", str(output), "-q"]
    assert main(argv) == 0
    points = json.loads(output.read_text())["points"]
    (found,) = system.content(**OPTIONS, top=5)["curves"]
    assert found["kind"] == "densities"
    kept = len(found["sizes"])
    assert 4 < kept <= len(points)
    for place, metric in enumerate(METRICS):
        scores = [point["scores"][str(metric)] for point in points]
        assert found["scores"][place] == pytest.approx(scores[:kept])
        # what is left out at the end is all the same
        assert set(scores[kept - 1 :]) == {scores[kept - 1]}
        # an interval is that of the bootstrap, point by point; the last is all of the lattices
        rows = corpus_stats(
            metric,
            [oracle(each, WER().against(each.references)).tokens for each in spaces],
            [each.references for each in spaces],
        )
        interval = bootstrap(metric, rows, **OPTIONS).interval
        if metric == WER():
            assert found["intervals"][place][-1] == pytest.approx([interval.low, interval.high])
        assert all(low <= high for low, high in found["intervals"][place])
    assert found["sizes"] == pytest.approx([point["arcs_a_word"] for point in points[:kept]])


def test_curves_of_samples_are_those_of_best_of() -> None:
    """The expected oracle, and the expected MBR decision, of lists of several lengths."""
    rng = Random(5)
    lists = [
        _list(
            f"s{n}", [" ".join(rng.choices("abc", k=3)) for _ in range(rng.randint(1, 6))], "a b c"
        )
        for n in range(12)
    ]
    curves = collected(lists, at=(1, 2, 4, 8), random=True).content(**OPTIONS, top=5)["curves"]
    assert [each["kind"] for each in curves] == ["random", "decisions"]
    evaluators = [WER().against(each.references) for each in lists]
    for curve, utility in zip(curves, (None, WER()), strict=True):
        points = [
            best_of(each, evaluator, (1, 2, 4, 8), utility)
            for each, evaluator in zip(lists, evaluators, strict=True)
        ]
        scores = [WER().score(sum(p[at].stats for p in points)) for at in range(4)]  # type: ignore[arg-type]
        assert curve["scores"][0] == pytest.approx(scores)
        assert curve["sizes"] == [
            sum(min(k, len(each)) for each in lists) / len(lists) for k in (1, 2, 4, 8)
        ]
    # the oracle is never worse
    assert all(a <= b for a, b in zip(curves[0]["scores"][0], curves[1]["scores"][0], strict=True))


def test_groups_and_lengths_add_up(spaces: list[Lattice]) -> None:
    system = SystemReport("one", METRICS, lambda id: "even" if int(id[1:]) % 2 == 0 else "odd")
    for outcome in _outcomes(spaces):
        system.add(outcome)
    content = system.content(**OPTIONS, top=5)
    whole = collected(spaces).content(**OPTIONS, top=5)
    assert [each["group"] for each in content["groups"]] == ["even", "odd"]
    total = np.array(system.index()["counts"]["one_best"]).sum(axis=1).tolist()
    for groups in (content["groups"], content["lengths"]):
        assert sum(each["segments"] for each in groups) == len(spaces)
        sums = np.sum([each["counts"]["one_best"] for each in groups], axis=0)
        assert sums.tolist() == total
    for each in content["groups"]:
        words, *errors = each["counts"]["one_best"]
        assert each["scores"]["one_best"][0] == pytest.approx(sum(errors) / words)
    assert whole["groups"] is None


def test_frequent_errors_name_all_their_segments() -> None:
    some = [_list(f"s{n}", ["a hat"], "the hat") for n in range(6)]
    content = collected([*some, _list("t", ["the hat"], "the hat")]).content(**OPTIONS, top=5)
    (error,) = content["errors"]["one_best"]
    assert (error["reference"], error["hypothesis"], error["times"]) == ("the", "a", 6)
    assert error["segments"] == list(range(6))


def test_one_segment_has_no_interval() -> None:
    content = collected([_list("s", ["a"], "a")]).content(**OPTIONS, top=5)
    assert content["scores"]["one_best"][0]["score"] == 0.0
    assert "interval" not in content["scores"]["one_best"][0]


def test_failures_are_kept_and_counted() -> None:
    system = collected([_list("s", ["a"], "a")])
    system.add(Failure(1, "file", 7, "bad", "no good"))
    content = system.content(**OPTIONS, top=5)
    assert (content["segments"], content["failed"], system.records) == (1, 1, 2)
    assert content["failures"] == [["bad", "file:7", "no good"]]


def test_segments_without_ids_are_numbered() -> None:
    some = [_list("", ["a"], "a"), _list("", ["b"], "a")]
    assert collected(some).ids == ["1", "2"]


def test_comparison_is_over_shared_segments_by_id(spaces: list[Lattice]) -> None:
    one = collected(spaces)
    worse = [
        each.replaced(references=["something else"]) if place % 2 else each
        for place, each in enumerate(spaces)
    ]
    # in another order, one missing and one more
    other = collected([*reversed(worse[1:]), _list("new", ["a"], "a")], name="two")
    found = comparisons([one, other], **OPTIONS)
    assert (found["shared"], found["missing"]) == (len(spaces) - 1, [1, 1])
    # 1-best, MBR and oracle of the one, then of the other
    assert found["answers"][0], found["answers"][3] == ((0, "one_best"), (1, "one_best"))
    rows = [
        corpus_stats(WER(), [best_words(e) for e in some[1:]], [e.references for e in some[1:]])
        for some in (spaces, worse)
    ]
    effect = paired_bootstrap(WER(), rows[0], rows[1], **OPTIONS)
    assert found["effects"][0]["0-3"]["effect"] == pytest.approx(effect.effect)
    assert found["effects"][0]["0-3"]["p"] == effect.p_value
    # of one system all segments count
    assert found["effects"][0]["0-2"] == comparisons([one], **OPTIONS)["effects"][0]["0-2"]


def test_matched_pairs_are_those_of_compare(tmp_path: Path) -> None:
    rng = Random(3)
    texts = [[rng.choice("abcd") for _ in range(rng.randint(1, 12))] for _ in range(40)]
    files = [tmp_path / name for name in ("refs", "a", "b", "c")]
    for file in files:
        spoilt = [[w for w in t if rng.random() > 0.2 * (file.name != "refs")] for t in texts]
        file.write_text("".join(f"u{n} {' '.join(t)}\n" for n, t in enumerate(spoilt)))
    common = ["--refs", str(files[0]), "--metric", "wer", "-q", "-o"]
    told, page = tmp_path / "told.json", tmp_path / "page.html"
    argv = ["compare", *map(str, files[1:]), *common, str(told), "--format", "json"]
    assert main([*argv, "--test", "mapsswe", "bootstrap"]) == 0
    assert main(["report", *map(str, files[1:]), *common, str(page)]) == 0
    effects = unpacked(page.read_bytes())["report"]["comparison"]["effects"][0]
    for number, one in enumerate(json.loads(told.read_text())["comparisons"], 1):
        p_values = {each["method"]: each["p_value"] for each in one["tests"]}
        found = effects[f"0-{number}"]
        assert found["mapsswe"] == pytest.approx(p_values["mapsswe"])
        assert found["p"] == pytest.approx(p_values["bootstrap"])
        assert -found["effect"] == pytest.approx(one["tests"][0]["effect"])


def test_calibrated_confidences_stand_beside_them_as_they_are(spaces: list[Lattice]) -> None:
    calibration = Calibration(None, ((0.0, 0.5), (1.0, 0.85)))
    system = SystemReport("one", METRICS, calibration=calibration)
    for outcome in _outcomes(spaces):
        system.add(outcome)
    found = system.content(**OPTIONS, top=5)["reliability"]
    assert [each["name"] for each in found["of"]] == ["as they are", "calibrated"]
    words = [sum(count for count, *_ in each["bins"]) for each in found["of"]]
    assert words == [found["words"]] * 2
    # none is above what the calibration makes of certainty
    assert found["of"][1]["bins"][9][0] == sum(b[0] for b in found["of"][1]["bins"][:4]) == 0


def test_reliability_counts_the_words_of_decisions(system: SystemReport) -> None:
    found = system.content(**OPTIONS, top=5)["reliability"]
    (bins,) = [each["bins"] for each in found["of"]]
    assert sum(words for words, *_ in bins) == found["words"]
    assert found["without"] == 0
    words, substitutions, insertions, deletions = np.array(system.index()["counts"]["mbr"]).sum(
        axis=1
    )
    assert found["words"] == words - deletions + insertions
    right = sum(right for _, _, right in bins)
    assert right == words - deletions - substitutions


def _list(id: str, texts: list[str], reference: str) -> NBest:
    entries = [Hypothesis(tuple(text.split()), -float(n)) for n, text in enumerate(texts)]
    return NBest.from_hypotheses(entries, id=id, references=[reference])


def _outcomes(spaces: list[Space] | list[Lattice]):  # type: ignore[no-untyped-def]
    from decoding.corpus.outcomes import Done, Segment
    from decoding.report.segments import ReportTask

    for place, space in enumerate(spaces):
        (found,) = ReportTask((WER(), GRR())).process([Segment(place, "file", 1, space)])
        yield Done(place, "file", 1, space.id, found)
