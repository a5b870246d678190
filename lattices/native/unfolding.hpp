// A space unfolded by contexts: each n-gram of a sentence then belongs to one edge.
//
// An item is a node with the first and the last words, up to order - 1, of what it derives. An edge
// has the n-grams that begin in one of its parts and end in another, and which these are the
// contexts of the parts tell; so whatever is additive over the n-grams of a sentence is additive
// over edges. Edges of the space with several slots are unfolded slot by slot, from left to right
// along the target side, with items for the part so far: no edge of the result has more than two
// tails.
//
// What nothing will ever stand left of needs no first words, and likewise at the right. All states
// of a lattice are so: what leads to one is the beginning of a sentence. A lattice, and a forest
// made of one, have one item for a state and the last words before it.
//
// Cost: O(edges) times the number of (pairs of) contexts in which their parts can stand: few where
// the decoder had a language model of that order, very many where it had none.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lattices/native/ngrams.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// A part of an edge's target side: one slot (or none, tail -1) and the words around it. Only the
// first part of an edge has words before its slot.
struct Piece {
  Index tail;
  std::span<const Index> before, after;
  bool first, last;

  Index words() const { return static_cast<Index>(before.size() + after.size()); }
};

// Call `use` with the parts of an edge from left to right: an arc is one slot, which all that leads
// to its source fills, and its word.
template <class Use>
void for_pieces(const Lattice& lattice, Index arc, Use&& use) {
  use(Piece{lattice.src[arc], {}, lattice.label.subspan(arc, lattice.label[arc] != 0), true, true});
}
template <class Use>
void for_pieces(const Forest& forest, Index edge, Use&& use) {
  const auto side = forest.symbols(edge);
  const auto tails = forest.tails(edge);
  std::size_t at = 0;
  const auto words = [&] {
    const std::size_t begin = at;
    while (at < side.size() && side[at] > 0) ++at;
    return side.subspan(begin, at - begin);
  };
  const auto before = words();
  if (at == side.size()) return use(Piece{-1, before, {}, true, true});
  for (bool first = true; at < side.size(); first = false) {
    const Index tail = tails[-1 - side[at++]];
    const auto after = words();
    use(Piece{tail, first ? before : std::span<const Index>(), after, first, at == side.size()});
  }
}

// The log-score of ending in a node, -inf where none may end.
inline double end_score(const Lattice& lattice, Index state) { return lattice.final[state]; }
inline double end_score(const Forest& forest, Index node) {
  return node == forest.root ? 0.0 : kMinusInfinity;
}

// A space unfolded. It is a graph itself: items are numbered bottom-up, tails before heads, and
// edges are sorted by head.
struct Unfolded {
  struct Edge {
    Index head;
    // the part of the target side so far, if it is not empty, and what fills the slot
    std::array<Index, 2> tail;
    Index source;  // the edge of the space
    Index symbol;  // where this part begins on its target side
    Index words;   // how many words it adds
    Index ending, endings;
    bool whole;  // the last part of an edge, which makes an item of its head
    std::uint8_t arity;
  };
  // N-grams that end with one word: an n-gram and its suffixes that are longer than `above`. The
  // shorter ones lie within the part that the word comes from.
  struct Ending {
    Index gram, above;
  };
  struct End {
    Index item;
    Index node;  // of the space
  };

  Index order = 0;
  NgramTrie ngrams;
  std::vector<Edge> edges;
  std::vector<Ending> endings;
  std::vector<Index> in_offset;
  // the model's score: that of the edge for the last part of it, 0 for the others
  std::vector<double> score;
  // the item of a lattice's start, and those that a complete path or derivation can end in
  Index start = -1;
  std::vector<End> ends;

