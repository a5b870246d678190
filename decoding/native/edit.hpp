// Expected edits over a lattice: the recursion of Xu, Povey, Mangu & Zhu 2011, and its minimum.
//
// A sentence of L words has 2L + 1 bins: one for each word (those of odd number) and an empty one
// before, between and after them, in which words that it lacks find a place. Cell c stands for the
// first c bins. With p(a) the probability that whoever reaches the target of arc a came by it,
//
//   alpha(n, c)   = sum over arcs a into n of p(a) alpha_a(c)
//   alpha_a(c)    = min { alpha(s, c - 1) + [w != bin c - 1],   the word stands in the bin
//                         alpha(s, c) + 1 + delta,               it stands in no bin
//                         alpha_a(c - 1) + [bin c - 1 != eps] }  the bin is without
//
// where s is the source of a and w its word. Costs are kept less c / 2, the number of words among
// the first c bins: then passing a bin is free. With e and o for the even and odd cells of s, and
// x, y for those of the arc, o <= e (it has one choice more), and neither e nor o ever rises with
// i: each is a mean of running minima. So of all words of the sentence that w matches, the last
// one is the best, and no running minimum is left:
//
//   z(i) = min { o(i - 1), o(k - 1) - 1 }          k <= i the last place of w in the sentence
//   x(i) = alpha_a(2i)     = min { z(i), e(i) + 1 + delta }
//   y(i) = alpha_a(2i + 1) = min { z(i), e(i) + 1 }
//
// Cost: O(arcs * L) for each sentence on the way.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lattices/native/best.hpp"
#include "lattices/native/dispatch.hpp"
#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/scratch.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"
#include "lattices/native/vectors.hpp"

namespace decoding {

using lattices::Index;
using lattices::kMinusInfinity;
using lattices::Lattice;

// What a word costs, on top of its edit, that is put into no bin: with it a word goes into a bin
// wherever that costs nothing.
inline constexpr double kUnplaced = 1e-9;
// Costs and posteriors that differ by less are equal, in whatever order they were added up.
inline constexpr double kTie = 1e-12;
// A word of the sentence is replaced by one that saves more edits than this.
inline constexpr double kGain = 1e-7;
// Alternatives that are less probable than the sentence's own by more than this are not swapped in.
inline constexpr double kClose = 0.5;

// A sum of posteriors, and of the times of begin and end, both multiplied by it.
struct Placed {
  double posterior = 0.0, begin = 0.0, end = 0.0;
  void add(double mass, double from, double to) {
    posterior += mass;
    begin += mass * from;
    end += mass * to;
  }
};

// The alternatives of the bins, each bin's from offset[bin] up to offset[bin + 1], the most
// probable first; `chosen` is the sentence's own.
struct Bins {
  std::vector<Index> label, offset, chosen;
  std::vector<Placed> placed;
};

struct Minimum {
  std::vector<Index> words;
  std::vector<double> objectives;
  bool settled = false;
};

// The masses at the cells 2i + 1 and 2i.
struct CellPair {
  double odd, even;
};

// An arc of the lattice that somebody takes, by the state it leads to.
struct EditStep {
  Index source, word;  // the number of its word, -1 for none
  double share;
  Index arc;
};

// How best to go on from a state: by the model, and by the posteriors of arcs.
struct EditWay {
  double node;  // how probable the state is
  double model, likely;
  Index model_arc, likely_arc;  // -1: it ends here
};

// What the search keeps by word, arc, state and cell.
struct EditBuffers {
  std::vector<EditStep> steps;
  std::vector<Index> offset;            // of each state's steps
  std::vector<Index> number;            // of a label, where `label` agrees
  std::vector<Index> label;             // the one behind each number of a word
  std::vector<double> forward, ending;  // by state, see EditSearch
  std::vector<double> share;            // of each arc, as in its step
  std::vector<EditWay> ways;            // by state
  std::vector<Index> first, next;       // places of a word in the sentence, from 1; 0: no more
  lattices::Room<double> rows;          // see EditSearch
  std::vector<double> beyond;           // see sweep
  lattices::RawVector<CellPair> mass;   // where `filled` says so
  std::vector<std::uint64_t> filled;
  lattices::RawVector<double> posterior;  // by word and bin
  std::vector<Placed> placed;             // the same with times, where there are any
  std::size_t bytes() const {
    return sizeof(EditStep) * steps.capacity() + sizeof(EditWay) * ways.capacity() +
           sizeof(CellPair) * mass.capacity() + sizeof(Placed) * placed.capacity() +
           sizeof(Index) * (offset.capacity() + number.capacity() + label.capacity() +
                            first.capacity() + next.capacity()) +
           sizeof(double) *
               (forward.capacity() + ending.capacity() + share.capacity() + rows.size() +
                beyond.capacity() + filled.capacity() + posterior.capacity());
  }
};

class EditSearch {
 public:
  // A path of the lattice has the mass exp(scale * its score).
  // The tables of one sentence may take so many bytes.
  EditSearch(const Lattice& lattice, double scale, std::span<const double> times,
             std::size_t memory = std::numeric_limits<std::size_t>::max())
      : lattice_(lattice), times_(times), memory_(memory) {
    find_steps(scale);
    weigh_ends(scale);
  }

