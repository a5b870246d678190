// Lattices and forests from the top down: one shape for algorithms that read complete paths or
// derivations off a space.
//
// A node is derived by one of its edges, whose parts are derived in turn, or, where it may, by
// ending there. In a forest these are the edges of a node and their tails, and nothing ends. In a
// lattice the root is the start state, a state's edges are the arcs out of it, the part of an arc
// is the state it leads to, and final states may end: what a state derives are its suffixes.
#pragma once

#include <concepts>
#include <ranges>
#include <span>

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

}  // namespace lattices
