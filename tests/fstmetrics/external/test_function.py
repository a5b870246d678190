"""Functions by name: found, found again by other processes, and what they may not do."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from fstmetrics import Normalised, Utility, parse_metric
from fstmetrics.external.function import PythonFunction, numbers_of
from lattices import OptionError
from lattices.registry import check_requirements

MODULE = """
number = 3


def common(pairs):
    return [len({*a.split()} & {*b.split()}) for a, b in pairs]


class Model:
    def score(pairs):
        return [1.0 for _ in pairs]

    def predict(self, triples):
        return [len(source) for *_, source in triples]


model = Model()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Return the name of a module in the current directory."""
    name = f"functions_of_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def test_metrics_by_name(module: str) -> None:
    metric = parse_metric(f"python:{module}:common")
    assert isinstance(metric, Utility)
    assert (str(metric), metric.higher_is_better) == (f"python:{module}:common", True)
    assert metric.against(["a b"]).score("b c") == 1.0
    again = pickle.loads(pickle.dumps(metric))
    assert again == metric
    assert again.against(["a b"]).score("a b") == 2.0
    other = parse_metric(f"python:{module}:Model.score,higher_is_better=false,cache=x")
    assert isinstance(other, Utility)
    assert (other.higher_is_better, other.cache) == (False, "x")
    assert str(other) == f"python:{module}:Model.score,higher_is_better=false"
    lower = parse_metric(f"python:{module}:common,normalise=lower")
    assert isinstance(lower, Normalised)
    assert lower.against(["A b"]).score("a B") == 2.0


def test_sources_and_versions_by_name(module: str) -> None:
    name = f"python:{module}:model.predict,source=true"
    metric = parse_metric(f"{name},version=2,cache=x")
    assert isinstance(metric, Utility)
    assert str(metric) == f"{name},version=2"
    assert metric.with_source("ein").against(["a"]).score("b") == 3.0
    # an object that nobody has told apart
    unversioned = parse_metric(f"{name},cache=x")
    assert isinstance(unversioned, Utility)
    for use in (unversioned.require, lambda: unversioned.with_source("ein").scored([("b", "a")])):
        with pytest.raises(OptionError, match=r"it is an object \(method\)"):
            use()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("python:no_such_module:f", r"cannot be imported \(No module named 'no_such_module'\)"),
        ("python:{}:nope", r"is not there \(module '.*' has no attribute 'nope'\)"),
        ("python:{}:number", "is 3, expected a function"),
        ("python:math", "'python:math', expected python:MODULE:FUNCTION"),
        ("python:a:b:c", "expected python:MODULE:FUNCTION"),
        ("python:math:sqrt,better=x", r"has no option 'better' \(it has higher_is_better"),
        ("python:math:sqrt,higher_is_better=x", "higher_is_better is true or false, not 'x'"),
    ],
)
def test_what_is_no_function(name: str, said: str, module: str) -> None:
    with pytest.raises(OptionError, match=said):
        check_requirements(parse_metric(name.format(module)))


def test_a_function_that_fails() -> None:
    with pytest.raises(OptionError, match="mine has failed: RuntimeError: out of memory"):
        numbers_of(_fail, ["a"], "mine", "texts")
    with pytest.raises(OptionError, match="'python:x', expected"):
        PythonFunction("python:x")


def _fail(texts: list[str]) -> list[float]:
    raise RuntimeError("out of memory")
