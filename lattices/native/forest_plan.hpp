// The plan of an intersection of a forest with an alignment: which items a node can have.
//
// States of an alignment are (i, m): i reference words are behind, the last m of them matched in a
// row. An item is a node with the state before its words and the one after them (Bar-Hillel, Perles
// and Shamir 1961). Of the (order x length)^2 items of a node most need no place:
//
// - positions only grow, so a row of items begins where its state stands;
// - from (i, m), m > 0, nothing is earned that (i, 0) would not earn, unless a first word of the
//   node matches at i: only then there are rows for m > 0;
// - words end in (j, m), m > 0, only where a last word matches: only then there are columns;
// - a node that only ever begins a sentence needs the one row of (0, 0). The forest of a lattice
//   has no others, and costs what the lattice does.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattices/native/alignments.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices::forests {

struct Match {
  Index position;
  double weight;
};

// The matches of each word, by position.
class Matches {
 public:
  explicit Matches(const Alignment& alignment) {
    const std::size_t count = alignment.word.size();
    std::vector<std::size_t> order(count);
    for (std::size_t at = 0; at < count; ++at) order[at] = at;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
      if (alignment.word[one] != alignment.word[other]) {
        return alignment.word[one] < alignment.word[other];
      }
      return alignment.position[one] < alignment.position[other];
    });
    const std::size_t words = count == 0 ? 0 : alignment.word[order.back()] + std::size_t{1};
    offset_.assign(words + 1, 0);
    matches_.reserve(count);
    for (const std::size_t at : order) {
      ++offset_[alignment.word[at] + 1];
      matches_.push_back({alignment.position[at], alignment.weight[at]});
    }
    for (std::size_t word = 0; word < words; ++word) offset_[word + 1] += offset_[word];
  }

  std::span<const Match> of(Index word) const {
    const auto number = static_cast<std::size_t>(word);
    if (number + 1 >= offset_.size()) return {};
    return std::span(matches_).subspan(offset_[number], offset_[number + 1] - offset_[number]);
  }

 private:
  std::vector<Index> offset_;
  std::vector<Match> matches_;
};

// A set of places of the reference for each node.
class PlaceSets {
 public:
  PlaceSets() = default;
  PlaceSets(Index nodes, Index places)
      : blocks_((static_cast<std::size_t>(places) + 63) / 64), bits_(nodes * blocks_) {}

  void insert(Index node, Index place) {
    bits_[node * blocks_ + place / 64] |= std::uint64_t{1} << (place % 64);
  }
  void insert_all(Index node, Index other) {
    for (std::size_t block = 0; block < blocks_; ++block) {
      bits_[node * blocks_ + block] |= bits_[other * blocks_ + block];
    }
  }
  // The first place of the set that is not before `place`, or -1.
  Index next(Index node, Index place) const {
    std::size_t block = place / 64;
    if (block >= blocks_) return -1;
    std::uint64_t bits = bits_[node * blocks_ + block] & (~std::uint64_t{0} << (place % 64));
    while (bits == 0) {
      if (++block == blocks_) return -1;
      bits = bits_[node * blocks_ + block];
    }
    return static_cast<Index>(64 * block) + std::countr_zero(bits);
  }
  Index last(Index node) const {
    for (std::size_t block = blocks_; block-- > 0;) {
      const std::uint64_t bits = bits_[node * blocks_ + block];
      if (bits != 0) return static_cast<Index>(64 * block) + 63 - std::countl_zero(bits);
    }
    return -1;
  }

 private:
  std::size_t blocks_ = 0;
  std::vector<std::uint64_t> bits_;
};

// What is asked of a node: nothing, sentences from (0, 0), or from any state.
enum class Use : std::uint8_t { Unused, Anchored, Anywhere };

struct Plan {
  Index length, order;
  // cells of a row without runs: whole cache lines, and a place beyond the last
  Index stride;
  std::vector<Use> use;
  // whether a derivation without words is possible
  std::vector<std::uint8_t> wordless;
  // places where a first word of a node matches: order - 1 rows for each, behind those of (i, 0)
  std::vector<Index> left_offset, left_place;
  // places just behind a match of a last word: order - 1 columns for each
  std::vector<Index> right_offset, right_place;
  // places where any word of a node matches
  PlaceSets touched;
  std::vector<Index> rows, width;
  // where the cells and the rows of a node begin, among those of all
  std::vector<std::size_t> cell, row;

