"""Scores on disk: each pair is scored once, by whomever."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from fstmetrics import Utility
from fstmetrics.external.cache import ScoreCache
from lattices import FormatError, OptionError

Pairs = list[tuple[str, str]]


def test_pairs_are_scored_once(tmp_path: Path) -> None:
    calls: list[Pairs] = []

    def scores(pairs: Pairs) -> list[float]:
        calls.append(pairs)
        return [len(a) + len(b) / 3 for a, b in pairs]

    path = str(tmp_path / "scores.sqlite")
    first = Utility(scores, "mine", cache=path, version="1")
    one = first.scored([("a", "b"), ("a", "cc"), ("a", "b")])
    # another object, or process, goes on from there, to the last bit
    two = Utility(scores, "mine", cache=path, version="1").scored(
        [("a", "cc"), ("dd", ""), ("a", "b")]
    )
    assert [*two] == [one[1], 2.0, one[0]]
    assert calls == [[("a", "b"), ("a", "cc")], [("dd", "")]]
    # nothing is left to ask for
    assert Utility(scores, "mine", cache=path, version="1").scored([("dd", "")]).tolist() == [2.0]
    assert len(calls) == 2
    # another utility has scores of its own, and so has the other way round
    Utility(scores, "other", cache=path, version="1").scored([("a", "b")])
    first.scored([("b", "a")])
    assert calls[2:] == [[("a", "b")], [("b", "a")]]
    # and so has another version of it
    Utility(scores, "mine", cache=path, version="2").scored([("a", "b")])
    assert calls[4:] == [[("a", "b")]]


def test_texts_are_told_apart(tmp_path: Path) -> None:
    cache = ScoreCache(str(tmp_path / "x"))
    some = {("a b", "c"): 1.0, ("a", "b c"): 2.0, ("", "a b c"): 3.0, ("\udce9", "ä\n\0"): 4.0}
    cache.add("u", some)
    cache.add("ua", {(" b", "c"): 5.0})
    assert cache.get("u", list(some)) == some
    many = {(str(number), "x"): number / 7 for number in range(5000)}
    cache.add("u", many)
    assert cache.get("u", [*many, ("-1", "x")]) == many


def _work(path: str, seed: int) -> int:
    """Score pairs that other processes score, too; return how many were new to this one."""
    asked: list[int] = []

    def scores(pairs: Pairs) -> list[float]:
        asked.append(len(pairs))
        return [float(a) * 100 + float(b) for a, b in pairs]

    utility = Utility(scores, "shared", cache=path, version="1")
    for turn in range(20):
        pairs = [(str(one), str((seed + turn) % 7)) for one in range(40)]
        found = utility.scored(pairs)
        assert found.tolist() == [float(a) * 100 + float(b) for a, b in pairs]
    return sum(asked)


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "scores.sqlite")
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        asked = list(pool.map(_work, [path] * 8, range(8)))
    # at worst two processes score the same pair at the same moment; afterwards nobody does
    assert 7 * 40 <= sum(asked) <= 4 * 7 * 40
    assert _work(path, 0) == 0


def test_other_files(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no database, but longer than the header of one: " * 10)
    with pytest.raises(
        FormatError, match=r"notes.txt: no cache of scores \(file is not a database"
    ):
        Utility(len, "n", cache=str(text)).require()
    assert text.read_text().startswith("no database")
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    with pytest.raises(FormatError, match=r"no cache of scores, but a database of others"):
        Utility(len, "n", cache=str(other)).require()
    with pytest.raises(FormatError, match=r"no cache of scores \(unable to open database file\)"):
        Utility(len, "n", cache=str(tmp_path / "no" / "where")).require()


def test_a_cache_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cached by the name of a utility"):
        Utility(len, cache=str(tmp_path / "x"))


def lengths(triples: list[tuple[str, str, str]]) -> list[int]:
    return [100 * len(source) + len(hypothesis) for hypothesis, _, source in triples]


def test_the_source_is_part_of_the_key(tmp_path: Path) -> None:
    path = str(tmp_path / "scores.sqlite")
    utility = Utility(lengths, "lengths", cache=path, source=True)
    for _ in range(2):
        for source in ("ein", "zwei"):
            found = utility.with_source(source).scored([("a", "b")])
            assert found.tolist() == [100 * len(source) + 1]


def with_defaults(pairs: Pairs, model: str = "large") -> list[int]:
    return [len(model) for _ in pairs]


def within(model: str) -> Callable[[Pairs], list[int]]:
    def scores(pairs: Pairs) -> list[int]:
        return [len(model) for _ in pairs]

    return scores


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (lambda pairs: [0.0 for _ in pairs], "it is a lambda"),
        (partial(max, default=[0.0]), r"it is an object \(partial\)"),
        ([0.0].copy, r"it is an object \(builtin_function_or_method\)"),
        (ScoreCache("x").require, r"it is an object \(method\)"),
        (with_defaults, "it is a function with defaults"),
        (within("model"), r"it is a function with free variables \(model\)"),
    ],
)
def test_what_a_cache_cannot_see_needs_a_version(tmp_path: Path, scores: Any, said: str) -> None:
    path = str(tmp_path / "scores.sqlite")
    Utility(scores, "mine")
    Utility(scores, "mine", cache=path, version="1")
    with pytest.raises(OptionError, match=said):
        Utility(scores, "mine", cache=path)
