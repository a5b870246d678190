// The best sentences of a space under BLEU or chrF, by labels.
//
// For a fixed length the score of a sentence is a function F(length, m_1 .. m_N) of its clipped
// n-gram matches that grows with each of them (match_scores.hpp): labels have these counts, and the
// best are among those that no other one dominates (bleu_labels.hpp). A round leads them through
// the space (bleu_passes.hpp), in large lattices with a bound of what they can become
// (linear_bound.hpp). Where the value of a machine is added to the score, labels have its row, too
// (label_rows.hpp), and the bound is the sum of both.
//
// Clipping by need (clipping.hpp): matches are counted without limit at first, which bounds the
// score from above. The n-grams that the best label has more often than any reference are tracked
// in the next round, until the best labels have nothing too often; then they are proven. For the
// worst sentence it is the other way round: n-grams that might be exceeded count nothing until they
// are tracked.
//
// Cost: one step for each pair of a label and an arc (of two labels that meet in an edge), and one
// comparison for each label of the same place. There is no polynomial bound of their number (the
// problem is NP-hard: Leusch, Matusov and Ney, EMNLP 2008), so there is a budget.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "decoding/native/bleu_labels.hpp"
#include "decoding/native/bleu_limits.hpp"
#include "decoding/native/bleu_passes.hpp"
#include "decoding/native/label_rows.hpp"
#include "decoding/native/linear_bound.hpp"
#include "decoding/native/match_scores.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"

namespace decoding {

// What was found: paths or derivations, the best first, and the statistics of each. `bound` limits
// what no sentence surpasses: the score, and the model score times its weight. `outer` has, where
// the front was asked for, rows that dominate whatever is attainable.
struct BleuAnswer {
  std::vector<std::vector<Index>> paths;
  std::vector<double> rows, outer;
  double bound = 0.0;
  bool complete = false;  // at least one search came to its end
  bool exact = false;
  std::size_t labels = 0;
};

// scores closer than this differ by rounding
inline constexpr double kRounding = 1e-12;

template <std::size_t W>
class BleuSearch {
 public:
  BleuSearch(MatchScore& metric, const BleuSearchOptions& options)
      : metric_(metric),
        options_(options),
        sign_(options.sign()),
        passes_(options_),
        row_(metric.width()),
        matches_(metric.order()) {}
  BleuSearch(const BleuSearch&) = delete;
  BleuSearch& operator=(const BleuSearch&) = delete;

  template <class Space>
  BleuAnswer solve(const BleuProblem<Space>& problem, Poll& poll) {
    passes_.compile(problem, metric_.order());
    metric_.set_references(problem.references);
    weight_ = problem.weight;
    read_rows(problem);
    left_ = options_.budget;
    by_model_ = decides_by_model(*problem.space);
    std::vector<char> ignored;
    if (options_.worst) ignored = might_exceed(*problem.space, grams(), classes());
    std::vector<Index> tracked;
    BleuAnswer answer;
    answer.bound = sign_ * std::numeric_limits<double>::infinity();
    if (rows_ && !options_.worst && options_.model_weight == 0.0) {
      answer.bound = weight_ + rows_->most();
    }
    bounded_ = false;
    threshold_ = known_ = guess_ = -std::numeric_limits<double>::infinity();
    for (;;) {
      passes_.begin(tracked, ignored, by_model_);
      const bool complete = bounded_pass(problem, answer, poll);
      answer.labels += labels().size();
      left_ -= std::min(left_, passes_.cost());
      if (!complete) {
        if (options_.front && !answer.complete) bound_front(*problem.space, answer);
        return answer;
      }
      collect_ends(*problem.space);
      for (const End& end : ends_) {
        if (options_.model_weight != 0.0 && !std::isfinite(end.worth)) {
          throw lattices::engine_error(std::string(problem.space->name) +
                                       ": a sentence has no finite value under this model weight");
        }
      }
      if (ends_.empty() && lower_guess()) continue;
      if (ends_.empty()) {
        answer.complete = answer.exact = true;
        return answer;
      }
      auto more = judge(*problem.space, ignored, answer);
      if (!reached_ && lower_guess()) continue;
      answer.complete = true;
      if (more.empty() && all_zero() && ignored.empty()) {
        // any sentence will do: nothing is counted, and the model decides
        ignored.assign(grams().size(), 1);
        tracked.clear();
        threshold_ = guess_ = -std::numeric_limits<double>::infinity();
        continue;
      }
      if (more.empty()) {
        answer.exact = true;
        // other bounds are rounded
        answer.bound = sign_ * std::max(ends_[0].worth, known_);
        return answer;
      }
      tracked.insert(tracked.end(), more.begin(), more.end());
    }
  }

