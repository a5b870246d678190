"""What fuzzing has found once: every input of ``tests/fuzz/cases``, again.

``make fuzz`` looks for more. A case is kept with a name that says what was wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lattices.formats import FORMATS
from lattices.testing import sentences
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import Target, target_names
from tests.lattices.algorithms.comparing import problems

CASES = sorted((Path(__file__).parents[2] / "fuzz" / "cases").glob("*/*.bin"))


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    found = Target(request.param)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("target", "case"),
    [(case.parent.name, case) for case in CASES],
    ids=[f"{case.parent.name}/{case.stem}" for case in CASES],
    indirect=["target"],
)
def test_case_is_good_or_a_format_error(target: Target, case: Path) -> None:
    target(case.read_bytes())


@pytest.mark.parametrize("target", target_names(), indirect=True)
def test_fuzzing_begins_with_good_files(target: Target) -> None:
    assert all(target(data) > 0 for data in seeds(target.name))


def test_fuzzing_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that raises something else, or makes something else of a file, is found."""
    target = Target("nbest-tsv")
    data = b"a\t1\t-0.5\tthe cat\n"
    assert target(data) == 1
    fmt = FORMATS.get("nbest-tsv")
    parse = type(fmt).parse

    def raising(*arguments: object, **options: object) -> object:
        raise IndexError("list index out of range")

    monkeypatch.setattr(type(fmt), "parse", raising)
    with pytest.raises(AssertionError, match="IndexError"):
        target(data)
    read = []

    def forgetful(self: object, record: object, vocabulary: object) -> object:
        space = parse(self, record, vocabulary)  # type: ignore[arg-type]
        read.append(space)
        return space if len(read) % 2 else space.replaced(score=space.score - 1.0)

    monkeypatch.setattr(type(fmt), "parse", forgetful)
    with pytest.raises(AssertionError, match=r"score -0\.5, -1\.5"):
        target(data)
    target.close()


def _messages(tmp_path: Path, fmt_name: str, case: str) -> list[str]:
    data = next(path for path in CASES if path.stem == case).read_bytes()
    return problems(tmp_path, data, fmt_name)[1]


def test_states_of_twenty_digits_are_named(tmp_path: Path) -> None:
    assert _messages(tmp_path, "openfst-text", "state-of-20-digits") == [
        "1: state '99999999999999999999', expected a number from 0"
    ]


def test_keys_have_no_line_ends(tmp_path: Path) -> None:
    (message,) = _messages(tmp_path, "kaldi-binary", "line-end-in-key")
    assert "a line end or tab in the key after byte 0" in message


def test_digits_after_an_escape_stay_digits(tmp_path: Path) -> None:
    case = next(path for path in CASES if path.stem == "digit-after-control-character")
    (lattice,), _ = problems(tmp_path, case.read_bytes(), "htk")
    assert "\x075" in {word for words in sentences(lattice) for word in words}
