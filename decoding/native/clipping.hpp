// Clipped n-gram matches, counted word by word.
//
// The n-grams of the references are an automaton whose states are what can still become a match.
// Each word leads to the longest n-gram that ends with it, and so to a match of every order up to
// its length. How often a sentence has an n-gram is counted for those alone that are tracked.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/interning.hpp"
#include "tsl/robin_map.h"

namespace decoding {

using lattices::Index;

// A count for each order, four in a word, 15 bits each: the bit above is free for comparisons.
template <std::size_t W>
struct Counts {
  static constexpr std::uint64_t kHigh = 0x8000800080008000u;
  static constexpr Index kMost = 0x7FFF;

  std::array<std::uint64_t, W> lanes{};

  friend bool operator==(const Counts&, const Counts&) = default;
  Counts& operator+=(const Counts& more) {
    for (std::size_t w = 0; w < W; ++w) lanes[w] += more.lanes[w];
    return *this;
  }
  Counts& operator-=(const Counts& less) {
    for (std::size_t w = 0; w < W; ++w) lanes[w] -= less.lanes[w];
    return *this;
  }
  // Whether no order has fewer.
  bool covers(const Counts& other) const {
    for (std::size_t w = 0; w < W; ++w) {
      if ((((lanes[w] | kHigh) - other.lanes[w]) & kHigh) != kHigh) return false;
    }
    return true;
  }
  // n counts from 1
  Index operator[](std::size_t n) const {
    return static_cast<Index>(lanes[(n - 1) / 4] >> (n - 1) % 4 * 16 & kMost);
  }
  void add(std::size_t n, std::uint64_t count = 1) {
    lanes[(n - 1) / 4] += count << (n - 1) % 4 * 16;
  }
};

// The n-grams of the references as an automaton (Aho and Corasick 1975), with a full table of
// transitions. Words are classes: 0 for all that no reference has.
class ReferenceNgrams {
 public:
  static constexpr Index kEmpty = 0;

  struct Gram {
    Index suffix = 0;  // one word shorter
    Index prefix = 0;  // the same
    Index last = 0;    // the class of its last word
    Index length = 0;
    Index context = 0;  // what can be a part of the next match: itself, or its suffix
    Index limit = 0;    // the most that one reference has
  };

  void compile(const fstmetrics::Sentences& references, Index order) {
    order_ = order;
    class_.clear();
    for (const auto unit : references.unit) {
      class_.try_emplace(static_cast<std::uint64_t>(unit), static_cast<Index>(class_.size() + 1));
    }
    classes_ = class_.size() + 1;
    grams_.assign(1, {});
    next_.assign(classes_, 0);
    std::vector<Index> count(1);
    for (std::size_t r = 0; r < references.size(); ++r) {
      std::fill(count.begin(), count.end(), 0);
      const auto words = references[r];
      for (std::size_t begin = 0; begin < words.size(); ++begin) {
        Index gram = kEmpty;
        for (auto at = begin; at < std::min<std::size_t>(begin + order, words.size()); ++at) {
          gram = child(gram, class_of(words[at]));
          count.resize(grams_.size());
          grams_[gram].limit = std::max(grams_[gram].limit, ++count[gram]);
        }
      }
    }
    link();
  }

  Index order() const { return order_; }
  std::size_t size() const { return grams_.size(); }
  std::size_t classes() const { return classes_; }
  const Gram& operator[](Index gram) const { return grams_[gram]; }
  Index class_of(Index unit) const {
    const auto found = class_.find(static_cast<std::uint64_t>(unit));
    return found == class_.end() ? 0 : found->second;
  }
  // The longest n-gram that ends with a word after a context.
  Index step(Index context, Index word) const { return next_[context * classes_ + word]; }

 private:
  Index child(Index gram, Index word) {
    Index& next = next_[gram * classes_ + word];
    if (next != 0) return next;
    const auto made = static_cast<Index>(grams_.size());
    next = made;
    grams_.push_back({0, gram, word, grams_[gram].length + 1, 0, 0});
    next_.resize(grams_.size() * classes_);
    return made;
  }
  // The shorter ones first.
  void link() {
    std::vector<Index> by_length(grams_.size());
    for (std::size_t gram = 0; gram < grams_.size(); ++gram) {
      by_length[gram] = static_cast<Index>(gram);
    }
    std::stable_sort(by_length.begin(), by_length.end(), [&](Index one, Index other) {
      return grams_[one].length < grams_[other].length;
    });
    for (const Index each : by_length) {
      auto& gram = grams_[each];
      if (gram.length > 1) gram.suffix = step(grams_[gram.prefix].suffix, gram.last);
      gram.context = gram.length < order_ ? each : gram.suffix;
      if (each == kEmpty || gram.length == order_) continue;
      for (std::size_t word = 0; word < classes_; ++word) {
        auto& next = next_[each * classes_ + word];
        if (next == 0) next = next_[gram.suffix * classes_ + word];
      }
    }
  }

