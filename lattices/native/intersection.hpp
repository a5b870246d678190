// The intersection of a lattice with a machine: the best path, by value and then by model score.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/machines.hpp"
#include "lattices/native/scratch.hpp"

namespace lattices {

// Searches, one after the other, in memory that is kept from one to the next.
//
// The forward pass keeps the gains of all cells (lattice state, machine state) and nothing else.
// Backward, only cells on a best path are touched: a transition is tight if evaluating it again
// gives the gain of its target. With W the highest model score of the rest of a best path,
//
//   W(q, c) = max( final(q)                      if q ends and (q, c) attains the best total,
//                  W(q, d)                       for tight epsilon arcs c -> d of the machine,
//                  score(arc) + W(q', d)         for tight pairs of an arc q -> q' and c -> d )
//
// and each cell remembers which one it was. Cost: that of `fill`, and O(arcs into a state x arcs
// into a machine state) for every cell on a best path. Memory: a gain and a fifth of a byte a cell,
// and 16 bytes a cell for those blocks of 64 cells that a best path touches.
class Intersection {
 public:
  // The best of all parts of a machine; incomplete if no path is.
  void search(const Lattice& lattice, std::span<const Part> parts, const SearchOptions& options,
              BestPath& best, Poll& poll) {
    best.value = kMinusInfinity;
    best.part = -1;
    best.arcs.clear();
    for (std::size_t number = 0; number < parts.size(); ++number) {
      const Part& part = parts[number];
      const bool better = std::visit(
          [&](const auto* automaton) {
            return search_part(lattice, *automaton, part, options, best, poll);
          },
          part.automaton);
      if (better) best.part = static_cast<Index>(number);
    }
  }

 private:
  struct Suffix {
    double model;
    Index arc;   // of the lattice, to the next cell; -1 for an epsilon arc of the machine
    Index cell;  // the next one; -1 at the end
  };

  // The suffixes of cells on a best path, in blocks that are made when one of their cells is.
  class Blocks {
   public:
    // Begin anew with blocks of so many cells, for which so many bytes are left.
    void reset(std::size_t cells, std::size_t memory) {
      cells_ = cells;
      left_ = memory;
      chunk_ = 0;
      used_ = 0;
    }
    // A new block, or null if there is no memory left for it.
    Suffix* make() {
      const std::size_t bytes = cells_ * sizeof(Suffix);
      if (bytes > left_) return nullptr;
      left_ -= bytes;
      if (used_ + cells_ > kChunk) {
        ++chunk_;
        used_ = 0;
      }
      if (chunk_ == chunks_.size()) chunks_.emplace_back(new Suffix[kChunk]);
      return chunks_[chunk_].get() + std::exchange(used_, used_ + cells_);
    }

   private:
    static constexpr std::size_t kChunk = 64 * 64;
    std::vector<std::unique_ptr<Suffix[]>> chunks_;
    std::size_t cells_ = 0, left_ = 0, chunk_ = 0, used_ = 0;
  };

  static Error overflow() {
    return space_error("the weighted scores of a lattice are too large to be added up");
  }

  static std::string product_of(const Lattice& lattice, std::size_t cells) {
    return std::to_string(lattice.num_nodes()) + " lattice states x " + std::to_string(cells) +
           " machine states";
  }

  // What the gains of `cells` a state, and the bits and blocks of the way back, take of the memory;
  // refuse if that is too much.
  template <class Real>
  static std::size_t check_memory(const Lattice& lattice, double cells, std::size_t memory) {
    const double blocks = std::ceil(cells / 64.0);
    const double bytes = lattice.num_nodes() * (cells * sizeof(Real) +
                                                blocks * (sizeof(std::uint64_t) + sizeof(Suffix*)));
    // cells of a row have 32 bits
    if (bytes > static_cast<double>(memory) || cells > 1e9) {
      throw too_large(product_of(lattice, static_cast<std::size_t>(cells)), bytes, memory);
    }
    return memory - static_cast<std::size_t>(bytes);
  }

