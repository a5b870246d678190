// Different values numbered as they come: strings of a file that is kept, labels, anything hashed.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lattices/native/index.hpp"

namespace lattices {

// For keys made of several numbers: tables take the low bits of a hash, and those of a number are
// the number's own, so that keys that differ above them would all stand in one place.
// Multiplied by the golden ratio in 64 bits, the high bits are the best (Fibonacci hashing).
struct MixedHash {
  std::size_t operator()(std::uint64_t key) const {
    key *= 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(key ^ (key >> 32));
  }
};

template <class Value>
class Distinct {
 public:
  // The number of a value; how many there are grows by one if it is new.
  Index number(const Value& value) {
    const auto [found, fresh] = numbers_.try_emplace(value, static_cast<Index>(values_.size()));
    if (fresh) values_.push_back(value);
    return found->second;
  }
  std::vector<Value>& values() { return values_; }
  Index size() const { return static_cast<Index>(values_.size()); }
  const Value& operator[](Index number) const { return values_[number]; }

 private:
  tsl::robin_map<Value, Index> numbers_;
  std::vector<Value> values_;
};

// Views into the bytes of a record, which outlive the numbering.
using Strings = Distinct<std::string_view>;

}  // namespace lattices
