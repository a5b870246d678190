# %% [markdown]
# # Your own file format
#
# Decoders write files in formats of their own. If yours is not among the
# [formats](../formats.md), there are two ways: a script that writes
# [JSON lines](../formats.md#our-json-lines), which takes ten lines and is often enough, or a plug-in,
# after which every command reads your files as they are, streams them, reports damaged records by
# file and line, and writes them.
#
# The format here is a list of hypotheses, with bars: `utterance|score|words`. Lines of one utterance
# follow each other.
#
# ## The class
#
# - `sniff` looks at the first bytes: could this be mine?
# - `records` cuts a stream into pieces, cheaply, so that workers can parse them in parallel.
# - `parse` makes a space of a piece. Errors are made by the record, which knows its file and line.
# - `write` writes; what cannot be held goes to `losses`.

# %%
from itertools import chain

import numpy as np

import lattices
from lattices.formats import Format, group_lines, join_words, split_words
from lattices.spaces import NBest


class Bars(Format):
    """N-best lists as lines ``utterance|score|words``."""

    name = "bars"
    description = "n-best lists as lines with bars: utterance|score|words"
    kind = "nbest"
    suffixes = (".bars",)
    exact = True
    appendable = True

    def sniff(self, head):
        columns = head.split(b"\n", 1)[0].split(b"|")
        return len(columns) == 3 and number(columns[1]) is not None

    def records(self, stream, path):
        return group_lines(stream, path, lambda line: line.partition(b"|")[0])

    def parse(self, record, vocabulary, **options):
        words, scores = [], []
        for place, line in enumerate(record.text().rstrip("\n").split("\n")):
            columns = line.split("|")
            if len(columns) != 3:
                raise record.error(f"{len(columns)} columns, expected utterance|score|words", place)
            score = number(columns[1])
            if score is None:
                raise record.error(f"score {columns[1]!r}, expected a finite number", place)
            scores.append(score)
            words.append(split_words(columns[2]))
        return NBest(
            vocabulary=vocabulary,
            label=np.array(vocabulary.add_all(chain.from_iterable(words)), dtype=np.int32),
            offset=np.cumsum([0, *map(len, words)], dtype=np.int32),
            score=np.array(scores),
            id=columns[0],
        )

    def write(self, stream, spaces, losses, **options):
        for space in spaces:
            where = f"segment {space.id!r}"
            if space.features is not None:
                losses.add("features", where)
            if space.references:
                losses.add("references", where)
            for entry, score in enumerate(space.score.tolist()):
                text = join_words(space.tokens(entry), losses, where)
                stream.write(f"{space.id}|{score!r}|{text}\n".encode())


def number(text):
    """Return a finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


# %% [markdown]
# ## The laws
#
# `check_format` writes samples, reads them back, cuts files short, damages bytes, and asks for the
# same segments or for one clear error. It is silent when all is well:

# %%
from lattices.testing import check_format

check_format(Bars())

# %% [markdown]
# A format that breaks a promise is found out. This one says `exact`, and rounds:


# %%
class Rounded(Bars):
    def write(self, stream, spaces, losses, **options):
        for space in spaces:
            for each in space:
                stream.write(f"{space.id}|{each.score:.1f}|{each.text}\n".encode())


try:
    check_format(Rounded())
except AssertionError as problem:
    print(problem)

# %% [markdown]
# ## Used
#
# Registered, it is one of the formats. A file is recognised by its content; a bad line is an error
# with its place, and the other segments can still be had.

# %%
from pathlib import Path

from decoding import oracle
from fstmetrics import WER
from lattices.formats import FORMATS

FORMATS.register("bars", Bars())
Path("said.bars").write_text("u1|-0.5|a hat sat\nu1|-0.9|the cat sat\nu2|bad|hello\nu3|-1.0|yes\n")
for nbest in lattices.read("said.bars", on_error=print):
    print(nbest.id, [each.text for each in nbest])
nbest = next(lattices.read("said.bars"))
print(oracle(nbest, WER().against(["the cat sat"])).text)

# %% [markdown]
# And written; from one format to another nothing is lost in silence.

# %%
lattices.write("copy.bars", [nbest])
print(Path("copy.bars").read_text())
FORMATS.unregister("bars")

# %% [markdown]
# ## As a package
#
# ```toml
# [project.entry-points."lattices.formats"]
# bars = "my_package.bars:FORMAT"
# ```
#
# with `FORMAT = Bars()`. Then `fstmetrics oracle said.bars --refs refs.txt`, `fstmetrics convert
# said.bars -o said.jsonl` and all other commands take the files. A complete package with tests is in
# `examples/plugin-format`; all that a format may have is on the page of [plug-ins](../plugins.md).