  Index num_nodes() const { return static_cast<Index>(in_offset.size()) - 1; }
  Index num_edges() const { return static_cast<Index>(edges.size()); }
  auto incoming(Index item) const { return std::views::iota(in_offset[item], in_offset[item + 1]); }
  std::span<const Index> tails(Index edge) const {
    return {edges[edge].tail.data(), edges[edge].arity};
  }
  std::span<const Ending> endings_of(Index edge) const {
    return std::span(endings).subspan(edges[edge].ending, edges[edge].endings);
  }
  bool begins(Index item) const { return item == start; }
  double weight(Index edge) const { return score[edge]; }
};

// Which nodes a complete path or derivation can have, and whether anything may stand left or right
// of what each derives.
struct NodeBounds {
  std::vector<char> used, left, right;

  template <Graph G>
  explicit NodeBounds(const G& graph)
      : used(graph.num_nodes(), 0), left(graph.num_nodes(), 0), right(graph.num_nodes(), 0) {
    for (Index node = graph.num_nodes() - 1; node >= 0; --node) {
      used[node] |= end_score(graph, node) > kMinusInfinity;
      if (!used[node]) continue;
      for (const Index edge : graph.incoming(node)) {
        for_pieces(graph, edge, [&](const Piece& part) {
          if (part.tail < 0) return;
          used[part.tail] = 1;
          left[part.tail] |= left[node] || !part.first || !part.before.empty();
          right[part.tail] |= right[node] || !part.last || !part.after.empty();
        });
      }
    }
  }
};

template <Graph G>
class Unfolding {
 public:
  // At most so many edges.
  Unfolding(const G& graph, Index order, std::size_t most)
      : graph_(graph), bounds_(graph), most_(most) {
    found_.order = order;
  }

  // Nothing if there is no room.
  std::optional<Unfolded> run(Poll& poll) {
    const std::size_t nodes = graph_.num_nodes();
    begin_.assign(nodes + 1, 0);
    shift_.assign(nodes, 0);
    const std::size_t guess = 2 * static_cast<std::size_t>(graph_.num_edges());
    found_.edges.reserve(guess);
    found_.endings.reserve(guess);
    found_.ngrams.reserve(guess);
    for (Index node = 0; node < graph_.num_nodes(); ++node) {
      begin_[node] = static_cast<Index>(wholes_.size());
      const std::size_t first_edge = found_.edges.size();
      if (graph_.begins(node) && bounds_.used[node]) {
        found_.start = whole(node, {NgramTrie::kEmpty, NgramTrie::kEmpty});
      }
      if (bounds_.used[node]) {
        for (const Index edge : graph_.incoming(node)) {
          if (!unfold(node, edge, poll)) return std::nullopt;
        }
      }
      // items of parts are numbered before the items of the node
      shift_[node] = static_cast<Index>(parts_.size());
      for (std::size_t edge = first_edge; edge < found_.edges.size(); ++edge) {
        if (found_.edges[edge].whole) found_.edges[edge].head += shift_[node];
      }
      if (found_.start >= 0 && graph_.begins(node)) found_.start += shift_[node];
      if (end_score(graph_, node) > kMinusInfinity) {
        for (Index item = begin_[node]; item < static_cast<Index>(wholes_.size()); ++item) {
          found_.ends.push_back({item + shift_[node], node});
        }
      }
    }
    sort_by_head();
    return std::move(found_);
  }

 private:
  struct Contexts {
    Index first, last;
    bool operator==(const Contexts&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Contexts& contexts) const {
      const auto first = static_cast<std::uint64_t>(contexts.first);
      return (first << 32 ^ static_cast<std::uint64_t>(contexts.last)) * 0x9E3779B97F4A7C15u >> 29;
    }
  };
  // Where the item of a place with certain contexts is; an entry counts only if it is an item of
  // the current place, that is, not below the first of these.
  class Table {
   public:
    Index& slot(const Contexts& contexts) {
      if (contexts.first == NgramTrie::kEmpty) {
        const auto last = static_cast<std::size_t>(contexts.last);
        if (last >= direct_.size()) direct_.resize(2 * last + 64, -1);
        return direct_[last];
      }
      return hashed_.try_emplace(contexts, -1).first.value();
    }

