// States of a file, closed up: numbered from 0 in the order of the numbers that they have there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "lattices/native/index.hpp"

namespace lattices {

class StateNumbers {
 public:
  using Names = std::vector<std::int64_t>;

  // States that occur anywhere, from 0.
  explicit StateNumbers(std::initializer_list<const Names*> all) {
    std::size_t count = 0;
    std::int64_t most = -1;
    for (const Names* names : all) {
      count += names->size();
      for (const auto name : *names) most = std::max(most, name);
    }
    if (static_cast<std::uint64_t>(most + 1) <= 4 * count) {
      table_.assign(static_cast<std::size_t>(most + 1), -1);
      for (const Names* names : all) {
        for (const auto name : *names) table_[static_cast<std::size_t>(name)] = 0;
      }
      for (Index& number : table_) number = number < 0 ? number : size_++;
      return;
    }
    for (const Names* names : all) sorted_.insert(sorted_.end(), names->begin(), names->end());
    std::ranges::sort(sorted_);
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    size_ = static_cast<Index>(sorted_.size());
  }

  Index size() const { return size_; }
  Index of(std::int64_t name) const {
    if (!table_.empty()) return table_[static_cast<std::size_t>(name)];
    return static_cast<Index>(std::ranges::lower_bound(sorted_, name) - sorted_.begin());
  }
  std::vector<Index> of(const Names& names) const {
    std::vector<Index> found;
    found.reserve(names.size());
    for (const auto name : names) found.push_back(of(name));
    return found;
  }

 private:
  Index size_ = 0;
  std::vector<Index> table_;
  Names sorted_;
};

}  // namespace lattices
