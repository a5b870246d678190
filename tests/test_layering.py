"""``lattices`` <- ``fstmetrics`` <- ``decoding``: imports go one way only."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "lattices": {"fstmetrics", "decoding"},
    "fstmetrics": {"decoding"},
    "decoding": set(),
}
#: `python -m fstmetrics` is the command, which lives in the uppermost package
EXCEPTIONS = {"fstmetrics/__main__.py": {"decoding"}}
OPTIONAL = {"pynini", "pyarrow", "distributed", "torch", "gensim", "sacrebleu", "matplotlib"}


@cache
def parse(path):
    return ast.parse(path.read_text())


@cache
def modules():
    return [path for package in FORBIDDEN for path in sorted((ROOT / package).rglob("*.py"))]


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    tops = {name.partition(".")[0] for name in imported(parse(path))}
    assert not tops & FORBIDDEN[package] - EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), set())


def test_nothing_imports_an_exception():
    """So that what is below stays usable without what is above."""
    for path in modules():
        names = set(imported(parse(path)))
        assert not names & {name.removesuffix(".py").replace("/", ".") for name in EXCEPTIONS}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_optional_packages_are_imported_when_used(path):
    tree = parse(path)
    at_import = ast.Module([node for node in tree.body if not isinstance(node, ast.If)], [])
    for node in at_import.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            tops = {name.partition(".")[0] for name in imported(ast.Module([node], []))}
            assert not tops & OPTIONAL


def modules_of_tests():
    return [
        path for package in FORBIDDEN for path in sorted((ROOT / "tests" / package).rglob("*.py"))
    ]


@pytest.mark.parametrize("path", modules_of_tests(), ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_of_a_package_do_not_import_those_above(path):
    package = path.relative_to(ROOT).parts[1]
    names = imported(parse(path))
    tops = {name.removeprefix("tests.").partition(".")[0] for name in names}
    assert not tops & FORBIDDEN[package]


def native_sources():
    return [path for package in FORBIDDEN for path in sorted((ROOT / package).glob("native/*.?pp"))]


@pytest.mark.parametrize("path", native_sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_includes_go_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    tops = set(re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE))
    assert not tops & FORBIDDEN[package]


#: the rooms of a package that a room may import from, beside itself and the package's own modules
ROOMS = {
    "lattices.drawing": set(),
    "lattices.spaces": {"lattices.drawing"},
    "lattices.algorithms": {"lattices.spaces", "lattices.interop"},
    "lattices.interop": {"lattices.spaces", "lattices.formats", "lattices.tokens"},
    "lattices.formats": {"lattices.spaces", "lattices.algorithms", "lattices.interop"},
    "lattices.intersection": {"lattices.spaces", "lattices.algorithms", "lattices.formats"},
    "lattices.tokens": {"lattices.spaces", "lattices.formats"},
    "lattices.testing": {"lattices.spaces", "lattices.formats"},
    "fstmetrics.normalisation": set(),
    "fstmetrics.external": set(),
    "fstmetrics.dependency": {"fstmetrics.similarity"},
    "fstmetrics.matching": {"fstmetrics.similarity"},
    "fstmetrics.similarity": {"fstmetrics.alignment", "fstmetrics.ngram"},
    "fstmetrics.alignment": {"fstmetrics.similarity"},
    "fstmetrics.ngram": {"fstmetrics.external", "fstmetrics.similarity"},
    "fstmetrics.statistics": {
        "fstmetrics.alignment",
        "fstmetrics.ngram",
        "fstmetrics.normalisation",
    },
    "decoding.extraction": set(),
    "decoding.minimum_risk": {"decoding.corpus", "decoding.extraction"},
    "decoding.training": {"decoding.extraction"},
    "decoding.corpus": {"decoding.extraction", "decoding.minimum_risk", "decoding.training"},
    "decoding.tasks": {"decoding.corpus", "decoding.extraction", "decoding.minimum_risk"},
    "decoding.report": {
        "decoding.corpus", "decoding.extraction", "decoding.minimum_risk", "decoding.tasks",
    },
    "decoding.cli": {
        "decoding.corpus", "decoding.extraction", "decoding.minimum_risk", "decoding.report",
        "decoding.tasks", "decoding.training",
    },
}  # fmt: skip


#: a folder with more is no one concept any more
MOST_FILES = 15


def test_folders_are_not_crowded():
    folders = [path.parent for path in modules()]
    assert {one: count for one, count in Counter(folders).items() if count > MOST_FILES} == {}


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_every_room_is_here():
    folders = {path.parent for path in modules()} - {ROOT / package for package in FORBIDDEN}
    names = {".".join(folder.relative_to(ROOT).parts[:2]) for folder in folders}
    assert names == set(ROOMS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_know_what_is_below_them(path):
    room = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    tree = parse(path)
    known = {room_of(name) for name in imported(tree)} & set(ROOMS)
    package, _, name = room.partition(".")
    if room in ROOMS:
        # what another package offers is open to all who may import it
        assert {one for one in known if one.startswith(f"{package}.")} <= ROOMS[room] | {room}
    elif name != "__init__":
        # a module beside the rooms does not know the command line
        assert f"{package}.cli" not in known


#: where the tests are of modules that no test file is named after, nor after their folder
TESTED_IN = {
    "lattices/algorithms/paths": "lattices/algorithms/test_kbest",
    "lattices/formats/confusion/slots": "lattices/formats/test_mesh",
    "lattices/formats/fields": "lattices/formats/test_kaldi_text",
    "lattices/formats/forests/edges": "lattices/formats/test_hypergraph",
    "lattices/formats/forests/scores": "lattices/formats/test_cdec",
    "lattices/testing/samples": "lattices/formats/test_round_trips",
    "fstmetrics/external/tokenizers": "fstmetrics/ngram/test_bleu",
    "fstmetrics/matching/edits": "fstmetrics/matching/test_lebleu",
    "fstmetrics/matching/matching_metric": "fstmetrics/matching/test_gtm",
    "fstmetrics/statistics/resampling": "fstmetrics/statistics/test_significance",
    **{
        f"decoding/minimum_risk/pairs/{name}": "decoding/minimum_risk/test_few_calls"
        for name in ("diverse", "pruning", "scores", "centroids")
    },
    "fstmetrics/pairs": "decoding/minimum_risk/test_pairwise",
    "fstmetrics/vocabulary_warning": "decoding/corpus/test_overlap",
    "fstmetrics/product": "laws/test_products",
    "decoding/cli/output/breakdown": "decoding/cli/test_score",
    "decoding/cli/output/choice_table": "decoding/cli/test_choices",
    "decoding/cli/writing": "decoding/cli/test_convert",
    "decoding/corpus/added_features": "decoding/cli/test_features",
    "decoding/corpus/outcomes": "decoding/corpus/test_runner",
    "decoding/corpus/writers": "decoding/corpus/test_table",
    "decoding/extraction/best_paths": "laws/test_products",
    "decoding/extraction/bleu_bound": "decoding/extraction/test_corpus_oracle",
    "decoding/extraction/corpus_selection": "decoding/extraction/test_corpus_oracle",
    "decoding/extraction/results": "decoding/extraction/test_oracle_search",
    "decoding/minimum_risk/method": "decoding/minimum_risk/test_decisions",
    "decoding/tasks/curve": "decoding/cli/test_oracle",
    "decoding/tasks/spaces": "decoding/corpus/test_encoding",
    "decoding/training/training_corpus": "decoding/training/test_risk_learner",
}


def has_logic(path):
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(parse(path)))


@cache
def names_of_tests(package):
    """Return the names of the test files of a package, and of those that are of none."""
    others = FORBIDDEN.keys() - {package}
    return {
        file.stem
        for file in (ROOT / "tests").rglob("test_*.py")
        if file.relative_to(ROOT).parts[1] not in others
    }


def is_tested_by_name(path):
    """Tell whether a test file is named after a module, or after its folder and stands there."""
    folder, stem = path.parent, path.stem
    names = names_of_tests(path.relative_to(ROOT).parts[0])
    likely = (stem, f"{folder.name}_{stem}", f"{stem}_{folder.name}")
    beside = ROOT / "tests" / folder.parent.relative_to(ROOT)
    homes = (beside, beside / folder.name, ROOT / "tests" / "laws")
    return bool(names & {f"test_{one}" for one in likely}) or any(
        (home / f"test_{folder.name}.py").is_file() for home in homes
    )


def test_every_module_has_tests_that_one_finds():
    lost = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path in modules()
        if path.stem != "__init__" and has_logic(path) and not is_tested_by_name(path)
    }
    assert lost == TESTED_IN.keys()
    for place in TESTED_IN.values():
        assert (ROOT / "tests" / f"{place}.py").is_file(), place
