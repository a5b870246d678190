// The best sentences of a space under BLEU, by labels.
//
// For a fixed length the score of a sentence is a function F(length, m_1 .. m_N) of its clipped
// n-gram matches that grows with each of them. A label is the beginning of a sentence (in a forest:
// a part of one) with its length, its matches and its model score. Labels meet where they agree in
//
//   (node, the longest suffix of at most N - 1 words that is an n-gram of a reference, length)
//
// and in a forest in the longest such prefix, too: whatever follows matches alike, so that one with
// no fewer matches of any order makes another needless (Pareto dominance).
//
// Clipping by need: matches are counted without limit at first, which bounds the score from above.
// The n-grams that the best label has more often than any reference become part of the label: u(g)
// is how often it has g, at most the limit. Then a makes b needless if for each order
//
//   m_a - m_b >= sum over tracked n-grams g of that order of max(0, u_a(g) - u_b(g)),
//
// since b's continuation can gain at most so much more. The search runs again until the best labels
// have nothing too often; then they are proven. For the worst sentence it is the other way round:
// n-grams that might be exceeded count nothing until they are tracked.
//
// For the k best a label is needless if k different ones dominate it.
//
// Cost: one step for each pair of a label and an arc (of two labels that meet in an edge), and one
// comparison for each label of the same place. There is no polynomial bound of their number (the
// problem is NP-hard: Leusch, Matusov and Ney, EMNLP 2008), so there is a budget.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "decoding/native/linear_bound.hpp"
#include "fstmetrics/native/bleu.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Forest;

template <std::size_t W>
struct Label {
  Counts<W> count;
  double model = 0.0;
  std::uint64_t key = 0;    // of its words, where sentences must differ
  std::uint64_t power = 1;  // by which the key of what stands before is multiplied
  Index length = 0;
  Index left = 0, right = 0;   // the contexts at its ends; `left` in forests alone
  Index used = 0;              // how often it has the tracked n-grams
  Index back = -1, tail = -1;  // the label before, and in a forest the one that was appended
  Index edge = -1;             // the last arc; in a forest, set where an edge is complete
  Index cell = -1;             // of the bound
  Index dominators = 0;
};

// The labels of one node, those that are needless left out. The place of a label is what it must
// agree in with another that it makes needless.
template <std::size_t W>
class Front {
 public:
  void open() {
    ++stamp_;
    labels_.clear();
    next_.clear();
    places_ = 0;
  }
  // Of all labels since the beginning.
  std::size_t comparisons() const { return comparisons_; }
  std::size_t bytes() const {
    return labels_.capacity() * (sizeof(Label<W>) + sizeof(Index)) +
           table_.capacity() * sizeof(Slot);
  }

  // Take a label in unless `most` others make it needless; those that it makes so are removed.
  template <class Dominates>
  void insert(const Label<W>& label, Index most, const Dominates& dominates) {
    if (2 * (places_ + 1) > table_.size()) grow();
    Slot& slot = find(label);
    auto made = label;
    made.dominators = 0;
    Index same = -1;  // the label of another path of the same sentence
    for (Index at = most > 1 ? slot.head : -1; at >= 0 && same < 0; at = next_[at]) {
      if (labels_[at].key == label.key) same = at;
    }
    if (same >= 0 && !dominates.prefers(label, labels_[same])) return;
    Index* link = &slot.head;
    for (Index at = slot.head; at >= 0; at = *link) {
      auto& other = labels_[at];
      ++comparisons_;
      bool needless = at == same;
      if (at != same && dominates(other, label)) {
        if (++made.dominators >= most) return;
      } else if (at != same && dominates(label, other)) {
        // a sentence counts once
        const bool known = same >= 0 && dominates(labels_[same], other);
        needless = !known && ++other.dominators >= most;
      }
      if (needless) {
        *link = next_[at];
      } else {
        link = &next_[at];
      }
      if (needless && at != same) other.length = kRemoved;
    }
    if (same >= 0) labels_[same].length = kRemoved;
    next_.push_back(slot.head);
    slot.head = static_cast<Index>(labels_.size());
    labels_.push_back(made);
  }
  // Append what is left to a vector.
  void close(std::vector<Label<W>>& kept) const {
    for (const auto& label : labels_) {
      if (label.length != kRemoved) kept.push_back(label);
    }
  }

 private:
  static constexpr Index kRemoved = -1;
  struct Slot {
    std::uint64_t contexts = 0;
    Index length = 0, stamp = 0, head = -1;
  };