  bool search_part(const Lattice& lattice, const AutomatonRows& machine, const Part& part,
                   const SearchOptions& options, BestPath& best, Poll& poll) {
    return search_rows<double>(lattice, machine, part, options, best, poll, doubles_.room);
  }

  bool search_part(const Lattice& lattice, const Alignment& alignment, const Part& part,
                   const SearchOptions& options, BestPath& best, Poll& poll) {
    const double steps = static_cast<double>(alignment.num_states()) + lattice.num_nodes();
    // model scores are no whole numbers
    const double total =
        options.model_weight == 0.0 ? steps * alignment.largest_gain() : kLargestTotal<double>;
    if (total <= kLargestTotal<std::int16_t>) {
      return search_alignment(lattice, alignment, part, options, best, poll, shorts_);
    }
    if (total <= kLargestTotal<float>) {
      return search_alignment(lattice, alignment, part, options, best, poll, floats_);
    }
    return search_alignment(lattice, alignment, part, options, best, poll, doubles_);
  }

  // What is kept from one search to the next.
  template <class Real>
  struct Rows {
    Room<Real> room;
    MatchGains<Real> gains;
  };

  template <class Real>
  bool search_alignment(const Lattice& lattice, const Alignment& alignment, const Part& part,
                        const SearchOptions& options, BestPath& best, Poll& poll,
                        Rows<Real>& rows) {
    // before tables are made whose size has 32 bits
    check_memory<Real>(lattice, static_cast<double>(alignment.num_states()), options.memory);
    rows.gains.assign(alignment);
    return with_order(alignment.order, [&](auto order) {
      return search_rows<Real>(lattice, AlignmentRows<Real, order()>(alignment, rows.gains), part,
                               options, best, poll, rows.room);
    });
  }

  // Search one part; where it is better than the best so far, take its place.
  template <class Real, class Machine>
  bool search_rows(const Lattice& lattice, const Machine& machine, const Part& part,
                   const SearchOptions& options, BestPath& best, Poll& poll, Room<Real>& room) {
    const Bias<Real> bias{options.model_weight * part.denominator};
    const std::size_t size = machine.size();
    blocks_.reset(std::min<std::size_t>(size, 64),
                  check_memory<Real>(lattice, static_cast<double>(size), options.memory));
    Real* rows = room.make(size * lattice.num_nodes());
    dispatch([&] { machine.fill(lattice, bias, rows, poll); });
    Real total = kWorst<Real>;
    finals_.clear();
    for (Index state = lattice.start; state < lattice.num_nodes(); ++state) {
      if (lattice.final[state] == kMinusInfinity) continue;
      finals_.push_back(state);
      const Real extra = bias(lattice.final[state]);
      machine.endings([&](Index cell, Real gain) {
        raise_to(total, static_cast<Real>((rows[state * size + cell] + extra) + gain));
      });
    }
    if (!reached(total)) return false;
    const double value = (static_cast<double>(total) + part.bonus) / part.denominator;
    if (!std::isfinite(value)) throw overflow();
    if (value < best.value) return false;
    const Suffix* first = trace(lattice, machine, bias, rows, total, poll, options.memory);
    if (first == nullptr) throw overflow();
    if (value == best.value && first->model <= best.model) return false;
    best.value = value;
    best.model = first->model;
    follow(lattice, size, first, best.arcs);
    return true;
  }

