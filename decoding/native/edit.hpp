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
// Rows of long sentences are kept in a band of positions, which doubles until nothing that is read
// off depends on what is outside (edit_rows.hpp).
//
// Cost: O(arcs * min { L, band }) for each sentence on the way.
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

#include "decoding/native/edit_rows.hpp"
#include "lattices/native/best.hpp"
#include "lattices/native/dispatch.hpp"
#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/scratch.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::kMinusInfinity;
using lattices::Lattice;

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
  bool proven = true;  // whether bands were wide enough
};

// The masses at the cells 2i + 1 and 2i.
struct CellPair {
  double odd, even;
};

// How probably a word stands in a bin.
struct EditEntry {
  Index word, bin;
  Placed placed;
};

// How best to go on from a state: by the model, and by the posteriors of arcs.
struct EditWay {
  double node;  // how probable the state is
  double model, likely;
  Index model_arc, likely_arc;  // -1: it ends here
};

// What the search keeps by word, arc, state and cell.
struct EditBuffers {
  EditSteps steps;
  std::vector<Index> number;            // of a label, where `label` agrees
  std::vector<Index> label;             // the one behind each number of a word
  std::vector<double> forward, ending;  // by state, see EditSearch
  std::vector<double> share;            // of each arc, as in its step
  std::vector<EditWay> ways;            // by state
  EditRowBuffers rows;
  std::vector<double> centres;         // by state: where in a sentence it is, from 0 to 1
  lattices::RawVector<CellPair> mass;  // of the cells of rows, where `filled` says so
  std::vector<std::uint64_t> filled;
  std::vector<EditEntry> entries;
  lattices::RawVector<double> posterior;         // by word and bin, where that is small
  tsl::robin_map<std::uint64_t, Index> numbers;  // of entries, from 1, by word and bin
  std::size_t bytes() const {
    return rows.bytes() + sizeof(EditStep) * steps.all.capacity() +
           sizeof(EditWay) * ways.capacity() + sizeof(CellPair) * mass.capacity() +
           sizeof(EditEntry) * entries.capacity() +
           (sizeof(std::uint64_t) + 2 * sizeof(Index)) * numbers.bucket_count() +
           sizeof(Index) * (steps.offset.capacity() + steps.last.capacity() + number.capacity() +
                            label.capacity()) +
           sizeof(double) * (forward.capacity() + ending.capacity() + share.capacity() +
                             centres.capacity() + filled.capacity() + posterior.capacity());
  }
};

