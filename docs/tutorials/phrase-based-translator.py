# %% [markdown]
# # A phrase-based translator in Pynini, and what its lattices are worth
#
# A translator small enough to read: it cuts a German sentence into phrases, may move one word
# forward, translates each phrase, and asks a bigram model of English. It keeps *all* of its
# translations, as lattices whose arcs have [features](../glossary.md#what-the-decoder-said). Then
# the questions of this library: what was the best translation in there, which one is the best on
# average, and which weights make the best one come first?
#
# ## The data
#
# Two dozen sentences, written for this page. The first sixteen are for tuning, the rest for
# testing.

# %%
PAIRS = """
ich habe den hund gesehen | i have seen the dog
der alte mann liest ein buch | the old man reads a book
heute habe ich keine zeit | today i have no time
die kinder spielen im garten | the children play in the garden
wir haben das haus verkauft | we have sold the house
er hat mir einen brief geschrieben | he has written me a letter
morgen fahren wir in die stadt | tomorrow we drive to the city
das wetter war gestern sehr gut | the weather was very good yesterday
sie hat das alte buch gelesen | she has read the old book
ich kenne den mann nicht | i do not know the man
im sommer spielen die kinder im park | in summer the children play in the park
der kleine hund ist im haus | the small dog is in the house
wir haben heute keine milch | we have no milk today
sie liest mir einen brief | she reads me a letter
gestern habe ich die kinder gesehen | yesterday i have seen the children
das kleine haus ist sehr alt | the small house is very old
er hat den alten brief gelesen | he has read the old letter
heute fahren die kinder in den park | today the children drive to the park
ich habe ein kleines haus gesehen | i have seen a small house
der mann hat den hund verkauft | the man has sold the dog
wir kennen das buch nicht | we do not know the book
im garten ist ein alter mann | in the garden is an old man
das wetter ist heute sehr gut | the weather is very good today
gestern hat sie mir das buch verkauft | yesterday she has sold me the book
""".strip()
sources, targets = zip(*(line.split(" | ") for line in PAIRS.splitlines()), strict=True)

# %% [markdown]
# The phrase table: German, and English with probabilities. Real ones are counted in parallel text.

# %%
TABLE = """
alt: old 0.7, aged 0.3
alte: old 0.7, aged 0.3
alten: old 0.7, aged 0.3
alter: old 0.5, age 0.5
brief: letter 0.8, brief 0.2
buch: book 1.0
das: the 0.6, that 0.4
den: the 0.6, that 0.4
der: the 0.7, who 0.3
die: the 0.7, which 0.3
ein: a 0.6, an 0.2, one 0.2
einen: a 0.6, an 0.2, one 0.2
er: he 0.8, it 0.2
fahren: drive 0.4, go 0.4, ride 0.2
garten: garden 0.7, yard 0.3
gelesen: read 1.0
geschrieben: written 0.8, wrote 0.2
gesehen: seen 0.7, saw 0.3
gestern: yesterday 1.0
gut: good 0.6, well 0.4
habe: have 0.7, had 0.3
haben: have 0.7, had 0.3
hat: has 0.7, had 0.3
haus: house 0.6, home 0.4
heute: today 0.8, nowadays 0.2
hund: dog 0.8, hound 0.2
ich: i 1.0
im: in the 0.6, in 0.4
im sommer: in summer 0.5, in the summer 0.5
in: in 0.5, to 0.3, into 0.2
ist: is 1.0
keine: no 0.6, none 0.4
kenne: know 1.0
kennen: know 1.0
kenne den mann nicht: do not know the man 1.0
kinder: children 0.6, kids 0.4
kleine: small 0.5, little 0.5
kleines: small 0.5, little 0.5
liest: reads 0.6, is reading 0.4
mann: man 0.8, husband 0.2
milch: milk 1.0
mir: me 0.7, to me 0.3
morgen: morning 0.5, tomorrow 0.5
nicht: not 0.6, do not 0.4
park: park 1.0
sehr: very 1.0
sehr gut: very good 0.8, very well 0.2
sie: she 0.4, they 0.3, you 0.3
sommer: summer 1.0
spielen: play 0.6, games 0.4
stadt: city 0.5, town 0.5
verkauft: sold 0.7, sells 0.3
war: was 1.0
wetter: weather 1.0
wir: we 1.0
zeit: time 1.0
"""
phrases = []  # (German, English, log-probability)
for line in TABLE.strip().splitlines():
    german, entries = line.split(": ")
    for entry in entries.split(", "):
        english, _, chance = entry.rpartition(" ")
        phrases.append((german, english, float(chance)))
