// The worst sentence, and fear: a search over rows, with prefixes that cannot win dropped.
//
// A prefix x of a path that ends in lattice state v has the value
//
//   base(x) = gain taken out of its rows + model weight * model score of x,
//
// and base(x) + row(x)[q] is how high its best alignment into state q of the automaton stands. Of
// prefixes with the same state and row the lowest goes on, of equal ones that with the higher model
// score. Among different rows of one state, y is dropped for x if x ends no higher, whatever
// follows (row_dominance.hpp), and ends lower or has no lower model score.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/row_dominance.hpp"
#include "lattices/native/rows.hpp"

namespace lattices {

// The lowest value of a sentence and the arcs of its path.
struct LowestPath {
  double value = 0.0;
  std::vector<Index> arcs;
};

template <class Machine>
class LowestSearch {
 public:
  using Gain = typename Machine::Gain;

  // `widest`: the most prefixes that one lattice state may keep, 0 for all
  LowestSearch(const Lattice& lattice, Machine& machine, double model_weight, std::size_t widest)
      : lattice_(lattice),
        machine_(machine),
        weight_(model_weight),
        widest_(widest),
        answers_(machine) {}

  // Nothing beyond the budget.
  std::optional<LowestPath> operator()(std::span<const Index> arc_class, const RowBudget& budget,
                                       Poll& poll) {
    poll_ = &poll;
    if (!walk_rows(lattice_, arc_class, machine_, budget, *this, pairs_, poll)) return std::nullopt;
    Index last = -1;
    double lowest = 0.0, likelihood = 0.0;
    for (Index state = 0; state < lattice_.num_nodes(); ++state) {
      const double final = lattice_.final[state];
      if (final == -std::numeric_limits<double>::infinity()) continue;
      for (Index pair = pairs_.start[state]; pair < pairs_.start[state + 1]; ++pair) {
        const double value = prefixes_[pair].base +
                             static_cast<double>(machine_.ending(pairs_.row[pair])) +
                             weight_ * final;
        const double model = prefixes_[pair].model + final;
        if (last < 0 || value < lowest || (value == lowest && model > likelihood)) {
          last = pair;
          lowest = value;
          likelihood = model;
        }
      }
    }
    LowestPath found{lowest, {}};
    for (Index pair = last; prefixes_[pair].arc >= 0; pair = prefixes_[pair].before) {
      found.arcs.push_back(prefixes_[pair].arc);
    }
    std::reverse(found.arcs.begin(), found.arcs.end());
    return found;
  }

  // the visitor of walk_rows
  void add(Index pair) {
    prefixes_.push_back({std::numeric_limits<double>::infinity(), 0.0, -1, -1});
    // the first of all begins the sentence
    if (pair == 0) prefixes_[0] = {static_cast<double>(machine_.opening()), 0.0, -1, -1};
  }
  bool follow(Index) const { return true; }
  void arc(Index arc, Index from, Index to, Gain gain) {
    const Prefix& source = prefixes_[from];
    const double base = source.base + weight_ * lattice_.score[arc] + static_cast<double>(gain);
    const double model = source.model + lattice_.score[arc];
    Prefix& target = prefixes_[to];
    if (base < target.base || (base == target.base && model > target.model)) {
      target = {base, model, from, arc};
    }
  }
  void leave(Index state, RowPairs& pairs) {
    const auto first = static_cast<std::size_t>(pairs.start[state]);
    if (prefixes_.size() - first < 2) return;
    keep_undominated(first, pairs);
    // in their order, so that closing the gaps overwrites nothing that is still needed
    std::sort(kept_.begin(), kept_.end());
    std::size_t place = first;
    for (const Index pair : kept_) {
      prefixes_[place] = prefixes_[pair];
      pairs.row[place++] = pairs.row[pair];
    }
    prefixes_.resize(place);
    pairs.row.resize(place);
  }
  std::size_t bytes() const {
    return growing_bytes(prefixes_) + growing_bytes(order_) + growing_bytes(kept_) +
           answers_.bytes();
  }

 private:
  // The lowest of the prefixes of a pair: its value, its model score, and where it came from.
  struct Prefix {
    double base, model;
    Index before, arc;
  };

  // how many prefixes of the same state a prefix is compared with
  static constexpr std::size_t kRivals = 64;

  void keep_undominated(std::size_t first, const RowPairs& pairs) {
    order_.resize(prefixes_.size() - first);
    for (std::size_t place = 0; place < order_.size(); ++place) {
      order_[place] = static_cast<Index>(first + place);
    }
    std::sort(order_.begin(), order_.end(), [&](Index left, Index right) {
      const Prefix &a = prefixes_[left], &b = prefixes_[right];
      if (a.base != b.base) return a.base < b.base;
      return a.model != b.model ? a.model > b.model : left < right;
    });
    kept_.clear();
    winner_ = 0;
    for (const Index pair : order_) answers_.learn(pairs.row[pair]);
    dispatch([&] {
      for (const Index pair : order_) {
        (*poll_)();
        if (widest_ > 0 && kept_.size() == widest_) break;
        if (!is_beaten(pair, pairs)) kept_.push_back(pair);
      }
    });
  }

  // Whether one of the lowest prefixes beats another. The one that beat the last is tried first.
  bool is_beaten(Index pair, const RowPairs& pairs) {
    const std::size_t rivals = std::min(kept_.size(), kRivals);
    if (winner_ < rivals && beats(kept_[winner_], pair, pairs)) return true;
    for (std::size_t rival = 0; rival < rivals; ++rival) {
      if (beats(kept_[rival], pair, pairs)) {
        winner_ = rival;
        return true;
      }
    }
    return false;
  }

  bool beats(Index rival, Index pair, const RowPairs& pairs) const {
    const Prefix &other = prefixes_[rival], &mine = prefixes_[pair];
    return answers_.below(pairs.row[rival], pairs.row[pair], mine.base - other.base,
                          other.model < mine.model);
  }

  const Lattice& lattice_;
  Machine& machine_;
  double weight_;
  std::size_t widest_, winner_ = 0;
  Poll* poll_ = nullptr;
  RowPairs pairs_;
  std::vector<Prefix> prefixes_;
  std::vector<Index> order_, kept_;
  RowAnswers<Machine> answers_;
};

}  // namespace lattices
