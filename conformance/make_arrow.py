"""Arrow files of the conformance suite, made with pyarrow alone: ``python make_arrow.py``.

Each file has its columns and what they mean here; nothing of fstmetrics is used.
"""

import json
import sys
from pathlib import Path

import pyarrow as pa

WORDS = pa.list_(pa.dictionary(pa.int32(), pa.string()))
INTS, FLOATS, TEXTS = pa.list_(pa.int32()), pa.list_(pa.float64()), pa.list_(pa.string())
TYPES = {
    "id": pa.string(), "kind": pa.string(), "source": pa.string(), "metadata": pa.string(),
    "references": TEXTS, "reference_lattices": TEXTS,
    "label": WORDS, "score": FLOATS, "src": INTS, "dst": INTS, "start": pa.int32(),
    "final": FLOATS, "times": FLOATS, "offset": INTS, "nodes": pa.int32(), "root": pa.int32(),
    "head": INTS, "tail": INTS, "tail_offset": INTS, "slot": INTS, "category": WORDS, "span": INTS,
    "feature_names": WORDS, "feature_offset": INTS, "feature_index": INTS, "feature_value": FLOATS,
    "final_feature_offset": INTS, "final_feature_index": INTS, "final_feature_value": FLOATS,
}  # fmt: skip
NO = float("-inf")


def words_column(rows):
    """Return lists of dictionary-encoded words; all columns of words may share no dictionary."""
    flat = pa.array([word for row in rows for word in row or ()], pa.string()).dictionary_encode()
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row or ()))
    missing = pa.array([row is None for row in rows])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat, mask=missing)


def table(rows, types=TYPES, version="1"):
    """Return a table of the columns that any row has."""
    names = [name for name in types if any(name in row for row in rows)]
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        if types[name] == WORDS:
            columns.append(words_column(values))
        else:
            columns.append(pa.array(values, types[name]))
    fields = [pa.field(name, each.type) for name, each in zip(names, columns, strict=True)]
    metadata = None if version is None else {"fstmetrics.format": version}
    return pa.table(columns, schema=pa.schema(fields, metadata=metadata))


def path(words, score, features=None, times=None):
    found = {"words": words.split(), "score": score}
    if features is not None:
        found["features"] = features
    return found if times is None else {**found, "times": times}


LATTICE = {
    "id": "all", "kind": "lattice", "source": "die katze", "references": ["the cat", None],
    "reference_lattices": ['{"finals": {"1": 0}, "arcs": [[0, 1, "cat"], [0, 1, "cats"]]}'],
    "metadata": '{"speaker": "ann"}', "src": [0, 0, 1], "dst": [1, 1, 2],
    "label": ["the", "a", "cat"], "score": [-0.5, -0.75, -1.5], "start": 0,
    "final": [NO, NO, -0.25], "times": [0.0, 0.2, 0.5], "feature_names": ["lm", "tm"],
    "feature_offset": [0, 1, 2, 4], "feature_index": [0, 1, 0, 1],
    "feature_value": [-1.0, 2.0, -3.0, 0.5], "final_feature_offset": [0, 0, 0, 1],
    "final_feature_index": [0], "final_feature_value": [-1.0],
}  # fmt: skip
LATTICE_MEANS = {
    "kind": "lattice", "id": "all", "source": "die katze",
    "references": ["the cat", {"paths": [path("cat", 0.0), path("cats", 0.0)]}],
    "metadata": {"speaker": "ann"}, "states": 3, "arcs": 3,
    "paths": [
        path("the cat", -2.25, {"lm": -5.0, "tm": 0.5}, [0.0, 0.2, 0.5]),
        path("a cat", -2.5, {"lm": -4.0, "tm": 2.5}, [0.0, 0.2, 0.5]),
    ],
}  # fmt: skip
LIST = {
    "id": "list", "kind": "nbest", "references": ["the cat"], "label": ["the", "cat", "cat"],
    "score": [-1.0, -2.0, -3.0], "offset": [0, 2, 3, 3], "feature_names": ["lm"],
    "feature_offset": [0, 1, 1, 2], "feature_index": [0, 0], "feature_value": [-4.0, 1.0],
}  # fmt: skip
LIST_MEANS = {
    "kind": "nbest", "id": "list", "references": ["the cat"],
    "entries": [path("the cat", -1.0, {"lm": -4.0}), path("cat", -2.0, {}),
                path("", -3.0, {"lm": 1.0})],
}  # fmt: skip
FOREST = {
    "id": "forest", "kind": "forest", "nodes": 2, "root": 1, "head": [0, 0, 1], "tail": [0],
    "tail_offset": [0, 0, 0, 1], "label": ["cat", "dog", "the", ""], "slot": [0],
    "offset": [0, 1, 2, 4], "score": [-1.5, -2.0, -0.5], "category": ["N", "S"],
    "span": [1, 2, 0, 2],
}  # fmt: skip
FOREST_MEANS = {
    "kind": "forest", "id": "forest", "nodes": 2, "edges": 3,
    "derivations": [path("the cat", -2.0), path("the dog", -2.5)],
}  # fmt: skip
LEAST = {
    "src": [0, 1],
    "dst": [1, 2],
    "label": ["the", "cat"],
    "score": [-0.5, -1.5],
    "final": [NO, NO, 0.0],
}
LEAST_MEANS = {
    "kind": "lattice",
    "id": "0",
    "states": 3,
    "arcs": 2,
    "paths": [path("the cat", -2.0)],
}


