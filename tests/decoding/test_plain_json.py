"""JSON as the standard has it, and JSON that shows any damage."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.plain_json import check_seal, json_text, read_json, seal_json
from lattices.errors import FormatError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(), some, max_size=3),
    max_leaves=8,
)


def without_odd_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_odd_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_odd_numbers(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@given(VALUES)
def test_numbers_that_are_none_become_null_and_nothing_else_changes(value: object) -> None:
    def refuse(name: str) -> object:
        raise AssertionError(name)

    assert json.loads(json_text(value), parse_constant=refuse) == without_odd_numbers(value)


@given(st.dictionaries(st.text(min_size=1), st.integers() | st.text(), min_size=1, max_size=4))
def test_a_seal_breaks_with_any_change(content: dict[str, object]) -> None:
    content.pop("checksum", None)
    read = read_json(seal_json(content), "thing", "file")
    check_seal(read, "thing", "file")
    with pytest.raises(FormatError, match="checksum is that of another"):
        check_seal({**read, "one more": 1}, "thing", "file")
    with pytest.raises(FormatError, match="no checksum"):
        check_seal(content, "thing", "file")


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"[" * 100_000])
def test_what_is_no_object(data: bytes) -> None:
    with pytest.raises(FormatError, match="no thing"):
        read_json(data, "thing", "file")