len(phrases)

# %% [markdown]
# ## Cutting and moving, in Pynini
#
# The order is a choice, too: a source sentence is the union of itself and of all sentences in which
# one word is moved up to four places forward, which a mark `<move>` pays for. Composed with the
# phrases, any number of times, it is an automaton over the numbers of phrases: every cut, every
# translation, every allowed order.

# %%
# requires: pynini
import pynini

words = pynini.SymbolTable()
words.add_symbol("<eps>")
for word in ["<move>", *sorted({word for german, *_ in phrases for word in german.split()})]:
    words.add_symbol(word)
numbers = pynini.SymbolTable()
for name in ["<eps>", *map(str, range(len(phrases))), "<move>"]:
    numbers.add_symbol(name)


def string(text, table):
    return pynini.accep(text, token_type=table)


rules = [
    pynini.cross(string(german, words), string(str(number), numbers))
    for number, (german, *_) in enumerate(phrases)
]
rules.append(pynini.cross(string("<move>", words), string("<move>", numbers)))
table = pynini.union(*rules).closure().optimize()


def orders(source):
    """Return the sentence, and the sentences in which one word has moved forward."""
    text = source.split()
    yield source
    for place in range(len(text)):
        for goal in range(max(0, place - 4), place):
            moved = text[:place] + text[place + 1 :]
            yield " ".join([*moved[:goal], "<move>", text[place], *moved[goal:]])


def segmentations(source):
    """Return the automaton of all sequences of phrases for a sentence."""
    permuted = pynini.union(*(string(order, words) for order in orders(source))).optimize()
    return pynini.compose(permuted, table).project("output").rmepsilon().optimize()


segmentations(sources[0]).num_states()

# %% [markdown]
# ## A language model, and features on arcs
#
# The bigram model is counted in a dozen sentences that are none of the above. An English word's
# probability depends on the word before, so states are pairs of a state of Pynini's automaton and
# the last English word. Every arc is an English word; the first of a phrase carries the phrase's
# features. The score of an arc is its features times the weights.

# %%
from collections import Counter, defaultdict
from itertools import count, pairwise
from math import log

from lattices import Lattice

ENGLISH = """
the dog is in the garden
the old man has a small house
i have seen the weather today
she has read a letter
we have no time to read the book
he has sold the old house
they do not know the city
the children are in the park today
tomorrow we go to the park
yesterday she has written a letter to the old man
i do not know the book
the weather is very good in summer
today i have no milk
"""
lines = [["<s>", *line.split(), "</s>"] for line in ENGLISH.strip().splitlines()]
pairs = Counter(pair for line in lines for pair in pairwise(line))
singles = Counter(word for line in lines for word in line)


def bigram(before, word):
    """Return a smoothed log-probability: bigrams, then words, then any word at all."""
    alone = (singles[word] + 0.5) / (sum(singles.values()) + 0.5 * 200)
    return log((pairs[before, word] + 2 * alone) / (singles[before] + 2))


START = {"tm": 1.0, "lm": 1.0, "move": 1.0, "phrases": 0.0}


