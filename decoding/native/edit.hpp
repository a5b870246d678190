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
// the first c bins: then passing a bin is free, and the third choice is a running minimum. A cell
// behind an empty bin (odd c) differs from the one before by delta at most, so that only even
// cells take part in it:
//
//   x(i) = alpha_a(2i)     = min { o(i - 1) - [w = word i], e(i) + 1 + delta, e(i - 1) + 1, x(i -
//   1) } y(i) = alpha_a(2i + 1) = min { e(i) + 1, x(i) }        e, o: even and odd cells of s
//
// Cost: O(arcs * L) for each sentence on the way.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/scratch.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

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

// How probable each arc is for those who reach its target, and each end for all; the logarithm of
// the sum over all complete paths, -inf without one.
struct Shares {
  std::vector<double> arc, end;
  double mass = kMinusInfinity;
};

inline Shares edit_shares(const Lattice& lattice, double scale) {
  Shares found;
  const Index states = lattice.num_nodes();
  std::vector<double> forward(states, kMinusInfinity);
  forward[lattice.start] = 0.0;
  found.arc.assign(lattice.src.size(), 0.0);
  found.end.assign(states, 0.0);
  for (Index state = lattice.start + 1; state < states; ++state) {
    const auto arcs = lattice.incoming(state);
    double best = kMinusInfinity;
    for (const Index arc : arcs) {
      found.arc[arc] = forward[lattice.src[arc]] + scale * lattice.score[arc];
      best = std::max(best, found.arc[arc]);
    }
    double total = 0.0;
    for (const Index arc : arcs) {
      found.arc[arc] = best == kMinusInfinity ? 0.0 : std::exp(found.arc[arc] - best);
      total += found.arc[arc];
    }
    if (total == 0.0) continue;
    for (const Index arc : arcs) found.arc[arc] /= total;
    forward[state] = best + std::log(total);
  }
  double best = kMinusInfinity;
  for (Index state = 0; state < states; ++state) {
    if (lattice.final[state] == kMinusInfinity || forward[state] == kMinusInfinity) continue;
    best = std::max(best, forward[state] + scale * lattice.final[state]);
  }
  if (best == kMinusInfinity) return found;
  double total = 0.0;
  for (Index state = 0; state < states; ++state) {
    if (lattice.final[state] == kMinusInfinity || forward[state] == kMinusInfinity) continue;
    found.end[state] = std::exp(forward[state] + scale * lattice.final[state] - best);
    total += found.end[state];
  }
  for (double& each : found.end) each /= total;
  found.mass = best + std::log(total);
  return found;
}

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

// A set of cells for each state.
class CellSets {
 public:
  void reset(std::size_t states, std::size_t cells) {
    words_ = (cells + 63) / 64;
    bits_.assign(states * words_, 0);
  }
  void insert(std::size_t state, Index cell) {
    bits_[state * words_ + cell / 64] |= std::uint64_t{1} << (cell % 64);
  }
  // The highest cell of a state's set up to `most`, or -1.
  Index last(std::size_t state, Index most) const {
    if (most < 0) return -1;
    const std::uint64_t* row = bits_.data() + state * words_;
    Index word = most / 64;
    std::uint64_t bits = row[word] & (~std::uint64_t{0} >> (63 - most % 64));
    while (bits == 0) {
      if (--word < 0) return -1;
      bits = row[word];
    }
    return 64 * word + 63 - std::countl_zero(bits);
  }
  std::size_t bytes() const { return 8 * bits_.capacity(); }

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

// What the search keeps by arc, state and cell.
struct EditBuffers {
  std::vector<Index> word, match_row;
  CellSets filled;
  std::vector<double> match, even, odd, reached, mass;
  std::vector<double> posterior;  // by word and bin
  std::vector<Placed> placed;     // the same with times, where there are any
  std::size_t bytes() const {
    return 8 * (word.capacity() + match.capacity() + even.capacity() + odd.capacity() +
                reached.capacity() + mass.capacity() + posterior.capacity()) +
           sizeof(Placed) * placed.capacity() + filled.bytes();
  }
};

class EditSearch {
 public:
  EditSearch(const Lattice& lattice, std::span<const double> share, std::span<const double> ending,
             std::span<const double> times)
      : lattice_(lattice), share_(share), ending_(ending), times_(times) {
    // words by small numbers: tables by word and bin stay small
    at_->word.resize(lattice.label.size());
    tsl::robin_map<Index, Index> known;
    for (std::size_t arc = 0; arc < at_->word.size(); ++arc) {
      at_->word[arc] = number(known, lattice.label[arc]);
    }
    known_ = std::move(known);
  }