  // The logarithm of the sum of all masses; -inf without a complete path.
  double mass() const { return mass_; }

  // Change the words of sentences as long as that lowers their expected edits, at most so often
  // each; the lowest that is found so, of equals the first. It is a minimum for changes of bins one
  // by one. What takes two at once, such as one word for two, is looked for from there: up to
  // `swaps` times another alternative is put into a bin, the closest to the sentence's own first,
  // and what that leads to takes the place of the minimum, if it is lower.
  Minimum minimise(const std::vector<std::vector<Index>>& beginnings, int changes, int swaps,
                   lattices::Poll& poll) {
    Minimum best;
    std::vector<std::vector<Index>> seen;
    for (const auto& words : beginnings) {
      const auto found = minimise(words, changes, seen, poll);
      if (found &&
          (best.objectives.empty() || found->objectives.back() < best.objectives.back() - kGain)) {
        best = std::move(*found);
      }
    }
    while (best.settled && swaps > 0 && static_cast<int>(best.objectives.size()) <= changes &&
           swap(best, changes, swaps, seen, poll)) {
    }
    return best;
  }

  // Find two paths by one pass backward: the model's best, as lattices::best_edges does, and the
  // one with the most probable arcs, with the highest sum of posteriors, each less kArc, so that of
  // two paths the one with fewer improbable arcs is taken:
  //
  //   node(q)   = end(q) + sum over arcs a out of q of p(a) node(dst a)
  //   model(q)  = max { final(q), max over a of score(a) + model(dst a) }
  //   likely(q) = max { 0 if q may end, max over a of p(a) node(dst a) - kArc + likely(dst a) }
  //
  // where p(a) node(dst a) is the posterior of a. Of equals the end, then the first arc.
  void find_ways() {
    constexpr double kArc = 0.05;
    at_->ways.resize(lattice_.final.size());
    for (Index state = lattice_.num_nodes() - 1; state >= lattice_.start; --state) {
      const double final = lattice_.final[state];
      EditWay way{at_->ending[state], final, final > kMinusInfinity ? 0.0 : kMinusInfinity, -1, -1};
      for (const Index arc : lattice_.outgoing(state)) {
        const EditWay& next = at_->ways[lattice_.dst[arc]];
        const double posterior = at_->share[arc] * next.node;
        const double model = lattice_.score[arc] + next.model;
        const double likely = posterior - kArc + next.likely;
        way.node += posterior;
        way.model_arc = model > way.model ? arc : way.model_arc;
        way.model = std::max(way.model, model);
        way.likely_arc = likely > way.likely ? arc : way.likely_arc;
        way.likely = std::max(way.likely, likely);
      }
      // too improbable for a number
      if (at_->forward[state] == kMinusInfinity) way.likely = kMinusInfinity;
      at_->ways[state] = way;
    }
  }

  // The arcs that lead on from the start, by one of the two.
  std::vector<Index> path(Index EditWay::* next) const {
    std::vector<Index> arcs;
    for (Index state = lattice_.start; at_->ways[state].*next >= 0;) {
      arcs.push_back(at_->ways[state].*next);
      state = lattice_.dst[arcs.back()];
    }
    return arcs;
  }

  // The alternatives of all bins of a sentence.
  Bins bins(std::span<const Index> words, lattices::Poll& poll) {
    align(words, poll);
    if (times_.empty()) {
      place<false>(poll);
    } else {
      place<true>(poll);
    }
    return arranged(words);
  }

