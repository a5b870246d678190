"""``fstmetrics formats``."""

from __future__ import annotations

import pytest

from lattices.formats import FORMATS
from tests.decoding.cli.commandline import command

run = command()


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("formats") == 0
    listing = capsys.readouterr().out
    assert [row[0] for row in cells(listing)[1:]] == list(FORMATS.names())
    assert run("formats", "htk") == 0
    shown = capsys.readouterr().out
    assert all(f"  {key}  " in shown for key in FORMATS.get("htk").options)
    for other in ("slf", "HTK", "Slf"):
        assert run("formats", other) == 0
        assert capsys.readouterr().out == shown
    assert run("formats", "hkt") == 2
    assert "did you mean htk?" in capsys.readouterr().err
