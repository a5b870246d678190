"""``fstmetrics completion``: scripts that complete commands, options and names in a shell."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from lattices.errors import Error
from lattices.options import option_starts

SUMMARY = "a script that completes commands, options and names in your shell"
DESCRIPTION = """\
Print a script for a shell, which completes commands, options, and the names of metrics, formats,
methods, learners, engines and normalisers, those of installed plug-ins included, and their options,
as in --metric grr:<TAB>, --set <TAB> or --option <TAB>; files elsewhere. It is made of the same
parsers as the help. Make it again after an update.
"""
EXAMPLES = """\
examples:
  source <(fstmetrics completion bash)                              # in ~/.bashrc
  fstmetrics completion zsh > ~/.zfunc/_fstmetrics                  # a folder of $fpath
  fstmetrics completion fish > ~/.config/fish/completions/fstmetrics.fish
"""
OPTIONS = """\
shell bash|zsh|fish  the shell that the script is for
--line WORD: rest  instead print what may be the last of these words, where it is an option of a
    metric, format, method or learner: what the script asks
"""
#: names with anything else in them would have to be quoted, differently in each shell
_PLAIN = re.compile(r"[\w.+-]+")
#: values that are no files: numbers, templates, words
_FILES = {"FILE", "OUT", "DIR", None}


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    if arguments.line:
        print("\n".join(complete_option(arguments.line)))
        return 0
    from decoding.cli.main import build_parser

    write = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[arguments.shell]
    print(write(describe_command(build_parser(), _names())), end="")
    return 0


#: whose options follow its name and a colon; and the value of which option names whose they are
_NAMED = {"--metric": "metric", "--method": "method", "--learner": "learner"}
_BESIDE = {"--set": ("--method", "--learner"), "--option": ("--input-format",),
           "--write-option": ("--to",)}  # fmt: skip
#: what `case` compares with an option and the word behind it
_ASKED = "|".join([*(f"'{each} '*:*" for each in _NAMED), *(f"'{each} '*" for each in _BESIDE)])


def complete_option(line: Sequence[str]) -> list[str]:
    """Return what the last word of a command may be, if it is an option of what another names.

    Examples
    --------
    >>> complete_option(["fstmetrics", "oracle", "--metric", "grr:n=2,al"])
    ['grr:n=2,alpha=']
    >>> complete_option(["fstmetrics", "mbr", "--method", "linear", "--set", "p"])
    ['p=']
    >>> complete_option(["fstmetrics", "convert", "--input-format", "htk", "--option", "t"])
    ['tags=drop', 'tags=keep']
    """
    *before, word = [part for each in line for part in _split_equals(each)]
    option = next((each for each in reversed(before) if each.startswith("-")), "")
    if option in _BESIDE:
        values = dict(pairwise(before))
        usual = "--learner" if "train" in before else _BESIDE[option][0]
        namer = next((each for each in _BESIDE[option] if each in values), usual)
        name, head, rest = values.get(namer, "").partition(":")[0], "", word
    elif option in _NAMED and ":" in word:
        namer, (name, _, rest) = option, word.partition(":")
        head = word[: max(word.rfind(":"), word.rfind(",")) + 1]
        rest = word[len(head) :]
    else:
        return []
    try:
        found = _option_starts(namer, name.lower())
    except Error:
        # no such name, or what does not load: the command itself says which
        return []
    return [head + each for each in found if each.startswith(rest)]


def _split_equals(word: str) -> list[str]:
    """Return the two sides of ``--option=value``, or the word."""
    name, equals, value = word.partition("=")
    return [name, value] if equals and name.startswith("--") else [word]


def _option_starts(namer: str, name: str) -> list[str]:
    """Return how options of what has that name may begin."""
    if namer == "--metric":
        from fstmetrics.signature import METRICS, NORMALISERS

        normalise = [f"normalise={each}" for each in NORMALISERS.names()]
        return [*option_starts(METRICS.get(name)), *normalise]
    if namer == "--method":
        from decoding.minimum_risk import METHODS

        return option_starts(METHODS.get("pairwise" if name in ("", "auto") else name))
    if namer == "--learner":
        from decoding.cli.training.options import APART
        from decoding.training.learners import LEARNERS

        return option_starts(LEARNERS.get(name or "mert"), APART)
    from lattices.formats import FORMATS
    from lattices.formats.reading import load_formats

    formats = [FORMATS.get(name)] if name else load_formats()
    options = [
        each.options if namer == "--input-format" else each.write_options for each in formats
    ]
    return list(dict.fromkeys(chain.from_iterable(map(option_starts, options))))


@dataclass
class ShellOption:
    """An option: how it is spelled, what may follow it, and its help."""

    spellings: tuple[str, ...]
    help: str
    takes_value: bool = False
    takes_several: bool = False
    takes_file: bool = False
    values: tuple[str, ...] = ()


@dataclass
class Command:
    """A command with its options, what its plain arguments may be, and commands within it."""

    help: str = ""
    options: list[ShellOption] = field(default_factory=list)
    values: tuple[str, ...] = ()
    commands: dict[str, Command] = field(default_factory=dict)


def _names() -> dict[str, tuple[str, ...]]:
    """Return the values of options that name something, by where argparse stores them."""
    from decoding.minimum_risk import METHODS
    from decoding.training.learners import LEARNERS
    from fstmetrics.signature import METRICS, NORMALISERS, SIGNIFICANCE_TESTS
    from lattices import plugins
    from lattices.registry import Registry

    # whose modules would load numpy
    formats = Registry[object]("lattices.formats", "format", own=plugins.FORMATS).names()
    engines = Registry[object]("lattices.engines", "engine", own=plugins.ENGINES).names()
    metrics = METRICS.names()
    outputs = tuple(dict.fromkeys((*plugins.LAYOUTS, *formats)))
    takers = ("score", "compare", "correlate", "char-bleu", "sweep", "report", "calibrate")
    return {
        **{f"{name} input_format": outputs for name in takers},
        "systems_format": outputs,
        "metric": metrics,
        "metrics name": metrics,
        "input_format": formats,
        "to": formats,
        "formats name": formats,
        "engine": ("auto", *engines),
        "method": ("auto", *METHODS.names()),
        "learner": LEARNERS.names(),
        "normalise": NORMALISERS.names(),
        "test": (*SIGNIFICANCE_TESTS.names(), "all"),
    }


def describe_command(
    parser: argparse.ArgumentParser, names: dict[str, tuple[str, ...]], help: str = ""
) -> Command:
    """Return the options and arguments of a parser."""
    found = Command(help)
    name = parser.prog.rpartition(" ")[2]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            for each, below in action.choices.items():
                found.commands[each] = describe_command(below, names, helps.get(each, ""))
            continue
        values = names.get(f"{name} {action.dest}", names.get(action.dest, action.choices or ()))
        plain = tuple(value for value in map(str, values) if _PLAIN.fullmatch(value))
        if not action.option_strings:
            found.values = plain
            continue
        found.options.append(
            ShellOption(
                tuple(action.option_strings),
                action.help or "",
                takes_value=action.nargs != 0,
                takes_several=action.nargs in ("+", "*"),
                takes_file=not plain and action.metavar in _FILES,
                values=plain,
            )
        )
    return found


def _walk(
    command: Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Iterate over a command and those within it, with the words that lead there."""
    yield path, command
    for name, below in command.commands.items():
        yield from _walk(below, (*path, name))


