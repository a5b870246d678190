// Matches of sentences with expected n-gram counts.
//
//   matches_n(E) = sum over n-grams u of length n of min(#u(E), c(u))
//
// Clipped by the expected counts c, as BLEU is against the average of the evidence (DeNero et al.
// 2009; Vamvas & Sennrich 2024). Cost: O(words of the sentences * order).
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lattices/native/ngrams.hpp"

namespace decoding {

using lattices::Index;
using lattices::NgramTrie;
using lattices::Sentences;

// For each word of some sentences, the longest n-gram of a trie that ends with it.
inline std::vector<Index> longest_known(const NgramTrie& trie, const Sentences& sentences,
                                        Index order) {
  std::vector<Index> found;
  found.reserve(sentences.label.size());
  for (Index sentence = 0; sentence < sentences.size(); ++sentence) {
    Index context = NgramTrie::kEmpty;
    for (const Index word : sentences.words(sentence)) {
      Index gram = trie.find(context, word);
      while (gram < 0 && context != NgramTrie::kEmpty) {
        context = trie[context].suffix;
        gram = trie.find(context, word);
      }
      found.push_back(std::max(gram, NgramTrie::kEmpty));
      context = trie.context_after(found.back(), order);
    }
  }
  return found;
}

// The matches of each sentence by length, a row each. `grams` has the longest n-gram that ends with
// each word.
inline std::vector<double> clipped_matches(const NgramTrie& trie, const Sentences& grams,
                                           std::span<const double> expected, Index order) {
  std::vector<double> matches(static_cast<std::size_t>(grams.size()) * order, 0.0);
  std::vector<double> left(expected.begin(), expected.end());
  for (Index sentence = 0; sentence < grams.size(); ++sentence) {
    double* row = matches.data() + static_cast<std::size_t>(sentence) * order;
    for (const Index longest : grams.words(sentence)) {
      trie.for_suffixes(longest, 0, [&](Index gram) {
        // what this occurrence adds to the smaller of the two counts
        const double more = std::clamp(left[gram], 0.0, 1.0);
        left[gram] -= 1.0;
        row[trie[gram].length - 1] += more;
      });
    }
    for (const Index longest : grams.words(sentence)) {
      trie.for_suffixes(longest, 0, [&](Index gram) { left[gram] = expected[gram]; });
    }
  }
  return matches;
}

// BLEU of each sentence against expected counts and an expected length L:
//
//   exp(min(0, 1 - L / |E|) + mean over n of log(matches_n / (|E| - n + 1)))
//
// over the orders that the sentence is long enough for; 0 if it has no matches of one of them, or
// no words though L > 0.
inline std::vector<double> expected_bleu(const NgramTrie& trie, const Sentences& grams,
                                         std::span<const double> expected, double length,
                                         Index order) {
  const auto matches = clipped_matches(trie, grams, expected, order);
  std::vector<double> bleu(grams.size(), 0.0);
  for (Index sentence = 0; sentence < grams.size(); ++sentence) {
    const double* row = matches.data() + static_cast<std::size_t>(sentence) * order;
    const auto size = static_cast<Index>(grams.words(sentence).size());
    if (size == 0) {
      bleu[sentence] = length > 0.0 ? 0.0 : 1.0;
      continue;
    }
    const Index orders = std::min(order, size);
    double sum = 0.0;
    bool possible = true;
    for (Index n = 0; n < orders && possible; ++n) {
      possible = row[n] > 0.0;
      if (possible) sum += std::log(row[n] / (size - n));
    }
    if (possible) bleu[sentence] = std::exp(std::min(0.0, 1.0 - length / size) + sum / orders);
  }
  return bleu;
}

}  // namespace decoding
