// Columns of sentences and of n-grams, checked: for bindings.
#pragma once

#include <algorithm>
#include <string>

#include "lattices/native/border.hpp"
#include "lattices/native/ngrams.hpp"

namespace lattices {

inline void check_size(std::size_t size, std::size_t wanted, const char* name) {
  if (size != wanted) {
    throw option_error(std::string(name) + " has " + std::to_string(size) + " entries, expected " +
                       std::to_string(wanted));
  }
}

inline Sentences sentences_of(std::span<const Index> label, std::span<const Index> offset) {
  const Sentences sentences{label, offset};
  const bool good = !sentences.offset.empty() && sentences.offset.front() == 0 &&
                    static_cast<std::size_t>(sentences.offset.back()) == sentences.label.size() &&
                    std::is_sorted(sentences.offset.begin(), sentences.offset.end());
  if (!good) throw space_error("the offsets of sentences do not fit their words");
  return sentences;
}
inline Sentences sentences_of(const Ints& label, const Ints& offset) {
  return sentences_of(view(label), view(offset));
}

// Sentences in the n-grams of a trie.
inline Sentences grams_of(const NgramTrie& trie, std::span<const Index> gram,
                          std::span<const Index> offset) {
  const auto grams = sentences_of(gram, offset);
  for (const Index each : grams.label) {
    if (each < 0 || each >= trie.size()) throw option_error("a number is that of no n-gram");
  }
  return grams;
}

}  // namespace lattices
