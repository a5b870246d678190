"""The page in a real browser: what can be done with it, and that the console stays silent."""

from __future__ import annotations

import json
import os
import time
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoding import sample_data
from decoding.corpus.outcomes import Done, Segment
from decoding.report.segments import ReportTask
from decoding.report.systems import SystemReport
from fstmetrics import WER, Exact
from lattices import Forest, Hypothesis, Lattice, NBest
from tests.browser import Browser, browser, missing
from tests.decoding.cli.commandline import command
from tests.decoding.report.pages import collected, page_of

ENTER, ESCAPE, DOWN, UP, END, PAGE = "\ue007", "\ue00c", "\ue015", "\ue013", "\ue010", "\ue00f"
ROWS = "#list [role=row]"
#: the first table of systems
TABLE = "#summary .card:first-child .scores"
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


def column(window: Browser, key: str) -> list[str]:
    return window.texts(f"{ROWS} [data-column='{key}']")


def sort_by(window: Browser, key: str) -> list[str]:
    window.click(f"[data-key='{key}']")
    return column(window, key)


def pick(window: Browser, selector: str, value: str | int) -> None:
    script = """
      const box = document.querySelector(arguments[0]); box.value = arguments[1];
      box.dispatchEvent(new Event('change'))"""
    window.run(script, selector, str(value))


def test_all_parts_are_there(window: Browser, demo: Path) -> None:
    window.open(demo)
    assert window.run("return document.title") == "pocketsphinx"
    assert window.texts(".scores caption strong") == ["WER", "4-GRR"]
    assert window.texts(f"{TABLE} tbody th")[:3] == ["■1-best", "◆MBR", "●own oracle"]
    assert len(window.texts(".effect")) == 4
    assert window.texts(f"{TABLE} .score")[0] == "9.58"
    assert "%WER 9.58 [ " in window.texts(".rates pre")[0]
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
    scores = [float(each) for each in sort_by(window, "0:0")]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 20
    assert (
        window.run("return document.querySelector('[aria-sort=descending] [data-key]').dataset.key")
        == "0:0"
    )
    scores = [float(each) for each in sort_by(window, "0:0")]
    assert scores == sorted(scores)
    sort_by(window, "0:0")
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
    pick(window, "#which", "errors-2")
    scores = column(window, "0:2")
    assert scores
    assert all(float(each) > 0 for each in scores)
    pick(window, "#group", "s03")
    assert all(each.startswith("s03") for each in window.texts(IDS))
    window.click(".chip")
    pick(window, "#length", "16-31")
    assert all(int(each) > 15 for each in column(window, "words"))
    window.click(".chip")
    # an error lists the segments that have it
    window.click(".frequent-column .error")
    assert window.texts(IDS) == ["s034", "s046"]
    window.click(".chip")
    window.click(".groups .link")
    assert all(each.startswith("s03") for each in window.texts(IDS))


def test_filter_and_sort_by_numbers(window: Browser, demo: Path) -> None:
    window.open(demo)
    errors = dict(zip(window.texts(IDS), _errors(window), strict=True))
    # errors of the 1-best less those of the oracle, at least 2
    pick(window, "#minus", 2)
    window.run("document.querySelector('.picker input').value = 2")
    window.click("#filter")
    gained = {id: one - oracle for id, (one, _, oracle) in errors.items()}
    assert set(window.texts(IDS)) == {id for id, gain in gained.items() if gain >= 2} != set()
    (chip,) = window.texts(".chip")
    assert chip.startswith("errors: 1-best − own oracle ≥ 2")
    window.click("#order")
    shown = [int(each) for each in column(window, "errors:0-2")]
    assert shown == sorted((gain for gain in gained.values() if gain >= 2), reverse=True)
    window.click(".chip")
    assert window.texts(".tools .count") == ["19 segments"]
    # by words, which are of no sentence
    pick(window, "#measure", "words")
    pick(window, "#relation", 1)
    window.run("document.querySelector('.picker input').value = 12")
    assert window.run("return document.querySelector('[data-answers]').hidden")
    window.click("#filter")
    assert all(int(each) <= 12 for each in column(window, "words"))
    # another column, and none of the MBR decision
    window.click(".chip")
    window.click(".columns summary")
    window.click(".columns label:nth-child(2) input")
    assert column(window, "0:1") == []


