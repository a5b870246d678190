// All the segments of an Arrow record batch, checked or put together at once.
//
// Lists of a batch stand one after the other in one column, and `at` says where each begins: one
// more entry than there are rows. Places ascend and are within the column: ListColumn checks it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/index.hpp"
#include "lattices/native/normal_form.hpp"
#include "lattices/native/owned.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

template <class T>
class ListColumn {
 public:
  ListColumn(std::span<const Index> at, std::span<const T> values, std::size_t rows)
      : at_(at), values_(values) {
    const bool good = at.size() == rows + 1 && at.front() >= 0 &&
                      std::is_sorted(at.begin(), at.end()) &&
                      static_cast<std::size_t>(at.back()) <= values.size();
    if (!good) throw space_error("the lists of a batch do not fit their column");
  }
  std::size_t begin(std::size_t row) const { return at_[row]; }
  std::size_t size(std::size_t row) const { return at_[row + 1] - at_[row]; }
  std::span<const T> operator[](std::size_t row) const {
    return values_.subspan(begin(row), size(row));
  }
  std::size_t total() const { return values_.size(); }

 private:
  std::span<const Index> at_;
  std::span<const T> values_;
};

// Which rows are lattices in normal form, and for those the arcs into and out of their states.
// Row r has its part of `in_offset` and `out_offset` from final.begin(r) + r on.
struct NormalRows {
  std::vector<std::uint8_t> normal;
  std::vector<Index> in_arc, in_offset, out_offset;
};

struct LatticeLists {
  ListColumn<Index> src, dst, label;
  ListColumn<double> score, final;
  std::span<const Index> start;
};

inline NormalRows normal_rows(const LatticeLists& lists, std::span<const bool> wanted,
                              Index words) {
  NormalRows found;
  const auto rows = wanted.size();
  found.normal.assign(rows, 0);
  found.in_arc.resize(lists.src.total());
  found.in_offset.resize(lists.final.total() + rows);
  found.out_offset.resize(lists.final.total() + rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto arcs = lists.src.size(row), states = lists.final.size(row);
    const bool fits = wanted[row] && arcs == lists.dst.size(row) && arcs == lists.label.size(row) &&
                      arcs == lists.score.size(row) && lists.start[row] >= 0 &&
                      static_cast<std::size_t>(lists.start[row]) < states;
    if (!fits) continue;
    const auto form = normal_form(lists.src[row], lists.dst[row], lists.label[row],
                                  lists.score[row], lists.final[row], words);
    if (form.form != Form::Normal) continue;
    const auto place = static_cast<std::ptrdiff_t>(lists.final.begin(row) + row);
    std::ranges::copy(form.in_arc,
                      found.in_arc.begin() + static_cast<std::ptrdiff_t>(lists.src.begin(row)));
    std::ranges::copy(form.in_offset, found.in_offset.begin() + place);
    std::ranges::copy(form.out_offset, found.out_offset.begin() + place);
    found.normal[row] = 1;
  }
  return found;
}

struct SparseRows {
  std::span<const Index> offset, column;
  std::span<const double> value;
};

// Whether a matrix of that size is as scipy wants it: sorted, no entry twice, all finite.
inline bool is_sound_matrix(const SparseRows& matrix, std::size_t height, std::size_t width) {
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

struct MatrixLists {
  ListColumn<Index> offset, column;
  ListColumn<double> value;
};

// Which rows are sound matrices, of the heights and widths that lists say by their lengths.
inline std::vector<std::uint8_t> sound_rows(const MatrixLists& lists, std::span<const bool> wanted,
                                            std::span<const Index> height_at,
                                            std::span<const Index> width_at) {
  std::vector<std::uint8_t> sound(wanted.size(), 0);
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    const auto height = static_cast<std::size_t>(height_at[row + 1] - height_at[row]);
    const auto width = static_cast<std::size_t>(width_at[row + 1] - width_at[row]);
    if (!wanted[row]) continue;
    sound[row] = is_sound_matrix(SparseRows{lists.offset[row], lists.column[row], lists.value[row]},
                                 height, width);
  }
  return sound;
}

template <class T>
void append(std::vector<T>& column, std::span<const T> values) {
  column.insert(column.end(), values.begin(), values.end());
}

// Columns of lattices, one lattice after the other.
struct JoinedLattices {
  std::vector<Index> arc_at{0}, state_at{0};
  std::vector<Index> src, dst, label;
  std::vector<double> score, final;
};

// The same of matrices; `present` says which lattices have one.
struct JoinedRows {
  std::vector<std::uint8_t> present;
  std::vector<Index> bounds_at{0}, bounds, at{0}, columns;
  std::vector<double> values;

  // Memory that grows bit by bit is touched again and again.
  void reserve(const std::vector<const FeatureRows*>& all) {
    std::size_t rows = 0, entries = 0;
    for (const auto* each : all) {
      if (each == nullptr) continue;
      rows += each->bounds.size();
      entries += each->values.size();
    }
    bounds.reserve(rows);
    columns.reserve(entries);
    values.reserve(entries);
  }

  void add(const FeatureRows* rows) {
    const auto own = rows == nullptr ? std::nullopt : canonical(*rows);
    const FeatureRows shown = own ? own->view() : rows == nullptr ? FeatureRows{} : *rows;
    present.push_back(rows != nullptr);
    append(bounds, shown.bounds);
    append(columns, shown.columns);
    append(values, shown.values);
    bounds_at.push_back(static_cast<Index>(bounds.size()));
    at.push_back(static_cast<Index>(values.size()));
  }
};

inline JoinedRows joined(const std::vector<const FeatureRows*>& rows) {
  JoinedRows all;
  all.reserve(rows);
  for (const auto* each : rows) all.add(each);
  return all;
}

inline JoinedLattices joined(const std::vector<const Lattice*>& lattices) {
  JoinedLattices all;
  std::size_t arcs = 0, states = 0;
  for (const auto* lattice : lattices) {
    all.arc_at.push_back(static_cast<Index>(arcs += lattice->src.size()));
    all.state_at.push_back(static_cast<Index>(states += lattice->final.size()));
  }
  for (auto* column : {&all.src, &all.dst, &all.label}) column->reserve(arcs);
  all.score.reserve(arcs);
  all.final.reserve(states);
  for (const auto* lattice : lattices) {
    append(all.src, lattice->src);
    append(all.dst, lattice->dst);
    append(all.label, lattice->label);
    append(all.score, lattice->score);
    append(all.final, lattice->final);
  }
  return all;
}

}  // namespace lattices