 private:
  using L = Label<W>;

  // how often the bound is taken anew where its own path leads
  static constexpr int kSteps = 4;
  // how far below the best the k-th best is looked for at first
  static constexpr double kMargin = 0.03;

  // A label with which a sentence ends.
  struct End {
    Index label;
    double model, added, worth;
  };

  const ReferenceNgrams& grams() const { return passes_.grams(); }
  std::span<const Index> classes() const { return passes_.classes(); }
  const std::vector<L>& labels() const { return passes_.labels(); }

  bool all_zero() const {
    return !by_model_ && !rows_ && !options_.front && !options_.worst &&
           ends_[0].worth <= kRounding;
  }

  // Whether a sentence can score like another of its length that has more matches: then the one
  // does not make the other needless if its model score is lower. Where only scores of 0 are equal,
  // the single best needs none of this: see all_zero.
  template <class Space>
  bool decides_by_model(const Space& space) {
    if (options_.model_weight != 0.0) return true;
    if (!metric_.strictly_grows()) return true;
    if (rows_ && metric_.has_zeros()) return true;
    if (options_.front || (!options_.worst && options_.k == 1 && !rows_)) return false;
    if (metric_.has_zeros()) return true;
    // shorter than the order, or with next to nothing left by the brevity penalty
    // longer ones are refused by the search
    const auto [shortest, longest] = lengths_of(space, classes(), Counts<W>::kMost + 1);
    for (Index length = shortest; length <= longest; ++length) {
      if (score_of(length, metric_.most_matches(length)) <= kRounding) return true;
    }
    return false;
  }

  // Search, and if there is much to be searched, with a bound.
  bool bounded_pass(const BleuProblem<Lattice>& problem, BleuAnswer& answer, Poll& poll) {
    if (options_.front || options_.worst) return pass(problem, left_, poll);
    if (!bounded_) {
      if (pass(problem, std::min(left_, options_.quick), poll)) return true;
      if (left_ <= options_.quick) return false;
      bounded_ = bound_.enumerate(*problem.space, classes(), grams(), 8 * left_, poll) &&
                 bound_.bytes() < options_.memory;
      if (!bounded_) return pass(problem, left_, poll);
      improve(*problem.space, answer, poll);
    }
    return pass(problem, left_, poll);
  }
  bool bounded_pass(const BleuProblem<Forest>& problem, BleuAnswer&, Poll& poll) {
    return pass(problem, left_, poll);
  }
  template <class Space>
  bool pass(const BleuProblem<Space>& problem, std::size_t most, Poll& poll) {
    if (!bounded_) return passes_.pass(problem, {most}, poll);
    double least = bound_.scale(std::max(threshold_, guess_));
    least -= 1e-9 * std::max(1.0, std::isfinite(least) ? std::abs(least) : 1.0);
    return passes_.pass(problem, {most, &bound_, least}, poll);
  }

