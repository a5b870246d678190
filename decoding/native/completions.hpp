// The words of a lattice, numbered, and the best completions of alignments from all its states.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "lattices/native/alignment_rows.hpp"
#include "lattices/native/dispatch.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::AlignmentList;
using lattices::Index;

// The arcs of a lattice that lie on complete paths, and their words numbered from 0 in the order of
// their labels.
struct WordedLattice {
  const lattices::Lattice& lattice;
  std::vector<char> alive;             // states
  std::vector<Index> words, arc_word;  // labels; the number of each arc's word, -1 for epsilon

  explicit WordedLattice(const lattices::Lattice& given)
      : lattice(given), alive(given.num_nodes(), 0), words(lattices::list_words(given.label)) {
    std::vector<char> reached(given.num_nodes(), 0);
    reached[given.start] = 1;
    // arcs are sorted by source, so the one order serves both directions
    for (Index arc = 0; arc < given.num_edges(); ++arc) {
      if (reached[given.src[arc]]) reached[given.dst[arc]] = 1;
    }
    for (Index state = 0; state < given.num_nodes(); ++state) {
      alive[state] = given.final[state] > lattices::kMinusInfinity;
    }
    for (Index arc = given.num_edges(); arc-- > 0;) alive[given.src[arc]] |= alive[given.dst[arc]];
    for (Index state = 0; state < given.num_nodes(); ++state) alive[state] &= reached[state];
    arc_word.reserve(given.num_edges());
    for (const Index label : given.label) arc_word.push_back(number(label));
  }

  // The most words that a path has.
  Index longest() const {
    std::vector<Index> most(lattice.num_nodes(), 0);
    for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
      Index& there = most[lattice.dst[arc]];
      there = std::max(there, most[lattice.src[arc]] + (arc_word[arc] >= 0));
    }
    return *std::max_element(most.begin(), most.end());
  }
  // -1 if the lattice does not have the word
  Index number(Index label) const {
    const auto at = std::lower_bound(words.begin(), words.end(), label);
    return at != words.end() && *at == label ? static_cast<Index>(at - words.begin()) : -1;
  }
};

// How many alignments are read at once.
inline constexpr Index kLanes = 32;

// sum over lanes of share * gain, always in the same order
template <class Gain>
double weighted_sum(const double* share, const Gain* gain) {
  std::array<double, 8> sum{};
  for (Index lane = 0; lane < kLanes; lane += 8) {
    for (Index at = 0; at < 8; ++at) {
      sum[at] += share[lane + at] * static_cast<double>(gain[lane + at]);
    }
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

template <class Gain>
using EvidenceRows = lattices::AlignmentBlocks<Gain, kLanes>;

// The best gain from every lattice state and cell to the end, for each alignment: exact for one of
// them, since a maximum over suffixes of a maximum over alignments is one maximum.
//
// All words cost the same as substitutions and insertions, so these are applied once a state, to
// the maximum over the arcs that have a word. Cost: O(arcs * words of a reference * blocks +
// matches).
template <class Rows>
class Completions {
 public:
  using Gain = typename Rows::Gain;

  Completions(const Rows& rows, const WordedLattice& space)
      : rows_(rows),
        state_size_(rows.num_blocks() * rows.block_size()),
        value_(std::make_unique_for_overwrite<Gain[]>(space.lattice.num_nodes() * state_size_)) {
    std::vector<Gain> onward(static_cast<std::size_t>(rows.width()) * kLanes);
    lattices::dispatch([&] {
      for (Index state = space.lattice.num_nodes() - 1; state >= 0; --state) {
        if (!space.alive[state]) continue;
        for (Index block = 0; block < rows_.num_blocks(); ++block) {
          complete(state, block, space, onward.data());
        }
      }
    });
  }

  // The best gains of finishing from a state with the rows of a block.
  void best(Index state, Index block, const Gain* rows, Gain* found) const {
    const Gain* onward = value_.get() + state * state_size_ + block * rows_.block_size();
    std::fill_n(found, kLanes, Rows::kAbsent);
    for (std::size_t cell = 0; cell < rows_.block_size(); cell += kLanes) {
      for (Index lane = 0; lane < kLanes; ++lane) {
        const auto gain = static_cast<Gain>(rows[cell + lane] + onward[cell + lane]);
        found[lane] = std::max(found[lane], gain);
      }
    }
  }

 private:
  static void raise(Gain* cells, const Gain* others, std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) cells[at] = std::max(cells[at], others[at]);
  }

  void complete(Index state, Index block, const WordedLattice& space, Gain* onward) {
    const Index order = rows_.order();
    const std::size_t size = rows_.block_size();
    const std::size_t run_size = static_cast<std::size_t>(rows_.width()) * kLanes;
    const auto& lattice = space.lattice;
    Gain* own = value_.get() + block * size;
    Gain* here = own + state * state_size_;
    std::fill(here, here + size, Rows::kAbsent);
    std::fill(onward, onward + run_size, Rows::kAbsent);
    if (lattice.final[state] > lattices::kMinusInfinity) std::fill_n(here, kLanes, Gain{0});
    for (const Index arc : lattice.outgoing(state)) {
      if (!space.alive[lattice.dst[arc]]) continue;
      const Gain* there = own + lattice.dst[arc] * state_size_;
      const Index word = space.arc_word[arc];
      if (word < 0) {
        raise(here, there, size);
        continue;
      }
      raise(onward, there, run_size);
      for (const auto& match : rows_.matches(block, rows_.class_of(block, word))) {
        Gain* from = here + static_cast<std::size_t>(match.left) * kLanes;
        const Gain* to = there + static_cast<std::size_t>(match.left - 1) * kLanes;
        for (Index run = 0; run < order; ++run) {
          Rows::add_match(from + run * run_size,
                          to + static_cast<std::size_t>(std::min(run + 1, order - 1)) * run_size,
                          match, run);
        }
      }
    }
    const Gain insertion = rows_.insertion(), deletion = rows_.deletion();
    for (Index left = 0; left < rows_.width(); ++left) {
      Gain* cells = here + static_cast<std::size_t>(left) * kLanes;
      const Gain* read = onward + static_cast<std::size_t>(left) * kLanes;
      for (Index lane = 0; lane < kLanes; ++lane) {
        cells[lane] = std::max(cells[lane], static_cast<Gain>(read[lane] - insertion));
      }
      if (left > 0) {
        for (Index lane = 0; lane < kLanes; ++lane) {
          const auto deleted = static_cast<Gain>(cells[lane - kLanes] - deletion);
          cells[lane] = std::max(cells[lane], std::max(read[lane - kLanes], deleted));
        }
      }
      for (Index lane = 0; lane < kLanes; ++lane) {
        cells[lane] = cells[lane] < Rows::kAbsent / 2 ? Rows::kAbsent : cells[lane];
      }
      for (Index run = 1; run < order; ++run) raise(cells + run * run_size, cells, kLanes);
    }
  }

  const Rows& rows_;
  const std::size_t state_size_;
  std::unique_ptr<Gain[]> value_;
};

}  // namespace decoding
