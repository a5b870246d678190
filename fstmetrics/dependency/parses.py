"""Dependencies of sentences: parses, bags of (head, dependent), and files of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from fstmetrics.references import Tokens, split_tokens
from lattices.errors import FormatError, MissingDependencyError, OptionError
from lattices.formats.streams import number_lines
from lattices.optional import require
from lattices.options import split_name
from lattices.registry import Registry

#: (head word, dependent word), how often; the head of the root is None
Bag: TypeAlias = "Counter[tuple[str | None, str]]"


@dataclass(frozen=True)
class Parse:
    """A sentence and the head of each of its words.

    Attributes
    ----------
    words : tuple of str
    heads : tuple of int
        From 1, as in CoNLL-U; 0 for the root.
    spellings : tuple of tuple of str
        Other ways to cut the same sentence: before clitics were split off, or the original
        text.

    Examples
    --------
    >>> parse = Parse(("He", "has", "a", "ball"), (2, 0, 4, 2))
    >>> sorted(parse.bag(), key=str)
    [('ball', 'a'), ('has', 'He'), ('has', 'ball'), (None, 'has')]
    """

    words: Tokens
    heads: tuple[int, ...]
    spellings: tuple[Tokens, ...] = ()

    def __post_init__(self) -> None:
        """Refuse heads that are not words of the sentence."""
        if len(self.words) != len(self.heads):
            raise OptionError(f"{len(self.heads)} heads for {len(self.words)} words")
        for place, head in enumerate(self.heads, start=1):
            if not 0 <= head <= len(self.words) or head == place:
                raise OptionError(
                    f"the head of word {place} is {head}, expected another one of "
                    f"1..{len(self.words)}, or 0 for the root"
                )

    def bag(self, lowercase: bool = False) -> Bag:
        """Return the dependencies, as many as there are words."""
        words = [word.lower() for word in self.words] if lowercase else self.words
        return Counter(
            (words[head - 1] if head else None, word)
            for word, head in zip(words, self.heads, strict=True)
        )


class ParseTable:
    """Parses by their sentences.

    Parameters
    ----------
    parses : iterable of Parse
    source : str
        What messages and signatures call it.

    Raises
    ------
    OptionError
        If one sentence comes with two different parses.

    Examples
    --------
    >>> table = ParseTable([Parse(("it", "rains"), (2, 0))])
    >>> table.parse(("it", "rains")).heads
    (2, 0)
    >>> table.parse(("it", "snows"))
    Traceback (most recent call last):
    lattices.errors.OptionError: memory has no parse of 'it snows'
    """

    def __init__(self, parses: Iterable[Parse], source: str = "memory") -> None:
        self.source = source
        self._parse: dict[Tokens, Parse] = {}
        for parse in parses:
            for sentence in (parse.words, *parse.spellings):
                known = self._parse.setdefault(sentence, parse)
                if (known.words, known.heads) != (parse.words, parse.heads):
                    raise OptionError(f"{source} has two parses of {' '.join(sentence)!r}")

    def __len__(self) -> int:
        """Return the number of sentences, each spelling counted."""
        return len(self._parse)

    def __str__(self) -> str:
        """Return the source, which is what a signature shows."""
        return self.source

    def parse(self, tokens: Sequence[str]) -> Parse:
        """Return the parse of a sentence; the empty one has no words."""
        sentence = tuple(tokens)
        if not sentence:
            return Parse((), ())
        if sentence not in self._parse:
            raise OptionError(f"{self.source} has no parse of {' '.join(sentence)!r}")
        return self._parse[sentence]


def load_parses(paths: str) -> ParseTable:
    """Return the parses of files; files that were read before are not read again.

    Parameters
    ----------
    paths : str
        One file or several with ``os.pathsep`` (a colon, on Windows a semicolon) between
        them: CoNLL-U (``.conllu``, needs the conllu package), or else bracketed trees (needs
        nltk).
    """
    names = tuple(paths.split(os.pathsep))
    try:
        stamps = tuple(Path(name).stat().st_mtime_ns for name in names)
    except OSError as problem:
        raise OptionError(f"parses: {problem}") from None
    return _load_parser(paths, names, stamps)


@lru_cache(maxsize=8)
def _load_parser(source: str, names: tuple[str, ...], stamps: tuple[int, ...]) -> ParseTable:
    from fstmetrics.dependency.trees import read_trees

    return ParseTable(
        (
            parse
            for name in names
            for parse in (read_conllu(name) if name.endswith(".conllu") else read_trees(name))
        ),
        source,
    )


def read_conllu(path: str | os.PathLike[str]) -> Iterator[Parse]:
    """Yield the parses of a CoNLL-U file.

    The words are the syntactic ones (``do n't``). The tokens they were split from
    (``don't``) and the text in the comment ``# text = ...``, cut at white space, find the
    same parse. Empty nodes are not words.
    """
    conllu = require("conllu", "parsing")
    name = os.fspath(path)
    for line, block in _blocks(name):
        try:
            (sentence,) = conllu.parse(block)
            yield _conllu_parse(sentence)
        except (conllu.exceptions.ParseException, ValueError) as problem:
            raise FormatError(f"no CoNLL-U sentence: {problem}", name, line) from None


def _blocks(path: str) -> Iterator[tuple[int, str]]:
    """Yield what stands between empty lines, with the number of its first line."""
    block: list[str] = []
    first = 1
    for number, line in number_lines(path):
        if line.strip():
            first = first if block else number
            block.append(line + "\n")
        elif block:
            yield first, "".join(block)
            block = []
    if block:
        yield first, "".join(block)


def _conllu_parse(sentence: Any) -> Parse:
    """Return a sentence of the conllu package as a parse."""
    words: list[str] = []
    heads: list[int] = []
    surface: list[str] = []
    covered = 0
    for token in sentence:
        number, form, head = token["id"], token.get("form"), token.get("head")
        if not form:
            raise ValueError(f"token {number} has no form")
        if isinstance(number, int):
            if number != len(words) + 1:
                raise ValueError(f"word {number} where {len(words) + 1} was expected")
            if not isinstance(head, int):
                raise ValueError(f"word {number} has no head")
            words.append(form)
            heads.append(head)
            if number > covered:
                surface.append(form)
        elif number[1] == "-":
            surface.append(form)
            covered = number[2]
    if not words:
        raise ValueError("it has no words")
    text = sentence.metadata.get("text")
    spellings = [tuple(surface), *([split_tokens(text)] if text else [])]
    return Parse(tuple(words), tuple(heads), tuple(each for each in spellings if each))


#: from tokens to the head of each, counted from 1; 0 for the root
Parser: TypeAlias = "Callable[[Sequence[str]], Sequence[int]]"

#: by name, what makes a parser from the name of a model
PARSERS: Registry[Callable[[str], Parser]] = Registry(
    "fstmetrics.parsers",
    "parser",
    own={
        "spacy": "fstmetrics.dependency.parses:SpacyParser",
    },
    check=lambda plugin: "" if callable(plugin) else f"{plugin!r:.80} cannot be called",
)


def load_parser(specification: str) -> Parser:
    """Return the parser that ``NAME`` or ``NAME:MODEL`` specifies."""
    name, model = split_name(specification)
    return PARSERS.get(name)(model)


class SpacyParser:
    """A pipeline of spaCy that takes the tokens as they are.

    Parameters
    ----------
    model : str
        A package or a folder that ``spacy.load`` knows, such as ``en_core_web_sm``.
    """

    def __init__(self, model: str) -> None:
        if not model:
            raise OptionError("the parser spacy needs a model: spacy:en_core_web_sm")
        try:
            spacy = import_module("spacy")
            tokens = import_module("spacy.tokens")
        except ImportError as problem:
            raise MissingDependencyError(
                f"spacy is needed here and cannot be imported ({problem}): pip install spacy, "
                f"then python -m spacy download {model}"
            ) from problem
        try:
            self._pipeline = spacy.load(model)
        except OSError as problem:
            raise OptionError(f"spacy cannot load {model!r}: {problem}") from problem
        self._document = tokens.Doc

    def __call__(self, tokens: Sequence[str]) -> list[int]:
        """Return the head of each token; spaCy's roots are their own heads."""
        document = self._pipeline(self._document(self._pipeline.vocab, words=list(tokens)))
        return [
            0 if token.head.i == place else token.head.i + 1 for place, token in enumerate(document)
        ]
