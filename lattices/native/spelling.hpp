// Spellings: numbers for the words of derivations; equal words are equal numbers.
//
// The words of a derivation are never written down: they are known by what it is made of, whose
// words have numbers already. A suffix is known by its first word and the number of the rest. In
// general there are many ways to put words together, and they are known by their length and by a
// polynomial hash modulo the prime 2^61 - 1, which can be put together from the hashes of parts.
// Derivations of one hash and length are compared, so that no sentence is ever taken for another:
// both are walked at once, and whatever stands in the same place with the same length is the same
// if it has the same number.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lattices/native/interning.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

inline constexpr Index kNone = -1;

// Keys that were met, but for ~0: eight bytes a key and as many again, for there are many of them
// and each is asked for once or twice.
class KeySet {
 public:
  // Tell whether a key is new, and keep it.
  bool insert(std::uint64_t key) {
    const std::size_t at = place(slots_, key);
    if (slots_[at] == key) return false;
    slots_[at] = key;
    if (2 * ++size_ > slots_.size()) {
      std::vector<std::uint64_t> larger(4 * slots_.size(), kFree);
      for (const std::uint64_t each : slots_) {
        if (each != kFree) larger[place(larger, each)] = each;
      }
      slots_.swap(larger);
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  static std::size_t place(const std::vector<std::uint64_t>& slots, std::uint64_t key) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = MixedHash{}(key)&mask;
    while (slots[at] != kFree && slots[at] != key) at = (at + 1) & mask;
    return at;
  }

  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(256, kFree);
  std::size_t size_ = 0;
};

// Spellings of suffixes, each of them a word and the spelling of the rest, or that of the rest
// alone.
class SuffixSpellings {
 public:
  template <class Made>
  Index of(const Made& made, Index derivation) {
    if (static_cast<std::size_t>(made.size()) > number_.size()) {
      number_.resize(std::max<std::size_t>(made.size(), 2 * number_.size()), kNone);
    }
    Index here = derivation;
    while (here != kNone && number_[here] == kNone) {
      waiting_.push_back(here);
      here = made.part(here, 0);
    }
    // the end says nothing, and has number 0
    Index rest = here == kNone ? 0 : number_[here];
    for (; !waiting_.empty(); waiting_.pop_back()) {
      here = waiting_.back();
      const Index word = made.graph().word_of(made.edge(here));
      if (word > 0) rest = longer_.try_emplace(pair_key(word, rest), count_).first->second;
      if (rest == count_) ++count_;
      number_[here] = rest;
    }
    return rest;
  }

 private:
  std::vector<Index> number_;
  Index count_ = 1;
  tsl::robin_map<std::uint64_t, Index, MixedHash> longer_;
  // room that is used again and again
  std::vector<Index> waiting_;
};

// Spellings of any derivations.
class Spellings {
 public:
  // The number of a derivation's words. What it is made of may have none yet; it gets one first.
  template <class Made>
  Index of(const Made& made, Index derivation) {
    if (static_cast<std::size_t>(made.size()) > number_.size()) {
      number_.resize(std::max<std::size_t>(made.size(), 2 * number_.size()), kNone);
    }
    if (number_[derivation] != kNone) return number_[derivation];
    waiting_.assign(1, derivation);
    while (!waiting_.empty()) {
      const Index here = waiting_.back();
      const std::size_t before = waiting_.size();
      for (const Index symbol : made.graph().symbols(made.edge(here))) {
        if (symbol >= 0) continue;
        const Index part = made.part(here, -1 - symbol);
        if (number_[part] == kNone) waiting_.push_back(part);
      }
      if (waiting_.size() > before) continue;
      waiting_.pop_back();
      if (number_[here] == kNone) number_[here] = number_of(made, here);
    }
    return number_[derivation];
  }

 private:
  using Hash = std::uint64_t;
  static constexpr Hash kPrime = (Hash{1} << 61) - 1;
  static constexpr Hash kBase = 1735628041951233877u;

  // What is known of words: the hash, what shifts a hash past them, and how many they are.
  struct Text {
    Hash hash = 0, shift = 1;
    std::uint64_t length = 0;
  };
  // Words that have a number: the derivation they were first met in, and the last number of other
  // words with the same hash.
  struct Spelling {
    Text text;
    Index derivation, other;
  };

