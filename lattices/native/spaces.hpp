// Lattices and forests as spans over numpy's memory, and the graph that both are to an algorithm.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/index.hpp"

namespace lattices {

// What algorithms need of a space. Nodes are numbered so that tails come before heads. An edge
// into a node makes it of its tails: one tail in a lattice (the arc's source), any number in a
// forest. A node is begun with where `begins` says so (the start state of a lattice; in a forest
// the edges without tails begin), and a complete path or derivation ends in one of `ends`.
template <class G>
concept Graph = requires(const G graph, Index node, Index edge) {
  { graph.num_nodes() } -> std::convertible_to<Index>;
  { graph.num_edges() } -> std::convertible_to<Index>;
  { graph.incoming(node) } -> std::ranges::range;
  { graph.tails(edge) } -> std::ranges::range;
  { graph.begins(node) } -> std::same_as<bool>;
  { graph.weight(edge) } -> std::convertible_to<double>;
};

// The columns of lattices.Lattice, in its normal form.
struct Lattice {
  std::span<const Index> src, dst, label;
  std::span<const double> score;
  std::span<const double> final;
  std::span<const Index> in_arc, in_offset, out_offset;
  Index start = 0;
  // what errors call it
  std::string_view name = "the lattice";

  Index num_nodes() const { return static_cast<Index>(final.size()); }
  Index num_edges() const { return static_cast<Index>(src.size()); }
  // arcs into a state
  std::span<const Index> incoming(Index state) const {
    return in_arc.subspan(in_offset[state], in_offset[state + 1] - in_offset[state]);
  }
  // arcs out of a state
  auto outgoing(Index state) const {
    return std::views::iota(out_offset[state], out_offset[state + 1]);
  }
  // where a path from the start ends
  Index last(std::span<const Index> path) const { return path.empty() ? start : dst[path.back()]; }
  std::span<const Index> tails(Index arc) const { return src.subspan(arc, 1); }
  bool begins(Index state) const { return state == start; }
  double weight(Index arc) const { return score[arc]; }
};

// The columns of lattices.Forest, in its normal form.
struct Forest {
  std::span<const Index> head, tail, tail_offset, symbol, symbol_offset;
  std::span<const double> score;
  std::span<const Index> in_offset;
  Index root = 0;
  // what errors call it
  std::string_view name = "the forest";

  Index num_nodes() const { return static_cast<Index>(in_offset.size()) - 1; }
  Index num_edges() const { return static_cast<Index>(head.size()); }
  auto incoming(Index node) const { return std::views::iota(in_offset[node], in_offset[node + 1]); }
  std::span<const Index> tails(Index edge) const {
    return tail.subspan(tail_offset[edge], tail_offset[edge + 1] - tail_offset[edge]);
  }
  // the target side: words, and -1 - k for the slot of tail k
  std::span<const Index> symbols(Index edge) const {
    return symbol.subspan(symbol_offset[edge], symbol_offset[edge + 1] - symbol_offset[edge]);
  }
  bool begins(Index) const { return false; }
  double weight(Index edge) const { return score[edge]; }
};

static_assert(Graph<Lattice> && Graph<Forest>);

// Append the words of a path.
inline void append_words(const Lattice& lattice, std::span<const Index> arcs,
                         std::vector<Index>& words) {
  for (const Index arc : arcs) {
    if (lattice.label[arc] != 0) words.push_back(lattice.label[arc]);
  }
}

// The words of a column of labels, ascending, each once; epsilon is none.
inline std::vector<Index> list_words(std::span<const Index> label) {
  std::vector<Index> words(label.begin(), label.end());
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (!words.empty() && words.front() == 0) words.erase(words.begin());
  return words;
}

// What sentences may unfold to. Derivations of a forest use nodes again and again, so that a few
// bytes can stand for a sentence that no memory holds: whoever writes one out asks here first.
inline constexpr double kMostUnfolded = 1 << 20;
// columns are indexed by 32 bits
inline constexpr double kMostEdges = std::numeric_limits<std::int32_t>::max();

// Refuse one sentence of so many edges or words; one as long as the space itself is no surprise.
template <class Space>
void check_unfolded(const Space& space, double size) {
  if (size <= std::max<double>(kMostUnfolded, space.num_edges())) return;
  throw space_error("a sentence of " + std::string(space.name) +
                    " has more than 1048576 edges or words: some node is used in it again and "
                    "again");
}

// Refuse so many edges of all sentences that were asked for.
template <class Space>
void check_unfolded_all(const Space& space, double size) {
  if (size <= kMostEdges) return;
  throw space_error("the sentences of " + std::string(space.name) +
                    " that were asked for have more than 2147483647 edges");
}

// The number of words of a forest's longest sentence; it can be huge, hence a float.
inline double longest_sentence(const Forest& forest) {
  std::vector<double> words(forest.num_nodes(), 0.0);
  for (Index node = 0; node < forest.num_nodes(); ++node) {
    for (const Index edge : forest.incoming(node)) {
      double count = 0.0;
      for (const Index symbol : forest.symbols(edge)) {
        count += symbol > 0 ? 1.0 : words[forest.tails(edge)[-1 - symbol]];
      }
      words[node] = std::max(words[node], count);
    }
  }
  return words[forest.root];
}

}  // namespace lattices