  Index order_ = 0;
  std::size_t classes_ = 1;
  tsl::robin_map<std::uint64_t, Index, lattices::MixedHash> class_;
  std::vector<Gram> grams_;
  std::vector<Index> next_;
};

// What is counted of an n-gram that ends somewhere, and the tracked n-grams.
template <std::size_t W>
class Clipping {
 public:
  struct Step {
    Index used;
    Counts<W> lost;
  };

  explicit Clipping(const ReferenceNgrams& grams) : grams_(grams), used_(0) {}

  // Begin to count; the n-grams that `ignored` names and that are not tracked count nothing.
  void begin(std::vector<Index> tracked, std::span<const char> ignored) {
    tracked_ = std::move(tracked);
    place_.assign(grams_.size(), -1);
    for (std::size_t t = 0; t < tracked_.size(); ++t) place_[tracked_[t]] = static_cast<Index>(t);
    used_ = lattices::Interning<std::uint16_t>(tracked_.size());
    auto none = used_.draft();
    std::fill(none.begin(), none.end(), std::uint16_t{0});
    used_.settle();
    memo_.clear();
    gain_.assign(grams_.size(), {});
    touches_.assign(grams_.size(), 0);
    for (std::size_t gram = 1; gram < grams_.size(); ++gram) {
      for (auto at = static_cast<Index>(gram); at != 0; at = grams_[at].suffix) {
        const bool counted = ignored.empty() || !ignored[at] || place_[at] >= 0;
        if (counted) gain_[gram].add(grams_[at].length);
        touches_[gram] |= place_[at] >= 0;
      }
    }
  }

  std::size_t size() const { return gain_.size(); }
  bool tracks(Index gram) const { return place_[gram] >= 0; }
  const Counts<W>& gain(Index gram) const { return gain_[gram]; }
  bool touches(Index gram) const { return touches_[gram]; }
  std::size_t bytes() const { return used_.bytes() + memo_.size() * 2 * sizeof(Step); }

  // After an n-gram and its suffixes that are longer than `above`.
  Step after(Index used, Index gram, Index above = 0) {
    const auto key = lattices::pair_key(used, gram);
    if (above == 0) {
      if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
    }
    Step step{used, {}};
    auto next = used_.draft();
    const auto now = used_[used];
    std::copy(now.begin(), now.end(), next.begin());
    for (Index at = gram; grams_[at].length > above; at = grams_[at].suffix) {
      if (place_[at] < 0) continue;
      auto& count = next[place_[at]];
      if (count < grams_[at].limit) {
        ++count;
      } else {
        step.lost.add(grams_[at].length);
      }
    }
    step.used = used_.settle();
    if (above == 0) memo_.emplace(key, step);
    return step;
  }
  // Of two parts together.
  Step join(Index one, Index other) {
    Step step{one, {}};
    auto next = used_.draft();
    for (std::size_t t = 0; t < tracked_.size(); ++t) {
      const auto& gram = grams_[tracked_[t]];
      const Index both = used_[one][t] + used_[other][t];
      next[t] = static_cast<std::uint16_t>(std::min(both, gram.limit));
      if (both > gram.limit) step.lost.add(gram.length, both - gram.limit);
    }
    step.used = used_.settle();
    return step;
  }
  // The sum, by order, of what one has more than the other.
  Counts<W> more(Index one, Index other) const {
    Counts<W> sum;
    const auto *a = used_[one].data(), *b = used_[other].data();
    for (std::size_t t = 0; t < tracked_.size(); ++t) {
      if (a[t] > b[t]) sum.add(grams_[tracked_[t]].length, a[t] - b[t]);
    }
    return sum;
  }

 private:
  const ReferenceNgrams& grams_;
  std::vector<Index> tracked_, place_;
  lattices::Interning<std::uint16_t> used_;
  tsl::robin_map<std::uint64_t, Step, lattices::MixedHash> memo_;
  std::vector<Counts<W>> gain_;
  std::vector<char> touches_;
};

}  // namespace decoding
