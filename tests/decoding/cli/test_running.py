"""A bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from tests.decoding.cli.commandline import cats

SLOW = (
    "import sys, time, decoding.cli.main, decoding.cli.terminal as p;"
    "import fstmetrics.alignment.rates as e;"
    "p.REFRESH = 0.0; old = e.WER.against;"
    "e.WER.against = lambda *a: (time.sleep(0.002), old(*a))[1];"
    "sys.exit(decoding.cli.main.main())"
)


def on_a_terminal(*arguments: str, program: str = SLOW, **environment: str) -> str:
    """Return what the command shows on a terminal."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, **environment},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert process.wait() == 0
    return shown.decode()


def test_what_is_said_afterwards_has_a_line_of_its_own(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 30)
    shown = on_a_terminal("convert", str(path), "-o", str(tmp_path / "x.plf"), "--lossy")
    # the bar goes, and leaves its line empty
    assert re.search(r"\r +\rfstmetrics: plf cannot hold", shown)


def test_rate_and_time_left_are_shown(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 300)
    shown = on_a_terminal("oracle", str(path), "--metric", "wer")
    assert re.search(r"\d+%\|.*\d\d:\d\d<\d\d:\d\d, [\d,]+ segments, [\d,]+/s", shown)
    assert "300 segments, 0 failed" in shown


def test_quiet_is_quiet(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 3)
    assert on_a_terminal("oracle", str(path), "--metric", "wer", "-q") == ""


def test_nothing_has_to_be_installed(tmp_path: Path) -> None:
    """The bar needs no other package, and advertises none."""
    path = cats(tmp_path / "cats.jsonl", 300)
    program = f"import sys; sys.modules['tqdm'] = None; {SLOW}"
    shown = on_a_terminal("oracle", str(path), "--metric", "wer", program=program)
    assert "pip install" not in shown
    assert "#" in shown


def test_a_pipe_has_no_end_to_tell(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 300)
    program = f"import os; os.dup2(os.open({str(path)!r}, os.O_RDONLY), 0); {SLOW}"
    shown = on_a_terminal("oracle", "-", "--metric", "wer", program=program)
    assert re.search(r"MB read, \d\d:\d\d, [\d,]+ segments|\d+%\|", shown)
