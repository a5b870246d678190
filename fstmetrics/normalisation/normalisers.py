"""Normalisers: what makes two spellings of one sentence the same.

A normaliser takes the words of a sentence to others, and says which words have to be seen
together. That is enough to make a transducer of it, so that lattices are searched exactly.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from fstmetrics.signature import NORMALISERS as NORMALISERS
from lattices.caching import cached_property
from lattices.errors import Error, FormatError, OptionError, PluginError
from lattices.formats.base import split_words, text_lines
from lattices.formats.streams import open_input
from lattices.optional import require
from lattices.options import option_fields, read_options, split_items, split_name, split_option
from lattices.registry import list_missing

Words = tuple[str, ...]


@runtime_checkable
class Normaliser(Protocol):
    """What a normaliser offers; registered in the group ``fstmetrics.normalisers``.

    An entry point is a class or function that is called without arguments, or, for names such as
    ``glm:FILE``, with what follows the colon; fields of a dataclass are its options.
    """

    def sentence(self, words: Words) -> Words:
        """Return the words of a normalised sentence."""

    def waits(self, words: Words) -> bool:
        """Tell whether what these words become may hang on the next."""

    def covers(self, words: Iterable[str]) -> bool:
        """Tell whether the law holds for all sentences of these words."""


class _ByWord(ABC):
    """A normaliser that looks at one word at a time."""

    @abstractmethod
    def word(self, word: str) -> str:
        """Return what a word becomes."""

    def sentence(self, words: Words) -> Words:
        return tuple([each for word in words for each in split_words(self.word(word))])

    def waits(self, words: Words) -> bool:
        return False

    def covers(self, words: Iterable[str]) -> bool:
        return True


class Lower(_ByWord):
    """Lower case."""

    def word(self, word: str) -> str:
        """Return the word in lower case."""
        return word.lower()


class Nfkc(_ByWord):
    """Unicode's compatibility composition: ligatures, widths, composed letters."""

    def word(self, word: str) -> str:
        """Return the word, or several where a blank is among its letters."""
        return unicodedata.normalize("NFKC", word)


class Punctuation(_ByWord):
    """No punctuation, but between letters or digits: ``don't``, ``3.5``, ``well-known``."""

    def word(self, word: str) -> str:
        """Return the word without it."""
        kept = [
            letter
            for place, letter in enumerate(word)
            if not unicodedata.category(letter).startswith("P")
            or (word[:place][-1:].isalnum() and word[place + 1 :][:1].isalnum())
        ]
        return "".join(kept)


@dataclass(frozen=True)
class Drop(_ByWord):
    """Without some words, ``NAME|NAME``: they count on neither side, as Kaldi's wildcard symbols.

    Examples
    --------
    >>> Drop("<unk>|[noise]").sentence(("the", "[noise]", "cat"))
    ('the', 'cat')
    """

    words: str

    def word(self, word: str) -> str:
        """Return the word, or nothing."""
        return "" if word in self.words.split("|") else word


@dataclass(frozen=True)
class TextFunction(_ByWord):
    """A function from text to text, applied to each word."""

    function: Any

    def word(self, word: str) -> str:
        """Return what the function makes of it."""
        made = self.function(word)
        if not isinstance(made, str):
            raise OptionError(f"a normaliser makes {made!r:.60} of {word!r:.60}, expected text")
        return made


@dataclass(eq=False)
class RegexTable(_ByWord):
    r"""Regular expressions and what takes their place, ``pattern<TAB>replacement`` a line.

    All of them, in their order, see one word at a time; blanks in replacements make several words.
    Lines that begin with ``#`` are comments.
    """

    path: str

    def __post_init__(self) -> None:
        """Read the file."""
        self.rules: list[tuple[re.Pattern[str], str]] = []
        for line, text in _lines(self.path):
            pattern, tab, replacement = text.partition("\t")
            try:
                if not tab:
                    raise ValueError("expected pattern, tab, replacement")
                rule = re.compile(pattern), replacement
                rule[0].sub(replacement, "")
            except (ValueError, re.error, IndexError) as problem:
                raise FormatError(f"{text!r:.60}: {problem}", self.path, line) from problem
            self.rules.append(rule)

    def word(self, word: str) -> str:
        """Return the word after all replacements."""
        for pattern, replacement in self.rules:
            word = pattern.sub(replacement, word)
        return word


_GLM_RULE = re.compile(r"\s*\[?([^\]=]*?)\]?\s*=>\s*(.*?)\s*(?:/\s*\[\s*\]\s*__\s*\[\s*\]\s*)?")
_GLM_OPTION = re.compile(r"\*\s*case_sensitive\s*=\s*'?([TF])'?", re.IGNORECASE)


