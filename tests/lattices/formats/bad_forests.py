"""Good files of the forest formats, and what can be wrong with them: see ``test_bad_files``."""

from __future__ import annotations

from typing import Any

DIGITS = "9" * 5_000

TEXTS: dict[str, str] = {
    "cdec-forest": '{"rules":[1,"[X] ||| x ||| cat",2,"[S] ||| [X,1] ||| the [1]"],'
    '"features":["lm","tm"],\n'
    '"edges":[{"tail":[],"feats":[0,-0.5],"rule":1}],"node":{"in_edges":[0]},\n'
    '"edges":[{"tail":[0],"feats":[0,-1.5,1,2],"rule":2}],"node":{"in_edges":[1]}}\n',
    "hypergraph": "# target ||| features ||| source-covered\n2 2\n# node 0\n1\n"
    "cat ||| lm=-0.5 ||| 1\n# node 1\n1\nthe [0] ||| lm=-1.5 tm=2 ||| 2\n",
    "joshua-forest": "# target ||| features\n2 2\n1\ncat ||| lm=-0.5\n4\n"
    "the [1] ||| lm=-1.5 tm=2\n",
    "travatar": '{"nodes": [{"id": 0, "sym": "S", "span": [0, 2]}, {"id": 1, "sym": "X", "span": '
    '[1, 2]}], "edges": [{"id": 0, "head": 0, "tails": [1], "trg": [{"label": -1, "words": '
    '["the", -1]}], "features": {"lm": -1.5}, "score": -0.5}, {"id": 1, "head": 1, "trg": '
    '[{"words": ["cat"]}]}], "words": []}\n'
    '{"nodes": [{"id": 0, "sym": "S", "span": [0, 1]}], "edges": [{"id": 0, "head": 0, '
    '"trg": [{"words": ["yes"]}], "score": -0.25}], "words": []}\n',
}

SENSELESS: dict[str, set[str]] = {
    "cdec-forest": {"symbol", "announced"},
    "hypergraph": {"quotes", "symbol"},
    "joshua-forest": {"quotes", "symbol"},
    "travatar": {"symbol", "announced"},
}

