// Machines that are intersected with lattices: alignments to a reference, and explicit automata.
//
// A search keeps one row of gains for every lattice state; a machine says what its cells are and
// how rows follow from rows. Cells are numbered so that epsilon arcs lead from lower to higher
// ones. A machine offers
//
//   size()                       cells of a row, a multiple of the vector length
//   fill(lattice, bias, rows)    the rows of all lattice states, in topological order
//   beginnings(f), endings(f)    f(cell, gain) for the cells where a sentence may begin or end
//   silent_into(cell, f)         f(source cell, gain) for every epsilon arc into a cell
//   reading_into(cell, word, f)  the same for the arcs into it that read a word
//
// Sums are taken in the same order everywhere, so that a transition which was best in `fill` is
// equal to the last bit where it is evaluated again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// The label of a machine's arc that reads every real word.
inline constexpr Index kAnyWord = -1;

// The columns of lattices.engines.Alignment: `word` matches the reference word at `position` with
// `weight` units.
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

// The columns of lattices.engines.Automaton; `rank` is the place of each state in an order in which
// epsilon arcs lead forward.
struct Automaton {
  std::span<const Index> src, dst, label, rank;
  std::span<const double> gain, initial, final;

  std::size_t num_states() const { return final.size(); }
};

// Memory that is neither filled nor kept when it grows, aligned to cache lines.
template <class T>
class Room {
 public:
  T* make(std::size_t count) {
    if (count > size_) {
      memory_.reset();
      size_ = 0;
      memory_.reset(static_cast<T*>(::operator new(count * sizeof(T), kAlignment)));
      size_ = count;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_ = 0;
};

// Which entries of a column of words hold a word: a table with open addressing and, for each word,
// the chain of its entries in order. Epsilon and kAnyWord have none.
class WordIndex {
 public:
  void assign(std::span<const Index> words) {
    unsigned bits = 4;
    while ((std::size_t{1} << bits) < 4 * words.size()) ++bits;
    shift_ = 32 - std::min(bits, 30U);
    slots_.assign(std::size_t{1} << (32 - shift_), Slot{0, -1});
    next_.resize(words.size());
    for (auto entry = static_cast<Index>(words.size()) - 1; entry >= 0; --entry) {
      if (words[entry] <= 0) continue;
      auto& slot = slots_[place(words[entry])];
      slot.word = words[entry];
      next_[entry] = slot.first;
      slot.first = entry;
    }
  }

  // The first entry of a word, or -1; `next` leads to the others.
  Index first(Index word) const { return slots_[place(word)].first; }
  Index next(Index entry) const { return next_[entry]; }

 private:
  struct Slot {
    Index word, first;
  };

  std::size_t place(Index word) const {
    std::size_t at = (static_cast<std::uint32_t>(word) * 0x9E3779B1U) >> shift_;
    while (slots_[at].word != word && slots_[at].word != 0) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  std::vector<Index> next_;
  unsigned shift_ = 28;
};

// What the model says, in units of the machine: weight * score.
template <class Real>
struct Bias {
  double weight = 0.0;
  // Single precision is for whole numbers, and model scores are none.
  static constexpr bool possible = sizeof(Real) == sizeof(double);

  Real operator()(double score) const {
    if constexpr (possible) return static_cast<Real>(weight * score);
    return 0;
  }
};

template <class Real>
inline constexpr Real kWorst = -std::numeric_limits<Real>::infinity();

template <class Real>
void raise_to(Real& cell, Real gain) {
  cell = gain > cell ? gain : cell;
}

// All alignments to one reference: states (i, m), where i reference words are behind, the last m of
// them matched in a row. Order is the highest m + 1, or 0 if that is known only when it runs.
//
// With w the weight of a match, a the cost of an insertion and b of a deletion, for a lattice state
// q and its incoming arcs p -word-> q with bias s (Chiang et al. 2008, equation 6, with deletion,
// substitution and insertion from m = 0 only, after a run was forgotten at no cost):
//
//   G(q, i+1, min(m+1, n-1)) = max  G(p, i, m) + s + (m+1) w(word, i+1)
//   G(q, i, 0) = max( G(q, i, m),  G(q, i-1, 0) - b,  G(p, i-1, 0) + s,  G(p, i, 0) + s - a )
//
// Rows hold G(q, i, m) + i b. That makes deletions free and closing a row under them a running
// maximum, and every other step to the next place earns b more. Rows without runs are then
// nondecreasing in i, and stay so when they are shifted and when their maximum is taken: only what
// matches have put in must be carried on to the right. All words cost the same as substitutions
// and insertions, so an arc costs two vector maxima, and its matches only where its word stands in
// the reference. Cost: O(arcs x length / lanes + matches x n).
template <class Real, Index Order>
class AlignmentRows {
 public:
  AlignmentRows(const Alignment& alignment, const WordIndex& index)
      : length_(alignment.length),
        order_(Order > 0 ? Order : alignment.order),
        stride_((length_ / kLanes + 1) * kLanes),
        // at least one cell in front of the first place, for what comes from the left of it
        base_(((length_ + 1) * (order_ - 1) / kLanes + 1) * kLanes),
        insertion_(static_cast<Real>(alignment.insertion)),
        deletion_(static_cast<Real>(alignment.deletion)),
        ending_(static_cast<Real>(-length_ * alignment.deletion)),
        position_(alignment.position),
        weight_(alignment.weight),
        index_(index) {}

  static std::size_t row_size(const Alignment& alignment) {
    const auto places = static_cast<std::size_t>(alignment.length) + 1;
    const auto runs = places * (static_cast<std::size_t>(alignment.order) - 1);
    return ((places + kLanes - 1) / kLanes + runs / kLanes + 1) * kLanes;
  }

  std::size_t size() const { return static_cast<std::size_t>(base_) + stride_; }

  template <class Use>
  void beginnings(Use&& use) const {
    use(base_, Real{0});
  }
  // takes back what the places of a row carry for deletions
  template <class Use>
  void endings(Use&& use) const {
    use(base_ + length_, ending_);
  }

  void fill(const Lattice& lattice, Bias<Real> bias, Real* rows, Poll& poll) const {
    const auto row_length = size();
    std::fill(rows, rows + lattice.start * row_length, kWorst<Real>);
    Real* row = rows + lattice.start * row_length;
    std::fill(row, row + base_, kWorst<Real>);
    std::fill(row + base_, row + row_length, Real{0});
    for (Index state = lattice.start + 1; state < lattice.num_nodes(); ++state) {
      poll(lattice.incoming(state).size() * static_cast<std::size_t>(row_length));
      row += row_length;
      fill_row(lattice, bias, rows, row, lattice.incoming(state));
    }
  }

  template <class Use>
  void silent_into(Index cell, Use&& use) const {
    if (cell < base_) return;
    const Index place = cell - base_;
    if (place > 0) use(cell - 1, Real{0});
    for (Index run = 1; run < order_; ++run) use(cell_of(place, run), Real{0});
  }

  template <class Use>
  void reading_into(Index cell, Index word, Use&& use) const {
    if (cell >= base_) {
      use(cell, -insertion_);
      if (cell > base_) use(cell - 1, deletion_);
      if (order_ == 1) matches_into(cell - base_, 0, word, use);
    } else {
      const Index place = cell / (order_ - 1), run = cell % (order_ - 1) + 1;
      matches_into(place, run, word, use);
    }
  }

 private:
  // gains that one vector instruction takes, of single precision under AVX2
  static constexpr Index kLanes = 8;
  typedef Real Lanes
      __attribute__((vector_size(8 * sizeof(Real)), aligned(sizeof(Real)), may_alias));
  static Lanes& lanes(Real* at) { return *reinterpret_cast<Lanes*>(at); }
  static const Lanes& lanes(const Real* at) { return *reinterpret_cast<const Lanes*>(at); }

  Index order() const { return Order > 0 ? Order : order_; }

  // The runs of one place stand side by side, for a match moves them all; the cells without a run
  // come last, so that epsilon arcs lead upwards.
  Index cell_of(Index place, Index run) const {
    return run == 0 ? base_ + place : place * (order_ - 1) + run - 1;
  }

  template <class Use>
  void matches_into(Index place, Index run, Index word, Use& use) const {
    if (place == 0) return;
    for (Index entry = index_.first(word); entry >= 0; entry = index_.next(entry)) {
      if (position_[entry] != place - 1) continue;
      const Real weight = static_cast<Real>(weight_[entry]);
      if (run > 0) use(cell_of(place - 1, run - 1), static_cast<Real>(run) * weight + deletion_);
      if (run == order_ - 1) {
        use(cell_of(place - 1, run), static_cast<Real>(order_) * weight + deletion_);
      }
    }
  }

  // Substitutions and insertions of all arcs into a state, for a few vectors of its row: the maxima
  // stay in registers.
  template <Index Blocks>
  void read_any(const Lattice& lattice, Bias<Real> bias, const Real* rows, Real* row, Real* block,
                std::span<const Index> arcs) const {
    Lanes inserted[Blocks], substituted[Blocks];
    for (Index at = 0; at < Blocks; ++at) {
      inserted[at] = substituted[at] = Lanes{} + kWorst<Real>;
    }
    const Real* first = rows + (block - row);
    for (const Index arc : arcs) {
      if (lattice.label[arc] == 0) continue;
      const Real* source = first + lattice.src[arc] * size();
      const Real extra = bias(lattice.score[arc]);
      for (Index at = 0; at < Blocks; ++at, source += kLanes) {
        const Lanes here = lanes(source) + extra, left = lanes(source - 1) + extra;
        inserted[at] = here > inserted[at] ? here : inserted[at];
        substituted[at] = left > substituted[at] ? left : substituted[at];
      }
    }
    for (Index at = 0; at < Blocks; ++at, block += kLanes) {
      inserted[at] -= insertion_;
      substituted[at] += deletion_;
      lanes(block) = substituted[at] > inserted[at] ? substituted[at] : inserted[at];
    }
  }

  void fill_row(const Lattice& lattice, Bias<Real> bias, const Real* rows, Real* row,
                std::span<const Index> arcs) const {
    const auto row_length = size();
    const Index runs = order() - 1;
    const Lanes worst = Lanes{} + kWorst<Real>;
    for (Index block = 0; block < base_; block += kLanes) lanes(row + block) = worst;
    Index left = stride_ / kLanes;
    Real* block = row + base_;
    for (; left > 4; left -= 4, block += 4 * kLanes)
      read_any<4>(lattice, bias, rows, row, block, arcs);
    if (left == 4) read_any<4>(lattice, bias, rows, row, block, arcs);
    if (left == 3) read_any<3>(lattice, bias, rows, row, block, arcs);
    if (left == 2) read_any<2>(lattice, bias, rows, row, block, arcs);
    if (left == 1) read_any<1>(lattice, bias, rows, row, block, arcs);
    // the places that matches came to
    Index lowest = length_ + 1, highest = 0;
    for (const Index arc : arcs) {
      const Real* source = rows + lattice.src[arc] * row_length;
      const Real extra = bias(lattice.score[arc]);
      if (lattice.label[arc] == 0) {
        for (std::size_t cell = 0; cell < row_length; ++cell) {
          raise_to(row[cell], source[cell] + extra);
        }
        continue;
      }
      for (Index entry = index_.first(lattice.label[arc]); entry >= 0; entry = index_.next(entry)) {
        const Index place = position_[entry];
        const Real weight = static_cast<Real>(weight_[entry]);
        lowest = std::min(lowest, place + 1);
        highest = std::max(highest, place + 1);
        const Real* here = source + place * runs;
        Real* there = row + (place + 1) * runs;
        Real gain = (source[base_ + place] + extra) + (weight + deletion_);
        Real best = gain;
        for (Index run = 0; run < runs; ++run) {
          raise_to(there[run], gain);
          gain = (here[run] + extra) + (static_cast<Real>(run + 2) * weight + deletion_);
          raise_to(best, gain);
        }
        if (runs > 0) raise_to(there[runs - 1], gain);
        // a run may be forgotten at once, at no cost
        raise_to(row[base_ + place + 1], best);
      }
    }
    if (lowest > length_) return;
    Real running = row[base_ + lowest];
    for (Index place = lowest + 1; place <= length_; ++place) {
      Real& cell = row[base_ + place];
      if (cell < running) {
        cell = running;
      } else if (place > highest) {
        break;
      } else {
        running = cell;
      }
    }
  }

  Index length_, order_, stride_, base_;
  Real insertion_, deletion_, ending_;
  std::span<const Index> position_;
  std::span<const double> weight_;
  const WordIndex& index_;
};

// An automaton with its arcs by target, epsilon arcs first, and its states renumbered as cells.
//
//   G(q, t) = max over arcs p -word-> q and s -word or ANY-> t of  G(p, s) + bias + gain,
//             and over arcs s -epsilon-> t of  G(q, s) + gain
//
// ANY arcs are applied once a lattice state, to the maximum of the rows that come in.
// Cost: O(arcs x (cells + arcs that read the word) + lattice states x machine arcs).
class AutomatonRows {
 public:
  AutomatonRows() = default;
  explicit AutomatonRows(const Automaton& automaton) {
    const std::size_t states = automaton.num_states(), arcs = automaton.src.size();
    offset_.assign(2 * states + 1, 0);
    auto bucket = [&](std::size_t arc) {
      return 2 * static_cast<std::size_t>(automaton.rank[automaton.dst[arc]]) +
             (automaton.label[arc] != 0);
    };
    for (std::size_t arc = 0; arc < arcs; ++arc) ++offset_[bucket(arc) + 1];
    for (std::size_t at = 1; at < offset_.size(); ++at) offset_[at] += offset_[at - 1];
    auto place = offset_;
    std::vector<Index> words(arcs);
    arcs_.resize(arcs);
    for (std::size_t arc = 0; arc < arcs; ++arc) {
      const auto at = place[bucket(arc)]++;
      arcs_[at] = {automaton.rank[automaton.src[arc]], automaton.rank[automaton.dst[arc]],
                   automaton.label[arc], automaton.gain[arc]};
      words[at] = automaton.label[arc];
    }
    index_.assign(words);
    for (std::size_t at = 0; at < arcs; ++at) {
      if (words[at] == kAnyWord) any_.push_back(static_cast<Index>(at));
    }
    initial_.assign(states, kMinusInfinity);
    final_.assign(states, kMinusInfinity);
    for (std::size_t state = 0; state < states; ++state) {
      initial_[automaton.rank[state]] = automaton.initial[state];
      final_[automaton.rank[state]] = automaton.final[state];
    }
  }

  std::size_t size() const { return initial_.size(); }

  template <class Use>
  void beginnings(Use&& use) const {
    for (std::size_t cell = 0; cell < size(); ++cell) {
      if (initial_[cell] > kMinusInfinity) use(static_cast<Index>(cell), initial_[cell]);
    }
  }
  template <class Use>
  void endings(Use&& use) const {
    for (std::size_t cell = 0; cell < size(); ++cell) {
      if (final_[cell] > kMinusInfinity) use(static_cast<Index>(cell), final_[cell]);
    }
  }

  void fill(const Lattice& lattice, Bias<double> bias, double* rows, Poll& poll) const {
    std::vector<double> incoming(size());
    std::fill(rows, rows + lattice.start * size(), kMinusInfinity);
    for (Index state = lattice.start; state < lattice.num_nodes(); ++state) {
      poll(lattice.incoming(state).size() * static_cast<std::size_t>(size()));
      double* row = rows + state * size();
      if (state == lattice.start) {
        std::copy(initial_.begin(), initial_.end(), row);
      } else {
        std::fill(row, row + size(), kMinusInfinity);
        std::fill(incoming.begin(), incoming.end(), kMinusInfinity);
        for (const Index arc : lattice.incoming(state)) {
          const double* source = rows + lattice.src[arc] * size();
          const double extra = bias(lattice.score[arc]);
          double* target = lattice.label[arc] == 0 ? row : incoming.data();
          for (std::size_t cell = 0; cell < size(); ++cell) {
            raise_to(target[cell], source[cell] + extra);
          }
          if (lattice.label[arc] == 0) continue;
          for (Index at = index_.first(lattice.label[arc]); at >= 0; at = index_.next(at)) {
            raise_to(row[arcs_[at].dst], (source[arcs_[at].src] + extra) + arcs_[at].gain);
          }
        }
        for (const Index at : any_) {
          raise_to(row[arcs_[at].dst], incoming[arcs_[at].src] + arcs_[at].gain);
        }
      }
      for (std::size_t cell = 0; cell < size(); ++cell) {
        silent_into(static_cast<Index>(cell),
                    [&](Index source, double gain) { raise_to(row[cell], row[source] + gain); });
      }
    }
  }

  template <class Use>
  void silent_into(Index cell, Use&& use) const {
    for (Index at = offset_[2 * cell]; at < offset_[2 * cell + 1]; ++at) {
      use(arcs_[at].src, arcs_[at].gain);
    }
  }
  template <class Use>
  void reading_into(Index cell, Index word, Use&& use) const {
    for (Index at = offset_[2 * cell + 1]; at < offset_[2 * cell + 2]; ++at) {
      if (arcs_[at].label == word || arcs_[at].label == kAnyWord)
        use(arcs_[at].src, arcs_[at].gain);
    }
  }

 private:
  struct Arc {
    Index src, dst, label;
    double gain;
  };

  std::vector<Arc> arcs_;
  std::vector<Index> offset_, any_;
  std::vector<double> initial_, final_;
  WordIndex index_;
};

}  // namespace lattices
