// The intersection of a lattice with a machine: the best path, by value and then by model score.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/machines.hpp"
#include "lattices/native/near_paths.hpp"
#include "lattices/native/scratch.hpp"
#include "lattices/native/stretches.hpp"

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
//
// Where that is much, the lattice is searched stretch by stretch, and of the gains only those of
// the frontiers between stretches are kept (stretches.hpp). Forward, the slices of a stretch's rows
// follow each other, so that one of them is in memory. Backward, with the best paths known from the
// end of a stretch on, the rows of the stretch are made again: only the places between which its
// words can lead there, because a cell p of its first frontier is on a best path through cell t of
// the last one only if G(p) + (most that the words of a path in between can gain) >= G(t).
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

  // The highest total of a part, with its bonus, and what adds all paths of a total of `limit` or
  // more to a graph. It refers to the lattice, the part, the poll and the search.
  struct Near {
    double total;
    std::function<void(double limit, NearPaths& paths)> add;
  };
  // Denominators are 1: totals of parts are compared.
  std::vector<Near> prepare_near(const Lattice& lattice, std::span<const Part> parts,
                                 const SearchOptions& options, Poll& poll) {
    std::vector<Near> found;
    for (const Part& part : parts) {
      found.push_back(std::visit(
          [&](const auto* automaton) {
            return prepare_near(lattice, *automaton, part, options, poll);
          },
          part.automaton));
    }
    return found;
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

  // What the gains of `cells` a state, and the bits and blocks of the way back, take of the memory.
  template <class Real>
  static double bytes_of(std::size_t states, double cells) {
    return static_cast<double>(states) *
           (cells * sizeof(Real) +
            std::ceil(cells / 64.0) * (sizeof(std::uint64_t) + sizeof(Suffix*)));
  }
  template <class Real>
  static double bytes_of(const Stretches& stretches, double cells) {
    return static_cast<double>(stretches.num_kept()) * cells * sizeof(Real) +
           bytes_of<Real>(stretches.most_states(), cells);
  }

  // Cut a lattice so that the search takes the least memory, or refuse.
  template <class Real>
  static Stretches cut(const Lattice& lattice, double cells, std::size_t memory) {
    double least = bytes_of<Real>(lattice.final.size(), cells);
    // cells of a row have 32 bits
    if (cells <= 1e9) {
      Stretches stretches(lattice);
      Index best = lattice.num_nodes();
      for (Index shortest = 1; shortest / 2 < lattice.num_nodes(); shortest *= 2) {
        stretches.cut(shortest);
        const double bytes = bytes_of<Real>(stretches, cells);
        if (bytes < least) best = shortest;
        least = std::min(least, bytes);
      }
      stretches.cut(best);
      if (least <= static_cast<double>(memory)) return stretches;
    }
    throw too_large(product_of(lattice, static_cast<std::size_t>(cells)), least, memory);
  }

  // Whether all rows of a lattice are in memory at once.
  template <class Real>
  static bool fits_whole(const Lattice& lattice, double cells, std::size_t memory) {
    return bytes_of<Real>(lattice.final.size(), cells) <=
           static_cast<double>(std::min(memory, kWhole));
  }

  bool search_part(const Lattice& lattice, const AutomatonRows& machine, const Part& part,
                   const SearchOptions& options, BestPath& best, Poll& poll) {
    const auto cells = static_cast<double>(machine.size());
    if (fits_whole<double>(lattice, cells, options.memory)) {
      return search_rows<double>(lattice, machine, part, options, best, poll, doubles_.room);
    }
    auto stretches = cut<double>(lattice, cells, options.memory);
    return search_stretches<double>(std::move(stretches), AutomatonSlices(machine), part, options,
                                    best, poll, doubles_.room);
  }

  bool search_part(const Lattice& lattice, const Alignment& alignment, const Part& part,
                   const SearchOptions& options, BestPath& best, Poll& poll) {
    const double total = largest_total(lattice, alignment, options);
    if (total <= kLargestTotal<std::int16_t> &&
        fits_whole<std::int16_t>(lattice, row_cells<std::int16_t>(alignment), options.memory)) {
      return search_alignment(lattice, alignment, part, options, best, poll, shorts_);
    }
    if (total <= kLargestTotal<float>) {
      return search_alignment(lattice, alignment, part, options, best, poll, floats_);
    }
    return search_alignment(lattice, alignment, part, options, best, poll, doubles_);
  }

  // The most that a path gains or loses, if that is a whole number; model scores are none.
  static double largest_total(const Lattice& lattice, const Alignment& alignment,
                              const SearchOptions& options) {
    if (options.model_weight != 0.0) return kLargestTotal<double>;
    return (static_cast<double>(alignment.num_states()) + lattice.num_nodes()) *
           alignment.largest_gain();
  }

  // The cells of a row, with those that fill up the last vector.
  template <class Real>
  static double row_cells(const Alignment& alignment) {
    constexpr auto lanes = static_cast<double>(GainVectors<Real>::count);
    return alignment.order * lanes * std::ceil((alignment.length + 1.0) / lanes);
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
    const double cells = row_cells<Real>(alignment);
    return with_order(alignment.order, [&](auto order) {
      if (fits_whole<Real>(lattice, cells, options.memory)) {
        rows.gains.assign(alignment);
        return search_rows<Real>(lattice, AlignmentRows<Real, order()>(alignment, rows.gains), part,
                                 options, best, poll, rows.room);
      }
      if constexpr (!std::is_same_v<Real, std::int16_t>) {
        auto stretches = cut<Real>(lattice, cells, options.memory);
        AlignmentSlices<Real, order()> slices(alignment, stretches.most_states());
        return search_stretches<Real>(std::move(stretches), std::move(slices), part, options, best,
                                      poll, rows.room);
      }
      return false;
    });
  }

  // Where paths that are followed end: a cell, the model score of what follows, what the cell gains
  // (or has to gain, at least), what is gained by what follows, and, in a stretch that is not the
  // last, the way from there on.
  struct End {
    Index state, cell;
    double model, gain;
    double rest = 0.0;
    Index way = -1;
  };
  // Arcs of a best path through a stretch, and the way on in the next one.
  struct Way {
    std::size_t begin, end;
    Index next;
  };

  // Search one part; where it is better than the best so far, take its place.
  template <class Real, class Machine>
  bool search_rows(const Lattice& lattice, const Machine& machine, const Part& part,
                   const SearchOptions& options, BestPath& best, Poll& poll, Room<Real>& room) {
    const Bias<Real> bias{options.model_weight * part.denominator};
    const std::size_t size = machine.size();
    memory_ = options.memory;
    Real* rows = room.make(size * lattice.num_nodes());
    std::fill(rows, rows + lattice.start * size, kWorst<Real>);
    machine.begin(rows + lattice.start * size);
    fill(machine, lattice, lattice.start + 1, bias, rows, poll);
    Real total = kWorst<Real>;
    ends_.clear();
    find_ends(lattice, machine, bias, rows, lattice.start, [&](const End& end, Real sum) {
      if (sum < total) return;
      if (sum > total) ends_.clear();
      total = sum;
      ends_.push_back(end);
    });
    if (!reached(total)) return false;
    const double value = value_of(static_cast<double>(total), part);
    if (value < best.value) return false;
    const double bytes = bytes_of<Real>(lattice.final.size(), static_cast<double>(size));
    trace(lattice, machine, bias, rows, 0, memory_less(bytes), poll, OnBest{});
    const Suffix* first = find_beginning(machine, rows, lattice.start);
    if (value == best.value && first->model <= best.model) return false;
    best.value = value;
    best.model = first->model;
    best.arcs.clear();
    follow(lattice, lattice.start, first, [&](Index arc) { best.arcs.push_back(arc); });
    return true;
  }

  // Call use(end, total) for all ends that are reached.
  template <class Real, class Machine, class Use>
  static void find_ends(const Lattice& lattice, const Machine& machine, Bias<Real> bias,
                        const Real* rows, Index first, Use&& use) {
    for (Index state = first; state < lattice.num_nodes(); ++state) {
      if (lattice.final[state] == kMinusInfinity) continue;
      const Real extra = bias(lattice.final[state]);
      machine.endings([&](Index cell, Real gain) {
        const Real row = rows[state * machine.size() + cell];
        const auto sum = static_cast<Real>((row + extra) + gain);
        if (!reached(sum)) return;
        use(End{state, cell, lattice.final[state], static_cast<double>(row),
                static_cast<double>(gain)},
            sum);
      });
    }
  }

  // The best suffix that begins at the start.
  template <class Real, class Machine>
  const Suffix* find_beginning(const Machine& machine, const Real* rows, Index start) const {
    const Suffix* first = nullptr;
    machine.beginnings([&](Index cell, Real gain) {
      if (!is_tight(start, cell) || rows[start * machine.size() + cell] != gain) return;
      const Suffix& here = suffix_of(start, cell);
      if (first == nullptr || here.model > first->model) first = &here;
    });
    if (first == nullptr) throw overflow();
    return first;
  }

  // What is left of the memory.
  std::size_t memory_less(double bytes) const {
    return memory_ - std::min(memory_, static_cast<std::size_t>(bytes));
  }

  static double value_of(double total, const Part& part) {
    const double value = (total + part.bonus) / part.denominator;
    if (!std::isfinite(value)) throw overflow();
    return value;
  }

  // What a trace follows: best paths, each cell with the best way on.
  struct OnBest {
    const Stretch* stretch = nullptr;

    static double bytes() { return 0.0; }
    template <class Real>
    static bool counts(Real gain, Real value, const Suffix&) {
      return gain == value;
    }
    static void end(Suffix& suffix, bool known, const End& end) {
      if (!known || end.model > suffix.model) suffix = {end.model, end.way, -1};
    }
    static void visit(Suffix&) {}
    // A cell is offered the suffix of another; the score is looked at where it is needed: it is
    // seldom in the cache.
    static void offer(Suffix& suffix, bool known, const Suffix& next, Index cell, double,
                      const Lattice& lattice, Index arc) {
      const double model = arc < 0 ? next.model : lattice.score[arc] + next.model;
      if (!known || model > suffix.model) suffix = {model, arc, cell};
    }
  };
  // Or all paths that are near the best, as a graph. Suffixes have the most that is gained from
  // their cell on, the first of its edges, and its node.
  template <class Real>
  struct NearBest {
    NearPaths& paths;
    Bias<Real> bias;
    double limit;
    const Stretch* stretch = nullptr;

    bool counts(Real gain, Real, const Suffix& next) const {
      return reached(gain) && static_cast<double>(gain) + next.model >= limit;
    }
    double bytes() const { return paths.bytes(); }
    double rest_of(const End& end) const {
      return end.way >= 0 ? end.rest : static_cast<double>(bias(end.model)) + end.rest;
    }
    void end(Suffix& suffix, bool known, const End& end) const {
      const double rest = rest_of(end);
      // ends that go on come before others, and have all of their edges
      suffix = {known ? std::max(suffix.model, rest) : rest,
                end.way >= 0
                    ? end.way
                    : paths.add({end.rest, end.model, kNone, kNone, known ? suffix.arc : kNone}),
                -1};
    }
    void visit(Suffix& suffix) const { suffix.cell = paths.close(suffix.arc); }
    void offer(Suffix& suffix, bool known, const Suffix& next, Index, double gain,
               const Lattice& lattice, Index arc) const {
      const double score = arc < 0 ? 0.0 : lattice.score[arc];
      const double rest = gain + static_cast<double>(bias(score)) + next.model;
      suffix.arc = paths.add({gain, score, arc < 0 ? kNone : stretch->arc[arc], next.cell,
                              known ? suffix.arc : kNone});
      suffix.model = known ? std::max(suffix.model, rest) : rest;
    }
  };

  // Find the cells of the states from `known` on that lead to ends_, and those before that lead to
  // them.
  template <class Real, class Machine, class Follow>
  void trace(const Lattice& lattice, const Machine& machine, Bias<Real> bias, const Real* rows,
             Index known, std::size_t memory, Poll& poll, const Follow& follow) {
    const std::size_t size = machine.size();
    blocks_.reset(std::min<std::size_t>(size, 64), memory);
    const std::size_t words = words_ = (size + 63) / 64;
    // an arc may lead over a whole stretch, from its frontier to the next one
    Index last = std::max(known - 1, 0);
    for (const End& end : ends_) last = std::max(last, end.state);
    block_ = rooms_.make(words * (last + 1));
    tight_.assign(words * (last + 1), 0);
    touched_.assign(last / 64 + 1, 0);
    // use(suffix of a cell, whether it has one)
    auto at = [&](Index state, Index cell, auto&& use) {
      auto& word = tight_[state * words + cell / 64];
      auto& block = block_[state * words + cell / 64];
      const auto bit = std::uint64_t{1} << (cell % 64);
      if (word == 0) {
        block = blocks_.make();
        if (block == nullptr) {
          throw too_large(product_of(lattice, size), static_cast<double>(memory_), memory_);
        }
        touched_[state / 64] |= std::uint64_t{1} << (state % 64);
      }
      use(block[cell % 64], (word & bit) != 0);
      word |= bit;
    };
    for (const End& end : ends_) {
      at(end.state, end.cell, [&](Suffix& suffix, bool has) { follow.end(suffix, has, end); });
    }
    auto visit = [&](Index state, Index cell) {
      poll(lattice.incoming(state).size());
      const Real* row = rows + state * size;
      const Real value = row[cell];
      Suffix& here = block_[state * words + cell / 64][cell % 64];
      follow.visit(here);
      const Suffix next = here;
      auto offer = [&](Index before, Index source, double gain, Index arc) {
        at(before, source, [&](Suffix& suffix, bool has) {
          follow.offer(suffix, has, next, cell, gain, lattice, arc);
        });
      };
      const auto target = machine.target(cell);
      machine.silent_into(target, [&](Index source, Real gain) {
        if (follow.counts(static_cast<Real>(row[source] + gain), value, next)) {
          offer(state, source, static_cast<double>(gain), -1);
        }
      });
      for (const Index arc : lattice.incoming(state)) {
        const Index before = lattice.src[arc];
        const Real* from = rows + before * size;
        const Real extra = bias(lattice.score[arc]);
        if (lattice.label[arc] == 0) {
          if (follow.counts(static_cast<Real>(from[cell] + extra), value, next)) {
            offer(before, cell, 0.0, arc);
          }
          continue;
        }
        machine.reading_into(target, lattice.label[arc], [&](Index source, Real gain) {
          if (follow.counts(static_cast<Real>((from[source] + extra) + gain), value, next)) {
            offer(before, source, static_cast<double>(gain), arc);
          }
        });
      }
    };
    // from the last state and the highest cell down: others are added below while this goes on
    for_all_down(std::span(touched_), [&](Index state) {
      if (state < known) return;
      for_all_tight(state, [&](Index cell) { visit(state, cell); });
    });
  }

  bool is_tight(Index state, Index cell) const {
    return (tight_[state * words_ + cell / 64] >> (cell % 64) & 1) != 0;
  }
  template <class Use>
  void for_all_tight(Index state, Use&& use) {
    for_all_down(std::span(tight_).subspan(state * words_, words_), use);
  }

  // Use the arcs of a suffix in their order; return the way on.
  template <class Use>
  Index follow(const Lattice& lattice, Index state, const Suffix* suffix, Use&& use) const {
    while (suffix->cell >= 0) {
      if (suffix->arc >= 0) {
        use(suffix->arc);
        state = lattice.dst[suffix->arc];
      }
      suffix = &suffix_of(state, suffix->cell);
    }
    return suffix->arc;
  }

  // The rows of a slice for the states from `first` on. One function for all: it is compiled for
  // several instruction sets.
  template <class Real, class Rows>
  [[gnu::noinline]] static void fill(const Rows& machine, const Lattice& lattice, Index first,
                                     Bias<Real> bias, Real* rows, Poll& poll,
                                     Real* edges = nullptr) {
    dispatch([&] { machine.fill(lattice, first, bias, rows, poll, edges); });
  }

  // The rows of the frontiers of stretches, and where those of each begin.
  template <class Real, class Slices>
  struct Frontiers {
    Stretches stretches;
    Slices slices;
    Bias<Real> bias;
    std::vector<std::size_t> first{};
    RawVector<Real> kept{};
    Real total = kWorst<Real>;
    std::vector<End> ends{};

    // The rows of a frontier where its stretch begins; return how many there are.
    template <class Machine>
    Index enter(std::size_t number, const Stretch& stretch, const Machine& machine, Places places,
                Real* rows) const {
      if (number == 0) machine.begin(rows);
      for (Index state = 0; state < stretch.known; ++state, rows += machine.size()) {
        slices.take(kept.data() + (first[number] + state) * slices.size(), places, rows);
      }
      return number == 0 ? 1 : stretch.known;
    }
    double bytes() const { return static_cast<double>(kept.size() * sizeof(Real)); }
  };

  // Forward through all stretches. Of the ends those of the highest total are kept, or all.
  template <class Real, class Slices>
  static Frontiers<Real, Slices> pass_forward(Stretches cuts, Slices slices_of, Bias<Real> bias,
                                              bool all, Poll& poll, Room<Real>& room) {
    Frontiers<Real, Slices> found{std::move(cuts), std::move(slices_of), bias};
    auto& stretches = found.stretches;
    auto& slices = found.slices;
    auto& kept = found.kept;
    const std::size_t size = slices.size(), most = stretches.most_states();
    found.first.assign(stretches.size() + 1, 0);
    kept.resize(stretches.num_kept() * size);
    std::vector<Real> edges;
    for (std::size_t number = 0; number < stretches.size(); ++number) {
      const Stretch& stretch = stretches.take(number);
      const auto next = stretches.frontier(number + 1);
      const Lattice here = stretch.lattice();
      found.first[number + 1] = found.first[number] + stretch.known;
      for (std::size_t panel = 0; panel < slices.num_panels(); ++panel) {
        const Places places = slices.panel(panel);
        const typename Slices::Rows machine = slices.panel_rows(panel);
        const std::size_t width = machine.size();
        Real* rows = room.make(most * width);
        const Index begin = found.enter(number, stretch, machine, places, rows);
        if (panel == 0) edges.assign(most * machine.edge_size(), kWorst<Real>);
        fill(machine, here, begin, bias, rows, poll, edges.data());
        for (std::size_t at = 0; at < next.size(); ++at) {
          slices.put(rows + stretches.place(next[at]) * width, places,
                     kept.data() + (found.first[number + 1] + at) * size);
        }
        find_ends(here, machine, bias, rows, stretch.known, [&](End end, Real sum) {
          if (sum < found.total && !all) return;
          if (sum > found.total && !all) found.ends.clear();
          found.total = std::max(found.total, sum);
          end.state = stretch.state[end.state];
          end.cell = slices.widen(end.cell, places);
          found.ends.push_back(end);
        });
      }
    }
    return found;
  }

  // Backward through all stretches from `finals`, in the order of their states. What leads to ends
  // is traced; finish(stretch, lattice, machine, rows) is called with the first stretch, and
  // carry(stretch, lattice, suffix, end) for the cells of the frontier before any other, to say
  // what the end there has besides its cell. `end.state` is that of the stretch meanwhile.
  template <class Real, class Slices, class Follow, class Carry, class Finish>
  void pass_back(Frontiers<Real, Slices>& found, std::vector<End> finals, Follow follow,
                 std::size_t memory, Poll& poll, Room<Real>& room, Carry&& carry, Finish&& finish) {
    Stretches& stretches = found.stretches;
    Slices& slices = found.slices;
    std::vector<End> ends;
    for (std::size_t number = stretches.size(); number-- > 0;) {
      const Stretch& stretch = stretches.take(number);
      const Lattice here = stretch.lattice();
      for (; !finals.empty() && finals.back().state >= stretch.state[stretch.known];
           finals.pop_back()) {
        ends.push_back(finals.back());
      }
      if (ends.empty()) continue;
      // the places that lead to the ends
      double lowest = kNoLimit;
      Places places = slices.upto(ends.front().cell);
      most_gained(here, stretch.known, found.bias, slices.largest_step());
      for (End& end : ends) {
        end.state = stretches.place(end.state);
        const Places own = slices.upto(end.cell);
        places = {std::min(places.begin, own.begin), std::max(places.end, own.end)};
        const double most_here = most_gained_[end.state];
        // and what rounding takes
        const double lost = (std::abs(end.gain) + std::abs(most_here)) * here.num_nodes() *
                            (4.0 * std::numeric_limits<Real>::epsilon());
        lowest = std::min(lowest, end.gain - most_here - (Bias<Real>::possible ? lost : 0.0));
      }
      if (number == 0) places.begin = 0;
      for (Index state = 0; state < stretch.known; ++state) {
        const Real* row = found.kept.data() + (found.first[number] + state) * slices.size();
        places = slices.reaching(row, lowest, places);
      }
      const typename Slices::Rows machine = slices.rows(places);
      const std::size_t width = machine.size();
      Real* rows = room.make(stretch.state.size() * width);
      const Index begin = found.enter(number, stretch, machine, places, rows);
      fill(machine, here, begin, found.bias, rows, poll);
      ends_.clear();
      for (End end : ends) {
        end.cell = slices.narrow(end.cell, places);
        ends_.push_back(end);
      }
      const std::size_t ways = ways_.size() * sizeof(Way) + way_arcs_.size() * sizeof(Index);
      const double bytes = found.bytes() + follow.bytes() + static_cast<double>(ways) +
                           bytes_of<Real>(stretch.state.size(), static_cast<double>(width));
      follow.stretch = &stretch;
      memory_ = memory;
      trace(here, machine, found.bias, rows, stretch.known, memory_less(bytes), poll, follow);
      if (number == 0) return finish(stretch, here, machine, rows);
      ends.clear();
      for (Index state = 0; state < stretch.known; ++state) {
        for_all_tight(state, [&](Index cell) {
          End end{state, slices.widen(cell, places), 0.0,
                  static_cast<double>(rows[state * width + cell])};
          carry(stretch, here, suffix_of(state, cell), end);
          end.state = stretch.state[state];
          ends.push_back(end);
        });
      }
    }
  }

  // The search of a part stretch by stretch.
  template <class Real, class Slices>
  bool search_stretches(Stretches stretches, Slices slices, const Part& part,
                        const SearchOptions& options, BestPath& best, Poll& poll,
                        Room<Real>& room) {
    auto found =
        pass_forward<Real>(std::move(stretches), std::move(slices),
                           Bias<Real>{options.model_weight * part.denominator}, false, poll, room);
    if (!reached(found.total)) return false;
    const double value = value_of(static_cast<double>(found.total), part);
    if (value < best.value) return false;
    ways_.clear();
    way_arcs_.clear();
    const auto go = [&](const Stretch& stretch, const Lattice& here, Index state,
                        const Suffix& suffix) {
      Way way{way_arcs_.size(), 0, -1};
      way.next =
          follow(here, state, &suffix, [&](Index arc) { way_arcs_.push_back(stretch.arc[arc]); });
      way.end = way_arcs_.size();
      ways_.push_back(way);
      return static_cast<Index>(ways_.size() - 1);
    };
    bool better = false, complete = false;
    pass_back<Real>(
        found, found.ends, OnBest{}, options.memory, poll, room,
        [&](const Stretch& stretch, const Lattice& here, const Suffix& suffix, End& end) {
          end.model = suffix.model;
          end.way = go(stretch, here, end.state, suffix);
        },
        [&](const Stretch& stretch, const Lattice& here, const auto& machine, const Real* rows) {
          complete = true;
          const Suffix* start = find_beginning(machine, rows, 0);
          better = value > best.value || start->model > best.model;
          if (!better) return;
          best.value = value;
          best.model = start->model;
          best.arcs.clear();
          for (Index way = go(stretch, here, 0, *start); way >= 0; way = ways_[way].next) {
            best.arcs.insert(best.arcs.end(), way_arcs_.begin() + ways_[way].begin,
                             way_arcs_.begin() + ways_[way].end);
          }
        });
    if (!complete) throw overflow();
    return better;
  }

  // Forward for all paths that are near the best, and what goes back then.
  template <class Real, class Slices>
  Near pass_near(Stretches stretches, Slices slices, const Part& part, const SearchOptions& options,
                 Poll& poll, Room<Real>& room) {
    const Bias<Real> bias{options.model_weight * part.denominator};
    auto found = std::make_shared<Frontiers<Real, Slices>>(
        pass_forward<Real>(std::move(stretches), std::move(slices), bias, true, poll, room));
    const double bonus = part.bonus;
    auto add = [this, found, bonus, memory = options.memory, &poll, &room](double limit,
                                                                           NearPaths& paths) {
      limit -= bonus;
      const NearBest<Real> follow{paths, found->bias, limit};
      std::vector<End> ends;
      for (End end : found->ends) {
        const double rest = follow.rest_of(end);
        if (end.gain + rest < limit) continue;
        end.gain = limit - rest;
        ends.push_back(end);
      }
      ways_.clear();
      way_arcs_.clear();
      pass_back<Real>(
          *found, std::move(ends), follow, memory, poll, room,
          [&](const Stretch&, const Lattice&, const Suffix& suffix, End& end) {
            end.rest = suffix.model;
            end.gain = limit - suffix.model;
            end.way = suffix.arc;
          },
          [&](const Stretch&, const Lattice&, const auto& machine, const Real*) {
            machine.beginnings([&](Index cell, Real gain) {
              if (!is_tight(0, cell)) return;
              const Suffix& suffix = suffix_of(0, cell);
              if (static_cast<double>(gain) + suffix.model < limit) return;
              paths.begin(static_cast<double>(gain) + bonus, suffix.cell);
            });
          });
    };
    const bool complete = reached(found->total);
    return {complete ? static_cast<double>(found->total) + bonus : kMinusInfinity, std::move(add)};
  }

  Near prepare_near(const Lattice& lattice, const AutomatonRows& machine, const Part& part,
                    const SearchOptions& options, Poll& poll) {
    auto stretches = cut<double>(lattice, static_cast<double>(machine.size()), options.memory);
    return pass_near<double>(std::move(stretches), AutomatonSlices(machine), part, options, poll,
                             doubles_.room);
  }

  Near prepare_near(const Lattice& lattice, const Alignment& alignment, const Part& part,
                    const SearchOptions& options, Poll& poll) {
    const auto prepare = [&](auto& rows) {
      using Real = std::remove_pointer_t<decltype(rows.room.data())>;
      return with_order(alignment.order, [&](auto order) {
        auto stretches = cut<Real>(lattice, row_cells<Real>(alignment), options.memory);
        AlignmentSlices<Real, order()> slices(alignment, stretches.most_states());
        return pass_near<Real>(std::move(stretches), std::move(slices), part, options, poll,
                               rows.room);
      });
    };
    return largest_total(lattice, alignment, options) <= kLargestTotal<float> ? prepare(floats_)
                                                                              : prepare(doubles_);
  }

  // The most that a path gains from the frontier of a stretch to each of its states.
  template <class Real>
  void most_gained(const Lattice& lattice, Index known, Bias<Real> bias, double step) {
    most_gained_.assign(lattice.num_nodes(), 0.0);
    for (Index state = std::max(known, 1); state < lattice.num_nodes(); ++state) {
      double most = kMinusInfinity;
      for (const Index arc : lattice.incoming(state)) {
        raise_to(most, (most_gained_[lattice.src[arc]] + (lattice.label[arc] == 0 ? 0.0 : step)) +
                           static_cast<double>(bias(lattice.score[arc])));
      }
      most_gained_[state] = most;
    }
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

  // The suffix of a cell that has one.
  const Suffix& suffix_of(Index state, Index cell) const {
    return block_[state * words_ + cell / 64][cell % 64];
  }

  // More bytes of rows are not worth the time it takes to have them.
  static constexpr std::size_t kWhole = std::size_t{1} << 25;
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  Rows<std::int16_t> shorts_;
  Rows<float> floats_;
  Rows<double> doubles_;
  // where the suffixes of each 64 cells are, if one of them is on a best path
  Room<Suffix*> rooms_;
  Suffix** block_ = nullptr;
  Blocks blocks_;
  // cells on a best path, in words of 64, so many of which make a row; and the states that have
  // some
  std::vector<std::uint64_t> tight_, touched_;
  std::size_t words_ = 0, memory_ = 0;
  std::vector<End> ends_;
  std::vector<Way> ways_;
  std::vector<Index> way_arcs_;
  std::vector<double> most_gained_;
};

}  // namespace lattices
