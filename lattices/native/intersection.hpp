// The intersection of a lattice with a machine: the best path, by value and then by model score.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/machines.hpp"

namespace lattices {

// One part of a machine: the value of a sentence is (gain + bonus) / denominator.
struct Part {
  std::variant<const Alignment*, const AutomatonRows*> automaton;
  double denominator = 1.0, bonus = 0.0;
};

// A best path: its value, its model score (summed from the end) and the part it comes from.
struct BestPath {
  double value = kMinusInfinity;
  double model = 0.0;
  Index part = -1;
  std::vector<Index> arcs;

  bool complete() const { return part >= 0; }
};

// How a search values a path, and what it may use.
struct SearchOptions {
  double model_weight = 0.0;
  // cells (lattice states x machine states) that one search may ask memory for
  std::size_t most_cells = std::size_t{1} << 28;
};

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
// into a machine state) for every cell on a best path.
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
      check_cells(lattice, part, options.most_cells);
      const bool better = std::visit(
          [&](const auto* automaton) {
            return search_part(lattice, *automaton, part, options.model_weight, best, poll);
          },
          part.automaton);
      if (better) best.part = static_cast<Index>(number);
    }
  }

  // Whether the cells of lattice and machine are no more than so many.
  static bool fits(const Lattice& lattice, std::span<const Part> parts, std::size_t most) {
    return std::ranges::all_of(parts, [&](const Part& part) { return fits(lattice, part, most); });
  }

  static std::size_t num_states(const Part& part) {
    if (const auto* alignment = std::get_if<const Alignment*>(&part.automaton)) {
      return (*alignment)->num_states();
    }
    return std::get<const AutomatonRows*>(part.automaton)->size();
  }

 private:
  struct Suffix {
    double model;
    Index arc;   // of the lattice, to the next cell; -1 for an epsilon arc of the machine
    Index cell;  // the next one; -1 at the end
  };

  template <class T>
  static T* make(Room<T>& room, std::size_t cells) {
    try {
      return room.make(cells);
    } catch (const std::bad_alloc&) {
      throw engine_error("there is no memory for " + std::to_string(cells) + " cells of " +
                         std::to_string(sizeof(T)) + " bytes");
    }
  }

  static Error overflow() {
    return space_error("the weighted scores of a lattice are too large to be added up");
  }

  static bool fits(const Lattice& lattice, const Part& part, std::size_t most) {
    const std::size_t states = std::max<std::size_t>(num_states(part), 1);
    return static_cast<std::size_t>(lattice.num_nodes()) <= most / states;
  }

  static void check_cells(const Lattice& lattice, const Part& part, std::size_t most) {
    if (fits(lattice, part, most)) return;
    throw engine_error(std::to_string(lattice.num_nodes()) + " lattice states x " +
                       std::to_string(num_states(part)) + " machine states are more than " +
                       std::to_string(most) + " cells");
  }

  bool search_part(const Lattice& lattice, const AutomatonRows& machine, const Part& part,
                   double model_weight, BestPath& best, Poll& poll) {
    return search_rows<double>(lattice, machine, part, model_weight, best, poll, doubles_.room);
  }

  bool search_part(const Lattice& lattice, const Alignment& alignment, const Part& part,
                   double model_weight, BestPath& best, Poll& poll) {
    const double steps = static_cast<double>(alignment.num_states()) + lattice.num_nodes();
    // model scores are no whole numbers
    const double total =
        model_weight == 0.0 ? steps * alignment.largest_gain() : kLargestTotal<double>;
    if (total <= kLargestTotal<std::int16_t>) {
      return search_alignment(lattice, alignment, part, model_weight, best, poll, shorts_);
    }
    if (total <= kLargestTotal<float>) {
      return search_alignment(lattice, alignment, part, model_weight, best, poll, floats_);
    }
    return search_alignment(lattice, alignment, part, model_weight, best, poll, doubles_);
  }

  // What is kept from one search to the next.
  template <class Real>
  struct Rows {
    Room<Real> room;
    MatchGains<Real> gains;
  };

  template <class Real>
  bool search_alignment(const Lattice& lattice, const Alignment& alignment, const Part& part,
                        double model_weight, BestPath& best, Poll& poll, Rows<Real>& rows) {
    rows.gains.assign(alignment);
    auto with = [&](auto order) {
      return search_rows<Real>(lattice, AlignmentRows<Real, order>(alignment, rows.gains), part,
                               model_weight, best, poll, rows.room);
    };
    switch (alignment.order) {
      case 1:
        return with(std::integral_constant<Index, 1>{});
      case 4:
        return with(std::integral_constant<Index, 4>{});
      default:
        return with(std::integral_constant<Index, 0>{});
    }
  }

  // Search one part; where it is better than the best so far, take its place.
  template <class Real, class Machine>
  bool search_rows(const Lattice& lattice, const Machine& machine, const Part& part,
                   double model_weight, BestPath& best, Poll& poll, Room<Real>& room) {
    const Bias<Real> bias{model_weight * part.denominator};
    const std::size_t size = machine.size();
    Real* rows = make(room, size * lattice.num_nodes());
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
    const Suffix* first = trace(lattice, machine, bias, rows, total, poll);
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
                      const Real* rows, Real total, Poll& poll) {
    const std::size_t size = machine.size(), words = (size + 63) / 64;
    suffix_ = make(suffixes_, size * lattice.num_nodes());
    tight_.assign(words * (finals_.back() + 1), 0);
    touched_.assign(finals_.back() / 64 + 1, 0);
    // offer a cell the suffix that begins with an arc and goes on at another cell
    auto offer = [&](Index state, Index cell, const Suffix& suffix) {
      auto& word = tight_[state * words + cell / 64];
      const auto bit = std::uint64_t{1} << (cell % 64);
      Suffix& known = suffix_[state * size + cell];
      if ((word & bit) != 0 && suffix.model <= known.model) return;
      word |= bit;
      touched_[state / 64] |= std::uint64_t{1} << (state % 64);
      known = suffix;
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
      const double model = suffix_[state * size + cell].model;
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
      const std::size_t here = lattice.start * size + cell;
      if (!known || rows[here] != gain) return;
      if (first == nullptr || suffix_[here].model > first->model) first = &suffix_[here];
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
      suffix = suffix_ + (state * size + suffix->cell);
    }
  }

  Rows<std::int16_t> shorts_;
  Rows<float> floats_;
  Rows<double> doubles_;
  Room<Suffix> suffixes_;
  Suffix* suffix_ = nullptr;
  // cells on a best path, and the states that have some
  std::vector<std::uint64_t> tight_, touched_;
  std::vector<Index> finals_;
};

}  // namespace lattices
