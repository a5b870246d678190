"""Arrow and Parquet files: complete, exact, read by position, and safe when damaged."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import lattices
from lattices.errors import FormatError, OptionError
from lattices.formats import FORMATS, formats, parse_range, read, write
from lattices.formats.arrow import schema as arrow_columns
from lattices.formats.arrow.files import OPEN_FILES, ColumnarFormat
from lattices.formats.arrow.ipc import FORMAT as ARROW
from lattices.formats.arrow.parquet import FORMAT as PARQUET
from lattices.formats.base import Format
from lattices.spaces import Lattice, NBest, Space
from lattices.testing import sample_forests, sample_lattices, sample_nbests
from tests.lattices.algorithms.comparing import packed, parts, read_bytes, written
from tests.strategies import small_lattices

pa = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")
pq = pytest.importorskip("pyarrow.parquet")

BOTH = pytest.mark.parametrize("fmt", [ARROW, PARQUET], ids=lambda fmt: fmt.name)


@BOTH
def test_batches_and_ranges(
    tmp_path: Path, fmt: ColumnarFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_columns, "BATCH_ROWS", 3)
    spaces = [
        space.replaced(id=f"{turn}-{space.id}")
        for turn in range(4)
        for space in (*sample_lattices()[turn % 2 :], *sample_nbests())
    ]
    path = str(tmp_path / "x")
    write(path, spaces, fmt)
    assert fmt.count(path) == len(spaces)
    expected = [parts(space) for space in spaces]
    for start, stop in [(0, 18), (2, 3), (2, 9), (5, 5), (17, 18)]:
        found = fmt.parse_range(path, start, stop)
        assert [parts(one) for one in found] == expected[start:stop]  # type: ignore[arg-type]
    for start, stop in [(-1, 2), (3, 2), (0, 19)]:
        with pytest.raises(IndexError, match="of 18"):
            fmt.parse_range(path, start, stop)


def test_batches_are_cut_by_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_columns, "BATCH_BYTES", 100)
    spaces = [space.replaced(id=str(turn)) for turn in range(5) for space in sample_lattices()[:1]]
    write(tmp_path / "x.arrow", spaces)
    assert ipc.open_file(tmp_path / "x.arrow").num_record_batches == 5


def test_arrow_files_are_mapped_not_copied(tmp_path: Path) -> None:
    path = str(tmp_path / "x.arrow")
    write(path, sample_lattices())
    before = pa.total_allocated_bytes()
    (lattice,) = ARROW.parse_range(path, 0, 1)
    assert isinstance(lattice, Lattice)
    for column in (lattice.src, lattice.dst, lattice.label, lattice.score, lattice.final):
        assert not column.flags.owndata
        assert not column.flags.writeable
    assert pa.total_allocated_bytes() - before < 2000


def test_other_tools_see_words(tmp_path: Path) -> None:
    for name in ("x.arrow", "x.parquet"):
        write(tmp_path / name, [*sample_lattices(), sample_nbests()[0].replaced(id="list")])
    table = ipc.open_file(tmp_path / "x.arrow").read_all()
    assert table.schema.metadata == {b"fstmetrics.format": b"1"}
    assert table.column("label").to_pylist()[1] == ["yes"]
    assert table.column("kind").to_pylist() == ["lattice"] * 3 + ["nbest"]
    small = pq.read_table(tmp_path / "x.parquet")
    assert small.to_pylist() == table.to_pylist()
    # readers in Rust refuse dictionaries that grow: there is one a column, before the first batch
    messages = []
    with open(tmp_path / "x.arrow", "rb") as file:
        file.seek(8)
        reader = ipc.MessageReader.open_stream(file)
        messages = [message.type for message in reader]
    assert messages == ["schema", *["dictionary"] * 3, "record batch"]


def test_lattices_read_from_a_map_can_be_worked_with(tmp_path: Path) -> None:
    rows = [
        (0, 1, "a", -0.5, {"lm": -1.0}),
        (0, 2, "b", -0.7, {"tm": 2.0}),
        (1, 2, "", -0.1, {}),
        (2, 3, "cat", -0.2, {"lm": -3.0, "tm": 1.0}),
    ]
    built = Lattice.from_arcs(rows, {3: -1.0}, final_features={3: {"lm": 0.5}}, id="x")
    write(tmp_path / "x.arrow", [built])
    (mapped,) = read(tmp_path / "x.arrow")
    assert isinstance(mapped, Lattice)
    assert mapped.features is not None
    mapped.features.check_format(full_check=True)
    for change in (
        lambda space: lattices.trim(space).space,
        lattices.push,
        lattices.remove_epsilon,
        lambda space: lattices.to_characters(space).lattice,
        lambda space: lattices.prune(space, beam=0.1),
        lambda space: space.reweighted({"lm": 0.5, "tm": 1.0}),
        lambda space: lattices.union([space, space]),
        lambda space: NBest.from_hypotheses(lattices.k_best(space, 3)),
    ):
        assert parts(change(mapped)) == parts(change(built))
    columns = (mapped.in_arc, mapped.in_offset, mapped.out_offset)
    assert [column.tolist() for column in columns] == [
        column.tolist() for column in (built.in_arc, built.in_offset, built.out_offset)
    ]


@given(small_lattices())
def test_normal_form_of_the_kernel_is_that_of_the_constructor(lattice: Lattice) -> None:
    (again,) = lattices.from_arrow(lattices.to_arrow([lattice]))
    assert isinstance(again, Lattice)
    for name in ("src", "dst", "score", "final", "in_arc", "in_offset", "out_offset"):
        one, other = getattr(again, name), getattr(lattice, name)
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@BOTH
def test_the_file_is_cut_or_of_another_kind(tmp_path: Path, fmt: Format) -> None:
    data = written(fmt, *sample_lattices())
    for content in (data, packed(data)):
        assert len(read_bytes(tmp_path, content, fmt.name)) == 3
    for cut in (data[:-1], data[: len(data) // 2], data[:100]):
        for content in (cut, packed(cut)):
            with pytest.raises(FormatError, match=r"damaged|cut short"):
                read_bytes(tmp_path, content, fmt.name)
    with pytest.raises(FormatError, match=r"damaged|no 'ARROW1'"):
        read_bytes(tmp_path, b"{}" * 100, fmt.name)
    with pytest.raises(FormatError, match=f"empty: no segment of format {fmt.name}"):
        read_bytes(tmp_path, written(fmt), fmt.name)


def test_a_stream_cut_between_two_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_columns, "BATCH_ROWS", 1)
    data = written(ARROW, *sample_lattices())
    reader = io.BytesIO(data)
    reader.seek(8)
    messages = ipc.MessageReader.open_stream(reader)
    places = [reader.tell() for _ in messages]
    # schema, two dictionaries, and the first of three batches
    with pytest.raises(FormatError, match="the file is cut short"):
        read_bytes(tmp_path, packed(data[: places[3]]), "arrow")


@BOTH
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kind": ["tree"]}, "kind 'tree', expected 'lattice' or 'nbest' or 'forest'"),
        ({"dst": None}, "a null where a row of kind 'lattice' needs label, score, src"),
        ({"kind": ["nbest"]}, "a null where a row of kind 'nbest' needs label, score and offset"),
        ({"dst": [[1, 3]]}, r"arc 1 has target state 3, expected 0\.\.2"),
        ({"src": [[0, -1]]}, "arc 1 has source state -1"),
        ({"src": [[1, 1]], "dst": [[2, 1]]}, "cycle through state 1"),
        ({"score": [[0.0, float("nan")]]}, "arc 1 has score nan"),
        ({"score": [[0.0]]}, "1 entries in 'score' for 2 arcs"),
        ({"score": [[0.0, None]]}, "column 'score' holds a null"),
        ({"label": [["a", None]]}, "column 'label' holds a null"),
        ({"label": [[1, 2]]}, r"column 'label': it is list<.*int64>, expected list<"),
        ({"start": [3]}, "start state 3"),
        ({"final": [[-np.inf] * 3]}, "no state is final"),
        ({"final": [[np.nan, 0.0, 0.0]]}, "not a number"),
        ({"times": [[0.0]]}, "1 times for 3 states"),
        ({"times": [[0.0, np.inf, 0.0]]}, "a time is not finite"),
        ({"metadata": ["[1]"]}, "expected a JSON object"),
        ({"metadata": ["{"]}, "metadata is not JSON"),
        ({"metadata": ['{"a": NaN}']}, "NaN is no JSON number"),
        ({"metadata": ['{"a": "\\ud800"}']}, "surrogates not allowed"),
        ({"references": [[None]]}, "more nulls among 'references'"),
        ({"reference_lattices": [["{}"]]}, "fewer nulls among 'references'"),
        ({"references": [[None]], "reference_lattices": [["{}"]]}, "no 'arcs'"),
        ({"references": [[None]], "reference_lattices": [['{"nbest":[]}']]}, "an n-best list"),
        ({"feature_names": [["lm", "lm"]]}, "not different strings"),
        ({"feature_value": [[1.0]]}, "one of feature_offset, .* is null, and another is not"),
        (
            {"feature_offset": [[0, 0, 1]], "feature_index": [[1]], "feature_value": [[1.0]]},
            "no matrix of 2 rows and 1 columns",
        ),
        (
            {"feature_offset": [[0, 9, 1]], "feature_index": [[0]], "feature_value": [[1.0]]},
            "no matrix",
        ),
        (
            {"feature_offset": [[0, 0, 1]], "feature_index": [[0]], "feature_value": [[np.inf]]},
            "no matrix",
        ),
        (
            {"feature_offset": [[0, 2, 2]], "feature_index": [[0, 0]], "feature_value": [[1, 1]]},
            "in the order of the columns",
        ),
    ],
)
def test_bad_rows_say_what_is_wrong(
    tmp_path: Path, fmt: Format, changes: dict[str, Any], expected: str
) -> None:
    good = {
        "id": ["x"],
        "kind": ["lattice"],
        "src": [[0, 1]],
        "dst": [[1, 2]],
        "label": [["a", "b"]],
        "score": [[-1.0, -2.0]],
        "final": [[-np.inf, -np.inf, 0.0]],
        "feature_names": [["lm"]],
    }
    columns = {**good, **changes}
    table = pa.table({name: column for name, column in columns.items() if column is not None})
    path = tmp_path / "x"
    _put(fmt, table, path)
    with pytest.raises(FormatError, match=f"(?s)^{path}: row 0: .*{expected}"):
        list(read(path))
    path.write_bytes(packed(path.read_bytes()))
    with pytest.raises(FormatError, match=f"(?s)^{path}: row 0: .*{expected}"):
        list(read(path))


def _put(fmt: Format, table: Any, path: Path) -> None:
    if fmt is PARQUET:
        pq.write_table(table, path)
    else:
        with ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)


@BOTH
def test_columns_of_other_tools(tmp_path: Path, fmt: Format) -> None:
    """Arcs in any order, 64-bit and single-precision numbers, plain strings, no version, no id."""
    table = pa.table(
        {
            "src": pa.array([[1, 0, 0]], pa.large_list(pa.int64())),
            "dst": pa.array([[2, 1, 1]], pa.list_(pa.uint8())),
            "label": pa.array([["c", "b", ""]], pa.large_list(pa.large_string())),
            "score": pa.array([[-3.0, -2.0, -1.0]], pa.list_(pa.float32())),
            "final": pa.array([[-np.inf, -np.inf, 0.5]]),
            "refs": [["b c"]],
            "comment": ["not read"],
        }
    )
    _put(fmt, table, tmp_path / "x")
    (lattice,) = read(tmp_path / "x")
    assert isinstance(lattice, Lattice)
    assert lattice.id == "0"
    assert lattice.references == ("b c",)
    assert [(path.text, path.score) for path in lattice.paths()] == [("b c", -4.5), ("c", -3.5)]


@BOTH
def test_files_that_are_not_ours(tmp_path: Path, fmt: Format) -> None:
    path = tmp_path / "x"
    _put(fmt, pa.table({"name": ["a"]}), path)
    for content in (path.read_bytes(), packed(path.read_bytes())):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="0 columns 'label', expected one: is this a table"):
            list(read(path))
    future = pa.table({"label": [["a"]]}).replace_schema_metadata({"fstmetrics.format": "9"})
    _put(fmt, future, path)
    with pytest.raises(FormatError, match="version '9' of the columns, expected '1'"):
        list(read(path))


@BOTH
def test_ids(tmp_path: Path, fmt: Format) -> None:
    lattice = sample_lattices()[1]
    path = tmp_path / "x"
    write(path, [lattice.replaced(id=name) for name in ("a", "", "a", "b")], fmt)
    found: list[FormatError] = []
    assert [space.id for space in read(path, on_error=found.append)] == ["a", "1", "b"]
    assert [str(one) for one in found] == [
        f"{path}: segment 2, 'a': the id is that of segment 0 of {path} already"
    ]
    assert [space.id for space in parse_range(fmt, path, 1, 2)] == ["1"]  # type: ignore[union-attr]


@BOTH
def test_a_changed_file_is_opened_again_and_few_stay_open(
    tmp_path: Path, fmt: ColumnarFormat
) -> None:
    from lattices.formats.arrow.files import _OPENED

    first, second = sample_lattices()[:2]
    for number in range(2 * OPEN_FILES):
        write(tmp_path / str(number), [first], fmt)
        assert fmt.count(str(tmp_path / str(number))) == 1
        assert len(_OPENED) <= OPEN_FILES
    path = str(tmp_path / "0")
    write(path, [second, first], fmt)
    os.utime(path, ns=(1, 1))
    assert [space.id for space in read(path)] == [second.id, first.id]


def test_compression_of_parquet(tmp_path: Path) -> None:
    for codec in ("zstd", "snappy", "lz4", "none"):
        write(tmp_path / "x.parquet", sample_lattices(), compression=codec)
        assert len(list(read(tmp_path / "x.parquet"))) == 3
    column = pq.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0).column(0)
    assert column.compression == "UNCOMPRESSED"
    with pytest.raises(OptionError, match="compression is one of zstd"):
        write(tmp_path / "x.parquet", sample_lattices(), compression="rar")


def test_sniffing() -> None:
    lattice = sample_lattices()[1]
    for info in formats():
        if "write" not in info.access or info.name == "kaldi-scp":
            # a script file needs an archive to point to, and is lines of text
            continue
        fmt = FORMATS.get(info.name)
        others: dict[str, Space] = {"nbest": sample_nbests()[0], "forest": sample_forests()[0]}
        space = others.get(fmt.kind, lattice)
        data = written(fmt, space, lossy=True)[:4096]
        for ours in (ARROW, PARQUET):
            assert ours.sniff(data) == (fmt is ours)
            assert not fmt.sniff(written(ours, lattice)[:4096]) or fmt is ours


@BOTH
def test_pipes(fmt: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output cannot tell its position, and standard input cannot be mapped."""
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb") as target:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", io.TextIOWrapper(target))
            write("-", sample_lattices(), fmt)
            sys.stdout.close()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
        assert [space.id for space in read("-")] == ["first", "second-1.2", "nothing"]


