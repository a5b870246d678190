// The best path of a lattice, the best derivation of a forest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lattices/native/poll.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

// Write out the derivation of the root in which each node is derived by the edge chosen(node), or
// ends where that is negative: edges from the top down and left to right. `wanted` is room.
template <TopDown G, class Chosen>
void unroll(const G& graph, Chosen&& chosen, std::vector<Index>& wanted, std::vector<Index>& edges,
            Poll& poll) {
  wanted.assign(1, graph.root());
  const std::size_t begin = edges.size();
  while (!wanted.empty()) {
    poll();
    const Index node = wanted.back();
    wanted.pop_back();
    const Index edge = chosen(node);
    if (edge < 0) continue;
    edges.push_back(edge);
    check_unfolded(graph.space(), static_cast<double>(edges.size() - begin));
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
  std::vector<bool> used(graph.num_nodes());
  used[graph.root()] = true;
  for (const Index node : graph.downwards()) {
    const double best = found.value[node];
    if (!used[node] || found.ending(graph, node) == best) continue;
    for (const Index edge : graph.edges(node)) {
      if (found.product(graph, edge) != best) continue;
      chosen[node] = edge;
      for (const Index part : graph.parts(edge)) used[part] = true;
      break;
    }
  }
  std::vector<Index> edges, wanted;
  unroll(graph, [&](Index node) { return chosen[node]; }, wanted, edges, poll);
  return edges;
}

}  // namespace lattices
