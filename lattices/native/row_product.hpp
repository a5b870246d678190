// The product of a lattice with rows: every sentence once for each of its paths, with its value.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lattices/native/rows.hpp"

namespace lattices {

// Pairs of a lattice state and a row are the states of the product, in the order of the lattice's
// states. Arcs are sorted by source, then by target: the normal form of a lattice. The gains of a
// path, with `opening` and the ending of its last pair, add up to the one value of its sentence.
struct RowProduct {
  double opening = 0.0;
  std::vector<Index> state;
  std::vector<double> ending;
  std::vector<Index> src, dst, origin;
  std::vector<double> gain;
  std::size_t rows = 0;
};

namespace detail {

template <class Gain>
struct ProductArcs {
  std::vector<Index> src, dst, origin;
  std::vector<Gain> gain;

  void add(Index) {}
  bool follow(Index) const { return true; }
  void arc(Index edge, Index from, Index to, Gain step) {
    src.push_back(from);
    dst.push_back(to);
    origin.push_back(edge);
    gain.push_back(step);
  }
  void leave(Index, RowPairs&) {}
  // the arcs, sorted once more at the end
  std::size_t bytes() const {
    return 2 *
           (growing_bytes(src) + growing_bytes(dst) + growing_bytes(origin) + growing_bytes(gain));
  }
};

}  // namespace detail

// The product with a machine that is new, or nothing beyond the budget. `arc_class` is that of
// arc_classes.
template <class Machine>
std::optional<RowProduct> row_product(const Lattice& lattice, std::span<const Index> arc_class,
                                      Machine& machine, const RowBudget& budget, Poll& poll) {
  using Gain = typename Machine::Gain;
  detail::ProductArcs<Gain> arcs;
  RowPairs pairs;
  if (!walk_rows(lattice, arc_class, machine, budget, arcs, pairs, poll)) return std::nullopt;
  RowProduct product;
  product.opening = static_cast<double>(machine.opening());
  product.rows = machine.size();
  const std::size_t count = pairs.row.size(), size = arcs.src.size();
  product.state.resize(count);
  product.ending.resize(count);
  for (Index state = 0; state < lattice.num_nodes(); ++state) {
    for (Index pair = pairs.start[state]; pair < pairs.start[state + 1]; ++pair) {
      product.state[pair] = state;
      product.ending[pair] = static_cast<double>(machine.ending(pairs.row[pair]));
    }
  }
  // by source; arcs came in the order of their targets' states, so only those into the same
  // state may stand in the wrong order
  std::vector<Index> next(count + 1, 0), order(size);
  for (const Index src : arcs.src) ++next[src + 1];
  for (std::size_t pair = 0; pair < count; ++pair) next[pair + 1] += next[pair];
  const std::vector<Index> begin(next);
  for (std::size_t arc = 0; arc < size; ++arc)
    order[next[arcs.src[arc]]++] = static_cast<Index>(arc);
  for (std::size_t pair = 0; pair < count; ++pair) {
    std::stable_sort(order.begin() + begin[pair], order.begin() + begin[pair + 1],
                     [&](Index left, Index right) { return arcs.dst[left] < arcs.dst[right]; });
  }
  product.src.reserve(size);
  product.dst.reserve(size);
  product.origin.reserve(size);
  product.gain.reserve(size);
  for (const Index arc : order) {
    product.src.push_back(arcs.src[arc]);
    product.dst.push_back(arcs.dst[arc]);
    product.origin.push_back(arcs.origin[arc]);
    product.gain.push_back(static_cast<double>(arcs.gain[arc]));
  }
  return product;
}

}  // namespace lattices
