"""The page in a real browser: what can be done with it, and that the console stays silent."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoding import sample_data
from decoding.corpus.outcomes import Done, Segment
from decoding.report.segments import ReportTask
from decoding.report.systems import SystemReport
from fstmetrics import WER
from lattices import Forest, Hypothesis, Lattice, NBest
from tests.browser import Browser, browser, missing
from tests.decoding.cli.commandline import command
from tests.decoding.report.pages import collected, page_of

ENTER, ESCAPE, DOWN, UP, END, PAGE = "\ue007", "\ue00c", "\ue015", "\ue013", "\ue010", "\ue00f"
ROWS = "#list [role=row]"
IDS = f"{ROWS} .col-id"
#: where pictures of the documentation go; made of what comes with the package alone
PICTURES = os.environ.get("FSTMETRICS_PICTURES")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if reason := missing():
        if os.environ.get("FSTMETRICS_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    with browser() as found:
        yield found


@pytest.fixture
def window(chromium: Browser) -> Iterator[Browser]:
    """A browser as it was, whose console has nothing to say in the end."""
    chromium.resize(1280, 900)
    chromium.prefer("light")
    yield chromium
    assert chromium.messages() == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, page = sample_data(), tmp_path_factory.mktemp("demo") / "report.html"
    some = sorted(folder.glob("*.slf.gz"))
    argv = [*some, "--refs", folder / "refs.txt", "--metric", "wer", "grr", "--by", r"s\d\d"]
    assert command("report")(*argv, "-q", "-o", page) == 0
    return page


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, place = sample_data(), tmp_path_factory.mktemp("two")
    some = sorted(folder.glob("*.slf.gz"))
    pruned = place / "pruned.jsonl"
    assert command("prune")(*some, "--density", 5, "-o", pruned) == 0
    argv = [*some, "--against", pruned, "--names", "whole", "pruned"]
    argv += ["--refs", folder / "refs.txt", "--metric", "wer", "-q", "-o", place / "two.html"]
    assert command("report")(*argv) == 0
    return place / "two.html"


def opened(window: Browser) -> str:
    window.wait("return !document.querySelector('#segment').hidden")
    return str(window.wait("return document.querySelector('#segment h2')?.textContent"))


def sort_by(window: Browser, key: str) -> list[str]:
    window.click(f"[data-key={key}]")
    return window.texts(f"{ROWS} .col-{key.partition('-')[0]}")


def test_all_parts_are_there(window: Browser, demo: Path) -> None:
    window.open(demo)
    assert window.run("return document.title") == "pocketsphinx"
    assert window.texts(".scores caption strong") == ["WER", "4-GRR"]
    assert window.texts(".scores:first-of-type tbody th")[:3] == ["■1-best", "◆MBR", "●own oracle"]
    assert len(window.texts(".effect")) == 4
    assert len(window.texts("svg.chart")) == 2
    assert window.texts("#errors h3")[:2] == ["By group", "By length of the reference"]
    assert window.texts("#errors h4") == ["Substitutions", "Insertions", "Deletions"]
    assert window.texts(".tools .count") == ["19 segments"]
    assert window.texts("#notice") == []


def test_choices_are_shown_where_there_are_some(
    window: Browser, demo: Path, tmp_path: Path
) -> None:
    window.open(demo)
    assert window.run("return document.querySelector('#choices').hidden")
    folder = sample_data()
    some = sorted(folder.glob("*.slf.gz"))[:2]
    argv = [*some, "--refs", folder / "refs.txt", "--metric", "wer", "bleu"]
    written, page = tmp_path / "choices.json", tmp_path / "r.html"
    more = ["--intervals", "--differences", "--samples", "50"]
    assert command("choices")(*argv, "-q", *more, "--format", "json", "-o", written) == 0
    assert command("report")(*argv, "-q", "--choices", written, "-o", page) == 0
    window.open(page)
    assert not window.run("return document.querySelector('#choices').hidden")
    assert window.texts("#choices thead th") == ["choice", "of", "under", "WER", "BLEU"]
    rows = window.texts("#choices tbody tr")
    assert rows[0].startswith("1-best")
    assert any(row.startswith("MBRwhole (edit)WER") for row in rows)
    effects = window.texts("#choices tbody .effect")
    assert len(effects) == 2 * (len(rows) - 1)
    assert all("p" in each for each in effects)
    assert "–" in window.texts("#choices tbody td .hint")[0]


def test_nothing_is_asked_of_a_network(window: Browser, demo: Path) -> None:
    window.open(demo)
    window.click(IDS)
    opened(window)
    assert window.run("return performance.getEntriesByType('resource').length") == 0


def test_sort(window: Browser, demo: Path) -> None:
    window.open(demo)
    first = window.texts(IDS)
    scores = [float(each) for each in sort_by(window, "one_best-0")]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.2
    assert (
        window.run("return document.querySelector('[aria-sort=descending] [data-key]').dataset.key")
        == "one_best-0"
    )
    scores = [float(each) for each in sort_by(window, "one_best-0")]
    assert scores == sorted(scores)
    sort_by(window, "one_best-0")
    assert window.texts(IDS) == first
    texts = sort_by(window, "text")
    assert texts == sorted(texts)


def test_search_by_keyboard(window: Browser, demo: Path) -> None:
    window.open(demo)
    window.keys("/", *"Solved once")
    assert window.texts(IDS) == ["s043"]
    assert window.texts(".tools .count") == ["1 of 19 segments"]
    window.keys(ENTER, ENTER)
    assert opened(window) == "s043"
    window.click("#search")
    window.keys(ESCAPE)
    assert window.texts(".tools .count") == ["19 segments"]
    window.keys(*"no such word")
    assert window.texts(".nothing") == ["No segment is like that."]
    window.click(".chip")
    assert window.texts(".tools .count") == ["19 segments"]


def test_filters(window: Browser, demo: Path) -> None:
    window.open(demo)
    pick = (
        "const box = document.querySelector(arguments[0]); box.value = arguments[1];"
        "box.dispatchEvent(new Event('change'))"
    )
    window.run(pick, "#which", "errors-oracle-0")
    scores = window.texts(f"{ROWS} .col-oracle")
    assert scores
    assert all(float(each) > 0 for each in scores)
    window.run(pick, "#group", "s03")
    assert all(each.startswith("s03") for each in window.texts(IDS))
    window.click(".chip")
    window.run(pick, "#length", "16-31")
    assert all(int(each) > 15 for each in window.texts(f"{ROWS} .col-words"))
    window.click(".chip")
    # an error lists the segments that have it
    window.click(".frequent-column .error")
    assert window.texts(IDS) == ["s034", "s046"]
    window.click(".chip")
    window.click(".groups .link")
    assert all(each.startswith("s03") for each in window.texts(IDS))


def test_segment_by_click(window: Browser, demo: Path) -> None:
    window.open(demo)
    window.run("document.querySelector('#list').scrollIntoView()")
    window.driver.find_elements("css selector", IDS)[3].click()
    assert opened(window) == "s035"
    assert window.texts("#segment h3") == [
        "Alignment",
        "Confusion network",
        "Lattice around the oracle",
    ]
    rows = window.texts(".alignment tr th")
    assert rows[:4] == ["reference", "■1-best 0.2000", "◆MBR 0.2000", "●WER oracle 0.1333"]
    # an error has a class for its colour, and a word for those who cannot see it
    marked = window.texts(".alignment td .cell.s + .unseen")
    assert set(marked) == {" (substitution)"}
    assert window.run("return document.querySelectorAll('.lattice .word.oracle').length") > 5
    assert len(window.texts(".network > li")) >= 10
    assert window.run("return location.hash") == "#segment=s035"
    window.click("#segment .buttons button:last-child")
    window.wait("return document.querySelector('#segment').hidden")
    assert window.run("return location.hash") == ""


def test_segment_by_keyboard(window: Browser, demo: Path) -> None:
    window.open(demo)
    window.run("document.querySelector('#list').focus()")
    window.keys(DOWN, DOWN, UP, ENTER)
    assert opened(window) == "s033"
    assert window.run("return document.activeElement.id") == "segment-title"
    window.keys("n")
    window.wait("return document.querySelector('#segment h2').textContent === 's034'")
    window.keys("p")
    window.wait("return document.querySelector('#segment h2').textContent === 's033'")
    window.keys(ESCAPE)
    window.wait("return document.querySelector('#segment').hidden")
    assert window.run("return document.activeElement.id") == "list"
    window.keys(END, ENTER)
    assert opened(window) == "s050"
    active = "return document.querySelector('#list').getAttribute('aria-activedescendant')"
    assert window.run(active) == "row-18"


def test_everything_has_a_name_and_the_tab_key_reaches_it(window: Browser, demo: Path) -> None:
    window.open(demo)
    nameless = (
        "const all = 'button, select, input, svg[role=img], [role=region]';"
        "const name = (e) => e.textContent.trim() || e.getAttribute('aria-label');"
        "return [...document.querySelectorAll(all)].filter((e) => !name(e)).length"
    )
    assert window.run(nameless) == 0
    seen = set()
    for _ in range(60):
        window.keys("\ue004")
        seen.add(window.run("return document.activeElement.id"))
    assert {"search", "which", "group", "length", "list"} <= seen


def test_address_of_a_segment(window: Browser, demo: Path) -> None:
    window.open(demo, "#segment=s040")
    assert opened(window) == "s040"
    window.run("location.hash = '#segment=s041'")
    window.wait("return document.querySelector('#segment h2').textContent === 's041'")
    for nothing in ("#segment=nothing", "#segment=%E0%A4%A", "#<img>"):
        window.open(demo, nothing)
        assert window.run("return document.querySelector('#segment').hidden")


def test_two_systems_side_by_side(window: Browser, two: Path) -> None:
    window.open(two, "#segment=s043")
    assert opened(window) == "s043"
    assert window.texts(".scores .system th") == ["whole", "pruned"]
    rows = window.texts(".sentence-scores tbody th")
    assert rows == [
        "■whole 1-best", "◆whole MBR", "●whole oracle",
        "■pruned 1-best", "◆pruned MBR", "●pruned oracle",
    ]  # fmt: skip
    assert len(window.texts(".lattice")) == 2
    assert window.run("return document.querySelectorAll('.chart .curve').length") == 2
    keys = window.run(
        "return [...document.querySelectorAll('[data-key]')].map((e) => e.dataset.key)"
    )
    assert {"oracle-0", "oracle-1"} <= set(keys)
    window.run("""
      const box = document.querySelector('#which'); box.value = 'oracle-0-wins';
      box.dispatchEvent(new Event('change'))""")
    pairs = zip(
        window.texts(f"{ROWS} .col-oracle")[::2],
        window.texts(f"{ROWS} .col-oracle")[1::2],
        strict=True,
    )
    assert all(float(one) < float(other) for one, other in pairs)


ATTACKS = [
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    '"><svg onload=window.hit=1>',
    "{{constructor.constructor('window.hit=1')()}}",
    "javascript:window.hit=1",
    "&lt;script&gt;window.hit=1&lt;/script&gt;",
    "__proto__",
    "constructor",
    "\u202eabc\u2066",
    "%00%E0%A4%A",
    "#",
    "\\u003cscript\\u003e",
]


def test_hostile_ids_and_words_are_text(window: Browser, tmp_path: Path) -> None:
    spaces: list[Lattice | NBest | Forest] = []
    for number, attack in enumerate(ATTACKS):
        word = attack.replace(" ", "\u00a0")
        about = {"id": attack, "references": [f"b {word}"]}
        arcs = [(0, 1, word, -0.1), (0, 1, "b", -0.9), (1, 2, word, -1.0), (1, 2, "c", -0.5)]
        if number % 3 == 0:
            spaces.append(Lattice.from_arcs(arcs, [2], **about))
        elif number % 3 == 1:
            entries = [Hypothesis((word, "c"), -1.0), Hypothesis(("b", word), -2.0)]
            spaces.append(NBest.from_hypotheses(entries, **about))
        else:
            edges = [(0, [], [word, "c"], -1.0), (0, [], ["b", word], -2.0)]
            spaces.append(Forest.from_edges(edges, **about))
    system = collected(spaces, name=ATTACKS[0])
    system.group_of = None
    grouped = SystemReport(ATTACKS[1], system.metrics, lambda id: id)
    for place, space in enumerate(spaces):
        (found,) = ReportTask(system.metrics).process([Segment(place, "file", 1, space)])
        grouped.add(Done(place, "file", 1, space.id, found))
    page = tmp_path / "hostile.html"
    page.write_bytes(page_of(grouped, system, title=ATTACKS[1], settings={ATTACKS[0]: ATTACKS[1]}))
    window.open(page)
    assert window.run("return document.querySelector('#title').textContent") == ATTACKS[1]
    assert window.texts(IDS) == ATTACKS
    for number, attack in enumerate(ATTACKS):
        window.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", IDS, number)
        window.wait(
            "return document.querySelector('#segment h2')?.textContent === arguments[0]", attack
        )
        words = " ".join(window.texts(".alignment td"))
        assert attack.replace(" ", "\u00a0") in words
    window.keys("/", *ATTACKS[2][:8])
    assert window.texts(IDS) == [ATTACKS[2]]
    assert window.run("return window.hit") is None
    assert window.run("return document.querySelectorAll('img, main script, iframe').length") == 0


def test_markup_is_refused_by_the_policy_of_the_page(chromium: Browser, demo: Path) -> None:
    """What a mistake of ours would do: nothing, and the console says so."""
    chromium.open(demo)
    for mistake in (
        "document.body.innerHTML = '<img src=x onerror=window.hit=1>'",
        "document.body.setAttribute('onclick', 'window.hit = 1')",
    ):
        tried = f"try {{ {mistake}; return 'done'; }} catch (problem) {{ return problem.name; }}"
        assert chromium.run(tried) == "TypeError"
    assert chromium.run("return window.hit") is None
    assert chromium.messages()


def test_twenty_thousand_segments(window: Browser, tmp_path: Path) -> None:
    entries = [Hypothesis(("a", "hat", "sat"), -1.0), Hypothesis(("the", "cat", "sat"), -2.0)]
    space = NBest.from_hypotheses(entries, id="s", references=["the cat sat down"])
    (found,) = ReportTask((WER(),)).process([Segment(0, "file", 1, space)])
    system = SystemReport("many", (WER(),), lambda id: f"g{int(id[1:]) % 50}")
    for number in range(20_000):
        system.add(Done(number, "file", 1, f"s{number}", found))
    page = tmp_path / "many.html"
    page.write_bytes(page_of(system, samples=2))
    window.open(page)
    in_page = "return document.querySelectorAll('#list [role=row]').length"
    assert window.texts(".tools .count") == ["20,000 segments"]
    assert 5 < window.run(in_page) < 60
    window.run("document.querySelector('#list').scrollTop = 10000 * 34")
    window.wait("return document.querySelector('#list').textContent.includes('s10000')")
    assert window.run(in_page) < 60
    window.run("document.querySelector('#list').focus()")
    window.keys(END, PAGE, ENTER)
    assert opened(window) == "s19999"
    window.keys("/", *"s1999")
    window.wait("return document.querySelector('.tools .count').textContent.startsWith('11 of')")
    assert window.texts(IDS)[0] == "s1999"


def test_light_dark_narrow_and_paper(window: Browser, demo: Path) -> None:
    window.open(demo, "#segment=s043")
    opened(window)
    ground = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    assert min(window.run(ground)) > 200
    window.prefer("dark")
    assert max(window.run(ground)) < 60
    window.resize(390, 800)
    # nothing sticks out: what is wide scrolls by itself
    window.wait("return document.documentElement.scrollWidth <= innerWidth")
    window.prefer("dark", "print")
    assert min(window.run(ground)) > 200
    document = window.printed()
    assert document.startswith(b"%PDF")
    assert document.count(b"/Type /Page\n") >= 2 or document.count(b"/Type/Page") >= 2
    window.prefer("light")


def test_what_failed_is_told(window: Browser, tmp_path: Path) -> None:
    from decoding.corpus.outcomes import Failure

    space = NBest.from_hypotheses([Hypothesis(("a",))], id="s", references=["a"])
    system = collected([space])
    system.add(Failure(1, "some.jsonl", 2, "<b>", "no <i>good</i>"))
    page = tmp_path / "failed.html"
    page.write_bytes(page_of(system))
    window.open(page)
    assert window.texts(".failures summary") == ["1 segment failed and is not in any score"]
    assert window.texts(".failures li") == ["some.jsonl:2 <b>: no <i>good</i>"]


def test_pictures_for_the_documentation(window: Browser, demo: Path, tmp_path: Path) -> None:
    folder = Path(PICTURES) if PICTURES else tmp_path
    folder.mkdir(exist_ok=True)
    window.resize(1180, 820)
    window.open(demo)
    (folder / "report.png").write_bytes(window.picture())
    window.open(demo, "#segment=s043")
    opened(window)
    # scrolling to a segment is smooth
    window.wait("return document.querySelector('#segment').getBoundingClientRect().top < 120")
    time.sleep(0.5)
    (folder / "report-segment.png").write_bytes(window.picture("#segment"))
    window.prefer("dark")
    (folder / "report-segment-dark.png").write_bytes(window.picture("#segment"))
    for name in ("report", "report-segment", "report-segment-dark"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
