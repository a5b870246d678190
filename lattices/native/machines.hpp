// Machines that are intersected with lattices: alignments to a reference, and explicit automata.
//
// A search keeps one row of gains for every lattice state; a machine says what its cells are and
// how rows follow from rows. Cells are numbered so that epsilon arcs lead from lower to higher
// ones. A machine offers
//
//   size()                       cells of a row, a multiple of the vector length
//   begin(row)                   the row of the state where sentences begin
//   fill(lattice, first, bias, rows)  the rows of lattice states from `first` on, in their order
//   beginnings(f), endings(f)    f(cell, gain) for the cells where a sentence may begin or end
//   target(cell)                 what a cell is, for the two that follow
//   silent_into(target, f)       f(source cell, gain) for every epsilon arc into a cell
//   reading_into(target, word, f)  the same for the arcs into it that read a word
//
// For lattices whose rows would not all fit in memory there are slices of a machine: the rows of
// some cells, which are computed from the same cells of other rows and from the edge of the slice
// to the left (AlignmentSlices, AutomatonSlices).
//
// Sums are taken in the same order everywhere, so that a transition which was best in `fill` is
// equal to the last bit where it is evaluated again.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "lattices/native/alignments.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/row_automata.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"
#include "lattices/native/vectors.hpp"

namespace lattices {

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

// What the words of a reference gain, in vectors. Places come in blocks of as many as a vector has
// lanes; an entry is a word with a block where it stands, and has the gains of matches that go on
// runs of 0, 1, ... matches: (m+1) w + b, and kWorst at the other places.
template <class Real>
class MatchGains {
  using L = GainVectors<Real>;
  struct Entry {
    Index block, next;
  };

 public:
  void assign(const Alignment& alignment) {
    assign(alignment, std::views::iota(std::size_t{0}, alignment.word.size()), 0);
  }
  // Take some matches, with places counted from one of them.
  template <class Matches>
  void assign(const Alignment& alignment, const Matches& matches, Index begin) {
    order_ = static_cast<std::size_t>(alignment.order);
    for (const Index word : known_) first_[word] = -1;
    known_.clear();
    entries_.clear();
    // what words gain that the reference has not
    gains_.assign(order_ * L::count, kWorst<Real>);
    Index last = 0;
    for (const auto match : matches) last = std::max(last, alignment.word[match]);
    // one more, for all words beyond
    if (first_.size() < static_cast<std::size_t>(last) + 2)
      first_.resize(static_cast<std::size_t>(last) + 2, -1);
    const AlignmentCosts<Real> costs(alignment);
    for (const auto match : matches) {
      if (alignment.word[match] <= 0) continue;
      const Index place = alignment.position[match] - begin;
      const Index entry = entry_of(alignment.word[match], place / L::count);
      Real* gain = gains_.data() + (entry + 1) * order_ * L::count + place % L::count;
      const auto weight = static_cast<Real>(alignment.weight[match]);
      for (std::size_t run = 0; run < order_; ++run, gain += L::count) {
        raise_to(*gain, costs.match(weight, static_cast<Index>(run)));
      }
    }
  }

  // The gains as loops take them that write to memory of their own meanwhile.
  class View {
   public:
    explicit View(const MatchGains& gains)
        : first_(gains.first_.data()),
          last_(static_cast<Index>(gains.first_.size()) - 1),
          entries_(gains.entries_.data()),
          gains_(gains.gains_.data()),
          size_(gains.order_ * L::count) {}

