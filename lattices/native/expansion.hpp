// The lattice of a forest's sentences.
//
// Read a derivation from left to right, and at any point there is a list of what is still to come:
// words, and nodes that are still to be derived. These lists are the states. A word at the head of
// a list is an arc to the rest of it; a node is replaced by the target side of each of its edges in
// turn, by an arc with the edge's score. Lists are interned, a number standing for a symbol and the
// number of the rest, so that whatever has the same future shares it.
//
// Read from right to left the same lists are what has been, and share their past. Which of the two
// is smaller depends on the side to which the forest branches: a lattice made into a forest
// branches to the left, and forwards every path of it would become a branch of a tree.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// The arcs of the lattice; `edge` is -1 where an arc only has a word. State 0 is the end and
// state 1 the start; the other way round where it was read backwards, with arcs turned round.
struct Expansion {
  std::vector<Index> src, dst, label, edge;
  Index states = 2;
  bool backwards = false;
};

class Expander {
 public:
  Expander(const Forest& forest, bool backwards) : forest_(forest), backwards_(backwards) {}

  // Return nothing if there are more states than that. Linear in the arcs of the lattice.
  std::optional<Expansion> run(std::int64_t max_states, Poll& poll) {
    Expansion found;
    found.backwards = backwards_;
    intern(-1 - forest_.root, 0);
    for (Index state = 1; state < num_states(); ++state) {
      poll();
      const auto [symbol, rest] = cells_[state];
      if (symbol > 0) {
        add(found, state, rest, symbol, -1);
        continue;
      }
      for (const Index edge : forest_.incoming(-1 - symbol)) {
        const auto side = forest_.symbols(edge);
        // the first word, if the side begins with one, is on the arc of the edge itself
        std::size_t first = 0;
        Index label = 0;
        if (!side.empty() && at(side, 0) > 0) {
          label = at(side, 0);
          first = 1;
        }
        Index target = rest;
        for (std::size_t place = side.size(); place-- > first;) {
          const Index item = at(side, place);
          target = intern(item > 0 ? item : -1 - forest_.tails(edge)[-1 - item], target);
        }
        add(found, state, target, label, edge);
        if (num_states() > max_states) return std::nullopt;
      }
    }
    if (num_states() > max_states) return std::nullopt;
    found.states = num_states();
    return found;
  }

 private:
  struct Cell {
    Index symbol, rest;
  };

  Index num_states() const { return static_cast<Index>(cells_.size()); }

  // the symbol at a place, counted from the side that is read first
  Index at(std::span<const Index> side, std::size_t place) const {
    return side[backwards_ ? side.size() - 1 - place : place];
  }

  // Return the number of the list of a symbol (a word, or -1 - q for node q) and a rest.
  Index intern(Index symbol, Index rest) {
    const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(symbol)) << 32 |
                     static_cast<std::uint32_t>(rest);
    const auto [place, fresh] = numbers_.try_emplace(key, num_states());
    if (fresh) cells_.push_back({symbol, rest});
    return place->second;
  }

  void add(Expansion& found, Index src, Index dst, Index label, Index edge) const {
    found.src.push_back(backwards_ ? dst : src);
    found.dst.push_back(backwards_ ? src : dst);
    found.label.push_back(label);
    found.edge.push_back(edge);
  }

  const Forest& forest_;
  bool backwards_;
  // state 0, the empty list, has no cell
  std::vector<Cell> cells_{{0, 0}};
  tsl::robin_map<std::uint64_t, Index, MixedHash> numbers_;
};

// Expand a trimmed forest from both ends; return the smaller lattice.
inline std::optional<Expansion> expand(const Forest& forest, std::int64_t max_states, Poll& poll) {
  auto found = Expander(forest, false).run(max_states, poll);
  const std::int64_t limit = found ? found->states - 1 : max_states;
  if (auto other = Expander(forest, true).run(limit, poll)) found = std::move(other);
  return found;
}

}  // namespace lattices