def _errors(window: Browser) -> list[list[int]]:
    """Return the errors of all kinds of sentences, segment by segment."""
    click = (
        "document.querySelector(`[aria-label='Columns show'] button:${arguments[0]}-child`).click()"
    )
    window.run(click, "last")
    columns = [column(window, f"errors:{number}") for number in range(3)]
    window.run(click, "first")
    return [[int(each) for each in row] for row in zip(*columns, strict=True)]


def test_search_in_one_text(window: Browser, demo: Path) -> None:
    window.open(demo)
    window.keys("/", *"didn't")
    # said, and not in any reference
    assert window.texts(IDS) == ["s036"]
    pick(window, "#scope", "reference")
    assert window.texts(IDS) == []
    pick(window, "#scope", 0)
    assert window.texts(IDS) == ["s036"]


def test_save_what_is_listed(
    chromium: Browser, window: Browser, demo: Path, tmp_path: Path
) -> None:
    options = {"behavior": "allow", "downloadPath": str(tmp_path)}
    chromium.driver.execute_cdp_cmd("Browser.setDownloadBehavior", options)
    window.open(demo)
    window.keys("/", *"s03")
    sort_by(window, "words")
    listed = window.texts(IDS)
    window.click("#save-tsv")
    window.click("#save-json")
    files = tmp_path / "segments.tsv", tmp_path / "segments.json"
    end = time.monotonic() + 30
    while not all(map(Path.exists, files)) and time.monotonic() < end:
        time.sleep(0.05)
    header, *rows = [line.split("\t") for line in files[0].read_text().splitlines()]
    assert header[:5] == ["id", "group", "words", "reference", "1-best substitutions"]
    assert [row[0] for row in rows] == listed
    found = json.loads(files[1].read_text())
    assert [each["id"] for each in found] == listed
    one = found[0]["answers"]["1-best"]
    assert {*one} == {"substitutions", "insertions", "deletions", "scores", "text"}
    assert str(one["scores"]["WER"]) == rows[0][header.index("1-best WER")]
    assert one["text"] == rows[0][header.index("1-best text")]


def test_segment_by_click(window: Browser, demo: Path) -> None:
    window.open(demo)
    window.run("document.querySelector('#list').scrollIntoView()")
    window.driver.find_elements("css selector", IDS)[3].click()
    assert opened(window) == "s035"
    assert window.texts("#segment h3") == [
        "Alignment",
        "Confusion network",
        "Lattice where paths differ",
    ]
    rows = window.texts(".alignment tr th")
    assert rows[:4] == ["reference", "■1-best 20.00", "◆MBR 20.00", "●WER oracle 13.33"]
    # an error has a class for its colour, and a word for those who cannot see it
    marked = window.texts(".alignment td .cell.s + .unseen")
    assert set(marked) == {" (substitution)"}
    # words that all paths share are one box, and what the reference has instead is another
    folded, oracle, reference = (
        window.texts(f".lattice .word.{name} .label") for name in ("folded", "oracle", "reference")
    )
    assert any("we … " in each for each in folded)
    assert len(oracle) > 3
    assert reference
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
    # j and k go to the next row, or to the next segment where one is open
    window.keys("j", "j", "k")
    active = "return document.querySelector('[data-active]').id"
    assert window.run(active) == "row-2"
    window.keys(ENTER)
    assert opened(window) == "s034"
    window.keys("j")
    window.wait("return document.querySelector('#segment h2').textContent === 's035'")
    window.keys(ESCAPE, "/", *"s04", "\ue004")
    window.run("document.querySelector('#list').focus()")
    window.keys("c")
    assert window.texts(".tools .count") == ["19 segments"]
    window.run("document.querySelector('#list').focus()")
    window.keys(END, ENTER)
    assert opened(window) == "s050"
    active = "return document.querySelector('#list').getAttribute('aria-activedescendant')"
    assert window.run(active) == "row-18"