class EditSearch {
 public:
  // A path of the lattice has the mass exp(scale * its score).
  // The tables of one sentence may take so many bytes.
  EditSearch(const Lattice& lattice, double scale, std::span<const double> times,
             std::size_t memory)
      : lattice_(lattice), times_(times), memory_(memory) {
    at_->centres.clear();
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
    best.proven = outside_ == Outside::Least;
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
    if (times_.empty()) {
      settle<false>(words, poll);
    } else {
      settle<true>(words, poll);
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
    auto& steps = at_->steps.all;
    auto& offset = at_->steps.offset;
    steps.resize(lattice_.src.size());
    offset.resize(states + 1);
    at_->steps.last.assign(states, -1);
    Index size = 0;
    for (Index state = 0; state < states; ++state) {
      const Index begin = offset[state] = size;
      double best = kMinusInfinity;
      const auto incoming = lattice_.incoming(state);
      for (const Index arc : incoming) {
        const Index source = lattice_.src[arc], label = lattice_.label[arc];
        if (forward[source] == kMinusInfinity || state <= lattice_.start) continue;
        const double weight = forward[source] + scale * lattice_.score[arc];
        steps[size++] = {source, label == 0 ? -1 : number(label), weight, arc};
        at_->steps.last[source] = state;
        best = std::max(best, weight);
      }
      if (best == kMinusInfinity) {
        size = begin;
        continue;
      }
      forward[state] = best;
      if (size == begin + 1) {
        // nothing to divide, as at most states
        steps[begin].share = at_->share[steps[begin].arc] = 1.0;
        continue;
      }
      double total = 0.0;
      for (Index step = begin; step < size; ++step) {
        double& share = steps[step].share;
        share = std::exp(share - best);
        total += share;
      }
      for (Index step = begin; step < size; ++step) {
        at_->share[steps[step].arc] = steps[step].share /= total;
      }
      forward[state] += std::log(total);
    }
    offset[states] = size;
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
      poll(at_->entries.size() + num_bins());
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
    for (const auto& [word, bin, placed] : at_->entries) {
      if (!is_own(word, bin)) add(bin, placed.posterior, at_->label[word]);
    }
    const auto size = std::min(found.size(), static_cast<std::size_t>(most));
    std::partial_sort(found.begin(), found.begin() + size, found.end());
    found.resize(size);
    return found;
  }

  double evaluate(std::span<const Index> words, lattices::Poll& poll) {
    settle<false>(words, poll);
    return expected();
  }

  // Rows and masses of bands so wide, and alternatives of bins.
  double bytes(std::size_t width) const {
    return static_cast<double>(lattice_.final.size()) *
               static_cast<double>(EditRows::bytes(width) + sizeof(CellPair) * width) +
           static_cast<double>(at_->steps.all.size() * sizeof(EditEntry));
  }

  // Where in the sentence states are: at first, by the expected number of words before them.
  void find_centres() {
    if (!at_->centres.empty()) return;
    at_->centres.assign(lattice_.final.size(), 0.0);
    double all = 0.0;
    for (Index state = 0; state < lattice_.num_nodes(); ++state) {
      double& words = at_->centres[state];
      for (const auto& [source, word, part, arc] : at_->steps.into(state)) {
        words += part * (at_->centres[source] + (word < 0 ? 0.0 : 1.0));
      }
      all += at_->ending[state] * words;
    }
    for (Index state = 0; state < lattice_.num_nodes(); ++state) {
      double& words = at_->centres[state];
      words = at_->ending[state] > 0.0 || words >= all ? 1.0 : words / all;
    }
  }

  // Align the lattice to a sentence, and find who stands in which bin. The band doubles until what
  // is found is that of whole rows; where memory does not suffice, it is that of the band.
  template <bool Timed>
  void settle(std::span<const Index> words, lattices::Poll& poll) {
    std::size_t same = 0;
    while (same < std::min(words.size(), own_.size()) && at_->label[own_[same]] == words[same])
      ++same;
    own_.clear();
    for (const Index label : words) own_.push_back(number(label));
    const std::size_t whole = EditRows::whole(own_.size());
    if (whole > 2 * kNarrow) {
      find_centres();
    } else {
      width_ = whole;
    }
    width_ = std::max(width_, std::min(whole, kNarrow));
    const auto refuse = [&] {
      throw lattices::too_large(std::to_string(lattice_.num_nodes()) +
                                    " lattice states x a sentence of " +
                                    std::to_string(own_.size()) + " words",
                                bytes(std::min(2 * width_, whole)), memory_);
    };
    if (bytes(std::min(width_, whole)) > static_cast<double>(memory_)) refuse();
    while (true) {
      rows_.align(own_, num_words(), same, width_, at_->centres, outside_, poll);
      if (lattices::dispatch([&] {
            return rows_.is_whole() ? place<Timed, false>(poll) : place<Timed, true>(poll);
          }))
        return;
      same = 0;
      if (outside_ == Outside::Most) refuse();
      if (bytes(std::min(2 * width_, whole)) > static_cast<double>(memory_)) {
        outside_ = Outside::Most;
      } else {
        width_ *= 2;
      }
    }
  }

  // The masses of a state at the i-th cell of its row; a bit remembers whether there are any.
  CellPair& mass(Index state, Index i) {
    std::uint64_t& bits = at_->filled[state * words_ + i / 64];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    CellPair& cells = at_->mass[state * rows_.width() + i];
    if ((bits & bit) == 0) cells = {0.0, 0.0};
    bits |= bit;
    return cells;
  }

  // Who stands in which bin, how probably, and from when to when; masses go backward along the
  // choices, in this order of preference among equals: the word stands in the bin, in none, the
  // bin is without. A state has mass at one or two i in the mean. False, where that depends on what
  // is outside of a band.
  template <bool Timed, bool Banded>
  bool place(lattices::Poll& poll) {
    clear(poll);
    const auto length = static_cast<Index>(own_.size());
    for (Index state = lattice_.num_nodes() - 1; state >= lattice_.start; --state) {
      if (at_->ending[state] > 0.0) {
        if (rows_.first(state) > length || rows_.end(state) < length) return false;
        mass(state, length - rows_.first(state)).odd += at_->ending[state];
      }
      auto* last = carried_.data();
      for (std::size_t word = words_; word-- > 0;) {
        for (std::uint64_t bits = at_->filled[state * words_ + word]; bits != 0;) {
          const int bit = 63 - std::countl_zero(bits);
          bits ^= std::uint64_t{1} << bit;
          const auto i = static_cast<Index>(64 * word + bit);
          *last++ = {rows_.first(state) + i, at_->mass[state * rows_.width() + i]};
        }
      }
      if (last == carried_.data()) continue;
      const auto steps = at_->steps.into(state);
      poll(steps.size() * static_cast<std::size_t>(last - carried_.data()));
      last->first = -1;
      if (Banded) recentre(state);
      for (const EditStep& step : steps) {
        if (!(step.word < 0 ? carry<Timed, Banded, true>(step, state)
                            : carry<Timed, Banded, false>(step, state))) {
          return false;
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
    gather();
    for (std::size_t bin = 0; bin < num_bins(); bin += 2)
      own_posterior_[bin] = empty_[bin].posterior;
    for (const auto& [word, bin, placed] : at_->entries) {
      if (is_own(word, bin)) own_posterior_[bin] = placed.posterior;
    }
    return true;
  }

  void clear(lattices::Poll& poll) {
    constexpr std::size_t kLargest = std::size_t{1} << 18;
    const auto bins = static_cast<std::size_t>(num_bins());
    words_ = rows_.width() / 64 + 1;
    at_->filled.assign(lattice_.final.size() * words_, 0);
    at_->mass.resize(lattice_.final.size() * rows_.width());
    at_->entries.clear();
    // what was long before would take long to clear
    if (at_->numbers.bucket_count() > 8 * at_->numbers.size()) at_->numbers = {};
    at_->numbers.clear();
    tabled_ = times_.empty() && num_words() * bins <= kLargest;
    at_->posterior.resize(tabled_ ? num_words() * bins : 0);
    std::fill(at_->posterior.begin(), at_->posterior.end(), 0.0);
    poll(at_->filled.size() + at_->posterior.size());
    empty_.assign(bins, Placed{});
    own_posterior_.assign(bins, 0.0);
    left_out_ = 0.0;
    carried_.resize(rows_.width() + 2);
  }

  // What is in the table.
  void gather() {
    const double* posterior = at_->posterior.data();
    const std::size_t bins = num_bins(), words = at_->posterior.size() / bins;
    for (std::size_t word = 0; word < words; ++word) {
      for (std::size_t bin = 0; bin < bins; ++bin, ++posterior) {
        if (*posterior > 0.0) {
          at_->entries.push_back({static_cast<Index>(word), static_cast<Index>(bin), {*posterior}});
        }
      }
    }
  }

  // Where in the sentence the mass of a state is.
  void recentre(Index state) {
    if (at_->ending[state] > 0.0) return;
    double all = 0.0, sum = 0.0;
    for (const auto* next = carried_.data(); next->first >= 0; ++next) {
      const double mass = next->second.odd + next->second.even;
      all += mass;
      sum += mass * next->first;
    }
    if (all > 0.0) at_->centres[state] = sum / all / static_cast<double>(own_.size());
  }

  Placed& entry(Index word, std::size_t bin) {
    Index& number = at_->numbers[static_cast<std::size_t>(word) * num_bins() + bin];
    if (number == 0) {
      at_->entries.push_back({word, static_cast<Index>(bin), {}});
      number = static_cast<Index>(at_->entries.size());
    }
    return at_->entries[number - 1].placed;
  }

  // Carry the masses of a state back along an arc.
  template <bool Timed, bool Banded, bool Silent>
  bool carry(const EditStep& step, Index target) {
    const Index source = step.source, word = step.word;
    const double part = step.share;
    const std::size_t bins = num_bins();
    const double* o = Banded ? rows_.odd(source) : rows_.whole_odd(source);
    const double* e = o + rows_.width();
    const Index first = Banded ? rows_.first(source) : 0;
    const Index end = Banded ? rows_.end(source) : static_cast<Index>(rows_.width());
    const double begin = Timed ? times_[source] : 0.0, finish = Timed ? times_[target] : 0.0;
    const auto put = [&](std::size_t bin, double here) {
      if constexpr (Timed) {
        entry(word, bin).add(here, begin, finish);
      } else if (tabled_) {
        at_->posterior[static_cast<std::size_t>(word) * bins + bin] += here;
      } else {
        entry(word, bin).posterior += here;
      }
    };
    // a bin is passed when the arc has been, and not before it as printed in the paper; an arc
    // without a word takes the place, and the time, of a word that is lacking
    double moment = finish;
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
      if (passing == 0.0) moment = finish;
      // o(i), e(i) and o(i - 1) of the source; behind a band they are no higher than at its end
      double odd = 0.0, even = 0.0, placed = 0.0;
      if (Banded && (i > end || (first > 0 && i <= first))) {
        if (outside_ == Outside::Least || i < first) return false;
      }
      if (!Banded || i <= end) {
        odd = o[i], even = e[i], placed = o[i - 1];
      } else {
        odd = even = o[end], placed = Silent || i == end + 1 ? odd : EditRows::kFar;
      }
      // z and x, see above, and the cost of the word in the bin before the even cell
      double z = Banded && i > end ? odd : placed;
      if constexpr (!Silent) {
        const Index k = rows_.last_place(word, Banded ? std::min(i, end + 1) : i);
        if (k > first) {
          z = std::min(z, o[k - 1] - 1.0);
          if (k == i) placed -= 1.0;
        } else if (Banded && k > 0 && outside_ == Outside::Least && z > o[first - 1] - 1.0 + kTie) {
          return false;
        }
      }
      const double left_out = even + (1.0 + kUnplaced);
      const double least = std::min(z, left_out) + kTie;
      if (Banded && least > EditRows::kFar / 2.0) return false;
      double here = part * more.odd + passing;
      passing = 0.0;
      if (here > 0.0) {
        // bins are emptied where that costs nothing: no word is what a silent arc has for them
        if (Silent ? even > odd + kTie : even + 1.0 <= least) {
          if constexpr (Silent) {
            mass(source, i - first).odd += here;
          } else {
            mass(source, i - first).even += here;
            put(2 * i, here);
          }
          here = 0.0;
        } else {
          pass(2 * i, here);
        }
      }
      if (here == 0.0) moment = finish;
      here += part * more.even;
      if (here == 0.0) continue;
      if (i == 0 || (Silent ? placed > even + kTie : placed > least && left_out <= least)) {
        mass(source, i - first).even += here;
        if (!Silent) left_out_ += here;
      } else if (Silent || placed > least) {
        pass(2 * i - 1, here);
        passing = here;
      } else {
        mass(source, i - 1 - first).odd += here;
        put(2 * i - 1, here);
      }
    }
    return true;
  }

  std::size_t num_words() const { return at_->label.size(); }
  std::size_t num_bins() const { return 2 * own_.size() + 1; }
  double own(std::size_t bin) const { return own_posterior_[bin]; }
  bool is_own(Index word, std::size_t bin) const { return bin % 2 == 1 && own_[bin / 2] == word; }

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
    for (const auto& [word, bin, placed] : at_->entries) {
      most[bin] = std::max(most[bin], placed.posterior);
    }
    const auto gains = [&](std::size_t bin) { return most[bin] > own(bin) + kGain; };
    bool changed = false;
    for (std::size_t bin = 0; bin < count; ++bin) changed |= gains(bin);
    if (!changed) return false;
    std::vector<Index> likeliest(count, -1);  // 0 for none
    for (std::size_t bin = 0; bin < count; ++bin) {
      if (empty_[bin].posterior >= most[bin] - kTie) likeliest[bin] = 0;
    }
    for (const auto& [word, bin, placed] : at_->entries) {
      Index& best = likeliest[bin];
      if (placed.posterior < most[bin] - kTie) continue;
      if (best < 0 || at_->label[word] < best) best = at_->label[word];
    }
    other.clear();
    for (std::size_t bin = 0; bin < count; ++bin) {
      const Index best = gains(bin) ? likeliest[bin] : bin % 2 == 1 ? words[bin / 2] : 0;
      if (best != 0) other.push_back(best);
    }
    return true;
  }

  // Posteriors are compared in steps of kTie, so that equals are equal however they were summed.
  static double steps(const Placed& placed) { return std::floor(placed.posterior / kTie + 0.5); }

  Bins arranged(std::span<const Index> words) {
    Bins found;
    const std::size_t count = num_bins();
    found.offset.push_back(0);
    std::vector<std::vector<std::pair<Index, Placed>>> rows(count);
    for (std::size_t bin = 0; bin < count; ++bin) {
      if (bin % 2 == 0 || empty_[bin].posterior > 0.0) rows[bin].emplace_back(0, empty_[bin]);
    }
    for (const auto& [word, bin, placed] : at_->entries) {
      if (placed.posterior > 0.0) {
        rows[bin].emplace_back(at_->label[word], placed);
      }
    }
    for (std::size_t bin = 0; bin < count; ++bin) {
      auto& row = rows[bin];
      // words of the sentence are alternatives even where their posterior is 0
      if (bin % 2 == 1 && own(bin) == 0.0) row.emplace_back(words[bin / 2], Placed{});
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
  std::vector<double> own_posterior_;  // by bin
  double left_out_ = 0.0;
  // of the state under way: i and masses, the last i first
  std::vector<std::pair<Index, CellPair>> carried_;
  // words of bits of a state
  std::size_t words_ = 1;
  bool tabled_ = true;
  // of the bands: their width, and what is outside: of a proof, as long as memory suffices
  static constexpr std::size_t kNarrow = 64;
  std::size_t width_ = 0;
  Outside outside_ = Outside::Least;
  lattices::Scratch<EditBuffers> at_;
  EditRows rows_{at_->rows, at_->steps};
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
