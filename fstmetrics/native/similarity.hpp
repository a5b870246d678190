// How alike words are (the affix distance), and n-grams of words that are nearly the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/poll.hpp"

namespace fstmetrics {

using Word = std::span<const Unit>;  // of code points

// The affix distance of words (Libovický and Pecina 2014): with S the longest common substring,
// (L(prefixes) + L(suffixes)) / |S|, where L is the edit distance of what stands before S, and
// after it; at most 1. Where several substrings are longest, the smallest distance counts.
class AffixDistance {
 public:
  // What is above `limit` is 1.
  explicit AffixDistance(double limit) : limit_(limit) {}

  // Costs O(|word| |other|), more if there are many longest common substrings.
  double operator()(Word word, Word other) {
    const auto longest = longest_run(word, other);
    const auto difference = gap(word.size(), other.size());
    if (difference >= longest || ratio(difference, longest) > limit_) return 1.0;
    auto fewest = longest;
    for_each_run(word, other, [&](std::size_t end, std::size_t other_end, std::size_t run) {
      if (run != longest) return;
      const auto before = end - longest, prefix = other_end - longest;
      const auto after = word.size() - end, suffix = other.size() - other_end;
      if (gap(before, prefix) + gap(after, suffix) >= fewest) return;
      const auto edits = levenshtein(word.first(before), other.first(prefix)) +
                         levenshtein(word.last(after), other.last(suffix));
      fewest = std::min(fewest, edits);
    });
    const double distance = ratio(fewest, longest);
    return distance <= limit_ ? distance : 1.0;
  }

 private:
  static std::size_t gap(std::size_t one, std::size_t other) {
    return one > other ? one - other : other - one;
  }
  static double ratio(std::size_t above, std::size_t below) {
    return static_cast<double>(above) / static_cast<double>(below);
  }

  // Call visit(end, other_end, length) for each pair of equal letters, with the length of the
  // common substring that ends there.
  template <class Visit>
  void for_each_run(Word word, Word other, Visit&& visit) {
    run_.assign(other.size() + 1, 0);
    for (std::size_t end = 1; end <= word.size(); ++end) {
      for (auto other_end = other.size(); other_end > 0; --other_end) {
        if (word[end - 1] == other[other_end - 1]) {
          run_[other_end] = run_[other_end - 1] + 1;
          visit(end, other_end, run_[other_end]);
        } else {
          run_[other_end] = 0;
        }
      }
    }
  }

  std::size_t longest_run(Word word, Word other) {
    std::size_t longest = 0;
    for_each_run(word, other, [&](std::size_t, std::size_t, std::size_t run) {
      longest = std::max(longest, run);
    });
    return longest;
  }

  std::size_t levenshtein(Word word, Word other) {
    row_.resize(other.size() + 1);
    for (std::size_t place = 0; place <= other.size(); ++place) row_[place] = place;
    for (const auto letter : word) {
      auto diagonal = row_[0]++;
      for (std::size_t place = 1; place <= other.size(); ++place) {
        const auto substituted = diagonal + (letter != other[place - 1]);
        diagonal = row_[place];
        row_[place] = std::min({substituted, row_[place] + 1, row_[place - 1] + 1});
      }
    }
    return row_[other.size()];
  }

