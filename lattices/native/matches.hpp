// Matches of a pattern of words in a lattice: how probably a sentence has one, and where they are.
//
// The pattern is read by two deterministic automata over classes of words: `forward` finds each
// place where some match ends, whatever came before; `backward` goes from such a place to where the
// shortest match that ends there begins. So each path has one run, and probabilities of paths are
// summed exactly:
//
//   m(start, 0) = 1,   m(dst e, s') += m(src e, s) share(e)   for s' = forward(s, class of e)
//
// where share(e) is the probability of an arc at its source. Cost: O(arcs x states of `forward`),
// and as much for each occurrence that has several ends; from each end back to its beginnings.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "lattices/native/poll.hpp"
#include "lattices/native/posteriors.hpp"

namespace lattices {

// A pattern over the words of a vocabulary. An entry of a table, a row a state and a column a
// class, is twice the next state, plus one where a match ends (begins, for `backward`); -1 leads
// nowhere.
struct WordPattern {
  // words, ascending, and their classes; that of all other words is 0
  std::span<const Index> word, word_class;
  std::span<const Index> forward, backward;
  Index classes = 1;

  Index class_of(Index label) const {
    const auto found = std::ranges::lower_bound(word, label);
    return found != word.end() && *found == label ? word_class[found - word.begin()] : 0;
  }
};

inline void check_columns(const WordPattern& pattern) {
  const auto size = static_cast<std::size_t>(std::max<Index>(pattern.classes, 1));
  bool good = pattern.classes > 0 && pattern.word.size() == pattern.word_class.size() &&
              std::ranges::is_sorted(pattern.word);
  for (const Index each : pattern.word_class) good &= each >= 0 && each < pattern.classes;
  for (const auto table : {pattern.forward, pattern.backward}) {
    good &= !table.empty() && table.size() % size == 0;
    for (const Index each : table) {
      good &= each >= -1 && static_cast<std::size_t>(each / 2) < table.size() / size;
    }
  }
  for (const Index each : pattern.forward) good &= each >= 0;
  if (!good) throw option_error("the columns of a pattern do not fit together");
}

// Matches that overlap by half of the shorter one, or more, are one occurrence.
struct Matches {
  double posterior = 0.0;
  // of each occurrence: how probably a sentence has it, when its matches begin and end and how many
  // words stand before them, on average
  std::vector<double> occurrence, begin, end, before;
  // the arcs of the most probable match of occurrence i are arcs[offset[i]:offset[i + 1]]
  std::vector<Index> arcs, offset{0};
  // the occurrence that has a match with this last arc, -1 for none: an entry an arc
  std::vector<Index> ending;
};

class PatternSearch {
 public:
  // Times are those of states; where there are none, places among the words stand for them.
  PatternSearch(const Lattice& lattice, std::span<const double> times, double scale)
      : lattice_(lattice), timed_(!times.empty()) {
    auto steps = shares(lattice, scale);
    share_ = steps.edges;
    const auto counts = expected_counts(top_down(lattice), std::move(steps));
    used_ = counts.nodes;
    const auto states = static_cast<std::size_t>(lattice.num_nodes());
    back_.resize(share_.size());
    before_.resize(states);
    for (Index state = 0; state < lattice.num_nodes(); ++state) {
      if (used_[state] == 0.0) continue;
      for (const Index arc : lattice.incoming(state)) {
        back_[arc] = counts.edges[arc] / used_[state];
        before_[state] += back_[arc] * (before_[lattice.src[arc]] + (lattice.label[arc] != 0));
      }
    }
    time_ = times.empty() ? std::span<const double>(before_) : times;
  }

  Matches find(const WordPattern& pattern, double threshold, Poll& poll) {
    pattern_ = &pattern;
    class_.assign(share_.size(), 0);
    present_.assign(pattern.classes, 0);
    for (Index arc = 0; arc < lattice_.num_edges(); ++arc) {
      if (lattice_.label[arc] == 0) continue;
      class_[arc] = pattern.class_of(lattice_.label[arc]);
      present_[class_[arc]] = 1;
    }
    Matches found;
    found.ending.assign(share_.size(), -1);
    if (!can_match()) return found;
    // every end, whatever the threshold: those of one occurrence add up
    ends_.clear();
    std::vector<double> mass(share_.size());
    run(
        [&](Index arc, double each) {
          mass[arc] += each;
          return false;
        },
        poll);
    for (Index arc = 0; arc < lattice_.num_edges(); ++arc) {
      if (mass[arc] > 0.0) ends_.push_back(trace(arc, mass[arc], poll));
    }
    found.posterior = run_until([&](Index) { return true; }, poll);
    group(found, threshold, poll);
    return found;
  }

