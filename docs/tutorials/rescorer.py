# %% [markdown]
# # A neural rescorer, trained through lattices
#
# A rescorer looks at the arcs of a lattice and gives them new scores. What should it be trained
# for? Not for likelihood: for the error rate that will be measured. `lattice_risk` is the expected
# metric of a random sentence of the lattice, over *all* its paths, and its gradient flows back to
# every arc. So the network is trained through the lattice, without samples and without n-best lists.
#
# It needs PyTorch: `pip install 'fstmetrics[torch]'`.
#
# ## Lattices with something to learn
#
# Sentences of a small grammar are said to a recogniser that hears badly: at each place the right
# word and two others have random scores, the right one a little higher on average. What it cannot
# know is that *these dogs* go with *see* and *this dog* with *sees*. A state of the lattice is a
# place and the last word, so that each arc knows the word before it.

# %%
import numpy as np

import lattices
from lattices import Lattice

rng = np.random.default_rng(1)
ANIMALS = ["dog", "cat", "bird", "horse", "cow", "goat"]
VERBS = ["see", "like", "follow", "know", "hear"]


def sentence():
    """Return words that agree in number."""
    words = []
    for role in ("subject", "object"):
        many = rng.random() < 0.5
        words += [rng.choice(["these", "those"] if many else ["this", "that"])]
        words += [rng.choice(["old", "small", "happy"])] if rng.random() < 0.4 else []
        words += [rng.choice(ANIMALS) + ("s" if many else "")]
        if role == "subject":
            words += [rng.choice(VERBS) + ("" if many else "s")]
    return words


VOCABULARY = sorted({word for _ in range(2000) for word in sentence()})
print(len(VOCABULARY), "words;", " ".join(sentence()))


def recognise(words, name):
    """Return a lattice with three words at each place, scored by a bad ear."""
    arcs, before = [], {"<s>": 0}
    states = 1
    for right in words:
        heard = {right: rng.normal(1.0)}
        while len(heard) < 3:
            heard.setdefault(str(rng.choice(VOCABULARY)), rng.normal(0.0))
        here = {word: states + place for place, word in enumerate(heard)}
        arcs += [
            (source, here[word], word, score)
            for source in before.values()
            for word, score in heard.items()
        ]
        before, states = here, states + len(here)
    return Lattice.from_arcs(arcs, before.values(), id=name, references=(" ".join(words),))


spaces = [recognise(sentence(), f"{number:03}") for number in range(300)]
train, test = spaces[:200], spaces[200:]
print(train[0], train[0].references)

# %% [markdown]
# ## The network
#
# An arc is the word before and the word itself. Both have embeddings; two layers make a score of
# them, which is *added* to the recogniser's. The last layer begins at zero, so that training begins
# where the recogniser ends.

# %%
# requires: torch
import torch

torch.manual_seed(1)
number = {word: place for place, word in enumerate(["<s>", *VOCABULARY])}


def arc_words(space):
    """Return, for each arc, the numbers of the word before it and of its own."""
    words = [space.vocabulary.word(label) for label in space.label]
    into = {space.start: "<s>"} | dict(zip(space.dst.tolist(), words, strict=True))
    return torch.tensor(
        [
            [number[into[source]], number[word]]
            for source, word in zip(space.src.tolist(), words, strict=True)
        ]
    )


class Rescorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(number), 8)
        self.hidden = torch.nn.Linear(16, 32)
        self.output = torch.nn.Linear(32, 1)
        torch.nn.init.zeros_(self.output.weight)

    def forward(self, words, scores):
        seen = self.embedding(words).flatten(1)
        return scores + self.output(torch.tanh(self.hidden(seen))).squeeze(1)


network = Rescorer()
inputs = {space.id: (arc_words(space), torch.tensor(space.score).float()) for space in spaces}

# %% [markdown]
# ## What it is judged by
#
# The best path under the new scores, and the word error rate of all of them.

# %%
from decoding import oracles
from fstmetrics import WER, corpus_score


def error_rate(some):
    with torch.no_grad():
        rescored = [
            space.replaced(score=network(*inputs[space.id]).double().numpy()) for space in some
        ]
    texts = [lattices.best(space).text for space in rescored]
    return corpus_score(WER(), texts, [space.references for space in some])


print(f"before: WER {error_rate(train):.1%} in training, {error_rate(test):.1%} in testing")

# %% [markdown]
# ## Training
#
# The expected WER of a sentence is a number with a gradient, like any loss. It is exact: nothing is
# sampled. What does not depend on scores is made once for each lattice, a `RiskProblem`.

# %%
from decoding.training.risk.problem import RiskProblem
from decoding.training.torch import lattice_risk

problems = {space.id: RiskProblem(space, WER().against(space.references)) for space in train}
optimiser = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=1e-4)
for epoch in range(1, 11):
    total = 0.0
    order = torch.randperm(len(train)).tolist()
    for begin in range(0, len(order), 10):
        batch = [train[place].id for place in order[begin : begin + 10]]
        optimiser.zero_grad()
        risks = [lattice_risk(network(*inputs[name]), problems[name]) for name in batch]
        loss = torch.stack(risks).mean()
        loss.backward()
        optimiser.step()
        total += loss.item() * len(batch)
    if epoch % 2 == 0:
        rates = f"{error_rate(train):6.1%} {error_rate(test):6.1%}"
        print(f"epoch {epoch:2}: expected WER {total / len(train):.3f}   WER {rates}")

# %% [markdown]
# ## What is left
#
# The [oracle](../glossary.md#choosing) is the limit: no rescorer does better on these lattices. Here
# it is perfect, because the right word is always among those that were heard.

# %%
found = oracles(test, [WER().against(space.references) for space in test])
limit = corpus_score(WER(), [each.text for each in found], [space.references for space in test])
print(f"testing: rescored {error_rate(test):.1%}, oracle {limit:.1%}")
for space in test[:5]:
    new = space.replaced(score=network(*inputs[space.id]).detach().double().numpy())
    print(f"said      {space.references[0]}")
    print(f"heard     {lattices.best(space).text}")
    print(f"rescored  {lattices.best(new).text}")

# %% [markdown]
# With lattices of your own only `arc_words` changes: give the network what your arcs have, such as
# features (`space.features`), times, or the states of an encoder. Where a lattice is too large for
# exact sums, `beyond="samples"` goes on with samples. Linear models need no torch:
# [MIRA, MERT and others](../training.md#learners). What such training does on real lattices:
# [experiments](../experiments/training.md).
