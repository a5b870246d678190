// The product of a lattice with an explicit automaton, made while it is walked.
//
// Its nodes are the root, number 0, and pairs of a lattice state q and an automaton state s. Its
// paths are pairs of a path of the lattice and an alignment of its words:
//
//   (q, s) -> (q, s')   for every epsilon arc s -> s'
//   (q, s) -> (q', s)   for every epsilon arc q -> q'
//   (q, s) -> (q', s')  for every arc q -> q' with a word and every arc s -> s' that reads it
//
// Only pairs on some path from the start are visited. Memory: a byte a pair; no arcs are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>

#include "lattices/native/kbest.hpp"
#include "lattices/native/row_automata.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// An automaton with its states in the order of its epsilon arcs, and the arcs of each by label.
class OrderedAutomaton {
 public:
  struct Arc {
    Index label, dst;
    double gain;
  };

  explicit OrderedAutomaton(const RowAutomaton& given)
      : place_(given.order.size()), offset_(given.order.size() + 1), spoken_(given.order.size()) {
    const auto states = static_cast<Index>(given.order.size());
    for (Index place = 0; place < states; ++place) place_[given.order[place]] = place;
    std::vector<Index> sorted(given.src.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    const auto key = [&](Index arc) {
      // epsilon, then what reads any word, then words
      const std::int64_t label = given.label[arc];
      return std::pair(place_[given.src[arc]], label == 0 ? -2 : label);
    };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](Index one, Index other) { return key(one) < key(other); });
    for (const Index arc : sorted) {
      const Index from = place_[given.src[arc]];
      arcs_.push_back({given.label[arc], place_[given.dst[arc]], given.gain[arc]});
      ++offset_[from + 1];
    }
    for (Index place = 0; place < states; ++place) {
      offset_[place + 1] += offset_[place];
      initial.push_back(given.initial[given.order[place]]);
      final.push_back(given.final[given.order[place]]);
      spoken_[place] = offset_[place];
      while (spoken_[place] < offset_[place + 1] && arcs_[spoken_[place]].label == 0) {
        ++spoken_[place];
      }
    }
  }

  std::vector<double> initial, final;

  Index num_states() const { return static_cast<Index>(final.size()); }
  std::span<const Arc> epsilon_arcs(Index state) const {
    return {&arcs_[offset_[state]], static_cast<std::size_t>(spoken_[state] - offset_[state])};
  }
  template <class Visit>
  void visit_readers(Index state, Index word, Visit&& found) const {
    const Arc* arc = arcs_.data() + spoken_[state];
    const Arc* end = arcs_.data() + offset_[state + 1];
    for (; arc != end && arc->label < 0; ++arc) found(*arc);
    if (end - arc > 8) {
      arc = std::lower_bound(arc, end, word,
                             [](const Arc& each, Index wanted) { return each.label < wanted; });
    }
    for (; arc != end && arc->label <= word; ++arc) {
      if (arc->label == word) found(*arc);
    }
  }

 private:
  std::vector<Index> place_, offset_;
  // where the arcs that read something begin
  std::vector<Index> spoken_;
  std::vector<Arc> arcs_;
};

class Product {
 public:
  struct Edge {
    double gain = 0.0, score = 0.0;
    // the pair it leads to, kNone where a path ends; the arc of the lattice, if it takes one
    Index tail = kNone, arc = kNone;
  };
  static constexpr bool linear = true;
  static constexpr Index root = 0;

  // Words are what the arcs of the lattice say, labels what the automaton reads.
  Product(const Lattice& lattice, std::span<const Index> word, const OrderedAutomaton& automaton)
      : lattice_(lattice), word_(word), automaton_(automaton) {
    const auto states = static_cast<std::size_t>(lattice.num_nodes());
    const auto size = static_cast<std::size_t>(automaton.num_states());
    if (size > 0 && states > (std::numeric_limits<Index>::max() - 1) / size) {
      throw too_large("more than 2147483647 pairs of a lattice state and a machine state",
                      static_cast<double>(states) * static_cast<double>(size),
                      std::numeric_limits<Index>::max());
    }
    ending_.assign(states, 0);
    for (Index state = lattice.num_nodes() - 1; state >= 0; --state) {
      ending_[state] = lattice.final[state] > kMinusInfinity;
      for (const Index arc : lattice.outgoing(state)) ending_[state] |= ending_[lattice.dst[arc]];
    }
    reached_.assign(1 + states * size, 0);
    reached_[root] = 1;
    for (Index node = 0; node < num_nodes(); ++node) {
      visit(node, [&](const Edge& edge) {
        if (edge.tail != kNone) reached_[edge.tail] = 1;
      });
    }
  }

  Index num_nodes() const { return static_cast<Index>(reached_.size()); }
  auto bottom_up() const { return std::views::iota(root, num_nodes()) | std::views::reverse; }
  template <class Visit>
  void visit(Index node, Visit&& found) const {
    if (!reached_[node]) return;
    if (node == root) {
      for (Index state = 0; state < automaton_.num_states(); ++state) {
        const double gain = automaton_.initial[state];
        if (gain > kMinusInfinity && ending_[lattice_.start]) {
          found(Edge{gain, 0.0, pair(lattice_.start, state), kNone});
        }
      }
      return;
    }
    const Index here = (node - 1) / automaton_.num_states();
    const Index state = (node - 1) % automaton_.num_states();
    if (lattice_.final[here] > kMinusInfinity && automaton_.final[state] > kMinusInfinity) {
      found(Edge{automaton_.final[state], lattice_.final[here], kNone, kNone});
    }
    for (const auto& step : automaton_.epsilon_arcs(state)) {
      found(Edge{step.gain, 0.0, pair(here, step.dst), kNone});
    }
    for (const Index arc : lattice_.outgoing(here)) {
      const Index there = lattice_.dst[arc];
      if (!ending_[there]) continue;
      if (lattice_.label[arc] == 0) {
        found(Edge{0.0, lattice_.score[arc], pair(there, state), arc});
      } else {
        automaton_.visit_readers(state, lattice_.label[arc], [&](const auto& step) {
          found(Edge{step.gain, lattice_.score[arc], pair(there, step.dst), arc});
        });
      }
    }
  }
  std::span<const Index> tails(const Edge& edge) const {
    return {&edge.tail, edge.tail == kNone ? std::size_t{0} : std::size_t{1}};
  }
  Index word_of(const Edge& edge) const { return edge.arc == kNone ? 0 : word_[edge.arc]; }
  double weight(const Edge& edge) const { return edge.score; }

 private:
  Index pair(Index here, Index state) const { return 1 + here * automaton_.num_states() + state; }

  const Lattice& lattice_;
  std::span<const Index> word_;
  const OrderedAutomaton& automaton_;
  // lattice states from which a path can end, pairs that can be reached
  std::vector<char> ending_, reached_;
};

static_assert(Derivable<Product>);

}  // namespace lattices