  Slot& find(const Label<W>& label) {
    const auto contexts = lattices::pair_key(label.left, label.right);
    const std::size_t mask = table_.size() - 1;
    auto place = lattices::mixed(contexts, label.length) & mask;
    for (; table_[place].stamp == stamp_; place = (place + 1) & mask) {
      if (table_[place].contexts == contexts && table_[place].length == label.length) {
        return table_[place];
      }
    }
    ++places_;
    table_[place] = {contexts, label.length, stamp_, -1};
    return table_[place];
  }
  void grow() {
    std::vector<Slot> larger(std::max<std::size_t>(64, 2 * table_.size()));
    const std::size_t mask = larger.size() - 1;
    for (const Slot& slot : table_) {
      if (slot.stamp != stamp_) continue;
      auto place = lattices::mixed(slot.contexts, slot.length) & mask;
      while (larger[place].stamp == stamp_) place = (place + 1) & mask;
      larger[place] = slot;
    }
    table_ = std::move(larger);
  }

  std::vector<Label<W>> labels_;
  std::vector<Index> next_;
  std::vector<Slot> table_;
  std::size_t places_ = 0, comparisons_ = 0;
  Index stamp_ = 0;
};

// A space with the unit and the word of each arc or symbol: units are what the references have,
// words what sentences differ in. 0 is none; slots of a forest are negative, as in its symbols.
template <class Space>
struct LabelProblem {
  const Space* space;
  std::span<const Index> unit, word;
  fstmetrics::Sentences references;
};

struct LabelOptions {
  Index k = 1;
  bool worst = false, front = false;
  double model_weight = 0.0;
  std::size_t budget, memory;  // labels and bytes
  std::size_t quick;           // labels that are searched without a bound, which costs as much
};

// What was found: paths or derivations, the best first, and the statistics of each. `bound` limits
// what no sentence surpasses: the score, and the model score times its weight. `outer` has, where
// the front was asked for, rows that dominate whatever is attainable.
struct LabelAnswer {
  std::vector<std::vector<Index>> paths;
  std::vector<double> rows, outer;
  double bound = 0.0;
  bool complete = false;  // at least one search came to its end
  bool exact = false;
  std::size_t labels = 0, rounds = 0;
};

// scores closer than this differ by rounding
inline constexpr double kRounding = 1e-12;

template <std::size_t W>
class LabelSearch {
 public:
  LabelSearch(const LabelMetric& metric, const LabelOptions& options)
      : metric_(metric),
        options_(options),
        sign_(options.worst ? -1.0 : 1.0),
        clipping_(grams_),
        row_(2 * metric.order() + 2) {
    preference_ = options.model_weight != 0.0 ? sign_ * options.model_weight : 1.0;
  }

