// The way back from a label under BLEU: the classes of its words, and its path or derivation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "decoding/native/bleu_labels.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Forest;
using lattices::Lattice;

// The classes of the words of a label.
template <std::size_t W>
void spell(const Lattice&, std::span<const Index> classes, const std::vector<Label<W>>& labels,
           Index label, std::vector<Index>& words) {
  words.clear();
  for (; labels[label].back >= 0; label = labels[label].back) {
    const Index word_class = classes[labels[label].edge];
    if (word_class >= 0) words.push_back(word_class);
  }
  std::reverse(words.begin(), words.end());
}

// The arcs of a label's path, or the edges of its derivation.
template <std::size_t W>
std::vector<Index> path(const Lattice&, const std::vector<Label<W>>& labels, Index label) {
  std::vector<Index> arcs;
  for (; labels[label].back >= 0; label = labels[label].back) {
    arcs.push_back(labels[label].edge);
  }
  std::reverse(arcs.begin(), arcs.end());
  return arcs;
}

template <std::size_t W>
void spell(const Forest&, std::span<const Index>, const std::vector<Label<W>>& labels, Index label,
           std::vector<Index>& words) {
  words.clear();
  std::vector<Index> stack{label};  // labels, and words as -2 - class
  while (!stack.empty()) {
    const Index at = stack.back();
    stack.pop_back();
    if (at < -1) words.push_back(-2 - at);
    if (at < 0 || labels[at].back < 0) continue;
    stack.push_back(labels[at].tail);
    stack.push_back(labels[at].back);
  }
}

template <std::size_t W>
std::vector<Index> path(const Forest& forest, const std::vector<Label<W>>& labels, Index label) {
  std::vector<Index> edges, stack{label};
  while (!stack.empty()) {
    const Index edge = labels[stack.back()].edge;
    Index at = stack.back();
    stack.pop_back();
    edges.push_back(edge);
    stack.resize(stack.size() + forest.tails(edge).size());
    const auto symbols = forest.symbols(edge);
    for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
      // the first tail is to be taken first
      if (*symbol < 0) stack[stack.size() + *symbol] = labels[at].tail;
      at = labels[at].back;
    }
  }
  return edges;
}

}  // namespace decoding
