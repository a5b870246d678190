// Random paths and derivations, exactly in proportion to their probability.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "lattices/native/best.hpp"
#include "lattices/native/posteriors.hpp"

namespace lattices {

struct Sampled {
  std::vector<Index> edges, offset;
};

// Draw n derivations from the root down, left to right: a node ends, or is derived by an edge, with
// the probability of all its derivations that do. `random()` gives numbers from 0 up to 1, one for
// each node of a derivation.
template <Graph Space, class Random>
Sampled sample(const Space& space, std::int64_t n, double scale, Random&& random, Poll& poll) {
  const auto graph = top_down(space);
  const auto step = shares(space, scale);
  {
    // known before anything is drawn, up to chance: what would not fit is not begun
    const auto counts = expected_counts(graph, StepShares(step));
    const double size = std::accumulate(counts.edges.begin(), counts.edges.end(), 0.0);
    check_unfolded(space, size);
    check_unfolded_all(space, static_cast<double>(n) * size);
  }
  auto choose = [&](Index node) {
    double left = random();
    if (graph.ends(node)) left -= step.ends[node];
    Index chosen = -1;
    if (graph.ends(node) && left < 0.0) return chosen;
    // the last possible choice also takes what rounding leaves of the probability
    for (const Index edge : graph.edges(node)) {
      if (step.edges[edge] == 0.0) continue;
      chosen = edge;
      left -= step.edges[edge];
      if (left < 0.0) break;
    }
    return chosen;
  };
  Sampled found;
  std::vector<Index> wanted;
  // what cannot be had fails here
  found.offset.reserve(static_cast<std::size_t>(n) + 1);
  found.offset.push_back(0);
  for (std::int64_t number = 0; number < n; ++number) {
    unroll(graph, choose, wanted, found.edges, poll);
    check_unfolded_all(space, static_cast<double>(found.edges.size()));
    found.offset.push_back(static_cast<Index>(found.edges.size()));
  }
  return found;
}

}  // namespace lattices
