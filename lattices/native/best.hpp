// The best path of a lattice, the best derivation of a forest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lattices/native/poll.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

// columns of edges are indexed by 32 bits
inline constexpr double kMostEdges = std::numeric_limits<std::int32_t>::max();

template <class Space>
Error too_many_edges(const Space& space) {
  return space_error("the derivations of " + std::string(space.name) +
                     " that were asked for have more than 2147483647 edges: some node is used "
                     "again and again by each of them");
}

// Write out the derivation of the root in which each node is derived by the edge chosen(node), or
// ends where that is negative: edges from the top down and left to right. `wanted` is room.
template <TopDown G, class Chosen>
void unroll(const G& graph, Chosen&& chosen, std::vector<Index>& wanted, std::vector<Index>& edges,
            Poll& poll) {
  wanted.assign(1, graph.root());
  while (!wanted.empty()) {
    poll();
    const Index node = wanted.back();
    wanted.pop_back();
    const Index edge = chosen(node);
    if (edge < 0) continue;
    edges.push_back(edge);
    const auto parts = graph.parts(edge);
    for (std::size_t place = parts.size(); place-- > 0;) wanted.push_back(parts[place]);
  }
}

// Return the edges of the best derivation:
//
//   best(v) = max(end(v), max over edges e of v of  w(e) + sum over parts p of best(p))
//
// Each node is derived by the first that attains the maximum, an end before an edge: the sums are
// those of the pass before, so one does exactly. Linear in edges and parts.
template <Graph Space>
std::vector<Index> best_edges(const Space& space, Poll& poll) {
  const auto found = below<Viterbi>(space, 1.0);
  const auto graph = top_down(space);
  std::vector<Index> chosen(graph.num_nodes(), -1);
  // how often the derivation has each node: its size is known before it is written out
  std::vector<double> uses(graph.num_nodes(), 0.0);
  uses[graph.root()] = 1.0;
  double size = 0.0;
  for (const Index node : graph.downwards()) {
    const double best = found.value[node];
    if (uses[node] == 0.0 || found.ending(graph, node) == best) continue;
    for (const Index edge : graph.edges(node)) {
      if (found.product(graph, edge) != best) continue;
      chosen[node] = edge;
      size += uses[node];
      for (const Index part : graph.parts(edge)) uses[part] += uses[node];
      break;
    }
  }
  if (size > kMostEdges) throw too_many_edges(space);
  std::vector<Index> edges, wanted;
  edges.reserve(static_cast<std::size_t>(size));
  unroll(graph, [&](Index node) { return chosen[node]; }, wanted, edges, poll);
  return edges;
}

}  // namespace lattices
