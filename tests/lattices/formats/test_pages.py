"""Pages of text: output of tesseract 5.3 on a picture of ours, and files by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import lattices
from lattices import FormatError, Lattice, NBest
from lattices.formats.pages.lines import spell

GOLDEN = Path(__file__).parents[2] / "golden" / "pages"
PRINTED = [
    "The old mill starids by the:river, : .",
    "and-its wheel has not-turned for years:",
    "Who will mend it now? outs",
]


def found(space: Any) -> dict[str, float]:
    """Return the probabilities of sentences."""
    entries = space.paths() if isinstance(space, Lattice) else space
    return {each.text: round(math.exp(each.score), 6) for each in entries}


def read(tmp_path: Path, text: str, **options: Any) -> Any:
    path = tmp_path / "page.xml"
    path.write_text(text, encoding="utf-8")
    return list(lattices.read(path, **options))


def alto(*lines: str) -> str:
    inner = "".join(f"<a:TextLine>{line}</a:TextLine>" for line in lines)
    return f'<?xml version="1.0"?><a:alto xmlns:a="x"><!-- <TextLine> -->{inner}</a:alto>'


def page(*lines: str) -> str:
    return f"<PcGts>{''.join(f'<TextLine>{line}</TextLine>' for line in lines)}</PcGts>"


def equiv(text: str, **attributes: Any) -> str:
    shown = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<TextEquiv{shown}><Unicode>{text}</Unicode></TextEquiv>"


@pytest.mark.parametrize("name", ["tesseract.xml", "tesseract.hocr.gz"])
def test_what_tesseract_prints(name: str) -> None:
    lines = list(lattices.read(GOLDEN / name))
    assert [lattices.best(line).text for line in lines] == PRINTED
    assert [line.id for line in lines][:1] == ["line_0" if "xml" in name else "line_1_1"]


def test_confidences_of_tesseract() -> None:
    line = next(iter(lattices.read(GOLDEN / "tesseract.xml")))
    assert isinstance(line, Lattice)
    confidences = [0.96, 0.96, 0.60, 0.60, 0.93, 0.01, 0.18, 0.30]
    assert line.score.tolist() == pytest.approx([math.log(each) for each in confidences])


def test_choices_of_tesseract() -> None:
    """Spellings have the colon that it printed, and the blank that was there."""
    line = next(iter(lattices.read(GOLDEN / "tesseract.hocr.gz")))
    assert isinstance(line, Lattice)
    assert {"the:river,", "the", "river,"} <= set(line.vocabulary)
    few = next(iter(lattices.read(GOLDEN / "tesseract.hocr.gz", spellings=1)))
    assert isinstance(few, Lattice)
    assert [path.text for path in few.paths()] == [PRINTED[0]]


def test_alternatives_of_alto(tmp_path: Path) -> None:
    [line] = read(
        tmp_path,
        alto(
            '<a:String CONTENT="the" WC="0.75"><a:ALTERNATIVE>thee</a:ALTERNATIVE></a:String>'
            '<a:SP/><a:String CONTENT="c&amp;t"><a:ALTERNATIVE> a  cat </a:ALTERNATIVE></a:String>'
            '<a:HYP CONTENT="-"/>'
        ),
    )
    assert found(line) == {
        "the c&t-": 0.375, "the a cat -": 0.375, "thee c&t-": 0.125, "thee a cat -": 0.125
    }  # fmt: skip


def test_characters_of_alto(tmp_path: Path) -> None:
    glyphs = (
        '<a:Glyph CONTENT="o" GC="0.75"><a:Variant CONTENT="a" VC="0.25"/></a:Glyph>'
        '<a:Glyph CONTENT="t" GC="0.5"/>'
    )
    [line] = read(tmp_path, alto(f'<a:String CONTENT="ot" WC="0.5">{glyphs}</a:String>'))
    assert found(line) == {"ot": 0.75, "at": 0.25}


def test_lines_of_page(tmp_path: Path) -> None:
    many, words, one = read(
        tmp_path,
        page(
            equiv("the hat", index=1, conf=0.25) + equiv("the\ncat", index=0, conf=0.5),
            f"<Word>{equiv('the')}</Word><Word>{equiv('cat', conf=0.75)}{equiv('hat')}</Word>"
            + equiv("the cat"),
            equiv("yes"),
        ),
    )
    assert isinstance(many, NBest)
    assert found(many) == {"the cat": 0.5, "the hat": 0.25}
    assert found(words) == {"the cat": 0.75, "the hat": 0.25}
    assert found(one) == {"yes": 1.0}
    [line] = read(tmp_path, page(f"<Word><Glyph>{equiv('a', conf=0.5)}{equiv('o')}</Glyph></Word>"))
    assert found(line) == {"a": 0.5, "o": 0.5}


def test_words_without_text(tmp_path: Path) -> None:
    [line] = read(tmp_path, page(f"<Word/><Word>{equiv('a')}</Word><Word></Word>") + "<!-- x -->")
    assert found(line) == {"a": 1.0}


def test_one_bad_line_is_one_error(tmp_path: Path) -> None:
    errors: list[FormatError] = []
    lines = [f'<a:String CONTENT="{word}"/>' for word in ("a", "b&b", "c")]
    spaces = read(tmp_path, alto(*lines), on_error=errors.append)
    assert [lattices.best(each).text for each in spaces] == ["a", "c"]
    assert [str(each).partition("page.xml")[2] for each in errors] == [
        ":1: not XML: not well-formed (invalid token)"
    ]


def test_entities_are_never_expanded(tmp_path: Path) -> None:
    """A file of a few lines whose text would have gigabytes."""
    bomb = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    text = f'<!DOCTYPE alto [<!ENTITY e0 "lol">{bomb}]>' + alto('<a:String CONTENT="&e9;"/>')
    with pytest.raises(FormatError, match="not XML: undefined entity"):
        read(tmp_path, text.replace('<?xml version="1.0"?>', ""))


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8-sig"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "page.xml"
    declared = encoding.removesuffix("-sig")
    text = alto('<a:String CONTENT="naïve"/>').replace("?>", f' encoding="{declared}"?>')
    path.write_bytes(text.encode(encoding))
    [line] = lattices.read(path, "alto")
    assert lattices.best(line).text == "naïve"
    path.write_text(text.replace(declared, "klingon"))
    with pytest.raises(FormatError, match="no text in 'klingon'"):
        list(lattices.read(path, "alto"))


def test_html_that_is_no_xml(tmp_path: Path) -> None:
    """Other tools leave elements open, and have words in emphasis."""
    path = tmp_path / "page.html"
    path.write_text(
        "<html><meta charset=utf-8><div class='ocr_page'><p class='ocr_par'>"
        "<span title='bbox 1 2 3 4' class='ocr_line x'><span class=ocrx_word>caf&eacute;<br></span>"
        "<b><span class='ocrx_word' title='x_wconf 50'><em>b</em>ar</span></b></span>"
        "<span class='ocrx_line'></span></HTML>"
    )
    first, second = lattices.read(path)
    assert found(first) == {"café bar": 0.5}
    assert found(second) == {"": 1.0}


@pytest.mark.parametrize("inside", ["<![CDAT[x]]>", "<title><b class='ocr_line'></title>", "<b"])
def test_html_that_is_none(inside: str, tmp_path: Path) -> None:
    """A declaration that is cut, and what looks like a tag only where the file is cut."""
    path = tmp_path / "page.hocr"
    path.write_text(f"<html><p class='ocr_line'>{inside}</p><b\0 class='ocr_line'>x</b></html>")
    errors: list[FormatError] = []
    list(lattices.read(path, on_error=errors.append))
    assert {type(each) for each in errors} <= {FormatError}


def test_spellings() -> None:
    """The likeliest alternatives are kept, and their shares add up to 1."""
    slots = [[("a", 0.6), ("o", 0.2)], [("t", 0.5), ("l", 0.4), ("f", 0.1)]]
    assert dict(spell(slots, 1)) == {"at": 1.0}
    assert dict(spell(slots, 2)) == pytest.approx({"at": 5 / 9, "al": 4 / 9})
    every = dict(spell(slots, 100))
    assert every["at"] == pytest.approx(0.75 * 0.5)
    assert len(every) == 6
    assert sum(every.values()) == pytest.approx(1.0)
