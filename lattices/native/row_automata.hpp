// Automata as rows read them, and how large sums of their gains may grow.
#pragma once

#include <span>

#include "lattices/native/spaces.hpp"

namespace lattices {

// The columns of lattices.intersection.automata.Automaton.
struct RowAutomaton {
  // labels of arcs that read nothing, and that read every word
  static constexpr Index kEpsilon = 0;
  static constexpr Index kAny = -1;

  std::span<const Index> src, dst, label;
  std::span<const double> gain;
  std::span<const double> initial, final;
  // the states, each after those with an epsilon arc into it
  std::span<const Index> order;
  // state forgotten[r] is useless where its gain plus lead[r] does not exceed that of kept[r]
  std::span<const Index> forgotten, kept;
  std::span<const double> lead;

  Index num_states() const { return static_cast<Index>(final.size()); }
  Index num_arcs() const { return static_cast<Index>(src.size()); }
};

// A bound of what any alignment of a sentence of up to `steps` words gains or loses. An arc that
// reads a word counts once for each word; an epsilon arc once if neither it nor anything before it
// lies on a cycle of several states, as the deletion of a reference word, and otherwise once before
// each word and at the end.
double largest_total(const RowAutomaton& automaton, double steps);

// Whether all gains, initial and final ones among them, are whole numbers.
bool has_whole_gains(const RowAutomaton& automaton);

}  // namespace lattices