   private:
    std::vector<Index> direct_;
    tsl::robin_map<Contexts, Index, Hash> hashed_;
  };

  static Index item_of(Table& table, std::vector<Contexts>& items, Index begin,
                       const Contexts& contexts) {
    Index& slot = table.slot(contexts);
    if (slot < begin) {
      slot = static_cast<Index>(items.size());
      items.push_back(contexts);
    }
    return slot;
  }
  Index whole(Index node, const Contexts& contexts) {
    return item_of(whole_table_, wholes_, begin_[node], contexts);
  }

  // A word follows: list the n-grams that end with it, but for those of its last `within` words.
  void follow(Contexts& contexts, Index word, Index within, bool keep_first) {
    const Index gram = found_.ngrams.extend(contexts.last, word);
    if (found_.ngrams[gram].length > within) found_.endings.push_back({gram, within});
    contexts.last = found_.ngrams.context_after(gram, found_.order);
    if (keep_first && found_.ngrams[contexts.first].length < found_.order - 1) {
      contexts.first = found_.ngrams.extend(contexts.first, word);
    }
  }

  // What a part makes of the contexts so far and of those of what fills its slot.
  Contexts join(Contexts so_far, const Piece& part, const Contexts* filling, bool keep_first) {
    for (const Index word : part.before) follow(so_far, word, 0, keep_first);
    if (filling != nullptr) {
      Index spelt[32];
      Index size = 0;
      if (bounds_.left[part.tail]) {
        size = found_.ngrams[filling->first].length;
        Index gram = filling->first;
        for (Index place = size - 1; place >= 0; --place) {
          spelt[place] = found_.ngrams[gram].word;
          gram = found_.ngrams[gram].prefix;
        }
        for (Index place = 0; place < size; ++place) {
          follow(so_far, spelt[place], place + 1, keep_first);
        }
      }
      if (!bounds_.left[part.tail] || size == found_.order - 1) so_far.last = filling->last;
    }
    for (const Index word : part.after) follow(so_far, word, 0, keep_first);
    return so_far;
  }

  // Unfold one edge of the space; false if there is no room.
  bool unfold(Index node, Index edge, Poll& poll) {
    // the items of the part so far
    Index part_begin = -1, part_end = -1;
    Index symbol = 0;
    bool room = true;
    for_pieces(graph_, edge, [&](const Piece& part) {
      const Index left_begin = part_begin, left_end = part_end;
      part_begin = static_cast<Index>(parts_.size());
      const bool keep_first = bounds_.left[node];
      const auto make = [&](Index left, Index filling) {
        poll();
        room = room && found_.edges.size() < most_ && found_.endings.size() < 8 * most_ &&
               static_cast<std::size_t>(found_.ngrams.size()) < 2 * most_;
        if (!room) return;
        Unfolded::Edge made{};
        made.source = edge;
        made.symbol = symbol;
        made.words = part.words();
        made.whole = part.last;
        made.ending = static_cast<Index>(found_.endings.size());
        if (left >= 0) made.tail[made.arity++] = left + begin_[node];
        if (filling >= 0) made.tail[made.arity++] = filling + shift_[part.tail];
        // copies: the stores grow
        const Contexts filled = filling >= 0 ? wholes_[filling] : Contexts{};
        Contexts contexts =
            join(left >= 0 ? parts_[left] : Contexts{NgramTrie::kEmpty, NgramTrie::kEmpty}, part,
                 filling >= 0 ? &filled : nullptr, keep_first);
        made.endings = static_cast<Index>(found_.endings.size()) - made.ending;
        if (part.last) {
          if (!bounds_.right[node]) contexts.last = NgramTrie::kEmpty;
          made.head = whole(node, contexts);
        } else {
          made.head = begin_[node] + item_of(part_table_, parts_, part_begin, contexts);
        }
        found_.edges.push_back(made);
      };
      const auto fill = [&](Index left) {
        if (part.tail < 0) return make(left, -1);
        for (Index filling = begin_[part.tail]; filling < begin_[part.tail + 1]; ++filling) {
          make(left, filling);
        }
      };
      if (part.first) {
        fill(-1);
      } else {
        for (Index left = left_begin; left < left_end; ++left) fill(left);
      }
      part_end = static_cast<Index>(parts_.size());
      symbol += part.words() + (part.tail >= 0);
    });
    return room;
  }

