"""Bad files from the shell: one line, a code, no traceback."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest

from decoding.cli.main import main
from tests.lattices.formats.bad_files import (
    BAD,
    Bad,
    damaged,
    good,
)

SHELL = [bad for bad in BAD if bad.kind in ("nan", "utf-8", "repeated") and not bad.options]


@pytest.mark.parametrize("bad", SHELL, ids=lambda bad: f"{bad.fmt}-{bad.kind}")
def test_shell_says_it_in_one_line(
    tmp_path: Path, bad: Bad, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad"
    file.write_bytes(damaged(bad, tmp_path))
    code = main(["info", str(file), "--input-format", bad.fmt])
    said = capsys.readouterr().err
    assert code in (1, 2)
    assert sum(f"{file}:" in line for line in said.splitlines()) == 1, said
    assert "Traceback" not in said


RUN = "import sys; from decoding.cli.main import main; sys.exit(main())"


def test_shell_as_a_process_has_no_traceback(tmp_path: Path) -> None:
    files = []
    for name, data in (
        ("cut.jsonl.gz", gzip.compress(good("jsonl", tmp_path))[:-9]),
        ("text.gz", b"neither text nor gzip\n"),
        ("bytes.txt", random.Random(1).randbytes(3000)),
        ("vector.fst", good("openfst", tmp_path)[:-3]),
    ):
        files.append(tmp_path / name)
        files[-1].write_bytes(data)
    command = [sys.executable, "-c", RUN, "info", *map(str, files)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    # the gzip file is cut behind its segments, and those are good
    assert run.returncode == 1, run.stderr
    assert "Traceback" not in run.stderr
    for file in files:
        assert sum(f"{file}: " in line for line in run.stderr.splitlines()) == 1, run.stderr
