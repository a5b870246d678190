// What complete paths and derivations use: the useful nodes and edges of a space.
#pragma once

#include <span>
#include <vector>

#include "lattices/native/top_down.hpp"

namespace lattices {

struct Useful {
  std::vector<char> nodes, edges;
};

// Tell which nodes and edges lie on a derivation of the root of edges and ends that are kept.
//
//   derived(v) = end kept, or some kept edge of v has only derived parts
//   useful(e)  = kept(e) and needed(head e) and all parts of e are derived
//   needed(v)  = v is the root, or a part of a useful edge
//
// Linear in edges and parts. Nothing is useful where the root is not derived.
template <TopDown G, class KeepEdge, class KeepEnd>
Useful find_useful(const G& graph, KeepEdge&& keep_edge, KeepEnd&& keep_end) {
  Useful found{std::vector<char>(graph.num_nodes()), std::vector<char>(graph.num_edges())};
  std::vector<char> derived(graph.num_nodes());
  for (const Index node : graph.upwards()) {
    bool any = graph.ends(node) && keep_end(node);
    for (const Index edge : graph.edges(node)) {
      bool all = keep_edge(edge);
      for (const Index part : graph.parts(edge)) all &= static_cast<bool>(derived[part]);
      found.edges[edge] = all;
      any |= all;
    }
    derived[node] = any;
  }
  if (!derived[graph.root()]) {
    found.edges.assign(found.edges.size(), 0);
    return found;
  }
  found.nodes[graph.root()] = 1;
  for (const Index node : graph.downwards()) {
    const char needed = found.nodes[node];
    for (const Index edge : graph.edges(node)) {
      found.edges[edge] &= needed;
      if (!found.edges[edge]) continue;
      for (const Index part : graph.parts(edge)) found.nodes[part] = 1;
    }
  }
  return found;
}

template <TopDown G>
Useful find_useful(const G& graph) {
  return find_useful(graph, [](Index) { return true; }, [](Index) { return true; });
}

}  // namespace lattices
