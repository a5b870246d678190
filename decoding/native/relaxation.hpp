// Long lattices under a score by matches: an upper bound by Lagrange multipliers, and good paths.
//
// With slopes s_n and constants b(T) of a score (match_scores.hpp), c(g) the times that a sentence
// of T words has n-gram g, l(g) its limit, and min(c, l) <= (1 - p) c + p l for 0 <= p <= 1, no
// sentence is worth more than, for any prices 0 <= u(g) <= s_n and any price y of a word,
//
//   max over paths of sum over g of (s_n - u(g)) c(g) - y T     one pass over (state, context)
//     + sum over g of u(g) l(g)
//     + max over T of b(T) + y T
//
// (Lagrangian relaxation of clipping and length; Fisher 1981, Rush and Collins 2012). Prices follow
// the subgradient: those of n-grams that the path has too often rise. Lengths and counts are no
// part of a cell, so a pass is linear in long lattices; the gap shrinks with the number of places
// where a path may choose. Each pass's path is a sentence, whose stretches are tried in the best
// one so far (path_matches.hpp). At the best prices, the pass bounds what the beginning of a
// sentence can become, so that labels are left out by it.
//
// For the worst sentence passes follow the score made linear at the worst so far; that is no bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "decoding/native/linear_bound.hpp"
#include "decoding/native/match_scores.hpp"
#include "decoding/native/path_matches.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

// What is maximised: the score and the model score times their weights, and what is added.
struct RelaxedValue {
  double score = 1.0, model = 0.0;
  double added = 0.0;  // at most
  bool sums = false;   // whether there is more than the score
};

class Relaxation {
 public:
  // Of a lattice whose sentences have so many words; false if it takes more bytes than it may.
  bool enumerate(const Lattice& lattice, std::span<const Index> classes,
                 const ReferenceNgrams& grams, std::pair<Index, Index> lengths, std::size_t memory,
                 Poll& poll) {
    lattice_ = &lattice;
    grams_ = &grams;
    lengths_ = lengths;
    price_.assign(grams.size(), 0.0);
    word_price_ = 0.0;
    return cells_.enumerate(lattice, classes, grams, memory, poll);
  }

  // The path with the most n-grams of the references, each worth what linear BLEU gives it by
  // default, theta_n = 1 / (4 T p r^(n-1)) and theta_0 = -1 / T (Tromble et al. 2008).
  std::vector<Index> linear_path(Poll& poll) {
    std::vector<double> worth(grams_->order());
    for (std::size_t n = 0; n < worth.size(); ++n) worth[n] = 0.25 / (0.85 * std::pow(0.75, n));
    add_up([&](Index gram) { return worth[(*grams_)[gram].length - 1]; }, -1.0);
    cells_.pass(*lattice_, gain_, 0.0, poll);
    return cells_.path(*lattice_);
  }

  // Improve a path, and find prices for a low bound. Use the path of each pass.
  template <class Use>
  void improve(MatchScore& score, const RelaxedValue& value, PathMatches& best, Use&& use,
               Poll& poll) {
    of_ = value;
    PathMatches trial = best;
    double taken_at = -kInfinity, lowest = kInfinity, size = 1.0;
    int stale = 0;
    value_ = kInfinity;
    for (int step = 0; step < kSteps; ++step) {
      if (step % kLinearise == 0 && best.worth() > taken_at) {
        taken_at = best.worth();
        linearise(score, best);
        if (step == 0) word_price_ = price_of_word(best.length());
        lowest = kInfinity;
      }
      const Index length = pass(poll);
      const double dual = cells_.value() + constant_;
      try_path(trial, best);
      use(trial.arcs());
      // a bound may be too large for a number, and is all there is then
      if (const double worth = unscaled(dual); step == 0 || worth < value_) {
        value_ = worth;
        kept_ = {slope_, ending_, price_, word_price_, logarithmic_};
      }
      if (value_ - best.worth() <= kClose * std::abs(best.worth())) break;
      if (dual < lowest - kSlight * std::abs(lowest)) {
        lowest = dual;
        stale = 0;
      } else if (++stale >= kPatience) {
        size /= 2;
        stale = 0;
      }
      const double known = scaled(best.worth() - of_.added);
      if (!move(trial, length, size * (std::isinf(known) ? 1.0 : dual - known))) break;
    }
    std::tie(slope_, ending_, price_, word_price_, logarithmic_) = kept_;
    pass(poll);
  }

  // Make a path worse, its worth being negative, by paths that have as little as it can lose.
  template <class Use>
  void worsen(MatchScore& score, const RelaxedValue& value, PathMatches& best, Use&& use,
              Poll& poll) {
    of_ = value;
    PathMatches trial = best;
    // from the ends of what sentences can be, too
    for (const double price : {0.0, -1.0, 1.0}) {
      double before = -kInfinity;
      for (int step = 0; step < kDescents && best.worth() > before; ++step) {
        before = best.worth();
        linearise(score, best);
        word_price_ = step == 0 && price != 0.0 ? price : price_of_word(best.length());
        add_up(
            [&](Index gram) {
              const auto& each = (*grams_)[gram];
              return best.times(gram) <= each.limit ? -slope_[each.length - 1] : 0.0;
            },
            word_price_);
        cells_.pass(*lattice_, gain_, -of_.model, poll);
        try_path(trial, best);
        use(trial.arcs());
      }
    }
  }

  // What no sentence surpasses.
  double value() const { return value_; }