#: format, kind, what is replaced by what, and the message
BAD: list[tuple[Any, ...]] = [
    ("cdec-forest", "columns", "[0,-0.5]", "[0]", "1: 'feats' must have features and values ..."),
    ("cdec-forest", "columns", "||| cat", "cat", "1: '[X] ||| x cat', expected a rule, ..."),
    ("cdec-forest", "nan", "-1.5", "NaN", "1: NaN is no JSON number"),
    ("cdec-forest", "nan", "-1.5", "true", "1: True among the features, expected a number"),
    ("cdec-forest", "nan", "-1.5", "[]", "1: [] among the features, expected a number"),
    ("cdec-forest", "digits", "-1.5", "9" * 300,
     "1: a whole number of 300 digits among the features, expected 18 at most"),
    ("cdec-forest", "infinity", "-1.5", "-Infinity", "1: -Infinity is no JSON number"),
    ("cdec-forest", "infinity", "-1.5", "1e999", "1: features hold a value that is not finite"),
    ("cdec-forest", "grouped", "-1.5", "1_0", "3: not JSON: Expecting ',' delimiter, column 34"),
    ("cdec-forest", "cycle", '"tail":[0]', '"tail":[1]', "1: the forest has a cycle through ..."),
    ("cdec-forest", "repeated", '"feats":[0,-0.5]', '"feats":[],"feats":[]',
     "1: a key twice in an edge or a node"),
    ("cdec-forest", "repeated", "1,2]", "0,2]", "1: a feature twice in one edge"),
    ("cdec-forest", "utf-8", b"cat", b"\xff", "1: invalid UTF-8: invalid start byte"),
    ("cdec-forest", "digits", '"rule":2', f'"rule":{DIGITS}',
     "1: a whole number of thousands of digits"),
    ("cdec-forest", "digits", "the [1]", f"the [{DIGITS}]",
     "1: '[9999... in the rule of an edge that has 1 tails"),
    ("cdec-forest", "quotes", 'cat"', "cat",
     "1: not JSON: Expecting ',' delimiter, column 35"),
    ("hypergraph", "columns", "cat |||", "cat",
     "5: '1', expected name=value, a finite number"),
    ("hypergraph", "nan", "-1.5", "nan", "8: 'lm=nan', expected name=value, a finite number"),
    ("hypergraph", "infinity", "-1.5", "inf", "8: 'lm=inf', expected name=value, a finite number"),
    ("hypergraph", "grouped", "-1.5", "1_0", "8: 'lm=1_0', expected name=value, a finite number"),
    ("hypergraph", "grouped", "2 2", "2 1_0", "2: '2 1_0', expected the numbers of nodes and ..."),
    ("hypergraph", "cycle", "the [0]", "the [1]",
     "8: a reference to a node that is not among those before"),
    ("hypergraph", "repeated", "tm=2", "lm=2", "8: a feature twice in one edge"),
    ("hypergraph", "utf-8", b"cat", b"\xff", "5: invalid UTF-8: invalid start byte"),
    ("hypergraph", "digits", "2 2", f"2 {DIGITS}", "2: '2 999..., expected the numbers of ..."),
    ("hypergraph", "digits", "[0]", f"[{DIGITS}]", "8: [999..., but there is no such node, ..."),
    ("hypergraph", "announced", "2 2", "147483647 2",
     "2: 147483647 nodes and 2 edges in a file of 9 lines"),
    ("hypergraph", "announced", "2 2", "2 3", "1: 2 edges, but 3 are announced"),
    ("joshua-forest", "columns", "cat |||", "cat", "4: 'cat lm=-0.5', expected a node or edge"),
    ("joshua-forest", "nan", "-1.5", "nan", "6: 'lm=nan', expected name=value, a finite number"),
    ("joshua-forest", "infinity", "-1.5", "-inf", "6: 'lm=-inf', expected name=value, ..."),
    ("joshua-forest", "grouped", "-1.5", "1_0", "6: 'lm=1_0', expected name=value, ..."),
    ("joshua-forest", "cycle", "the [1]", "the [4]",
     "6: a reference to a node that is not among those before"),
    ("joshua-forest", "repeated", "\n4\n", "\n1\n", "5: a second node 1"),
    ("joshua-forest", "utf-8", b"cat", b"\xff", "4: invalid UTF-8: invalid start byte"),
    ("joshua-forest", "digits", "\n4\n", f"\n{DIGITS}\n", "5: '999..., expected a node or edge"),
    ("joshua-forest", "announced", "2 2", "147483647 2",
     "1: 2 nodes and 2 edges, but 147483647 and 2 are announced"),
    ("travatar", "columns", ', "trg": [{"words": ["cat"]}]', "",
     "1: an edge without a target side ('trg'): is this the forest of a parser?"),
    ("travatar", "nan", "-1.5", "NaN", "1: NaN is no JSON number"),
    ("travatar", "nan", "-0.25", "true",
     "2: True among the scores of edges, expected a number"),
    ("travatar", "nan", "-0.5", "[]", "1: [] among the scores of edges, expected a number"),
    ("travatar", "digits", "-0.25", "9" * 300,
     "2: a whole number of 300 digits among the scores of edges, expected 18 at most"),
    ("travatar", "infinity", "-0.25", "1e999", "2: edge 0 has score inf, expected a finite number"),
    ("travatar", "grouped", "-1.5", "1_0", "1: not JSON: Expecting ',' delimiter, column 202"),
    ("travatar", "cycle", '"tails": [1]', '"tails": [0]', "1: the forest has a cycle through ..."),
    ("travatar", "repeated", '{"id": 1, "sym"', '{"id": 0, "sym"', "1: two nodes have one id"),
    ("travatar", "repeated", '"lm": -1.5', '"lm": -1.5, "lm": 1', "1: 'lm' twice in one object"),
    ("travatar", "utf-8", b"yes", b"\xff", "2: invalid UTF-8: invalid start byte"),
    ("travatar", "digits", '"tails": [1]', f'"tails": [{DIGITS}]',
     "1: a whole number of thousands of digits"),
    ("travatar", "quotes", '"yes"', '"yes', "2: not JSON: Expecting ',' delimiter, column 112"),
]  # fmt: skip