def test_everything_has_a_name_and_the_tab_key_reaches_it(window: Browser, demo: Path) -> None:
    window.open(demo)
    nameless = (
        "const all = 'button, select, input, svg[role=img], [role=region]';"
        "const name = (e) => e.textContent.trim() || e.getAttribute('aria-label') ||"
        " e.labels?.[0]?.textContent;"
        "return [...document.querySelectorAll(all)].filter((e) => !name(e)).length"
    )
    assert window.run(nameless) == 0
    seen = set()
    for _ in range(80):
        window.keys("\ue004")
        seen.add(window.run("return document.activeElement.id"))
    assert {"search", "which", "group", "length", "measure", "filter", "save-tsv", "list"} <= seen


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
    names = [
        "■whole 1-best", "◆whole MBR", "●whole oracle",
        "■pruned 1-best", "◆pruned MBR", "●pruned oracle",
    ]  # fmt: skip
    assert window.texts(".scores tbody th") == names
    assert window.texts(".sentence-scores tbody th") == names
    # differences are from the answer that is chosen
    assert window.texts(".scores thead th")[-1] == "minus whole 1-best"
    pick(window, "#baseline", 3)
    assert window.texts(".scores thead th")[-1] == "minus pruned 1-best"
    assert len(window.texts(".effect")) == 5
    assert len(window.texts(".lattice")) == 2
    assert window.run("return document.querySelectorAll('.chart .curve').length") == 2
    pick(window, "#which", "wins-2-5")
    pairs = list(zip(column(window, "0:2"), column(window, "0:5"), strict=True))
    assert pairs
    assert all(float(one) < float(other) for one, other in pairs)


