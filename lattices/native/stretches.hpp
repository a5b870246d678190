// Long lattices, stretch by stretch.
//
// States are numbered in topological order, so that whatever a path does in states below p is known
// to the rest of it by the rows of the frontier of p: the states below p with an arc to p or
// beyond. A lattice of a recording or a document has narrow frontiers every few words; where it is
// a single state, every path goes through it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "lattices/native/spaces.hpp"

namespace lattices {

// The states first <= q < last of a lattice as a lattice of its own: before them in its order come
// those of the frontier of `first`, of which nothing but the arcs that lead here is kept.
struct Stretch {
  // of the lattice, for each state and each arc here
  std::vector<Index> state, arc;
  // how many of the states are of the frontier
  Index known = 0;

  std::vector<Index> src, dst, label, in_arc, in_offset;
  std::vector<double> score, final;

  Lattice lattice() const {
    return {.src = src,
            .dst = dst,
            .label = label,
            .score = score,
            .final = final,
            .in_arc = in_arc,
            .in_offset = in_offset,
            .out_offset = {}};
  }
};

// Where a lattice is cut, and its parts.
class Stretches {
 public:
  explicit Stretches(const Lattice& lattice)
      : lattice_(lattice), place_(lattice.num_nodes()), width_(lattice.num_nodes() + 1, 0) {
    for (Index state = lattice.start; state < lattice.num_nodes(); ++state) {
      if (farthest(state) == state) continue;
      ++width_[state + 1];
      --width_[farthest(state) + 1];
    }
    add_up(width_);
    cut(lattice.num_nodes());
  }

  // Cut where the frontier is narrowest among the places that make stretches of `shortest` to twice
  // as many states.
  void cut(Index shortest) {
    const Index nodes = lattice_.num_nodes();
    cuts_ = {lattice_.start};
    while (nodes - cuts_.back() > 2 * shortest) {
      const auto from = width_.begin() + cuts_.back() + shortest;
      cuts_.push_back(static_cast<Index>(std::min_element(from, from + shortest) - width_.begin()));
    }
    cuts_.push_back(nodes);
  }

  std::size_t size() const { return cuts_.size() - 1; }
  // The states of all frontiers, and of the largest stretch with the frontier before it.
  std::size_t num_kept() const {
    std::size_t kept = 0;
    for (std::size_t number = 1; number < size(); ++number) kept += width_[cuts_[number]];
    return kept;
  }
  std::size_t most_states() const {
    Index most = 0;
    for (std::size_t number = 0; number < size(); ++number) {
      most = std::max(most, width_[cuts_[number]] + cuts_[number + 1] - cuts_[number]);
    }
    return static_cast<std::size_t>(most);
  }

  // The states of the frontier where a stretch begins, in order.
  std::vector<Index> frontier(std::size_t number) const {
    std::vector<Index> found;
    const Index at = cuts_[number];
    // states that are far before are looked for as long as some are missing
    for (Index state = at - 1; static_cast<Index>(found.size()) < width_[at]; --state) {
      if (farthest(state) >= at) found.push_back(state);
    }
    std::ranges::reverse(found);
    return found;
  }

  const Stretch& take(std::size_t number) {
    stretch_.state = frontier(number);
    stretch_.known = static_cast<Index>(stretch_.state.size());
    for (Index state = cuts_[number]; state < cuts_[number + 1]; ++state) {
      stretch_.state.push_back(state);
    }
    for (std::size_t at = 0; at < stretch_.state.size(); ++at) {
      place_[stretch_.state[at]] = static_cast<Index>(at);
    }
    for (auto* column : {&stretch_.arc, &stretch_.src, &stretch_.dst, &stretch_.label,
                         &stretch_.in_arc, &stretch_.in_offset}) {
      column->clear();
    }
    stretch_.score.clear();
    stretch_.final.clear();
    for (Index at = 0; at < static_cast<Index>(stretch_.state.size()); ++at) {
      stretch_.in_offset.push_back(static_cast<Index>(stretch_.arc.size()));
      const Index state = stretch_.state[at];
      stretch_.final.push_back(at < stretch_.known ? kNoEnd : lattice_.final[state]);
      if (at < stretch_.known) continue;
      for (const Index arc : lattice_.incoming(state)) {
        // no path begins below the start
        if (lattice_.src[arc] < lattice_.start) continue;
        stretch_.in_arc.push_back(static_cast<Index>(stretch_.arc.size()));
        stretch_.arc.push_back(arc);
        stretch_.src.push_back(place_[lattice_.src[arc]]);
        stretch_.dst.push_back(at);
        stretch_.label.push_back(lattice_.label[arc]);
        stretch_.score.push_back(lattice_.score[arc]);
      }
    }
    stretch_.in_offset.push_back(static_cast<Index>(stretch_.arc.size()));
    return stretch_;
  }
  // Where a state is in the stretch that was taken last.
  Index place(Index state) const { return place_[state]; }

 private:
  static constexpr double kNoEnd = -std::numeric_limits<double>::infinity();

  // The last state that an arc out of a state leads to; arcs are sorted by it.
  Index farthest(Index state) const {
    const Index end = lattice_.out_offset[state + 1];
    return end == lattice_.out_offset[state] ? state : lattice_.dst[end - 1];
  }

  const Lattice& lattice_;
  Stretch stretch_;
  std::vector<Index> place_, width_, cuts_;
};

}  // namespace lattices
