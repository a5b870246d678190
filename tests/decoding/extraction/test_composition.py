"""Sentences put together from the words of a list, beside its best entry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.cli.main import main
from decoding.corpus.outcomes import Segment
from decoding.extraction.composition import compose_list
from decoding.tasks.oracle import OracleTask
from fstmetrics import GRR, WER
from lattices import Hypothesis, Lattice, NBest
from lattices.errors import OptionError
from tests.decoding.cli.commandline import words
from tests.strategies import sentences

LISTS = st.lists(sentences("abc", unknown=("x",), max_size=4), min_size=1, max_size=4)


@given(LISTS, sentences("abc", max_size=4))
def test_composed_oracles_by_enumeration(entries: list[list[str]], reference: list[str]) -> None:
    # scores so far apart that the last entries have no probability
    nbest = NBest.from_hypotheses(
        [Hypothesis(tuple(said), -500.0 * rank) for rank, said in enumerate(entries)],
        references=[" ".join(reference)],
    )
    network = compose_list(nbest)
    possible = {path.tokens for path in network.paths()}
    assert possible.issuperset(map(tuple, entries))
    task = OracleTask((WER(), GRR()), compose=True)
    table = task.process([Segment(0, "", 0, nbest)])
    evaluator = WER().against([reference])
    best = min(evaluator.score(said) for said in possible)
    (row,) = table[0].fields()
    assert evaluator.score(row["composed"]) == pytest.approx(best)
    assert best <= row["score"] + 1e-12
    _, kinds = task.layout.split(np.asarray(table.sums)[0])
    assert WER().score(kinds["composed"][0].stats) == pytest.approx(best)
    assert GRR().score(kinds["composed"][1].stats) == pytest.approx(
        GRR().against([reference]).score(row["composed"])
    )


def test_only_lists_are_put_together() -> None:
    with pytest.raises(OptionError, match="lattice 's': sentences are put together from the words"):
        compose_list(Lattice.from_arcs([(0, 1, "a")], [1], id="s"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words(tmp_path / "refs", "the cat sat", "no")
    words(
        tmp_path / "lists",
        "0 ||| a cat sat ||| lm=1 ||| -1",
        "0 ||| the hat sat ||| lm=1 ||| -2",
        "1 ||| no ||| lm=1 ||| -1",
    )
    command = [
        "oracle",
        str(tmp_path / "lists"),
        "--refs",
        str(tmp_path / "refs"),
        "--metric",
        "wer",
    ]
    assert main([*command, "--compose"]) == 0
    printed = capsys.readouterr()
    assert "metric  1-best  oracle  composed oracle" in printed.err
    assert "%WER 0.00 [ 0 / 4, 0 ins, 0 del, 0 sub ] composed oracle" in printed.err
    assert main([*command, "--compose", "--worst"]) == 2
    assert "--compose and --worst exclude one another" in capsys.readouterr().err
