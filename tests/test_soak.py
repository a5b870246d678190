"""The soak, for a second: it passes, and it sees what is wrong."""

from __future__ import annotations

from itertools import count

import pytest

from tests import soak


def test_calls_of_threads_have_the_answers_of_one() -> None:
    assert soak.soak(1.0, threads=3, say=lambda line: None) == []


@pytest.mark.parametrize("kind", ["answers", "errors", "memory"])
def test_what_is_wrong_is_told(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()

    def job() -> int:
        number = next(numbers)
        if kind == "errors" and number:
            raise RuntimeError("broken")
        return number if kind == "answers" else 0

    monkeypatch.setattr(soak, "make_jobs", lambda folder: {"a job": job})
    if kind == "memory":
        sizes = count(100, 10)
        monkeypatch.setattr(soak, "resident", lambda: float(next(sizes)))
    (problem,) = soak.soak(0.2, threads=1, say=lambda line: None)
    assert {"answers": "expected 0", "errors": "broken", "memory": "grew by 80 MB"}[kind] in problem