@dataclass(eq=False)
class GlobalMapping:
    """NIST's global mapping file (GLM): words and phrases, and what takes their place.

    Lines ``[FROM] => [TO] / [ ] __ [ ]``, with comments behind ``;;``. From left to right, the
    first rule of the file whose phrase stands at a word replaces it, and what was replaced is not
    looked at again, as in NIST's ``csrfilt.sh``. Of alternatives, ``{ IT'S / IT IS }``, the first
    that is not the phrase itself is taken, on both sides, so that either spelling matches the
    other. Case counts if the file says ``case_sensitive = 'T'``; else all words come out in lower
    case, since those of the file and those of the text need not be spelt alike. Other contexts
    than ``[ ] __ [ ]`` are refused.
    """

    path: str

    def __post_init__(self) -> None:
        """Read the file."""
        self.sensitive = False
        rules: list[tuple[str, str]] = []
        for line, text in _lines(self.path, comment=";;"):
            if text.lstrip().startswith("*"):
                found = _GLM_OPTION.match(text.strip())
                self.sensitive = found.group(1).upper() == "T" if found else self.sensitive
                continue
            rule = _GLM_RULE.fullmatch(text)
            if rule is None or "__" in rule.group(2) or not rule.group(1).strip():
                raise FormatError(
                    f"{text!r:.60}, expected [FROM] => [TO] / [ ] __ [ ]", self.path, line
                )
            rules.append((rule.group(1), rule.group(2)))
        #: by the first word of their phrases, in the order of the file
        self.rules: dict[str, list[tuple[Words, Words]]] = {}
        for phrase, instead in rules:
            left = tuple(split_words(self._key(phrase)))
            right = _alternative(self._key(instead), left)
            self.rules.setdefault(left[0], []).append((left, right))

    def _key(self, text: str) -> str:
        return text if self.sensitive else text.lower()

    @cached_property
    def _beginnings(self) -> frozenset[Words]:
        """What a longer phrase may begin with."""
        phrases = [left for some in self.rules.values() for left, _ in some]
        return frozenset(left[:size] for left in phrases for size in range(1, len(left)))

    def sentence(self, words: Words) -> Words:
        """Return the words with all phrases replaced."""
        keys = tuple(map(self._key, words))
        result: list[str] = []
        place = 0
        while place < len(keys):
            for left, right in self.rules.get(keys[place], ()):
                if keys[place : place + len(left)] == left:
                    result += right
                    place += len(left)
                    break
            else:
                result.append(keys[place])
                place += 1
        return tuple(result)

    def waits(self, words: Words) -> bool:
        """Tell whether some end of these words begins a phrase."""
        keys = tuple(map(self._key, words))
        return any(keys[place:] in self._beginnings for place in range(len(keys)))

    def covers(self, words: Iterable[str]) -> bool:
        """Tell that any words will do."""
        return True


def _alternative(text: str, left: Words) -> Words:
    """Return the right side of a rule; of alternatives the first that is another."""
    text = text.strip().removeprefix("[").removesuffix("]").strip()
    if not text.startswith("{"):
        return tuple(split_words(text))
    options = [tuple(split_words(part)) for part in text.strip("{} ").split("/")]
    others = [option for option in options if option != left]
    return tuple(word for word in (others or options)[0] if word != "@")


def _lines(path: str, comment: str = "#") -> Iterable[tuple[int, str]]:
    with open_input(path) as (_, stream):
        for line, data in text_lines(stream):
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError as problem:
                raise FormatError(f"invalid UTF-8: {problem.reason}", path, line) from problem
            if comment == ";;":
                text = text.partition(comment)[0]
            if text.strip() and not text.startswith(comment):
                yield line, text


_BRACKETS = re.compile(r"[<\[][^>\]]*[>\]]|\([^)]+?\)")


class WhisperBasic:
    """The basic normaliser of Whisper, of the package ``whisper-normalizer``.

    What stands in brackets goes, and so does what is neither letter nor digit; lower case.
    """

    @cached_property
    def _normalise(self) -> Any:
        return require("whisper_normalizer.basic", "whisper").BasicTextNormalizer()

    def require(self) -> None:
        """Import the package, or say how to get it."""
        _ = self._normalise

    def sentence(self, words: Words) -> Words:
        """Return the words of the normalised text."""
        return tuple(split_words(self._normalise(" ".join(words))))

    def waits(self, words: Words) -> bool:
        """Tell whether a bracket is open."""
        text = _BRACKETS.sub("", " ".join(words))
        return any(bracket in text for bracket in "<[(")

    def covers(self, words: Iterable[str]) -> bool:
        """Tell whether no more than one kind of bracket is open beyond a word.

        The package removes one kind after the other, so that those of two kinds may cross.
        """
        return len(set().union(*map(_open_brackets, words))) < 2


