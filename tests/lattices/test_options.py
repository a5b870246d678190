"""Options in text: what is written is read back, and what is no option is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lattices.errors import OptionError
from lattices.options import (
    Option,
    read_options,
    read_value,
    split_named,
    take_options,
    write_value,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@dataclass
class Thing:
    flag: bool = False
    count: int | None = None
    rate: float = 0.5
    kind: Literal["one", "two"] = "one"
    weights: Sequence[float] | None = None
    names: Iterable[str] = ()
    either: str | Sequence[float] = "uniform"
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    hidden: int = field(default=0, init=False)


def read(*given: tuple[str, str]) -> dict[str, Any]:
    return read_options(Thing, given, "thing")


@pytest.mark.parametrize(
    ("hint", "values"),
    [
        (bool, st.booleans()),
        (int, st.integers()),
        (float, finite),
        (int | None, st.none() | st.integers()),
        (Sequence[float], st.lists(finite, min_size=1)),
        (tuple[int, ...], st.lists(st.integers(), min_size=1)),
    ],
)
def test_what_is_written_is_read_back(hint: Any, values: st.SearchStrategy[Any]) -> None:
    @given(values)
    def law(value: Any) -> None:
        assert read_value(hint, write_value(value)) == value

    law()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("flag", "TRUE", True),
        ("count", "none", None),
        ("kind", "two", "two"),
        ("weights", "1/0.5", [1.0, 0.5]),
        ("weights", "1,0.5", [1.0, 0.5]),
        ("weights", "2", [2.0]),
        ("names", "lm,tm/1", ["lm", "tm/1"]),
        ("names", '["tm/1"]', ["tm/1"]),
        ("names", "lm/tm", ["lm", "tm"]),
        ("either", "0.5/0.5", "0.5/0.5"),
        ("bounds", '{"lm": [0, null]}', {"lm": [0, None]}),
    ],
)
def test_values_are_what_fields_say(name: str, text: str, value: object) -> None:
    assert read((name, text)) == {name: value}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("flag", "1", "thing: flag is true or false, not '1'"),
        ("count", "1e3", "thing: count is a whole number, not '1e3'"),
        ("rate", "none", "thing: rate is a number, not 'none'"),
        ("kind", "three", "thing: kind is one of one, two, not 'three'"),
        ("weights", "1/x", "thing: weights is a list of numbers, not '1/x'"),
        ("bounds", "{", "thing: bounds is JSON, not '{'"),
        ("hidden", "1", r"thing has no option 'hidden' \(it has flag, count, "),
        ("weight", "1", r"bounds\); did you mean weights\?"),
    ],
)
def test_what_is_wrong_is_said(name: str, text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read((name, text))


def test_an_option_comes_once() -> None:
    with pytest.raises(OptionError, match="thing: rate is given twice"):
        read(("rate", "1"), ("rate", "1"))


def test_commas_within_values() -> None:
    found = split_named('mert:bounds={"lm": [0, 1]},similarity=a(x=1,y=2) , restarts=2')
    assert found == (
        "mert",
        [("bounds", '{"lm": [0, 1]}'), ("similarity", "a(x=1,y=2)"), ("restarts", "2")],
    )
    for wrong in ("a:b=(1", "a:b=1)", "a:b", "a:=1", "a:b=1,"):
        with pytest.raises(OptionError):
            split_named(wrong)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [(("a", "b"), "b", "b"), (bool, False, "false"), (int, 3, "3"), (float, 0.5, "0.5"),
     (list[str], ["x", "y"], "x,y"), (list[str], ["x", "y"], "x/y")],
)  # fmt: skip
def test_options_are_given_as_text_or_as_they_are(kind: Any, value: object, text: str) -> None:
    known = {"it": Option("what it is", kind)}
    for each in (text, value):
        assert take_options(known, {"it": each}, "thing") == {"it": value}


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        (Option("", float), "nan", "a finite number"),
        (Option("", float), True, "a finite number"),
        (Option("", int, least=2), 1, "a whole number from 2 on"),
        (Option("", int), 1.5, "a whole number"),
        (Option("", bool), 1, "true or false"),
        (Option("", ("a", "b")), None, "one of a, b"),
    ],
)
def test_options_that_are_none(option: Option, value: object, expected: str) -> None:
    with pytest.raises(OptionError, match=f"thing: it is {expected}, not {value!r}"):
        take_options({"it": option}, {"it": value}, "thing")
