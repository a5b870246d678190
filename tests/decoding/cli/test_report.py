"""``fstmetrics report``: what it reads, refuses and writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding import sample_data
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line, words
from tests.decoding.report.pages import unpacked

run = command("report")


def test_from_lattices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = sample_data(), tmp_path / "report.html"
    some = sorted(folder.glob("s03*.slf.gz"))
    assert run(*some, "--refs", folder / "refs.txt", "--by", r"s\d\d", "-o", page) == 0
    assert capsys.readouterr().err == "fstmetrics: pocketsphinx: 8 segments, 0 failed\n"
    data = unpacked(page.read_bytes())
    assert data["report"]["title"] == "pocketsphinx"
    assert [each["group"] for each in data["report"]["systems"][0]["groups"]] == ["s03"]
    assert data["index-0"]["ids"] == [f"s{number:03}" for number in range(32, 40)]
    assert data["report"]["settings"] == {
        "MBR": "auto",
        "scale": "1",
        "groups by": r"s\d\d",
    }


def test_workers_change_nothing(tmp_path: Path) -> None:
    path = cats(tmp_path / "some.jsonl", 20)
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for page, workers in zip(pages, (1, 2), strict=True):
        assert run(path, "--samples", 20, "--workers", workers, "-q", "-o", page) == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_bad_segment_is_told_and_the_others_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = cats(tmp_path / "some.jsonl", 3), tmp_path / "report.html"
    path.write_text(path.read_text() + "what?\n" + lattice_line("s1", CAT, ["the cat"]))
    assert run(path, "--samples", 20, "-o", page) == 1
    said = capsys.readouterr().err
    assert "some.jsonl:4: " in said
    assert "some.jsonl:5: segment 's1'" in said
    system = unpacked(page.read_bytes())["report"]["systems"][0]
    assert (system["segments"], system["failed"]) == (3, 2)
    assert [failure[1].rpartition(":")[2] for failure in system["failures"]] == ["4", "5"]


def test_two_systems(tmp_path: Path) -> None:
    one, page = cats(tmp_path / "one.jsonl", 5), tmp_path / "report.html"
    other = tmp_path / "two.jsonl"
    lines = [lattice_line(f"s{n}", CAT[:2], ["the cat"]) for n in range(1, 6)]
    other.write_text("".join(lines))
    argv = [one, "--against", other, "--samples", 20, "--metric", "wer", "-q", "-o", page]
    assert run(*argv, "--names", "new", "old", "--title", "both") == 0
    report = unpacked(page.read_bytes())["report"]
    assert report["title"] == "both"
    assert [each["name"] for each in report["systems"]] == ["new", "old"]
    comparison = report["comparison"]
    assert (comparison["shared"], comparison["missing"]) == (4, [1, 1])
    assert comparison["answers"][2::3] == [[0, "oracle"], [1, "oracle"]]
    assert comparison["effects"][0]["2-5"]["effect"] == pytest.approx(-0.5)
    assert run(*argv) == 0
    assert unpacked(page.read_bytes())["report"]["title"] == "one and two"


def test_each_against_adds_systems(tmp_path: Path) -> None:
    paths = [cats(tmp_path / f"{name}.jsonl", 3) for name in "abc"]
    said = words(tmp_path / "said.txt", "s0 the cat", "s1 a cat", "s2 cat")
    refs = words(tmp_path / "refs", *(f"s{n} the cat" for n in range(3)))
    page = tmp_path / "report.html"
    argv = [paths[0], "--against", paths[1], said, "--against", paths[2], "--refs", refs]
    assert run(*argv, "--samples", 20, "--metric", "wer", "-q", "-o", page) == 0
    report = unpacked(page.read_bytes())["report"]
    assert [each["name"] for each in report["systems"]] == ["a", "b", "said.txt", "c"]
    assert [list(each["scores"]) for each in report["systems"]][2] == ["one_best"]
    assert report["title"] == "a, b and 2 more"


def test_names_leave_out_what_all_have(tmp_path: Path) -> None:
    for name in ("newstest.online-A.0.de-en", "newstest.KIT.0.de-en"):
        words(tmp_path / name, "the cat", "sat")
    page = tmp_path / "report.html"
    argv = [*sorted(tmp_path.iterdir()), "--refs", words(tmp_path / "refs", "the cat", "sat")]
    assert run(*argv, "--samples", 20, "-q", "-o", page) == 0
    systems = unpacked(page.read_bytes())["report"]["systems"]
    assert [each["name"] for each in systems] == ["KIT", "online-A"]


def test_references_by_line_serve_both_systems(tmp_path: Path) -> None:
    paths = [cats(tmp_path / name, 3, refs=False) for name in ("one.jsonl", "two.jsonl")]
    refs = words(tmp_path / "refs", "the cat", "a cat", "the hat")
    page = tmp_path / "report.html"
    argv = [paths[0], "--against", paths[1], "--refs", refs, "--refs-format", "plain"]
    assert run(*argv, "--samples", 20, "-q", "-o", page) == 0
    words(refs, "the cat", "a cat")
    page.unlink()
    assert run(*argv, "-q", "-o", page) == 2
    assert not page.exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--names", "a", "b"], "2 --names for 1 systems"),
        (["--method", "nothing"], "no method named 'nothing'"),
        (["--densities", "0,1"], "0 is not above 0"),
        (["--against", "-"], "--against is a file"),
        (["--by", "("], "regular"),
        (["--against", "missing.jsonl"], "missing.jsonl"),
        (["--metric", "nothing"], "nothing"),
        (["--audio", "nowhere"], "expected a folder, or a template"),
        (["--audio", "."], "no file is named as a segment is"),
        (["--calibration", "c.json", "--scale", "2"], "it and --scale exclude one another"),
    ],
)
def test_refused_before_anything_is_written(
    argv: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert run(cats(tmp_path / "some.jsonl"), *argv, "-o", page) == 2
    assert said in capsys.readouterr().err
    assert not page.exists()


def test_nothing_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert run(cats(tmp_path / "some.jsonl", refs=False), "-o", page) == 2
    assert "give them by --refs" in capsys.readouterr().err
    assert not page.exists()


def test_an_input_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = cats(tmp_path / "some.jsonl"), cats(tmp_path / "other.jsonl")
    before = other.read_bytes()
    assert run(path, "--against", other, "-o", other) == 2
    assert "write to another one" in capsys.readouterr().err
    assert other.read_bytes() == before


def test_shipped_files_are_found(tmp_path: Path) -> None:
    """Whatever is in the package besides modules must be named by the wheel."""
    import decoding.report
    from decoding.report.page import SCRIPTS

    folder = Path(str(decoding.report.__path__[0]), "assets")
    expected = {"page.html", "page.css", *(f"{name}.js" for name in SCRIPTS)}
    assert {path.name for path in folder.iterdir()} == expected