 private:
  // Words that are met get numbers in turn; what an entry of the table means depends on them.
  Index number(Index label) {
    if (static_cast<std::size_t>(label) >= at_->number.size()) at_->number.resize(label + 1);
    Index& known = at_->number[label];
    if (static_cast<std::size_t>(known) >= num_words() || at_->label[known] != label) {
      known = static_cast<Index>(num_words());
      at_->label.push_back(label);
    }
    return known;
  }

  // How probable each arc is for those who reach its target, forward(q) = log of the sum of the
  // masses of the paths up to q. What an arc weighs is kept as its share until all are there.
  void find_steps(double scale) {
    const Index states = lattice_.num_nodes();
    auto& forward = at_->forward;
    forward.assign(states, kMinusInfinity);
    forward[lattice_.start] = 0.0;
    at_->label.clear();
    at_->share.assign(lattice_.src.size(), 0.0);
    at_->steps.resize(lattice_.src.size());
    at_->offset.resize(states + 1);
    Index size = 0;
    for (Index state = 0; state < states; ++state) {
      const Index begin = at_->offset[state] = size;
      double best = kMinusInfinity;
      const auto incoming = lattice_.incoming(state);
      for (const Index arc : incoming) {
        const Index source = lattice_.src[arc], label = lattice_.label[arc];
        if (forward[source] == kMinusInfinity || state <= lattice_.start) continue;
        const double weight = forward[source] + scale * lattice_.score[arc];
        at_->steps[size++] = {source, label == 0 ? -1 : number(label), weight, arc};
        best = std::max(best, weight);
      }
      if (best == kMinusInfinity) {
        size = begin;
        continue;
      }
      forward[state] = best;
      if (size == begin + 1) {
        // nothing to divide, as at most states
        at_->steps[begin].share = at_->share[at_->steps[begin].arc] = 1.0;
        continue;
      }
      double total = 0.0;
      for (Index step = begin; step < size; ++step) {
        double& share = at_->steps[step].share;
        share = std::exp(share - best);
        total += share;
      }
      for (Index step = begin; step < size; ++step) {
        at_->share[at_->steps[step].arc] = at_->steps[step].share /= total;
      }
      forward[state] += std::log(total);
    }
    at_->offset[states] = size;
  }

  // How probable it is to end in each state.
  void weigh_ends(double scale) {
    const auto states = lattice_.final.size();
    const auto weight = [&](std::size_t state) {
      const bool ends = lattice_.final[state] != kMinusInfinity;
      return ends ? at_->forward[state] + scale * lattice_.final[state] : kMinusInfinity;
    };
    at_->ending.assign(states, 0.0);
    double best = kMinusInfinity, total = 0.0;
    for (std::size_t state = 0; state < states; ++state) best = std::max(best, weight(state));
    if (best == kMinusInfinity) return;
    for (std::size_t state = 0; state < states; ++state) {
      if (weight(state) == kMinusInfinity) continue;
      at_->ending[state] = std::exp(weight(state) - best);
      total += at_->ending[state];
    }
    for (double& each : at_->ending) each /= total;
    mass_ = best + std::log(total);
  }

  // From one sentence; nothing, where that leads to one of `seen`, sentences on the way of earlier
  // ones to minima.
  std::optional<Minimum> minimise(const std::vector<Index>& words, int changes,
                                  std::vector<std::vector<Index>>& seen, lattices::Poll& poll) {
    const std::size_t earlier = seen.size();
    const auto known = [&](const std::vector<Index>& some) {
      return std::find(seen.begin(), seen.begin() + earlier, some) != seen.begin() + earlier;
    };
    if (known(words)) return std::nullopt;
    Minimum found;
    found.words = words;
    found.objectives.push_back(evaluate(words, poll));
    std::vector<Index> other;
    while (true) {
      poll(num_words() * num_bins());
      seen.push_back(found.words);
      found.settled = !lattices::dispatch([&] { return improved(found.words, other); });
      if (found.settled || static_cast<int>(found.objectives.size()) > changes) break;
      if (known(other)) return std::nullopt;
      const double edits = evaluate(other, poll);
      // words left out are cheap, not free: a gain that is no more than that is none
      found.settled = edits >= found.objectives.back();
      if (found.settled) break;
      found.objectives.push_back(edits);
      found.words = other;
    }
    // without an end the way of another one may lead further
    if (!found.settled) seen.resize(earlier);
    return found;
  }