 private:
  // The matches that end with an arc: their probability, mean begin, and the most probable one.
  struct End {
    Index arc;
    double mass, begin, end, before;
    std::vector<Index> arcs;

    double overlap(const End& other) const {
      return std::min(end, other.end) - std::max(begin, other.begin);
    }
    bool is_same(const End& other) const {
      return overlap(other) >= 0.5 * std::min(end - begin, other.end - other.begin);
    }
  };

  // Tell whether the words that are there can end a match in any order.
  bool can_match() {
    std::vector<char> seen(pattern_->forward.size() / pattern_->classes);
    std::vector<Index> open{0};
    seen[0] = 1;
    while (!open.empty()) {
      const Index state = open.back();
      open.pop_back();
      for (Index each = 0; each < pattern_->classes; ++each) {
        if (!present_[each]) continue;
        const Index step = pattern_->forward[state * pattern_->classes + each];
        if (step % 2) return true;
        if (!seen[step / 2]) {
          seen[step / 2] = 1;
          open.push_back(step / 2);
        }
      }
    }
    return false;
  }

  // Walk all paths with the forward automaton; visit(arc, mass) is called where a match ends, and
  // tells whether to leave the path there.
  template <class Visit>
  void run(Visit&& visit, Poll& poll) {
    mass_.assign(lattice_.num_nodes(), {});
    mass_[lattice_.start].push_back({0, 1.0});
    for (Index state = lattice_.start; state < lattice_.num_nodes(); ++state) {
      auto here = std::move(mass_[state]);
      if (here.empty() || used_[state] == 0.0) continue;
      poll(here.size());
      for (const Index arc : lattice_.outgoing(state)) {
        if (share_[arc] == 0.0) continue;
        for (const auto& [at, mass] : here) {
          const double moved = mass * share_[arc];
          Index next = at;
          if (lattice_.label[arc] != 0) {
            const Index step = pattern_->forward[at * pattern_->classes + class_[arc]];
            next = step / 2;
            if (step % 2 && visit(arc, moved)) continue;
          }
          add(mass_[lattice_.dst[arc]], next, moved);
        }
      }
    }
  }

  // The probability of the paths on which a match ends with one of some arcs.
  template <class Chosen>
  double run_until(Chosen&& chosen, Poll& poll) {
    double total = 0.0;
    run(
        [&](Index arc, double mass) {
          if (!chosen(arc)) return false;
          total += mass;
          return true;
        },
        poll);
    return std::min(total, 1.0);
  }

  static void add(std::vector<std::pair<Index, double>>& row, Index state, double mass) {
    for (auto& [known, sum] : row) {
      if (known == state) {
        sum += mass;
        return;
      }
    }
    row.push_back({state, mass});
  }

  // What leads back from an end: a state of the lattice is reached in one of the automaton's with a
  // weight, the best piece of path to it by an arc from another entry.
  struct Step {
    Index at;
    double weight, best;
    Index arc, from;
  };

