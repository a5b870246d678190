"""The page: what it carries, and that nothing in it can be taken for markup."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from fstmetrics import parse_metric
from lattices import Hypothesis, Lattice, NBest
from lattices.errors import OptionError
from tests.decoding.report.pages import METRICS, collected, details, page_of, unpacked

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\u2028\x00'


def hostile() -> list[Lattice]:
    word = HOSTILE.replace(" ", "")
    return [
        Lattice.from_arcs(
            [(0, 1, word, -0.1), (0, 1, "b", -0.9)],
            [1],
            id=f"{HOSTILE}{n}",
            references=[f"b {word}"],
        )
        for n in range(3)
    ]


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_data_are_what_was_collected() -> None:
    system = collected(hostile())
    data = unpacked(page_of(system, title="A & B"))
    assert data["report"]["title"] == "A & B"
    assert data["index-0"]["ids"] == system.ids
    assert [each["label"] for each in data["report"]["metrics"]] == ["WER", "4-GRR"]
    assert len(details(data)) == 3
    edits = details(data)[0]["sentences"][0]["edits"]
    wanted = " ".join(edit[-1] for edit in edits if edit[0] != "i")
    assert wanted == hostile()[0].references[0] == data["index-0"]["texts"][0]


def test_what_comes_from_files_is_no_markup() -> None:
    harmless = [each.replaced(id=str(n), references=["b c"]) for n, each in enumerate(hostile())]
    tags = []
    for spaces in (hostile(), harmless):
        parser = Elements()
        page = page_of(collected(spaces, name=HOSTILE), title=HOSTILE)
        parser.feed(page.decode())
        tags.append([(tag, {*attributes}) for tag, attributes in parser.found])
        assert b"alert(" not in page
    assert tags[0] == tags[1]


def test_policy_allows_the_script_and_the_style_of_the_page_alone() -> None:
    page = page_of(collected(hostile())).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    allowed = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert allowed["default-src"] == "'none'"
    for name, tag in (("script-src", "<script>"), ("style-src", "<style>")):
        text = page.partition(tag)[2].partition(tag.replace("<", "</"))[0]
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert allowed[name] == f"'sha256-{digest}'"


def test_nothing_is_fetched_and_nothing_written_as_markup() -> None:
    page = page_of(collected(hostile())).decode()
    script = page.rpartition("<script>")[2]
    for name in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "fetch(",
    ):
        assert name not in script
    # the namespace of pictures is a name
    addresses = re.findall(r"https?://[^\"'\s<]+", page)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|script|img)[^>]+(src|href)=\"(?!data:)", page)


def test_same_bytes_again() -> None:
    assert page_of(collected(hostile())) == page_of(collected(hostile()))


def test_details_are_in_blocks_in_order() -> None:
    word = "w" * 3000
    some = [
        NBest.from_hypotheses([Hypothesis((f"{word}{n}",))], id=str(n), references=[word])
        for n in range(60)
    ]
    data = unpacked(page_of(collected(some)))
    assert len(data["index-0"]["blocks"]) > 1
    assert sum(data["index-0"]["blocks"]) == 60
    found = [each["list"]["rows"][0][0] for each in details(data)]
    assert found == [f"{word}{n}" for n in range(60)]


def test_two_systems() -> None:
    page = page_of(collected(hostile(), name="a"), collected(hostile()[:2], name="b"))
    data = unpacked(page)
    assert [each["name"] for each in data["report"]["systems"]] == ["a", "b"]
    assert data["report"]["comparison"]["missing"] == [0, 1]
    assert len(details(data, 1)) == 2


def test_what_cannot_be_shown_is_refused() -> None:
    one = collected(hostile())
    with pytest.raises(OptionError, match="no systems"):
        page_of()
    with pytest.raises(OptionError, match="no segments"):
        page_of(type(one)("empty", METRICS))


def test_surrogates_do_not_end_the_page() -> None:
    """They come from file names and from bytes that are no UTF-8."""
    data = unpacked(page_of(collected(hostile(), name="a\udcff")))
    assert data["report"]["title"] == "a?"


def test_metrics_that_cannot_search_have_no_oracle_of_lattices() -> None:
    """Nor of a corpus in which some segments are lattices."""
    metrics = (parse_metric("tbleu"),)
    listed = NBest.from_hypotheses([Hypothesis(("a",))], id="list", references=["a"])
    for spaces in (hostile(), [*hostile(), listed]):
        data = unpacked(page_of(collected(spaces, metrics)))
        assert list(data["report"]["systems"][0]["scores"]) == ["one_best", "mbr"]
        assert data["report"]["aligner"] == "wer"
