// N-grams in a trie, and the n-grams of lists of sentences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattices/native/interning.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// Each n-gram is known by its prefix, the n-gram without its last word, and by that word. It also
// knows its suffix, the n-gram without its first word: all that end where one ends are found by
// following suffixes. Number 0 is the empty n-gram; the prefix and the suffix of an n-gram have
// lower numbers than it has.
class NgramTrie {
 public:
  struct Row {
    Index prefix, word, suffix, length;
  };
  static constexpr Index kEmpty = 0;

  NgramTrie() : NgramTrie({{kEmpty, 0, kEmpty, 0}}) {}
  // Of rows that another trie had.
  explicit NgramTrie(std::vector<Row> rows) : rows_(std::move(rows)) { enlarge(); }

  Index size() const { return static_cast<Index>(rows_.size()); }
  const Row& operator[](Index gram) const { return rows_[gram]; }
  std::span<const Row> rows() const { return rows_; }
  void reserve(std::size_t grams) {
    rows_.reserve(grams);
    enlarge();
  }

  // -1 if there is none.
  Index find(Index prefix, Index word) const { return table_[slot(prefix, word)]; }

  // The n-gram of a context and a word; it and its suffixes are added where they are new.
  Index extend(Index context, Index word) {
    const Index known = find(context, word);
    return known >= 0 ? known : add(context, word);
  }

  // What the next word is seen after: an n-gram of full length without its first word.
  Index context_after(Index gram, Index order) const {
    return rows_[gram].length == order ? rows_[gram].suffix : gram;
  }

  // Call `use` with an n-gram and with all its suffixes that are longer than `above`.
  template <class Use>
  void for_suffixes(Index gram, Index above, Use&& use) const {
    for (; rows_[gram].length > above; gram = rows_[gram].suffix) use(gram);
  }

 private:
  Index add(Index context, Index word) {
    const Index suffix = context == kEmpty ? kEmpty : extend(rows_[context].suffix, word);
    const Index gram = size();
    rows_.push_back({context, word, suffix, rows_[context].length + 1});
    if (2 * rows_.size() > table_.size()) {
      enlarge();
    } else {
      table_[slot(context, word)] = gram;
    }
    return gram;
  }

  // Where the table holds an n-gram, or the free slot for it.
  std::size_t slot(Index prefix, Index word) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t place = (pair_key(prefix, word) * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (table_[place] >= 0 &&
           (rows_[table_[place]].prefix != prefix || rows_[table_[place]].word != word)) {
      place = (place + 1) & mask;
    }
    return place;
  }

  void enlarge() {
    std::size_t slots = 64;
    while (slots < 2 * std::max(rows_.capacity(), 2 * rows_.size())) slots *= 2;
    table_.assign(slots, -1);
    for (Index gram = 1; gram < size(); ++gram) {
      table_[slot(rows_[gram].prefix, rows_[gram].word)] = gram;
    }
  }

  std::vector<Row> rows_;
  // Numbers of rows by hash, or -1; at most half of the slots are taken. The keys are in the rows:
  // a map with a copy of them takes six times the memory and, for a lattice, twice the time.
  std::vector<Index> table_;
};

// For each n-gram, the sum of its own value and those of all its suffixes.
inline std::vector<double> chain_sums(const NgramTrie& trie, std::span<const double> value) {
  std::vector<double> total(trie.size(), 0.0);
  for (Index gram = 1; gram < trie.size(); ++gram) {
    total[gram] = value[gram] + total[trie[gram].suffix];
  }
  return total;
}

// For each n-gram, the sum of its own value and those of all that it is a suffix of.
inline void add_to_suffixes(const NgramTrie& trie, std::vector<double>& value) {
  for (Index gram = trie.size() - 1; gram > 0; --gram) value[trie[gram].suffix] += value[gram];
  value[NgramTrie::kEmpty] = 0.0;
}

// The value that each n-gram has in another trie, 0 where that has none. `word[w]` is the number
// that word w has there, -1 for none.
inline std::vector<double> values_elsewhere(const NgramTrie& trie, const NgramTrie& other,
                                            std::span<const double> other_value,
                                            std::span<const Index> word) {
  std::vector<double> value(trie.size(), 0.0);
  std::vector<Index> match(trie.size(), -1);
  match[NgramTrie::kEmpty] = NgramTrie::kEmpty;
  for (Index gram = 1; gram < trie.size(); ++gram) {
    const auto& row = trie[gram];
    if (match[row.prefix] < 0 || word[row.word] < 0) continue;
    match[gram] = other.find(match[row.prefix], word[row.word]);
    if (match[gram] >= 0) value[gram] = other_value[match[gram]];
  }
  return value;
}

// Sentences one after the other: words `label[offset[s]]` up to `label[offset[s + 1]]`.
struct Sentences {
  std::span<const Index> label, offset;

  Index size() const { return static_cast<Index>(offset.size()) - 1; }
  std::span<const Index> words(Index sentence) const {
    return label.subspan(offset[sentence], offset[sentence + 1] - offset[sentence]);
  }
};

// The n-grams of sentences, and for each word the longest that ends with it.
struct SentenceNgrams {
  NgramTrie trie;
  std::vector<Index> gram;
};

inline SentenceNgrams sentence_ngrams(const Sentences& sentences, Index order) {
  SentenceNgrams found;
  found.gram.reserve(sentences.label.size());
  for (Index sentence = 0; sentence < sentences.size(); ++sentence) {
    Index context = NgramTrie::kEmpty;
    for (const Index word : sentences.words(sentence)) {
      found.gram.push_back(found.trie.extend(context, word));
      context = found.trie.context_after(found.gram.back(), order);
    }
  }
  return found;
}

// The sum of the weights of the sentences that have each n-gram, once or every time that they do.
inline std::vector<double> sentence_ngram_values(const NgramTrie& trie, const Sentences& grams,
                                                 std::span<const double> weight, bool every) {
  std::vector<double> value(trie.size(), 0.0);
  if (every) {
    for (Index sentence = 0; sentence < grams.size(); ++sentence) {
      for (const Index gram : grams.words(sentence)) value[gram] += weight[sentence];
    }
    add_to_suffixes(trie, value);
    return value;
  }
  std::vector<Index> last(trie.size(), -1);
  for (Index sentence = 0; sentence < grams.size(); ++sentence) {
    for (Index gram : grams.words(sentence)) {
      // where an n-gram was met before, so were its suffixes
      for (; gram != NgramTrie::kEmpty && last[gram] != sentence; gram = trie[gram].suffix) {
        value[gram] += weight[sentence];
        last[gram] = sentence;
      }
    }
  }
  for (double& each : value) each = std::min(each, 1.0);
  return value;
}

}  // namespace lattices
