"""Where a page finds recordings, and what its policy allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding.report.audio import find_audio
from lattices.errors import OptionError
from tests.decoding.cli.commandline import cats, command
from tests.decoding.report.pages import unpacked


def test_files_of_a_folder_are_found_by_the_names_of_segments(tmp_path: Path) -> None:
    for name in ("wav/s 1.wav", "wav/deep/s2.FLAC", "wav/s3.txt", "wav/other.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = find_audio(str(tmp_path / "wav"), ["s 1", "s2", "s3"], str(tmp_path / "a/page.html"))
    assert found.template == "../wav/{id}"
    assert found.names == {"s 1": "s%201.wav", "s2": "deep/s2.FLAC"}
    assert found.sources == "'self' file:"
    with pytest.raises(OptionError, match=r"no file is named as a segment is, such as x\.wav"):
        find_audio(str(tmp_path / "wav"), ["x"], "page.html")


@pytest.mark.parametrize(
    ("template", "sources"),
    [
        ("https://host.example/a/b/{id}.wav", "https://host.example/a/b/"),
        ("https://host.example:8000/{id}.wav?x=1", "https://host.example:8000/"),
        ("http://host.example/get?id={id}", "http://host.example/"),
        ("wav/{id}.wav", "'self' file:"),
    ],
)
def test_a_template_allows_what_is_below_the_folder_before_the_id(
    template: str, sources: str
) -> None:
    found = find_audio(template, ["s1"], "page.html")
    assert (found.template, found.names, found.sources) == (template, None, sources)


@pytest.mark.parametrize(
    "where",
    ["nowhere", "javascript:{id}", "data:{id}", "https://{id}.example/", "https://h/a b;{id}",
     "https://host.example/a'{id}", "file:///etc/{id}"],
)  # fmt: skip
def test_what_is_no_place_is_refused(where: str) -> None:
    with pytest.raises(OptionError, match="expected a folder"):
        find_audio(where, ["s1"], "page.html")


def test_the_page_says_what_it_may_load(tmp_path: Path) -> None:
    some, page = cats(tmp_path / "some.jsonl", 2), tmp_path / "report.html"
    argv = [some, "--samples", 20, "--metric", "wer", "-q", "-o", page]
    assert command("report")(*argv) == 0
    assert b"media-src" not in page.read_bytes()
    assert command("report")(*argv, "--audio", "https://host.example/wav/{id}.wav") == 0
    text = page.read_text()
    assert "img-src data:; media-src https://host.example/wav/; base-uri 'none'" in text
    audio = unpacked(page.read_bytes())["report"]["audio"]
    assert audio == {"template": "https://host.example/wav/{id}.wav", "names": None}
    page.unlink()
    assert command("report")(*argv, "--audio", tmp_path / "nothing") == 2
    assert not page.exists()
