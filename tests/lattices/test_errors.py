"""Errors: one root, places that editors understand, arguments as the caller knows them."""

from __future__ import annotations

import pickle

import pytest

from lattices.errors import (
    Error,
    FormatError,
    OptionError,
    UnknownNameError,
    argument,
    spell_arguments,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FormatError("no arcs"), "no arcs"),
        (FormatError("no arcs", "a.slf"), "a.slf: no arcs"),
        (FormatError("no arcs", "a.slf", 3), "a.slf:3: no arcs"),
        (UnknownNameError("metric", "wr", ["wer", "wrr"]), "no metric named 'wr'; did you mean"),
        (UnknownNameError("metric", "x", []), "no metric named 'x' (known: none)"),
    ],
)
def test_messages_survive_a_way_to_a_worker_and_back(error: Error, text: str) -> None:
    assert str(error).startswith(text)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error, Error)


def test_what_is_wrong_with_a_value_is_a_value_error() -> None:
    assert issubclass(FormatError, ValueError)
    assert issubclass(OptionError, ValueError)
    assert issubclass(UnknownNameError, LookupError)


def test_arguments_are_named_as_they_were_given() -> None:
    assert argument("read.symbols", "FILE") == "symbols=FILE"
    with spell_arguments({"k": "-k", "read.": "--option"}):
        assert argument("k") == "-k"
        assert argument("k", "3") == "-k 3"
        assert argument("read.symbols", "FILE") == "--option symbols=FILE"
        with spell_arguments({}):
            assert argument("k") == "k"
    assert argument("k") == "k"