  // Find the tight cells, from the end; return that of the beginning.
  template <class Real, class Machine>
  const Suffix* trace(const Lattice& lattice, const Machine& machine, Bias<Real> bias,
                      const Real* rows, Real total, Poll& poll, std::size_t memory) {
    const std::size_t size = machine.size(), words = (size + 63) / 64;
    block_ = rooms_.make(words * (finals_.back() + 1));
    tight_.assign(words * (finals_.back() + 1), 0);
    touched_.assign(finals_.back() / 64 + 1, 0);
    // offer a cell the suffix that begins with an arc and goes on at another cell
    auto offer = [&](Index state, Index cell, const Suffix& suffix) {
      auto& word = tight_[state * words + cell / 64];
      auto& block = block_[state * words + cell / 64];
      const auto bit = std::uint64_t{1} << (cell % 64);
      if ((word & bit) != 0 && suffix.model <= block[cell % 64].model) return;
      if (word == 0) {
        block = blocks_.make();
        if (block == nullptr) {
          throw too_large(product_of(lattice, size), static_cast<double>(memory), memory);
        }
        touched_[state / 64] |= std::uint64_t{1} << (state % 64);
      }
      word |= bit;
      block[cell % 64] = suffix;
    };
    for (const Index state : finals_) {
      const Real extra = bias(lattice.final[state]);
      machine.endings([&](Index cell, Real gain) {
        if ((rows[state * size + cell] + extra) + gain == total) {
          offer(state, cell, {lattice.final[state], -1, -1});
        }
      });
    }
    auto visit = [&](Index state, Index cell) {
      poll(lattice.incoming(state).size());
      const Real* row = rows + state * size;
      const Real value = row[cell];
      const double model = suffix_of(words, state, cell).model;
      const auto target = machine.target(cell);
      machine.silent_into(target, [&](Index source, Real gain) {
        if (row[source] + gain == value) offer(state, source, {model, -1, cell});
      });
      for (const Index arc : lattice.incoming(state)) {
        const Index before = lattice.src[arc];
        const Real* from = rows + before * size;
        const Real extra = bias(lattice.score[arc]);
        // the score is looked at where it is needed: it is seldom in the cache
        auto offered = [&](Index source) {
          offer(before, source, {lattice.score[arc] + model, arc, cell});
        };
        if (lattice.label[arc] == 0) {
          if (from[cell] + extra == value) offered(cell);
          continue;
        }
        machine.reading_into(target, lattice.label[arc], [&](Index source, Real gain) {
          if ((from[source] + extra) + gain == value) offered(source);
        });
      }
    };
    // from the last state and the highest cell down: others are added below while this goes on
    for_all_down(std::span(touched_), [&](Index state) {
      for_all_down(std::span(tight_).subspan(state * words, words),
                   [&](Index cell) { visit(state, cell); });
    });
    const Suffix* first = nullptr;
    machine.beginnings([&](Index cell, Real gain) {
      const bool known = (tight_[lattice.start * words + cell / 64] >> (cell % 64) & 1) != 0;
      if (!known || rows[lattice.start * size + cell] != gain) return;
      const Suffix& here = suffix_of(words, lattice.start, cell);
      if (first == nullptr || here.model > first->model) first = &here;
    });
    return first;
  }

  // Call use(bit) for every bit that is set, or will be set below, from the highest down.
  template <class Use>
  static void for_all_down(std::span<std::uint64_t> set, Use&& use) {
    for (std::size_t word = set.size(); word-- > 0;) {
      std::uint64_t below = ~std::uint64_t{0};
      while (const std::uint64_t left = set[word] & below) {
        const int bit = 63 - std::countl_zero(left);
        below = (std::uint64_t{1} << bit) - 1;
        use(static_cast<Index>(word * 64) + bit);
      }
    }
  }

  void follow(const Lattice& lattice, std::size_t size, const Suffix* suffix,
              std::vector<Index>& arcs) const {
    arcs.clear();
    Index state = lattice.start;
    while (suffix->cell >= 0) {
      if (suffix->arc >= 0) {
        arcs.push_back(suffix->arc);
        state = lattice.dst[suffix->arc];
      }
      suffix = &suffix_of((size + 63) / 64, state, suffix->cell);
    }
  }

  // The suffix of a cell that has one; `words` of 64 cells make a row.
  const Suffix& suffix_of(std::size_t words, Index state, Index cell) const {
    return block_[state * words + cell / 64][cell % 64];
  }

  Rows<std::int16_t> shorts_;
  Rows<float> floats_;
  Rows<double> doubles_;
  // where the suffixes of each 64 cells are, if one of them is on a best path
  Room<Suffix*> rooms_;
  Suffix** block_ = nullptr;
  Blocks blocks_;
  // cells on a best path, and the states that have some
  std::vector<std::uint64_t> tight_, touched_;
  std::vector<Index> finals_;
};

}  // namespace lattices