    // The first entry of a word, or -1; the blocks of the next ones are further to the right.
    Index first(Index word) const { return first_[std::min(word, last_)]; }
    // Gains by run, each with those of its block side by side.
    const Real* of(Index entry) const { return gains_ + (entry + 1) * size_; }
    // The entry of a block; the cursor, which began at the first one, goes on where it has come to.
    Index take(Index& cursor, Index block) const {
      if (cursor < 0 || entries_[cursor].block != block) return -1;
      return std::exchange(cursor, entries_[cursor].next);
    }
    // Gains of a word at a place, by run, each L::count behind the other; null where it is not.
    const Real* at(Index word, Index place) const {
      for (Index entry = first(word); entry >= 0; entry = entries_[entry].next) {
        if (entries_[entry].block != place / L::count) continue;
        const Real* gain = of(entry) + place % L::count;
        return reached(*gain) ? gain : nullptr;
      }
      return nullptr;
    }

   private:
    const Index* first_;
    Index last_;
    const Entry* entries_;
    const Real* gains_;
    std::size_t size_;
  };

 private:
  Index entry_of(Index word, Index block) {
    if (first_[word] < 0) known_.push_back(word);
    Index before = -1, here = first_[word];
    for (; here >= 0 && entries_[here].block < block; here = entries_[here].next) before = here;
    if (here >= 0 && entries_[here].block == block) return here;
    const auto made = static_cast<Index>(entries_.size());
    (before < 0 ? first_[word] : entries_[before].next) = made;
    entries_.push_back({block, here});
    gains_.resize(gains_.size() + order_ * L::count, kWorst<Real>);
    return made;
  }

  std::size_t order_ = 1;
  // by word: a table that is looked into without a branch; those that have entries
  std::vector<Index> first_{-1}, known_;
  std::vector<Entry> entries_;
  std::vector<Real> gains_;
};

// Places begin <= i < end of a reference.
struct Places {
  Index begin, end;
};

// The rows of all alignments to one reference (alignments.hpp), or some places of them, for a
// lattice state q and its incoming arcs p -word-> q with bias s. Order is the highest m + 1, or 0
// if that is known only when it runs.
//
// All words cost the same as substitutions and insertions, so both come from one maximum over the
// arcs, which is moved by a place once a state; and so are matches, whose gains are vectors
// (MatchGains). Closing a row under deletions is a running maximum.
// Cost: O((arcs + states) x length x n / lanes).
template <class Real, Index Order>
class AlignmentRows {
 public:
  AlignmentRows(const Alignment& alignment, const MatchGains<Real>& gains)
      : AlignmentRows(alignment, gains, {0, alignment.length + 1}) {}
  // `gains` are those of the same places, counted from the first of them.
  AlignmentRows(const Alignment& alignment, const MatchGains<Real>& gains, Places places)
      : length_(alignment.length - places.begin),
        order_(alignment.order),
        stride_(L::ceil(places.end - places.begin)),
        base_(stride_ * (order_ - 1)),
        costs_(alignment),
        ending_(static_cast<Real>(-alignment.length * alignment.deletion)),
        gains_(gains) {}

  std::size_t size() const { return static_cast<std::size_t>(base_) + stride_; }

  template <class Use>
  void beginnings(Use&& use) const {
    use(base_, Real{0});
  }
  // takes back what the places of a row carry for deletions
  template <class Use>
  void endings(Use&& use) const {
    if (length_ < stride_) use(base_ + length_, ending_);
  }

  void begin(Real* row) const {
    std::fill(row, row + base_, kWorst<Real>);
    std::fill(row + base_, row + size(), Real{0});
  }

  // What a row hands to the places on its right, in so many numbers.
  std::size_t edge_size() const { return static_cast<std::size_t>(order()) + 2; }

  // `edges`, if there are any, are those of the places to the left, and become those of these.
  void fill(const Lattice& lattice, Index first, Bias<Real> bias, Real* rows, Poll& poll,
            Real* edges = nullptr) const {
    const auto row_length = size();
    Scratch scratch(order());
    // copies, of which the compiler knows that writing to a row does not change them
    const AlignmentRows self = *this;
    const Lattice graph = lattice;
    for (Index state = first; state < graph.num_nodes(); ++state) {
      poll(graph.incoming(state).size() * static_cast<std::size_t>(row_length));
      Real* edge = edges == nullptr ? nullptr : edges + state * edge_size();
      self.fill_row(graph, bias, rows, rows + state * row_length, graph.incoming(state), scratch,
                    edge);
    }
  }

