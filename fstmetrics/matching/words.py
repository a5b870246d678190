"""Stems and synonyms of words, by NLTK."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from lattices.errors import MissingDependencyError, OptionError
from lattices.optional import require

#: words whose stems or synonyms are kept
_KEPT = 100_000


@lru_cache(maxsize=8)
def stemmer(name: str) -> Callable[[str], str]:
    """Return the function from words to stems: Porter's (1980), or that of a language."""
    if name == "porter":
        porter = require("nltk.stem.porter", "stemming").PorterStemmer
        stem: Callable[[str], str] = porter(mode=porter.ORIGINAL_ALGORITHM).stem
        return lru_cache(_KEPT)(stem)
    snowball = require("nltk.stem.snowball", "stemming").SnowballStemmer
    if name not in snowball.languages:
        raise OptionError(f"stemmer={name}: expected one of {', '.join(snowball.languages)}")
    return lru_cache(_KEPT)(snowball(name).stem)


@lru_cache(maxsize=1)
def synonyms() -> Callable[[str], frozenset[str]]:
    """Return the function from English words to the synsets of WordNet that they belong to."""
    wordnet = require("nltk.corpus", "stemming").wordnet
    try:
        wordnet.ensure_loaded()
    except LookupError:
        raise MissingDependencyError(
            "WordNet's data is needed here and not installed: python -m nltk.downloader wordnet"
        ) from None
    return lru_cache(_KEPT)(lambda word: frozenset(each.name() for each in wordnet.synsets(word)))