  template <class Space>
  LabelAnswer solve(const LabelProblem<Space>& problem, Poll& poll) {
    grams_.compile(problem.references, metric_.order());
    const fstmetrics::ReferenceLengths lengths(problem.references, metric_.length);
    lengths_ = &lengths;
    left_ = options_.budget;
    classes_.resize(problem.unit.size());
    for (std::size_t each = 0; each < classes_.size(); ++each) {
      const Index unit = problem.unit[each];
      classes_[each] = unit <= 0 ? unit - 1 : grams_.class_of(unit);
    }
    by_model_ = decides_by_model(*problem.space);
    std::vector<char> ignored;
    if (options_.worst) ignored = might_exceed(*problem.space);
    std::vector<Index> tracked;
    LabelAnswer answer;
    answer.bound = sign_ * std::numeric_limits<double>::infinity();
    bounded_ = false;
    threshold_ = known_ = guess_ = -std::numeric_limits<double>::infinity();
    for (;;) {
      clipping_.begin(tracked, ignored);
      compared_ = front_.comparisons() + part_.comparisons();
      const bool complete = bounded_pass(problem, answer, poll);
      answer.labels += labels_.size();
      const auto compared = front_.comparisons() + part_.comparisons() - compared_;
      left_ -= std::min(left_, labels_.size() + compared / kComparisons);
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
        ignored.assign(grams_.size(), 1);
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

  // comparisons that cost as much as a label: where many labels meet, they are most of the work
  static constexpr std::size_t kComparisons = 1000;
  // how often the bound is taken anew where its own path leads
  static constexpr int kSteps = 4;
  // how far below the best the k-th best is looked for at first
  static constexpr double kMargin = 0.03;

  // A label with which a sentence ends.
  struct End {
    Index label;
    double model, score, worth;
  };

  // Whether one label makes another of the same place needless.
  struct Dominance {
    const LabelSearch& search;

    bool operator()(const L& one, const L& other) const {
      const bool worst = search.options_.worst;
      const L &high = worst ? other : one, &low = worst ? one : other;
      if (!high.count.covers(low.count)) return false;
      bool equal;
      if (high.used == low.used) {
        equal = high.count == low.count;
      } else {
        auto least = low.count;
        least += search.clipping_.more(high.used, low.used);
        if (!high.count.covers(least)) return false;
        equal = high.count == least;
      }
      if (search.by_model_) return prefers_or_equals(one, other);
      return !equal || one.model >= other.model;
    }
    bool prefers_or_equals(const L& one, const L& other) const {
      return search.preference_ * one.model >= search.preference_ * other.model;
    }
    bool prefers(const L& one, const L& other) const { return !prefers_or_equals(other, one); }
  };

  void insert(Front<W>& front, const L& label) {
    front.insert(label, options_.front ? 1 : options_.k, Dominance{*this});
  }

  // Close a front; false if the budget is spent.
  bool settle(const Front<W>& front, std::size_t most) {
    front.close(labels_);
    const auto bytes = lattices::growing_bytes(labels_) + front_.bytes() + part_.bytes() +
                       clipping_.bytes() + (bounded_ ? bound_.bytes() : 0);
    const auto compared = (front_.comparisons() + part_.comparisons() - compared_) / kComparisons;
    return labels_.size() + compared <= most && bytes <= options_.memory;
  }

  L with_word(const L& label, Index word_class, Index word) {
    L next = label;
    if (word > 0 && options_.k > 1) append_key(next, static_cast<std::uint64_t>(word), kBase);
    if (word_class < 0) return next;
    if (label.length == Counts<W>::kMost) throw too_long();
    const Index gram = grams_.step(label.right, word_class);
    next.count += clipping_.gain(gram);
    if (clipping_.touches(gram)) {
      const auto step = clipping_.after(label.used, gram);
      next.used = step.used;
      next.count -= step.lost;
    }
    next.right = grams_[gram].context;
    ++next.length;
    return next;
  }

  static lattices::Error too_long() {
    return lattices::engine_error("sentences of more than 32767 words or characters are too long");
  }

  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1,
                                 kBase = 0x1D3F84A5B7C291E3u % kPrime;

  static std::uint64_t times(std::uint64_t one, std::uint64_t other) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(one) * other % kPrime);
  }
  // The key of words is a polynomial of them: that of a whole follows from those of its parts.
  static void append_key(L& label, std::uint64_t key, std::uint64_t power) {
    label.key = (times(label.key, power) + key) % kPrime;
    label.power = times(label.power, power);
  }

  bool all_zero() const {
    return !by_model_ && !options_.front && !options_.worst && ends_[0].worth <= kRounding;
  }

  // Whether a sentence can score like another of its length that has more matches: then the one
  // does not make the other needless if its model score is lower. Where only scores of 0 are equal,
  // the single best needs none of this: see all_zero.
  template <class Space>
  bool decides_by_model(const Space& space) {
    if (options_.model_weight != 0.0) return true;
    if (!metric_.strictly_grows()) return true;
    if (options_.front || (!options_.worst && options_.k == 1)) return false;
    if (metric_.has_zeros()) return true;
    // shorter than the order, or with next to nothing left by the brevity penalty
    const auto [shortest, longest] = lengths_of(space);
    for (Index length = shortest; length <= longest; ++length) {
      lengths_->write(length, metric_.strict, row_);
      for (Index n = 0; n < metric_.order(); ++n) row_[n] = row_[metric_.order() + n];
      if (fstmetrics::bleu_score(row_, metric_.bleu) <= kRounding) return true;
    }
    return false;
  }

  // Search, and if there is much to be searched, with a bound.
  bool bounded_pass(const LabelProblem<Lattice>& problem, LabelAnswer& answer, Poll& poll) {
    if (options_.front || options_.worst) return pass(problem, left_, poll);
    if (!bounded_) {
      if (pass(problem, std::min(left_, options_.quick), poll)) return true;
      if (left_ <= options_.quick) return false;
      bounded_ = bound_.enumerate(*problem.space, classes_, grams_, 8 * left_, poll) &&
                 bound_.bytes() < options_.memory;
      if (!bounded_) return pass(problem, left_, poll);
      improve(*problem.space, answer, poll);
    }
    return pass(problem, left_, poll);
  }
  bool bounded_pass(const LabelProblem<Forest>& problem, LabelAnswer&, Poll& poll) {
    return pass(problem, left_, poll);
  }