  struct Target {
    Index cell, place, run;
  };
  Target target(Index cell) const {
    if (cell >= base_) return {cell, cell - base_, 0};
    return {cell, cell % stride_, cell / stride_ + 1};
  }

  template <class Use>
  void silent_into(const Target& target, Use&& use) const {
    if (target.run > 0) return;
    if (target.place > 0) use(target.cell - 1, Real{0});
    for (Index run = 1; run < order(); ++run) use(cell_of(target.place, run), Real{0});
  }

  template <class Use>
  void reading_into(const Target& target, Index word, Use&& use) const {
    const auto [cell, place, run] = target;
    if (run == 0) {
      use(cell, costs_.stay);
      if (place > 0) use(cell - 1, costs_.move);
      if (order() > 1) return;
    }
    if (place == 0) return;
    const Real* gain = gains_.at(word, place - 1);
    if (gain == nullptr) return;
    if (run > 0) use(cell_of(place - 1, run - 1), gain[(run - 1) * L::count]);
    if (run == order() - 1) use(cell_of(place - 1, run), gain[run * L::count]);
  }

 private:
  using L = GainVectors<Real>;
  using Vector = typename L::Vector;

  // Maxima of matches over the arcs into a state, for one block of places, by the run that they
  // make (in the place of 0 where there are no runs), and `left`, the block before.
  struct Scratch {
    explicit Scratch(Index order) : memory(Order == 0 ? 2 * order * L::count : 0) {}

    Vector& matched(Index run) {
      if constexpr (Order == 0) return L::at(memory.data() + 2 * run * L::count);
      return own[2 * run];
    }
    Vector& left(Index run) {
      if constexpr (Order == 0) return L::at(memory.data() + (2 * run + 1) * L::count);
      return own[2 * run + 1];
    }
    std::vector<Real> memory;
    Vector own[Order == 0 ? 2 : 2 * Order];
    std::vector<Index> cursors;
  };

  Index order() const { return Order > 0 ? Order : order_; }

  // The cells without a run come last, so that epsilon arcs lead upwards.
  Index cell_of(Index place, Index run) const {
    return run == 0 ? base_ + place : (run - 1) * stride_ + place;
  }

