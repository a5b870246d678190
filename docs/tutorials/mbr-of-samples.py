# %% [markdown]
# # MBR reranking of a neural model's samples
#
# A neural model gives every sentence a probability. The most probable one is often not the best
# one: many good sentences share the probability of what they have in common. Minimum-Bayes-risk
# decoding ([MBR](../mbr.md)) draws samples and takes the one that is most like the others, under a
# metric.
#
# The model here is small enough to train on this page, in numpy: it reads a number such as 342 and
# says it in words. With your own model only the samples change; for transformers,
# [`from_generate`](../how-to/huggingface.md) takes what `generate` returns.
#
# ## The task

# %%
import numpy as np

ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spoken(number):
    """Return a number below 1,000 in words."""
    hundreds, rest = divmod(number, 100)
    said = [ONES[hundreds], "hundred"] if hundreds else []
    if hundreds and rest:
        said.append("and")
    if rest >= 20:
        said.append(TENS[rest // 10 - 2])
        rest = rest % 10
    if rest or not said:
        said.append(ONES[rest])
    return said


rng = np.random.default_rng(1)
numbers = rng.permutation(1000)
training, testing = numbers[:300], numbers[300:500]
WORDS = ["</s>", *ONES, *TENS, "hundred", "and"]
INDEX = {word: place for place, word in enumerate(WORDS)}
print(342, " ".join(spoken(342)))

# %% [markdown]
# ## The model
#
# A network with one hidden layer sees the three digits, the last two words and the position, and
# says how probable each next word is. It is trained on 300 numbers, and not for long: a model that is
# always sure has no use for MBR.

# %%
LONGEST = 6


def inputs(number, words):
    """Return the features of the next word: digits, last two words, position."""
    row = np.zeros(30 + 2 * len(WORDS) + LONGEST)
    for place, digit in enumerate(f"{number:03}"):
        row[10 * place + int(digit)] = 1
    for back, word in enumerate(reversed(words[-2:])):
        row[30 + back * len(WORDS) + INDEX[word]] = 1
    row[30 + 2 * len(WORDS) + min(len(words), LONGEST - 1)] = 1
    return row


examples = [
    (inputs(number, said[:place]), INDEX[said[place]])
    for number in training
    for said in [[*spoken(number), "</s>"]]
    for place in range(len(said))
]
X = np.array([row for row, _ in examples])
y = np.array([word for _, word in examples])
hidden = rng.normal(0, 0.3, (X.shape[1], 48))
output = rng.normal(0, 0.3, (48, len(WORDS)))


def log_softmax(scores):
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


for step in range(801):
    chosen = rng.integers(len(X), size=64)
    middle = np.tanh(X[chosen] @ hidden)
    logs = log_softmax(middle @ output)
    slope = np.exp(logs)
    slope[np.arange(64), y[chosen]] -= 1
    back = (slope @ output.T) * (1 - middle**2)
    output -= 0.2 * middle.T @ slope / 64
    hidden -= 0.2 * X[chosen].T @ back / 64
    if step % 200 == 0:
        print(f"step {step:4}: loss {-logs[np.arange(64), y[chosen]].mean():.2f}")

# %% [markdown]
# ## Samples, and a list of them
#
# Samples are drawn word by word. A sample is counted once for each time it was drawn: that *is*
# the model's belief, so all of them weigh the same (`uniform=True`), and no scale has to be
# chosen. `lattices.from_hypotheses` makes an n-best list of pairs of a text and a score.

# %%
import lattices


def next_words(number, words):
    return log_softmax(np.tanh(inputs(number, words) @ hidden) @ output)


def say(number, choose):
    """Return a sentence and its log-probability; ``choose`` takes the next word."""
    words, total = [], 0.0
    while len(words) < 2 * LONGEST:
        logs = next_words(number, words)
        word = choose(logs)
        total += logs[word]
        if WORDS[word] == "</s>":
            break
        words.append(WORDS[word])
    return " ".join(words), total


def draw(logs):
    return rng.choice(len(logs), p=np.exp(logs))


samples = [
    lattices.from_hypotheses([say(number, draw) for _ in range(64)], id=str(number))
    for number in testing
]
for each in list(samples[0])[:5]:
    print(f"{each.score:6.2f}  {each.text}")

# %% [markdown]
# ## Choosing
#
# Three ways to choose: word by word (greedy), the most probable sample, and MBR, here under three
# metrics. The oracle says what the best choice among the samples would have been.

# %%
from decoding import Pairwise, mbr, oracle
from fstmetrics import BLEU, GRR, WER, corpus_score

references = [[" ".join(spoken(number))] for number in testing]
metrics = {"WER": WER(), "4-GRR": GRR(), "BLEU": BLEU(smooth="add-k")}


def report(name, texts):
    right = sum(text == each for text, [each] in zip(texts, references, strict=True))
    scores = "  ".join(f"{corpus_score(each, texts, references):.3f}" for each in metrics.values())
    print(f"{name:20} {scores}  {right:4} right")


print(f"{'':20} " + "  ".join(f"{name:>5}" for name in metrics))
report("greedy", [say(number, np.argmax)[0] for number in testing])
report("most probable", [max(each, key=lambda one: one.score).text for each in samples])
for name, metric in metrics.items():
    method = Pairwise(uniform=True)
    report(f"MBR under {name}", [mbr(each, metric, method=method).text for each in samples])
best = [
    oracle(each, WER().against(texts)).text for each, texts in zip(samples, references, strict=True)
]
report("oracle under WER", best)

# %% [markdown]
# MBR looks for the best expected metric under what the model *believes*. Compare the row of each
# metric with its own column: where the model believes the right things, that row is the best of its
# column among the ways to choose. Whether more sentences are right altogether is another question, as
# the last column shows. The oracle has most of them: the samples are good, and choosing is hard.
#
# ## How many samples?

# %%
for count in (4, 16, 64):
    few = [
        lattices.from_hypotheses([(one.text, one.score) for one in list(each)[:count]])
        for each in samples
    ]
    report(f"MBR, {count} samples", [mbr(each, WER(), method=method).text for each in few])

# %% [markdown]
# A utility of your own, such as a neural metric, is
# [a function of pairs of texts](../mbr.md#pairwise-any-metric). All pairs of a hundred sentences take
# well below a millisecond under the metrics above: [benchmarks](../benchmarks.md).