def _first_words(command: Command) -> list[str]:
    """Return what can be said where a plain argument or an option can be."""
    return [*command.commands, *command.values]


def _spellings(command: Command) -> list[str]:
    return [spelling for option in command.options for spelling in option.spellings]


def _cases(command: Command, add: str, several: bool) -> Iterator[str]:
    """Iterate over the lines of a ``case`` over a command and an option, for bash and zsh.

    ``several`` has those options that go on until the next.
    """
    for path, each in _walk(command):
        for option in each.options:
            if option.values and option.takes_several >= several:
                patterns = "|".join(f"'{' '.join((*path, one))}'" for one in option.spellings)
                yield f"        {patterns}) {add.format(' '.join(option.values))};;"


#: finds the command that is being typed and the option before the cursor; bash counts words
#: from 0, zsh from 1, the name of the program being the first, and `path` is zsh's own
_FIND = """\
    local chain='' option='' away=0 word i
    for ((i = {first}; i < {here}; i++)); do
        word=${{words[i]}}
        case "$word" in
            -*=*) option=${{word%%=*}}; away=1;;
            -*) option=${{word%%=*}}; away=0;;
            *)
                away=$((away + 1))
                case "${{chain:+$chain }}$word" in
                    {known}) [[ -z $option ]] && chain=${{chain:+$chain }}$word;;
                esac;;
        esac
    done
"""


def _find(command: Command, first: int, here: str) -> str:
    known = "|".join(f"'{' '.join(path)}'" for path, _ in _walk(command) if path)
    return _FIND.format(first=first, here=here, known=known)


def _words_by_command(command: Command, add: str, options: bool) -> Iterator[str]:
    for path, each in _walk(command):
        words = _spellings(each) if options else _first_words(each)
        if words:
            yield f"            '{' '.join(path)}') {add.format(' '.join(words))};;"


def _case(subject: str, lines: Iterable[str], indent: str) -> list[str]:
    return [f'{indent}case "{subject}" in', *lines, f"{indent}esac"]


