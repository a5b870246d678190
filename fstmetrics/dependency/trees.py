"""Dependencies of bracketed trees, by the head rules of Collins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from fstmetrics.dependency.parses import Parse
from lattices.errors import FormatError, OptionError
from lattices.formats.streams import number_lines
from lattices.optional import require

#: Where the head of a constituent is: the first of these labels that any child has, searched
#: from the left or the right; failing that, the first child from that side. Collins, Head-driven
#: statistical models for natural language parsing (1999), appendix A, after Magerman 1995.
_PRIORITIES = """
ADJP   left  NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP   right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP  right CC RB IN
FRAG   right
INTJ   left
LST    right LS :
NAC    left  NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
PP     right IN TO VBG VBN RP FW
PRN    left
PRT    right RP
QP     left  $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC    right VP NP ADVP ADJP PP
S      left  TO IN VP S SBAR ADJP UCP NP
SBAR   left  WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ  left  SQ S SINV SBARQ FRAG
SINV   left  VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ     left  VBZ VBD VBP VB MD VP SQ
UCP    right
VP     left  TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP left  CC WRB JJ ADJP
WHADVP right CC WRB
WHNP   left  WDT WP WP$ WHADJP WHPP WHNP
WHPP   right IN TO FW
"""
#: in noun phrases, the first child that has any of the labels of a step
_NOUN_STEPS = (
    ("right", "NN NNP NNPS NNS NX POS JJR"),
    ("left", "NP"),
    ("right", "$ ADJP PRN"),
    ("right", "CD"),
    ("right", "JJ JJS RB QP"),
)
_NOUN_PHRASES = ("NP", "NX")
_PUNCTUATION = frozenset(("``", "''", ",", ".", ":", "-LRB-", "-RRB-"))
_BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"
}  # fmt: skip


def _head_rules() -> dict[str, tuple[str, tuple[tuple[str, frozenset[str]], ...]]]:
    rules = {}
    for line in _PRIORITIES.strip().splitlines():
        label, side, *wanted = line.split()
        rules[label] = (side, tuple((side, frozenset((each,))) for each in wanted))
    nouns = tuple((side, frozenset(labels.split())) for side, labels in _NOUN_STEPS)
    return rules | dict.fromkeys(_NOUN_PHRASES, ("right", nouns))


_RULES = _head_rules()


def head_child(label: str, children: Sequence[str]) -> int:
    """Return which child is the head, given the labels of a constituent and of its children.

    The rules are Collins's. Labels they do not know take their first child. Punctuation is
    head only where there is nothing else; of a coordination, the conjunct before the
    conjunction is.
    """
    side, steps = _RULES.get(label, ("left", ()))
    places = [place for place, child in enumerate(children) if child not in _PUNCTUATION]
    if not places:
        return 0
    if label in _NOUN_PHRASES and children[places[-1]] == "POS":
        return places[-1]
    head = places[0] if side == "left" else places[-1]
    for direction, wanted in steps:
        found = [place for place in places if children[place] in wanted]
        if found:
            head = found[0] if direction == "left" else found[-1]
            break
    index = places.index(head)
    if index >= 2 and children[places[index - 1]] in ("CC", "CONJP"):
        return places[index - 2]
    return head


def tree_parse(bracketed: str) -> Parse:
    """Return the dependencies of a tree in brackets, as in the Penn Treebank.

    Traces (``-NONE-``) are dropped, functions (``NP-SBJ``) ignored, and the names of brackets
    (``-LRB-``) turned back into brackets.

    Examples
    --------
    >>> parse = tree_parse("(S (NP (PRP He)) (VP (VBZ has) (NP (DT a) (NN ball))))")
    >>> parse.words, parse.heads
    (('He', 'has', 'a', 'ball'), (2, 0, 4, 2))
    """
    nltk_tree = require("nltk.tree", "parsing")
    try:
        tree = nltk_tree.Tree.fromstring(bracketed)
        words: list[str] = []
        heads: list[int] = []
        root = _attach(tree, words, heads)
    except ValueError as problem:
        raise OptionError(f"no bracketed tree: {' '.join(str(problem).split())}") from None
    except RecursionError:
        raise OptionError("a tree that is nested too deeply") from None
    if root:
        heads[root - 1] = 0
    return Parse(tuple(words), tuple(heads))


def _attach(tree: Any, words: list[str], heads: list[int]) -> int:
    """Add the words of a tree and return its head word, counted from 1; 0 if it has none."""
    if len(tree) == 1 and isinstance(tree[0], str):
        if tree.label() == "-NONE-":
            return 0
        words.append(_BRACKETS.get(tree[0], tree[0]))
        heads.append(0)
        return len(words)
    labels: list[str] = []
    found: list[int] = []
    for child in tree:
        if isinstance(child, str):
            raise ValueError(f"the word {child!r} has no part of speech of its own")
        head = _attach(child, words, heads)
        if head:
            labels.append(_category(child.label()))
            found.append(head)
    if not found:
        return 0
    chosen = found[head_child(_category(tree.label()), labels)]
    for head in found:
        if head != chosen:
            heads[head - 1] = chosen
    return chosen


def _category(label: str) -> str:
    """Return a label without its functions and indices."""
    if label.startswith("-"):
        return label
    return label.partition("-")[0].partition("=")[0].partition("|")[0]


def read_trees(path: str | os.PathLike[str]) -> Iterator[Parse]:
    """Yield the parses of a file of bracketed trees, which may go over several lines."""
    name = os.fspath(path)
    for line, bracketed in _trees(name):
        try:
            yield tree_parse(bracketed)
        except OptionError as problem:
            raise FormatError(str(problem), name, line) from None


def _trees(path: str) -> Iterator[tuple[int, str]]:
    tree: list[str] = []
    depth, first = 0, 1
    for number, line in number_lines(path):
        if not tree:
            if not line.strip():
                continue
            first = number
        tree.append(line)
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            yield first, "\n".join(tree)
            tree, depth = [], 0
    if tree:
        raise FormatError("a tree whose brackets do not close", path, first)
