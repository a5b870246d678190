// Moving the scores of a lattice towards its start or its end.
//
// Weight pushing in the tropical semiring (Mohri 2009, Weighted automata algorithms): with a
// potential p of every state, an arc from q to r gets score + p(r) - p(q), and nothing changes
// along a path but what its ends add. Linear in the arcs.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "lattices/native/totals.hpp"

namespace lattices {

struct Pushed {
  std::vector<double> arcs, final;
  double total;
};

inline void check_pushed(const Lattice& lattice, double score) {
  if (!std::isfinite(score)) throw overflow(lattice, "moving them makes some infinite");
}

// Take what lies ahead out of arcs and ends: p(q) is the best score from q to the end, the best
// way on costs nothing, and `total` is what every path has lost. Arcs that lead to no end have
// minus infinity.
inline Pushed push_ahead(const Lattice& lattice) {
  const auto ahead = outside_totals<Viterbi>(lattice, 1.0);
  Pushed found{{}, {}, ahead[lattice.start]};
  if (found.total == kMinusInfinity) throw no_complete_path(lattice);
  found.arcs.reserve(lattice.src.size());
  for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
    const double next = ahead[lattice.dst[arc]];
    if (next == kMinusInfinity) {
      found.arcs.push_back(kMinusInfinity);
      continue;
    }
    // summed in the order of the backward pass, so that the best way on loses exactly nothing
    found.arcs.push_back(lattice.score[arc] + next - ahead[lattice.src[arc]]);
    check_pushed(lattice, found.arcs.back());
  }
  found.final.assign(lattice.final.begin(), lattice.final.end());
  for (Index state = 0; state < lattice.num_nodes(); ++state) {
    if (found.final[state] == kMinusInfinity) continue;
    found.final[state] -= ahead[state];
    check_pushed(lattice, found.final[state]);
  }
  return found;
}

// The same with the total put back at the start: every path keeps its score. Arcs that lead to no
// end keep theirs.
inline Pushed push_to_start(const Lattice& lattice) {
  auto found = push_ahead(lattice);
  for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
    if (found.arcs[arc] == kMinusInfinity) {
      found.arcs[arc] = lattice.score[arc];
    } else if (lattice.src[arc] == lattice.start) {
      found.arcs[arc] += found.total;
      check_pushed(lattice, found.arcs[arc]);
    }
  }
  auto& ending = found.final[lattice.start];
  if (ending != kMinusInfinity) {
    ending += found.total;
    check_pushed(lattice, ending);
  }
  return found;
}

// p(q) is minus the best score from the start to q; ends have what was taken out. Arcs that no
// path comes to keep their scores.
inline Pushed push_to_final(const Lattice& lattice) {
  const auto reached = inside_totals<Viterbi>(lattice, 1.0);
  Pushed found{{lattice.score.begin(), lattice.score.end()},
               {lattice.final.begin(), lattice.final.end()},
               kMinusInfinity};
  for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
    const double before = reached[lattice.src[arc]];
    if (before == kMinusInfinity) continue;
    found.arcs[arc] = before + lattice.score[arc] - reached[lattice.dst[arc]];
    check_pushed(lattice, found.arcs[arc]);
  }
  for (Index state = 0; state < lattice.num_nodes(); ++state) {
    if (found.final[state] == kMinusInfinity || reached[state] == kMinusInfinity) continue;
    found.final[state] += reached[state];
    check_pushed(lattice, found.final[state]);
    found.total = std::max(found.total, found.final[state]);
  }
  if (found.total == kMinusInfinity) throw no_complete_path(lattice);
  return found;
}

}  // namespace lattices