  double limit_;
  std::vector<std::size_t> run_, row_;
};

// The set of letters of each word, letters taken modulo 64, as bits.
inline std::vector<std::uint64_t> letter_sets(const Sentences& words) {
  std::vector<std::uint64_t> sets(words.size());
  for (std::size_t word = 0; word < words.size(); ++word) {
    for (const auto letter : words[word]) sets[word] |= std::uint64_t{1} << (letter & 63);
  }
  return sets;
}

// The affix distances of all pairs of words, a row for each of `words`; those above `limit` as 1.
// Most pairs are told apart by their sets of letters: with at most `common` letters that can be
// matched, the common substring is no longer than that, and the edits are no fewer than what is
// left of the longer word.
inline std::vector<double> affix_distances(const Sentences& words, const Sentences& others,
                                           double limit, lattices::Poll& poll) {
  std::vector<double> distance(words.size() * others.size(), 1.0);
  const auto mine = letter_sets(words), theirs = letter_sets(others);
  AffixDistance affix_distance(limit);
  for (std::size_t left = 0; left < words.size(); ++left) {
    const auto length = words.length(left);
    for (std::size_t right = 0; right < others.size(); ++right) {
      const auto width = others.length(right);
      const auto common =
          std::min(length - static_cast<std::size_t>(std::popcount(mine[left] & ~theirs[right])),
                   width - static_cast<std::size_t>(std::popcount(theirs[right] & ~mine[left])));
      const auto rest = std::max(length, width) - common;
      if (rest >= common || static_cast<double>(rest) / static_cast<double>(common) > limit) {
        continue;
      }
      poll();
      distance[left * others.size() + right] = affix_distance(words[left], others[right]);
    }
  }
  return distance;
}

// A sentence as each of some references corrects it: word j of correction r, and what it weighs.
// Word 0 is in no reference.
struct Corrections {
  std::span<const Unit> word;
  std::span<const double> weight;
  std::size_t words;
};

// The weighted, clipped n-gram matches of one sentence for each order, of tolerant BLEU. An n-gram
// counts by the mean weight of its words; where it comes more often than in the reference, its
// heaviest occurrences count, the first of equals; at each position, the reference that gives most.
// Costs O(J (J + L) order), most of it comparisons of one word.
inline std::vector<double> tolerant_matches(const Corrections& corrections,
                                            const Sentences& references, std::size_t order) {
  const auto words = corrections.words;
  std::vector<double> matches(order), total(references.size() * words), best;
  for (std::size_t n = 1; n <= std::min(order, words); ++n) {
    const auto places = words - n + 1;
    best.assign(places, 0.0);
    for (std::size_t r = 0; r < references.size(); ++r) {
      const auto sentence = corrections.word.subspan(r * words, words);
      const auto weight = corrections.weight.subspan(r * words, words);
      const auto sum = std::span(total).subspan(r * words, words);
      const auto reference = references[r];
      for (std::size_t place = 0; place < places; ++place) sum[place] += weight[place + n - 1];
      for (std::size_t place = 0; place < places; ++place) {
        if (sentence[place] == 0) continue;
        const auto ngram = sentence.subspan(place, n);
        const auto is_at = [&](std::span<const Unit> text, std::size_t begin) {
          return std::equal(ngram.begin(), ngram.end(), text.begin() + begin);
        };
        std::size_t allowed = 0;
        for (std::size_t other = 0; other + n <= reference.size(); ++other) {
          allowed += is_at(reference, other);
        }
        // the n-gram counts unless as many, heavier or earlier, have used it up
        for (std::size_t other = 0; other < places && allowed > 0; ++other) {
          const bool precedes =
              sum[other] > sum[place] || (sum[other] == sum[place] && other < place);
          allowed -= precedes && is_at(sentence, other);
        }
        if (allowed > 0) best[place] = std::max(best[place], sum[place] / static_cast<double>(n));
      }
    }
    for (const auto each : best) matches[n - 1] += each;
  }
  return matches;
}

// Words with vectors: row j of `vector` is that of word j.
struct WordRows {
  std::span<const Unit> word;
  std::span<const double> vector;
  std::size_t dimension;
};

// The norms of the sums of n rows in a row, for n = 1, 2, ... with each call.
class RunningNorms {
 public:
  explicit RunningNorms(const WordRows& rows) : rows_(rows), sum_(rows.vector.size()) {}

  const std::vector<double>& next() {
    ++n_;
    const auto dimension = rows_.dimension;
    norms_.resize(rows_.word.size() + 1 - std::min(n_, rows_.word.size() + 1));
    for (std::size_t place = 0; place < norms_.size(); ++place) {
      double square = 0.0;
      for (std::size_t d = 0; d < dimension; ++d) {
        auto& sum = sum_[place * dimension + d];
        sum += rows_.vector[(place + n_ - 1) * dimension + d];
        square += sum * sum;
      }
      norms_[place] = std::sqrt(square);
    }
    return norms_;
  }

 private:
  WordRows rows_;
  std::vector<double> sum_, norms_;
  std::size_t n_ = 0;
};

// The largest cosine of each n-gram of a sentence with one of the reference, a row for each order,
// from the products of the words' vectors. The cosine of two means is that of the sums. The product
// of two sums is a sum over an n x n block of `product`, and grows from that of n - 1 by one row
// and one column. The same words have cosine 1, with vectors or without.
inline std::vector<double> nearest_ngrams(std::span<const double> product, const WordRows& sentence,
                                          const WordRows& reference, std::size_t order) {
  const auto words = sentence.word.size(), width = reference.word.size();
  std::vector<double> nearest(order * words), block(product.size());
  std::vector<char> same(product.size(), true);
  RunningNorms left(sentence), right(reference);
  for (std::size_t n = 1; n <= std::min({order, words, width}); ++n) {
    const auto& norms = left.next();
    const auto& reference_norms = right.next();
    for (std::size_t i = 0; i < norms.size(); ++i) {
      double best = -1.0;
      for (std::size_t j = 0; j < reference_norms.size(); ++j) {
        const auto here = i * width + j;
        for (std::size_t k = 0; k < n; ++k) block[here] += product[(i + n - 1) * width + j + k];
        for (std::size_t k = 0; k + 1 < n; ++k) {
          block[here] += product[(i + k) * width + j + n - 1];
        }
        same[here] = same[here] && sentence.word[i + n - 1] == reference.word[j + n - 1];
        const double scale = norms[i] * reference_norms[j];
        if (same[here]) {
          best = 1.0;
        } else if (scale > 0) {
          best = std::max(best, block[here] / scale);
        }
      }
      nearest[(n - 1) * words + i] = best;
    }
  }
  return nearest;
}

}  // namespace fstmetrics