  // Another word of a bin (0 for none), and how much less probable it is than the sentence's own.
  struct Alternative {
    double loss;
    std::size_t bin;
    Index label;
    bool operator<(const Alternative& other) const {
      return std::tie(loss, bin, label) < std::tie(other.loss, other.bin, other.label);
    }
  };

  // Whether one of the closest alternatives leads below a minimum, which is then replaced.
  bool swap(Minimum& best, int changes, int swaps, std::vector<std::vector<Index>>& seen,
            lattices::Poll& poll) {
    if (!is_own(best.words)) evaluate(best.words, poll);
    for (const Alternative& each : closest(swaps)) {
      std::vector<Index> words;
      for (std::size_t bin = 0; bin < 2 * best.words.size() + 1; ++bin) {
        const Index own = bin % 2 == 1 ? best.words[bin / 2] : 0;
        const Index label = bin == each.bin ? each.label : own;
        if (label != 0) words.push_back(label);
      }
      const auto found = minimise(words, changes, seen, poll);
      if (!found || found->objectives.back() >= best.objectives.back() - kGain) continue;
      for (const double edits : found->objectives) {
        if (edits < best.objectives.back()) best.objectives.push_back(edits);
      }
      best.words = found->words;
      best.settled = found->settled;
      return true;
    }
    return false;
  }

  bool is_own(std::span<const Index> words) const {
    return std::equal(words.begin(), words.end(), own_.begin(), own_.end(),
                      [&](Index label, Index number) { return at_->label[number] == label; });
  }

  // The alternatives that are least behind the words of the sentence, at most so many.
  std::vector<Alternative> closest(int most) const {
    std::vector<Alternative> found;
    const auto add = [&](std::size_t bin, double posterior, Index label) {
      // in steps, so that equals are equal however they were summed
      const double loss = std::floor((own(bin) - posterior) / kTie + 0.5);
      if (posterior > 0.0 && loss * kTie <= kClose) found.push_back({loss, bin, label});
    };
    for (std::size_t bin = 1; bin < num_bins(); bin += 2) add(bin, empty_[bin].posterior, 0);
    for (std::size_t word = 0; word < num_words(); ++word) {
      for (std::size_t bin = 0; bin < num_bins(); ++bin) {
        if (bin % 2 == 1 && own_[bin / 2] == static_cast<Index>(word)) continue;
        add(bin, at_->posterior[word * num_bins() + bin], at_->label[word]);
      }
    }
    const auto size = std::min(found.size(), static_cast<std::size_t>(most));
    std::partial_sort(found.begin(), found.begin() + size, found.end());
    found.resize(size);
    return found;
  }

  double evaluate(std::span<const Index> words, lattices::Poll& poll) {
    align(words, poll);
    lattices::dispatch([&] { place<false>(poll); });
    return expected();
  }

  // Rows of a state: an infinite cell, o, then e. Cells are padded to whole vectors; nothing that
  // a pad holds reaches a cell before it.
  std::size_t width() const { return (own_.size() + kLanes) / kLanes * kLanes; }
  std::size_t stride() const { return 2 * width() + kLanes; }
  double* odd(Index state) const { return rows_ + state * stride() + kLanes; }

  std::span<const EditStep> steps(Index state) const {
    return std::span(at_->steps)
        .subspan(at_->offset[state], at_->offset[state + 1] - at_->offset[state]);
  }

  // Refuse a sentence whose costs, masses and posteriors take too much memory.
  void check_memory() const {
    const auto states = static_cast<double>(lattice_.final.size());
    const double bytes = states * (sizeof(double) * static_cast<double>(stride()) +
                                   sizeof(CellPair) * (static_cast<double>(own_.size()) + 1.0)) +
                         static_cast<double>(num_words()) * static_cast<double>(num_bins()) *
                             (times_.empty() ? sizeof(double) : sizeof(Placed));
    if (bytes > static_cast<double>(memory_)) {
      throw lattices::too_large(std::to_string(lattice_.num_nodes()) +
                                    " lattice states x a sentence of " +
                                    std::to_string(own_.size()) + " words",
                                bytes, memory_);
    }
  }

