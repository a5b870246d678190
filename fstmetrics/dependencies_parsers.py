"""Parsers by name: anything that finds the heads of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TypeAlias

from lattices.errors import MissingDependencyError, OptionError
from lattices.registry import Registry

#: from tokens to the head of each, counted from 1; 0 for the root
Parser: TypeAlias = "Callable[[Sequence[str]], Sequence[int]]"

#: by name, what makes a parser from the name of a model
PARSERS: Registry[Callable[[str], Parser]] = Registry(
    "fstmetrics.parsers",
    "parser",
    check=lambda plugin: "" if callable(plugin) else f"{plugin!r:.80} cannot be called",
)


def load_parser(specification: str) -> Parser:
    """Return the parser that ``NAME`` or ``NAME:MODEL`` specifies.

    Examples
    --------
    >>> load_parser("spicy:en_core_web_sm")
    Traceback (most recent call last):
    lattices.errors.UnknownNameError: no parser named 'spicy'; did you mean spacy? (known: spacy)
    """
    name, _, model = specification.partition(":")
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
