// The automaton of all alignments to one reference, under k-gram matches up to an order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "lattices/native/spaces.hpp"

namespace lattices {

// The columns of lattices.engines.Alignment: `word` matches the reference word at `position` with
// `weight` units.
struct Alignment {
  Index length = 0, order = 1;
  double insertion = 0.0, deletion = 0.0, heaviest = 0.0;
  std::span<const Index> word, position;
  std::span<const double> weight;

  std::size_t num_states() const {
    return static_cast<std::size_t>(order) * (static_cast<std::size_t>(length) + 1);
  }
  double largest_gain() const {
    return std::max({heaviest * order, std::abs(insertion), std::abs(deletion)});
  }
};

}  // namespace lattices