def _body(command: Command, add: str, current: str, ask: str) -> list[str]:
    """Return what bash and zsh do alike: options, values of an option, or plain arguments."""
    return [
        f'    case "$option {current}" in {_ASKED})',
        f"        {ask}",
        "        return",
        "    esac",
        f"    if [[ {current} == -* ]]; then",
        *_case("$chain", _words_by_command(command, add, True), "        "),
        "    elif [[ -z $option ]]; then",
        *_case("$chain", _words_by_command(command, add, False), "        "),
        "    elif ((away == 0)); then",
        *_case("$chain $option", _cases(command, add, False), "        "),
        "    else",
        *_case("$chain $option", _cases(command, add, True), "        "),
        "    fi",
    ]


#: bash cuts words at : and =, and takes what follows the last of them for the word
_BASH_WORDS = """\
    local words=() current here
    COMPREPLY=()
    for current in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        here=$((${#words[@]} - 1))
        if ((here >= 0)) && [[ $current == [:=]* || ${words[here]} == *[:=] ]]; then
            words[here]+=$current
        else
            words+=("$current")
        fi
    done
    here=$((${#words[@]} - 1))
    current=${words[here]}
"""
_BASH_VALUE = """\
    if [[ $current == -*=* ]]; then
        option=${current%%=*} away=0 current=${current#*=}
    fi"""
_BASH_ASK = """\
COMPREPLY=($(compgen -W "$(fstmetrics completion bash --line "${words[@]}")" -- "$current"))
        COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*[:=]}"}"}")
        compopt -o nospace 2> /dev/null"""


def bash_script(command: Command) -> str:
    """Return the script for bash 3.2 or later; where it has no word, bash completes files."""
    add = 'COMPREPLY=($(compgen -W "{}" -- "$current"))'
    return "\n".join(
        [
            "# bash completion of fstmetrics, made by: fstmetrics completion bash",
            "_fstmetrics() {",
            _BASH_WORDS + _find(command, 1, "here") + _BASH_VALUE,
            *_body(command, add, "$current", _BASH_ASK),
            "}",
            "complete -o bashdefault -o default -F _fstmetrics fstmetrics",
            "",
        ]
    )


_ZSH_ASK = "compadd -S '' -- ${(f)\"$(fstmetrics completion zsh --line ${words[1,CURRENT]})\"}"


def zsh_script(command: Command) -> str:
    """Return the script for zsh: to be sourced, or a file of a folder in ``$fpath``."""
    add = "compadd -- {}; found=1"
    return "\n".join(
        [
            "#compdef fstmetrics",
            "# zsh completion of fstmetrics, made by: fstmetrics completion zsh",
            "_fstmetrics() {",
            "    local found=0",
            _find(command, 2, "CURRENT").rstrip("\n"),
            *_body(command, add, "${words[CURRENT]}", _ZSH_ASK),
            "    ((found)) || _files",
            "}",
            'if [[ ${funcstack[1]} == _fstmetrics ]]; then _fstmetrics "$@"',
            "else compdef _fstmetrics fstmetrics",
            "fi",
            "",
        ]
    )


_FISH_ASK = "(fstmetrics completion fish --line (commandline -opc) (commandline -ct))"


def fish_script(command: Command) -> str:
    """Return the script for fish, with the help of every option."""
    lines = ["# fish completion of fstmetrics, made by: fstmetrics completion fish"]
    for path, each in _walk(command):
        here = _fish_condition(path, each)
        for name, below in each.commands.items():
            lines.append(
                f"complete -c fstmetrics -f -n {shlex.quote(here)} -a {name} "
                f"-d {shlex.quote(_shorten(below.help))}"
            )
        if each.values:
            lines.append(
                f"complete -c fstmetrics -f -n {shlex.quote(here)} "
                f"-a {shlex.quote(' '.join(each.values))}"
            )
        lines += [_fish_option(here, option) for option in each.options]
    return "\n".join(lines) + "\n"


def _fish_condition(path: tuple[str, ...], command: Command) -> str:
    seen = [f"__fish_seen_subcommand_from {name}" for name in path]
    if not path:
        return "__fish_use_subcommand"
    if command.commands:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(command.commands)}")
    return "; and ".join(seen)


def _fish_option(here: str, option: ShellOption) -> str:
    parts = ["complete -c fstmetrics", f"-n {shlex.quote(here)}"]
    for spelling in option.spellings:
        is_long = spelling.startswith("--")
        parts.append(f"-l {spelling[2:]}" if is_long else f"-s {spelling[1:]}")
    values = list(option.values)
    if not {*_NAMED, *_BESIDE}.isdisjoint(option.spellings):
        values.append(_FISH_ASK)
    if values:
        parts.append(f"-x -a {shlex.quote(' '.join(values))}")
    elif option.takes_value:
        parts.append("-r -F" if option.takes_file else "-x")
    return " ".join([*parts, f"-d {shlex.quote(_shorten(option.help))}"])


def _shorten(help: str) -> str:
    """Return the beginning of a help text: what a shell has room for."""
    return re.split(r"[;:(]", " ".join(help.split()), maxsplit=1)[0].strip()[:80]
