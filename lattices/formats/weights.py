r"""Weight files: the weight of each feature, as decoders read them.

``plain``
    Lines ``name value``, as cdec and Joshua have them; ``#`` begins a comment.
``travatar``
    Lines ``name=value``; both spellings may stand in one file.
``moses``
    The section ``[weight]`` of a ``moses.ini``: ``Name= 1 2``. Several values of one name are the
    weights of ``Name_0``, ``Name_1`` and so on, which is what our reader of n-best lists calls
    those features.

Which of them a file is, the file tells: a line ``[weight]`` makes it Moses's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

from lattices.errors import FormatError, OptionError
from lattices.formats.base import split_words
from lattices.formats.fields import finite_number
from lattices.formats.streams import number_lines, open_output

FORMATS = ("plain", "travatar", "moses")
_SECTION = "[weight]"
_OLD_SECTION = re.compile(r"\[weight-\w+\]")
_NUMBERED = re.compile(r"(.+)_(0|[1-9][0-9]*)")


def read_weights(path: str | os.PathLike[str]) -> Mapping[str, float]:
    """Return the weights of a file; read once for as long as the file is the same."""
    name = os.fspath(path)
    if name == "-":
        return _weights_of(name)
    found = os.stat(name)
    return _read_once(name, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read_once(path: str, modified: int, size: int) -> Mapping[str, float]:
    return _weights_of(path)


def _weights_of(path: str) -> Mapping[str, float]:
    lines = list(number_lines(path))
    rows = _read_section(path, lines) if any(_is_section(text) for _, text in lines) else lines
    is_moses = rows is not lines
    weights: dict[str, float] = {}
    for line, text in rows:
        words = split_words(text)
        if not words or words[0].startswith("#"):
            continue
        found = _moses_weights(words) if is_moses else _plain_weight(words)
        if not found:
            raise FormatError(
                f"expected {'a feature, = and weights' if is_moses else 'a feature and its weight'}"
                f", not {text.strip()!r:.40}",
                path,
                line,
            )
        for name, value in found.items():
            if name in weights:
                raise FormatError(f"a second weight of {name!r:.40}", path, line)
            weights[name] = value
    return weights


def _is_section(text: str) -> bool:
    return text.strip() == _SECTION or _OLD_SECTION.fullmatch(text.strip()) is not None


def _read_section(path: str, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the lines of Moses's section of weights."""
    inside = False
    found: list[tuple[int, str]] = []
    for line, text in lines:
        if _OLD_SECTION.fullmatch(text.strip()):
            raise FormatError(
                f"section {text.strip()} is Moses's before 2013; expected {_SECTION}", path, line
            )
        if text.startswith("["):
            inside = text.strip() == _SECTION
        elif inside:
            found.append((line, text))
    return found


def _plain_weight(words: list[str]) -> dict[str, float]:
    if len(words) == 1:
        name, _, value = words[0].rpartition("=")
        words = [name, value]
    number = finite_number(words[1]) if len(words) == 2 else None
    return {} if number is None or not words[0] else {words[0]: number}


def _moses_weights(words: list[str]) -> dict[str, float]:
    name, values = words[0], [finite_number(word) for word in words[1:]]
    numbers = [value for value in values if value is not None]
    if name[-1] != "=" or name == "=" or not numbers or len(numbers) < len(values):
        return {}
    if len(numbers) == 1:
        return {name[:-1]: numbers[0]}
    return {f"{name[:-1]}_{place}": number for place, number in enumerate(numbers)}


def write_weights(
    weights: Mapping[str, float],
    path: str | os.PathLike[str],
    format: str = "plain",
    template: str | os.PathLike[str] | None = None,
) -> None:
    """Write weights, all at once or not at all, with all digits it takes to read them back."""
    if format not in FORMATS:
        raise OptionError(f"unknown format of weights {format!r}, expected {', '.join(FORMATS)}")
    if template is not None and format != "moses":
        raise OptionError("a template is a moses.ini, and only format moses has one")
    for name in weights:
        if not name or split_words(name) != [name] or name[0] in "#[":
            raise OptionError(f"a weight file cannot hold a feature called {name!r}")
    if format == "moses":
        lines = _moses_lines(weights)
        if template is not None:
            lines = _fill_template(template, lines)
    else:
        mark = "=" if format == "travatar" else " "
        lines = [f"{name}{mark}{float(value)!r}" for name, value in weights.items()]
    with open_output(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode("utf-8"))


def _moses_lines(weights: Mapping[str, float]) -> list[str]:
    groups: dict[str, list[float]] = {}
    for name, value in weights.items():
        numbered = _NUMBERED.fullmatch(name)
        family = numbered[1] if numbered else name
        if numbered and len(groups.setdefault(family, [])) == int(numbered[2]):
            groups[family].append(float(value))
        elif numbered:
            raise OptionError(f"Moses numbers weights from 0 on, in order; {name!r} comes too soon")
        elif family in groups:
            raise OptionError(f"Moses cannot have weights of both {family!r} and {family + '_0'!r}")
        else:
            groups[family] = [float(value)]
    for name, values in groups.items():
        if len(values) == 1 and f"{name}_0" in weights:
            raise OptionError(f"Moses would read the one weight {name + '_0'!r} as {name!r}")
    return [_SECTION, *(f"{name}= {' '.join(map(repr, each))}" for name, each in groups.items())]


def _fill_template(template: str | os.PathLike[str], section: list[str]) -> list[str]:
    result: list[str] = []
    inside = replaced = False
    for _, text in number_lines(os.fspath(template)):
        if text.startswith("["):
            inside = text.strip() == _SECTION
            if inside:
                # blank lines before the next section stay as they are
                result += [] if replaced else section
                replaced = True
        if not inside or not text.strip():
            result.append(text)
    if not replaced:
        raise OptionError(f"{os.fspath(template)} has no section {_SECTION} to put weights into")
    return result
