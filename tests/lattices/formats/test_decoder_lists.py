"""Lists as the decoders of today write them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import lattices
from lattices import NBest, OptionError, SpaceError, from_rows
from lattices.formats import FORMATS
from lattices.testing import check_format


def found(path: Path, **options: Any) -> list[tuple[str, list[tuple[str, float]]]]:
    lists = list(lattices.read(path, **options))
    assert all(isinstance(each, NBest) for each in lists)
    return [(each.id, [(one.text, one.score) for one in each]) for each in lists]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["csv", "json-rows", "asr-json", "fairseq", "espnet"])
def test_laws(name: str) -> None:
    check_format(FORMATS.get(name))


LISTS = [("a", [("the cat", -0.5), ("a cat", -2.0)]), ("b", [("yes", -1.0)])]
ROWS = [("a", "the cat", -0.5), ("a", "a cat", -2.0), ("b", "yes", -1.0)]


@pytest.mark.parametrize("names", [("id", "text", "score"), ("utt", "said", "lp")])
def test_rows_of_hypotheses(tmp_path: Path, names: tuple[str, str, str]) -> None:
    options = {} if names[0] == "id" else {"text": "said", "score": "lp"}
    rows = [dict(zip(names, row, strict=True)) for row in ROWS]
    assert [(each.id, [(one.text, one.score) for one in each]) for each in
            from_rows(rows, id=names[0], **options)] == LISTS  # fmt: skip
    path = tmp_path / "rows"
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    assert found(path, format="json-rows", **options) == LISTS
    for mark in ",\t;":
        path.write_text("\n".join(mark.join(map(str, row)) for row in [names, *ROWS]) + "\n")
        assert found(path, format="csv", **options) == LISTS
        if not options:
            assert found(path) == LISTS


def test_quoted_cells_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        'score,id,text,lm\n-1,"a,b","say ""hi""\nthere",2\n\n-2,"a,b",no,3\n-3,c,x,nan\n'
    )
    errors: list[lattices.FormatError] = []
    [nbest] = lattices.read(path, features="lm", on_error=errors.append)
    assert isinstance(nbest, NBest)
    assert list(map(str, errors)) == [f"{path}:6: 'nan' for 'lm', expected a finite number"]
    assert nbest.id == "a,b"
    assert [each.tokens for each in nbest] == [("say", '"hi"', "there"), ("no",)]
    assert [each.features for each in nbest] == [{"lm": 2.0}, {"lm": 3.0}]


def test_manifest_of_nemo(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    rows = [
        {"audio_filepath": "a.wav", "duration": 1.5, "text": "the cat", "pred_text": "a cat",
         "beams": [["a cat", -1.5], ["the cat", -2.0]]},
        {"audio_filepath": "b.wav", "text": "yes", "pred_text": "yes"},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = [("a.wav", [("a cat", -1.5), ("the cat", -2.0)]), ("b.wav", [("yes", 0.0)])]
    assert found(path) == expected
    assert [each.references for each in lattices.read(path)] == [("the cat",), ("yes",)]


def test_rows_with_lists() -> None:
    """As a dataset has them, with columns by any name."""
    rows = [
        {"predictions": ["the cat", "a cat"], "scores": [-0.5, -2.0], "reference": "the hat"},
        {"predictions": [{"text": "yes", "score": -1}], "scores": None, "reference": None},
    ]
    lists = from_rows(rows)
    assert [[(one.text, one.score) for one in each] for each in lists] == [
        [("the cat", -0.5), ("a cat", -2.0)],
        [("yes", -1.0)],
    ]
    assert [each.references for each in lists] == [("the hat",), ()]
    assert [each.text for each in from_rows([{"x": ["a", "b"]}], nbest="x")[0]] == ["a", "b"]
    sources = [{"src": "der Hut", "hyp": "the hat"}, {"src": "der Hut", "hyp": "a hat"}]
    (one,) = from_rows(sources)
    assert (one.source, len(one)) == ("der Hut", 2)
    assert from_rows([{"id": 1, "said": "ja", "hyp": "yes"}], source="said")[0].source == "ja"
    with pytest.raises(SpaceError, match="score='lp', expected one of id, text"):
        from_rows([{"id": 1, "text": "x"}], score="lp")
    with pytest.raises(SpaceError, match="1 scores for 2 hypotheses"):
        from_rows([{"beams": ["a", "b"], "scores": [1]}])
    with pytest.raises(OptionError, match="no column word"):
        from_rows([], word="x")


def test_our_own_lines_are_not_rows(tmp_path: Path) -> None:
    path = tmp_path / "lists"
    nbest = NBest.from_hypotheses([lattices.Hypothesis(("a",), -1.0)], id="x")
    empty = NBest.from_hypotheses([], id="y", metadata={"text": "kept"})
    lattice = lattices.Lattice.from_arcs([(0, 1, "a")], [1], metadata={"text": "kept"})
    for space in (nbest, empty, lattice):
        lattices.write(path, [space], "jsonl")
        [back] = lattices.read(path)
        assert type(back) is type(space)


def test_vosk(tmp_path: Path) -> None:
    path = tmp_path / "vosk.json"
    path.write_text(
        '{\n  "partial" : "the"\n}\n'
        '{\n  "alternatives" : [{\n      "confidence" : 219.5,\n      "result" : [],\n'
        '      "text" : "the cat"\n    }, {\n      "confidence" : 218.25,\n      "text" : "a cat"\n'
        '    }]\n}\n{\n  "result" : [{"conf" : 0.5, "end" : 1.0, "start" : 0.5, "word" : "yes"},\n'
        '    {"conf" : 0.25, "end" : 2.0, "start" : 1.5, "word" : "yes"}],\n'
        '  "text" : "yes yes"\n}\n'
        '{"text" : ""}'
    )
    (_, first), (_, second), (_, third) = found(path)
    assert first == [("the cat", 219.5), ("a cat", 218.25)]
    assert second == [("yes yes", pytest.approx(math.log(0.125)))]
    assert third == [("", 0.0)]


def test_whisper(tmp_path: Path) -> None:
    path = tmp_path / "talk-1.json"
    segments = [
        {"id": 0, "seek": 0, "start": 0.0, "end": 2.0, "text": " The cat", "tokens": [50364, 440],
         "temperature": 0.0, "avg_logprob": -0.25, "compression_ratio": 1.0, "no_speech_prob": 0.1},
        {"id": 1, "seek": 0, "start": 2.0, "end": 3.0, "text": " sat.", "tokens": [3227],
         "avg_logprob": -0.5},
    ]  # fmt: skip
    path.write_text(json.dumps({"text": " The cat sat.", "segments": segments, "language": "en"}))
    assert found(path) == [("talk-1", [("The cat sat.", -0.25 * 3 - 0.5 * 2)])]
    parts = [
        {"timestamps": {}, "offsets": {"from": 0, "to": 9}, "text": " The cat",
         "tokens": [{"text": " The", "id": 440, "p": 0.5}, {"text": " cat", "p": 0.25}]},
        {"offsets": {"from": 9, "to": 20}, "text": " sat."},
    ]  # fmt: skip
    about = {"systeminfo": "AVX", "model": {"type": "base"}, "result": {"language": "en"}}
    path.write_text(json.dumps({**about, "transcription": parts}, indent=1))
    [(name, [(text, score)])] = found(path)
    assert (name, text) == ("talk-1", "The cat sat.")
    assert score == pytest.approx(math.log(0.125))


def test_json_of_espnet(tmp_path: Path) -> None:
    path = tmp_path / "data.json"

    def output(rank: int, text: str, score: float) -> dict[str, Any]:
        about = {"name": f"target1[{rank}]", "rec_token": "x", "rec_tokenid": "1", "shape": [1, 2]}
        return {**about, "rec_text": text, "score": score, "text": "the cat", "token": "t"}

    utts = {
        "u-1": {"utt2spk": "u", "output": [output(1, "a cat<eos>", -1.5), output(2, "the", -2)]},
        "u-2": {"utt2spk": "u", "output": [output(1, "", -0.5)]},
    }
    path.write_text(json.dumps({"utts": utts}, indent=4, sort_keys=True))
    assert found(path) == [("u-1", [("a cat", -1.5), ("the", -2.0)]), ("u-2", [("", -0.5)])]
    assert next(iter(lattices.read(path))).references == ("the cat",)
    utts["u-2"]["output"][0]["score"] = None  # type: ignore[index]
    path.write_text(json.dumps({"utts": utts}, indent=4, sort_keys=True))
    line = 1 + path.read_text()[: path.read_text().index('"u-2"')].count("\n")
    with pytest.raises(lattices.FormatError, match=rf"data\.json:{line}: None for 'score'"):
        list(lattices.read(path))


def test_directories_of_espnet(tmp_path: Path) -> None:
    for rank, texts, scores in [
        (1, "u-1 a cat\nu-2 yes\n", "u-1 tensor(-1.5)\nu-2 tensor(-0.25, device='cuda:0')\n"),
        (2, "u-1 the cat\n", "u-1 -2.5\n"),
        (3, "u-1\n", "u-1 -3.5\n"),
    ]:
        folder = tmp_path / f"{rank}best_recog"
        folder.mkdir()
        (folder / "text").write_text(texts)
        (folder / "score").write_text(scores)
    path = tmp_path / "1best_recog" / "text"
    expected = [
        ("u-1", [("a cat", -1.5), ("the cat", -2.5), ("", -3.5)]),
        ("u-2", [("yes", -0.25)]),
    ]
    assert found(path, format="espnet") == expected
    (tmp_path / "2best_recog" / "score").write_text("u-1 tensor(nan)\n")
    with pytest.raises(lattices.FormatError, match=r"text:1: score 'tensor\(nan\)', expected"):
        list(lattices.read(path, format="espnet"))


def test_fairseq(tmp_path: Path) -> None:
    path = tmp_path / "generate.txt"
    path.write_text(
        "2020-01-01 | INFO | loaded\nS-3\tdie Katze\nT-3\tthe cat\nH-3\t-0.5\tthe c@@ at\n"
        "D-3\t-0.5\tthe cat\nP-3\t-1.0 -0.25 -0.25\nH-3\t-1.5\ta c@@ at\nD-3\t-1.5\ta cat\n"
        "P-3\t-1.5 -1.5 -1.5\nS-0\tja\nH-0\t-0.25\tyes\nP-0\t-0.25\n"
        "2020 | INFO | Generate valid with beam=5: BLEU4 = 1.0\n"
    )
    log2 = math.log(2)
    expected = [
        ("3", [("the cat", -0.5 * log2), ("a cat", -1.5 * log2)]),
        ("0", [("yes", -0.25 * log2)]),
    ]
    assert found(path) == expected
    first = next(iter(lattices.read(path)))
    assert isinstance(first, NBest)
    assert (first.source, first.references) == ("die Katze", ("the cat",))
    assert first[0].features == {"logprob": pytest.approx(-1.5 * log2)}
    assert found(path, side="H")[0][1][0][0] == "the c@@ at"


def test_marian(tmp_path: Path) -> None:
    path = tmp_path / "marian.nbest"
    path.write_text(
        "0 ||| the cat ||| 0-0 1-1 ||| WordScores= -0.1 -0.2 -0.3 ||| F0= -0.6 ||| -0.2\n"
        "0 ||| cat ||| 0-0 ||| WordScores= -0.1 -0.2 ||| F0= -0.3 ||| -0.15\n"
        "1 ||| yes ||| F0= -0.6 ||| -0.2\n"
    )
    assert found(path) == [("0", [("the cat", -0.2), ("cat", -0.15)]), ("1", [("yes", -0.2)])]
    first = next(iter(lattices.read(path)))
    assert isinstance(first, NBest)
    assert [each.features for each in first] == [{"F0": -0.6}, {"F0": -0.3}]
    assert first.metadata["extra"][1] == "0-0 ||| WordScores= -0.1 -0.2"
