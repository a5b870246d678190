// Rows of sparse matrices, as scipy's csr_array has them: checks, another order, sums.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

struct SparseRows {
  std::span<const Index> offset, column;
  std::span<const double> value;

  Index num_rows() const { return static_cast<Index>(offset.size()) - 1; }

  // Where a row begins and ends, or an error if there is no such row within the columns.
  std::pair<std::size_t, std::size_t> bounds(Index row) const {
    if (row < 0 || row >= num_rows()) throw space_error("a matrix has no such row");
    const Index begin = offset[row], end = offset[row + 1];
    if (begin < 0 || begin > end || static_cast<std::size_t>(end) > column.size() ||
        column.size() != value.size()) {
      throw space_error("the offsets of a matrix do not fit its columns");
    }
    return {begin, end};
  }
};

struct OwnedRows {
  std::vector<Index> offset, column;
  std::vector<double> value;
};

inline OwnedRows reordered(const SparseRows& matrix, std::span<const Index> order) {
  OwnedRows found;
  found.offset.reserve(order.size() + 1);
  found.offset.push_back(0);
  found.column.reserve(matrix.column.size());
  found.value.reserve(matrix.value.size());
  for (const Index row : order) {
    const auto [begin, end] = matrix.bounds(row);
    found.column.insert(found.column.end(), matrix.column.begin() + begin,
                        matrix.column.begin() + end);
    found.value.insert(found.value.end(), matrix.value.begin() + begin, matrix.value.begin() + end);
    found.offset.push_back(static_cast<Index>(found.column.size()));
  }
  return found;
}

// The sum of some rows, in their order.
inline std::vector<double> summed(const SparseRows& matrix, std::span<const Index> rows,
                                  Index width) {
  std::vector<double> sum(width, 0.0);
  for (const Index row : rows) {
    const auto [begin, end] = matrix.bounds(row);
    for (auto entry = begin; entry < end; ++entry) {
      const Index column = matrix.column[entry];
      if (column < 0 || column >= width) throw space_error("a matrix has no such column");
      sum[column] += matrix.value[entry];
    }
  }
  return sum;
}

// Whether a matrix of that size is as scipy wants it: sorted, no entry twice, all finite.
inline bool is_sound(const SparseRows& matrix, std::size_t height, std::size_t width) {
  const auto size = matrix.column.size();
  if (matrix.offset.size() != height + 1 || matrix.value.size() != size) return false;
  if (matrix.offset.front() != 0) return false;
  if (static_cast<std::size_t>(matrix.offset.back()) != size) return false;
  for (std::size_t row = 0; row < height; ++row) {
    const Index begin = matrix.offset[row], end = matrix.offset[row + 1];
    if (begin < 0 || begin > end || static_cast<std::size_t>(end) > size) return false;
    Index last = -1;
    for (Index entry = begin; entry < end; ++entry) {
      const Index column = matrix.column[entry];
      if (column <= last || static_cast<std::size_t>(column) >= width) return false;
      if (!std::isfinite(matrix.value[entry])) return false;
      last = column;
    }
  }
  return true;
}

}  // namespace lattices
