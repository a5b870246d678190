// Lattices and forests from the top down: one shape for algorithms that read complete paths or
// derivations off a space, and what these use.
//
// A node is derived by one of its edges, whose parts are derived in turn, or, where it may, by
// ending there. In a forest these are the edges of a node and their tails, and nothing ends. In a
// lattice the root is the start state, a state's edges are the arcs out of it, the part of an arc
// is the state it leads to, and final states may end: what a state derives are its suffixes.
#pragma once

#include <concepts>
#include <ranges>
#include <span>
#include <vector>

#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

template <class G>
concept TopDown = requires(const G graph, Index node, Index edge) {
  { graph.num_nodes() } -> std::convertible_to<Index>;
  { graph.num_edges() } -> std::convertible_to<Index>;
  { graph.root() } -> std::convertible_to<Index>;
  // all nodes, parts before what they are parts of, and the other way round
  { graph.upwards() } -> std::ranges::range;
  { graph.downwards() } -> std::ranges::range;
  { graph.edges(node) } -> std::ranges::range;
  { graph.parts(edge) } -> std::ranges::range;
  { graph.ends(node) } -> std::same_as<bool>;
};

class LatticeTopDown {
 public:
  explicit LatticeTopDown(const Lattice& lattice) : lattice_(lattice) {}

  const Lattice& space() const { return lattice_; }
  Index num_nodes() const { return lattice_.num_nodes(); }
  Index num_edges() const { return lattice_.num_edges(); }
  Index root() const { return lattice_.start; }
  auto upwards() const { return std::views::iota(Index{0}, num_nodes()) | std::views::reverse; }
  auto downwards() const { return std::views::iota(Index{0}, num_nodes()); }
  auto edges(Index state) const { return lattice_.outgoing(state); }
  std::span<const Index> parts(Index arc) const { return lattice_.dst.subspan(arc, 1); }
  bool ends(Index state) const { return lattice_.final[state] != kMinusInfinity; }

 private:
  const Lattice& lattice_;
};

class ForestTopDown {
 public:
  explicit ForestTopDown(const Forest& forest) : forest_(forest) {}

  const Forest& space() const { return forest_; }
  Index num_nodes() const { return forest_.num_nodes(); }
  Index num_edges() const { return forest_.num_edges(); }
  Index root() const { return forest_.root; }
  auto upwards() const { return std::views::iota(Index{0}, num_nodes()); }
  auto downwards() const { return std::views::iota(Index{0}, num_nodes()) | std::views::reverse; }
  auto edges(Index node) const { return forest_.incoming(node); }
  std::span<const Index> parts(Index edge) const { return forest_.tails(edge); }
  bool ends(Index) const { return false; }

 private:
  const Forest& forest_;
};

static_assert(TopDown<LatticeTopDown> && TopDown<ForestTopDown>);

inline LatticeTopDown top_down(const Lattice& lattice) { return LatticeTopDown(lattice); }
inline ForestTopDown top_down(const Forest& forest) { return ForestTopDown(forest); }

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