  // Of labels: the cell to begin in, that after an arc, and what an n-gram adds to the value.
  Index start() const { return cells_.start(); }
  Index target(Index cell, Index outgoing) const { return cells_.target(cell, outgoing); }
  double gain(Index gram) const { return gain_[gram]; }
  // The most that a label can become, and a worth as it is compared with that.
  double most(Index cell, double gained) const { return gained + cells_.rest(cell) + constant_; }
  double scaled(double worth) const {
    if (!logarithmic_) return worth;
    return worth > 0.0 ? std::log(worth / of_.score) : -kInfinity;
  }
  std::size_t bytes() const { return cells_.bytes(); }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // passes; how many until slopes are taken anew, and until steps are halved where none helps
  static constexpr int kSteps = 200, kLinearise = 20, kPatience = 10, kDescents = 10;
  // no progress, and no gap, in relation to a value
  static constexpr double kSlight = 1e-6, kClose = 1e-9;
  // lengths differ by more than counts of n-grams do
  static constexpr double kOfLength = 0.1;

  double unscaled(double dual) const {
    return (logarithmic_ ? of_.score * std::exp(dual) : dual) + of_.added;
  }

  void linearise(MatchScore& score, const PathMatches& best) {
    score.linearise(best.length(), best.matches(), of_.sums);
    logarithmic_ = score.is_logarithmic();
    const double weight = logarithmic_ ? 1.0 : of_.score;
    slope_.assign(score.slopes().begin(), score.slopes().end());
    for (double& slope : slope_) slope *= weight;
    ending_.clear();
    for (Index length = lengths_.first; length <= lengths_.second; ++length) {
      ending_.push_back(weight * score.constant(length));
    }
  }

  // The gains of words, by the longest n-gram that ends with them.
  template <class Gain>
  void add_up(Gain&& of, double word) {
    own_.assign(grams_->size(), 0.0);
    for (std::size_t gram = 1; gram < own_.size(); ++gram)
      own_[gram] = of(static_cast<Index>(gram));
    gain_.assign(own_.size(), word);
    for (std::size_t gram = 1; gram < own_.size(); ++gram) {
      for (auto at = static_cast<Index>(gram); at != 0; at = (*grams_)[at].suffix) {
        gain_[gram] += own_[at];
      }
    }
  }

  // One pass with the prices as they are; returns the length that is the best to end with.
  Index pass(Poll& poll) {
    constant_ = 0.0;
    for (std::size_t gram = 1; gram < price_.size(); ++gram) {
      const auto& each = (*grams_)[static_cast<Index>(gram)];
      price_[gram] = std::clamp(price_[gram], 0.0, slope_[each.length - 1]);
      constant_ += price_[gram] * each.limit;
    }
    add_up([&](Index gram) { return slope_[(*grams_)[gram].length - 1] - price_[gram]; },
           -word_price_);
    double most = -kInfinity;
    Index best = lengths_.first;
    for (Index length = lengths_.first; length <= lengths_.second; ++length) {
      const double worth = ending_[length - lengths_.first] + word_price_ * length;
      if (worth > most) {
        most = worth;
        best = length;
      }
    }
    constant_ += most;
    cells_.pass(*lattice_, gain_, of_.model, poll);
    return best;
  }

  // Take the path of the last pass, or its stretches, where that is better.
  void try_path(PathMatches& trial, PathMatches& best) const {
    trial.assign(cells_.path(*lattice_));
    if (best.is_below(trial)) {
      const auto before = best.arcs();
      best = trial;
      best.take_stretches(before);
    } else {
      best.take_stretches(trial.arcs());
    }
  }

  // Move prices against the subgradient, by so much of the value; false if it is zero.
  bool move(const PathMatches& trial, Index length, double rise) {
    slack_.assign(price_.size(), 0.0);
    const double word = kOfLength * (length - trial.length());
    double norm = word * word;
    for (std::size_t gram = 1; gram < price_.size(); ++gram) {
      const auto at = static_cast<Index>(gram);
      const double slack = (*grams_)[at].limit - trial.times(at);
      if (price_[gram] == 0.0 && slack >= 0.0) continue;
      slack_[gram] = slack;
      norm += slack * slack;
    }
    if (norm == 0.0) return false;
    for (std::size_t gram = 1; gram < price_.size(); ++gram) {
      price_[gram] -= rise / norm * slack_[gram];
    }
    word_price_ -= rise / norm * kOfLength * word;
    return true;
  }

  // At which a length is the best to end with.
  double price_of_word(Index length) const {
    const Index low = std::max(length - 1, lengths_.first);
    const Index high = std::min(length + 1, lengths_.second);
    if (low >= high) return 0.0;
    const double rise = ending_[high - lengths_.first] - ending_[low - lengths_.first];
    return std::isfinite(rise) ? -rise / (high - low) : 0.0;
  }

  const Lattice* lattice_ = nullptr;
  const ReferenceNgrams* grams_ = nullptr;
  std::pair<Index, Index> lengths_;
  RelaxedValue of_;
  LinearBound cells_;
  bool logarithmic_ = true;
  double word_price_ = 0.0, constant_ = 0.0, value_ = kInfinity;
  std::vector<double> slope_, ending_, price_, own_, gain_, slack_;
  // slopes and prices of the lowest bound so far
  std::tuple<std::vector<double>, std::vector<double>, std::vector<double>, double, bool> kept_;
};

}  // namespace decoding
