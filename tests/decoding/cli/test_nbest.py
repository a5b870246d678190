"""``fstmetrics nbest``."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from lattices import Lattice, NBest, read
from tests.decoding.cli.commandline import CAT, cats, command, lattice_line, words

run = command()


def lists(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Return the sentences and scores of every list."""
    return {one.id: [(each.text, round(each.score, 9)) for each in one] for one in read(path)}


TWICE = [*CAT, (0, 1, "a", -0.2)]


def test_paths_best_first(tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.tsv"
    source.write_text(lattice_line("s0", TWICE) + lattice_line("s1", CAT))
    assert run("nbest", source, "-k", 3, "-o", out) == 0
    assert lists(out) == {
        "s0": [("a hat", -0.3), ("a hat", -0.4), ("a cat", -0.8)],
        "s1": [("a hat", -0.3), ("a cat", -0.8), ("the hat", -1.1)],
    }


def test_different_sentences(tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.tsv"
    source.write_text(lattice_line("s0", TWICE))
    assert run("nbest", source, "--unique", "-o", out) == 0
    assert lists(out) == {
        "s0": [("a hat", -0.3), ("a cat", -0.8), ("the hat", -1.1), ("the cat", -1.6)]
    }


def test_features_and_references_come_along(tmp_path: Path) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.jsonl"
    source.write_text(
        '{"id": "x", "src": "s", "refs": ["a b"], "finals": {"2": -1.0}, "final_features": '
        '{"2": {"lm": 4}}, "arcs": [[0, 1, "a", -1, {"lm": -2}], [1, 2, "", 0, {"tm": 1}]]}\n'
    )
    assert run("nbest", source, "-o", out) == 0
    (found,) = read(out)
    assert isinstance(found, NBest)
    assert (found[0].text, found[0].score, found[0].features) == ("a", -2.0, {"lm": 2.0, "tm": 1.0})
    assert (found.references, found.source) == (("a b",), "s")


def test_lists_are_cut(tmp_path: Path) -> None:
    source, out = tmp_path / "a.nbest", tmp_path / "o.nbest"
    words(
        source,
        "0 ||| a b ||| lm= -1 ||| -3 ||| 0-0 1-1",
        "0 ||| a ||| lm= -2 ||| -1 ||| 0-0",
        "0 ||| a b ||| lm= 0 ||| -2",
        "1 ||| c ||| lm= -4 ||| -1",
    )
    assert run("nbest", source, "-k", 2, "-o", out) == 0
    assert out.read_text().splitlines() == [
        "0 ||| a ||| lm= -2.0 ||| -1.0 ||| 0-0",
        "0 ||| a b ||| lm= 0.0 ||| -2.0",
        "1 ||| c ||| lm= -4.0 ||| -1.0",
    ]


def test_a_lattice_without_a_path_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "a.jsonl", tmp_path / "o.tsv"
    source.write_text(
        '{"id": "dead", "states": 2, "finals": {"1": 0}, "arcs": []}\n' + lattice_line("s1", CAT)
    )
    assert run("nbest", source, "-o", out) == 1
    assert list(lists(out)) == ["s1"]
    assert "segment 'dead': the lattice has no complete path" in capsys.readouterr().err


def test_a_format_of_lattices_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = cats(tmp_path / "a.jsonl"), tmp_path / "o.plf"
    assert run("nbest", source, "-o", out) == 2
    assert "plf holds no n-best lists" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("argv", [["-k", "0"], ["-k", "x"], []])
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nbest", *argv, *(["x"] if argv else [])) == 2
    assert "error: " in capsys.readouterr().err


def test_standard_output_is_json_lines(tmp_path: Path, capsysbinary: object) -> None:
    assert run("nbest", cats(tmp_path / "a.jsonl", 1), "-k", 1) == 0
    out = capsysbinary.readouterr().out  # type: ignore[attr-defined]
    assert out.startswith(b'{"id":"s0","refs":["the cat"],"nbest":[{"words":"a hat","score":-0.3')


def test_real_lattices(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "multi30k-deen" / "tiny20.de-en.lat.d10.jsonl"
    for unique in (False, True):
        written = []
        for workers in (1, 2):
            out = tmp_path / f"{workers}.nbest"
            flags = ["--unique"] if unique else []
            argv = ["-k", 50, "-o", out, "--lossy", "--workers", workers, *flags]
            assert run("nbest", source, *argv) == 0
            written.append(out.read_bytes())
        assert written[0] == written[1]
        for lattice, found in zip(read(source), read(out), strict=True):
            assert isinstance(lattice, Lattice)
            scores: dict[object, float] = {}
            for number, path in enumerate(lattice.paths()):
                key = path.tokens if unique else number
                scores[key] = max(path.score, scores.get(key, path.score))
            assert found.score.tolist() == sorted(scores.values(), reverse=True)[:50]
            if unique:
                assert len({each.tokens for each in found}) == len(found)


def test_scores_are_the_features_under_the_decoders_weights(
    shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "multi30k-deen"
    out = tmp_path / "o.nbest"
    argv = ["-k", 20, "-o", out, "--lossy"]
    assert run("nbest", folder / "tiny20.de-en.lat.d10.jsonl", *argv) == 0
    lines = (folder / "weights.de-en").read_text().splitlines()
    weights = {name: float(value) for name, value in map(str.split, lines)}
    for found in read(out):
        assert found.reweighted(weights).score == pytest.approx(found.score, abs=1e-4)


def test_lists_of_a_real_decoder_stay_what_they_are(shared_data: Path, tmp_path: Path) -> None:
    source, out = shared_data / "librispeech-nbest" / "dev_clean.nbest.tsv.gz", tmp_path / "o.tsv"
    assert run("nbest", source, "-k", 3, "-o", out, "--workers", 2) == 0
    sizes = Counter(len(found) for found in read(out))
    assert sizes == Counter(min(3, len(each)) for each in read(source))
    for found, each in islice(zip(read(out), read(source), strict=True), 300):
        assert found.score.tolist() == sorted(each.score.tolist(), reverse=True)[:3]
