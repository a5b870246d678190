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
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "decoding/native/bleu_labels.hpp"
#include "decoding/native/bleu_limits.hpp"
#include "decoding/native/bleu_passes.hpp"
#include "decoding/native/label_rows.hpp"
#include "decoding/native/match_scores.hpp"
#include "decoding/native/path_matches.hpp"
#include "decoding/native/relaxation.hpp"
#include "fstmetrics/native/aligning.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "lattices/native/best.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/intersection.hpp"
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
    tried_ = relaxed_ = false;
    countable_ = true;
    found_.clear();
    threshold_ = known_ = guess_ = -std::numeric_limits<double>::infinity();
    for (;;) {
      passes_.begin(tracked, ignored, by_model_);
      const bool complete = bounded_pass(problem, answer, poll);
      answer.labels += labels().size();
      left_ -= std::min(left_, passes_.cost());
      if (!complete) {
        if (options_.front && !answer.complete) bound_front(*problem.space, answer);
        add_found(answer);
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

  // paths whose neighbours are looked at, and those that these are made with
  static constexpr std::size_t kBases = 64, kOthers = 16;
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
    if (options_.front) return pass(problem, left_, poll);
    if (!tried_) {
      // no path has more words than this
      const bool fits = problem.space->num_nodes() <= Counts<W>::kMost;
      const auto quick = options_.worst ? left_ : std::min(left_, options_.quick);
      if (fits && pass(problem, quick, poll)) return true;
      tried_ = true;
      relax(problem, answer, poll);
      if (left_ <= quick || !countable_) return false;
    }
    return pass(problem, left_, poll);
  }
  bool bounded_pass(const BleuProblem<Forest>& problem, BleuAnswer&, Poll& poll) {
    return pass(problem, left_, poll);
  }
  template <class Space>
  bool pass(const BleuProblem<Space>& problem, std::size_t most, Poll& poll) {
    if (!relaxed_) return passes_.pass(problem, {most}, poll);
    double least = relaxation_.scaled(std::max(threshold_, guess_));
    least -= 1e-9 * std::max(1.0, std::isfinite(least) ? std::abs(least) : 1.0);
    return passes_.pass(problem, {most, &relaxation_, least}, poll);
  }

  // Find good sentences, and a bound of all, by prices of n-grams.
  void relax(const BleuProblem<Lattice>& problem, BleuAnswer& answer, Poll& poll) {
    const Lattice& lattice = *problem.space;
    const auto lengths = lengths_of(lattice, classes(), std::numeric_limits<Index>::max() / 2);
    if (lengths.second < 0 ||
        !relaxation_.enumerate(lattice, classes(), grams(), lengths, options_.memory, poll)) {
      return;
    }
    PathWorth of{[this](Index length, std::span<const double> matches, double model) {
                   return worth(score_of(length, matches), model, 0.0);
                 },
                 {},
                 options_.preference()};
    if (rows_) of.added = [this](std::span<const Index> arcs) { return sign_ * added(arcs); };
    PathMatches best(lattice, classes(), grams(), of);
    best.assign(lattices::best_edges(lattice, poll));
    std::vector<std::vector<Index>> tried;
    const auto start = [&](const std::vector<Index>& arcs) {
      PathMatches other(lattice, classes(), grams(), of);
      other.assign(arcs);
      tried.push_back(arcs);
      if (best.is_below(other)) std::swap(best, other);
      best.take_stretches(other.arcs());
    };
    tried.push_back(best.arcs());
    start(relaxation_.linear_path(poll));
    if (rows_) {
      start(rows_->best_path(lattice));
    } else if (!options_.worst) {
      if (const auto arcs = alignment_path(problem, poll); !arcs.empty()) start(arcs);
    }
    const auto keep = [&](const std::vector<Index>& arcs) {
      if (options_.k > 1) tried.push_back(arcs);
    };
    const RelaxedValue value{weight_, options_.model_weight, rows_ ? rows_->most() : 0.0,
                             rows_ || options_.model_weight != 0.0};
    if (options_.worst) {
      relaxation_.worsen(metric_, value, best, keep, poll);
    } else {
      relaxation_.improve(metric_, value, best, keep, poll);
      // what was found is no bound that rounding may fall below
      answer.bound = std::min(answer.bound, std::max(relaxation_.value(), best.worth()));
      // labels have 15 bits for a count
      relaxed_ = true;
      countable_ = lengths.second <= Counts<W>::kMost;
    }
    answer.complete = true;
    if (options_.k > 1) {
      top_ = best.worth();
      margin_ = kMargin / 4 * std::max(1.0, std::abs(top_));
      guess_ = top_;
      if (!options_.worst) lower_guess();
      tried.push_back(best.arcs());
      found_ = neighbours(best, tried, problem.word, poll);
      return;
    }
    known_ = best.worth();
    if (!options_.worst) threshold_ = known_;
    answer.paths.assign(1, best.arcs());
    score_of(best.length(), best.matches());
    answer.rows.assign(row_.begin(), row_.end());
  }

  // What the machine adds for a path.
  double added(std::span<const Index> arcs) {
    double base = rows_->opening();
    Index row = 0;
    for (const Index arc : arcs) {
      if (!rows_->step(arc, row, base)) return -std::numeric_limits<double>::infinity();
    }
    return rows_->ending(row, base);
  }

  // The path of the best alignment under 4-GRR, as a start; none if that takes too much memory.
  std::vector<Index> alignment_path(const BleuProblem<Lattice>& problem, Poll& poll) const {
    constexpr Index kOrder = 4;
    if (problem.unit.empty()) return {};
    Lattice lattice = *problem.space;
    lattice.label = problem.unit;
    // words that the lattice does not have match nothing
    const Index largest = *std::ranges::max_element(problem.unit);
    std::vector<Index> word, position;
    std::vector<std::size_t> offset{0};
    for (std::size_t each = 0; each < problem.references.size(); ++each) {
      const auto words = problem.references[each];
      for (std::size_t at = 0; at < words.size(); ++at) {
        if (words[at] <= 0 || words[at] > largest) continue;
        word.push_back(words[at]);
        position.push_back(static_cast<Index>(at));
      }
      offset.push_back(word.size());
    }
    const std::vector<double> weight(word.size(), 1.0);
    std::vector<lattices::Alignment> alignments;
    std::vector<lattices::Part> parts;
    for (std::size_t each = 0; each < problem.references.size(); ++each) {
      const auto known = [&](auto& column) {
        return std::span(std::as_const(column))
            .subspan(offset[each], offset[each + 1] - offset[each]);
      };
      alignments.push_back({static_cast<Index>(problem.references.length(each)), kOrder, 1.0, 0.0,
                            1.0, known(word), known(position), known(weight)});
    }
    for (const auto& each : alignments) {
      const double possible = fstmetrics::possible_ngrams(each.length, kOrder);
      parts.push_back({&each, std::max(1.0, possible), 0.0});
    }
    lattices::Intersection intersection;
    lattices::BestPath best;
    try {
      intersection.search(lattice, parts, {0.0, options_.memory}, best, poll);
    } catch (const lattices::Error& error) {
      if (error.kind != lattices::ErrorKind::TooLarge) throw;
    }
    return best.complete() ? best.arcs : std::vector<Index>{};
  }

  // The k best of the sentences that differ from one in a single stretch of those that were tried,
  // and of the ones that differ from these.
  std::vector<std::vector<Index>> neighbours(const PathMatches& best,
                                             const std::vector<std::vector<Index>>& tried,
                                             std::span<const Index> word, Poll& poll) {
    using Found = std::pair<double, std::vector<Index>>;
    const auto most = static_cast<std::size_t>(options_.k);
    const auto higher = [](const Found& one, const Found& other) {
      return one.first > other.first;
    };
    std::vector<Found> found;  // a heap, the lowest first
    std::set<std::vector<Index>> known;
    const auto offer = [&](double worth, auto&& arcs) {
      if (found.size() == most && worth <= found.front().first) return;
      std::vector<Index> path = arcs(), words;
      for (const Index arc : path) {
        if (word[arc] > 0) words.push_back(word[arc]);
      }
      if (!known.insert(std::move(words)).second) return;
      if (found.size() == most) {
        std::pop_heap(found.begin(), found.end(), higher);
        found.pop_back();
      }
      found.emplace_back(worth, std::move(path));
      std::push_heap(found.begin(), found.end(), higher);
    };
    offer(best.worth(), [&] { return best.arcs(); });
    PathMatches base = best;
    const std::size_t bases = std::min<std::size_t>(most, kBases);
    std::set<std::vector<Index>> done;
    while (done.size() < bases) {
      const Found* next = nullptr;
      for (const Found& each : found) {
        if (!done.contains(each.second) && (next == nullptr || higher(each, *next))) next = &each;
      }
      if (next == nullptr) break;
      base.assign(std::vector<Index>(next->second));
      done.insert(base.arcs());
      for (auto other = tried.rbegin(); other != tried.rend(); ++other) {
        if (static_cast<std::size_t>(other - tried.rbegin()) >= kOthers) break;
        poll(other->size());
        base.with_each_stretch(*other, offer);
      }
    }
    for (const auto& each : tried) {
      base.assign(each);
      offer(base.worth(), [&] { return each; });
    }
    std::sort(found.begin(), found.end(), higher);
    std::vector<std::vector<Index>> paths;
    for (Found& each : found) paths.push_back(std::move(each.second));
    return paths;
  }

  // Add the sentences that were found without labels to an answer that is not proven.
  void add_found(BleuAnswer& answer) {
    answer.paths.insert(answer.paths.end(), found_.begin(), found_.end());
    found_.clear();
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
      const std::size_t states = problem.space->num_nodes();
      const std::size_t cells = problem.added->automaton->num_states();
      const double bytes =
          static_cast<double>(states) * static_cast<double>(cells) * sizeof(double);
      if (bytes > static_cast<double>(options_.memory)) {
        throw lattices::too_large(std::to_string(states) + " lattice states x " +
                                      std::to_string(cells) + " states of a machine that is added",
                                  bytes, options_.memory);
      }
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
  Relaxation relaxation_;
  bool tried_ = false, relaxed_ = false;  // whether it was made, and whether it is a bound
  bool countable_ = true;
  std::vector<std::vector<Index>> found_;  // without labels, where more than one is wanted
  double threshold_ = 0.0;                 // what a label must be able to reach
  double known_ = 0.0;                     // what the answer is worth so far
  double guess_ = 0.0, top_ = 0.0, margin_ = 0.0;
  bool reached_ = true;  // k sentences have reached the guess
  std::vector<End> ends_;
  std::vector<double> row_, matches_;
  std::vector<Index> words_, times_, seen_;
};

}  // namespace decoding