  // Follow the bound's own best paths to a good sentence, and tighten the bound there.
  void improve(const Lattice& lattice, LabelAnswer& answer, Poll& poll) {
    row_.assign(row_.size(), 0.0);
    double reference = 0.0;
    lengths_->write(1, false, row_);
    reference = row_.back();
    auto length = static_cast<Index>(std::max(1.0, reference));
    std::vector<double> matches(metric_.order());
    for (Index n = 0; n < metric_.order(); ++n) {
      matches[n] = std::max(0.5, (reference - n) * std::pow(0.8, n + 1));
    }
    double highest = std::numeric_limits<double>::infinity(), before = -highest;
    for (int step = 0; step < kSteps; ++step) {
      bound_.linearise(lattice, clipping_, metric_, *lengths_, options_.model_weight, length,
                       matches, poll);
      highest = std::min(highest, bound_.value());
      const auto arcs = bound_.path(lattice);
      const double last = lattice.final[arcs.empty() ? lattice.start : lattice.dst[arcs.back()]];
      if (std::isinf(last)) break;  // all score 0, and no path is better than another
      words_.clear();
      double model = last;
      for (const Index arc : arcs) {
        model += lattice.score[arc];
        if (classes_[arc] >= 0) words_.push_back(classes_[arc]);
      }
      const auto found = clipped({});
      length = static_cast<Index>(words_.size());
      const double now = worth(score_of(length, found.count), model);
      for (Index n = 0; n < metric_.order(); ++n) matches[n] = found.count[n + 1];
      if (options_.k == 1 && now > known_) {
        known_ = threshold_ = now;
        answer.paths.assign(1, arcs);
        answer.rows.assign(row_.begin(), row_.end());
        answer.complete = true;
      }
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
    const bool any = options_.model_weight == 0.0 ? guess_ <= 0.0 : margin_ > 1e3 * std::abs(top_);
    if (any) guess_ = -std::numeric_limits<double>::infinity();
    return true;
  }

  bool pass(const LabelProblem<Lattice>& problem, std::size_t most, Poll& poll) {
    const Lattice& lattice = *problem.space;
    labels_.clear();
    range_.clear();
    double least = 0.0;
    if (bounded_) {
      least = bound_.scale(std::max(threshold_, guess_));
      least -= 1e-9 * std::max(1.0, std::isfinite(least) ? std::abs(least) : 1.0);
    }
    const auto tracked = clipping_.tracked();
    const auto least_used = least_counts(lattice);
    for (Index state = 0; state < lattice.num_nodes(); ++state) {
      front_.open();
      raised_.clear();
      const auto least_here = std::span(least_used).subspan(state * tracked.size(), tracked.size());
      const bool raises = std::any_of(least_here.begin(), least_here.end(),
                                      [](std::uint16_t count) { return count > 0; });
      if (lattice.begins(state)) {
        L empty;
        if (bounded_) empty.cell = bound_.start();
        insert(front_, empty);
      }
      for (const Index arc : lattice.incoming(state)) {
        const Index from = lattice.src[arc], word_class = classes_[arc];
        const auto [begin, end] = range_[from];
        poll(end - begin);
        for (Index at = begin; at < end; ++at) {
          L next = with_word(labels_[at], word_class, problem.word[arc]);
          next.model += lattice.score[arc];
          next.back = at;
          next.edge = arc;
          if (bounded_) {
            next.cell = bound_.target(next.cell, arc - lattice.out_offset[from]);
            const double model =
                options_.model_weight != 0.0 ? options_.model_weight * next.model : 0.0;
            if (bound_.value(next.count) + model + bound_.rest(next.cell) < least) continue;
          }
          if (raises) {
            const auto [found, is_new] = raised_.try_emplace(next.used, -1);
            if (is_new) found.value() = clipping_.raised(next.used, least_here);
            next.used = found->second;
          }
          insert(front_, next);
        }
      }
      const auto begin = static_cast<Index>(labels_.size());
      if (!settle(front_, most)) return false;
      range_.emplace_back(begin, static_cast<Index>(labels_.size()));
    }
    return true;
  }

  // For each state and each tracked n-gram, its limit less the most that may follow: a label that
  // has it less often is as good as one that has it so often.
  std::vector<std::uint16_t> least_counts(const Lattice& lattice) const {
    const auto tracked = clipping_.tracked();
    const std::size_t width = tracked.size();
    std::vector<Index> most(lattice.num_nodes() * width, 0);
    for (Index arc = lattice.num_edges() - 1; arc >= 0 && width > 0; --arc) {
      for (std::size_t t = 0; t < width; ++t) {
        auto& here = most[lattice.src[arc] * width + t];
        const bool last = classes_[arc] == grams_[tracked[t]].last;
        here = std::max(here, most[lattice.dst[arc] * width + t] + last);
      }
    }
    std::vector<std::uint16_t> least(most.size());
    for (std::size_t each = 0; each < most.size(); ++each) {
      const Index limit = grams_[tracked[each % width]].limit;
      least[each] = static_cast<std::uint16_t>(std::max(0, limit - most[each]));
    }
    return least;
  }

  // Symbols of an edge are appended one by one; those of its labels that can still win are kept
  // after each.
  bool pass(const LabelProblem<Forest>& problem, std::size_t most, Poll& poll) {
    const Forest& forest = *problem.space;
    labels_.clear();
    range_.clear();
    crossings_.clear();
    crossing_.clear();
    for (Index node = 0; node < forest.num_nodes(); ++node) {
      front_.open();
      for (const Index edge : forest.incoming(node)) {
        Index first = forest.symbol_offset[edge];
        const Index last = forest.symbol_offset[edge + 1];
        L empty;
        empty.model = forest.score[edge];
        if (first == last) {
          empty.edge = edge;
          insert(front_, empty);
          continue;
        }
        auto begin = static_cast<Index>(labels_.size());
        labels_.push_back(empty);
        for (; first < last; ++first) {
          auto& into = first + 1 == last ? front_ : part_;
          if (first + 1 < last) part_.open();
          const auto end = static_cast<Index>(labels_.size());
          const Index word_class = classes_[first];
          for (Index at = begin; at < end; ++at) {
            const auto put = [&](L next, Index tail) {
              next.back = at;
              next.tail = tail;
              next.edge = first + 1 == last ? edge : -1;
              insert(into, next);
            };
            if (word_class >= -1) {
              auto next = with_word(labels_[at], word_class, problem.word[first]);
              if (word_class >= 0) next.left = extended(labels_[at], word_class);
              put(next, word_class >= 0 ? -2 - word_class : -1);
              continue;
            }
            const auto [low, high] = range_[forest.tails(edge)[-2 - word_class]];
            poll(high - low);
            for (Index tail = low; tail < high; ++tail) {
              put(joined(labels_[at], labels_[tail]), tail);
            }
          }
          if (first + 1 < last && !settle(part_, most)) return false;
          begin = end;
        }
      }
      const auto begin = static_cast<Index>(labels_.size());
      if (!settle(front_, most)) return false;
      range_.emplace_back(begin, static_cast<Index>(labels_.size()));
    }
    return true;
  }

  // Whether all words of a label are in its left context.
  bool whole(const L& label) const { return label.length == grams_[label.left].length; }

  Index extended(const L& label, Index word_class) const {
    const auto& left = grams_[label.left];
    if (!whole(label) || left.length + 1 >= metric_.order()) return label.left;
    const Index longer = grams_.step(label.left, word_class);
    return grams_[longer].length == left.length + 1 ? longer : label.left;
  }

  // What comes from putting a right context before a left one: matches over the border, and the
  // right context after all words of the left one.
  struct Crossing {
    Counts<W> gain;
    Index right;
    std::vector<std::pair<Index, Index>> touched;  // n-grams, and what is known of their length
  };

  const Crossing& crossing(Index right, Index left) {
    const auto [found, is_new] = crossing_.try_emplace(lattices::pair_key(right, left),
                                                       static_cast<Index>(crossings_.size()));
    if (!is_new) return crossings_[found->second];
    std::vector<Index> prefixes;
    for (Index at = left; at != 0; at = grams_[at].prefix) prefixes.push_back(at);
    std::reverse(prefixes.begin(), prefixes.end());
    Crossing made{{}, right, {}};
    for (const Index prefix : prefixes) {
      const Index gram = grams_.step(made.right, grams_[prefix].last);
      made.right = grams_[gram].context;
      // what does not reach over the border was counted before
      if (grams_[gram].length <= grams_[prefix].length) continue;
      made.gain += clipping_.gain(gram);
      made.gain -= clipping_.gain(prefix);
      if (clipping_.touches(gram)) made.touched.emplace_back(gram, grams_[prefix].length);
    }
    crossings_.push_back(std::move(made));
    return crossings_.back();
  }

  L joined(const L& one, const L& other) {
    if (one.length + other.length > Counts<W>::kMost) throw too_long();
    L both = one;
    both.model += other.model;
    both.length += other.length;
    both.count += other.count;
    if (one.used == 0 || other.used == 0) {
      both.used = one.used + other.used;
    } else {
      const auto step = clipping_.join(one.used, other.used);
      both.used = step.used;
      both.count -= step.lost;
    }
    const auto& between = crossing(one.right, other.left);
    both.count += between.gain;
    for (const auto& [gram, known] : between.touched) {
      const auto step = clipping_.after(both.used, gram, known);
      both.used = step.used;
      both.count -= step.lost;
    }
    both.right = whole(other) ? between.right : other.right;
    if (whole(one)) both.left = extended(one, other);
    if (options_.k > 1) append_key(both, other.key, other.power);
    return both;
  }

  // The left context of one label before another.
  Index extended(const L& one, const L& other) {
    Index left = one.left;
    words_.clear();
    for (Index at = other.left; at != 0; at = grams_[at].prefix) words_.push_back(grams_[at].last);
    for (auto word = words_.rbegin(); word != words_.rend(); ++word) {
      if (grams_[left].length + 1 >= metric_.order()) break;
      const Index longer = grams_.step(left, *word);
      if (grams_[longer].length != grams_[left].length + 1) break;
      left = longer;
    }
    return left;
  }

  void collect_ends(const Lattice& lattice) {
    ends_.clear();
    for (Index state = 0; state < lattice.num_nodes(); ++state) {
      if (std::isinf(lattice.final[state])) continue;
      for (Index at = range_[state].first; at < range_[state].second; ++at) {
        add_end(at, lattice.final[state]);
      }
    }
  }
  void collect_ends(const Forest& forest) {
    ends_.clear();
    const auto [begin, end] = range_[forest.root];
    for (Index at = begin; at < end; ++at) add_end(at, 0.0);
  }
  void add_end(Index at, double more) {
    const double score = score_of(labels_[at].length, labels_[at].count);
    const double model = labels_[at].model + more;
    ends_.push_back({at, model, score, worth(score, model)});
  }
  double worth(double score, double model) const {
    return sign_ * (options_.model_weight != 0.0 ? score + options_.model_weight * model : score);
  }
  double score_of(Index length, const Counts<W>& count) {
    for (Index n = 1; n <= metric_.order(); ++n) row_[n - 1] = count[n];
    lengths_->write(length, metric_.strict, row_);
    return fstmetrics::bleu_score(row_, metric_.bleu);
  }

  // The classes of the words of a label.
  void spell(const Lattice&, Index label, std::vector<Index>& words) const {
    words.clear();
    for (; labels_[label].back >= 0; label = labels_[label].back) {
      const Index word_class = classes_[labels_[label].edge];
      if (word_class >= 0) words.push_back(word_class);
    }
    std::reverse(words.begin(), words.end());
  }
  std::vector<Index> path(const Lattice&, Index label) const {
    std::vector<Index> arcs;
    for (; labels_[label].back >= 0; label = labels_[label].back) {
      arcs.push_back(labels_[label].edge);
    }
    std::reverse(arcs.begin(), arcs.end());
    return arcs;
  }

  void spell(const Forest&, Index label, std::vector<Index>& words) const {
    words.clear();
    std::vector<Index> stack{label};  // labels, and words as -2 - class
    while (!stack.empty()) {
      const Index at = stack.back();
      stack.pop_back();
      if (at < -1) words.push_back(-2 - at);
      if (at < 0 || labels_[at].back < 0) continue;
      stack.push_back(labels_[at].tail);
      stack.push_back(labels_[at].back);
    }
  }
  std::vector<Index> path(const Forest& forest, Index label) const {
    std::vector<Index> edges, stack{label};
    while (!stack.empty()) {
      const Index edge = labels_[stack.back()].edge;
      Index at = stack.back();
      stack.pop_back();
      edges.push_back(edge);
      stack.resize(stack.size() + forest.tails(edge).size());
      const auto symbols = forest.symbols(edge);
      for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
        // the first tail is to be taken first
        if (*symbol < 0) stack[stack.size() + *symbol] = labels_[at].tail;
        at = labels_[at].back;
      }
    }
    return edges;
  }