@pytest.fixture(scope="module")
def thirteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain text of thirteen systems, the first of which is right, and others worse and worse."""
    place = tmp_path_factory.mktemp("thirteen")
    references = [f"the {'very ' * (n % 5)}old cat sat on mat {n}" for n in range(60)]
    files = [place / f"system-{letter}.txt" for letter in "abcdefghijklm"]
    for number, file in enumerate(files):
        texts = [
            " ".join(w for at, w in enumerate(text.split()) if (at * 7 + n) % 13 >= number)
            for n, text in enumerate(references)
        ]
        file.write_text("".join(f"{text}\n" for text in texts))
    (place / "refs").write_text("".join(f"{text}\n" for text in references))
    argv = [*files, "--refs", place / "refs", "--refs-format", "plain", "--metric", "wer", "bleu"]
    page = place / "report.html"
    assert command("report")(*argv, "-q", "--samples", "100", "-o", page) == 0
    return page


def test_thirteen_systems_of_plain_text(window: Browser, thirteen: Path) -> None:
    window.open(thirteen)
    names = [f"■system-{letter}" for letter in "abcdefghijklm"]
    assert window.texts(f"{TABLE} tbody th") == names
    assert window.run("return document.querySelector('#curves').hidden")
    effects = window.texts(f"{TABLE} .effect")
    assert len(effects) == 12
    assert all(each.startswith("✗+") and "MAPSSWE" in each for each in effects)
    window.click("[aria-label=Order] button:last-child")
    assert window.texts(f"{TABLE} tbody th") == names
    pick(window, "#baseline", 12)
    assert all(each.startswith("✓−") for each in window.texts(f"{TABLE} .effect"))
    # every segment is aligned in all systems, one below the other
    window.click(IDS)
    opened(window)
    rows = window.texts(".alignment:first-of-type th")
    assert [each.split()[0] for each in rows[:14]] == ["reference", *names]
    assert len(window.texts(".sentence-scores tbody tr")) == 13
    # no more columns than fit at first, and others by their boxes
    shown = window.texts(".list-head .col-number")
    assert len(shown) == 6
    window.click(".columns summary")
    window.click(".columns label:last-child input")
    assert len(window.texts(".list-head .col-number")) == 7
    pick(window, "#which", "all-wrong")
    # the first is right everywhere
    assert window.texts(".tools .count") == ["0 of 60 segments"]
    pick(window, "#which", "wins-0-12")
    assert window.texts(".tools .count") == ["60 segments"]


def test_play_a_segment_and_from_a_word(window: Browser, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "s035.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(8 * 16000))
    folder, page = sample_data(), tmp_path / "report.html"
    argv = [folder / "s035.slf.gz", folder / "s036.slf.gz", "--refs", folder / "refs.txt"]
    argv += ["--metric", "wer", "--audio", tmp_path, "-q", "-o", page]
    assert command("report")(*argv) == 0
    window.open(page, "#segment=s035")
    opened(window)
    # nothing is loaded before it is played
    state = "const a = document.querySelector('audio'); return "
    assert window.run(f"{state} a.readyState") == 0
    assert window.run(f"{state} a.getAttribute('aria-label')") == "Recording"
    window.keys("a")
    window.wait(f"{state} !a.paused && a.currentTime > 0")
    window.keys("a")
    assert window.run(f"{state} a.paused")
    words = window.texts(".alignment .listen")
    assert words[:3] == ["we", "need", "to"]
    said = window.run("return document.querySelectorAll('.alignment .listen')[6].title")
    begin = float(said.removeprefix("play from ").removesuffix(" s"))
    window.run("document.querySelectorAll('.alignment .listen')[6].click()")
    window.wait(f"{state} a.currentTime >= arguments[0] && !a.paused", begin)
    window.click(".network button.time")
    window.wait(f"{state} a.currentTime < arguments[0]", begin)
    # another segment has no recording
    window.keys("n")
    window.wait("return document.querySelector('#segment h2').textContent === 's036'")
    assert window.texts("audio, .listen, button.time") == []
    window.keys("a")


def test_curves_of_samples(window: Browser, tmp_path: Path) -> None:
    lists = [
        NBest.from_hypotheses(
            [Hypothesis((word,)) for word in "abc"[n % 3 :] + "ab"], id=f"s{n}", references=["a"]
        )
        for n in range(9)
    ]
    page = tmp_path / "samples.html"
    page.write_bytes(page_of(collected(lists, (Exact(),), at=(1, 2, 4), random=True)))
    window.open(page)
    assert window.texts(".chart .end") == ["oracle", "MBR"]
    assert window.run("return document.querySelectorAll('.chart .band').length") == 2
    assert "among k samples, drawn at random" in window.texts("#curves .hint")[0]


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
    # nothing sticks out
    window.wait("return document.documentElement.scrollWidth <= innerWidth")
    window.prefer("dark", "print")
    assert min(window.run(ground)) > 200
    document = window.printed()
    assert document.startswith(b"%PDF")
    assert document.count(b"/Type /Page\n") >= 2 or document.count(b"/Type/Page") >= 2
    window.prefer("light")


@pytest.mark.parametrize("page", ["demo", "two", "thirteen"])
def test_nothing_scrolls_sideways_on_a_telephone(
    window: Browser, page: str, request: pytest.FixtureRequest
) -> None:
    """But pictures of lattices, which are as wide as their sentence is long."""
    window.resize(360, 740)
    window.open(request.getfixturevalue(page))
    window.click(IDS)
    opened(window)
    window.wait("return document.documentElement.scrollWidth <= innerWidth")
    wide = """
      const clipped = (e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1 &&
        ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
      return [...document.querySelectorAll("main *")].filter(clipped)
        .filter((e) => !e.matches(".picture")).map((e) => e.className)"""
    assert window.run(wide) == []
    # the reference has a line of its own
    tops = "return [...arguments].map((e) => document.querySelector(e).getBoundingClientRect().top)"
    first, text = window.run(tops, IDS, f"{ROWS} .col-text")
    assert text > first + 10


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
