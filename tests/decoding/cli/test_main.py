"""What all commands have in common: start-up, exit codes, errors."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

import pytest

import decoding
import lattices
from decoding.cli import main as cli
from tests.decoding.cli.commandline import EVERY, cats, every_input, lattice_line

#: what no oracle needs
UNUSED = {"networkx", "pynini", "pyarrow", "scipy", "ssl", "importlib.metadata",
          "concurrent.futures", "decoding.cli.choice.mbr", "decoding.cli.training.train",
          "decoding.plots", "fstmetrics.dependency"}  # fmt: skip
HEAVY = {"numpy", "scipy", "networkx", "lattices._native", "fstmetrics._native"}


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("name", ["lattices", "fstmetrics", "decoding", "decoding.cli.main"])
def test_importing_is_light(name: str) -> None:
    code = f"import sys, {name}; print(*sys.modules)"
    assert not HEAVY & set(python(code).split())


def test_what_needs_no_data_is_light() -> None:
    calls = (
        *(["--version"], ["--help"], ["oracle", "--help"], ["compile", "--help"]),
        *(["completion", "bash"], ["orakel"], []),
    )
    code = (
        f"import sys; from decoding.cli.main import main; codes = [main(c) for c in {calls}]; "
        "print('MODULES', ''.join(map(str, codes)), *sys.modules)"
    )
    codes, *modules = python(code).partition("MODULES")[2].split()
    assert codes == "0000022"
    assert not HEAVY & set(modules)


def test_a_command_loads_only_what_it_needs(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 2)
    code = (
        "import sys; from decoding.cli.main import main; "
        f"code = main(['oracle', {str(path)!r}, '-q']); print('MODULES', code, *sys.modules)"
    )
    code, *modules = python(code).partition("MODULES")[2].split()
    assert code == "0"
    assert not UNUSED & set(modules)


@pytest.mark.parametrize(
    "line",
    [
        "oracle one.ark --refs refs.txt --refs-format plain -q -o out",
        "mbr one.ark --method edit -q -o out",
        "nbest one.ark -q -o out.jsonl",
        "nbest one.ark -q -o out.nbest",
        "convert one.ark -q -o out.jsonl",
        "prune one.ark --beam 9 -q -o out.ark.txt",
        "score refs.txt --refs refs.txt --refs-format plain -q -o out",
    ],
)
def test_one_lattice_needs_little(line: str, tmp_path: Path) -> None:
    """Neither scipy nor a look through what is installed, nor formats that the suffix rules out."""
    (space,) = lattices.read(cats(tmp_path / "cats.jsonl", 1))
    symbols = str(tmp_path / "words.txt")
    lattices.write(
        tmp_path / "one.ark", [space.replaced(references=())], "kaldi-binary", symbols=symbols
    )
    (tmp_path / "refs.txt").write_text("the cat sat\n")
    argv = line.split()
    if argv[0] != "score":
        argv += ["--option", f"symbols={symbols}"]
    code = (
        f"import os, sys; os.chdir({str(tmp_path)!r}); from decoding.cli.main import main; "
        f"code = main({argv}); print('MODULES', code, *sys.modules)"
    )
    code, *modules = python(code).partition("MODULES")[2].split()
    assert code == "0"
    unused = {*UNUSED, "lattices.formats.arrow.ipc", "lattices.formats.htk.slf"}
    # the text that is scored may be in any format of others
    needed = {"decoding.cli.choice.mbr"} if argv[0] == "mbr" else {"importlib.metadata"}
    assert not (unused - needed if argv[0] in ("mbr", "score") else unused) & set(modules)


@pytest.mark.parametrize(
    "earlier",
    [
        "import decoding.extraction.oracle_search",
        "from decoding.extraction.oracle_search import Oracle",
        "",
    ],
)
def test_the_package_s_oracle_is_the_function(earlier: str) -> None:
    code = f"{earlier}\nfrom decoding import oracle\nimport decoding\n"
    code += "print(type(oracle).__name__, decoding.oracle is oracle)"
    assert python(code).split() == ["function", "True"]


def test_every_exported_name_is_there() -> None:
    for name in decoding.__all__:
        assert getattr(decoding, name).__name__ == name
    assert set(decoding.__all__) <= set(dir(decoding))
    with pytest.raises(AttributeError, match="decoding attribute orakel"):
        decoding.orakel  # noqa: B018


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"fstmetrics {version('fstmetrics')}\n"


def test_the_package_runs_as_the_command(tmp_path: Path) -> None:
    """From any folder, with the same name and the same exit codes."""
    for arguments, code in ((["--version"], 0), (["oracle", "--help"], 0), (["oracel"], 2)):
        module, script = (
            subprocess.run([*how, *arguments], cwd=tmp_path, capture_output=True, check=False)
            for how in (
                [sys.executable, "-m", "fstmetrics"],
                [
                    sys.executable,
                    "-c",
                    "from decoding.cli.main import main; raise SystemExit(main())",
                ],
            )
        )
        assert module.returncode == script.returncode == code
        assert (module.stdout, module.stderr) == (script.stdout, script.stderr)
        assert b"fstmetrics" in module.stdout + module.stderr


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert f"  fstmetrics {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["orakel"],
        ["oracle"],
        ["oracle", "x", "-k", "0"],
        ["oracle", "x", "-k", "two"],
        ["oracle", "x", "--workers", "0"],
        ["oracle", "x", "--budget", "-1"],
        ["oracle", "x", "--memory", "much"],
        ["oracle", "x", "--memory", "-1G"],
        ["oracle", "x", "--model-weight", "inf"],
        ["oracle", "x", "--format", "xml"],
        ["oracle", "x", "--option", "tags"],
        ["oracle", "x", "--refs-format", "trn"],
        ["oracle", "-", "-"],
        ["oracle", "-", "--refs", "-"],
        ["oracle", "x", "-o", "same", "--summary", "same"],
        ["oracle", "x", "--summ", "y"],
        ["score", "x"],
        ["score", "--refs", "y"],
        ["score", "-", "--refs", "-"],
        ["info"],
        ["compile"],
        ["compile", "--ref", "a", "--refs", "b"],
    ],
)
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error: " in printed.err.splitlines()[-1]


@pytest.mark.parametrize("command", ["oracle", "info", "score"])
def test_a_missing_file_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    refs = ["--refs", __file__] if command == "score" else []
    assert cli.main([command, "no/such/file", *refs]) == 2
    assert capsys.readouterr().err == "fstmetrics: error: no/such/file: No such file or directory\n"


@pytest.mark.parametrize("option", ["-o", "--summary"])
def test_a_missing_folder_is_told_before_the_work(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "a.jsonl")
    assert cli.main(["oracle", str(path), option, str(tmp_path / "none" / "out")]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (
        "",
        f"fstmetrics: error: {tmp_path / 'none'}: no such directory\n",
    )


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--metric", "wre"], "no metric named 'wre'; did you mean"),
        (["--metric", "grr:m=2"], "grr has no option 'm'"),
        (["--engine", "opnfst"], "no engine named 'opnfst'; did you mean openfst?"),
        (["--input-format", "jsnl"], "no format named 'jsnl'; did you mean jsonl"),
        (["--option", "colour=red"], "format jsonl has no option 'colour'"),
    ],
)
def test_a_wrong_name_is_one_line(
    extra: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.tsv"
    assert cli.main(["oracle", str(cats(tmp_path / "a.jsonl")), *extra, "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"fstmetrics: error: {message}")
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("decoding.corpus.runner.run", interrupted)
    assert cli.main(["info", str(cats(tmp_path / "a.jsonl"))]) == 130
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_while_modules_are_loaded_is_quiet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise ImportError("the extension") from KeyboardInterrupt()

    monkeypatch.setattr("decoding.corpus.runner.run", interrupted)
    assert cli.main(["info", str(cats(tmp_path / "a.jsonl"))]) == 130
    assert capsys.readouterr() == ("", "")


def test_faults_of_the_program_are_not_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr("decoding.corpus.runner.run", broken)
    with pytest.raises(AssertionError, match="a bug"):
        cli.main(["info", str(cats(tmp_path / "a.jsonl"))])


#: commands that write a file, and commands that write to standard output
TO_A_FILE = ["oracle a.jsonl --metric wer -o out", "convert a.jsonl --to jsonl -o out --workers 2",
             "score hyp --refs ref -o out", "confusion a.jsonl -o out"]  # fmt: skip
TO_STDOUT = ["oracle a.jsonl", "convert a.jsonl", "score hyp --refs ref", "info a.jsonl",
             "metrics", "formats", "--help", "--version"]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "streams", "codes"),
    [
        *((command, streams, {0}) for command in TO_A_FILE
          for streams in ("<&-", ">&-", "2>&-", "2>/dev/full", ">/dev/full", "<&- >&- 2>&-")),
        *((command, streams, {0}) for command in TO_STDOUT for streams in ("2>&-", "2>/dev/full")),
        *((command, streams, {2}) for command in TO_STDOUT for streams in (">&-", ">/dev/full")),
        *((command, "<&-", {2}) for command in ("oracle - -o out", "score - --refs ref -o out")),
        ("oracle nothing -o out", "2>/dev/full", {2}),
        ("oracle", "<&- >&- 2>&-", {2}),
    ],
)  # fmt: skip
def test_closed_and_full_streams(
    command: str, streams: str, codes: set[int], tmp_path: Path
) -> None:
    """Results and exit code 0, or one line and exit code 2."""
    cats(tmp_path / "a.jsonl", 2)
    (tmp_path / "hyp").write_text("a cat\nthe hat\n")
    (tmp_path / "ref").write_text("the cat\nthe hat\n")
    shell = f'"{sys.executable}" -m decoding.cli.main {command} {streams}'
    done = subprocess.run(shell, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in codes, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if done.returncode == 2:
        assert not (tmp_path / "out").exists()
        if "2>" not in streams:
            *notes, problem = done.stderr.splitlines()
            assert problem.startswith("fstmetrics: error: <std")
            assert all(note.startswith("fstmetrics: ") for note in notes)
    else:
        assert done.stdout or (tmp_path / "out").stat().st_size > 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("kind", ["itself", "symbolic link", "hard link", "in a directory"])
@pytest.mark.parametrize(
    "command",
    [
        "oracle a.jsonl --metric wer -o {a.jsonl}",
        "oracle a.jsonl --refs refs -o {refs}",
        "oracle a.jsonl --refs refs --summary {refs} -o out",
        "oracle a.jsonl --option symbols=words -o {words}",
        "oracle a.jsonl --metric wer:similarity=embedding(vectors=words) -o {words}",
        "mbr a.jsonl --evidence b.jsonl -o {b.jsonl}",
        "mbr a.jsonl --systems b.jsonl -o {b.jsonl}",
        "tune a.jsonl --scale 1 --write-weights {a.jsonl} -o out",
        "tune-mbr a.jsonl -o {a.jsonl}",
        "tune-mbr a.jsonl --refs refs --plot {refs} -o out",
        "mbr a.jsonl --confidences --format jsonl --calibration refs -o {refs}",
        "calibrate a.jsonl -o {a.jsonl}",
        "calibrate a.jsonl --refs refs --plot {refs} -o out",
        "train a.jsonl --start weights -o {weights}",
        "train a.jsonl --refs refs --plot {refs} -o out",
        "train a.jsonl --dev b.jsonl --history {b.jsonl} -o out",
        "rescore a.jsonl --weights weights -o {weights}",
        "score refs --refs words -o {words}",
        "score refs --refs words --pra {words} -o out",
        "compare refs words --refs words -o {refs}",
        "correlate refs --refs words --human weights -o {weights}",
        "study sweep refs --refs words --metric grr --option n --values 1,2 -o {words}",
        "info a.jsonl -o {a.jsonl}",
        "convert a.jsonl -o {a.jsonl}",
        "convert a.jsonl --write-option symbols=words --to kaldi -o {words}",
        "convert a.jsonl --write-option ark={a.jsonl} --to kaldi-scp -o out",
        "nbest a.jsonl -o {a.jsonl}",
        "prune a.jsonl --beam 1 -o {a.jsonl}",
        "sample a.jsonl -o {a.jsonl}",
        "union a.jsonl b.jsonl -o {b.jsonl}",
        "confusion a.jsonl --start refs -o {refs}",
        "compile --refs refs -o {refs}",
        "compile --refs refs --symbols {refs} -o out",
    ],
)
def test_no_file_that_is_read_is_written(
    command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        cats(tmp_path / name, 2)
    for name in ("refs", "words", "weights"):
        (tmp_path / name).write_text("x 1\ny 2\n")
    (read,) = re.findall(r"{(.*?)}", command)
    written = read
    if kind == "in a directory":
        (tmp_path / "folder").mkdir()
        os.rename(read, f"folder/{read}")
        written = f"folder/../folder/{read}"
        command = command.replace(f" {read}", " folder" if command.count(f" {read}") else "")
        command = command.replace(f"={read}", f"=folder/{read}")
    elif kind != "itself":
        written = "link"
        (os.symlink if kind == "symbolic link" else os.link)(read, written)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert cli.main(command.replace(f"{{{read}}}", written).split()) == 2
    said = capsys.readouterr().err
    assert f" {written} is a file that this command reads" in said or "are the same file" in said
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("command", ["oracle a.jsonl", "convert a.jsonl", "info a.jsonl"])
@pytest.mark.parametrize("name", ["/proc/out", "x" * 250])
def test_an_output_that_cannot_be_written_is_named(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """And not a hidden file beside it, of which the user knows nothing."""
    monkeypatch.chdir(tmp_path)
    cats(tmp_path / "a.jsonl", 2)
    extra = ["--to", "jsonl"] if command.startswith("convert") else []
    assert cli.main([*command.split(), *extra, "-o", name]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"fstmetrics: error: {name}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize(
    "command",
    ["oracle a.jsonl -q -o {}", "convert a.jsonl --to jsonl -o {}", "oracle a.jsonl --summary {}"],
)
def test_a_full_disk_names_the_file(command: str, tmp_path: Path) -> None:
    """A file of more than a kilobyte is refused, as on a full disk; and a device that is full."""
    cats(tmp_path / "a.jsonl", 400)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    start = [
        sys.executable,
        "-c",
        f"{limit}; import sys; from decoding.cli.main import main; main()",
    ]
    for target, problem in (("out", "File too large"), ("/dev/full", "No space left on device")):
        if "summary" in command and target == "out":
            continue
        line = command.format(target).split()
        done = subprocess.run([*start, *line], cwd=tmp_path, capture_output=True, text=True)
        assert f"fstmetrics: error: {target}: {problem}\n" in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    path = cats(tmp_path / "a.jsonl", 3000)
    command = [sys.executable, "-m", "decoding.cli.main", "oracle", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"s0\t1.0")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_the_command_reads_standard_input(tmp_path: Path) -> None:
    path = cats(tmp_path / "a.jsonl", 2)
    command = [str(Path(sys.executable).with_name("fstmetrics")), "oracle", "-", "-q"]
    if not Path(command[0]).exists():
        pytest.skip("the command is not installed beside the interpreter")
    done = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"s0\t1.0\tthe cat\ns1\t1.0\tthe cat\n"


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["convert", "CATS", "-o", "x.txt"], "no format by the suffix of 'x.txt'; --to is one of"),
        (["convert", "CATS", "--to", "sausages", "--write-option", "binary=true", "-o", "x"],
         "binary=true needs --write-option symbols=FILE"),
        (["oracle", "odd.txt", "--refs", "odd.txt"], "say which by --input-format NAME"),
        (["oracle", "small.fst", "--refs", "odd.txt"], "--option symbols=FILE gives"),
        (["mbr", "CATS", "--metric", "wer", "--method", "edit", "--candidates", "3"],
         "method edit has no option '--candidates' (it has --set decode, "),
    ],
)  # fmt: skip
def test_messages_name_options(
    argv: list[str],
    message: str,
    workers: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What Python calls by the names of arguments has other names in the shell."""
    monkeypatch.chdir(tmp_path)
    cats(tmp_path / "CATS", refs=False)
    (tmp_path / "odd.txt").write_text("0\t1\t2.5\thi\n1\t2\t3.5\tyou\n")
    one = [next(lattices.read("CATS"))]
    lattices.write("small.fst", one, "openfst", symbols="words.txt")
    assert cli.main([*argv, "--workers", workers]) in (1, 2)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["oracle", "--metric", "wer"],
        ["mbr", "--metric", "wer"],
        ["choices", "--metric", "wer"],
        ["tune", "--metric", "wer", "--scale", "1"],
        ["tune-mbr", "--metric", "wer"],
        ["calibrate"],
        ["train", "--learner", "mert", "--metric", "wer"],
        ["rescore", "--weights", "WEIGHTS"],
        ["info"],
        ["convert"],
        ["nbest"],
        ["prune", "--beam", "9"],
        ["sample"],
        ["confusion"],
    ],
    ids=lambda argv: argv[0],
)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_id_counts_once(
    argv: list[str], workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arcs: list[Any] = [(0, 1, "a", -0.1, {"lm": -1.0}), (0, 1, "the", -0.9, {"lm": -2.0})]
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(lattice_line("s1", arcs, ["the"]))
    two.write_text("".join(lattice_line(name, arcs, ["the"]) for name in ("s2", "s1")))
    weights = tmp_path / "weights"
    weights.write_text("lm 1\n")
    command, *options = (str(weights) if word == "WEIGHTS" else word for word in argv)
    if command != "train":
        options += ["--workers", workers]
    assert cli.main([command, str(one), str(two), *options]) == 1
    error = capsys.readouterr().err
    assert f"{two}:2: segment 's1': the id is that of {one}:1 already" in error


LIMITED = """
import resource, sys
from decoding.cli.main import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 1_500_000_000,) * 2)
for line in sys.argv[1:]:
    print(main(line.split()), flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_a_small_file_that_unfolds_to_gigabytes_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """A forest of 31 edges whose sentence has 2^30 words, a gzip file whose one line has a GB."""
    edges = [(0, [], ["a"]), *((node, [node - 1] * 2, [0, 1]) for node in range(1, 31))]
    lattices.write(
        tmp_path / "forest.jsonl", [lattices.Forest.from_edges(edges, id="x", references=["a a"])]
    )
    with gzip.open(tmp_path / "line.jsonl.gz", "wb", compresslevel=1) as stream:
        for _ in range(1000):
            stream.write(b"a" * 1_000_000)
    commands = {
        "forest.jsonl": [
            "info forest.jsonl",
            "nbest forest.jsonl",
            "sample forest.jsonl",
            "mbr forest.jsonl --metric wer",
            "mbr forest.jsonl --metric bleu --method linear",
            "oracle forest.jsonl --metric wer",
            "oracle forest.jsonl --metric wer -k 3",
        ],
        "line.jsonl.gz": ["info line.jsonl.gz", "nbest line.jsonl.gz"],
    }
    for file, lines in commands.items():
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, *lines], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.stdout.split() == ["2"] * len(lines), done.stderr
        said = [line for line in done.stderr.splitlines() if "more than" in line]
        assert len(said) >= len(lines)
        assert all(file in line for line in said)
        assert "Memory" not in done.stderr


def test_every_command_has_a_line() -> None:
    assert list(EVERY) == list(cli.COMMANDS)


def _new(folder: Path, before: set[Path]) -> dict[str, bytes]:
    """Return what was written, and remove it."""
    found = {path.name: path.read_bytes() for path in set(folder.iterdir()) - before}
    for name in found:
        (folder / name).unlink()
    return found


class _Calls:
    """Counts calls, and interrupts the last of those that are left."""

    def __init__(self, left: int = 0) -> None:
        self.left, self.made = left, 0

    def __call__(self, *_: object) -> None:
        self.made += 1
        if self.made == self.left:
            sys.setprofile(None)
            raise KeyboardInterrupt

    def run(self, argv: list[str]) -> int:
        sys.setprofile(self)
        try:
            return cli.main(argv)
        finally:
            sys.setprofile(None)


# Python loses what is raised while a generator is closed by its last owner
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("command", EVERY)
def test_an_interrupt_at_any_moment(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Between any two calls: no traceback, files are whole, hidden ones are those of --resume."""
    monkeypatch.chdir(tmp_path)
    every_input(tmp_path)
    argv = EVERY[command].replace("OUT", "out").split()
    before = set(tmp_path.iterdir())
    # modules are loaded before anything is interrupted
    assert cli.main(argv) == 0
    whole = _new(tmp_path, before)
    counted = _Calls()
    assert counted.run(argv) == 0
    assert _new(tmp_path, before).get("out") == whole.get("out")
    draw = Random(command)
    for _ in range(8):
        capfd.readouterr()
        code = _Calls(draw.randint(1, counted.made)).run(argv)
        assert code in (0, 130)
        assert "Traceback" not in capfd.readouterr().err
        found = _new(tmp_path, before)
        assert found.keys() <= {*whole, ".out.journal", ".out.partial"}
        if "out" in found:
            assert found["out"] == whole["out"]


@pytest.mark.parametrize("command", [each for each, line in EVERY.items() if "OUT" in line])
def test_what_cannot_be_written_is_one_line(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    every_input(tmp_path)
    (tmp_path / "folder").mkdir()
    before = set(tmp_path.iterdir())
    for target, problem in (
        ("/dev/full", "/dev/full: No space left on device"),
        ("none/out", "none: no such directory"),
        ("/proc/out", "/proc/out: "),
        ("x" * 300, f"{'x' * 300}: File name too long"),
    ):
        assert cli.main(EVERY[command].replace("OUT", target).split()) == 2, target
        *notes, said = capsys.readouterr().err.splitlines()
        assert said.startswith(f"fstmetrics: error: {problem}")
        assert not any("Traceback" in line for line in notes)
        assert set(tmp_path.iterdir()) == before, target


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("whose", ["the command", "all"])
def test_signals_end_a_command_and_its_workers(name: str, whose: str, tmp_path: Path) -> None:
    """As the shell counts them, whether they are sent to one process or to its whole group."""
    path = cats(tmp_path / "a.jsonl", 60_000)
    argv = ["oracle", str(path), "--workers", "2", "-o", "out", "--summary", "s.json"]
    command = [sys.executable, "-m", "decoding.cli.main", *argv]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        while not (tmp_path / ".out.partial").exists():
            time.sleep(0.01)
        time.sleep(0.3)
        number = getattr(signal, name)
        os.kill(process.pid, number) if whose == "the command" else os.killpg(process.pid, number)
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    assert "error" not in said
    # the workers have ended, too: nobody is left in the group
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert {each.name for each in tmp_path.iterdir()} <= {"a.jsonl", ".out.partial", ".out.journal"}


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
def test_signals_that_are_ignored_end_nobody(tmp_path: Path) -> None:
    """As nohup has them, and shells for what runs in the background."""
    path = cats(tmp_path / "a.jsonl", 4000)
    run = [sys.executable, "-m", "decoding.cli.main", "oracle", str(path), "--workers", "2"]
    ignoring = ["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh", *run, "-q", "-o", "out"]
    with subprocess.Popen(ignoring, cwd=tmp_path, start_new_session=True) as process:
        while not (tmp_path / ".out.partial").exists():
            time.sleep(0.01)
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGHUP)
        os.killpg(process.pid, signal.SIGINT)
    assert process.returncode == 0
    assert (tmp_path / "out").read_text().count("\n") == 4000
