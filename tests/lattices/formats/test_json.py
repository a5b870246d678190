"""JSON lines: complete, exact, and strict about what they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from lattices.errors import FormatError
from lattices.formats import LossWarning, parse_record, read, write
from lattices.formats.base import Record
from lattices.formats.json.lines import FORMAT
from lattices.spaces import Hypothesis, Lattice, NBest, Space
from lattices.vocabulary import Vocabulary
from tests.lattices.algorithms.comparing import parts, problems, read_bytes, written


def parsed(fields: Any) -> Space:
    data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return parse_record(FORMAT, Record(data, "f", 1, 0), Vocabulary())


def again(space: Space) -> Space:
    (line,) = written(FORMAT, space).splitlines(keepends=True)
    return parse_record(FORMAT, Record(line, "f", 1, 0), Vocabulary())


def test_both_spellings_of_finals() -> None:
    arcs = [[0, 1, "a", -1, {"lm": 2}], [1, 2, "b"], [0, 2, "", 0.5]]
    apart = {"finals": {"2": -0.5}, "final_features": {"2": {"tm": 3}}, "arcs": arcs}
    inside = {"finals": {"2": [-0.5, {"tm": 3}]}, "arcs": arcs, "states": 3, "start": 0}
    one, other = parsed(apart), parsed(inside)
    assert parts(one) == parts(other)
    assert isinstance(one, Lattice)
    assert one.feature_names == ("lm", "tm")
    assert one.id == "0"
    assert one.final_features is not None
    assert one.final_features.toarray().tolist() == [[0, 0], [0, 0], [0, 3]]
    assert [h.text for h in one.paths()] == ["a b", ""]
    plain = parsed({"finals": {"1": [0, {}]}, "arcs": [[0, 1, "a", 0, {}]]})
    assert isinstance(plain, Lattice)
    assert plain.features is None
    assert plain.final_features is None


def test_keys_it_does_not_know_stay(tmp_path: Path) -> None:
    fields = {"id": 7, "finals": {"0": 0.0}, "arcs": [], "hyp": "x", "deep": {"a": [1, None]}}
    space = parsed(fields)
    assert space.id == "7"
    assert dict(space.metadata) == {"hyp": "x", "deep": {"a": [1, None]}}
    back = json.loads(written(FORMAT, space))
    assert {"hyp": "x", "deep": {"a": [1, None]}}.items() <= back.items()


def test_states_without_arcs_and_states_out_of_order() -> None:
    lattice = parsed({"states": 5, "start": 3, "finals": {"0": 0}, "arcs": [[3, 0, "a"]]})
    assert isinstance(lattice, Lattice)
    assert lattice.num_states == 5
    assert [h.text for h in lattice.paths()] == ["a"]


def test_nbest_words_as_text_or_list() -> None:
    nbest = parsed(
        {"nbest": [{"words": " a\u00a0b  c "}, {"words": ["new york"], "score": -1}, {"words": ""}]}
    )
    assert isinstance(nbest, NBest)
    assert [h.tokens for h in nbest] == [("a\u00a0b", "c"), ("new york",), ()]
    assert nbest.score.tolist() == [0.0, -1.0, 0.0]
    assert nbest.features is None


ONE = {"finals": {"1": 0}, "arcs": [[0, 1, "a", 0]]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (b"{", "not JSON"),
        (b'{"a": 1} x', "not JSON: Extra data, column 10"),
        (b"[" * 100_000, "recursion"),
        (b"3", "one object, not int"),
        (b'{"id": "\xff"}', "invalid UTF-8"),
        (b'{"finals": {"0": 0}, "arcs": [], "id": "\\ud800"}', "surrogates"),
        (b'{"finals": {"0": NaN}, "arcs": []}', "NaN is no JSON number"),
        (b'{"finals": {"0": 0}, "arcs": [[0, 1, "a", -Infinity]]}', "-Infinity is no JSON"),
        ({}, "no 'arcs'"),
        ({"arcs": []}, "no 'finals'"),
        ({"nodes": 3, "edges": []}, "no derivation of the root"),
        ({**ONE, "nbest": []}, "both 'arcs' and 'nbest'"),
        ({**ONE, "finals": {}}, "no state is final"),
        ({**ONE, "finals": {"5": 0}, "states": 2}, r"final states \[5\], expected .* 0 to 1"),
        ({**ONE, "finals": {"-1": 0}}, "'-1' for a final state"),
        ({**ONE, "finals": {"1": "0"}}, "'0' among the scores of final states"),
        ({**ONE, "finals": {"1": [0]}}, "expected a score, or a score and features"),
        ({**ONE, "finals": {"1": [0, {}]}, "final_features": {"1": {}}}, "final state 1"),
        ({**ONE, "final_features": {"0": {"a": 1}}}, "not in 'finals'"),
        ({**ONE, "finals": [1]}, r"\[1\] for 'finals', expected dict"),
        ({**ONE, "states": 1}, "final states"),
        ({**ONE, "states": 0}, "0 states for 1 arcs"),
        ({**ONE, "states": 10**15}, "states for 1 arcs"),
        ({**ONE, "states": 2.0}, "2.0 for 'states', expected int"),
        ({**ONE, "states": True}, "True for 'states'"),
        ({**ONE, "start": 2, "states": 2}, "start state 2"),
        ({**ONE, "start": -1}, "start state -1"),
        ({**ONE, "times": [0]}, "1 times for 2 states"),
        ({**ONE, "times": [0, "1"]}, "'1' among the times"),
        ({**ONE, "id": None}, "None for 'id'"),
        ({**ONE, "src": 3}, "3 for 'src', expected str"),
        ({**ONE, "refs": "the house"}, "'the house' for 'refs', expected list"),
        ({**ONE, "refs": [1]}, "neither a string nor a lattice"),
        ({**ONE, "refs": [{}]}, "no 'arcs'"),
        ({**ONE, "feature_names": ["a", "a"]}, "not different strings"),
        ({**ONE, "arcs": {}}, r"\{\} for 'arcs', expected list"),
        ({**ONE, "arcs": ["abc"]}, "an arc is not a list"),
        ({**ONE, "arcs": [[0, 1]]}, "an arc has 2 entries, expected 3, 4 or 5"),
        ({**ONE, "arcs": [[0, 1, "a", 0, {}, 1]]}, "an arc has 6 entries"),
        ({**ONE, "arcs": [[0, 1.5, "a", 0]]}, "1.5 for the state of an arc"),
        ({**ONE, "arcs": [["0", 1, "a", 0]]}, "'0' for the state of an arc"),
        ({**ONE, "arcs": [[0, 1, None, 0]]}, "None for the word of an arc"),
        ({**ONE, "arcs": [[0, 1, "a", "-1"]]}, "'-1' among the scores of arcs"),
        ({**ONE, "arcs": [[0, 1, "a", None]]}, "None among the scores of arcs"),
        ({**ONE, "arcs": [[0, 1, "a", [1]]]}, "among the scores of arcs"),
        ({**ONE, "arcs": [[0, 1, "a", 10**400]]}, "among the scores|too large|not finite"),
        ({**ONE, "arcs": [[0, 1, "a", 0, [1]]]}, r"\[1\] for features"),
        ({**ONE, "arcs": [[0, 1, "a", 0, {"x": "1"}]]}, "'1' among the features"),
        ({**ONE, "arcs": [[0, 1, "a", 0, {"x": 1e999}]]}, "no JSON number|not finite"),
        ({**ONE, "arcs": [[0, -1, "a", 0]]}, "target state -1"),
        ({**ONE, "arcs": [[0, 1, "a", 0], [1, 0, "b", 0]]}, "cycle"),
        ({**ONE, "arcs": [[0, 0, "a", 0]]}, "cycle"),
        ({"nbest": {}}, r"\{\} for 'nbest', expected list"),
        ({"nbest": [["a"]]}, "an entry of 'nbest' is not an object"),
        ({"nbest": [{"score": 1}]}, "None for the words of an entry"),
        ({"nbest": [{"words": ["a", ""]}]}, "for the words of an entry"),
        ({"nbest": [{"words": "a", "score": "x"}]}, "'x' among the scores"),
        ({"nbest": [{"words": "a", "features": 1}]}, "1 for features, expected an object"),
    ],
)
def test_bad_lines_say_what_is_wrong(fields: Any, expected: str) -> None:
    with pytest.raises(FormatError, match=f"(?s)^f:1: .*(?:{expected})"):
        parsed(fields)


def test_infinite_scores_by_exponent() -> None:
    with pytest.raises(FormatError, match="arc 0 has score inf"):
        parsed(b'{"finals": {"1": 0}, "arcs": [[0, 1, "a", 1e999]]}')


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_line_ends_marks_and_long_lines(tmp_path: Path, end: bytes) -> None:
    word = "é" * 100_000
    line = json.dumps({"id": "a", "finals": {"1": 0}, "arcs": [[0, 1, word]]}).encode()
    data = b"\xef\xbb\xbf" + line + end + end + line.replace(b'"a"', b'"b"')
    spaces = read_bytes(tmp_path, data, None)
    assert [space.id for space in spaces] == ["a", "b"]
    assert list(spaces[0].vocabulary) == [word]
    assert problems(tmp_path, data + b"x", "jsonl")[1] == [
        f"3: not JSON: Extra data, column {len(line) + 1}"
    ]


def test_both_names_of_references(tmp_path: Path) -> None:
    line = '{"id": "x", "finals": {"1": 0}, "arcs": [[0, 1, "a"]], %s}\n'
    path = tmp_path / "x.jsonl"
    for fields, found, rest in (
        ('"references": ["b"]', ("b",), {}),
        ('"refs": ["b"], "references": {"by": "me"}', ("b",), {"references": {"by": "me"}}),
    ):
        path.write_text(line % fields)
        (space,) = read(path)
        assert (space.references, dict(space.metadata)) == (found, rest)
        write(tmp_path / "y.jsonl", [space])
        (back,) = read(tmp_path / "y.jsonl")
        assert (back.references, dict(back.metadata)) == (found, rest)
    path.write_text(line % '"references": "b"')
    with pytest.raises(FormatError, match="'b' for 'references', expected list"):
        list(read(path))
    # it would come back as a reference
    with pytest.raises(FormatError, match="cannot hold the metadata"):
        write(path, [space.replaced(references=(), metadata={"references": ["b"]})])


def test_metadata_with_a_name_of_ours_is_a_loss(tmp_path: Path) -> None:
    space = parsed(ONE).replaced(metadata={"arcs": 1, "kept": 1})
    with pytest.raises(FormatError, match="cannot hold the metadata"):
        write(tmp_path / "x.jsonl", [space])
    with pytest.warns(LossWarning, match="metadata"):
        write(tmp_path / "x.jsonl", [space], lossy=True)
    (back,) = read(tmp_path / "x.jsonl")
    assert dict(back.metadata) == {"kept": 1}


def test_repeated_entries_of_a_matrix_are_summed() -> None:
    matrix = csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    nbest = NBest.from_hypotheses([Hypothesis(("a",))], id="x")
    nbest = NBest(nbest.vocabulary, nbest.label, nbest.offset, nbest.score, matrix, ("lm",), id="x")
    assert json.loads(written(FORMAT, nbest))["nbest"][0]["features"] == {"lm": 3.0}
