// Posteriors, max-marginals and random derivations of a space, from the top down.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "lattices/native/best.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

// The probability of each way to derive a node, where it is derived: they sum to one at a node that
// derives anything, and are 0 at others.
//
//   share(e) = exp(w(e) + sum over parts p of below(p) - below(head e))
struct StepShares {
  std::vector<double> edges, ends;
};

template <Graph Space>
StepShares shares(const Space& space, double scale) {
  const auto found = below<Log>(space, scale);
  const auto graph = top_down(space);
  StepShares result{std::vector<double>(graph.num_edges()), {}};
  if (!end_scores(space).empty()) result.ends.resize(graph.num_nodes());
  for (const Index node : graph.downwards()) {
    const double whole = found.value[node];
    if (whole == kMinusInfinity) continue;
    if (graph.ends(node)) result.ends[node] = std::exp(found.end[node] - whole);
    for (const Index edge : graph.edges(node)) {
      result.edges[edge] = std::exp(found.product(graph, edge) - whole);
    }
  }
  return result;
}

// How often a derivation uses each edge and node, and ends in each node, on average.
struct Expected {
  std::vector<double> edges, nodes, ends;
};

// Where no derivation passes nothing is used, though sums below may have overflown there.
inline double times_share(double count, double share) { return count == 0.0 ? 0.0 : count * share; }

// Computed from the root down: count(e) = count(head e) * share(e), and count(v) is the sum of
// count(e) over the edges that v is a part of. No outside scores, whose sums with the inside scores
// would lose digits. Linear in edges and parts.
template <TopDown G>
Expected expected_counts(const G& graph, StepShares&& shares) {
  Expected result{std::move(shares.edges), std::vector<double>(graph.num_nodes()),
                  std::move(shares.ends)};
  result.nodes[graph.root()] = 1.0;
  for (const Index node : graph.downwards()) {
    const double count = result.nodes[node];
    if (graph.ends(node)) result.ends[node] = times_share(count, result.ends[node]);
    for (const Index edge : graph.edges(node)) {
      result.edges[edge] = times_share(count, result.edges[edge]);
      for (const Index part : graph.parts(edge)) result.nodes[part] += result.edges[edge];
    }
  }
  return result;
}

template <Graph Space>
Expected posteriors(const Space& space, double scale) {
  auto result = expected_counts(top_down(space), shares(space, scale));
  if constexpr (std::is_same_v<Space, Lattice>) {
    // probabilities here, and rounding may carry a certainty just above one
    for (auto* column : {&result.edges, &result.nodes, &result.ends}) {
      for (double& each : *column) each = std::min(each, 1.0);
    }
  }
  return result;
}

// What the best derivation that uses each edge, or that ends in each node, loses to the best.
struct MaxMarginals {
  double best;
  std::vector<double> edge_loss, end_loss;
};

//   lost(root) = 0,   loss(e) = lost(head e) + (best(head e) - (w(e) + sum of best(parts)))
//   lost(v) = min over edges e that v is a part of of loss(e)
//
// Losses are never below zero, and exactly zero along the best derivation, where sums of inside and
// outside scores would differ by their rounding. They are infinite where no derivation passes.
template <Graph Space>
MaxMarginals max_marginals(const Space& space) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto found = below<Viterbi>(space, 1.0);
  const auto graph = top_down(space);
  MaxMarginals result{found.value[graph.root()], std::vector<double>(graph.num_edges(), infinity),
                      std::vector<double>(end_scores(space).size(), infinity)};
  std::vector<double> lost(graph.num_nodes(), infinity);
  lost[graph.root()] = 0.0;
  bool overflown = false;
  for (const Index node : graph.downwards()) {
    const double before = lost[node], best = found.value[node];
    if (before == infinity || best == kMinusInfinity) continue;
    if (graph.ends(node)) {
      result.end_loss[node] = before + (best - found.end[node]);
      overflown |= result.end_loss[node] == infinity;
    }
    for (const Index edge : graph.edges(node)) {
      bool derived = true;
      for (const Index part : graph.parts(edge)) derived &= found.value[part] != kMinusInfinity;
      if (!derived) continue;
      const double loss = before + (best - found.product(graph, edge));
      overflown |= loss == infinity;
      result.edge_loss[edge] = loss;
      for (const Index part : graph.parts(edge)) lost[part] = std::min(lost[part], loss);
    }
  }
  if (overflown) {
    throw overflow(space,
                   "what a path loses to the best one of " + spelled(result.best) + " is infinite");
  }
  return result;
}

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
