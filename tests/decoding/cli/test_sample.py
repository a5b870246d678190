"""``fstmetrics sample``."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from lattices import posteriors, read
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line

run = command()


def test_samples_do_not_depend_on_workers_or_company(tmp_path: Path) -> None:
    source, few = cats(tmp_path / "a.jsonl", 100), tmp_path / "few.jsonl"
    few.write_text("".join(source.read_text().splitlines(keepends=True)[60:10:-7]))
    one, two, other, part = (tmp_path / f"{name}.jsonl" for name in ("1", "2", "other", "part"))
    assert run("sample", source, "-n", 20, "--seed", 3, "-o", one) == 0
    assert run("sample", source, "-n", 20, "--seed", 3, "-o", two, "--workers", 3) == 0
    assert one.read_bytes() == two.read_bytes()
    assert run("sample", source, "-n", 20, "--seed", 4, "-o", other) == 0
    assert one.read_bytes() != other.read_bytes()
    assert run("sample", few, "-n", 20, "--seed", 3, "-o", part) == 0
    assert set(part.read_text().splitlines()) < set(one.read_text().splitlines())
    assert len({line.partition("nbest")[2] for line in one.read_text().splitlines()}) == 100


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_words_come_as_often_as_their_posteriors_say(scale: float, tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.jsonl"
    source.write_text(lattice_line("s", CAT))
    assert run("sample", source, "-n", 20_000, "--scale", scale, "-o", out) == 0
    (lattice,), (found,) = read(source), read(out)
    counted = Counter(word for each in found for word in each.tokens)
    expected = posteriors(lattice, scale).arcs.tolist()
    for label, posterior in zip(lattice.label.tolist(), expected, strict=True):
        share = counted[lattice.vocabulary.word(label)] / 20_000
        assert abs(share - posterior) < 4 * math.sqrt(posterior / 20_000)


def test_scores_are_those_of_the_paths(tmp_path: Path) -> None:
    source, out = cats(tmp_path / "a.jsonl", 1), tmp_path / "o.jsonl"
    assert run("sample", source, "-n", 50, "-o", out) == 0
    (lattice,), (found,) = read(source), read(out)
    scores = {path.text: path.score for path in lattice.paths()}
    assert [each.score for each in found] == [scores[each.text] for each in found]
    assert found.references == ("the cat",)


@pytest.mark.parametrize(
    "argv", [["-n", "0"], ["--seed", "-1"], ["--seed", "x"], ["--scale", "nan"]]
)
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sample", "x", *argv) == 2
    assert "error: " in capsys.readouterr().err.splitlines()[-1]


def test_real_lattices(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl"
    out = tmp_path / "o.tsv"
    assert run("sample", source, "-n", 30, "--scale", 10, "-o", out, "--lossy") == 0
    for lattice, found in zip(read(source), read(out), strict=True):
        best = max(path.score for path in lattice.paths())
        assert len(found) == 30
        assert found.score.max() <= best + 1e-9
        texts = {path.text for path in lattice.paths()}
        assert {each.text for each in found} <= texts
