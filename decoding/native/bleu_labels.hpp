// Labels of the search under BLEU, and which of them make others needless.
//
// A label is the beginning of a sentence (in a forest: a part of one) with its length, its matches
// and its model score. Labels meet where they agree in
//
//   (node, the longest suffix of at most N - 1 words that is an n-gram of a reference, length)
//
// and in a forest in the longest such prefix, too: whatever follows matches alike, so that one with
// no fewer matches of any order makes another needless (Pareto dominance). With u(g) the times that
// a label has a tracked n-gram g, at most the limit, a makes b needless if for each order
//
//   m_a - m_b >= sum over tracked n-grams g of that order of max(0, u_a(g) - u_b(g)),
//
// since b's continuation can gain at most so much more. For the k best a label is needless if k
// different ones dominate it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "decoding/native/label_rows.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

template <std::size_t W>
struct Label {
  Counts<W> count;
  double model = 0.0;
  double base = 0.0;        // of the row of an added machine
  double gained = 0.0;      // of a relaxed value
  std::uint64_t key = 0;    // of its words, where sentences must differ
  std::uint64_t power = 1;  // by which the key of what stands before is multiplied
  Index length = 0;
  Index left = 0, right = 0;   // the contexts at its ends; `left` in forests alone
  Index used = 0;              // how often it has the tracked n-grams
  Index back = -1, tail = -1;  // the label before, and in a forest the one that was appended
  Index edge = -1;             // the last arc; in a forest, set where an edge is complete
  Index cell = -1;             // of the bound
  Index row = 0;               // of an added machine
  Index dominators = 0;
};

// Whether one label makes another of the same place needless.
template <std::size_t W>
struct Dominance {
  const Clipping<W>& clipping;
  bool worst;
  bool by_model;      // the model score is one more thing to be better in
  double preference;  // times the model score, the higher the better
  const LabelRows* rows = nullptr;

  bool operator()(const Label<W>& one, const Label<W>& other) const {
    const Label<W>&high = worst ? other : one, &low = worst ? one : other;
    if (!high.count.covers(low.count)) return false;
    bool equal;
    if (high.used == low.used) {
      equal = high.count == low.count;
    } else {
      auto least = low.count;
      least += clipping.more(high.used, low.used);
      if (!high.count.covers(least)) return false;
      equal = high.count == least;
    }
    if (rows != nullptr) {
      if (!rows->below(low.row, low.base, high.row, high.base, false)) return false;
      equal = equal && !rows->below(low.row, low.base, high.row, high.base, true);
    }
    if (by_model) return !prefers(other, one);
    return !equal || one.model >= other.model;
  }
  bool prefers(const Label<W>& one, const Label<W>& other) const {
    return !(preference * other.model >= preference * one.model);
  }
};

// The labels of one node, those that are needless left out. The place of a label is what it must
// agree in with another that it makes needless.
template <std::size_t W>
class Front {
 public:
  void open() {
    ++stamp_;
    labels_.clear();
    next_.clear();
    places_ = 0;
  }
  // Of all labels since the beginning.
  std::size_t comparisons() const { return comparisons_; }
  std::size_t bytes() const {
    return labels_.capacity() * (sizeof(Label<W>) + sizeof(Index)) +
           table_.capacity() * sizeof(Slot);
  }

  // Take a label in unless `most` others make it needless; those that it makes so are removed.
  void insert(const Label<W>& label, Index most, const Dominance<W>& dominates) {
    if (2 * (places_ + 1) > table_.size()) grow();
    Slot& slot = find(label);
    auto made = label;
    made.dominators = 0;
    Index same = -1;  // the label of another path of the same sentence
    for (Index at = most > 1 ? slot.head : -1; at >= 0 && same < 0; at = next_[at]) {
      if (labels_[at].key == label.key) same = at;
    }
    if (same >= 0 && !dominates.prefers(label, labels_[same])) return;
    Index* link = &slot.head;
    for (Index at = slot.head; at >= 0; at = *link) {
      auto& other = labels_[at];
      ++comparisons_;
      bool needless = at == same;
      if (at != same && dominates(other, label)) {
        if (++made.dominators >= most) return;
      } else if (at != same && dominates(label, other)) {
        // a sentence counts once
        const bool known = same >= 0 && dominates(labels_[same], other);
        needless = !known && ++other.dominators >= most;
      }
      if (needless) {
        *link = next_[at];
      } else {
        link = &next_[at];
      }
      if (needless && at != same) other.length = kRemoved;
    }
    if (same >= 0) labels_[same].length = kRemoved;
    next_.push_back(slot.head);
    slot.head = static_cast<Index>(labels_.size());
    labels_.push_back(made);
  }
  // Append what is left to a vector.
  void close(std::vector<Label<W>>& kept) const {
    for (const auto& label : labels_) {
      if (label.length != kRemoved) kept.push_back(label);
    }
  }

 private:
  static constexpr Index kRemoved = -1;
  struct Slot {
    std::uint64_t contexts = 0;
    Index length = 0, stamp = 0, head = -1;
  };

  Slot& find(const Label<W>& label) {
    const auto contexts = lattices::pair_key(label.left, label.right);
    const std::size_t mask = table_.size() - 1;
    auto place = lattices::mixed(contexts, label.length) & mask;
    for (; table_[place].stamp == stamp_; place = (place + 1) & mask) {
      if (table_[place].contexts == contexts && table_[place].length == label.length) {
        return table_[place];
      }
    }
    ++places_;
    table_[place] = {contexts, label.length, stamp_, -1};
    return table_[place];
  }
  void grow() {
    std::vector<Slot> larger(std::max<std::size_t>(64, 2 * table_.size()));
    const std::size_t mask = larger.size() - 1;
    for (const Slot& slot : table_) {
      if (slot.stamp != stamp_) continue;
      auto place = lattices::mixed(slot.contexts, slot.length) & mask;
      while (larger[place].stamp == stamp_) place = (place + 1) & mask;
      larger[place] = slot;
    }
    table_ = std::move(larger);
  }

  std::vector<Label<W>> labels_;
  std::vector<Index> next_;
  std::vector<Slot> table_;
  std::size_t places_ = 0, comparisons_ = 0;
  Index stamp_ = 0;
};

// The way back from a label.
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
