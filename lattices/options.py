"""Options in text, ``name:key=value,key=value``: taken apart, read as fields say, and written.

============ ====================================================================================
what         how it is written
============ ====================================================================================
named thing  ``NAME``, or ``NAME:OPTION,OPTION``: a metric, a method, a learner
..           ``python:MODULE:NAME``, or ``python:MODULE:NAME,OPTION,OPTION``
option       ``KEY=VALUE``; commas in parentheses, brackets and braces belong to the value
truth        ``true`` or ``false``
number       as in Python
nothing      ``none``, where a field may have none
list         ``1/2/3``; or ``1,2,3`` where no other option follows, or JSON
named thing  ``NAME(OPTION,OPTION)`` inside another, as in ``similarity=affix(epsilon=0.3)``
text         as it is
all else     JSON, such as ``{"lm": [0, null]}``
============ ====================================================================================
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lattices.errors import OptionError

#: what is expected of a value
_KINDS: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number"}
_UNIONS = (Union, UnionType)
_OPENING, _CLOSING = "([{", ")]}"


def split_named(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the name and the options of ``NAME:KEY=VALUE,KEY=VALUE``.

    Examples
    --------
    >>> split_named("wer:similarity=affix(epsilon=0.3,other=1),x=2")
    ('wer', [('similarity', 'affix(epsilon=0.3,other=1)'), ('x', '2')])
    >>> split_named("python:my_module:Mine,x=2")
    ('python:my_module:Mine', [('x', '2')])
    """
    name, options = split_name(text)
    return name, [split_option(item, name) for item in split_items(options)]


def split_name(text: str) -> tuple[str, str]:
    """Return the two sides of ``NAME:REST``, or of ``python:MODULE:NAME,REST``.

    Examples
    --------
    >>> split_name("glm:en.glm"), split_name("python:my_module:mine,en.glm"), split_name("lower")
    (('glm', 'en.glm'), ('python:my_module:mine', 'en.glm'), ('lower', ''))
    """
    name, _, rest = text.strip().partition(":")
    if name == "python":
        # a name with colons of its own
        name, _, rest = text.strip().partition(",")
    return name, rest


def split_items(options: str) -> list[str]:
    """Return what stands between commas outside parentheses, brackets and braces."""
    items: list[str] = []
    depth, begin = 0, 0
    for index, character in enumerate(options):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            items.append(options[begin:index].strip())
            begin = index + 1
    if depth:
        raise OptionError(f"parentheses do not match in {options!r}")
    items.append(options[begin:].strip())
    return items if options else []


def split_option(item: str, name: str) -> tuple[str, str]:
    """Return the two sides of ``KEY=VALUE``, an option of what has this name."""
    key, equals, value = item.partition("=")
    if not (key and equals and value):
        raise OptionError(f"{item!r} in {name!r}: expected key=value")
    return key, value


def unknown_option(
    what: str, name: str, known: Iterable[str], spell: Callable[[str], str] = str
) -> OptionError:
    """Return the error that there is no option of that name, but others, some of them close.

    ``spell`` gives names as the caller knows them.

    Examples
    --------
    >>> unknown_option("learner mert", "restart", ["restarts", "spread"])
    OptionError("learner mert has no option 'restart' (it has restarts, spread); \
    did you mean restarts?")
    """
    import difflib

    some = list(known)
    close = difflib.get_close_matches(name, some, n=3)
    hint = f"; did you mean {' or '.join(map(spell, close))}?" if close else ""
    names = ", ".join(map(spell, some)) or "none"
    return OptionError(f"{what} has no option {spell(name)!r} (it has {names}){hint}")


def read_options(
    kind: type[Any],
    given: Iterable[tuple[str, str]],
    what: str,
    *,
    skip: Iterable[str] = (),
    spell: Callable[[str], str] = str,
    readers: Mapping[str, Callable[[str], Any]] | None = None,
) -> dict[str, Any]:
    """Return options of a dataclass, from text to what their fields say they are."""
    known = option_fields(kind, skip)
    options: dict[str, Any] = {}
    for name, text in given:
        if name not in known:
            raise unknown_option(what, name, known, spell)
        if name in options:
            raise OptionError(f"{what}: {spell(name)} is given twice")
        if readers is not None and name in readers:
            options[name] = readers[name](text)
            continue
        hint = _hint_of(kind, known[name])
        try:
            options[name] = read_value(hint, text)
        except ValueError:
            raise OptionError(
                f"{what}: {spell(name)} is {describe_expected(hint)}, not {text!r}"
            ) from None
    return options


class Option(str):
    """The help of an option that is no field of a class, with what its value is.

    Formats have them; where the help is plain text, any value is taken as it comes.

    Parameters
    ----------
    help : str
    kind : type, or tuple of str
        As of a field; or the words that the value can be, the default first.
    default : optional
        For the help: what it is if the option is not given.
    least : int, optional
        Of a whole number.

    Examples
    --------
    >>> known = {"tags": Option("what becomes of <s>", ("drop", "keep"))}
    >>> known["tags"]
    'drop (default) or keep: what becomes of <s>'
    >>> take_options(known, {"tags": "keep"}, "format htk")
    {'tags': 'keep'}
    >>> take_options(known, {"tags": "yes"}, "format htk")
    Traceback (most recent call last):
    lattices.errors.OptionError: format htk: tags is one of drop, keep, not 'yes'
    """

    kind: Any
    least: int | None

    def __new__(
        cls, help: str, kind: Any, default: object = None, least: int | None = None
    ) -> Option:
        """Put in front of the help what the value may be, and is by default."""
        if isinstance(kind, tuple):
            kind, default = Literal[kind], kind[0]
        usual, words = write_value(default), option_words(kind)
        if words:
            *rest, last = [f"{each} (default)" if each == usual else each for each in words]
            help = f"{', '.join(rest)} or {last}: {help}"
        elif default is not None:
            help = f"{help} (default: {usual})"
        made = super().__new__(cls, help)
        made.kind, made.least = kind, least
        return made

    def take(self, value: object) -> Any:
        """Return a value, from text or as it is meant; ValueError if it is none."""
        taken = read_value(self.kind, value if isinstance(value, str) else write_value(value))
        if isinstance(taken, float) and not math.isfinite(taken):
            raise ValueError(value)
        if self.least is not None and taken < self.least:
            raise ValueError(value)
        return taken

    @property
    def expected(self) -> str:
        """What a value is called in a message."""
        finite = "a finite number" if self.kind is float else describe_expected(self.kind)
        return finite + ("" if self.least is None else f" from {self.least} on")