  // The costs at all states for a sentence. Those of cells before the first word that is not the
  // last sentence's are there already.
  void align(std::span<const Index> words, lattices::Poll& poll) {
    const std::size_t size_before = rows_ == nullptr ? 0 : width();
    std::size_t same = 0;
    while (same < std::min(words.size(), own_.size()) && at_->label[own_[same]] == words[same])
      ++same;
    own_.clear();
    for (const Index label : words) own_.push_back(number(label));
    check_memory();
    const std::size_t size = width();
    at_->first.assign(num_words(), 0);
    at_->next.assign(own_.size() + 1, 0);
    at_->beyond.assign(size, std::numeric_limits<double>::infinity());
    at_->beyond.resize(2 * size, -1.0);
    for (std::size_t k = own_.size(); k > 0; --k) {
      at_->next[k] = std::exchange(at_->first[own_[k - 1]], static_cast<Index>(k));
    }
    rows_ = at_->rows.make(lattice_.final.size() * stride());
    lattices::dispatch([&] {
      for (std::size_t i = size == size_before ? (same + 1) / kLanes * kLanes : 0; i < size;) {
        switch ((size - i) / kLanes) {
          case 1:
            sweep<1>(i, poll);
            i += kLanes;
            break;
          case 2:
            sweep<2>(i, poll);
            i += 2 * kLanes;
            break;
          default:
            sweep<3>(i, poll);
            i += 3 * kLanes;
        }
      }
    });
  }

  using V = lattices::Vectors<double, 64>;
  using Vector = V::Vector;
  static constexpr std::size_t kLanes = V::count;

  // The forward pass over so many vectors of cells, from one on. `beyond` is infinite up to its
  // middle and then -1: read from k cells before the middle on, it is -1 from cell k on.
  template <std::size_t Vectors>
  void sweep(std::size_t begin, lattices::Poll& poll) {
    const std::size_t size = width();
    for (Index state = 0; state < lattice_.num_nodes(); ++state) {
      if (state % 64 == 0) {
        const auto arcs =
            at_->offset[std::min(state + 64, lattice_.num_nodes())] - at_->offset[state];
        poll(arcs * Vectors * kLanes);
      }
      Vector o[Vectors]{}, e[Vectors]{};
      for (const auto& [source, word, part, arc] : steps(state)) {
        const double* from = odd(source);
        const double* row = from + begin;
        if (word < 0) {
          for (std::size_t v = 0; v < Vectors; ++v) {
            o[v] += part * V::at(row + v * kLanes);
            e[v] += part * V::at(row + size + v * kLanes);
          }
          continue;
        }
        Vector z[Vectors];
        for (std::size_t v = 0; v < Vectors; ++v) z[v] = V::at(row + v * kLanes - 1);
        for (Index k = at_->first[word]; k > 0; k = at_->next[k]) {
          const double* beyond = at_->beyond.data() + size - k + begin;
          for (std::size_t v = 0; v < Vectors; ++v) {
            V::lower(z[v], from[k - 1] + V::at(beyond + v * kLanes));
          }
        }
        for (std::size_t v = 0; v < Vectors; ++v) {
          Vector x = V::at(row + size + v * kLanes), y = x + 1.0;
          x += 1.0 + kUnplaced;
          V::lower(x, z[v]);
          V::lower(y, z[v]);
          e[v] += part * x;
          o[v] += part * y;
        }
      }
      double* to = odd(state);
      to[-1] = std::numeric_limits<double>::infinity();
      for (std::size_t v = 0; v < Vectors; ++v) {
        V::at(to + begin + v * kLanes) = o[v];
        V::at(to + size + begin + v * kLanes) = e[v];
      }
    }
  }

  // The masses of a state at i; a bit remembers whether there are any.
  CellPair& mass(Index state, Index i) {
    std::uint64_t& bits = at_->filled[state * words_ + i / 64];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    CellPair& cells = at_->mass[state * (own_.size() + 1) + i];
    if ((bits & bit) == 0) cells = {0.0, 0.0};
    bits |= bit;
    return cells;
  }