  // Follow the bound's own best paths to a good sentence, and tighten the bound there.
  void improve(const Lattice& lattice, BleuAnswer& answer, Poll& poll) {
    Index length = metric_.likely_length();
    std::vector<double> matches(metric_.order());
    for (Index n = 0; n < metric_.order(); ++n) {
      matches[n] = std::max(0.5, (length - n) * std::pow(0.8, n + 1));
    }
    double highest = std::numeric_limits<double>::infinity(), before = -highest;
    // What a path is worth: from now on its own matches are those of the slopes.
    const auto follow = [&](const std::vector<Index>& arcs) {
      const double last = lattice.final[lattice.last(arcs)];
      words_.clear();
      double model = last, more = rows_ ? rows_->opening() : 0.0;
      Index row = 0;
      for (const Index arc : arcs) {
        model += lattice.score[arc];
        if (classes()[arc] >= 0) words_.push_back(classes()[arc]);
        if (rows_) rows_->step(arc, row, more);
      }
      const auto found = clipped({});
      length = static_cast<Index>(words_.size());
      const double score = score_of(length, found.count);
      const double now = worth(score, model, rows_ ? rows_->ending(row, more) : 0.0);
      for (Index n = 0; n < metric_.order(); ++n) matches[n] = found.count[n + 1];
      if (options_.k == 1 && now > known_) {
        known_ = threshold_ = now;
        answer.paths.assign(1, arcs);
        answer.rows.assign(row_.begin(), row_.end());
        answer.complete = true;
      }
      return now;
    };
    if (rows_) follow(rows_->best_path(lattice));
    for (int step = 0; step < kSteps; ++step) {
      metric_.linearise(length, matches, options_.model_weight != 0.0 || rows_);
      bound_.pass(lattice, passes_.clipping(), metric_, weight_, options_.model_weight, poll);
      const double most = rows_ ? rows_->most() : 0.0;
      highest = std::min(highest, bound_.value() + most);
      const auto arcs = bound_.path(lattice);
      // all score 0, and no path is better than another
      if (std::isinf(lattice.final[lattice.last(arcs)])) break;
      const double now = follow(arcs);
      if (now <= before) break;
      before = now;
    }
    if (options_.k > 1) {
      top_ = before;
      margin_ = kMargin / 4 * std::max(1.0, std::abs(top_));
      guess_ = top_;
      lower_guess();
    }
    answer.bound = std::min(answer.bound, highest);
  }

  // What the k-th best is worth is not known before they are found: a guess takes its place, and
  // a lower one, if fewer are found that reach it. False if there was none.
  bool lower_guess() {
    if (std::isinf(guess_)) return false;
    margin_ *= 4;
    guess_ = top_ - margin_;
    const bool any = options_.model_weight == 0.0 && !rows_
                         ? guess_ <= 0.0
                         : margin_ > 1e3 * std::max(1.0, std::abs(top_));
    if (any) guess_ = -std::numeric_limits<double>::infinity();
    return true;
  }

  void collect_ends(const Lattice& lattice) {
    ends_.clear();
    for (Index state = 0; state < lattice.num_nodes(); ++state) {
      if (std::isinf(lattice.final[state])) continue;
      const auto [begin, end] = passes_.range(state);
      for (Index at = begin; at < end; ++at) add_end(at, lattice.final[state]);
    }
  }
  void collect_ends(const Forest& forest) {
    ends_.clear();
    const auto [begin, end] = passes_.range(forest.root);
    for (Index at = begin; at < end; ++at) add_end(at, 0.0);
  }
  void add_end(Index at, double more) {
    const double score = score_of(labels()[at].length, labels()[at].count);
    const double model = labels()[at].model + more;
    const double added = rows_ ? rows_->ending(labels()[at].row, labels()[at].base) : 0.0;
    ends_.push_back({at, model, added, worth(score, model, added)});
  }
  double worth(double score, double model, double added) const {
    const double value = weight_ * score + added;
    return sign_ * (options_.model_weight != 0.0 ? value + options_.model_weight * model : value);
  }
  // Writes the statistics, too.
  double score_of(Index length, std::span<const double> matches) {
    metric_.write(length, matches, row_);
    return metric_.score(row_);
  }
  double score_of(Index length, const Counts<W>& count) {
    for (Index n = 0; n < metric_.order(); ++n) matches_[n] = count[n + 1];
    return score_of(length, matches_);
  }

  struct Truth {
    Counts<W> count;
    std::vector<Index> needed;  // n-grams that are to be tracked
  };

