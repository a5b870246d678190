"""Files of every format, and what can be wrong with them: the table of ``test_bad_files``."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lattices import to_arrow
from lattices.formats import FORMATS
from lattices.formats.base import Unsupported
from lattices.spaces import Lattice, Space
from tests.lattices.formats import bad_forests, bad_lists, bad_pages

SYMBOLS = "<eps> 0\nthe 1\ncat 2\n"
#: stands for a file with SYMBOLS in it
TABLE = "TABLE"
LONG = "x" * 100_000
DIGITS = "9" * 5_000

#: two segments where a file can have them; the word `cat` is there once
TEXTS: dict[str, str] = {
    "htk": "VERSION=1.0\nUTTERANCE=a\nN=3 L=2 start=0 end=2\nI=0 t=0.0\nI=1 t=0.5\nI=2 t=1.0\n"
    "J=0 S=0 E=1 W=the a=-0.5 l=-1.0\nJ=1 S=1 E=2 W=cat a=-1.5 l=-2.0\n",
    "jsonl": '{"id": "a", "states": 3, "finals": {"2": 0.0}, "arcs": [[0, 1, "the", -0.5], '
    '[1, 2, "cat", -1.5]]}\n'
    '{"id": "b", "states": 2, "finals": {"1": 0.0}, "arcs": [[0, 1, "yes", -0.25]]}\n',
    "k2": "0 1 the -0.5\n1 2 cat -1.5\n2 3 -1 0.0\n3\n",
    "kaldi": "a \n0 1 the 0.5,1.0,\n1 2 cat 1.5,2.0,3_4\n2\n\n"
    "b \n0 1 yes 0.5,0.25,\n1 0.5,0.0,\n\n",
    "mesh": "name a\nnumaligns 2\nposterior 1\nalign 0 the 0.75 *DELETE* 0.25\nalign 1 cat 1\n\n"
    "name b\nnumaligns 1\nposterior 1\nalign 0 yes 0.75 no 0.25\n",
    "moses-graph": "0 hyp=0 stack=0\n"
    "0 hyp=1 stack=1 back=0 score=-1 transition=-0.5 forward=2 fscore=-2 covered=0-0 out=the\n"
    "0 hyp=2 stack=2 back=1 score=-2 transition=-1.5 forward=-1 fscore=0 covered=1-1 out=cat\n"
    "1 hyp=0 stack=0\n"
    "1 hyp=1 stack=1 back=0 score=-1 transition=-0.5 forward=-1 fscore=-1 covered=0-0 out=yes\n",
    "moses-nbest": "0 ||| the cat ||| lm= -1 tm= 0.5 ||| -0.5\n0 ||| a ||| lm= -2 tm= 1 ||| -0.75\n"
    "1 ||| yes ||| lm= -1 tm= 1 ||| -0.25\n",
    "nbest-tsv": "a\t1\t-0.5\tthe cat\na\t2\t-0.75\ta\nb\t1\t-0.25\tyes\n",
    "openfst-text": "0 1 the 0.5\n1 2 cat 1.5\n2 0.25\n",
    "plf": "((('the',-0.5,1),),(('cat',-1.5,1),),)\n((('yes',-0.25,1),),)\n",
    "sausages": "a [ the 0.75 <eps> 0.25 ] [ cat 1 ]\nb [ yes 0.75 no 0.25 ]\n",
    "sphinx": "# -logbase 1.0001\nFrames 30\nNodes 4\n0 <s> 0 0 1\n1 the 2 5 6\n2 cat 7 8 9\n"
    "3 </s> 20 29 29\nInitial 0\nFinal 3\nEdges\n0 1 -1000\n1 2 -20\n2 3 -5\nEnd\n",
    "srilm-nbest": "NBestList1.0\n(-1000) the cat\n(-1200) a mat\n",
    **bad_forests.TEXTS,
    **bad_lists.TEXTS,
    **bad_pages.TEXTS,
}  # fmt: skip


def good_spaces(fmt_name: str, word: str = "cat") -> list[Space]:
    lattices: list[Space] = [
        Lattice.from_arcs([(0, 1, "the", -0.5), (1, 2, word, -1.5)], {2: -0.25}, id="a"),
        Lattice.from_arcs([(0, 1, "yes", -0.25)], [1], id="b"),
    ]
    return lattices[:1] if FORMATS.get(fmt_name).single else lattices


def written_file(fmt_name: str, spaces: list[Space], **options: Any) -> bytes:
    buffer = io.BytesIO()
    FORMATS.get(fmt_name).write(buffer, spaces, Unsupported(fmt_name), **options)
    return buffer.getvalue()


BINARY = ("arrow", "kaldi-binary", "openfst", "parquet")


def good(fmt_name: str, folder: Path) -> bytes:
    """Return a good file."""
    if fmt_name == "kaldi-scp":
        return written_file("kaldi-scp", good_spaces("kaldi-scp"), ark=folder / "lat.ark")
    return (
        TEXTS[fmt_name].encode()
        if fmt_name in TEXTS
        else written_file(fmt_name, good_spaces(fmt_name))
    )


class Bad(NamedTuple):
    """Something wrong: what is replaced by what, and what the error has to say.

    ``message`` is the whole of it from the line on; in it, ``...`` is anything.
    """

    fmt: str
    kind: str
    old: str | bytes
    new: str | bytes
    message: str
    options: Mapping[str, Any] = MappingProxyType({})


KINDS = (
    "columns", "nan", "infinity", "grouped", "cycle", "repeated", "utf-8", "digits", "quotes",
    "symbol", "announced",
)  # fmt: skip
#: kinds that a format cannot have: nothing is quoted in it, no table is looked up, no count
#: stands in it, its arcs only go forward, its numbers are not in digits, or the same may come
#: twice; ranks of `nbest-tsv` are looked at, but not used, and what is behind the places of
#: `kaldi-scp` is tried with the archives
SENSELESS: dict[str, set[str]] = {
    "arrow": {"grouped", "quotes", "digits", "symbol"},
    "htk": {"symbol"},
    "jsonl": {"symbol"},
    "k2": {"quotes", "announced", "repeated"},
    "kaldi": {"quotes", "announced"},
    "kaldi-binary": {"columns", "grouped", "quotes", "digits"},
    "kaldi-scp": {"nan", "infinity", "grouped", "cycle", "quotes", "announced", "symbol"},
    "mesh": {"cycle", "quotes", "symbol"},
    "moses-graph": {"symbol", "announced"},
    "moses-nbest": {"cycle", "quotes", "symbol", "announced", "digits"},
    "nbest-tsv": {"cycle", "quotes", "symbol", "announced", "digits"},
    "openfst": {"columns", "grouped", "quotes", "digits", "repeated"},
    "openfst-text": {"quotes", "announced", "repeated"},
    "parquet": {"grouped", "quotes", "digits", "symbol"},
    "plf": {"cycle", "symbol", "announced"},
    "sausages": {"cycle", "quotes"},
    "sphinx": {"quotes", "symbol"},
    "srilm-nbest": {"cycle", "quotes", "symbol", "announced", "repeated", "digits"},
    **bad_forests.SENSELESS,
    **bad_lists.SENSELESS,
    **bad_pages.SENSELESS,
}
BAD = [
    Bad("htk", "columns", "W=cat", "cat", "8: expected key=value, not cat"),
    Bad("htk", "nan", "a=-1.5", "a=nan", "8: a=nan, expected a finite number"),
    Bad("htk", "infinity", "a=-1.5", "a=-inf", "8: a=-inf, expected a finite number"),
    Bad("htk", "cycle", "S=1 E=2", "S=1 E=1", "1: the lattice has a cycle through state 1; ..."),
    Bad("htk", "repeated", "I=1 t=0.5", "I=0 t=0.5", "5: a second node 0"),
    Bad("htk", "repeated", "W=cat", "W=cat S=1", "8: S= twice on one line"),
    Bad("htk", "utf-8", b"cat", b"\xff", "8: invalid UTF-8: invalid start byte"),
    Bad("htk", "digits", "S=1", f"S={DIGITS}", "8: ... for S=, expected the number of a node"),
    Bad("htk", "quotes", "W=cat", 'W="cat', "8: a quoted string does not end"),
    Bad(
        "htk",
        "announced",
        "N=3",
        "N=2147483647",
        "1: NODES=2.14748e+09 announced, 3 found: cut short or damaged",
    ),
    Bad("htk", "grouped", "a=-1.5", "a=1_0", "8: a=1_0, expected a finite number"),
    Bad("htk", "grouped", "S=1", "S=1_0", "8: 1_0 for S=, expected the number of a node"),
    Bad(
        "jsonl",
        "columns",
        '[0, 1, "the", -0.5]',
        "[0, 1]",
        "1: an arc has 2 entries, expected 3, 4 or 5",
    ),
    Bad("jsonl", "nan", "-0.5", "NaN", "1: NaN is no JSON number"),
    Bad("jsonl", "nan", "-0.5", "true", "1: True among the scores of arcs, expected a number"),
    Bad("jsonl", "nan", "-0.5", "[]", "1: [] among the scores of arcs, expected a number"),
    Bad("jsonl", "nan", "-0.25", "[]", "2: [] among the scores of arcs, expected a number"),
    Bad("jsonl", "nan", "-0.5", "null", "1: None among the scores of arcs, expected a number"),
    Bad(
        "jsonl",
        "nan",
        '{"2": 0.0}',
        '{"2": false}',
        "1: False among the scores of final states, expected a number",
    ),
    Bad(
        "jsonl",
        "nan",
        "-0.5]",
        '-0.5, {"lm": true}]',
        "1: True among the features, expected a number",
    ),
    Bad(
        "jsonl",
        "digits",
        "-0.5",
        "-" + "9" * 300,
        "1: a whole number of 300 digits among the scores of arcs, expected 18 at most",
    ),
    Bad(
        "jsonl",
        "digits",
        "-0.5]",
        f'-0.5, {{"lm": {"9" * 300}}}]',
        "1: a whole number of 300 digits among the features, expected 18 at most",
    ),
    Bad(
        "jsonl",
        "digits",
        '"states": 3',
        f'"states": {"9" * 300}',
        "1: 999...999 states for 2 arcs",
    ),
    Bad("jsonl", "infinity", "-0.5", "-Infinity", "1: -Infinity is no JSON number"),
    Bad("jsonl", "infinity", "-0.25", "1e999", "2: arc 0 has score inf, expected a finite number"),
    Bad(
        "jsonl",
        "cycle",
        '[1, 2, "cat"',
        '[1, 0, "cat"',
        "1: the lattice has a cycle through state 0; ...",
    ),
    Bad(
        "jsonl",
        "repeated",
        '"states": 3',
        '"states": 3, "states": 3',
        "1: 'states' twice in one object",
    ),
    Bad(
        "jsonl",
        "repeated",
        '"id": "b"',
        '"id": "a"',
        "2: segment 'a': the id is that of {folder}/bad:1 already",
    ),
    Bad("jsonl", "utf-8", b"yes", b"y\xff", "2: invalid UTF-8: invalid start byte"),
    Bad(
        "jsonl",
        "digits",
        '[0, 1, "yes',
        f'[{DIGITS}, 1, "yes',
        "2: a whole number of thousands of digits",
    ),
    Bad(
        "jsonl",
        "quotes",
        '"yes"',
        '"yes',
        "2: not JSON: Unterminated string starting at, column 64",
    ),
    Bad(
        "jsonl",
        "announced",
        '"states": 2',
        '"states": 2147483647',
        "2: 2147483647 states for 1 arcs",
    ),
    Bad("jsonl", "grouped", "-1.5", "1_0", "1: not JSON: Expecting ',' delimiter, column 93"),
    Bad(
        "k2",
        "columns",
        "1 2 cat -1.5",
        "1 2 cat",
        "2: 3 columns, expected 4 or more: src dst label score",
    ),
    Bad("k2", "nan", "-1.5", "nan", "2: score 'nan', expected a number"),
    Bad("k2", "infinity", "-1.5", "inf", "2: score 'inf', expected a number"),
    Bad(
        "k2",
        "cycle",
        "1 2 cat -1.5",
        "1 1 cat -1.5\n1 2 dog 0",
        "1: the lattice has a cycle through state 1; ...",
    ),
    Bad("k2", "utf-8", b"cat", b"\xff", "2: invalid UTF-8: invalid start byte"),
    Bad("k2", "digits", "1 2 cat", f"{DIGITS} 2 cat", "2: state '..., expected a number from 0"),
    Bad(
        "k2",
        "symbol",
        "0 1 the -0.5\n1 2 cat",
        "0 1 1 -0.5\n1 2 7",
        "2: the label 7 is not in the symbol table",
        {"symbols": TABLE},
    ),
    Bad("k2", "grouped", "-1.5", "1_0", "2: score '1_0', expected a number"),
    Bad(
        "kaldi",
        "columns",
        "1 2 cat 1.5,2.0,3_4",
        "1 2 cat 1.5,2.0,3_4 5 6",
        "3: 6 columns, expected 1 to 5",
    ),
    Bad(
        "kaldi",
        "nan",
        "1.5,2.0",
        "nan,2.0",
        "3: weight 'nan,2.0,3_4', expected graph,acoustic,ids with finite costs",
    ),
    Bad(
        "kaldi",
        "infinity",
        "1.5,2.0",
        "inf,2.0",
        "3: weight 'inf,2.0,3_4', expected graph,acoustic,ids with finite costs",
    ),
    Bad(
        "kaldi",
        "cycle",
        "1 2 cat 1.5,2.0,3_4\n",
        "1 0 cat 1.5,2.0,3_4\n1 2 a 0,0,\n",
        "1: the lattice has a cycle through state 0; ...",
    ),
    Bad(
        "kaldi",
        "repeated",
        "b \n",
        "a \n",
        "6: segment 'a': the id is that of {folder}/bad:1 already",
    ),
    Bad("kaldi", "utf-8", b"cat", b"\xff", "3: invalid UTF-8: invalid start byte"),
    Bad(
        "kaldi", "digits", "1 2 cat", f"{DIGITS} 2 cat", "3: state '...', expected a number from 0"
    ),
    Bad(
        "kaldi",
        "symbol",
        "0 1 yes",
        "0 1 7",
        "7: the label 7 is not in the symbol table",
        {"symbols": TABLE},
    ),
    Bad(
        "kaldi",
        "grouped",
        "1.5,2.0",
        " 1_0,2.0",
        "3: weight '1_0,2.0,3_4', expected graph,acoustic,ids with finite costs",
    ),
    Bad("kaldi-scp", "columns", "b ", "b\n", "2: 1 column, expected a key and a file"),
    Bad(
        "kaldi-scp",
        "repeated",
        "b ",
        "a ",
        "2: segment 'a': the id is that of {folder}/bad:1 already",
    ),
    Bad("kaldi-scp", "utf-8", b"b ", b"\xff ", "2: invalid UTF-8: invalid start byte"),
    Bad(
        "kaldi-scp",
        "digits",
        "ark:",
        f"ark:{DIGITS}",
        "1: {folder}/lat.ark:...2: File name too long",
    ),
    Bad("mesh", "columns", "align 1 cat 1", "align 1 cat", "5: a word without a probability"),
    Bad(
        "mesh", "nan", "align 1 cat 1", "align 1 cat nan", "5: probability 'nan', expected a number"
    ),
    Bad(
        "mesh",
        "infinity",
        "align 1 cat 1",
        "align 1 cat inf",
        "5: probability inf, expected a number from 0",
    ),
    Bad("mesh", "repeated", "align 1 cat", "align 0 cat", "5: a second slot 0"),
    Bad(
        "mesh",
        "repeated",
        "name b",
        "name a",
        "7: segment 'a': the id is that of {folder}/bad:1 already",
    ),
    Bad("mesh", "utf-8", b"cat", b"\xff", "5: invalid UTF-8: invalid start byte"),
    Bad(
        "mesh",
        "digits",
        "align 1 cat",
        f"align {DIGITS} cat",
        "5: '..., expected a whole number of 9 digits at most",
    ),
    Bad(
        "mesh",
        "announced",
        "numaligns 2",
        "numaligns 999999999",
        "2: 2 slots of 999999999 announced, slot 2 is missing",
    ),
    Bad("mesh", "grouped", "cat 1", "cat 1_0", "5: probability '1_0', expected a number"),
    Bad(
        "moses-graph",
        "columns",
        " covered=1-1",
        "",
        "3: '0 hyp=2 stack=2 back=1 score=-2 transition=-1.5 ...",
    ),
    Bad(
        "moses-graph",
        "nan",
        "transition=-1.5",
        "transition=nan",
        "3: transition=nan, expected a finite number",
    ),
    Bad(
        "moses-graph",
        "infinity",
        "transition=-1.5",
        "transition=-inf",
        "3: transition=-inf, expected a finite number",
    ),
    Bad(
        "moses-graph",
        "cycle",
        "hyp=1 stack=1 back=0 score=-1 transition=-0.5 forward=2",
        "hyp=1 stack=1 back=2 score=-1 transition=-0.5 forward=2",
        "1: the lattice has a cycle through state 1; ...",
    ),
    Bad("moses-graph", "repeated", "0 hyp=2", "0 hyp=1", "3: a second hypothesis 1"),
    Bad("moses-graph", "utf-8", b"cat", b"\xff", "3: invalid UTF-8: invalid start byte"),
    Bad(
        "moses-graph",
        "digits",
        "back=1",
        f"back={DIGITS}",
        "3: back=..., but there is no such hypothesis",
    ),
    Bad(
        "moses-graph",
        "quotes",
        "covered=1-1 out=cat",
        'covered=1-1 scores="core=(1) out="a|b"',
        "3: '0 hyp=2 stack=2 back=1 score=-2 transition=-1.5 ...",
    ),
    Bad(
        "moses-graph",
        "grouped",
        "transition=-1.5",
        "transition=1_0",
        "3: transition=1_0, expected a finite number",
    ),
    Bad(
        "moses-nbest",
        "columns",
        "0 ||| a ||| lm= -2 tm= 1 ||| -0.75",
        "0 ||| a",
        "2: 2 fields between |||, expected 4",
    ),
    Bad("moses-nbest", "nan", "-0.75", "nan", "2: 'nan', expected a finite number"),
    Bad("moses-nbest", "infinity", "-0.75", "-inf", "2: '-inf', expected a finite number"),
    Bad(
        "moses-nbest",
        "repeated",
        "1 ||| yes",
        "1 ||| yes ||| lm= 1 tm= 1 ||| 0\n0 ||| b",
        "4: segment '0': the id is that of {folder}/bad:1 already",
    ),
    Bad("moses-nbest", "utf-8", b"yes", b"\xff", "3: invalid UTF-8: invalid start byte"),
    Bad("moses-nbest", "grouped", "-0.75", "1_0", "2: '1_0', expected a finite number"),
    Bad("moses-nbest", "grouped", "lm= -2", "lm= ٣", "2: '٣', expected a finite number"),
    Bad(
        "nbest-tsv",
        "columns",
        "a\t2\t-0.75\ta",
        "a\t2",
        "2: 2 columns, expected id, rank, score, words",
    ),
    Bad("nbest-tsv", "nan", "-0.75", "nan", "2: score 'nan', expected a finite number"),
    Bad("nbest-tsv", "infinity", "-0.75", "inf", "2: score 'inf', expected a finite number"),
    Bad(
        "nbest-tsv",
        "repeated",
        "b\t1\t-0.25\tyes",
        "b\t1\t-0.25\tyes\na\t1\t0\tx",
        "4: segment 'a': the id is that of {folder}/bad:1 already",
    ),
    Bad("nbest-tsv", "utf-8", b"yes", b"\xff", "3: invalid UTF-8: invalid start byte"),
    Bad("nbest-tsv", "grouped", "-0.75", "1_0", "2: score '1_0', expected a finite number"),
    Bad(
        "openfst-text",
        "columns",
        "1 2 cat 1.5",
        "1 2 cat cat 1.5 x",
        "2: 6 columns, expected 1 to 5",
    ),
    Bad("openfst-text", "nan", "1.5", "nan", "2: cost 'nan', expected a number or Infinity"),
    Bad(
        "openfst-text",
        "infinity",
        "1.5",
        "-Infinity",
        "2: cost '-Infinity', expected a number or Infinity",
    ),
    Bad(
        "openfst-text",
        "cycle",
        "1 2 cat",
        "1 0 a 1\n1 2 cat",
        "1: the lattice has a cycle through state 0; ...",
    ),
    Bad("openfst-text", "utf-8", b"cat", b"\xff", "2: invalid UTF-8: invalid start byte"),
    Bad(
        "openfst-text",
        "digits",
        "1 2 cat",
        f"1 {DIGITS} cat",
        "2: state '...', expected a number from 0",
    ),
    Bad(
        "openfst-text",
        "symbol",
        "cat",
        "mat",
        "2: the label 'mat' is not in the symbol table",
        {"symbols": TABLE},
    ),
    Bad(
        "openfst-text", "grouped", "2 0.25", "2 1_0", "3: cost '1_0', expected a number or Infinity"
    ),
    Bad(
        "plf",
        "columns",
        "('cat',-1.5,1)",
        "('cat')",
        "1: an arc that does not begin with a word and end with a jump (column 21)",
    ),
    Bad("plf", "nan", "-1.5", "nan", "1: 'nan,1),),)' is no part of a lattice (column 28)"),
    Bad("plf", "infinity", "-0.25", "1e999", "2: 1e999, expected a finite number (column 3)"),
    Bad(
        "plf",
        "repeated",
        "('cat',-1.5,1)",
        "('cat',{'x':1,'x':1},1)",
        "1: feature 'x' twice on one arc (column 39)",
    ),
    Bad("plf", "utf-8", b"yes", b"\xff", "2: invalid UTF-8: invalid start byte"),
    Bad(
        "plf",
        "digits",
        "-1.5,1",
        f"-1.5,{DIGITS}",
        "1: jump ..., expected a whole number from 1 (column 21)",
    ),
    Bad(
        "plf",
        "quotes",
        "'yes'",
        "'yes",
        '2: "\'yes,-0.25,1),),)" is no part of a lattice (column 4)',
    ),
    Bad("plf", "grouped", "-1.5", "1_0", "1: '1_0,1),),)' is no part of a lattice (column 28)"),
    Bad(
        "sausages",
        "columns",
        "no 0.25",
        "no",
        "2: slot 0 is no list of pairs of a label and a probability",
    ),
    Bad(
        "sausages", "nan", "no 0.25", "no nan", "2: probability 'nan' in slot 0, expected a number"
    ),
    Bad(
        "sausages",
        "infinity",
        "no 0.25",
        "no inf",
        "2: slot 0 of 'b': probability inf, expected a number from 0",
    ),
    Bad(
        "sausages",
        "repeated",
        "b [",
        "a [",
        "2: segment 'a': the id is that of {folder}/bad:1 already",
    ),
    Bad("sausages", "utf-8", b"yes", b"\xff", "2: invalid UTF-8: invalid start byte"),
    Bad(
        "sausages",
        "digits",
        "yes 0.75 no 0.25",
        f"{DIGITS} 0.75 0 0.25",
        "2: the label ... of 'b' is not in the symbol table",
        {"symbols": TABLE},
    ),
    Bad(
        "sausages",
        "symbol",
        "yes 0.75 no 0.25",
        "1 0.75 7 0.25",
        "2: the label 7 of 'b' is not in the symbol table",
        {"symbols": TABLE},
    ),
    Bad(
        "sausages",
        "announced",
        "a [ the 0.75 <eps> 0.25 ] [ cat 1 ]\n",
        "a \x00B\x04ÿÿÿ\x7f\x04\x01\x00\x00\x00",
        "no count after byte 24 of a network, or a negative one",
    ),
    Bad(
        "sausages",
        "grouped",
        "no 0.25",
        "no 1_0",
        "2: probability '1_0' in slot 0, expected a number",
    ),
    Bad("sphinx", "columns", "1 2 -20", "1 2", "12: 2 columns, expected 3: from to score"),
    Bad("sphinx", "nan", "1 2 -20", "1 2 nan", "12: 'nan', expected a finite number"),
    Bad("sphinx", "infinity", "1 2 -20", "1 2 -inf", "12: '-inf', expected a finite number"),
    Bad(
        "sphinx",
        "cycle",
        "1 2 -20",
        "1 2 -20\n2 1 -20",
        "1: the lattice has a cycle through state 1; ...",
    ),
    Bad("sphinx", "repeated", "2 cat", "1 cat", "6: a second node 1"),
    Bad("sphinx", "utf-8", b"cat", b"\xff", "6: invalid UTF-8: invalid start byte"),
    Bad("sphinx", "digits", "2 cat 7", f"2 cat {DIGITS}", "6: '...', expected a whole number"),
    Bad("sphinx", "announced", "Nodes 4", "Nodes 999999999", "3: 4 nodes, 999999999 announced"),
    Bad("sphinx", "grouped", "1 2 -20", "1 2 ٣", "12: '٣', expected a finite number"),
    Bad("srilm-nbest", "columns", "(-1200) a mat", "-1200 a mat", "3: '-1200', expected (score)"),
    Bad("srilm-nbest", "nan", "-1200", "nan", "3: 'nan', expected a finite number"),
    Bad("srilm-nbest", "infinity", "-1200", "-inf", "3: '-inf', expected a finite number"),
    Bad("srilm-nbest", "utf-8", b"mat", b"\xff", "3: invalid UTF-8: invalid start byte"),
    Bad("srilm-nbest", "grouped", "-1200", "1_0", "3: '1_0', expected a finite number"),
    *(Bad(*row) for row in (*bad_forests.BAD, *bad_lists.BAD, *bad_pages.BAD)),
]


def damaged(bad: Bad, folder: Path) -> bytes:
    """Return the good file with one thing replaced."""
    data = good(bad.fmt, folder)
    old, new = (
        text if isinstance(text, bytes) else text.encode("latin-1" if "\0" in text else "utf-8")
        for text in (bad.old, bad.new)
    )
    assert old in data
    return data.replace(old, new, 1)


def changed_table(name: str, value: Any) -> Any:
    """Return a table for arrow and parquet whose first row has something else in a column."""
    table = to_arrow(good_spaces("arrow"))
    place = table.schema.get_field_index(name)
    entries = [value, *table.column(place).to_pylist()[1:]]
    field = table.schema.field(place)
    return table.set_column(place, field, pa.array(entries, field.type))


def stored_table(fmt_name: str, table: Any) -> bytes:
    buffer = io.BytesIO()
    if fmt_name == "parquet":
        pq.write_table(table, buffer, compression="none")
    else:
        with pa.ipc.new_file(buffer, table.schema) as writer:
            writer.write_table(table)
    return buffer.getvalue()


COLUMNAR = [
    ("columns", "score", [-0.5], "row 0: 1 entries in 'score' for 2 arcs"),
    ("nan", "score", [-0.5, np.nan], "row 0: arc 1 has score nan, expected a finite number"),
    ("infinity", "score", [-0.5, -np.inf], "row 0: arc 1 has score -inf, expected a finite number"),
    ("cycle", "dst", [1, 0], "row 0: the lattice has a cycle through state 0; ..."),
    ("repeated", "id", "b", "segment 1, 'b': the id is that of segment 0 of {folder}/bad already"),
    ("announced", "dst", [1, 2**31 - 1], "row 0: arc 1 has target state 2147483647, expected 0..2"),
]
VECTOR_ARC = struct.pack("<iifi", 2, 2, 1.5, 2)
COMPACT_ARC = struct.pack("<iiffii", 2, 2, 1.5, 0.0, 0, 2)
VECTOR_STATES = struct.pack("<qqq", 0, 3, 0)
SYMBOL_COUNT = struct.pack("<qq", 3, 3)
MANY = 2**31 - 1
BINARIES = [
    Bad("openfst", "nan", VECTOR_ARC, struct.pack("<iifi", 2, 2, np.nan, 2),
        "entry 1 of 'weight' is NaN ..."),
    Bad("openfst", "infinity", VECTOR_ARC, struct.pack("<iifi", 2, 2, -np.inf, 2),
        "arc 1 has score inf, expected a finite number"),
    Bad("openfst", "cycle", VECTOR_ARC, struct.pack("<iifi", 2, 2, 1.5, 0),
        "the lattice has a cycle through state 0; ..."),
    Bad("openfst", "utf-8", b"cat", b"c\xff\xff", "a symbol is not UTF-8: invalid start byte ..."),
    Bad("openfst", "symbol", VECTOR_ARC, struct.pack("<iifi", 7, 7, 1.5, 2),
        "label 7 is not in the symbol table of 3 symbols"),
    Bad("openfst", "announced", VECTOR_STATES, struct.pack("<qqq", 0, MANY, 0),
        "2147483647 states announced, which 68 bytes cannot hold (byte 218)"),
    Bad("openfst", "announced", SYMBOL_COUNT, struct.pack("<qq", 3, MANY),
        "2147483647 symbols announced, which ... bytes cannot hold (byte ...)"),
    Bad("openfst", "announced", b"\6\0\0\0vector", b"\xff\xff\xff\x7fvector",
        "the FST type would take 2147483647 bytes where ... are left (byte 8)"),
    Bad("kaldi-binary", "nan", COMPACT_ARC, struct.pack("<iiffii", 2, 2, np.nan, 0.0, 0, 2),
        "arc 1 of 'a' has the weight nan,0.0, expected finite costs"),
    Bad("kaldi-binary", "infinity", COMPACT_ARC, struct.pack("<iiffii", 2, 2, np.inf, 0.0, 0, 2),
        "arc 1 of 'a' has the weight inf,0.0, expected finite costs"),
    Bad("kaldi-binary", "cycle", COMPACT_ARC, struct.pack("<iiffii", 2, 2, 1.5, 0.0, 0, 0),
        "the lattice has a cycle through state 0; ..."),
    Bad("kaldi-binary", "repeated", b"b \xd6", b"a \xd6",
        "segment 1, 'a': the id is that of segment 0 of {folder}/bad already"),
    Bad("kaldi-binary", "utf-8", b"cat", b"c\xff\xff", "a symbol is not UTF-8: ..."),
    Bad("kaldi-binary", "symbol", COMPACT_ARC, struct.pack("<iiffii", 7, 7, 1.5, 0.0, 0, 2),
        "the label 7 in 'a' is not in the symbol table"),
    Bad("kaldi-binary", "announced", VECTOR_STATES, struct.pack("<qqq", 0, MANY, 0),
        "2147483647 states announced in 'a', which 309 bytes cannot hold (byte 152)"),
    Bad("kaldi-binary", "announced", COMPACT_ARC, struct.pack("<iiffii", 2, 2, 1.5, 0.0, MANY, 2),
        "the states of 'a' have more arcs than the file holds (byte 152)"),
    Bad("kaldi-binary", "announced", SYMBOL_COUNT, struct.pack("<qq", 3, MANY),
        "a symbol table of 'a' is damaged or cut short (byte 76)"),
]  # fmt: skip