  // `line`: cells in 64 bytes
  Plan(const Forest& forest, const Alignment& alignment, const Matches& matches, Index line,
       Poll& poll)
      : length(alignment.length),
        order(alignment.order),
        stride(((alignment.length + 1) / line + 1) * line),
        use(forest.num_nodes(), Use::Unused),
        wordless(forest.num_nodes(), 0),
        touched(forest.num_nodes(), alignment.length + 1) {
    find_uses(forest);
    PlaceSets begins(forest.num_nodes(), length + 1), ends(forest.num_nodes(), length + 1);
    for (Index node = 0; node < forest.num_nodes(); ++node) {
      poll(forest.incoming(node).size() * static_cast<std::size_t>(length));
      for (const Index edge : forest.incoming(node)) {
        find_places(forest, matches, node, edge, begins, ends);
      }
    }
    lay_out(begins, ends, line);
  }

  Index runs() const { return order - 1; }
  std::span<const Index> left(Index node) const {
    return std::span(left_place)
        .subspan(left_offset[node], left_offset[node + 1] - left_offset[node]);
  }
  std::span<const Index> right(Index node) const {
    return std::span(right_place)
        .subspan(right_offset[node], right_offset[node + 1] - right_offset[node]);
  }
  // The row of (place, run) of a node that has `place` as number `index` of its left places.
  Index run_row(std::size_t index, Index run) const {
    return length + static_cast<Index>(index) * runs() + run;
  }
  // The first place from which on no word of the node matches.
  Index matchless_from(Index node) const { return touched.last(node) + 1; }

 private:
  void find_uses(const Forest& forest) {
    use[forest.root] = Use::Anchored;
    for (Index node = forest.num_nodes() - 1; node >= 0; --node) {
      if (use[node] == Use::Unused) continue;
      for (const Index edge : forest.incoming(node)) {
        Use asked = use[node];
        for (const Index symbol : forest.symbols(edge)) {
          if (symbol < 0) {
            Use& below = use[forest.tails(edge)[-1 - symbol]];
            below = std::max(below, asked);
          }
          asked = Use::Anywhere;
        }
      }
    }
  }

  void find_places(const Forest& forest, const Matches& matches, Index node, Index edge,
                   PlaceSets& begins, PlaceSets& ends) {
    const auto symbols = forest.symbols(edge);
    const auto tails = forest.tails(edge);
    bool silent = true;
    for (const Index symbol : symbols) {
      if (symbol > 0) {
        for (const Match& match : matches.of(symbol)) {
          touched.insert(node, match.position);
          if (silent) begins.insert(node, match.position);
        }
        silent = false;
      } else {
        const Index below = tails[-1 - symbol];
        touched.insert_all(node, below);
        if (silent) begins.insert_all(node, below);
        silent = silent && wordless[below];
      }
    }
    if (silent) wordless[node] = 1;
    for (std::size_t at = symbols.size(); at-- > 0;) {
      if (symbols[at] > 0) {
        for (const Match& match : matches.of(symbols[at])) ends.insert(node, match.position + 1);
        break;
      }
      const Index below = tails[-1 - symbols[at]];
      ends.insert_all(node, below);
      if (!wordless[below]) break;
    }
  }

  void lay_out(const PlaceSets& begins, const PlaceSets& ends, Index line) {
    const auto nodes = static_cast<Index>(use.size());
    left_offset.assign(nodes + 1, 0);
    right_offset.assign(nodes + 1, 0);
    rows.assign(nodes, 0);
    width.assign(nodes, 0);
    cell.assign(nodes + 1, 0);
    row.assign(nodes + 1, 0);
    for (Index node = 0; node < nodes; ++node) {
      if (use[node] != Use::Unused) {
        if (order > 1) {
          if (use[node] == Use::Anywhere) list(begins, node, left_place);
          list(ends, node, right_place);
        }
        const auto lefts = static_cast<Index>(left_place.size()) - left_offset[node];
        const auto rights = static_cast<Index>(right_place.size()) - right_offset[node];
        rows[node] = use[node] == Use::Anchored ? 1 : length + 1 + lefts * runs();
        width[node] = (rights * runs() + line - 1) / line * line;
      }
      left_offset[node + 1] = static_cast<Index>(left_place.size());
      right_offset[node + 1] = static_cast<Index>(right_place.size());
      row[node + 1] = row[node] + rows[node];
      cell[node + 1] =
          cell[node] + static_cast<std::size_t>(rows[node]) * (stride + std::size_t(width[node]));
    }
  }

  static void list(const PlaceSets& sets, Index node, std::vector<Index>& places) {
    for (Index place = sets.next(node, 0); place >= 0; place = sets.next(node, place + 1)) {
      places.push_back(place);
    }
  }
};

}  // namespace lattices::forests
