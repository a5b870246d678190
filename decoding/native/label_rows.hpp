// Rows beside labels: the machine of a metric whose value is added to a score by labels.
//
// A label carries the row of its words (rows.hpp) and what was taken out of it, the base. One label
// makes another needless only if its row stands nowhere below, too (row_dominance.hpp). What a row
// can end with at most, from state v of the lattice on, is
//
//   base + max over q of row[q] + C(v, q),
//   C(v, q) = max over paths from v to the end and alignments from state q of their gains,
//
// where C takes one backward pass. Cost: arcs of the lattice with a word times arcs of the machine
// that read it, once, and the width of a row for each label.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lattices/native/row_dominance.hpp"
#include "lattices/native/rows.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Index;
using lattices::Lattice;

// A machine as rows read it, and as it is: a gain times `unit` is a value. `label` has the number
// of the word that it reads with each arc of the lattice, 0 for none.
struct AddedMachine {
  const lattices::RowTables* tables;
  const lattices::RowAutomaton* automaton;
  double unit;
  std::span<const Index> label;
};

class LabelRows {
 public:
  using Gain = std::int64_t;
  using Reader = lattices::AutomatonReader<Gain>;

  LabelRows(const AddedMachine& machine, const Reader& reader, const Lattice& lattice)
      : unit_(machine.unit), start_(lattice.start), rows_(reader), answers_(rows_) {
    class_.reserve(machine.label.size());
    for (const Index word : machine.label) {
      class_.push_back(word > 0 ? reader.class_of(word) : lattices::kSilent);
    }
    complete(*machine.automaton, machine.label, lattice);
    answers_.learn(0);
  }
  LabelRows(const LabelRows&) = delete;
  LabelRows& operator=(const LabelRows&) = delete;

  double opening() const { return static_cast<double>(rows_.opening()); }
  // Lead a row and its base over an arc; false if no alignment reads its word.
  bool step(Index arc, Index& row, double& base) {
    if (class_[arc] == lattices::kSilent) return true;
    const auto next = rows_.step(row, class_[arc]);
    if (next.gain == lattices::kAbsent<Gain>) return false;
    row = next.row;
    base += static_cast<double>(next.gain);
    answers_.learn(row);
    return true;
  }
  // The value of ending with a row.
  double ending(Index row, double base) {
    const Gain last = rows_.ending(row);
    return last == lattices::kAbsent<Gain> ? kNothing : unit_ * (base + static_cast<double>(last));
  }
  // The highest value.
  double most() const { return most(start_, 0, opening()); }
  // The most that may come of a row at a state.
  double most(Index state, Index row, double base) const {
    const auto cells = rows_[row];
    const double* onward = onward_.data() + state * cells.size();
    double best = kNothing;
    for (std::size_t q = 0; q < cells.size(); ++q) {
      if (cells[q] > lattices::kAbsent<Gain>) {
        best = std::max(best, static_cast<double>(cells[q]) + onward[q]);
      }
    }
    return unit_ * (base + best);
  }
  // Whether one row ends no higher than another, or lower, whatever follows.
  bool below(Index row, double base, Index other, double other_base, bool strictly) const {
    if (row == other) return strictly ? base < other_base : base <= other_base;
    return answers_.below(row, other, other_base - base, strictly);
  }
  // A path with the highest value.
  std::vector<Index> best_path(const Lattice& lattice) {
    std::vector<Index> arcs;
    Index state = lattice.start, row = 0;
    double base = opening();
    for (double worth = most(state, row, base);;) {
      if (!std::isinf(lattice.final[state]) && ending(row, base) >= worth) return arcs;
      Index best = -1, best_row = row;
      double best_worth = kNothing, best_base = base;
      for (const Index arc : lattice.outgoing(state)) {
        Index next = row;
        double next_base = base;
        if (!step(arc, next, next_base)) continue;
        const double then = most(lattice.dst[arc], next, next_base);
        if (then <= best_worth) continue;
        best = arc;
        best_row = next;
        best_base = next_base;
        best_worth = then;
      }
      if (best < 0) return arcs;
      arcs.push_back(best);
      state = lattice.dst[best];
      row = best_row;
      base = best_base;
    }
  }
  std::size_t bytes() const {
    return rows_.bytes() + answers_.bytes() + onward_.capacity() * sizeof(double);
  }

 private:
  static constexpr double kNothing = -std::numeric_limits<double>::infinity();

  void complete(const lattices::RowAutomaton& automaton, std::span<const Index> label,
                const Lattice& lattice) {
    using Automaton = lattices::RowAutomaton;
    const std::size_t width = automaton.num_states();
    onward_.assign(lattice.num_nodes() * width, kNothing);
    std::vector<Index> any, silent, place(width), spoken;
    for (std::size_t at = 0; at < width; ++at) place[automaton.order[at]] = static_cast<Index>(at);
    for (Index arc = 0; arc < automaton.num_arcs(); ++arc) {
      const Index read = automaton.label[arc];
      (read == Automaton::kAny       ? any
       : read == Automaton::kEpsilon ? silent
                                     : spoken)
          .push_back(arc);
    }
    const auto by_label = [&](Index one, Index other) {
      return automaton.label[one] < automaton.label[other];
    };
    std::stable_sort(spoken.begin(), spoken.end(), by_label);
    // the last first
    std::stable_sort(silent.begin(), silent.end(), [&](Index one, Index other) {
      return place[automaton.src[one]] > place[automaton.src[other]];
    });
    for (Index state = lattice.num_nodes() - 1; state >= 0; --state) {
      double* here = onward_.data() + state * width;
      if (!std::isinf(lattice.final[state])) std::ranges::copy(automaton.final, here);
      for (const Index arc : lattice.outgoing(state)) {
        const double* there = onward_.data() + lattice.dst[arc] * width;
        const auto take = [&](Index read) {
          double& gain = here[automaton.src[read]];
          gain = std::max(gain, automaton.gain[read] + there[automaton.dst[read]]);
        };
        if (label[arc] <= 0) {
          for (std::size_t q = 0; q < width; ++q) here[q] = std::max(here[q], there[q]);
          continue;
        }
        for (const Index read : any) take(read);
        auto read = std::partition_point(spoken.begin(), spoken.end(), [&](Index each) {
          return automaton.label[each] < label[arc];
        });
        for (; read != spoken.end() && automaton.label[*read] == label[arc]; ++read) take(*read);
      }
      for (const Index each : silent) {
        double& gain = here[automaton.src[each]];
        gain = std::max(gain, automaton.gain[each] + here[automaton.dst[each]]);
      }
    }
  }

  double unit_;
  Index start_;
  lattices::RowMachine<Reader> rows_;
  lattices::RowAnswers<lattices::RowMachine<Reader>> answers_;
  std::vector<Index> class_;    // of the word that each arc reads
  std::vector<double> onward_;  // C
};

}  // namespace decoding
