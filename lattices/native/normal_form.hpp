// The normal form of lattices, and topological order.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "lattices/native/index.hpp"
#include "lattices/native/semirings.hpp"

namespace lattices {

enum class Form { Normal, Unsorted, Unordered, Wrong };

// What a lattice lacks to be in normal form, and what its normal form is.
struct NormalForm {
  Form form = Form::Wrong;
  std::vector<Index> order, in_arc, in_offset, out_offset;
};

// Two passes of a counting sort: by target into in_arc, and from there by source into order.
// Linear in the numbers of arcs and states.
inline NormalForm normal_form(std::span<const Index> src, std::span<const Index> dst,
                              std::span<const Index> label, std::span<const double> score,
                              std::span<const double> final, Index words) {
  NormalForm found;
  const auto states = static_cast<Index>(final.size());
  const auto arcs = static_cast<Index>(src.size());
  bool ending = false;
  for (const double each : final) {
    ending |= std::isfinite(each);
    if (!std::isfinite(each) && each != kMinusInfinity) return found;
  }
  if (!ending) return found;
  found.in_offset.assign(states + 1, 0);
  found.out_offset.assign(states + 1, 0);
  bool ordered = true, sorted = true;
  for (Index arc = 0; arc < arcs; ++arc) {
    const bool good = src[arc] >= 0 && src[arc] < states && dst[arc] >= 0 && dst[arc] < states &&
                      label[arc] >= 0 && label[arc] < words && std::isfinite(score[arc]);
    if (!good) return found;
    ordered &= src[arc] < dst[arc];
    if (arc > 0) {
      sorted &= src[arc - 1] < src[arc] || (src[arc - 1] == src[arc] && dst[arc - 1] <= dst[arc]);
    }
    ++found.out_offset[src[arc] + 1];
    ++found.in_offset[dst[arc] + 1];
  }
  if (!ordered) {
    found.form = Form::Unordered;
    return found;
  }
  add_up(found.out_offset);
  add_up(found.in_offset);
  found.order.resize(arcs);
  found.in_arc.resize(arcs);
  auto place = found.in_offset;
  for (Index arc = 0; arc < arcs; ++arc) found.in_arc[place[dst[arc]]++] = arc;
  if (sorted) {
    for (Index arc = 0; arc < arcs; ++arc) found.order[arc] = arc;
    found.form = Form::Normal;
    return found;
  }
  place = found.out_offset;
  for (const Index arc : found.in_arc) found.order[place[src[arc]]++] = arc;
  place = found.in_offset;
  for (Index at = 0; at < arcs; ++at) found.in_arc[place[dst[found.order[at]]]++] = at;
  found.form = Form::Unsorted;
  return found;
}

// Number nodes so that every edge leads from a lower to a higher number (Kahn 1962); nodes on or
// behind a cycle keep -1.
inline std::pair<std::vector<Index>, Index> topological_numbers(std::span<const Index> src,
                                                                std::span<const Index> dst,
                                                                Index nodes) {
  std::vector<Index> degree(nodes, 0), offset(nodes + 1, 0), target(src.size());
  for (std::size_t arc = 0; arc < src.size(); ++arc) {
    ++degree[dst[arc]];
    ++offset[src[arc] + 1];
  }
  add_up(offset);
  auto place = offset;
  for (std::size_t arc = 0; arc < src.size(); ++arc) target[place[src[arc]]++] = dst[arc];
  std::vector<Index> queue, number(nodes, -1);
  queue.reserve(nodes);
  for (Index node = 0; node < nodes; ++node) {
    if (degree[node] == 0) queue.push_back(node);
  }
  for (std::size_t done = 0; done < queue.size(); ++done) {
    const Index node = queue[done];
    number[node] = static_cast<Index>(done);
    for (Index at = offset[node]; at < offset[node + 1]; ++at) {
      if (--degree[target[at]] == 0) queue.push_back(target[at]);
    }
  }
  return {std::move(number), static_cast<Index>(queue.size())};
}

}  // namespace lattices
