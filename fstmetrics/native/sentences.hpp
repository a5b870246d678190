// Sentences of units in columns, and the numbering of their units.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/interning.hpp"
#include "tsl/robin_map.h"

namespace fstmetrics {

using Unit = std::int32_t;

// Sentence s is unit[offset[s]..offset[s + 1]).
struct Sentences {
  std::span<const Unit> unit;
  std::span<const std::int32_t> offset;

  std::size_t size() const { return offset.size() - 1; }
  std::size_t length(std::size_t sentence) const { return offset[sentence + 1] - offset[sentence]; }
  std::span<const Unit> operator[](std::size_t sentence) const {
    return unit.subspan(offset[sentence], length(sentence));
  }
  std::size_t longest() const {
    std::size_t most = 0;
    for (std::size_t s = 0; s < size(); ++s) most = std::max(most, length(s));
    return most;
  }
};

// How many units two sentences have in common at their beginnings, and at their ends.
template <class Each>
std::size_t common_prefix(std::span<const Each> one, std::span<const Each> other) {
  const auto most = std::min(one.size(), other.size());
  // a few at a time, as vectors
  constexpr std::size_t some = 32 / sizeof(Each);
  std::size_t common = 0;
  const auto same = [&] { return std::memcmp(&one[common], &other[common], 32) == 0; };
  while (common + some <= most && same()) common += some;
  while (common < most && one[common] == other[common]) ++common;
  return common;
}

template <class Each>
std::size_t common_suffix(std::span<const Each> one, std::span<const Each> other) {
  const auto most = std::min(one.size(), other.size());
  one = one.last(most);
  other = other.last(most);
  constexpr std::size_t some = 32 / sizeof(Each);
  auto rest = most;
  const auto same = [&] { return std::memcmp(&one[rest - some], &other[rest - some], 32) == 0; };
  while (rest >= some && same()) rest -= some;
  while (rest > 0 && one[rest - 1] == other[rest - 1]) --rest;
  return most - rest;
}

// Refuse offsets that lead outside, and negative units: what a native function indexes is checked
// once, at the border.
inline void check(const Sentences& sentences) {
  const auto& [unit, offset] = sentences;
  bool fine = !offset.empty() && offset.front() >= 0 &&
              static_cast<std::size_t>(offset.back()) <= unit.size();
  for (std::size_t s = 1; fine && s < offset.size(); ++s) fine = offset[s - 1] <= offset[s];
  Unit lowest = 0;
  for (const auto each : unit) lowest = std::min(lowest, each);
  if (!fine || lowest < 0) throw lattices::option_error("sentences that do not fit their offsets");
}

// Refuse units that are not below a bound.
inline void check(const Sentences& sentences, std::size_t units) {
  check(sentences);
  Unit highest = -1;
  for (const auto each : sentences.unit) highest = std::max(highest, each);
  if (highest >= 0 && static_cast<std::size_t>(highest) >= units) {
    throw lattices::option_error("sentences with units that have no number");
  }
}

// The distinct units in the order of their first occurrence, and the place of each unit in them.
struct Distinct {
  std::vector<Unit> units, place;
};

inline Distinct distinct(std::span<const Unit> units) {
  Distinct result;
  result.place.reserve(units.size());
  tsl::robin_map<Unit, Unit, lattices::MixedHash> number;
  for (const auto unit : units) {
    const auto next = static_cast<Unit>(result.units.size());
    const auto [found, is_new] = number.try_emplace(unit, next);
    if (is_new) result.units.push_back(unit);
    result.place.push_back(found->second);
  }
  return result;
}

// The letters of the words of each sentence: word w has letters[w]; letter 0 is the blank between
// words, if there are to be blanks.
struct Spelled {
  std::vector<Unit> letter;
  std::vector<std::int32_t> offset;
};

inline Spelled spell(const Sentences& words, const Sentences& letters, bool spaces) {
  Spelled result;
  std::size_t size = 0;
  for (const auto word : words.unit) size += letters.length(word) + spaces;
  if (size > INT32_MAX) throw lattices::option_error("more than 2^31 characters in one list");
  result.letter.reserve(size);
  result.offset.reserve(words.size() + 1);
  result.offset.push_back(0);
  for (std::size_t s = 0; s < words.size(); ++s) {
    const auto sentence = words[s];
    for (std::size_t each = 0; each < sentence.size(); ++each) {
      if (spaces && each > 0) result.letter.push_back(0);
      const auto spelling = letters[sentence[each]];
      result.letter.insert(result.letter.end(), spelling.begin(), spelling.end());
    }
    result.offset.push_back(static_cast<std::int32_t>(result.letter.size()));
  }
  return result;
}

}  // namespace fstmetrics