  // Change the words of a sentence as long as that lowers its expected edits, at most so often.
  Minimum minimise(std::span<const Index> words, int changes, lattices::Poll& poll) {
    Minimum found;
    found.words.assign(words.begin(), words.end());
    found.objectives.push_back(evaluate(found.words));
    while (true) {
      poll();
      std::vector<Index> other;
      found.settled = !improved(found.words, other);
      if (found.settled || static_cast<int>(found.objectives.size()) > changes) return found;
      const double edits = evaluate(other);
      if (edits >= found.objectives.back()) {
        // words left out are cheap, not free: a gain that is no more than that is none
        found.settled = true;
        return found;
      }
      found.objectives.push_back(edits);
      found.words = std::move(other);
    }
  }

  // The alternatives of all bins of a sentence.
  Bins bins(std::span<const Index> words) {
    align(words);
    if (times_.empty()) {
      place<false>();
    } else {
      place<true>();
    }
    return arranged(words);
  }

 private:
  Index number(tsl::robin_map<Index, Index>& known, Index label) {
    const auto [at, fresh] = known.try_emplace(label, static_cast<Index>(label_.size()));
    if (fresh) label_.push_back(label);
    return at->second;
  }

  double evaluate(std::span<const Index> words) {
    align(words);
    place<false>();
    return expected();
  }

  // x of all arcs (see above), and the costs at all states, for a sentence.
  void align(std::span<const Index> words) {
    own_.clear();
    for (const Index label : words) own_.push_back(number(known_, label));
    // cells are padded to whole vectors; nothing that a pad holds reaches a cell before it
    const std::size_t size = width();
    // the match of a word with word i of the sentence: one row a word of it, and one for all others
    at_->match_row.assign(label_.size(), -1);
    Index rows = 1;
    for (const Index word : own_) {
      if (at_->match_row[word] < 0) at_->match_row[word] = rows++;
    }
    at_->match.assign(rows * size, 0.0);
    for (std::size_t i = 1; i <= own_.size(); ++i) {
      at_->match[at_->match_row[own_[i - 1]] * size + i] = 1.0;
    }
    at_->even.assign(lattice_.final.size() * size, 0.0);
    at_->odd.assign(lattice_.final.size() * size, 0.0);
    at_->reached.resize(lattice_.src.size() * size);
    lattices::dispatch([&] { sweep(size); });
  }

  std::size_t width() const { return (own_.size() + 8) / 8 * 8; }

  // The forward pass: arcs are sorted by source, so a state is complete when its arcs come.
  void sweep(std::size_t size) {
    const auto arcs = lattice_.src.size();
    for (std::size_t arc = 0; arc < arcs; ++arc) {
      const double part = share_[arc];
      if (part == 0.0) continue;
      const double* __restrict e = at_->even.data() + lattice_.src[arc] * size;
      const double* __restrict o = at_->odd.data() + lattice_.src[arc] * size;
      double* __restrict to_even = at_->even.data() + lattice_.dst[arc] * size;
      double* __restrict to_odd = at_->odd.data() + lattice_.dst[arc] * size;
      if (lattice_.label[arc] == 0) {
        for (std::size_t i = 0; i < size; ++i) {
          to_even[i] += part * e[i];
          to_odd[i] += part * o[i];
        }
        continue;
      }
      const Index row = std::max<Index>(at_->match_row[at_->word[arc]], 0);
      const double* __restrict match = at_->match.data() + row * size;
      double* __restrict x = at_->reached.data() + arc * size;
      x[0] = e[0] + (1.0 + kUnplaced);
      for (std::size_t i = 1; i < size; ++i) {
        const double placed = o[i - 1] - match[i];
        const double left_out = e[i] + (1.0 + kUnplaced);
        const double beside = e[i - 1] + 1.0;
        const double lower = placed < left_out ? placed : left_out;
        x[i] = lower < beside ? lower : beside;
      }
      double lowest = x[0];
      for (std::size_t i = 1; i < size; ++i) {
        lowest = x[i] < lowest ? x[i] : lowest;
        x[i] = lowest;
      }
      for (std::size_t i = 0; i < size; ++i) {
        const double beside = e[i] + 1.0;
        to_even[i] += part * x[i];
        to_odd[i] += part * (beside < x[i] ? beside : x[i]);
      }
    }
  }

  enum Choice { kPlaced, kLeftOut, kSkipped };