  struct Truth {
    Counts<W> count;
    std::vector<Index> needed;  // n-grams that are to be tracked
  };

  // The clipped matches of a label, and what its counts differ in from them.
  template <class Space>
  Truth truth(const Space& space, Index label, std::span<const char> ignored) {
    spell(space, label, words_);
    return clipped(ignored);
  }
  Truth clipped(std::span<const char> ignored) {
    Truth result;
    times_.resize(grams_.size(), 0);
    seen_.clear();
    Index context = ReferenceNgrams::kEmpty;
    for (const Index word : words_) {
      const Index longest = grams_.step(context, word);
      context = grams_[longest].context;
      for (Index gram = longest; gram != 0; gram = grams_[gram].suffix) {
        if (times_[gram]++ == 0) seen_.push_back(gram);
      }
    }
    for (const Index gram : seen_) {
      const Index count = times_[gram], limit = grams_[gram].limit;
      result.count.add(grams_[gram].length, std::min(count, limit));
      const bool wrong = options_.worst ? !ignored.empty() && ignored[gram] : count > limit;
      if (wrong && !clipping_.tracks(gram)) result.needed.push_back(gram);
      times_[gram] = 0;
    }
    return result;
  }

  // Whether an n-gram may occur more often than its limit: by the most that a sentence has of each
  // of its words.
  template <class Space>
  std::vector<char> might_exceed(const Space& space) {
    const std::size_t classes = grams_.classes();
    std::vector<Index> most(space.num_nodes() * classes, -1), total(classes, -1), sum(classes);
    for (Index node = 0; node < space.num_nodes(); ++node) {
      const auto at = most.begin() + node * classes;
      if (space.begins(node)) std::fill(at, at + classes, 0);
      for (const Index edge : space.incoming(node)) {
        if (!most_of_edge(space, edge, most, sum)) continue;
        for (std::size_t c = 0; c < classes; ++c) at[c] = std::max(at[c], sum[c]);
      }
      for (std::size_t c = 0; c < classes; ++c) total[c] = std::max(total[c], at[c]);
    }
    std::vector<char> exceeded(grams_.size(), 0);
    for (std::size_t gram = 1; gram < grams_.size(); ++gram) {
      exceeded[gram] = 1;
      for (auto at = static_cast<Index>(gram); at != 0; at = grams_[at].prefix) {
        exceeded[gram] &= total[grams_[at].last] > grams_[static_cast<Index>(gram)].limit;
      }
    }
    return exceeded;
  }
  bool most_of_edge(const Lattice& lattice, Index arc, const std::vector<Index>& most,
                    std::vector<Index>& sum) const {
    const auto from = most.begin() + lattice.src[arc] * grams_.classes();
    if (*from < 0) return false;
    std::copy(from, from + grams_.classes(), sum.begin());
    if (classes_[arc] >= 0) ++sum[classes_[arc]];
    return true;
  }
  bool most_of_edge(const Forest& forest, Index edge, const std::vector<Index>& most,
                    std::vector<Index>& sum) const {
    std::fill(sum.begin(), sum.end(), 0);
    for (const Index tail : forest.tails(edge)) {
      const auto from = most.begin() + tail * grams_.classes();
      if (*from < 0) return false;
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += from[c];
    }
    for (auto at = forest.symbol_offset[edge]; at < forest.symbol_offset[edge + 1]; ++at) {
      if (classes_[at] >= 0) ++sum[classes_[at]];
    }
    return true;
  }

