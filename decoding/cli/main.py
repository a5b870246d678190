"""The command ``fstmetrics``: arguments, exit codes, and errors in one line.

The module of a command has ``SUMMARY`` (one line for the list), ``DESCRIPTION`` and ``EXAMPLES``
(for its help), ``OPTIONS`` (see :mod:`decoding.cli.option_table`) and ``run(arguments)``, which
returns the exit code.
Nothing heavy is imported here or in these modules; what a command needs is imported when it runs.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Collection, Iterable, Sequence
from contextvars import copy_context
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from decoding.cli.arguments import check_inputs, check_outputs, spellings
from decoding.cli.option_table import add_options
from decoding.cli.running import check_running
from decoding.cli.terminal import detail, is_verbose, say, score_style, volume

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: the commands, in the order of the help, and the folder that the module of each is in
COMMANDS = {
    "oracle": "choice",
    "mbr": "choice",
    "tune": "choice",
    "tune-mbr": "choice",
    "train": "training",
    "rescore": "choice",
    "score": "evaluation",
    "compare": "evaluation",
    "choices": "evaluation",
    "report": "evaluation",
    "correlate": "evaluation",
    "calibrate": "evaluation",
    "study": "evaluation",
    "info": "spaces",
    "convert": "spaces",
    "features": "spaces",
    "nbest": "spaces",
    "prune": "spaces",
    "sample": "spaces",
    "union": "spaces",
    "confusion": "spaces",
    "find": "spaces",
    "compile": "spaces",
    "formats": "about",
    "metrics": "about",
    "demo": "about",
    "doctor": "about",
    "completion": "about",
}

#: objects that are made before garbage is looked for
COLLECTED = 100_000
INTERRUPTED, BROKEN_PIPE = 130, 141
#: what is added to the number of a signal that has ended a command, as shells do
SIGNALLED = 128

_EPILOG = """\
examples:
  fstmetrics demo
  fstmetrics oracle lattices.jsonl.gz --metric wer
  fstmetrics oracle lattices/ --refs refs.txt --metric grr wer --summary summary.json -o oracles.tsv

exit codes:
  0  all is well
  1  some segments failed; the results of the others are written
  2  wrong usage, unreadable input, or no result at all; no file is written