  // The clipped matches of a label, and what its counts differ in from them.
  template <class Space>
  Truth truth(const Space& space, Index label, std::span<const char> ignored) {
    spell(space, classes(), labels(), label, words_);
    return clipped(ignored);
  }
  Truth clipped(std::span<const char> ignored) {
    Truth result;
    times_.resize(grams().size(), 0);
    seen_.clear();
    Index context = ReferenceNgrams::kEmpty;
    for (const Index word : words_) {
      const Index longest = grams().step(context, word);
      context = grams()[longest].context;
      for (Index gram = longest; gram != 0; gram = grams()[gram].suffix) {
        if (times_[gram]++ == 0) seen_.push_back(gram);
      }
    }
    for (const Index gram : seen_) {
      const Index count = times_[gram], limit = grams()[gram].limit;
      result.count.add(grams()[gram].length, std::min(count, limit));
      const bool wrong = options_.worst ? !ignored.empty() && ignored[gram] : count > limit;
      if (wrong && !passes_.clipping().tracks(gram)) result.needed.push_back(gram);
      times_[gram] = 0;
    }
    return result;
  }

  // Score the ends for what they are, and choose. Returns the n-grams that must be tracked before
  // the choice is proven.
  template <class Space>
  std::vector<Index> judge(const Space& space, std::span<const char> ignored, BleuAnswer& answer) {
    if (options_.front) return judge_front(space, ignored, answer);
    if (options_.k > 1) merge_sentences();
    std::stable_sort(ends_.begin(), ends_.end(), [](const End& one, const End& other) {
      return one.worth > other.worth || (one.worth == other.worth && one.model > other.model);
    });
    const bool sums = options_.model_weight != 0.0 || rows_;
    const double scale = sums ? std::max(1.0, std::abs(ends_[0].worth)) : 1.0;
    const double rounding = kRounding * scale;
    answer.bound = sign_ * std::min(sign_ * answer.bound, ends_[0].worth);
    std::vector<Index> needed;
    std::vector<double> best;  // the k highest true values, descending
    std::vector<Counts<W>> counts;
    std::vector<End> judged;
    double wrong = -std::numeric_limits<double>::infinity();
    for (End end : ends_) {
      const double last = static_cast<Index>(best.size()) < options_.k
                              ? -std::numeric_limits<double>::infinity()
                              : best.back();
      if (end.worth < last - rounding) break;
      auto found = truth(space, end.label, ignored);
      const double relaxed = end.worth;
      const double score = score_of(labels()[end.label].length, found.count);
      end.worth = worth(score, end.model, end.added);
      if (!found.needed.empty() && std::abs(relaxed - end.worth) > rounding && needed.empty()) {
        needed = std::move(found.needed);
        wrong = relaxed;
      }
      best.insert(std::upper_bound(best.begin(), best.end(), end.worth, std::greater<>()),
                  end.worth);
      if (static_cast<Index>(best.size()) > options_.k) best.pop_back();
      judged.push_back(end);
      counts.push_back(found.count);
    }
    reached_ = static_cast<Index>(best.size()) == options_.k && best.back() >= guess_ - rounding;
    if (static_cast<Index>(best.size()) == options_.k) {
      if (wrong < best.back() - rounding) needed.clear();
      threshold_ = std::max(threshold_, best.back());
    }
    // an earlier round may have come by a better one, which the best of this one hid
    if (options_.k > 1 || best[0] >= known_ - rounding) {
      keep_best(space, judged, counts, rounding, answer);
      known_ = best[0];
    }
    return needed;
  }

  // Of the ends with the same words keep the one that is preferred.
  void merge_sentences() {
    tsl::robin_map<std::uint64_t, std::size_t, lattices::MixedHash> place;
    const double preference = options_.preference();
    std::size_t size = 0;
    for (const End& end : ends_) {
      const auto [found, is_new] = place.try_emplace(labels()[end.label].key, size);
      if (is_new) {
        ends_[size++] = end;
      } else if (preference * end.model > preference * ends_[found->second].model) {
        ends_[found->second] = end;
      }
    }
    ends_.resize(size);
  }