def take_options(
    known: Mapping[str, str], given: Mapping[str, object], what: str
) -> dict[str, Any]:
    """Return options as what they are known to be, from text or Python; see :class:`Option`."""
    taken: dict[str, Any] = {}
    for name, value in sorted(given.items()):
        if name not in known:
            raise unknown_option(what, name, sorted(known))
        option = known[name]
        if not isinstance(option, Option):
            taken[name] = value
            continue
        try:
            taken[name] = option.take(value)
        except (TypeError, ValueError):
            raise OptionError(f"{what}: {name} is {option.expected}, not {value!r}") from None
    return taken


def option_words(kind: Any) -> list[str]:
    """Return the words that a value of a type can be, if they are few; for help and completion.

    Examples
    --------
    >>> option_words(bool), option_words(Literal["auto", "input"] | None), option_words(int)
    (['true', 'false'], ['auto', 'input'], [])
    """
    plain = _plain(kind)
    if plain is bool:
        return ["true", "false"]
    return list(map(str, get_args(plain))) if get_origin(plain) is Literal else []


def option_fields(kind: type[Any], skip: Iterable[str] = ()) -> dict[str, Field[Any]]:
    """Return the fields of a dataclass that are options, by name."""
    left_out = frozenset(skip)
    return {each.name: each for each in fields(kind) if each.init and each.name not in left_out}


def _hint_of(kind: type[Any], field: Field[Any]) -> Any:
    """Return the type of a field; of one that only type checkers know, the type of its default."""
    if not isinstance(field.type, str):
        return field.type
    owner = next(one for one in kind.__mro__ if field.name in vars(one).get("__annotations__", {}))
    names = vars(sys.modules[owner.__module__])
    try:
        found = get_type_hints(SimpleNamespace(__annotations__={field.name: field.type}), names)
    except (NameError, TypeError):
        default = field.default
        return type(default) if isinstance(default, bool | int | float) else str
    return found[field.name]


def _plain(hint: Any) -> Any:
    """Return what an optional thing is if it is there."""
    some = get_args(hint)
    if get_origin(hint) in _UNIONS and NoneType in some and len(some) == 2:
        return next(each for each in some if each is not NoneType)
    return hint


def _item_of(hint: Any) -> Any:
    """Return what the items of a list are, if the hint is one of texts or numbers; or None."""
    origin, inside = get_origin(hint), get_args(hint)
    is_list = isinstance(origin, type) and issubclass(origin, Iterable)
    if is_list and not issubclass(origin, Mapping) and inside[0] in (str, int, float):
        return inside[0]
    return None


def describe_expected(hint: Any) -> str:
    """Return what a value of a type is called in a message."""
    plain = _plain(hint)
    if plain in _KINDS:
        return _KINDS[plain]
    if get_origin(plain) is Literal:
        return "one of " + ", ".join(map(str, get_args(plain)))
    item = _item_of(plain)
    if item is None:
        return "JSON"
    return "a list of " + ("texts" if item is str else "numbers")


def read_value(hint: Any, text: str) -> Any:
    """Return a value of a type; ValueError if the text is none."""
    plain = _plain(hint)
    if plain is not hint and text == "none":
        return None
    if plain is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    if plain in (int, float):
        return plain(text)
    if plain is str or (get_origin(plain) in _UNIONS and str in get_args(plain)):
        return text
    if get_origin(plain) is Literal:
        if text not in get_args(plain):
            raise ValueError(text)
        return text
    item = _item_of(plain)
    if item is None or text.startswith("["):
        import json

        return json.loads(text)
    return [item(each) for each in text.split("," if "," in text else "/") if each]


def write_value(value: object) -> str:
    """Return a value as an option's text, which :func:`read_value` reads back."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, list | tuple):
        return "/".join(map(write_value, value))
    return "none" if value is None else str(value)


def option_starts(known: type[Any] | Mapping[str, str], skip: Iterable[str] = ()) -> list[str]:
    """Return how options begin, for completion: up to the value, or with each that it can be.

    Examples
    --------
    >>> option_starts({"tags": Option("tags", ("drop", "keep")), "symbols": "a file"})
    ['tags=drop', 'tags=keep', 'symbols=']
    """
    if isinstance(known, Mapping):
        hints = {name: getattr(each, "kind", str) for name, each in known.items()}
    else:
        options = option_fields(known, skip).items()
        hints = {name: _hint_of(known, each) for name, each in options}
    return [f"{name}={word}" for name, hint in hints.items() for word in option_words(hint) or [""]]


def option_texts(kind: type[Any], skip: Iterable[str] = ()) -> list[str]:
    """Return the options with their defaults as they are written; alone what has no default.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Search:
    ...     depth: int = 3
    ...     floor: float | None = None
    >>> option_texts(Search)
    ['depth=3', 'floor']
    """
    return [
        name if each.default in (None, MISSING, ()) else f"{name}={write_value(each.default)}"
        for name, each in option_fields(kind, skip).items()
    ]