"""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Looks how wide the terminal is when help is shown: argparse makes one for each argument."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=0)

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        wide = argparse.HelpFormatter(self._prog)
        self._width, self._max_help_position = wide._width, wide._max_help_position
        return super().format_help()


class _Parser(argparse.ArgumentParser):
    """Says what is wrong, and what to type instead, in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit."""
        if message.startswith(_MISSING):
            # what is missing is there, perhaps, and misspelt
            known = {name for action in self._actions for name in action.option_strings}
            names = [each.partition("=")[0] for each in self.given if each.startswith("-")]
            for name in names:
                if len(name) > 1 and name not in known and (near := _list_near(name, known)):
                    message = f"{self.prog} has no option {name}{near}"
                    break
        say(f"error: {_mend_message(message, self.prog)}")
        self.exit(2)

    #: what was typed behind the command
    given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Remember what was typed."""
        self.given = args or ()
        return super().parse_known_args(args, namespace)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the arguments; the error of one that is unknown names those that are near."""
        # a command that is missing or misspelt, before argparse lists all of them
        _check_command(self, args)
        found: argparse.Namespace
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = getattr(found, "study_parser", found.parser)
            names = [name for action in parser._actions for name in action.option_strings]
            option = next((each for each in unknown if each.startswith("-")), unknown[0])
            near = _list_near(option.partition("=")[0], names)
            parser.error(
                f"{parser.prog} has no option {option}{near}"
                if option.startswith("-")
                else f"{option}: one argument too many"
            )
        return found


_MISSING = "the following arguments are required: "
#: options that other programs call so
_SYNONYMS = {"-n": "-k", "--nbest": "-k", "-r": "--refs", "-m": "--metric", "-j": "--workers"}


def _mend_message(message: str, prog: str) -> str:
    """Return a message of argparse in the words of the others; ours stay."""
    needed = message.removeprefix(_MISSING)
    if needed != message:
        return f"{prog} needs {needed}; see: {prog} --help"
    found = re.fullmatch(r"(.*): invalid choice: '(.*)' \(choose from (.*)\)", message)
    if found:
        near = _list_near(found[2], re.findall(r"'([^']*)'", found[3]))
        return f"{message}{near}"
    return f"{message}; see: {prog} --help" if message.startswith("argument ") else message


def _check_command(parser: argparse.ArgumentParser, given: Sequence[str]) -> None:
    """Refuse a command that there is not, and say which is near."""
    if not given:
        parser.error("no command; 'fstmetrics --help' lists all, 'fstmetrics demo' shows one")
    name = given[0]
    command = next((each for each in given if each in COMMANDS), "")
    if name.startswith("-") and command and name not in ("-h", "--help", "--version"):
        parser.error(f"options stand behind the command, as: fstmetrics {command} {name}")
    if name in COMMANDS or name.startswith("-"):
        return
    if os.path.exists(name):
        parser.error(f"{name} is a file; a command comes first, as: fstmetrics info {name}")
    if name == "help":
        parser.error(f"it is an option: fstmetrics {' '.join([*given[1:2], '--help'])}")
    # what people call commands after
    near = {"wer": "score", "cer": "score", "bleu": "score"}.get(name.lower())
    hint = f"; did you mean {near}?" if near else _list_near(name, COMMANDS)
    parser.error(f"no command {name!r}{hint or '; fstmetrics --help lists all'}")


def _list_near(name: str, names: Collection[str]) -> str:
    """Return the question whether one of these names was meant."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), list(names), n=2, cutoff=0.6)
    if name.startswith("-") and f"-{name}" in names:
        near = [f"-{name}"]
    elif _SYNONYMS.get(name) in names:
        near = [_SYNONYMS[name]]
    return f"; did you mean {' or '.join(near)}?" if near else ""


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(_version())
        parser.exit()


def _version() -> str:
    import decoding

    return f"fstmetrics {decoding.__version__}"