  static Hash product(Hash one, Hash other) {
    const auto wide = static_cast<unsigned __int128>(one) * other;
    const Hash sum = static_cast<Hash>(wide & kPrime) + static_cast<Hash>(wide >> 61);
    return sum >= kPrime ? sum - kPrime : sum;
  }
  static void append(Text& text, const Text& more) {
    text.hash = product(text.hash, more.shift) + more.hash;
    if (text.hash >= kPrime) text.hash -= kPrime;
    text.shift = product(text.shift, more.shift);
    // beyond 2^64 words lengths start again, and nobody writes such sentences down
    text.length += more.length;
  }

  template <class Made>
  Index number_of(const Made& made, Index derivation) {
    const auto& symbols = made.graph().symbols(made.edge(derivation));
    Text text;
    for (const Index symbol : symbols) {
      if (symbol > 0) {
        append(text, {static_cast<Hash>(symbol), kBase, 1});
      } else if (symbol < 0) {
        const Index part = number_[made.part(derivation, -1 - symbol)];
        if (symbols.size() == 1) return part;
        append(text, spellings_[part].text);
      }
    }
    const auto [entry, is_new] =
        latest_.try_emplace(text.hash, static_cast<Index>(spellings_.size()));
    Index other = is_new ? kNone : entry->second;
    for (Index same = other; same != kNone; same = spellings_[same].other) {
      if (spellings_[same].text.length == text.length &&
          same_words(made, derivation, spellings_[same].derivation)) {
        return same;
      }
    }
    const auto number = static_cast<Index>(spellings_.size());
    entry.value() = number;
    spellings_.push_back({text, derivation, other});
    return number;
  }

  // Whether two derivations of as many words have the same; their parts have numbers.
  template <class Made>
  bool same_words(const Made& made, Index one, Index other) {
    left_.assign(1, {one, 0});
    right_.assign(1, {other, 0});
    for (;;) {
      const Index mine = next_symbol(made, left_), yours = next_symbol(made, right_);
      // both have as many words: what is left of one has none
      if (mine == 0 || yours == 0) return true;
      if (mine > 0 && yours > 0) {
        if (mine != yours) return false;
        ++left_.back().place;
        ++right_.back().place;
        continue;
      }
      const Index inner = mine < 0 ? part_of(made, left_, mine) : kNone;
      const Index outer = yours < 0 ? part_of(made, right_, yours) : kNone;
      const auto length = [&](Index part) {
        return part == kNone ? std::uint64_t{1} : spellings_[number_[part]].text.length;
      };
      if (inner != kNone && outer != kNone && length(inner) == length(outer)) {
        // they stand in the same place, and so have to be the same
        if (number_[inner] != number_[outer]) return false;
        ++left_.back().place;
        ++right_.back().place;
      } else if (inner != kNone && length(inner) == 0) {
        ++left_.back().place;
      } else if (outer != kNone && length(outer) == 0) {
        ++right_.back().place;
      } else if (outer == kNone || (inner != kNone && length(inner) > length(outer))) {
        ++left_.back().place;
        left_.push_back({inner, 0});
      } else {
        ++right_.back().place;
        right_.push_back({outer, 0});
      }
    }
  }

  struct Frame {
    Index derivation;
    std::size_t place;
  };

  // The symbol that stands next, a word or a tail; 0 at the end.
  template <class Made>
  Index next_symbol(const Made& made, std::vector<Frame>& stack) {
    while (!stack.empty()) {
      Frame& top = stack.back();
      const auto& symbols = made.graph().symbols(made.edge(top.derivation));
      while (top.place < symbols.size() && symbols[top.place] == 0) ++top.place;
      if (top.place < symbols.size()) return symbols[top.place];
      stack.pop_back();
    }
    return 0;
  }
  template <class Made>
  static Index part_of(const Made& made, const std::vector<Frame>& stack, Index symbol) {
    return made.part(stack.back().derivation, -1 - symbol);
  }

  std::vector<Index> number_;
  std::vector<Spelling> spellings_;
  tsl::robin_map<Hash, Index, MixedHash> latest_;
  // room that is used again and again
  std::vector<Index> waiting_;
  std::vector<Frame> left_, right_;
};

}  // namespace lattices
