// Lattices whose columns a reader in Python has made: checked, put into normal form, and copied.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lattices/native/normal_form.hpp"
#include "lattices/native/owned.hpp"
#include "lattices/native/paths.hpp"

namespace lattices {

// Columns of arcs and states, in any order.
struct ArcParts {
  std::span<const Index> src, dst, label;
  std::span<const double> score, final;
};

// Whether rows are as many as they should be, and all their entries within `width` columns.
inline bool is_sound(const FeatureRows& rows, std::size_t count, std::size_t width) {
  const auto& bounds = rows.bounds;
  const auto entries = rows.columns.size();
  return bounds.size() == count + 1 && bounds.front() == 0 &&
         static_cast<std::size_t>(bounds.back()) == entries && rows.values.size() == entries &&
         std::is_sorted(bounds.begin(), bounds.end()) &&
         std::ranges::all_of(
             rows.columns,
             [&](Index each) { return each >= 0 && static_cast<std::size_t>(each) < width; }) &&
         std::ranges::all_of(rows.values, [](double each) { return std::isfinite(each); });
}

// The rows in an order, or as they are if there is none.
inline OwnedRows picked(const FeatureRows& rows, const std::vector<Index>* order) {
  OwnedRows found;
  if (order == nullptr) {
    found.bounds.assign(rows.bounds.begin(), rows.bounds.end());
    found.columns.assign(rows.columns.begin(), rows.columns.end());
    found.values.assign(rows.values.begin(), rows.values.end());
    return found;
  }
  found.bounds.reserve(order->size() + 1);
  found.columns.reserve(rows.columns.size());
  found.values.reserve(rows.values.size());
  for (const Index row : *order) {
    for (Index at = rows.bounds[row]; at < rows.bounds[row + 1]; ++at) {
      found.columns.push_back(rows.columns[at]);
      found.values.push_back(rows.values[at]);
    }
    found.bounds.push_back(static_cast<Index>(found.columns.size()));
  }
  return found;
}

// A lattice of columns that belong to somebody else, and the order of its arcs among them if it is
// another. Nothing if states are in no topological order or something is wrong.
struct PickedLattice {
  OwnedLattice lattice;
  std::optional<std::vector<Index>> order;
};

inline std::optional<PickedLattice> picked(const ArcParts& parts, Index start, Index words) {
  const auto arcs = parts.src.size();
  const bool fits = parts.dst.size() == arcs && parts.label.size() == arcs &&
                    parts.score.size() == arcs && start >= 0 &&
                    static_cast<std::size_t>(start) < parts.final.size();
  if (!fits) return {};
  auto found = normal_form(parts.src, parts.dst, parts.label, parts.score, parts.final, words);
  if (found.form != Form::Normal && found.form != Form::Unsorted) return {};
  PickedLattice made;
  auto& lattice = made.lattice;
  const auto take = [&]<class T>(std::span<const T> from, std::vector<T>& to) {
    if (found.form == Form::Normal) {
      to.assign(from.begin(), from.end());
      return;
    }
    to.reserve(from.size());
    for (const Index arc : found.order) to.push_back(from[arc]);
  };
  take(parts.src, lattice.src);
  take(parts.dst, lattice.dst);
  take(parts.label, lattice.label);
  take(parts.score, lattice.score);
  lattice.final.assign(parts.final.begin(), parts.final.end());
  lattice.start = start;
  lattice.in_arc = std::move(found.in_arc);
  lattice.in_offset = std::move(found.in_offset);
  lattice.out_offset = std::move(found.out_offset);
  if (found.form == Form::Unsorted) made.order = std::move(found.order);
  return made;
}

}  // namespace lattices
