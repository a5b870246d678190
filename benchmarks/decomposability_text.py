"""The words of ``docs/experiments/decomposability.md``."""

TEXT = """# Where BLEU does not decompose

Written by `python -m benchmarks.decomposability` in {minutes:.1f} minutes of processor time.
Chiang, DeNeefe, Chan and Ng (EMNLP 2008) show three ways in which BLEU misleads, because a long
sentence makes up for a short one anywhere else in the corpus. This page repeats them on outputs of
WMT15, tokenised as by mteval-v13a, and on n-best lists. Scores and effects are in per cent;
p-values of effects are by 1,000 paired resamples of the segments.

The last rows of the tables are the metrics of the paper's Tables 2, 4 and 7, and NIST and TER:
METEOR has the stages exact and stem, with stems of the target language, GTM the exponent 1.2,
MAXSIM is MAXSIM_n by stems, and NIST, which is no rate, is not in per cent. They are slower, and
are not counted over all pairs of systems.

## A sign test that contradicts itself

Collins et al. (2005) count the segments whose output, put into the output of the other system,
raises the other's corpus score. Of all {comparisons} comparisons of two systems, so many find
**each** of them significantly better than the other (p < 0.05): {sign_counts}.
The plainest case is on {sign_pair}, where the outputs have {sign_lengths} times the words of the
reference:

{sign_table}

```
{sign_commands}
```

## Two genres: better on each, worse on both

Take German news and French discussions, both into English, and choose a system for each. A choice
that is better on news and better on discussions should be better on both together. It is worse this
often: {inversions}. The worst case for BLEU is
{first} against {second}:

{genre_table}

In the paper, systems are tuned. Here the 100-best lists of Multi30k (German image captions) and of
HiFST (60 Russian sentences) are reranked by the model score and a bonus for each word. Tuned by
genre, each genre gets the bonus that is best for it; tuned together, the two bonuses are those that
are best for the corpus of both:

{penalty_table}

Under BLEU it pays to be worse on the Russian: its surplus of words makes up for captions that are
short. BLEU-SBP, 4-GRR and WER choose the same bonuses either way. For the last two this must be so,
since they are averages with weights that do not depend on the system. Nor is any of the other
metrics misled. BLEU-SBP's precisions are still those of the corpus; that it is not misled here is a
finding, not a law.

## Silence

A system that leaves a part of its input untranslated should lose. Here the outputs that are least
like the other systems' outputs are blanked, which needs no reference:

{deletion_table}

BLEU rises while outputs are blanked, and with 8 % of the words gone it has lost nothing significant
on either system, as in the paper's Table 6. BLEU-SBP, 4-GRR and WER (an error rate: plus is worse)
object at once, and so do METEOR, GTM, MAXSIM and TER. In the paper's Table 7 GTM rises, too; it
does not here. NIST does what BLEU does: with 8 % of the words gone it is still significantly
better, since its penalty is mild for small losses, and rare n-grams weigh most.

The same from the shell, for all systems of a folder:

```
fstmetrics study deletion newstest2015.*.en-de.txt --refs newstest2015-ende-ref.de.txt \\
    --metric bleu:tokenize=13a bleu-sbp:tokenize=13a --share 0.03,0.05,0.08,0.1
fstmetrics study deletion newstest2015.*.en-de.txt --refs newstest2015-ende-ref.de.txt \\
    --metric bleu:tokenize=13a bleu-sbp:tokenize=13a --attack
```

With the reference in view, an attack can blank what hurts a metric most, one segment after the
other. The effects are those where the attacked metric is at its best; the last column is the share
of all words that can go before its score is back where it was:

{attack_table}

No metric is safe from that. An output that earns less than nothing, with more words inserted than
matched, is better left out under 4-GRR and WER, and one that matches hardly anything under
BLEU-SBP. But BLEU-SBP and 4-GRR gain a sixth of what BLEU gains or less, and what they gain by is a
gain under all four; the attack on BLEU is a loss under the three others. WER, for which an empty
output is never worse than 100 %, gains more than these two, on en-de as much as BLEU. BLEU is open
to the attack where the output is longer than the references: of the {long} systems that are, it
gains {long_gains}; of the {short} that are not, {short_gain} at most.
"""