def _open_brackets(word: str) -> set[str]:
    """Return the kinds of brackets in a word that is no bracket as a whole."""
    left = _BRACKETS.sub("", word)
    return {kind for kind in ("<>[]", "()") if any(bracket in left for bracket in kind)}


#: a word that begins or ends like this is normalised by more than its direct neighbours
_ALONE = re.compile(r"[%.$¢€£].*|.*[$¢€£]|'(?:s|t|d|m|ll|re|ve|all|am|ma)\W*|'\W*", re.IGNORECASE)
_PERFECT = ("'d", "'s")
_HALF = {"and", "a", "half"}


class WhisperEnglish(WhisperBasic):
    """The English normaliser of Whisper, of the package ``whisper-normalizer``.

    Beside the basic one it spells out contractions, writes numbers in digits, and American English.
    """

    @cached_property
    def _normalise(self) -> Any:
        return require("whisper_normalizer.english", "whisper").EnglishTextNormalizer()

    @cached_property
    def _joining(self) -> frozenset[str]:
        """Words that make numbers together."""
        return frozenset(self._normalise.standardize_numbers.words)

    @cached_property
    def _stays(self) -> Callable[[str], bool]:
        """Whether anything is left of a word; the package takes its time."""
        return lru_cache(maxsize=1 << 16)(lambda word: bool(self.sentence((word,))))

    def waits(self, words: Words) -> bool:
        """Tell whether a bracket is open, or a number or contraction may go on."""
        if super().waits(words):
            return True
        for word in reversed(words):
            pieces = re.findall(r"\w+", word.lower())
            if word.lower().endswith(_PERFECT):
                return True
            if self._stays(word):
                last = pieces[-1] if pieces else ""
                return last in self._joining or any(each.isdigit() for each in word) or not last
            # a word that vanishes stands between nothing
        return False

    def covers(self, words: Iterable[str]) -> bool:
        """Tell whether no word begins or ends with what its neighbours decide upon.

        Nor may there be ``and a half``, which hangs on any word before it, brackets around several
        words, between which numbers go on, or characters that become digits or parts of numbers.
        """
        known = set(words)
        half = {piece for word in known for piece in re.findall(r"\w+", word.lower())}
        if _HALF.issubset(half) or any(map(_ALONE.fullmatch, known)):
            return False
        return not any(_open_brackets(word) or self._is_odd_number(word) for word in known)

    def _is_odd_number(self, word: str) -> bool:
        """Tell whether a word is a number only after its characters are replaced."""
        if word.isascii() or self.waits((word,)):
            return False
        pieces = self.sentence((word,))
        return bool(pieces) and self.waits(pieces)


def parse_normaliser(specification: str) -> tuple[Normaliser, ...]:
    """Return the normalisers that ``NAME+NAME`` names, to be applied in this order.

    Each may have options, ``NAME:KEY=VALUE,KEY=VALUE``, or ``NAME:VALUE``, which is its first.

    Examples
    --------
    >>> [type(each).__name__ for each in parse_normaliser("lower+punctuation")]
    ['Lower', 'Punctuation']
    >>> parse_normaliser("drop:[noise]") == parse_normaliser("drop:words=[noise]")
    True
    """
    found = []
    for item in specification.split("+"):
        name, text = split_name(item)
        if not name or (not text and item.strip() != name):
            raise OptionError(f"{specification!r}: expected NAME+NAME, or NAME:FILE")
        kind = NORMALISERS.get(name)
        try:
            made = _make(kind, name, text)
        except TypeError as problem:
            needed = "no argument" if text else "an argument, as in NAME:FILE"
            raise OptionError(f"the normaliser {name} takes {needed} ({problem})") from problem
        except (Error, OSError):
            raise
        except Exception as problem:
            reason = f"{type(problem).__name__}: {problem}"
            raise PluginError(f"{NORMALISERS.describe(name)} cannot be made: {reason}") from problem
        if list_missing(made, ("sentence", "waits", "covers")):
            if not callable(made):
                raise OptionError(f"the normaliser {name} is {made!r:.60}, expected a function")
            made = TextFunction(made)
        found.append(made)
    return tuple(found)


def _make(kind: Any, name: str, text: str) -> Any:
    """Return a normaliser; a dataclass has options, what else there is may take a text."""
    if not (text and is_dataclass(kind) and isinstance(kind, type)):
        return kind(text) if text else kind()
    known = option_fields(kind)
    given = [(next(iter(known)), text)]
    if text.partition("=")[0] in known:
        given = [split_option(each, name) for each in split_items(text)]
    return kind(**read_options(kind, given, f"normaliser {name}"))