  End trace(Index last, double mass, Poll& poll) {
    End found{last, mass, 0.0, 0.0, 0.0, {}};
    // where there are no times: paths of other lengths may meet behind the arc
    found.end = timed_ ? time_[lattice_.dst[last]] : before_[lattice_.src[last]] + 1.0;
    double total = 0.0, best = -1.0;
    Index chosen = -1;
    steps_.clear();
    queue_.clear();
    const auto take = [&](Index arc, double weight, double piece, Index at, Index from) {
      const Index source = lattice_.src[arc];
      if (lattice_.label[arc] != 0) {
        const Index step = pattern_->backward[at * pattern_->classes + class_[arc]];
        if (step < 0) return;
        if (step % 2) {
          total += weight;
          found.begin += weight * time_[source];
          found.before += weight * before_[source];
          if (piece > best) {
            best = piece;
            chosen = static_cast<Index>(steps_.size());
            steps_.push_back({0, 0.0, 0.0, arc, from});
          }
          return;
        }
        at = step / 2;
      }
      reach(source, at, weight, piece, arc, from);
    };
    take(last, 1.0, 1.0, 0, -1);
    while (!queue_.empty()) {
      std::ranges::pop_heap(queue_, {}, &Waiting::state);
      const auto [state, entry] = queue_.back();
      queue_.pop_back();
      poll();
      const Step here = steps_[entry];
      for (const Index arc : lattice_.incoming(state)) {
        if (back_[arc] > 0.0) {
          take(arc, here.weight * back_[arc], here.best * back_[arc], here.at, entry);
        }
      }
    }
    if (total > 0.0) {
      found.begin /= total;
      found.before /= total;
    }
    for (Index at = chosen; at >= 0; at = steps_[at].from) {
      if (lattice_.label[steps_[at].arc] != 0) found.arcs.push_back(steps_[at].arc);
    }
    return found;
  }

  void reach(Index state, Index at, double weight, double piece, Index arc, Index from) {
    for (const auto& waiting : queue_) {
      if (waiting.state != state) continue;
      Step& known = steps_[waiting.entry];
      if (known.at != at) continue;
      known.weight += weight;
      if (piece > known.best) known.best = piece, known.arc = arc, known.from = from;
      return;
    }
    queue_.push_back({state, static_cast<Index>(steps_.size())});
    std::ranges::push_heap(queue_, {}, &Waiting::state);
    steps_.push_back({at, weight, piece, arc, from});
  }

  // The most probable end leads an occurrence, then the most probable one of those that are the
  // same as no leader, and so on; the others are with the leader they overlap most.
  void group(Matches& found, double threshold, Poll& poll) {
    std::vector<Index> order(ends_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](Index at) { return ends_[at].mass; });
    std::vector<std::vector<Index>> groups;
    std::vector<Index> others;
    for (const Index each : order) {
      poll(groups.size());
      if (std::ranges::none_of(
              groups, [&](const auto& some) { return ends_[each].is_same(ends_[some[0]]); })) {
        groups.push_back({each});
      } else {
        others.push_back(each);
      }
    }
    for (const Index each : others) {
      poll(groups.size());
      auto& nearest = *std::ranges::max_element(groups, {}, [&](const auto& some) {
        const End& leader = ends_[some[0]];
        return ends_[each].is_same(leader) ? ends_[each].overlap(leader) : kMinusInfinity;
      });
      nearest.push_back(each);
    }
    for (const auto& some : groups) {
      double sum = 0.0, begin = 0.0, end = 0.0, before = 0.0;
      for (const Index each : some) {
        const End& one = ends_[each];
        sum += one.mass;
        begin += one.mass * one.begin;
        end += one.mass * one.end;
        before += one.mass * one.before;
      }
      if (sum < threshold) continue;
      const auto number = static_cast<Index>(found.occurrence.size());
      for (const Index each : some) found.ending[ends_[each].arc] = number;
      const double value =
          some.size() == 1
              ? std::min(sum, 1.0)
              : run_until([&](Index arc) { return found.ending[arc] == number; }, poll);
      if (value < threshold) {
        for (const Index each : some) found.ending[ends_[each].arc] = -1;
        continue;
      }
      found.occurrence.push_back(value);
      found.begin.push_back(begin / sum);
      found.end.push_back(end / sum);
      found.before.push_back(before / sum);
      const auto& arcs = ends_[some[0]].arcs;
      found.arcs.insert(found.arcs.end(), arcs.begin(), arcs.end());
      found.offset.push_back(static_cast<Index>(found.arcs.size()));
    }
  }

  struct Waiting {
    Index state, entry;
  };

  const Lattice& lattice_;
  bool timed_;
  const WordPattern* pattern_ = nullptr;
  // of arcs, at their sources and at their targets
  std::vector<double> share_, back_;
  // of states: how often they are passed, and the mean number of words before them
  std::vector<double> used_, before_;
  std::span<const double> time_;
  std::vector<Index> class_;
  std::vector<char> present_;
  std::vector<std::vector<std::pair<Index, double>>> mass_;
  std::vector<End> ends_;
  std::vector<Step> steps_;
  std::vector<Waiting> queue_;
};

}  // namespace lattices