def translate(source, weights=START, **named):
    """Return the lattice of all translations."""
    graph = segmentations(source)
    number = defaultdict(count().__next__)  # states are numbered as they are met
    arcs, finals, final_features = [], {}, {}
    waiting, seen = [(graph.start(), "<s>")], set()

    def add(state, goal, word, features):
        score = sum(weights[name] * value for name, value in features.items())
        arcs.append((number[state], number[goal], word, score, features))

    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        node, before = here
        if graph.final(node) != pynini.Weight.zero(graph.weight_type()):
            finals[number[here]] = weights["lm"] * bigram(before, "</s>")
            final_features[number[here]] = {"lm": bigram(before, "</s>")}
        for arc in graph.arcs(node):
            name = numbers.find(arc.olabel)
            if name == "<move>":
                waiting.append((arc.nextstate, before))
                add(here, waiting[-1], "", {"move": -1.0})
                continue
            _, english, chance = phrases[int(name)]
            *inner, final = english.split()
            state, last, features = here, before, {"tm": log(chance), "phrases": 1.0}
            for word in inner:
                goal = (here, name, word)
                add(state, goal, word, features | {"lm": bigram(last, word)})
                state, last, features = goal, word, {}
            waiting.append((arc.nextstate, final))
            add(state, waiting[-1], final, features | {"lm": bigram(last, final)})
    return Lattice.from_arcs(
        arcs,
        finals,
        final_features=final_features,
        feature_names=list(weights),
        source=source,
        **named,
    )


spaces = [translate(source, id=str(number)) for number, source in enumerate(sources)]
references = [[target] for target in targets]
tuning, testing = slice(0, 16), slice(16, 24)
print(spaces[0])

# %% [markdown]
# ## 1-best and oracle
#
# With weights that were guessed:

# %%
import lattices
from decoding import corpus_oracle
from fstmetrics import BLEU, WER, corpus_score


def report(name, texts, part):
    bleu = corpus_score(BLEU(), texts, references[part])
    wer = corpus_score(WER(), texts, references[part])
    print(f"{name:22} BLEU {bleu:.3f}  WER {wer:.3f}")


def one_best(weights, part):
    return [lattices.best(space.reweighted(weights)).text for space in spaces[part]]


found = corpus_oracle(spaces[testing], references[testing], BLEU())
report("1-best", one_best(START, testing), testing)
report("oracle", [each.text for each in found.hypotheses], testing)
print("proven:", found.exact)

# %% [markdown]
# Phrases and orders allow for better translations than the scores choose.
#
# ## The best on average
#
# [MBR](../mbr.md) needs no reference. Its scale says how far scores can be trusted as logarithms
# of probabilities; the first of the best on the tuning sentences is taken.

# %%
from decoding import mbr


def consensus(scale, part):
    return [mbr(space, WER(), scale=scale).text for space in spaces[part]]


rates = {
    scale: corpus_score(WER(), consensus(scale, tuning), references[tuning])
    for scale in (0.25, 0.5, 1.0, 2.0)
}
scale = min(rates, key=rates.get)
print("WER of the tuning sentences:", {each: round(rate, 3) for each, rate in rates.items()})
report(f"MBR, scale {scale}", consensus(scale, testing), testing)

# %% [markdown]
# It lowers the error rate, which it was asked for, and BLEU with it: what is best on average depends
# on the metric.
#
# ## Better weights
#
# [MERT](../training.md#mert) looks for the weights with the highest BLEU of the sixteen tuning
# sentences, exactly along each line of weights, over the whole lattices.

# %%
from decoding import MERT

learner = MERT(start=START, restarts=5, seed=1)
learner.fit(spaces[tuning], references[tuning], BLEU(), progress=False)
print({name: round(value, 2) for name, value in learner.weights.items()})
report("tuning: guessed", one_best(START, tuning), tuning)
report("tuning: tuned", one_best(learner.weights, tuning), tuning)
report("testing: guessed", one_best(START, testing), testing)
report("testing: tuned", one_best(learner.weights, testing), testing)

# %% [markdown]
# Eight test sentences show how it is done, and no more: whether a difference is more than chance is
# [a question of its own](../how-to/significance.md). On [real lattices](../experiments/training.md)
# there are enough.
#
# ## Keep the lattices
#
# In [JSON lines](../formats.md#our-json-lines) they have features, sources and references, and every
# command can take them: `fstmetrics oracle toy.jsonl --metric bleu --corpus`.

# %%
lattices.write(
    "toy.jsonl",
    [
        space.replaced(references=tuple(each))
        for space, each in zip(spaces, references, strict=True)
    ],
)
print(sum(space.num_arcs for space in spaces), "arcs in", len(spaces), "lattices")
