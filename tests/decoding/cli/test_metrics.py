"""``fstmetrics metrics``."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from fstmetrics.contract import METRICS
from tests.decoding.cli.commandline import command

run = command()


def test_metrics(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "no_such_module:METRIC", METRICS.group)
    monkeypatch.setattr(METRICS, "_points", {**METRICS._find(), "broken": [broken]})
    assert run("metrics") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    named = [place for place, line in enumerate(lines) if not line.startswith(" ")]
    rows = {
        lines[begin].split()[0]: " ".join(" ".join(lines[begin:end]).split()[1:])
        for begin, end in zip(named, [*named[1:], len(lines)], strict=True)
    }
    assert list(rows) == list(METRICS.names())
    assert rows["grr"].endswith(" n=4, alpha=1, beta=0, similarity")
    assert rows["cer"].endswith(" spaces=true")
    assert rows["broken"].startswith("not available: ")
    assert run("metrics", "Grr") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("grr:n=4,alpha=1,beta=0,similarity\n\nn-gram recognition rate")
    assert "equation 6" in shown
    assert "``" not in shown