DAMAGE = """
import random, sys
import numpy as np
from lattices.formats import FORMATS, read
from lattices.spaces import Lattice

name, path, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = open(path, "rb").read()
chance = random.Random(seed)
good = bad = 0
for trial in range(400):
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 20))):
        changed[chance.randrange(len(data))] = chance.choice((0, 1, 127, 128, 255))
    with open(f"{path}.{trial % 8}", "wb") as file:
        file.write(changed if trial % 5 else changed[: chance.randrange(len(data))])
    problems = []
    for space in read(f"{path}.{trial % 8}", name, on_error=problems.append):
        good += 1
        if isinstance(space, Lattice):
            rebuilt = Lattice(
                space.vocabulary, space.src, space.dst, space.label, space.score, space.final,
                space.start, space.features, space.final_features, space.feature_names, space.times,
            )
            for column in ("src", "dst", "in_arc", "in_offset", "out_offset"):
                assert np.array_equal(getattr(rebuilt, column), getattr(space, column)), column
            if space.features is not None:
                space.features.check_format(full_check=True)
    bad += len(problems)
print("survived", good > 100, bad > 100)
"""


@BOTH
def test_damaged_files_never_crash(tmp_path: Path, fmt: Format) -> None:
    """In a process of its own: a bad offset in a file that is mapped could end it."""
    lattice = Lattice.from_arcs(
        [(0, 1, "a", -1.0, {"lm": 1.0}), (1, 2, "b", -2.0, {"tm": 0.5})],
        [2],
        times=[0.0, 0.1, 0.2],
        references=["a b", sample_lattices()[0]],
        metadata={"x": [1]},
        id="rich",
    )
    path = tmp_path / "x"
    write(path, [lattice, *sample_lattices(), sample_nbests()[0].replaced(id="n")], fmt)
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, fmt.name, str(path), "5"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "survived True True\n", (done.returncode, done.stderr)


WITHOUT = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError("hidden by the test")

sys.meta_path.insert(0, Hidden())
import lattices
from lattices.errors import MissingDependencyError

for call in (
    lambda: list(lattices.read(sys.argv[1])),
    lambda: lattices.write("x.parquet", []),
    lambda: lattices.to_arrow([]),
    lambda: lattices.from_arrow(None),
):
    try:
        call()
    except MissingDependencyError as problem:
        assert "pip install 'fstmetrics[arrow]'" in str(problem), problem
    else:
        raise SystemExit("did without pyarrow")
print("fine")
"""


def test_without_pyarrow(tmp_path: Path) -> None:
    write(tmp_path / "x.arrow", sample_lattices())
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "x.arrow")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.stdout.strip() == "fine", done.stderr


def test_importing_the_library_does_not_import_pyarrow() -> None:
    script = (
        "import sys, lattices; from lattices.formats import formats; formats();"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
