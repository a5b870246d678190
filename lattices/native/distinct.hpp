// Different values numbered as they come: strings of a file that is kept, labels, anything hashed.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "lattices/native/index.hpp"

namespace lattices {

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