  void fill_row(const Lattice& lattice, Bias<Real> bias, const Real* rows, Real* row,
                std::span<const Index> arcs, Scratch& scratch, Real* edge) const {
    const auto row_length = size();
    const Vector worst = Vector{} + kWorst<Real>;
    const bool one_block = stride_ == L::count;
    if (!one_block) {
      scratch.cursors.clear();
      for (const Index arc : arcs) scratch.cursors.push_back(gains_.first(lattice.label[arc]));
    }
    Vector left_of_any = worst, carried = worst;
    for (Index run = 0; run < order(); ++run) scratch.left(run) = worst;
    if (edge != nullptr) {
      left_of_any = Vector{} + edge[0];
      carried = Vector{} + edge[1];
      for (Index run = 0; run < order(); ++run) scratch.left(run) = Vector{} + edge[2 + run];
    }
    for (Index block = 0; block < stride_; block += L::count) {
      Vector any = worst;
      bool silent = false;
      for (Index run = 0; run < order(); ++run) scratch.matched(run) = worst;
      for (std::size_t at = 0; at < arcs.size(); ++at) {
        const Index arc = arcs[at];
        if (lattice.label[arc] == 0) {
          silent = true;
          continue;
        }
        const Index entry = one_block ? gains_.first(lattice.label[arc])
                                      : gains_.take(scratch.cursors[at], block / L::count);
        const Real* source = rows + lattice.src[arc] * row_length + block;
        const Real extra = bias(lattice.score[arc]);
        const Vector plain = L::at(source + base_) + extra;
        L::raise(any, plain);
        // adding kWorst costs less than a branch that is often taken and often not, but of doubles
        if (sizeof(Real) == sizeof(double) && entry < 0) continue;
        const Real* gains = gains_.of(entry);
        L::raise(scratch.matched(std::min<Index>(1, order() - 1)), plain + L::at(gains));
        for (Index run = 1; run < order(); ++run, source += stride_) {
          gains += L::count;
          L::raise(scratch.matched(std::min(run + 1, order() - 1)),
                   (L::at(source) + extra) + L::at(gains));
        }
      }
      Vector plain, inserted = any + costs_.stay;
      L::template move<1>(left_of_any, any, plain);
      plain += costs_.move;
      L::raise(plain, inserted);
      for (Index run = std::min<Index>(1, order() - 1); run < order(); ++run) {
        Vector here;
        L::template move<1>(scratch.left(run), scratch.matched(run), here);
        if (run > 0) L::at(row + block + (run - 1) * stride_) = here;
        L::raise(plain, here);
        scratch.left(run) = scratch.matched(run);
      }
      if (silent) read_nothing(lattice, bias, rows, row, block, arcs, plain);
      L::carry_on(plain, kWorst<Real>);
      L::raise(plain, carried);
      L::at(row + base_ + block) = plain;
      carried = Vector{} + plain[L::count - 1];
      left_of_any = any;
    }
    if (edge != nullptr) {
      edge[0] = left_of_any[L::count - 1];
      edge[1] = carried[0];
      for (Index run = 0; run < order(); ++run) edge[2 + run] = scratch.left(run)[L::count - 1];
    }
  }

  // Epsilon arcs of the lattice: raise the runs of a block, and the gains without a run.
  void read_nothing(const Lattice& lattice, Bias<Real> bias, const Real* rows, Real* row,
                    Index block, std::span<const Index> arcs, Vector& plain) const {
    for (const Index arc : arcs) {
      if (lattice.label[arc] != 0) continue;
      const Real* source = rows + lattice.src[arc] * size() + block;
      const Real extra = bias(lattice.score[arc]);
      for (Index cell = 0; cell < base_; cell += stride_) {
        L::raise(L::at(row + block + cell), L::at(source + cell) + extra);
      }
      L::raise(plain, L::at(source + base_) + extra);
    }
  }

  Index length_, order_, stride_, base_;
  AlignmentCosts<Real> costs_;
  Real ending_;
  typename MatchGains<Real>::View gains_;
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
  explicit AutomatonRows(const RowAutomaton& automaton) {
    const std::size_t states = automaton.final.size(), arcs = automaton.src.size();
    // the place of each state in the order in which epsilon arcs lead forward
    std::vector<Index> rank(states);
    for (std::size_t at = 0; at < states; ++at) rank[automaton.order[at]] = static_cast<Index>(at);
    auto by_target = group(arcs, 2 * states, [&](std::size_t arc) {
      return 2 * static_cast<std::size_t>(rank[automaton.dst[arc]]) + (automaton.label[arc] != 0);
    });
    offset_ = std::move(by_target.offset);
    for (const Index arc : by_target.entry) {
      arcs_.push_back({rank[automaton.src[arc]], rank[automaton.dst[arc]], automaton.label[arc],
                       automaton.gain[arc]});
    }
    for (std::size_t at = 0; at < arcs; ++at) {
      if (arcs_[at].label == RowAutomaton::kAny) any_.push_back(static_cast<Index>(at));
    }
    next_.assign(arcs, -1);
    for (auto at = static_cast<Index>(arcs) - 1; at >= 0; --at) {
      if (arcs_[at].label <= 0) continue;
      Index& first = first_.try_emplace(arcs_[at].label, -1).first.value();
      next_[at] = std::exchange(first, at);
    }
    initial_.assign(states, kMinusInfinity);
    final_.assign(states, kMinusInfinity);
    for (std::size_t state = 0; state < states; ++state) {
      initial_[rank[state]] = automaton.initial[state];
      final_[rank[state]] = automaton.final[state];
    }
  }

