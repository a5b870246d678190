// One row of statistics for each reference of each segment of a corpus, on threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fstmetrics/native/aligning.hpp"
#include "fstmetrics/native/bit_table.hpp"
#include "fstmetrics/native/meteor.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "fstmetrics/native/texts.hpp"
#include "fstmetrics/native/translation_edits.hpp"
#include "lattices/native/poll.hpp"

namespace fstmetrics {

using Row = std::span<double>;

// How to score a corpus: so many numbers for each reference, on so many threads.
struct CorpusRun {
  std::size_t width;
  int workers;
  lattices::Poll::Check check;
};

// Call score(scratch, s, poll, row_of) for each segment; row_of(r) is the row of its reference r.
template <class Scratch, class Score>
std::vector<double> score_segments(std::span<const std::int32_t> segment, const CorpusRun& run,
                                   Score&& score) {
  // segments that one thread takes at once
  constexpr std::size_t some = 64;
  const std::size_t count = segment.size() - 1;
  std::vector<double> rows(segment.back() * run.width);
  lattices::Pool<Scratch> pool;
  lattices::parallel_for((count + some - 1) / some, run.workers, run.check,
                         [&](std::size_t part, lattices::Poll& poll) {
                           const auto scratch = pool.take();
                           for (auto s = part * some; s < std::min(count, (part + 1) * some); ++s) {
                             score(*scratch.operator->(), s, poll, [&](std::size_t r) {
                               return Row(rows).subspan((segment[s] + r) * run.width, run.width);
                             });
                           }
                         });
  return rows;
}

// The same with segments cut into units: score(scratch, hypothesis, reference, row, poll).
template <class Scratch, class Score>
std::vector<double> score_texts(const TextCorpus& corpus, const Cut& cut, const CorpusRun& run,
                                Score&& score) {
  struct WithUnits {
    SegmentUnits units;
    Scratch rest;
  };
  return score_segments<WithUnits>(
      corpus.segment, run,
      [&](WithUnits& scratch, std::size_t s, lattices::Poll& poll, auto&& row_of) {
        auto& units = scratch.units;
        units.read(corpus, s, cut);
        const std::size_t references = corpus.segment[s + 1] - corpus.segment[s];
        for (std::size_t r = 0; r < references; ++r) {
          score(scratch.rest, units.hypothesis(), units.reference(r), row_of(r), poll);
        }
      });
}

// Statistics of the alignments of fewest edits.
inline std::vector<double> edit_rows(const TextCorpus& corpus, const Cut& cut,
                                     const CorpusRun& run) {
  struct Scratch {
    SegmentUnits units;
    EditAlignment align;
  };
  return score_segments<Scratch>(
      corpus.segment, run,
      [&](Scratch& scratch, std::size_t s, lattices::Poll& poll, auto&& row_of) {
        const auto write = [&](Row row, const auto& hypothesis, const auto& reference) {
          const auto counts = scratch.align(hypothesis, reference, poll);
          row[0] = counts.matches;
          row[1] = counts.substitutions;
          row[2] = counts.insertions;
          row[3] = counts.deletions;
          row[4] = static_cast<double>(reference.size());
        };
        const std::size_t first = corpus.segment[s], count = corpus.segment[s + 1] - first;
        const auto are_bytes = [&](const Texts& texts, std::size_t sentence) {
          return texts.is_text[sentence] && is_bytes(texts[sentence][0]);
        };
        bool all = cut.characters && cut.spaces && are_bytes(corpus.hypotheses, s);
        for (std::size_t r = 0; all && r < count; ++r)
          all = are_bytes(corpus.references, first + r);
        if (!all) scratch.units.read(corpus, s, cut);
        for (std::size_t r = 0; r < count; ++r) {
          if (all) {
            write(row_of(r), bytes_of(corpus.hypotheses[s][0]),
                  bytes_of(corpus.references[first + r][0]));
          } else {
            write(row_of(r), scratch.units.hypothesis(), scratch.units.reference(r));
          }
        }
      });
}

// Statistics of an alignment metric under which equal units match, as Aligner writes them.
inline std::vector<double> alignment_rows(const TextCorpus& corpus, const Cut& cut,
                                          const AlignmentCosts& costs, const CorpusRun& run) {
  using Units = std::span<const Unit>;
  if (costs == AlignmentCosts{1, 1.0, 0.0}) return edit_rows(corpus, cut, run);
  return score_texts<std::optional<Aligner>>(corpus, cut, run,
                                             [&](std::optional<Aligner>& aligner, Units hypothesis,
                                                 Units reference, Row row, lattices::Poll& poll) {
                                               if (!aligner) aligner.emplace(costs);
                                               number_statistics(*aligner, hypothesis, reference,
                                                                 poll, row);
                                             });
}

// Edits of TER, and the length of the reference.
inline std::vector<double> ter_rows(const TextCorpus& corpus, const Cut& cut,
                                    const CorpusRun& run) {
  return score_texts<TranslationEdits>(
      corpus, cut, run,
      [](TranslationEdits& edits, std::span<const Unit> hypothesis, std::span<const Unit> reference,
         Row row, lattices::Poll& poll) {
        edits.set_reference(reference);
        row[0] = edits(hypothesis, poll);
        row[1] = static_cast<double>(reference.size());
      });
}

// For each order the n-grams of the hypothesis, none if the reference has none, those of the
// reference, and clipped matches.
inline std::vector<double> ngram_rows(const TextCorpus& corpus, const Cut& cut, std::size_t order,
                                      const CorpusRun& run) {
  return score_texts<NGramCounts>(
      corpus, cut, run,
      [=](NGramCounts& counts, std::span<const Unit> hypothesis, std::span<const Unit> reference,
          Row row, lattices::Poll& poll) {
        poll(order * (hypothesis.size() + reference.size()));
        const auto matches = counts.match(hypothesis, reference, order);
        const auto total = [](std::size_t length, std::size_t k) {
          return length > k ? static_cast<double>(length - k) : 0.0;
        };
        for (std::size_t k = 0; k < order; ++k) {
          row[3 * k + 1] = total(reference.size(), k);
          row[3 * k] = row[3 * k + 1] > 0 ? total(hypothesis.size(), k) : 0.0;
          row[3 * k + 2] = static_cast<double>(matches[k]);
        }
      });
}

// Matches and chunks of METEOR, and both lengths.
inline std::vector<double> meteor_rows(const Corpus& corpus, const Stages& stages,
                                       const CorpusRun& run) {
  return score_segments<std::optional<MeteorAlignment>>(
      corpus.segment, run,
      [&](std::optional<MeteorAlignment>& align, std::size_t s, lattices::Poll& poll,
          auto&& row_of) {
        if (!align) align.emplace(stages);
        const std::size_t first = corpus.segment[s];
        for (auto r = first; r < static_cast<std::size_t>(corpus.segment[s + 1]); ++r) {
          const auto words = corpus.sentences[s], reference = corpus.references[r];
          const auto [matches, chunks] = (*align)(words, reference, poll);
          const auto row = row_of(r - first);
          row[0] = matches;
          row[1] = chunks;
          row[2] = static_cast<double>(words.size());
          row[3] = static_cast<double>(reference.size());
        }
      });
}

}  // namespace fstmetrics
