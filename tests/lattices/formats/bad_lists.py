"""Files of lists of the decoders of today, and what can be wrong: a part of ``bad_files``."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "asr-json": '{"alternatives": [{"confidence": -0.5, "text": "the cat"},\n'
    ' {"confidence": -0.75, "text": "a"}]}\n{"alternatives": [{"confidence": 1, "text": "yes"}]}\n',
    "csv": "id,text,score\na,the cat,-0.5\na,a,-0.75\nb,yes,-0.25\n",
    "espnet": "a the cat\nb yes\n",
    "fairseq": "S-0\tdie Katze\nH-0\t-0.5\tthe c@@ at\nD-0\t-0.5\tthe cat\nP-0\t-0.5 -0.5\n"
    "H-1\t-0.25\tyes\nD-1\t-0.25\tyes\n",
    "json-rows": '{"id": "a", "pred_text": "the cat", "score": -0.5}\n'
    '{"id": "a", "pred_text": "a", "score": -0.75}\n{"id": "b", "pred_text": "yes", "score": 1}\n',
}
#: no arcs, no tables, no counts; what stands in quotes is JSON or CSV
_LISTS = {"cycle", "symbol", "announced"}
SENSELESS: dict[str, set[str]] = {
    "asr-json": {*_LISTS, "repeated"},
    "csv": {*_LISTS, "digits"},
    "espnet": {*_LISTS, "columns", "nan", "infinity", "grouped", "quotes", "digits"},
    "fairseq": {*_LISTS, "quotes", "digits"},
    "json-rows": set(_LISTS),
}
#: format, kind, what is replaced, by what, and the message
BAD: list[tuple[str, str, str | bytes, str | bytes, str]] = [
    ("asr-json", "columns", '"text": "yes"', '"word": "yes"', "3: no 'text' in the object"),
    ("asr-json", "nan", "-0.5", "NaN", "1: NaN is no JSON number"),
    ("asr-json", "nan", "-0.5", "true", "1: True for 'confidence', expected a finite number"),
    ("asr-json", "infinity", ": 1,", ": 1e999,", "3: Infinity is no JSON number"),
    ("asr-json", "grouped", "-0.75", "1_0", "2: not JSON: Expecting ',' delimiter, column 18"),
    ("asr-json", "utf-8", b"cat", b"\xff", "1: invalid UTF-8: invalid start byte"),
    ("asr-json", "digits", ": 1,", f": {'9' * 5000},", "1: a whole number of thousands of digits"),
    ("asr-json", "quotes", '"yes"', '"yes', "3: not JSON: Invalid control character at, column 52"),
    ("csv", "columns", "b,yes,-0.25", "b,yes", "4: 2 columns, where the header names 3"),
    ("csv", "columns", "text", "said", "1: no column for the words among id, said, score; ..."),
    ("csv", "nan", "-0.75", "nan", "3: 'nan' for 'score', expected a finite number"),
    ("csv", "infinity", "-0.75", "inf", "3: 'inf' for 'score', expected a finite number"),
    ("csv", "grouped", "-0.75", "1_0", "3: '1_0' for 'score', expected a finite number"),
    ("csv", "repeated", "b,yes", "c,yes,1\na,yes", "5: segment 'a': the id is that of ... already"),
    ("csv", "utf-8", b"yes", b"\xff", "4: invalid UTF-8: invalid start byte"),
    ("csv", "quotes", "yes", '"yes', "4: not CSV: unexpected end of data"),
    ("espnet", "repeated", "b yes", "a yes", "2: segment 'a': the id is that of ...:1 already"),
    ("espnet", "utf-8", b"yes", b"\xff", "2: invalid UTF-8: invalid start byte"),
    ("fairseq", "columns", "H-1\t-0.25\tyes", "H-1\t-0.25", "5: H-1 without a score and words"),
    ("fairseq", "columns", "D-0\t-0.5\tthe cat\n", "D-0\t-0.5\tx\n" * 2,
     "1: 1 H lines and 2 D lines"),
    ("fairseq", "nan", "D-1\t-0.25", "D-1\tnan", "6: score 'nan', expected a finite number"),
    ("fairseq", "infinity", "P-0\t-0.5", "P-0\tinf", "4: score 'inf', expected a finite number"),
    ("fairseq", "grouped", "H-0\t-0.5", "H-0\t1_0", "2: score '1_0', expected a finite number"),
    ("fairseq", "repeated", "D-1\t-0.25\tyes\n", "D-1\t-0.25\tyes\nH-0\t-1\tx\n",
     "7: segment '0': the id is that of ... already"),
    ("fairseq", "utf-8", b"at\nD", b"\xff\nD", "2: invalid UTF-8: invalid start byte"),
    ("json-rows", "columns", '"pred_text": "yes"', '"said": "yes"', "3: no column for the ..."),
    ("json-rows", "columns", '"yes"', "3", "3: 3 for the words of a hypothesis, expected a text"),
    ("json-rows", "nan", "-0.75", "NaN", "2: NaN is no JSON number"),
    ("json-rows", "infinity", "-0.75", "1e999", "2: inf for 'score', expected a finite number"),
    ("json-rows", "grouped", "-0.75", "1_0", "2: not JSON: Expecting ',' delimiter, column 41"),
    ("json-rows", "repeated", '"id": "b"', '"id": "b", "id": "b"', "3: 'id' twice in one object"),
    ("json-rows", "utf-8", b"yes", b"\xff", "3: invalid UTF-8: invalid start byte"),
    ("json-rows", "digits", ": 1}", f": {'9' * 5000}}}",
     "3: a whole number of thousands of digits"),
    ("json-rows", "quotes", '"yes"', '"yes', "3: not JSON: ..."),
]  # fmt: skip