  std::size_t size() const { return initial_.size(); }
  static std::size_t edge_size() { return 0; }

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

  void begin(double* row) const {
    std::copy(initial_.begin(), initial_.end(), row);
    close(row);
  }

  void fill(const Lattice& lattice, Index first, Bias<double> bias, double* rows, Poll& poll,
            double* = nullptr) const {
    std::vector<double> incoming(size());
    for (Index state = first; state < lattice.num_nodes(); ++state) {
      poll(lattice.incoming(state).size() * static_cast<std::size_t>(size()));
      double* row = rows + state * size();
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
        const auto known = first_.find(lattice.label[arc]);
        for (Index at = known == first_.end() ? -1 : known->second; at >= 0; at = next_[at]) {
          raise_to(row[arcs_[at].dst], (source[arcs_[at].src] + extra) + arcs_[at].gain);
        }
      }
      for (const Index at : any_) {
        raise_to(row[arcs_[at].dst], incoming[arcs_[at].src] + arcs_[at].gain);
      }
      close(row);
    }
  }

  static Index target(Index cell) { return cell; }
  template <class Use>
  void silent_into(Index cell, Use&& use) const {
    for (Index at = offset_[2 * cell]; at < offset_[2 * cell + 1]; ++at) {
      use(arcs_[at].src, arcs_[at].gain);
    }
  }
  template <class Use>
  void reading_into(Index cell, Index word, Use&& use) const {
    for (Index at = offset_[2 * cell + 1]; at < offset_[2 * cell + 2]; ++at) {
      if (arcs_[at].label == word || arcs_[at].label == RowAutomaton::kAny)
        use(arcs_[at].src, arcs_[at].gain);
    }
  }

 private:
  struct Arc {
    Index src, dst, label;
    double gain;
  };

  // Raise the gains of a row along epsilon arcs.
  void close(double* row) const {
    for (std::size_t cell = 0; cell < size(); ++cell) {
      silent_into(static_cast<Index>(cell),
                  [&](Index source, double gain) { raise_to(row[cell], row[source] + gain); });
    }
  }

  std::vector<Arc> arcs_;
  std::vector<Index> offset_, any_, next_;
  std::vector<double> initial_, final_;
  tsl::robin_map<Index, Index, MixedHash> first_;  // arcs of each word, then next_
};

// The rows of an alignment slice by slice. Full rows have the layout of AlignmentRows.
template <class Real, Index Order>
class AlignmentSlices {
  using L = GainVectors<Real>;

 public:
  using Rows = AlignmentRows<Real, Order>;

  // Slices whose rows for so many lattice states stay in the processor's cache.
  AlignmentSlices(const Alignment& alignment, std::size_t states)
      : alignment_(alignment),
        layers_(static_cast<std::size_t>(alignment.order)),
        stride_(L::ceil(alignment.length + 1)),
        by_place_(group(alignment.word.size(), static_cast<std::size_t>(alignment.length),
                        [&](std::size_t match) { return alignment.position[match]; })) {
    const auto cells = kCache / (states * layers_ * sizeof(Real));
    width_ = std::min(
        L::ceil(std::max(static_cast<Index>(std::min<std::size_t>(cells, stride_)), kNarrowest)),
        stride_);
    for (Index begin = 0; begin < stride_; begin += width_) {
      assign(panels_.emplace_back(), {begin, std::min(begin + width_, stride_)});
    }
  }

