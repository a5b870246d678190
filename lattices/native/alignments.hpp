// Alignments to references: the recurrence that all searches compute, its costs and its numbers.
//
// States are (i, m): i reference words are behind, the last m of them matched in a row, m < n, the
// order. With w the weight of a match, a the cost of an insertion and b of a deletion, the best
// gain G of whatever has been read is (Chiang et al. 2008, equation 6, with deletion, substitution
// and insertion from m = 0 only, after a run was forgotten at no cost)
//
//   G(q, i+1, min(m+1, n-1)) = max  G(p, i, m) + s + (m+1) w(word, i+1)
//   G(q, i, 0) = max( G(q, i, m),  G(q, i-1, 0) - b,  G(p, i-1, 0) + s,  G(p, i, 0) + s - a )
//
// over all ways p -word-> q to have read one word more, with bias s. Who computes it keeps it in a
// form of their own: a row for each state of a lattice (machines.hpp); a row in normal form for
// each prefix, of many references at once (alignment_rows.hpp); a matrix for each node of a forest
// (forest_items.hpp). Sentences are scored by another form with code of its own
// (fstmetrics/native/aligning.hpp), which judges these.
//
// Where deletions are to be free, G(q, i, m) + i b is kept: then closing a row under them is a
// running maximum, and every other step to the next place earns b more (AlignmentCosts).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"
#include "lattices/native/vectors.hpp"

namespace lattices {

// The columns of lattices.intersection.Alignment: `word` matches the reference word at `position`
// with `weight` units.
struct Alignment {
  Index length = 0, order = 1;
  double insertion = 0.0, deletion = 0.0, heaviest = 0.0;
  std::span<const Index> word, position;
  std::span<const double> weight;

  std::size_t num_states() const {
    return static_cast<std::size_t>(order) * (static_cast<std::size_t>(length) + 1);
  }
  double largest_gain() const {
    return std::max({heaviest * order, std::abs(insertion), std::abs(deletion)});
  }
};

// Alignments of one order and with the same costs, in columns. For offset[e] <= k < offset[e + 1],
// word[k] matches word position[k] of reference e with weight[k] units, at most `heaviest`.
struct AlignmentList {
  Index order = 1;
  double insertion = 0.0, deletion = 0.0, heaviest = 0.0;
  std::span<const Index> length, offset, word, position;
  std::span<const double> weight;

  Index size() const { return static_cast<Index>(length.size()); }
};

// The gain of what cannot be reached: below all others by more than the steps of a path can add,
// and so far from the lowest number that two of them can be added.
template <class Real>
inline constexpr Real kWorst = -std::numeric_limits<Real>::infinity();
template <>
inline constexpr std::int16_t kWorst<std::int16_t> = -12000;

template <class Real>
bool reached(Real gain) {
  return gain > kWorst<Real> / 2;
}

// Totals of whole numbers up to this are exact, and told from kWorst.
template <class Real>
inline constexpr double kLargestTotal = std::numeric_limits<double>::infinity();
template <>
inline constexpr double kLargestTotal<std::int16_t> = 4000.0;
template <>
inline constexpr double kLargestTotal<float> = 16777215.0;

// What a step gains where deletions are free.
template <class Real>
struct AlignmentCosts {
  Real stay;  // an insertion
  Real move;  // a step to the next place without a match

  explicit AlignmentCosts(const Alignment& alignment)
      : stay(static_cast<Real>(-alignment.insertion)),
        move(static_cast<Real>(alignment.deletion)) {}
  // What a match gains after a run.
  Real match(Real weight, Index run) const {
    return static_cast<Real>(static_cast<Real>(run + 1) * weight + move);
  }
};

// How a search values a path, and what it may use.
struct SearchOptions {
  double model_weight = 0.0;
  // bytes that one search may take
  std::size_t memory = std::numeric_limits<std::size_t>::max();
};

class AutomatonRows;

// One part of a machine: the value of a sentence is (gain + bonus) / denominator.
struct Part {
  std::variant<const Alignment*, const AutomatonRows*> automaton;
  double denominator = 1.0, bonus = 0.0;
};

// A best path or derivation: its value, its model score and the part it comes from; the arcs in
// their order, or the edges from the top down.
struct BestPath {
  double value = -std::numeric_limits<double>::infinity();
  double model = 0.0;
  Index part = -1;
  std::vector<Index> arcs;

  bool complete() const { return part >= 0; }
};

// The search of a forest for the derivation that is best under alignments (forest_search.cpp).
BestPath search_forest(const Forest& forest, std::span<const Part> parts,
                       const SearchOptions& options, Poll& poll);

// That search as other modules have it, without compiling it again: made by lattices._native, as
// FOREST_SEARCH. `run` returns whether there is an answer; if not, `search_forest` says why.
struct SearchHandle {
  bool (*run)(const Forest& forest, std::span<const Part> parts, const SearchOptions& options,
              Poll& poll, BestPath& best);
};

// The vectors of a row of gains of whole lattices.
template <class Real>
using GainVectors = Vectors<Real, sizeof(Real) == sizeof(double) ? 64 : 32>;

}  // namespace lattices