def build_parser(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of the command and of these subcommands."""
    parser = _Parser(
        prog="fstmetrics",
        description="Oracles, MBR and training over a decoder's lattices, forests and lists.",
        epilog=_EPILOG,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, prog=parser.prog
    )
    for name in names:
        module = import_module(f"decoding.cli.{COMMANDS[name]}.{name.replace('-', '_')}")
        subparser = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=module.EXAMPLES,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        if hasattr(module, "add_studies"):
            # each has a parser of its own
            module.add_studies(subparser)
        else:
            add_options(subparser, module.OPTIONS + "\n@volume")
        # what some do before their inputs are looked at
        prepare = getattr(module, "prepare", None)
        subparser.set_defaults(run=module.run, prepare=prepare, parser=subparser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; ``argv`` is the process's own by default."""
    if argv is None:
        # most of what is allocated are modules, which stay: nothing to look through them for
        gc.set_threshold(COLLECTED)
        _mend_streams()
        _catch_signals()
    try:
        # names of options do not outlive the command, wherever an interrupt meets it
        code = copy_context().run(_run, sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        return _exit_interrupted(interrupt)
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except Exception as problem:
        if isinstance(problem.__cause__, KeyboardInterrupt):
            # that of an extension module that was being loaded
            return _exit_interrupted(problem.__cause__)
        plugin = _explain_plugin(problem)
        if not (plugin or _is_expected(problem)):
            raise
        say(f"error: {_join_lines(plugin or problem)}")
        if isinstance(problem, OSError) and problem.filename == "<stdout>":
            _discard_output()
        return 2
    return code


class _Terminated(KeyboardInterrupt):
    """What ends a command as an interrupt does: its argument is the signal."""


def _catch_signals() -> None:
    """End in order when asked to, or when the terminal is closed: no file is left half-written."""

    def terminate(number: int, _: object) -> None:
        raise _Terminated(number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup has commands ignore it
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, terminate)


def _exit_interrupted(interrupt: KeyboardInterrupt) -> int:
    return SIGNALLED + interrupt.args[0] if isinstance(interrupt, _Terminated) else INTERRUPTED


def _run(given: Sequence[str]) -> int:
    """Run a command, with messages that name its options, and warnings of one line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {_join_lines(message)}")

    # a command that comes first is the only one that is wanted, and a version needs none
    names: Iterable[str] = [name for name in given[:1] if name in COMMANDS]
    if not names and list(given) != ["--version"]:
        names = COMMANDS
    try:
        arguments = build_parser(names).parse_args(given)
        if arguments.command == "doctor":
            # works where nothing else can be imported
            return int(arguments.run(arguments))
        from lattices.errors import spell_arguments

        if any(each.startswith(("ark", "scp")) for each in given):
            from decoding.cli.specifiers import take_specifiers

            take_specifiers(arguments, given)
        if arguments.prepare is not None:
            arguments.prepare(arguments)
        check_outputs(arguments)
        # those of `fstmetrics study` have a parser of their own for each study
        arguments.parser = getattr(arguments, "study_parser", arguments.parser)
        with (
            spell_arguments(spellings(arguments.parser)),
            warnings.catch_warnings(),
            volume(arguments),
            score_style(arguments),
        ):
            warnings.showwarning = show
            started = time.perf_counter()
            if is_verbose():
                detail(_version())
            if hasattr(arguments, "dask"):
                check_running(arguments)
            if hasattr(arguments, "paths"):
                check_inputs(arguments)
            code: int = arguments.run(arguments)
            detail(f"{time.perf_counter() - started:.2f} s in all, exit code {code}")
    except SystemExit as ending:
        # argparse has printed what there is to say
        return ending.code if isinstance(ending.code, int) else 0
    return code


class _Standard(io.FileIO):
    """Standard output, whose errors name it; or error: that it is full is no reason to fail."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as problem:
            if self.fileno() == 2:
                return memoryview(data).nbytes
            problem.filename = "<stdout>"
            raise


def _mend_streams() -> None:
    """Have all three standard streams, whatever the process was started with.

    The next file that is opened would get the number of a closed stream, and what is meant for
    the stream would go into that file. A place holder of standard input is open for writing
    only, and one of output for reading, so that whoever uses it is told.
    """
    for number, access in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            holder = os.open(os.devnull, access)
            if holder != number:
                os.dup2(holder, number)
                os.close(holder)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.BufferedWriter(_Standard(number, "w", closefd=False)),
            encoding=getattr(stream, "encoding", None),
            errors=getattr(stream, "errors", None),
            line_buffering=number == 2 or os.isatty(number),
        )
        for number, stream in ((1, sys.stdout), (2, sys.stderr))
    )


def _is_expected(problem: Exception) -> bool:
    """Tell whether an error is one of the library's own, or one of the system."""
    errors = sys.modules.get("lattices.errors")
    return isinstance(problem, OSError | MemoryError) or (
        errors is not None and isinstance(problem, errors.Error)
    )


def _explain_plugin(problem: Exception) -> str:
    """Return what an error says that comes from a plug-in and was not raised on purpose."""
    errors, registry = (sys.modules.get(f"lattices.{name}") for name in ("errors", "registry"))
    if errors is None or registry is None or isinstance(problem, errors.Error):
        return ""
    said: str = registry.explain_failure(problem)
    return said


def _join_lines(problem: Exception | str) -> str:
    if isinstance(problem, MemoryError):
        return "there is not enough memory"
    if isinstance(problem, IsADirectoryError):
        return f"{problem.filename} is a folder, and a file is wanted: name those in it"
    if isinstance(problem, OSError) and problem.strerror:
        place = f"{problem.filename}: " if problem.filename is not None else ""
        return f"{place}{problem.strerror}"
    return " ".join(str(problem).split("\n"))


def _discard_output() -> None:
    """Keep the interpreter from flushing into a pipe that is closed, or a full disk, as it ends."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
