# %% [markdown]
# # Oracle WER and confidences from speech lattices
#
# A speech recogniser writes [lattices](../glossary.md#what-the-decoder-said). This tutorial asks
# four things of them: how good the best answer in there is (the
# [oracle](../glossary.md#choosing)), how large a lattice has to be to hold it, where the errors
# are, and which words of an answer can be trusted.
#
# The lattices come with the package: 19 utterances, decoded by PocketSphinx, with what was said.

# %%
import lattices
from decoding import sample_data

folder = sample_data()
said = dict(line.split(maxsplit=1) for line in (folder / "refs.txt").read_text().splitlines())
spaces = [next(lattices.read(folder / f"{name}.slf.gz")) for name in said]
print(len(spaces), "lattices,", sum(space.num_arcs for space in spaces), "arcs")
print(spaces[4], "with", f"{lattices.path_count(spaces[4]):.1e}", "paths")
print("said:  ", said[spaces[4].id])
print("1-best:", lattices.best(spaces[4]).text)

# %% [markdown]
# ## The oracle
#
# A metric *against* references is an [evaluator](../glossary.md#what-is-good). `oracles` searches
# all lattices in one call. Each result has its score, its words, its alignment, and `exact`: no
# other path of that lattice is better.

# %%
from decoding import oracles
from fstmetrics import WER, corpus_score

evaluators = [WER().against([text]) for text in said.values()]
found = oracles(spaces, evaluators)
references = [[text] for text in said.values()]
first = corpus_score(WER(), [lattices.best(space).text for space in spaces], references)
best = corpus_score(WER(), [each.text for each in found], references)
print(f"WER of the 1-best {first:.1%}, of the oracle {best:.1%}")
assert all(each.exact for each in found)

# %% [markdown]
# So most errors are errors of *choice*: the right words were in the lattice, and the scores put
# others first. What is left was never in the lattice:

# %%
for space, each in zip(spaces, found, strict=True):
    wrong = [edit for edit in each.edits if edit.operation != "match"]
    if wrong:
        changes = ", ".join(f"{edit.reference or '-'} → {edit.hypothesis or '-'}" for edit in wrong)
        print(f"{space.id}: {changes}")

# %% [markdown]
# ## How large must a lattice be?
#
# Arcs are dropped, the least probable first, until a lattice has so many arcs for each word of its
# best path. The oracle of what is left is the price of a smaller lattice.

# %%
from decoding import density_curve

for density in (1, 2, 5, 10, 20, 50):
    points = [
        density_curve(space, evaluator, [density])[0]
        for space, evaluator in zip(spaces, evaluators, strict=True)
    ]
    rate = corpus_score(WER(), [point.oracle.text for point in points], references)
    print(f"{density:3} arcs a word: oracle WER {rate:.1%}")

# %% [markdown]
# ## Words and confidences
#
# [Minimum-Bayes-risk decoding](../mbr.md) under WER chooses the sentence with the fewest expected
# errors, without a reference. As a by-product each word has a confidence: its
# [posterior](../glossary.md#what-the-decoder-said) in a confusion network.

# %%
from decoding import mbr

answers = [mbr(space, WER()) for space in spaces]
for word in answers[4].network.words:
    print(f"{word.begin:5.2f} {word.end:5.2f}  {word.word:8} {word.confidence:.2f}")

# %% [markdown]
# Can these numbers be trusted? Put words in bins by confidence, and count how many are right. Where
# the model is well calibrated, the two columns agree.

# %%
pairs = []
for answer, evaluator in zip(answers, evaluators, strict=True):
    right = [
        edit.operation == "match"
        for edit in evaluator.judge(answer.text).edits
        if edit.operation != "deletion"
    ]
    pairs += zip((word.confidence for word in answer.network.words), right, strict=True)
print("confidence  words  mean  right")
for low, high in ((0.0, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 1.01)):
    inside = [(sure, ok) for sure, ok in pairs if low <= sure < high]
    mean, right = (sum(column) / len(inside) for column in zip(*inside, strict=True))
    print(f"{low:.2f}-{min(high, 1):.2f}   {len(inside):6}  {mean:.2f}  {right:6.2f}")

# %% [markdown]
# The scale of the scores decides how sure the model is: `mbr(space, WER(), scale=2.0)` sharpens,
# `scale=0.5` flattens. Tune it on data that was set aside.
#
# ## The same from the shell
#
# `fstmetrics oracle`, `fstmetrics mbr --confidences` and `fstmetrics confusion` do all of this for
# files, in parallel: [start here](../start.md#speech). To read your own lattices:
# [Kaldi](../how-to/kaldi.md), [k2](../how-to/k2.md), [HTK and SRILM](../how-to/htk.md).
