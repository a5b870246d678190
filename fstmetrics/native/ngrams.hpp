// Clipped n-gram matches: many sentences against one set of references, or a corpus.
//
// The n-grams of the references stand in a trie: a node for each of them, found from the node of
// the n-gram one unit shorter by a hash of (node, unit). Each knows how often one reference has it,
// the most of all references. A sentence walks down the trie from each of its positions until it
// falls out: the cost is one step for each n-gram that matches, and one for each unit.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fstmetrics/native/sentences.hpp"

namespace fstmetrics {

// A trie over units, whose nodes are numbered as they are made. Few n-grams go on in more than one
// way: the first child of a node stands with it, and only others need the hash table.
class Trie {
 public:
  using Node = std::int32_t;
  static constexpr Node root = 0, none = -1;

  Trie() : first_(1) {}

  std::size_t size() const { return first_.size(); }

  Node child(Node node, Unit unit) const {
    if (first_[node].unit == unit) return first_[node].node;
    if (!first_[node].others) return none;
    const auto found = other_.find(lattices::pair_key(node, unit));
    return found == other_.end() ? none : found->second;
  }
  Node make_child(Node node, Unit unit) {
    auto& first = first_[node];
    if (first.unit == unit) return first.node;
    const auto next = static_cast<Node>(first_.size());
    if (first.node == none) {
      first.unit = unit;
      first.node = next;
    } else {
      first.others = true;
      const auto [found, is_new] = other_.try_emplace(lattices::pair_key(node, unit), next);
      if (!is_new) return found->second;
    }
    first_.emplace_back();
    return next;
  }

 private:
  struct Child {
    Unit unit = -1;
    Node node = none;
    bool others = false;
  };

  std::vector<Child> first_;
  tsl::robin_map<std::uint64_t, Node, lattices::MixedHash> other_;
};

// Call visit(node, k) for each n-gram of a sentence that is in the trie, n = k + 1 up to `order`.
template <class Visit>
void walk(const Trie& trie, std::span<const Unit> sentence, std::size_t order, Visit&& visit) {
  for (std::size_t begin = 0; begin < sentence.size(); ++begin) {
    auto node = Trie::root;
    const auto end = std::min(begin + order, sentence.size());
    for (auto at = begin; at < end; ++at) {
      node = trie.child(node, sentence[at]);
      if (node == Trie::none) break;
      visit(node, at - begin);
    }
  }
}

// The effective reference length where there are several references: the one closest to the
// sentence's own, the shorter of two (Papineni et al. 2002), the shortest (NIST), or the mean; or
// 0, which no sentence falls short of: no brevity penalty.
enum class EffectiveLength { Closest, Shortest, Average, None };

// What the statistics of a sentence have beside its matches: they follow from its length.
class ReferenceLengths {
 public:
  ReferenceLengths(const Sentences& references, EffectiveLength length) {
    for (std::size_t r = 0; r < references.size(); ++r) {
      lengths_.push_back(static_cast<double>(references.length(r)));
    }
    if (lengths_.empty()) return;
    // ascending, so that the shorter of two equally close ones is found first
    std::sort(lengths_.begin(), lengths_.end());
    if (length == EffectiveLength::Average) {
      double sum = 0.0;
      for (const auto each : lengths_) sum += each;
      lengths_ = {sum / static_cast<double>(lengths_.size())};
    } else if (length == EffectiveLength::Shortest) {
      lengths_.resize(1);
    } else if (length == EffectiveLength::None) {
      lengths_ = {0.0};
    }
  }

  // Write the n-grams of orders 1..order, the length of the sentence and the effective reference
  // length behind the matches of a row. A strict brevity penalty counts a sentence as no longer
  // than that.
  void write(std::size_t size, bool strict, std::span<double> row) const {
    const std::size_t order = row.size() / 2 - 1;
    const auto length = static_cast<double>(size);
    for (std::size_t k = 0; k < order; ++k) {
      row[order + k] = k < size ? length - static_cast<double>(k) : 0.0;
    }
    double effective = lengths_.empty() ? 0.0 : lengths_[0];
    for (const auto other : lengths_) {
      if (std::abs(other - length) < std::abs(effective - length)) effective = other;
    }
    row[2 * order] = strict ? std::min(length, effective) : length;
    row[2 * order + 1] = effective;
  }

 private:
  std::vector<double> lengths_;
};

// Clipped n-gram matches of two sentences, for any number of them: the n-grams of one are numbered
// in a table that is kept.
class NGramCounts {
 public:
  // Return the matches of orders 1..order.
  std::span<const std::int64_t> match(std::span<const Unit> sentence,
                                      std::span<const Unit> reference, std::size_t order) {
    matches_.assign(order, 0);
    make_room(order * reference.size());
    for (std::size_t begin = 0; begin < reference.size(); ++begin) {
      std::int32_t node = 0;
      const auto end = std::min(begin + order, reference.size());
      for (auto at = begin; at < end; ++at) {
        auto& slot = find(node, reference[at]);
        if (slot.stamp != stamp_) slot = {key(node, reference[at]), stamp_, ++nodes_, 0};
        ++slot.left;
        node = slot.node;
      }
    }
    for (std::size_t begin = 0; begin < sentence.size(); ++begin) {
      std::int32_t node = 0;
      const auto end = std::min(begin + order, sentence.size());
      for (auto at = begin; at < end; ++at) {
        auto& slot = find(node, sentence[at]);
        if (slot.stamp != stamp_) break;
        if (slot.left > 0) {
          --slot.left;
          ++matches_[at - begin];
        }
        node = slot.node;
      }
    }
    return matches_;
  }