  // Who stands in which bin, how probably, and from when to when; masses go backward along the
  // choices, in this order of preference among equals: the word stands in the bin, in none, the
  // bin is without. A state has mass at one or two i in the mean.
  template <bool Timed>
  void place(lattices::Poll& poll) {
    const auto bins = static_cast<std::size_t>(num_bins());
    words_ = own_.size() / 64 + 1;
    at_->filled.assign(lattice_.final.size() * words_, 0);
    at_->mass.resize(lattice_.final.size() * (own_.size() + 1));
    const auto clear = [&](auto& table) {  // by and by, for it may be large
      constexpr std::size_t kAtOnce = std::size_t{1} << 16;
      const std::size_t size = num_words() * bins;
      table.resize(size);
      for (std::size_t begin = 0; begin < size; begin += kAtOnce) {
        poll(kAtOnce);
        std::fill_n(table.begin() + begin, std::min(size - begin, kAtOnce),
                    typename std::remove_reference_t<decltype(table)>::value_type{});
      }
    };
    if constexpr (Timed) {
      clear(at_->placed);
    } else {
      clear(at_->posterior);
    }
    empty_.assign(bins, Placed{});
    left_out_ = 0.0;
    carried_.resize(own_.size() + 2);
    const auto length = static_cast<Index>(own_.size());
    for (Index state = lattice_.num_nodes() - 1; state >= lattice_.start; --state) {
      if (at_->ending[state] > 0.0) mass(state, length).odd += at_->ending[state];
      auto* last = carried_.data();
      for (std::size_t word = words_; word-- > 0;) {
        for (std::uint64_t bits = at_->filled[state * words_ + word]; bits != 0;) {
          const int bit = 63 - std::countl_zero(bits);
          bits ^= std::uint64_t{1} << bit;
          const auto i = static_cast<Index>(64 * word + bit);
          *last++ = {i, at_->mass[state * (own_.size() + 1) + i]};
        }
      }
      if (last == carried_.data()) continue;
      poll(steps(state).size() * static_cast<std::size_t>(last - carried_.data()));
      last->first = -1;
      for (const EditStep& step : steps(state)) {
        if (step.word < 0) {
          carry<Timed, true>(step, state);
        } else {
          carry<Timed, false>(step, state);
        }
      }
    }
    // what is left at the start passes all bins before
    double here = 0.0;
    const double moment = Timed ? times_[lattice_.start] : 0.0;
    const auto* next = carried_.data();
    for (Index i = length; i >= 0; --i) {
      const CellPair more = next->first == i ? next++->second : CellPair{};
      empty_[2 * i].add(here += more.odd, moment, moment);
      if (i > 0) empty_[2 * i - 1].add(here += more.even, moment, moment);
    }
  }

  // Carry the masses of a state back along an arc.
  template <bool Timed, bool Silent>
  void carry(const EditStep& step, Index target) {
    const Index source = step.source, word = step.word;
    const double part = step.share;
    const std::size_t bins = num_bins();
    const double* o = odd(source);
    const double* e = o + width();
    const double begin = Timed ? times_[source] : 0.0, end = Timed ? times_[target] : 0.0;
    const Index place = Silent ? 0 : at_->first[word];
    const auto put = [&](std::size_t bin, double here) {
      if constexpr (Timed) {
        at_->placed[static_cast<std::size_t>(word) * bins + bin].add(here, begin, end);
      } else {
        at_->posterior[static_cast<std::size_t>(word) * bins + bin] += here;
      }
    };
    // a bin is passed when the arc has been, and not before it as printed in the paper; an arc
    // without a word takes the place, and the time, of a word that is lacking
    double moment = end;
    const auto pass = [&](std::size_t bin, double here) {
      empty_[bin].posterior += here;
      if constexpr (Timed) {
        empty_[bin].end += here * moment;
        if (Silent && bin % 2 == 1) moment = begin;
        empty_[bin].begin += here * moment;
      }
    };
    // of what passes the bins behind
    double passing = 0.0;
    const auto* next = carried_.data();
    for (Index i = next->first; i >= 0; i = passing > 0.0 ? i - 1 : next->first) {
      const CellPair more = next->first == i ? next++->second : CellPair{};
      if (passing == 0.0) moment = end;
      // z and x, see above, and the cost of the word in the bin before the even cell
      double placed = o[i - 1], z = placed;
      for (Index k = place; k > 0 && k <= i; k = at_->next[k]) {
        z = std::min(z, o[k - 1] - 1.0);
        if (k == i) placed -= 1.0;
      }
      const double left_out = e[i] + (1.0 + kUnplaced);
      const double least = std::min(z, left_out) + kTie;
      double here = part * more.odd + passing;
      passing = 0.0;
      if (here > 0.0) {
        // bins are emptied where that costs nothing: no word is what a silent arc has for them
        if (Silent ? e[i] > o[i] + kTie : e[i] + 1.0 <= least) {
          if constexpr (Silent) {
            mass(source, i).odd += here;
          } else {
            mass(source, i).even += here;
            put(2 * i, here);
          }
          here = 0.0;
        } else {
          pass(2 * i, here);
        }
      }
      if (here == 0.0) moment = end;
      here += part * more.even;
      if (here == 0.0) continue;
      if (i == 0 || (Silent ? placed > e[i] + kTie : placed > least && left_out <= least)) {
        mass(source, i).even += here;
        if (!Silent) left_out_ += here;
      } else if (Silent || placed > least) {
        pass(2 * i - 1, here);
        passing = here;
      } else {
        mass(source, i - 1).odd += here;
        put(2 * i - 1, here);
      }
    }
  }