  // Score the ends for what they are, and choose. Returns the n-grams that must be tracked before
  // the choice is proven.
  template <class Space>
  std::vector<Index> judge(const Space& space, std::span<const char> ignored, LabelAnswer& answer) {
    if (options_.front) return judge_front(space, ignored, answer);
    if (options_.k > 1) merge_sentences();
    std::stable_sort(ends_.begin(), ends_.end(), [](const End& one, const End& other) {
      return one.worth > other.worth || (one.worth == other.worth && one.model > other.model);
    });
    const double scale =
        options_.model_weight != 0.0 ? std::max(1.0, std::abs(ends_[0].worth)) : 1.0;
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
      end.score = score_of(labels_[end.label].length, found.count);
      end.worth = worth(end.score, end.model);
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
    std::size_t size = 0;
    for (const End& end : ends_) {
      const auto [found, is_new] = place.try_emplace(labels_[end.label].key, size);
      if (is_new) {
        ends_[size++] = end;
      } else if (preference_ * end.model > preference_ * ends_[found->second].model) {
        ends_[found->second] = end;
      }
    }
    ends_.resize(size);
  }

  // By what they are worth, and where that differs by rounding alone, by model score.
  template <class Space>
  void keep_best(const Space& space, const std::vector<End>& judged,
                 const std::vector<Counts<W>>& counts, double rounding, LabelAnswer& answer) {
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
      answer.paths.push_back(path(space, judged[each].label));
      score_of(labels_[judged[each].label].length, counts[each]);
      answer.rows.insert(answer.rows.end(), row_.begin(), row_.end());
    }
  }

  template <class Space>
  std::vector<Index> judge_front(const Space& space, std::span<const char> ignored,
                                 LabelAnswer& answer) {
    // whatever may follow no longer matters
    front_.open();
    for (const End& end : ends_) {
      L label;
      label.count = labels_[end.label].count;
      label.length = labels_[end.label].length;
      label.model = end.model;
      label.back = end.label;
      insert(front_, label);
    }
    std::vector<L> kept;
    front_.close(kept);
    std::vector<Index> needed;
    answer.paths.clear();
    answer.rows.clear();
    answer.outer.clear();
    for (const L& label : kept) {
      auto found = truth(space, label.back, ignored);
      answer.paths.push_back(path(space, label.back));
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

  // The fewest and the most words of a sentence.
  template <class Space>
  std::pair<Index, Index> lengths_of(const Space& space) const {
    constexpr Index kNone = std::numeric_limits<Index>::max();
    std::vector<std::pair<Index, Index>> range(space.num_nodes(), {kNone, -1});
    Index shortest = kNone, longest = -1;
    for (Index node = 0; node < space.num_nodes(); ++node) {
      auto& [low, high] = range[node];
      if (space.begins(node)) low = high = 0;
      for (const Index edge : space.incoming(node)) {
        Index least = words_in(space, edge), most = least;
        bool reached = true;
        for (const Index tail : space.tails(edge)) {
          reached &= range[tail].second >= 0;
          if (!reached) break;
          // longer ones are refused by the search
          least = std::min(least + range[tail].first, Counts<W>::kMost + 1);
          most = std::min(most + range[tail].second, Counts<W>::kMost + 1);
        }
        if (!reached) continue;
        low = std::min(low, least);
        high = std::max(high, most);
      }
      if (!ends(space, node) || high < 0) continue;
      shortest = std::min(shortest, low);
      longest = std::max(longest, high);
    }
    return {shortest, longest};
  }

  // Rows that dominate whatever a space may have, of each length.
  template <class Space>
  void bound_front(const Space& space, LabelAnswer& answer) {
    const auto [shortest, longest] = lengths_of(space);
    std::vector<double> most(metric_.order(), 0.0);
    for (std::size_t gram = 1; gram < grams_.size(); ++gram) {
      const auto& each = grams_[static_cast<Index>(gram)];
      most[each.length - 1] += each.limit;
    }
    for (Index length = shortest; length <= longest; ++length) {
      lengths_->write(length, metric_.strict, row_);
      for (Index n = 0; n < metric_.order(); ++n) {
        row_[n] = std::min(most[n], row_[metric_.order() + n]);
      }
      answer.outer.insert(answer.outer.end(), row_.begin(), row_.end());
    }
  }
  Index words_in(const Lattice&, Index arc) const { return classes_[arc] >= 0; }
  Index words_in(const Forest& forest, Index edge) const {
    Index count = 0;
    for (auto at = forest.symbol_offset[edge]; at < forest.symbol_offset[edge + 1]; ++at) {
      count += classes_[at] >= 0;
    }
    return count;
  }
  static bool ends(const Lattice& lattice, Index state) {
    return !std::isinf(lattice.final[state]);
  }
  static bool ends(const Forest& forest, Index node) { return node == forest.root; }

  const LabelMetric metric_;
  const LabelOptions options_;
  const double sign_;
  bool by_model_;      // the model score is one more thing to be better in
  double preference_;  // times the model score, the higher the better
  ReferenceNgrams grams_;
  Clipping<W> clipping_;
  const fstmetrics::ReferenceLengths* lengths_ = nullptr;
  std::size_t left_ = 0, compared_ = 0;  // of the budget, and before this round
  std::vector<Index> classes_;           // of each arc or symbol; -1 without a word, less for slots
  std::vector<L> labels_;
  std::vector<std::pair<Index, Index>> range_;  // the labels of each node
  Front<W> front_, part_;
  tsl::robin_map<Index, Index> raised_;  // the counts of labels that a state has
  std::vector<Crossing> crossings_;
  tsl::robin_map<std::uint64_t, Index, lattices::MixedHash> crossing_;
  LinearBound bound_;
  bool bounded_ = false;
  double threshold_ = 0.0;  // what a label must be able to reach
  double known_ = 0.0;      // what the answer is worth so far
  double guess_ = 0.0, top_ = 0.0, margin_ = 0.0;
  bool reached_ = true;  // k sentences have reached the guess
  std::vector<End> ends_;
  std::vector<double> row_;
  std::vector<Index> words_, times_, seen_;
};

}  // namespace decoding