  // By what they are worth, and where that differs by rounding alone, by model score.
  template <class Space>
  void keep_best(const Space& space, const std::vector<End>& judged,
                 const std::vector<Counts<W>>& counts, double rounding, BleuAnswer& answer) {
    std::vector<std::size_t> order(judged.size());
    for (std::size_t each = 0; each < order.size(); ++each) order[each] = each;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
      return judged[one].worth > judged[other].worth;
    });
    for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
      for (end = begin + 1; end < order.size(); ++end) {
        if (judged[order[end - 1]].worth - judged[order[end]].worth > rounding) break;
      }
      std::stable_sort(order.begin() + begin, order.begin() + end,
                       [&](std::size_t one, std::size_t other) {
                         return judged[one].model > judged[other].model;
                       });
    }
    if (order.size() > static_cast<std::size_t>(options_.k)) order.resize(options_.k);
    answer.paths.clear();
    answer.rows.clear();
    for (const auto each : order) {
      answer.paths.push_back(path(space, labels(), judged[each].label));
      score_of(labels()[judged[each].label].length, counts[each]);
      answer.rows.insert(answer.rows.end(), row_.begin(), row_.end());
    }
  }

  template <class Space>
  std::vector<Index> judge_front(const Space& space, std::span<const char> ignored,
                                 BleuAnswer& answer) {
    // whatever may follow no longer matters
    std::vector<L> sentences;
    for (const End& end : ends_) {
      L& label = sentences.emplace_back();
      label.count = labels()[end.label].count;
      label.length = labels()[end.label].length;
      label.model = end.model;
      label.back = end.label;
    }
    std::vector<Index> needed;
    answer.paths.clear();
    answer.rows.clear();
    answer.outer.clear();
    for (const L& label : passes_.not_dominated(sentences)) {
      auto found = truth(space, label.back, ignored);
      answer.paths.push_back(path(space, labels(), label.back));
      score_of(label.length, found.count);
      answer.rows.insert(answer.rows.end(), row_.begin(), row_.end());
      score_of(label.length, label.count);
      answer.outer.insert(answer.outer.end(), row_.begin(), row_.end());
      for (const Index gram : found.needed) {
        if (std::find(needed.begin(), needed.end(), gram) == needed.end()) needed.push_back(gram);
      }
    }
    return needed;
  }

  // Rows that dominate whatever a space may have, of each length.
  template <class Space>
  void bound_front(const Space& space, BleuAnswer& answer) {
    const auto [shortest, longest] = lengths_of(space, classes(), Counts<W>::kMost + 1);
    std::vector<double> most(metric_.order(), 0.0);
    for (std::size_t gram = 1; gram < grams().size(); ++gram) {
      const auto& each = grams()[static_cast<Index>(gram)];
      most[each.length - 1] += each.limit;
    }
    for (Index length = shortest; length <= longest; ++length) {
      auto matches = metric_.most_matches(length);
      for (Index n = 0; n < metric_.order(); ++n) matches[n] = std::min(most[n], matches[n]);
      metric_.write(length, matches, row_);
      answer.outer.insert(answer.outer.end(), row_.begin(), row_.end());
    }
  }

  // The rows of the machine that is added to the score.
  void read_rows(const BleuProblem<Lattice>& problem) {
    rows_.reset();
    if (problem.added) {
      problem.added->tables->visit([&](const auto& reader) {
        if constexpr (std::is_same_v<std::decay_t<decltype(reader)>, LabelRows::Reader>) {
          rows_.emplace(*problem.added, reader, *problem.space);
        }
      });
    }
    passes_.set_rows(rows_ ? &*rows_ : nullptr);
  }
  void read_rows(const BleuProblem<Forest>&) {}

  MatchScore& metric_;
  const BleuSearchOptions options_;
  const double sign_;
  bool by_model_ = false;  // the model score is one more thing to be better in
  LabelPasses<W> passes_;
  double weight_ = 1.0;  // of the score
  std::optional<LabelRows> rows_;
  std::size_t left_ = 0;  // of the budget
  LinearBound bound_;
  bool bounded_ = false;
  double threshold_ = 0.0;  // what a label must be able to reach
  double known_ = 0.0;      // what the answer is worth so far
  double guess_ = 0.0, top_ = 0.0, margin_ = 0.0;
  bool reached_ = true;  // k sentences have reached the guess
  std::vector<End> ends_;
  std::vector<double> row_, matches_;
  std::vector<Index> words_, times_, seen_;
};

}  // namespace decoding