  void sort_by_head() {
    auto& offset = found_.in_offset;
    offset.assign(wholes_.size() + parts_.size() + 1, 0);
    for (const auto& edge : found_.edges) ++offset[edge.head + 1];
    for (std::size_t at = 1; at < offset.size(); ++at) offset[at] += offset[at - 1];
    std::vector<Unfolded::Edge> sorted(found_.edges.size());
    found_.score.resize(found_.edges.size());
    std::vector<Index> place(offset.begin(), offset.end() - 1);
    for (const auto& edge : found_.edges) {
      const Index at = place[edge.head]++;
      sorted[at] = edge;
      found_.score[at] = edge.whole ? graph_.weight(edge.source) : 0.0;
    }
    found_.edges = std::move(sorted);
  }

  const G& graph_;
  const NodeBounds bounds_;
  const std::size_t most_;
  Unfolded found_;
  // the items of nodes, those of a node together, and of parts of edges: those of the parts of one
  // node together, and of each of its parts
  std::vector<Contexts> wholes_, parts_;
  Table whole_table_, part_table_;
  // where the items of a node begin, and how many items of parts are numbered before them
  std::vector<Index> begin_, shift_;
};

static_assert(Graph<Unfolded>);

// Unfold a space by contexts of order - 1 words to at most so many edges; nothing if they are more.
template <Graph G>
std::optional<Unfolded> unfold(const G& graph, Index order, std::size_t most, Poll& poll) {
  return Unfolding<G>(graph, order, most).run(poll);
}

// A derivation of an unfolded space, its edges from the top down with the first tail before the
// second, as one of the space itself. That of a forest comes from the top down, with the tails of
// an edge in their own order; that of a lattice is a path.
inline std::vector<Index> source_derivation(const Lattice&, const Unfolded& unfolded,
                                            std::span<const Index> derivation) {
  std::vector<Index> path;
  for (std::size_t at = derivation.size(); at-- > 0;) {
    path.push_back(unfolded.edges[derivation[at]].source);
  }
  return path;
}

inline std::vector<Index> source_derivation(const Forest& forest, const Unfolded& unfolded,
                                            std::span<const Index> derivation) {
  // where in the derivation the tails of each of its edges stand
  std::vector<std::array<Index, 2>> below(derivation.size());
  std::vector<Index> stack;
  for (auto at = static_cast<Index>(derivation.size()) - 1; at >= 0; --at) {
    for (std::uint8_t tail = 0; tail < unfolded.edges[derivation[at]].arity; ++tail) {
      below[at][tail] = stack.back();
      stack.pop_back();
    }
    stack.push_back(at);
  }
  std::vector<Index> found, filling, by_tail;
  while (!stack.empty()) {
    Index at = stack.back();
    stack.pop_back();
    const Index edge = unfolded.edges[derivation[at]].source;
    found.push_back(edge);
    // what fills the slots, from the last part to the first
    filling.clear();
    for (; unfolded.edges[derivation[at]].arity == 2; at = below[at][0]) {
      filling.push_back(below[at][1]);
    }
    if (unfolded.edges[derivation[at]].arity == 1) filling.push_back(below[at][0]);
    by_tail.resize(filling.size());
    std::size_t slot = filling.size();
    for (const Index symbol : forest.symbols(edge)) {
      if (symbol < 0) by_tail[-1 - symbol] = filling[--slot];
    }
    stack.insert(stack.end(), by_tail.rbegin(), by_tail.rend());
  }
  return found;
}

}  // namespace lattices