 private:
  // An n-gram: that without its last unit, and the unit.
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t stamp = 0;
    std::int32_t node = 0, left = 0;
  };

  static std::uint64_t key(std::int32_t node, Unit unit) { return lattices::pair_key(node, unit); }

  // Have twice as many slots as there may be n-grams, all free.
  void make_room(std::size_t ngrams) {
    nodes_ = 0;
    if (slot_.empty() || 2 * ngrams > slot_.size() || ++stamp_ == 0) {
      slot_.assign(std::bit_ceil(std::max(2 * ngrams, slot_.size() + 1)), {});
      stamp_ = 1;
    }
  }
  Slot& find(std::int32_t node, Unit unit) {
    const auto wanted = key(node, unit);
    const auto mask = slot_.size() - 1;
    auto place = lattices::MixedHash()(wanted) & mask;
    while (slot_[place].stamp == stamp_ && slot_[place].key != wanted) place = (place + 1) & mask;
    return slot_[place];
  }

  std::vector<Slot> slot_;
  std::uint32_t stamp_ = 0;
  std::int32_t nodes_ = 0;
  std::vector<std::int64_t> matches_;
};

// The n-grams of the references of one segment.
class NGrams {
 public:
  NGrams(const Sentences& references, std::size_t order, EffectiveLength length)
      : order_(order), lengths_(references, length) {
    std::vector<std::int32_t> count;
    for (std::size_t r = 0; r < references.size(); ++r) {
      std::fill(count.begin(), count.end(), 0);
      const auto reference = references[r];
      for (std::size_t begin = 0; begin < reference.size(); ++begin) {
        auto node = Trie::root;
        for (auto at = begin; at < std::min(begin + order, reference.size()); ++at) {
          node = trie_.make_child(node, reference[at]);
          if (trie_.size() > count.size()) {
            count.resize(trie_.size());
            limit_.resize(trie_.size());
          }
          limit_[node] = std::max(limit_[node], ++count[node]);
        }
      }
    }
    limit_.resize(trie_.size());
  }

  std::size_t order() const { return order_; }
  std::size_t width() const { return 2 * order_ + 2; }

  // What is left of each n-gram's limit while a sentence is matched; all of it between two.
  struct Scratch {
    std::vector<std::int32_t> left;
    std::vector<Trie::Node> used;
  };
  Scratch scratch() const { return {limit_, {}}; }

  // Write clipped matches of orders 1..order, n-grams of orders 1..order, the length of the
  // sentence and the effective reference length. A strict brevity penalty counts a sentence as no
  // longer than that.
  void match(std::span<const Unit> sentence, bool strict, Scratch& scratch,
             std::span<double> row) const {
    std::fill(row.begin(), row.end(), 0.0);
    walk(trie_, sentence, order_, [&](Trie::Node node, std::size_t k) {
      if (scratch.left[node] == 0) return;
      --scratch.left[node];
      scratch.used.push_back(node);
      row[k] += 1.0;
    });
    for (const auto node : scratch.used) ++scratch.left[node];
    scratch.used.clear();
    lengths_.write(sentence.size(), strict, row);
  }

 private:
  std::size_t order_;
  Trie trie_;
  std::vector<std::int32_t> limit_;
  ReferenceLengths lengths_;
};

// One row of statistics for each sentence.
inline std::vector<double> match_list(const NGrams& ngrams, const Sentences& sentences,
                                      bool strict) {
  std::vector<double> rows(sentences.size() * ngrams.width());
  auto scratch = ngrams.scratch();
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    const auto row = std::span(rows).subspan(s * ngrams.width(), ngrams.width());
    ngrams.match(sentences[s], strict, scratch, row);
  }
  return rows;
}

// One row of statistics for each segment of a corpus: segment s has the references
// segment[s]..segment[s + 1] - 1.
struct Corpus {
  Sentences sentences, references;
  std::span<const std::int32_t> segment;
};

inline void check_corpus(const Corpus& corpus) {
  check(corpus.sentences);
  check(corpus.references);
  // segments are cut from the references as sentences from units
  const std::vector<Unit> none(corpus.references.size());
  check({none, corpus.segment});
  if (corpus.segment.size() != corpus.sentences.size() + 1) {
    throw lattices::option_error("not as many lists of references as sentences");
  }
}

inline std::vector<double> match_corpus(const Corpus& corpus, std::size_t order,
                                        EffectiveLength length, bool strict) {
  const auto width = 2 * order + 2;
  std::vector<double> rows(corpus.sentences.size() * width);
  for (std::size_t s = 0; s < corpus.sentences.size(); ++s) {
    const std::size_t first = corpus.segment[s], count = corpus.segment[s + 1] - first;
    const NGrams ngrams(
        {corpus.references.unit, corpus.references.offset.subspan(first, count + 1)}, order,
        length);
    auto scratch = ngrams.scratch();
    ngrams.match(corpus.sentences[s], strict, scratch, std::span(rows).subspan(s * width, width));
  }
  return rows;
}

}  // namespace fstmetrics
