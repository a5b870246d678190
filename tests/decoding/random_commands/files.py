"""Files of spaces and references, written and read without the library."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from random import Random
from typing import Any

from tests.decoding.random_commands.spaces import Part, Segment, Sentence, words_of

PLAIN = ("a", "b", "c", "d")
#: words that only white space in ASCII may part, and nothing may change
UNUSUAL = (
    "größe", "日本", "e\u0301", "x\u00a0y", "\u2028", "l\x85l", "\u3000w", "🙂", "don't", "a-b",
    "A", "\ufeffb", "0", "-1", "#", "1e5", "%", "İ", "NaN",
)  # fmt: skip
#: formats of one segment a file, and those whose words the library numbers by a table
FOLDERS = ("openfst-text", "openfst", "htk", "k2", "hypergraph", "cdec-forest")
SYMBOLS = ("kaldi", "kaldi-binary", "k2", "openfst-text")


@dataclass(frozen=True)
class InputFormat:
    """A format that the tests write themselves.

    Attributes
    ----------
    kinds : tuple of str
        Of segments that it holds.
    write : callable
        Writes segments into a file, or files into a folder, and returns options for the reader.
    features, references : bool
        Whether it holds them.
    symbols : bool
        Whether words are numbers of a table beside it.
    words : tuple of str
        Unusual ones that it holds; others are notation in it.
    """

    name: str
    kinds: tuple[str, ...]
    write: Callable[[File, Sequence[Segment], Random], list[str]]
    features: bool = False
    references: bool = False
    symbols: bool = False
    words: tuple[str, ...] = UNUSUAL


def number(value: float) -> str:
    """Return all digits of a number."""
    return repr(value)


def _lines(path: File, lines: Iterable[str]) -> None:
    path.write_bytes("".join(line + "\n" for line in lines).encode())


def json_fields(segment: Segment, rng: Random) -> dict[str, Any]:
    """Return a segment as an object of our JSON lines, its states numbered anew at random."""
    fields: dict[str, Any] = {"id": segment.id}
    if segment.references:
        fields["refs"] = [" ".join(words) for words in segment.references]
    names = list(range(segment.size))
    if rng.random() < 0.3:
        rng.shuffle(names)
    if segment.kind == "lattice":
        arcs = [
            [
                names[part.at],
                names[part.tails[0]],
                "".join(words_of(part)),
                part.score,
                *([part.features] if part.features else []),
            ]
            for part in segment.parts
        ]
        finals = {names[state]: score for state, (score, _) in segment.finals.items()}
        rows = {names[state]: row for state, (_, row) in segment.finals.items() if row}
        fields |= {"states": segment.size, "start": names[segment.start], "finals": finals}
        fields |= {"arcs": arcs, **({"final_features": rows} if rows else {})}
    elif segment.kind == "forest":
        fields |= {"nodes": segment.size, "root": names[segment.start]}
        fields["edges"] = [
            {
                "head": names[part.at],
                "tails": [names[tail] for tail in part.tails],
                "rhs": part.words,
                "score": part.score,
                **({"features": part.features} if part.features else {}),
            }
            for part in segment.parts
        ]
    else:
        fields["nbest"] = [
            {
                "words": " ".join(words_of(part)) if rng.random() < 0.5 else words_of(part),
                "score": part.score,
                **({"features": part.features} if part.features else {}),
            }
            for part in segment.parts
        ]
    return fields


def _write_jsonl(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    _lines(
        path,
        (
            '{"id": "bad", "arcs": [[0'
            if segment.kind == "broken"
            else json.dumps(json_fields(segment, rng), ensure_ascii=rng.random() < 0.5)
            for segment in segments
        ),
    )
    return []


def read_jsonl(path: File) -> list[Segment]:
    """Return the segments of our JSON lines, as the library writes them."""
    found = []
    for line in path.read_bytes().decode().split("\n")[:-1]:
        fields = json.loads(line)
        refs = tuple(map(cut, fields.get("refs", ())))
        parts: list[Part] = []
        if "arcs" in fields:
            for at, to, word, score, *rest in fields["arcs"]:
                row = rest[0] if rest else {}
                parts.append(Part(at, (to,), (word,) if word else (), score, row))
            rows = fields.get("final_features", {})
            finals = {
                int(state): (score, rows.get(state, {}))
                for state, score in fields["finals"].items()
            }
            start = fields.get("start", 0)
            found.append(
                Segment(
                    fields["id"], "lattice", tuple(parts), fields["states"], start, finals, refs
                )
            )
        elif "edges" in fields:
            for edge in fields["edges"]:
                row = edge.get("features", {})
                parts.append(
                    Part(edge["head"], tuple(edge["tails"]), tuple(edge["rhs"]), edge["score"], row)
                )
            nodes = fields["nodes"]
            size = nodes if isinstance(nodes, int) else len(nodes)
            root = fields["root"]
            found.append(Segment(fields["id"], "forest", tuple(parts), size, root, {}, refs))
        else:
            for entry in fields["nbest"]:
                words = entry["words"]
                row = entry.get("features", {})
                said = cut(words) if isinstance(words, str) else tuple(words)
                parts.append(Part(0, (), said, entry["score"], row))
            found.append(Segment(fields["id"], "nbest", tuple(parts), references=refs))
    return found


def cut(text: str) -> Sentence:
    """Return the words between blanks."""
    return tuple(word for word in text.split(" ") if word)


def _symbols(path: File, segments: Sequence[Segment], rng: Random) -> dict[str, int]:
    """Write a table of all words, and return it; numbers have gaps."""
    words = sorted(
        {word for segment in segments for part in segment.parts for word in words_of(part)}
    )
    rng.shuffle(words)
    table = {"<eps>": 0, **{word: 7 + 3 * place for place, word in enumerate(words)}}
    _lines(path, (f"{word} {label}" for word, label in table.items()))
    return table


def _label(table: dict[str, int], part: Part) -> int:
    return table[words_of(part)[0]] if part.words else 0


def _start_first(segment: Segment) -> list[Part]:
    return sorted(segment.parts, key=lambda part: part.at)


def _write_kaldi(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    symbols = path.with_suffix(".words")
    table = _symbols(symbols, segments, rng)
    acceptor = rng.random() < 0.5

    def costs(score: float) -> str:
        acoustic = rng.randint(-4, 4) / 2
        return f"{number(-score - acoustic)},{number(acoustic)}" + ("," if acceptor else "")

    lines = []
    for segment in segments:
        lines.append(segment.id)
        # the start is the first state of the first line
        ends = [f"{state} {costs(score)}" for state, (score, _) in segment.finals.items()]
        ends.sort(key=lambda line: not line.startswith("0 "))
        arcs = []
        for part in _start_first(segment):
            label = _label(table, part)
            labels = f"{label}" if acceptor else f"{rng.randint(0, 9)} {label}"
            arcs.append(f"{part.at} {part.tails[0]} {labels} {costs(part.score)}")
        first = ends[:1] if not arcs or arcs[0].split(" ")[0] != "0" else []
        lines += [*first, *arcs, *ends[len(first) :], ""]
    _lines(path, lines)
    return ["--option", f"symbols={symbols}"]


def _write_openfst_text(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    path.mkdir()
    symbols = path.with_suffix(".syms")
    table = _symbols(symbols, segments, rng)
    for segment in segments:
        ends = [f"{state}\t{number(-score)}" for state, (score, _) in segment.finals.items()]
        ends.sort(key=lambda line: not line.startswith("0\t"))
        arcs = [
            f"{part.at}\t{part.tails[0]}\t{rng.randint(1, 9)}\t{_label(table, part)}\t"
            f"{number(-part.score)}"
            for part in _start_first(segment)
        ]
        first = ends[:1] if not arcs or arcs[0].split("\t")[0] != "0" else []
        _lines(path / f"{segment.id}.fst.txt", [*first, *arcs, *ends[len(first) :]])
    return ["--option", f"symbols={symbols}", "--option", "acceptor=no"]


def _write_k2(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    path.mkdir()
    symbols = path.with_suffix(".syms")
    table = _symbols(symbols, segments, rng)
    for segment in segments:
        last = segment.size
        rows = [
            (part.at, f"{part.at} {part.tails[0]} {_label(table, part)} {number(part.score)}")
            for part in segment.parts
        ]
        rows += [
            (state, f"{state} {last} -1 {number(score)}")
            for state, (score, _) in segment.finals.items()
        ]
        rows.sort(key=lambda row: row[0])
        _lines(path / f"{segment.id}.k2.txt", [*(row for _, row in rows), str(last)])
    return ["--option", f"symbols={symbols}"]


def _write_htk(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    lines = []
    for segment in segments:
        last = segment.size
        links = [
            (part.at, part.tails[0], words_of(part)[0] if part.words else "!NULL", part.score)
            for part in segment.parts
        ]
        links += [(state, last, "!NULL", score) for state, (score, _) in segment.finals.items()]
        lines += ["VERSION=1.0", f"UTTERANCE={segment.id}", "lmscale=2.0 wdpenalty=-0.5"]
        lines += [f"start=0 end={last}", f"N={last + 1} L={len(links)}"]
        lines += [f"I={state}" for state in range(last + 1)]
        for place, (source, target, word, score) in enumerate(links):
            # score = a + 2 l - 0.5 a word
            language = rng.randint(-4, 4) / 4
            acoustic = score - 2 * language + (0.5 if word != "!NULL" else 0.0)
            lines.append(
                f"J={place} S={source} E={target} W={word} "
                f"a={number(acoustic)} l={number(language)}"
            )
    _lines(path, lines)
    return []


def _write_plf(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    lines = []
    for segment in segments:
        # the goal is one past the last node
        nodes: list[str] = []
        for state in range(segment.size):
            row = []
            for part in segment.parts:
                if part.at == state:
                    word = words_of(part)[0] if part.words else "*EPS*"
                    quoted = word.replace("\\", "\\\\").replace("'", "\\'")
                    row.append(f"('{quoted}', {number(part.score)}, {part.tails[0] - state}),")
            if state in segment.finals:
                score = number(segment.finals[state][0])
                row.append(f"('*EPS*', {score}, {segment.size - state}),")
            nodes.append(f"({''.join(row)}),")
        lines.append(f'<seg id="{segment.id}">({"".join(nodes)})</seg>')
    _lines(path, lines)
    return []


def _write_moses(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    equals = rng.choice(("= ", "=", ": "))
    lines = []
    for segment in segments:
        for part in segment.parts:
            # the old spelling has several values of one name; a number ends the name here
            row = " ".join(
                f"{name}{equals}{number(value)}" for name, value in part.features.items()
            )
            said = " ".join(words_of(part))
            lines.append(f"{segment.id} ||| {said} ||| {row} ||| {number(part.score)}")
    _lines(path, lines)
    return []


def _write_nbest_tsv(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    _lines(
        path,
        (
            f"{segment.id}\t{rank}\t{number(part.score)}\t{' '.join(words_of(part))}"
            for segment in segments
            for rank, part in enumerate(segment.parts, start=1)
        ),
    )
    return []


def _write_csv(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    """Write columns in any order, every cell in quotes."""
    order = rng.sample(("id", "pred_text", "score"), 3)
    rows = [
        {"id": segment.id, "pred_text": " ".join(words_of(part)), "score": number(part.score)}
        for segment in segments
        for part in segment.parts
    ]
    cells = [order, *([str(row[name]).replace('"', '""') for name in order] for row in rows)]
    _lines(path, (",".join(f'"{cell}"' for cell in row) for row in cells))
    return []


def _write_json_rows(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    """Write a row for each hypothesis, or one with all of them, as NeMo does."""
    lines = []
    for segment in segments:
        entries = [(" ".join(words_of(part)), part.score) for part in segment.parts]
        if rng.random() < 0.5:
            row = {"audio_filepath": segment.id, "pred_text": entries[0][0], "beams": entries}
            lines.append(json.dumps(row))
        else:
            rows = [{"audio_filepath": segment.id, "pred_text": t, "score": s} for t, s in entries]
            lines += map(json.dumps, rows)
    _lines(path, lines)
    return []


def _write_hypergraph(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    path.mkdir()
    for segment in segments:
        lines = [
            "# target ||| features ||| source-covered",
            f"{segment.size} {len(segment.parts)}",
        ]
        for node in range(segment.size):
            edges = [part for part in segment.parts if part.at == node]
            lines += [f"# node {node}", str(len(edges))]
            for part in edges:
                side = " ".join(
                    word if isinstance(word, str) else f"[{part.tails[word]}]"
                    for word in part.words
                )
                row = {**part.features, "score": part.score}
                features = " ".join(f"{name}={number(value)}" for name, value in row.items())
                lines.append(f"{side} ||| {features} ||| 1")
        _lines(path / f"{segment.id}.hg", lines)
    return []


def _write_cdec_forest(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    path.mkdir()
    for segment in segments:
        names = [*sorted(segment.feature_names()), "score"]
        rules: list[object] = []
        fields: list[str] = []
        for node in range(segment.size):
            edges: list[dict[str, Any]] = []
            numbers: list[int] = []
            for place, part in enumerate(segment.parts):
                if part.at != node:
                    continue
                nonterminals = " ".join(f"[X,{tail + 1}]" for tail in range(len(part.tails)))
                side = " ".join(
                    word if isinstance(word, str) else f"[{word + 1}]" for word in part.words
                )
                rules += [place + 1, f"[X] ||| {nonterminals} ||| {side}"]
                row = {**part.features, "score": part.score}
                values = [each for name in row for each in (names.index(name), row[name])]
                edges.append({"tail": part.tails, "feats": values, "rule": place + 1})
                numbers.append(sum(other.at < node for other in segment.parts) + len(numbers))
            fields.append(f'"edges":{json.dumps(edges)},"node":{{"in_edges":{numbers}}}')
        head = f'"rules":{json.dumps(rules)},"features":{json.dumps(names)}'
        _lines(path / f"{segment.id}.json", [f"{{{head},{','.join(fields)}}}"])
    return []


def _write_srilm(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    path.mkdir()
    for segment in segments:
        lines = ["NBestList1.0"]
        for part in segment.parts:
            # a bytelog is 1024 / 10000.5 of a natural logarithm
            lines.append(f"({number(part.score * 10000.5 / 1024)}) {' '.join(words_of(part))}")
        _lines(path / segment.id, lines)
    return []


def _write_travatar(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    lines = []
    for segment in segments:
        # the root is the first node
        names = [segment.size - 1 - node for node in range(segment.size)]
        nodes = [{"id": node, "sym": "X", "span": [0, 1]} for node in range(segment.size)]
        edges = [
            {
                "id": place,
                "head": names[part.at],
                "tails": [names[tail] for tail in part.tails],
                "trg": [
                    {
                        "label": -1,
                        "words": [
                            word if isinstance(word, str) else -1 - word for word in part.words
                        ],
                    }
                ],
                "features": part.features,
                "score": part.score,
            }
            for place, part in enumerate(segment.parts)
        ]
        fields = {"nodes": nodes, "edges": edges, "words": [], "id": segment.id}
        lines.append(json.dumps(fields))
    _lines(path, lines)
    return []


def _write_arrow(path: File, segments: Sequence[Segment], rng: Random) -> list[str]:
    import pyarrow as pa

    columns: dict[str, list[Any]] = defaultdict(list)
    for segment in segments:
        arcs = segment.parts
        final = [segment.finals.get(state, (float("-inf"), {}))[0] for state in range(segment.size)]
        columns["id"].append(segment.id)
        columns["references"].append([" ".join(words) for words in segment.references])
        columns["src"].append([part.at for part in arcs])
        columns["dst"].append([part.tails[0] for part in arcs])
        columns["label"].append(["".join(words_of(part)) for part in arcs])
        columns["score"].append([part.score for part in arcs])
        columns["final"].append(final)
    strings, whole = pa.list_(pa.string()), pa.list_(pa.int64())
    floats = pa.list_(pa.float64())
    types = {"id": pa.string(), "references": strings, "src": whole, "dst": whole}
    types |= {"label": strings, "score": floats, "final": floats}
    table = pa.table({name: pa.array(columns[name], type) for name, type in types.items()})
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=rng.choice((7, 1000)))
    return []


_NO_QUOTES = tuple(word for word in UNUSUAL if "'" not in word and word != "#")

INPUTS = (
    InputFormat("jsonl", ("lattice", "forest", "nbest"), _write_jsonl, True, True),
    InputFormat("arrow", ("lattice",), _write_arrow, False, True),
    InputFormat("kaldi", ("lattice",), _write_kaldi, symbols=True),
    InputFormat("openfst-text", ("lattice",), _write_openfst_text, symbols=True),
    InputFormat("k2", ("lattice",), _write_k2, symbols=True),
    InputFormat("htk", ("lattice",), _write_htk, words=_NO_QUOTES),
    InputFormat("plf", ("lattice",), _write_plf),
    InputFormat("moses-nbest", ("nbest",), _write_moses, True),
    InputFormat("nbest-tsv", ("nbest",), _write_nbest_tsv),
    InputFormat("csv", ("nbest",), _write_csv),
    InputFormat("json-rows", ("nbest",), _write_json_rows),
    InputFormat("srilm-nbest", ("nbest",), _write_srilm, words=()),
    InputFormat("hypergraph", ("forest",), _write_hypergraph, words=_NO_QUOTES),
    InputFormat("cdec-forest", ("forest",), _write_cdec_forest, True, words=_NO_QUOTES),
    InputFormat("travatar", ("forest",), _write_travatar, True),
)


def write_references(
    folder: File, segments: Sequence[Segment], layout: str, rng: Random
) -> list[str]:
    """Write files of references, one for each reference of a segment; return the options."""
    count = max(len(segment.references) for segment in segments)
    paths = []
    for place in range(count):
        lines = []
        clock = 0.0
        for segment in segments:
            words = segment.references[place]
            text = " ".join(words)
            if layout == "plain":
                lines.append(text)
            elif layout == "kaldi":
                lines.append(f"{segment.id} {text}".rstrip(" "))
            elif layout == "trn":
                lines.append(f"{text} ({segment.id})")
            elif layout == "stm":
                lines.append(f"{segment.id} A spk {clock:.2f} {clock + 1:.2f} <o,f0> {text}")
            else:
                for word in words:
                    lines.append(f"{segment.id} A {clock:.2f} 0.10 {word}")
                    clock += 0.25
            clock += 2.0
        if layout != "plain":
            rng.shuffle(lines)
        path = folder / f"refs.{place}.{layout}"
        _lines(path, lines)
        paths.append(str(path))
    return ["--refs", *paths, "--refs-format", layout]
