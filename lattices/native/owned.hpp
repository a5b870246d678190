// Lattices that native code makes and owns: columns in vectors, put into normal form here.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lattices/native/normal_form.hpp"
#include "lattices/native/paths.hpp"

namespace lattices {

struct OwnedLattice {
  std::vector<Index> src, dst, label, in_arc, in_offset, out_offset;
  std::vector<double> score, final;
  Index start = 0;
};

// A sparse matrix by rows.
struct OwnedRows {
  std::vector<Index> bounds{0}, columns;
  std::vector<double> values;

  FeatureRows view() const { return {bounds, columns, values}; }
};

template <class T>
void reorder(std::vector<T>& column, const std::vector<Index>& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (const Index at : order) result.push_back(column[at]);
  column = std::move(result);
}

// The same for rows that all have `width` values.
inline void reorder(std::vector<double>& values, const std::vector<Index>& order,
                    std::size_t width) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const Index row : order) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(width) * row;
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  values = std::move(result);
}

// Rows of `width` values each, none left out.
inline OwnedRows full_rows(std::vector<double> values, Index width) {
  OwnedRows rows;
  const auto count = static_cast<Index>(values.size()) / width;
  rows.columns.resize(values.size());
  rows.bounds.resize(count + 1);
  auto* column = rows.columns.data();
  for (Index row = 0; row < count; ++row) {
    for (Index each = 0; each < width; ++each) *column++ = each;
    rows.bounds[row + 1] = (row + 1) * width;
  }
  rows.values = std::move(values);
  return rows;
}

// The rows with their columns in order, and one value for each; nothing if they are so already.
inline std::optional<OwnedRows> canonical(const FeatureRows& rows) {
  const auto& [bounds, columns, values] = rows;
  const auto is_unordered = [&](Index row) {
    const auto own = columns.subspan(bounds[row], bounds[row + 1] - bounds[row]);
    return std::ranges::adjacent_find(own, std::ranges::greater_equal()) != own.end();
  };
  Index first = 0;
  while (first < rows.num_rows() && !is_unordered(first)) ++first;
  if (first == rows.num_rows()) return {};
  OwnedRows made;
  std::vector<std::pair<Index, double>> entries;
  for (Index row = 0; row < rows.num_rows(); ++row) {
    entries.clear();
    for (Index at = bounds[row]; at < bounds[row + 1]; ++at)
      entries.emplace_back(columns[at], values[at]);
    std::ranges::stable_sort(entries, {}, &std::pair<Index, double>::first);
    const auto begin = made.columns.size();
    for (const auto& [column, value] : entries) {
      if (made.columns.size() > begin && made.columns.back() == column) {
        made.values.back() += value;
        continue;
      }
      made.columns.push_back(column);
      made.values.push_back(value);
    }
    made.bounds.push_back(static_cast<Index>(made.columns.size()));
  }
  return made;
}

// Put columns into normal form, and the rows of `values` (of `width` an arc) into the order of the
// arcs. False if states are in no topological order or something is wrong: then nothing is changed.
inline bool normalise(OwnedLattice& lattice, Index words, std::vector<double>& values,
                      std::size_t width) {
  if (lattice.start < 0 || static_cast<std::size_t>(lattice.start) >= lattice.final.size()) {
    return false;
  }
  auto found =
      normal_form(lattice.src, lattice.dst, lattice.label, lattice.score, lattice.final, words);
  if (found.form != Form::Normal && found.form != Form::Unsorted) return false;
  if (found.form == Form::Unsorted) {
    for (auto* column : {&lattice.src, &lattice.dst, &lattice.label}) {
      reorder(*column, found.order);
    }
    reorder(lattice.score, found.order);
    reorder(values, found.order, width);
  }
  lattice.in_arc = std::move(found.in_arc);
  lattice.in_offset = std::move(found.in_offset);
  lattice.out_offset = std::move(found.out_offset);
  return true;
}

}  // namespace lattices