  // Cells of a full row.
  std::size_t size() const { return layers_ * stride_; }
  // Slices that follow each other, from left to right.
  std::size_t num_panels() const { return panels_.size(); }
  Places panel(std::size_t number) const {
    const auto begin = static_cast<Index>(number) * width_;
    return {begin, std::min(begin + width_, stride_)};
  }
  Rows panel_rows(std::size_t number) const { return {alignment_, panels_[number], panel(number)}; }
  // The rows of any slice; those of the one before can no longer be used.
  Rows rows(Places places) {
    assign(window_, places);
    return {alignment_, window_, places};
  }

  // Copy the cells of a slice from a full row, and back.
  void take(const Real* full, Places places, Real* slice) const {
    const std::size_t width = places.end - places.begin;
    for (std::size_t layer = 0; layer < layers_; ++layer, full += stride_, slice += width) {
      std::copy_n(full + places.begin, width, slice);
    }
  }
  void put(const Real* slice, Places places, Real* full) const {
    const std::size_t width = places.end - places.begin;
    for (std::size_t layer = 0; layer < layers_; ++layer, full += stride_, slice += width) {
      std::copy_n(slice, width, full + places.begin);
    }
  }
  // A cell of a slice in a full row, and back.
  Index widen(Index cell, Places places) const {
    const Index width = places.end - places.begin;
    return cell / width * stride_ + places.begin + cell % width;
  }
  Index narrow(Index cell, Places places) const {
    const Index width = places.end - places.begin;
    return cell / stride_ * width + cell % stride_ - places.begin;
  }

  // The most that reading a word can gain.
  double largest_step() const {
    return std::max(alignment_.heaviest * alignment_.order + std::max(alignment_.deletion, 0.0),
                    -alignment_.insertion);
  }
  // Whole vectors of places that have all cells that reach a gain, up to the place of a cell: on
  // the way there places only ascend, and without a run gains ascend with the places and are the
  // highest of their place.
  Places reaching(const Real* full, double gain, Places known) const {
    const Real* row = full + (layers_ - 1) * stride_;
    const Real* found = std::lower_bound(row, row + known.end, gain);
    return {std::min(known.begin, L::floor(static_cast<Index>(found - row))), known.end};
  }
  // Nothing, and the place of a cell.
  Places upto(Index cell) const {
    const Index end = L::floor(cell % stride_) + L::count;
    return {end - L::count, end};
  }

 private:
  static constexpr std::size_t kCache = std::size_t{1} << 18;
  static constexpr Index kNarrowest = 64;

  void assign(MatchGains<Real>& gains, Places places) const {
    const auto& [offset, entry] = by_place_;
    const auto first = offset[std::min(places.begin, alignment_.length)];
    const auto last = offset[std::min(places.end, alignment_.length)];
    gains.assign(alignment_, std::span(entry).subspan(first, last - first), places.begin);
  }

  const Alignment& alignment_;
  std::size_t layers_;
  Index stride_, width_;
  Groups by_place_;
  std::vector<MatchGains<Real>> panels_;
  MatchGains<Real> window_;
};

// An automaton has one slice, the whole: epsilon arcs may lead from any cell to any that is higher.
class AutomatonSlices {
 public:
  using Rows = const AutomatonRows&;

  explicit AutomatonSlices(const AutomatonRows& rows) : rows_(rows) {}

  std::size_t size() const { return rows_.size(); }
  std::size_t num_panels() const { return 1; }
  Places panel(std::size_t) const { return {0, static_cast<Index>(size())}; }
  Rows panel_rows(std::size_t) const { return rows_; }
  Rows rows(Places) const { return rows_; }
  void take(const double* full, Places, double* slice) const { std::copy_n(full, size(), slice); }
  void put(const double* slice, Places, double* full) const { std::copy_n(slice, size(), full); }
  static Index widen(Index cell, Places) { return cell; }
  static Index narrow(Index cell, Places) { return cell; }
  static double largest_step() { return std::numeric_limits<double>::infinity(); }
  Places upto(Index) const { return panel(0); }
  Places reaching(const double*, double, Places known) const { return known; }

 private:
  const AutomatonRows& rows_;
};

}  // namespace lattices
