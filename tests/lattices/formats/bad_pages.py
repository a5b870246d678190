"""Pages of text, and what can be wrong: a part of ``bad_files``."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "alto": '<?xml version="1.0"?>\n<alto xmlns="http://www.loc.gov/standards/alto/ns-v4#"><Layout>\n'
    '<TextLine ID="a">\n<String CONTENT="the" WC="0.75"><ALTERNATIVE>thee</ALTERNATIVE></String>\n'
    '<SP/><String CONTENT="cat" WC="0.5"/></TextLine>\n'
    '<TextLine ID="b"><String CONTENT="yes" WC="0.25"/></TextLine>\n</Layout></alto>\n',
    "page-xml": '<?xml version="1.0"?>\n<PcGts><Page>\n<TextLine id="a">\n'
    '<Word><TextEquiv index="0" conf="0.75"><Unicode>the</Unicode></TextEquiv>\n'
    '<TextEquiv index="1" conf="0.25"><Unicode>thee</Unicode></TextEquiv></Word>\n'
    '<Word><TextEquiv><Unicode>cat</Unicode></TextEquiv></Word></TextLine>\n'
    '<TextLine id="b"><TextEquiv conf="0.5"><Unicode>yes</Unicode></TextEquiv></TextLine>\n'
    "</Page></PcGts>\n",
    "hocr": "<html><head><meta name='ocr-system' content='x'>\n</head><body class='ocr_page'>\n"
    "<span class='ocr_line' id='a'>\n<span class='ocrx_word' title='x_wconf 75'>the</span>\n"
    "<span class='ocrx_word' title='x_wconf 50'>cat</span></span>\n"
    "<span class='ocr_line' id='b'><span class='ocrx_word' title='x_wconf 25'>yes</span></span>\n"
    "</body></html>\n",
}  # fmt: skip
#: no arcs, no tables, no counts; words may come twice
_PAGES = {"cycle", "symbol", "announced"}
SENSELESS: dict[str, set[str]] = {
    "alto": set(_PAGES),
    "page-xml": set(_PAGES),
    "hocr": {*_PAGES, "columns"},
}
#: format, kind, what is replaced, by what, and the message
BAD: list[tuple[str, str, str | bytes, str | bytes, str]] = [
    ("alto", "columns", 'CONTENT="cat" ', "", "5: a String without CONTENT"),
    ("alto", "nan", '"0.5"', '"nan"', "5: 'nan' for WC, expected a number from 0 to 1"),
    ("alto", "infinity", '"0.5"', '"inf"', "5: 'inf' for WC, expected a number from 0 to 1"),
    ("alto", "infinity", '"0.5"', '"50"', "5: '50' for WC, expected a number from 0 to 1"),
    ("alto", "grouped", '"0.5"', '"0.1_0"', "5: '0.1_0' for WC, expected a number from 0 to 1"),
    ("alto", "repeated", 'CONTENT="cat"', 'CONTENT="cat" CONTENT="c"',
     "5: not XML: duplicate attribute"),
    ("alto", "repeated", 'ID="b"', 'ID="a"', "6: segment 'a': the id is that of ...:3 already"),
    ("alto", "utf-8", b"cat", b"\xff", "5: invalid UTF-8: invalid start byte"),
    ("alto", "digits", '"0.5"', f'"{"9" * 5000}"', "5: '99999... for WC, expected a number ..."),
    ("alto", "quotes", '"cat"', '"cat', "5: not XML: not well-formed (invalid token)"),
    ("alto", "quotes", "cat", "&cat;", "5: not XML: undefined entity"),
    ("alto", "quotes", "</TextLine>\n<T", "<T", "5: not XML: no element found"),
    ("page-xml", "columns", "</Word></TextLine>", "</TextLine>", "6: not XML: mismatched tag"),
    ("page-xml", "nan", '"0.25"', '"nan"', "5: 'nan' for conf, expected a number from 0 to 1"),
    ("page-xml", "nan", 'index="1"', 'index="x"', "5: 'x' for index, expected a whole number"),
    ("page-xml", "infinity", '"0.25"', '"inf"', "5: 'inf' for conf, expected a number from 0 to 1"),
    ("page-xml", "grouped", '"0.5"', '"1_0"', "7: '1_0' for conf, expected a number from 0 to 1"),
    ("page-xml", "repeated", 'id="b"', 'id="a"', "7: segment 'a': the id is that of ...:3 already"),
    ("page-xml", "utf-8", b"cat", b"\xff", "6: invalid UTF-8: invalid start byte"),
    ("page-xml", "digits", '"0.5"', f'"{"9" * 5000}"', "7: '99999... for conf, expected ..."),
    ("page-xml", "quotes", '"0.25"', '"0.25', "5: not XML: not well-formed (invalid token)"),
    ("hocr", "nan", "x_wconf 50", "x_wconf nan",
     "5: 'nan' for x_wconf, expected a number from 0 to 100"),
    ("hocr", "infinity", "x_wconf 50", "x_wconf 1e999",
     "5: '1e999' for x_wconf, expected a number from 0 to 100"),
    ("hocr", "grouped", "x_wconf 50", "x_wconf 5_0",
     "5: '5_0' for x_wconf, expected a number from 0 to 100"),
    ("hocr", "repeated", "id='b'", "id='a'", "6: segment 'a': the id is that of ...:3 already"),
    ("hocr", "utf-8", b"cat", b"\xff", "5: invalid UTF-8: invalid start byte"),
    ("hocr", "digits", "x_wconf 50", f"x_wconf {'9' * 5000}", "5: '99999... for x_wconf, ..."),
    ("hocr", "quotes", "yes</span></span>", "yes</span>", "6: <span> is not closed"),
]  # fmt: skip