  std::size_t num_words() const { return at_->label.size(); }
  std::size_t num_bins() const { return 2 * own_.size() + 1; }
  double own(std::size_t bin) const {
    return bin % 2 == 1 ? at_->posterior[own_[bin / 2] * num_bins() + bin] : empty_[bin].posterior;
  }

  // The expected edits of the alignment: words left out, and bins with another word.
  double expected() const {
    double edits = left_out_ + static_cast<double>(num_bins());
    for (std::size_t bin = 0; bin < num_bins(); ++bin) edits -= own(bin);
    return std::max(0.0, edits);
  }

  // The most probable words of all bins, and whether one is not the sentence's own. A bin keeps its
  // word unless another one is more probable by kGain; equals among those that replace it: no word,
  // then the one with the smaller number.
  bool improved(std::span<const Index> words, std::vector<Index>& other) const {
    const std::size_t count = num_bins();
    std::vector<double> most(count);
    for (std::size_t bin = 0; bin < count; ++bin) most[bin] = empty_[bin].posterior;
    for (std::size_t word = 0; word < num_words(); ++word) {
      const double* row = at_->posterior.data() + word * count;
      for (std::size_t bin = 0; bin < count; ++bin) {
        most[bin] = row[bin] > most[bin] ? row[bin] : most[bin];
      }
    }
    bool changed = false;
    other.clear();
    for (std::size_t bin = 0; bin < count; ++bin) {
      Index best = bin % 2 == 1 ? words[bin / 2] : 0;
      if (most[bin] > own(bin) + kGain) {
        best = likeliest(bin, most[bin]);
        changed = true;
      }
      if (best != 0) other.push_back(best);
    }
    return changed;
  }

  Index likeliest(std::size_t bin, double most) const {
    if (empty_[bin].posterior >= most - kTie) return 0;
    Index first = -1;
    for (std::size_t word = 0; word < num_words(); ++word) {
      if (at_->posterior[word * num_bins() + bin] < most - kTie) continue;
      if (first < 0 || at_->label[word] < first) first = at_->label[word];
    }
    return first;
  }

  // Posteriors are compared in steps of kTie, so that equals are equal however they were summed.
  static double steps(const Placed& placed) { return std::floor(placed.posterior / kTie + 0.5); }

  // The sentence's own words are alternatives even where their posterior is 0.
  Bins arranged(std::span<const Index> words) const {
    Bins found;
    const std::size_t count = num_bins();
    found.offset.push_back(0);
    std::vector<std::pair<Index, Placed>> row;
    for (std::size_t bin = 0; bin < count; ++bin) {
      row.clear();
      if (bin % 2 == 0 || empty_[bin].posterior > 0.0) row.emplace_back(0, empty_[bin]);
      for (std::size_t word = 0; word < num_words(); ++word) {
        const Placed placed = times_.empty() ? Placed{at_->posterior[word * count + bin]}
                                             : at_->placed[word * count + bin];
        const bool chosen = bin % 2 == 1 && own_[bin / 2] == static_cast<Index>(word);
        if (placed.posterior > 0.0 || chosen) row.emplace_back(at_->label[word], placed);
      }
      std::sort(row.begin(), row.end(), [](const auto& left, const auto& right) {
        const double one = steps(left.second), other = steps(right.second);
        return one != other ? one > other : left.first < right.first;
      });
      const Index wanted = bin % 2 == 1 ? words[bin / 2] : 0;
      for (const auto& [label, placed] : row) {
        if (label == wanted) found.chosen.push_back(static_cast<Index>(found.label.size()));
        found.label.push_back(label);
        found.placed.push_back(placed);
      }
      found.offset.push_back(static_cast<Index>(found.label.size()));
    }
    return found;
  }