def but(row, **changes):
    """Return a row with some fields changed, or left out where they are ``...``."""
    return {key: value for key, value in {**row, **changes}.items() if value is not ...}


BAD = [
    (but(LEAST, src=[0, 1, 1]), "columns of different lengths"),
    (but(LEAST, dst=[1, 3]), "a state beyond the number of states"),
    (but(LEAST, src=[-1, 1]), "a negative state"),
    (but(LEAST, dst=[1, 0]), "a cycle"),
    (but(LEAST, final=None), "a null where a lattice needs a field"),
    (but(LEAST, score=[-0.5, float("nan")]), "a score that is not a number"),
    (but(LEAST, kind="graph"), "a kind that is not known"),
    (but(LEAST, times=[0.0]), "fewer times than states"),
    (but(LEAST, references=[None]), "a null among the references, and no reference lattice"),
    (but(LEAST, metadata="[1]"), "metadata that is no object"),
    (but(LEAST, feature_names=["a"], feature_offset=[0, 1, 2], feature_index=[0, 7],
         feature_value=[1.0, 1.0]), "a feature beyond the names"),
    (but(LIST, offset=[0, 2, 9, 3]), "offsets that do not ascend"),
    (but(FOREST, slot=[3]), "a slot without a tail"),
    (but(FOREST, tail=[1]), "a forest that contains itself"),
    (but(FOREST, head=[0, 0, 5]), "a node beyond the number of nodes"),
]  # fmt: skip

CASTS = {**TYPES, "src": pa.list_(pa.int64()), "dst": pa.large_list(pa.uint16()),
         "label": TEXTS, "score": pa.list_(pa.float32()), "id": pa.large_string()}  # fmt: skip

FILES = {
    "all": ("a lattice, a list and a forest with every field",
            table([LATTICE, LIST, FOREST]), [LATTICE_MEANS, LIST_MEANS, FOREST_MEANS]),
    "least": ("the columns that a lattice needs, with no version", table([LEAST], version=None),
              [LEAST_MEANS]),
    "casts": ("columns of other types that can be cast, in another order, and one more column",
              table([but(LEAST, id="x")], CASTS).append_column("extra", pa.array(["?"])),
              [{**LEAST_MEANS, "id": "x"}]),
    "order": ("arcs and states in an order of their own",
              table([{"id": "order", "src": [0, 2], "dst": [1, 0], "label": ["cat", "the"],
                      "score": [-1.5, -0.5], "start": 2, "final": [NO, 0.0, NO]}]),
              [{**LEAST_MEANS, "id": "order"}]),
    "errors": ("a row an error; the rows before and after are read",
               table([LEAST, *(row for row, _ in BAD), LEAST]),
               [LEAST_MEANS, *({"error": what} for _, what in BAD),
                {**LEAST_MEANS, "id": str(len(BAD) + 1)}]),
}  # fmt: skip
#: files that are refused as a whole
REFUSED = {
    "version": ("a version that is not known", table([LEAST], version="2")),
    "missing": ("no column of scores", table([but(LEAST, score=...)])),
    "numbers": ("labels that are numbers",
                table([but(LEAST, label=[1, 2])], {**TYPES, "label": INTS})),
    "twice": ("two columns of one name", table([LEAST]).append_column("score", pa.array([[0.0]]))),
}  # fmt: skip


def save(folder, name, made, expected):
    with (
        pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, made.schema) as writer,
    ):
        writer.write_table(made)
    (folder / f"{name}.json").write_text(
        json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8"
    )


def main(folder):
    """Write all files and what they mean to a folder."""
    for name, (title, made, means) in FILES.items():
        save(folder, name, made, {"title": title, "segments": means})
    for name, (title, made) in REFUSED.items():
        save(folder, name, made, {"title": title, "error": title})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "arrow"))
