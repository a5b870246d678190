// Epsilon closures: which states epsilon paths lead to from which, and with what score.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// One entry for each pair of states that an epsilon path leads from and to, the empty paths
// included. `arc` is the last arc of the best such path, and `previous` the entry of the path
// before it; both are -1 where the path is empty.
struct EpsilonClosures {
  std::vector<Index> begin, end;
  std::vector<double> score;
  std::vector<Index> arc, previous;
};

// Closures of the start and of all states that a word leads to (Mohri 2002, Generic
// epsilon-removal). States are in topological order, so each closure is one sweep:
//
//   best(q) = max over epsilon arcs a into q of  best(src a) + score(a),   total(q) the log-sum
//
// Scores are totals if `summed`, otherwise bests.
inline EpsilonClosures epsilon_closures(const Lattice& lattice, bool summed, Poll& poll) {
  const Index states = lattice.num_nodes();
  std::vector<char> wanted(states);
  wanted[lattice.start] = 1;
  for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
    if (lattice.label[arc] != 0) wanted[lattice.dst[arc]] = 1;
  }
  // what is known of the paths from `begin` to each state
  struct Reached {
    Index from = -1, arc = -1, previous = -1;
    double best = 0.0, total = 0.0;
  };
  std::vector<Reached> reached(states);
  EpsilonClosures found;
  for (Index begin = 0; begin < states; ++begin) {
    if (!wanted[begin]) continue;
    reached[begin] = {begin, -1, -1, 0.0, 0.0};
    Index last = begin;
    for (Index state = begin; state <= last; ++state) {
      const Reached here = reached[state];
      if (here.from != begin) continue;
      poll();
      check_size(found.begin.size(), "pairs of states that epsilon paths join");
      const auto entry = static_cast<Index>(found.begin.size());
      found.begin.push_back(begin);
      found.end.push_back(state);
      found.arc.push_back(here.arc);
      found.previous.push_back(here.previous);
      found.score.push_back(summed ? here.total : here.best);
      for (const Index arc : lattice.outgoing(state)) {
        if (lattice.label[arc] != 0) continue;
        Reached& there = reached[lattice.dst[arc]];
        const double best = here.best + lattice.score[arc];
        const double total = here.total + lattice.score[arc];
        if (there.from != begin) {
          there = {begin, arc, entry, best, total};
        } else {
          if (best > there.best) {
            there.best = best;
            there.arc = arc;
            there.previous = entry;
          }
          const double high = std::max(total, there.total), low = std::min(total, there.total);
          there.total = high + std::log1p(std::exp(low - high));
        }
        last = std::max(last, lattice.dst[arc]);
      }
    }
  }
  return found;
}

}  // namespace lattices