  // What becomes of an arc's word at a cell, in this order of preference among equals.
  Choice choice(std::size_t arc, Index cell, std::size_t size) const {
    const double* e = at_->even.data() + lattice_.src[arc] * size;
    const double* o = at_->odd.data() + lattice_.src[arc] * size;
    const Index i = cell / 2;
    if (lattice_.label[arc] == 0) {
      // bins are emptied where that costs nothing: no word is what the arc has for them
      const double before = cell % 2 == 1 ? e[i] : o[i - 1];
      return before <= (cell % 2 == 1 ? o[i] : e[i]) + kTie ? kSkipped : kLeftOut;
    }
    const double least = at_->reached[arc * size + i] + kTie;
    if (cell % 2 == 1) return e[i] + 1.0 <= least ? kPlaced : kSkipped;
    const Index row = std::max<Index>(at_->match_row[at_->word[arc]], 0);
    if (o[i - 1] - at_->match[row * size + i] <= least) return kPlaced;
    return e[i] + (1.0 + kUnplaced) <= least ? kLeftOut : kSkipped;
  }

  // Who stands in which bin, how probably, and from when to when; masses go backward along the
  // choices. A state has mass at two or three cells in the mean, which a set of bits remembers.
  template <bool Timed>
  void place() {
    const std::size_t size = width();
    const auto last = static_cast<Index>(2 * own_.size() + 1);
    const std::size_t cells = last + 1, states = lattice_.final.size();
    CellSets& filled = at_->filled;
    filled.reset(states, cells);
    at_->mass.assign(states * cells, 0.0);
    for (std::size_t state = 0; state < states; ++state) {
      if (ending_[state] == 0.0) continue;
      at_->mass[state * cells + last] = ending_[state];
      filled.insert(state, last);
    }
    if constexpr (Timed) {
      at_->placed.assign(label_.size() * last, Placed{});
    } else {
      at_->posterior.assign(label_.size() * last, 0.0);
    }
    empty_.assign(last, Placed{});
    left_out_ = 0.0;
    double begin = 0.0, end = 0.0, moment = 0.0;
    for (auto arc = static_cast<Index>(lattice_.src.size()) - 1; arc >= 0; --arc) {
      const double part = share_[arc];
      if (part == 0.0) continue;
      const Index source = lattice_.src[arc], target = lattice_.dst[arc];
      const bool silent = lattice_.label[arc] == 0;
      double* __restrict from = at_->mass.data() + source * cells;
      const double* __restrict to = at_->mass.data() + target * cells;
      const std::size_t row = static_cast<std::size_t>(at_->word[arc]) * last;
      if constexpr (Timed) {
        begin = times_[source];
        end = times_[target];
      }
      double skipping = 0.0;
      Index cell = filled.last(target, last);
      while (cell > 0) {
        const double here = part * to[cell] + skipping;
        if constexpr (Timed) {
          if (skipping == 0.0) moment = end;
        }
        skipping = 0.0;
        switch (choice(arc, cell, size)) {
          case kPlaced:
            from[cell - 1] += here;
            filled.insert(source, cell - 1);
            if constexpr (Timed) {
              at_->placed[row + cell - 1].add(here, begin, end);
            } else {
              at_->posterior[row + cell - 1] += here;
            }
            break;
          case kLeftOut:
            from[cell] += here;
            filled.insert(source, cell);
            if (!silent) left_out_ += here;
            break;
          case kSkipped:
            // a bin is passed when the arc has been, and not before it as printed in the paper;
            // an arc without a word takes the place, and the time, of a word that is lacking
            skipping = here;
            empty_[cell - 1].posterior += here;
            if constexpr (Timed) {
              empty_[cell - 1].end += here * moment;
              if (silent && cell % 2 == 0) moment = begin;
              empty_[cell - 1].begin += here * moment;
            }
        }
        cell = skipping > 0.0 ? cell - 1 : filled.last(target, cell - 1);
      }
      const double here = part * to[0] + skipping;
      if (here > 0.0) {
        from[0] += here;
        filled.insert(source, 0);
        if (!silent) left_out_ += here;
      }
    }
    double here = 0.0;
    const double moment_of_start = Timed ? times_[lattice_.start] : 0.0;
    for (Index cell = last; cell > 0; --cell) {
      here += at_->mass[lattice_.start * cells + cell];
      empty_[cell - 1].add(here, moment_of_start, moment_of_start);
    }
  }

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
    for (std::size_t word = 0; word < label_.size(); ++word) {
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
    for (std::size_t word = 0; word < label_.size(); ++word) {
      if (at_->posterior[word * num_bins() + bin] < most - kTie) continue;
      if (first < 0 || label_[word] < first) first = label_[word];
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
      for (std::size_t word = 0; word < label_.size(); ++word) {
        const Placed placed = times_.empty() ? Placed{at_->posterior[word * count + bin]}
                                             : at_->placed[word * count + bin];
        const bool chosen = bin % 2 == 1 && own_[bin / 2] == static_cast<Index>(word);
        if (placed.posterior > 0.0 || chosen) row.emplace_back(label_[word], placed);
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
  std::span<const double> share_, ending_, times_;
  // words by small numbers, and the label behind each number
  tsl::robin_map<Index, Index> known_;
  std::vector<Index> label_;
  // of the sentence under way: its words, its alternatives without a word, and how many words stand
  // in no bin
  std::vector<Index> own_;
  std::vector<Placed> empty_;
  double left_out_ = 0.0;
  lattices::Scratch<EditBuffers> at_;
};

// The words of the path with the most probable arcs: the one with the highest sum of posteriors,
// each less kArc, so that of two paths the one with fewer improbable arcs is taken. One pass
// backward:
//
//   node(q) = end(q) + sum over arcs a out of q of p(a) node(dst a)       the posterior of a is
//   p(a) node(dst a) best(q) = max { 0 if q may end, max over a of p(a) node(dst a) - kArc +
//   best(dst a) }
inline std::vector<Index> likely_words(const Lattice& lattice, std::span<const double> share,
                                       std::span<const double> ending) {
  constexpr double kArc = 0.05;
  std::vector<double> node(ending.begin(), ending.end()), best(ending.size(), kMinusInfinity);
  std::vector<Index> follower(ending.size(), -1);
  for (std::size_t state = 0; state < ending.size(); ++state) {
    if (lattice.final[state] > kMinusInfinity) best[state] = 0.0;
  }
  for (Index arc = lattice.num_edges() - 1; arc >= 0; --arc) {
    const Index source = lattice.src[arc], target = lattice.dst[arc];
    const double posterior = share[arc] * node[target];
    node[source] += posterior;
    const double value = posterior - kArc + best[target];
    if (value > best[source]) {
      best[source] = value;
      follower[source] = arc;
    }
  }
  std::vector<Index> words;
  for (Index arc = follower[lattice.start]; arc >= 0; arc = follower[lattice.dst[arc]]) {
    if (lattice.label[arc] != 0) words.push_back(lattice.label[arc]);
  }
  return words;
}

// The arcs of the best path that spells these words; empty and false without one.
//
//   best(q, i) = max { final(q) if i = L, max over arcs a out of q of score(a) + best(dst(a), i +
//   [a spells word i]) }
struct Spelling {
  std::vector<Index> arcs;
  bool found = false;
};

inline Spelling best_spelling(const Lattice& lattice, std::span<const Index> words) {
  const std::size_t size = words.size() + 1;
  std::vector<double> best(lattice.final.size() * size, kMinusInfinity);
  for (std::size_t state = 0; state < lattice.final.size(); ++state) {
    best[state * size + size - 1] = lattice.final[state];
  }
  // where each word of the sentence occurs, the last place first
  tsl::robin_map<Index, Index> last;
  std::vector<Index> before(words.size());
  for (std::size_t place = 0; place < words.size(); ++place) {
    const auto [at, fresh] = last.try_emplace(words[place], -1);
    before[place] = at->second;
    at.value() = static_cast<Index>(place);
  }
  for (auto arc = static_cast<Index>(lattice.src.size()) - 1; arc >= 0; --arc) {
    double* here = best.data() + lattice.src[arc] * size;
    const double* there = best.data() + lattice.dst[arc] * size;
    const double score = lattice.score[arc];
    if (lattice.label[arc] == 0) {
      for (std::size_t place = 0; place < size; ++place) {
        here[place] = std::max(here[place], score + there[place]);
      }
      continue;
    }
    const auto at = last.find(lattice.label[arc]);
    for (Index place = at == last.end() ? -1 : at->second; place >= 0; place = before[place]) {
      here[place] = std::max(here[place], score + there[place + 1]);
    }
  }
  Spelling result;
  Index state = lattice.start;
  std::size_t place = 0;
  if (best[state * size] == kMinusInfinity) return result;
  result.found = true;
  while (place + 1 < size || best[state * size + place] != lattice.final[state]) {
    for (const Index arc : lattice.outgoing(state)) {
      const bool silent = lattice.label[arc] == 0;
      if (!silent && (place + 1 == size || lattice.label[arc] != words[place])) continue;
      const std::size_t rest = silent ? place : place + 1;
      if (lattice.score[arc] + best[lattice.dst[arc] * size + rest] == best[state * size + place]) {
        result.arcs.push_back(arc);
        state = lattice.dst[arc];
        place = rest;
        break;
      }
    }
  }
  return result;
}

}  // namespace decoding
