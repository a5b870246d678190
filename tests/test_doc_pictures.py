"""The pictures of the docs are what their command draws."""

from __future__ import annotations

import pytest

pytest.importorskip("pynini")

from benchmarks.pictures import FOLDER, pictures


def test_pictures_of_the_docs_are_fresh():
    for name, text in pictures().items():
        assert (FOLDER / f"{name}.svg").read_text() == text, name
