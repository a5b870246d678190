"""Translation: a small transformer is trained for half a minute, and MBR chooses among its samples.

The corpus is made here: German sentences of a small grammar, with English translations that vary
(big or large, films or movies), as people's do. A T5 of two layers learns it; then beam search, a
sample, MBR over samples and the oracle of the samples are compared. CPU is enough:
pip install torch transformers
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import lattices
from decoding import Pairwise, mbr, oracle
from fstmetrics import BLEU, corpus_score

try:
    import torch
    from transformers import T5Config, T5ForConditionalGeneration
except ImportError as problem:
    sys.exit(f"{problem.name} is missing: pip install torch transformers")

#: German, and English in variants
PEOPLE = {
    "die Frau": ["the woman", "the lady"], "der Mann": ["the man"],
    "ein Kind": ["a child", "a kid"],
    "meine Schwester": ["my sister"], "der Lehrer": ["the teacher"], "unser Arzt": ["our doctor"],
    "die Leute": ["the people"], "dein Freund": ["your friend"],
}  # fmt: skip
THINGS = {
    "ein Haus": ["a house"], "das Auto": ["the car"], "einen Film": ["a film", "a movie"],
    "das Buch": ["the book"], "viele Bilder": ["many pictures", "lots of pictures"],
    "den Garten": ["the garden"], "einen Brief": ["a letter"],
    "das Fahrrad": ["the bicycle", "the bike"],
}  # fmt: skip
#: participles, which stand at the end in German
VERBS = {
    "gesehen": "saw", "gekauft": "bought", "gefunden": "found", "vergessen": "forgot",
    "gezeigt": "showed", "verloren": "lost",
}  # fmt: skip
TIMES = {
    "gestern": ["yesterday"], "am Abend": ["in the evening"], "heute früh": ["this morning"],
    "vor einer Woche": ["a week ago"], "im Sommer": ["in summer", "in the summer"],
}  # fmt: skip
ENDINGS = {"": [""], "im Dorf": ["in the village"], "in der Stadt": ["in town", "in the city"],
           "mit großer Freude": ["with great pleasure", "very gladly"]}  # fmt: skip


def make_pair(chance: random.Random, variants: int = 1) -> tuple[str, list[str]]:
    """Return a German sentence and some of its translations."""
    (who, whos), (what, whats), (verb, past), (when, whens), (how, hows) = (
        chance.choice(list(table.items())) for table in (PEOPLE, THINGS, VERBS, TIMES, ENDINGS)
    )
    have = "haben" if who == "die Leute" else "hat"
    first, second = chance.choice([(who, when), (when, who)])
    english = []
    for _ in range(variants):
        subject, thing, time, ending = (chance.choice(each) for each in (whos, whats, whens, hows))
        said = f"{subject} {past} {thing} {ending}"
        # English puts the time first or last
        english.append(chance.choice([f"{time} {said}", f"{said} {time}"]))
    return f"{first} {have} {second} {how} {what} {verb}", english


class Words:
    """A table of words; 0 pads, 1 ends a sentence."""

    def __init__(self, sentences: list[str]) -> None:
        self.names = ["", "", *sorted({word for text in sentences for word in text.split()})]
        self.number = {word: number for number, word in enumerate(self.names)}

    def encode(self, sentences: list[str]) -> torch.Tensor:
        rows = [[*(self.number[word] for word in text.split()), 1] for text in sentences]
        width = max(map(len, rows))
        return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def train(
    pairs: list[tuple[str, str]], german: Words, english: Words, steps: int
) -> T5ForConditionalGeneration:
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=max(len(german.names), len(english.names)), d_model=64, d_kv=16, d_ff=128,
            num_layers=2, num_heads=4, dropout_rate=0.1, decoder_start_token_id=0,
        )
    )  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    chance = random.Random(1)
    began = time.monotonic()
    for step in range(1, steps + 1):
        batch = chance.sample(pairs, 32)
        source = german.encode([source for source, _ in batch])
        target = english.encode([target for _, target in batch])
        loss = model(
            input_ids=source,
            attention_mask=source != 0,
            labels=target.masked_fill(target == 0, -100),
        ).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % max(steps // 5, 1) == 0:
            spent = time.monotonic() - began
            print(f"step {step:4}  loss {loss.item():.3f}  {spent:.0f} s", flush=True)
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=150, help="of training")
    parser.add_argument("--samples", type=int, default=50, help="samples a sentence")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)  # matrices this small are not worth a second thread
    chance = random.Random(0)
    pairs = [(source, target) for source, [target] in (make_pair(chance) for _ in range(4_000))]
    seen = {source for source, _ in pairs}
    drawn = (make_pair(chance, variants=4) for _ in range(400))
    test = dict([(source, targets) for source, targets in drawn if source not in seen][:100])
    german = Words([source for source, _ in pairs] + list(test))
    english = Words([target for _, target in pairs])
    model = train(pairs, german, english, args.steps)

    source = german.encode(list(test))
    common = {
        "input_ids": source, "attention_mask": source != 0, "max_new_tokens": 24,
        "return_dict_in_generate": True, "output_scores": True,
    }  # fmt: skip
    with torch.no_grad():
        beams = model.generate(**common, num_beams=5)
        samples = model.generate(
            **common, do_sample=True, top_k=0, num_return_sequences=args.samples
        )
    beams = lattices.from_generate(beams, english.names)
    samples = lattices.from_generate(
        samples, english.names, num_return_sequences=args.samples, eos_token_id=1
    )

    references = list(test.values())
    bleu = BLEU()
    evenly = Pairwise(uniform=True)  # a sample stands for itself: likely ones come often
    found = {
        "beam search": [each[0].tokens for each in beams],
        "one sample": [each[0].tokens for each in samples],
        f"MBR of {args.samples}": [mbr(each, bleu, method=evenly).tokens for each in samples],
        f"oracle of {args.samples}": [
            oracle(each, bleu.against(refs)).tokens
            for each, refs in zip(samples, references, strict=True)
        ],
    }
    print(f"\nBLEU of {len(test)} sentences that training has not seen, 4 references each")
    for name, sentences in found.items():
        print(f"{name:14} {100 * corpus_score(bleu, sentences, references):5.1f}")
    print()
    rows = zip(test, *found.values(), strict=True)
    for german_text, *sentences in list(rows)[:2]:
        print(" ".join(german_text.split()))
        for name, words in zip(found, sentences, strict=True):
            print(f"  {name:14} {' '.join(words)}")


if __name__ == "__main__":
    main()