  Lattice lattice_;
  std::span<const double> times_;
  std::size_t memory_;
  double mass_ = kMinusInfinity;
  // of the sentence under way: its words, its alternatives without a word, and how many words stand
  // in no bin
  std::vector<Index> own_;
  std::vector<Placed> empty_;
  double left_out_ = 0.0;
  // of the state under way: i and masses, the last i first
  std::vector<std::pair<Index, CellPair>> carried_;
  // words of bits of a state
  std::size_t words_ = 1;
  double* rows_ = nullptr;
  lattices::Scratch<EditBuffers> at_;
};

// The arcs of the best path that spells these words; nothing without one.
//
//   best(q, i) = max over arcs a into q of score(a) + best(src a, i - [a has a word]), where that
//                word is word i
//
// from the start on, for those i alone that a state is reached with: few have more than one.
inline std::optional<std::vector<Index>> best_spelling(const Lattice& lattice,
                                                       std::span<const Index> words) {
  struct Item {
    double score;
    Index place, arc, before, next;  // the arc and the item it came by; another item of the state
  };
  std::vector<Item> items{{0.0, 0, -1, -1, -1}};
  std::vector<Index> first(lattice.num_nodes(), -1);
  first[lattice.start] = 0;
  const auto size = static_cast<Index>(words.size());
  Index end = -1;
  double most = kMinusInfinity;
  for (Index state = lattice.start; state < lattice.num_nodes(); ++state) {
    for (Index at = first[state]; at >= 0; at = items[at].next) {
      const double score = items[at].score;
      const Index place = items[at].place;
      if (place == size && score + lattice.final[state] > most) {
        most = score + lattice.final[state];
        end = at;
      }
      for (const Index arc : lattice.outgoing(state)) {
        const bool silent = lattice.label[arc] == 0;
        if (!silent && (place == size || lattice.label[arc] != words[place])) continue;
        const Item item{score + lattice.score[arc], silent ? place : place + 1, arc, at,
                        first[lattice.dst[arc]]};
        Index known = item.next;
        while (known >= 0 && items[known].place != item.place) known = items[known].next;
        if (known < 0) {
          first[lattice.dst[arc]] = static_cast<Index>(items.size());
          items.push_back(item);
        } else if (item.score > items[known].score) {
          items[known] = {item.score, item.place, arc, at, items[known].next};
        }
      }
    }
  }
  if (end < 0) return std::nullopt;
  std::vector<Index> arcs;
  for (Index at = end; items[at].arc >= 0; at = items[at].before) arcs.push_back(items[at].arc);
  std::reverse(arcs.begin(), arcs.end());
  return arcs;
}

// How a sentence with few expected edits is looked for; see EditSearch::minimise.
struct EditOptions {
  bool likely = true;  // whether to begin with the path of the most probable arcs, too
  int changes = 0, swaps = 0;
  std::size_t memory = 0;
};

// The sentence with few expected edits that some lead to, and a path that has it, if there is one.
struct LeastEdits {
  Minimum minimum;
  std::optional<std::vector<Index>> path;
  // the words of the model's best path, if the search began with them
  std::optional<std::vector<Index>> best;
  double mass = kMinusInfinity;  // not finite: nothing else is there
};

// `beginnings`: by default the words of the model's best path.
inline LeastEdits least_edits(const Lattice& lattice, double scale,
                              std::vector<std::vector<Index>> beginnings,
                              const EditOptions& options, lattices::Poll& poll) {
  EditSearch search(lattice, scale, {}, options.memory);
  LeastEdits found;
  found.mass = search.mass();
  if (!std::isfinite(found.mass)) return found;
  const auto words_of = [&](const std::vector<Index>& arcs) {
    std::vector<Index> words;
    words.reserve(arcs.size());
    for (const Index arc : arcs) {
      if (lattice.label[arc] != 0) words.push_back(lattice.label[arc]);
    }
    return words;
  };
  std::vector<Index> best;
  const bool has_best = beginnings.empty();
  if (has_best || options.likely) search.find_ways();
  if (has_best) {
    best = search.path(&EditWay::model_arc);
    found.best = words_of(best);
    beginnings.push_back(*found.best);
  }
  if (options.likely) beginnings.push_back(words_of(search.path(&EditWay::likely_arc)));
  found.minimum = search.minimise(beginnings, options.changes, options.swaps, poll);
  if (has_best && found.minimum.words == *found.best) {
    // nothing spells them better
    found.path = std::move(best);
  } else {
    found.path = best_spelling(lattice, found.minimum.words);
  }
  return found;
}

}  // namespace decoding
