// The passes of the search by labels: labels, led through a lattice or put together in a forest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decoding/native/bleu_labels.hpp"
#include "decoding/native/clipping.hpp"
#include "decoding/native/relaxation.hpp"
#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/errors.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Forest;

// A space with the unit and the word of each arc or symbol: units are what the references have,
// words what sentences differ in. 0 is none; slots of a forest are negative, as in its symbols.
template <class Space>
struct BleuProblem {
  const Space* space;
  std::span<const Index> unit, word;
  fstmetrics::Sentences references;
  double weight = 1.0;                  // of the score
  std::optional<AddedMachine> added{};  // to it, in lattices
};

struct BleuSearchOptions {
  Index k = 1;
  bool worst = false, front = false;
  double model_weight = 0.0;
  std::size_t budget, memory;  // labels and bytes
  std::size_t quick;           // labels that are searched without a bound, which costs as much

  double sign() const { return worst ? -1.0 : 1.0; }
  // Times the model score, the higher the better.
  double preference() const { return model_weight != 0.0 ? sign() * model_weight : 1.0; }
};

// What a pass must respect: a budget of labels, and the bound by which labels are left out that
// cannot come to `least`, if there is one.
struct PassLimits {
  std::size_t labels;
  const Relaxation* bound = nullptr;
  double least = 0.0;
};

template <std::size_t W>
class LabelPasses {
 public:
  using L = Label<W>;

  explicit LabelPasses(const BleuSearchOptions& options) : options_(options), clipping_(grams_) {}

  // The n-grams of the references, and the class of the word of each arc or symbol.
  template <class Space>
  void compile(const BleuProblem<Space>& problem, Index order) {
    order_ = order;
    grams_.compile(problem.references, order);
    classes_.resize(problem.unit.size());
    for (std::size_t each = 0; each < classes_.size(); ++each) {
      const Index unit = problem.unit[each];
      classes_[each] = unit <= 0 ? unit - 1 : grams_.class_of(unit);
    }
  }
  // The rows of the machine that is added, if there is one.
  void set_rows(LabelRows* rows) { dominance_.rows = rows_ = rows; }
  // Begin a round: n-grams that are tracked, and those that count nothing. Labels are compared by
  // the model, too, where that decides.
  void begin(const std::vector<Index>& tracked, std::span<const char> ignored, bool by_model) {
    clipping_.begin(tracked, ignored);
    dominance_.by_model = by_model;
    compared_ = comparisons();
  }
  const ReferenceNgrams& grams() const { return grams_; }
  const Clipping<W>& clipping() const { return clipping_; }
  std::span<const Index> classes() const { return classes_; }
  const std::vector<L>& labels() const { return labels_; }
  // The first and the last label of a node.
  std::pair<Index, Index> range(Index node) const { return range_[node]; }
  // What a round has cost of the budget so far.
  std::size_t cost() const {
    return labels_.size() + (comparisons() - compared_) / compared_as_label_;
  }

  // Of whole sentences keep those that no other one dominates.
  std::vector<L> not_dominated(std::span<const L> sentences) {
    front_.open();
    for (const L& label : sentences) insert(front_, label);
    std::vector<L> kept;
    front_.close(kept);
    return kept;
  }

  // Lead labels through the space; false if the budget is spent.
  bool pass(const BleuProblem<Lattice>& problem, const PassLimits& limits, Poll& poll) {
    const Lattice& lattice = *problem.space;
    labels_.clear();
    range_.clear();
    const Relaxation* bound = limits.bound;
    compared_as_label_ = bound != nullptr ? kBoundedComparisons : kComparisons;
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
        if (bound != nullptr) empty.cell = bound->start();
        if (rows_ != nullptr) empty.base = rows_->opening();
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
          if (rows_ != nullptr && !rows_->step(arc, next.row, next.base)) continue;
          if (bound != nullptr) {
            next.cell = bound->target(next.cell, arc - lattice.out_offset[from]);
            if (word_class >= 0) {
              next.gained += bound->gain(grams_.step(labels_[at].right, word_class));
            }
            next.gained += options_.model_weight * lattice.score[arc];
            double most = bound->most(next.cell, next.gained);
            if (rows_ != nullptr) most += rows_->most(state, next.row, next.base);
            if (most < limits.least) continue;
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
      if (!settle(front_, limits)) return false;
      range_.emplace_back(begin, static_cast<Index>(labels_.size()));
    }
    return true;
  }

  // Symbols of an edge are appended one by one; those of its labels that can still win are kept
  // after each.
  bool pass(const BleuProblem<Forest>& problem, const PassLimits& limits, Poll& poll) {
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
          if (first + 1 < last && !settle(part_, limits)) return false;
          begin = end;
        }
      }
      const auto begin = static_cast<Index>(labels_.size());
      if (!settle(front_, limits)) return false;
      range_.emplace_back(begin, static_cast<Index>(labels_.size()));
    }
    return true;
  }

 private:
  // comparisons that cost as much as a label: where many labels meet, they are most of the work
  static constexpr std::size_t kComparisons = 1000;
  // the same where a bound leaves few labels: so many that meet are of a lattice that is too long
  static constexpr std::size_t kBoundedComparisons = 50;

  std::size_t comparisons() const { return front_.comparisons() + part_.comparisons(); }

  void insert(Front<W>& front, const L& label) {
    front.insert(label, options_.front ? 1 : options_.k, dominance_);
  }

  // Close a front; false if the budget is spent.
  bool settle(const Front<W>& front, const PassLimits& limits) {
    front.close(labels_);
    const auto bytes = lattices::growing_bytes(labels_) + front_.bytes() + part_.bytes() +
                       clipping_.bytes() + (rows_ != nullptr ? rows_->bytes() : 0) +
                       (limits.bound != nullptr ? limits.bound->bytes() : 0);
    return cost() <= limits.labels && bytes <= options_.memory;
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

  // Whether all words of a label are in its left context.
  bool whole(const L& label) const { return label.length == grams_[label.left].length; }

  Index extended(const L& label, Index word_class) const {
    const auto& left = grams_[label.left];
    if (!whole(label) || left.length + 1 >= order_) return label.left;
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
      if (grams_[left].length + 1 >= order_) break;
      const Index longer = grams_.step(left, *word);
      if (grams_[longer].length != grams_[left].length + 1) break;
      left = longer;
    }
    return left;
  }

  const BleuSearchOptions& options_;
  Index order_ = 1;
  ReferenceNgrams grams_;
  Clipping<W> clipping_;
  Dominance<W> dominance_{clipping_, options_.worst, false, options_.preference()};
  LabelRows* rows_ = nullptr;
  std::size_t compared_ = 0;  // before this round
  std::size_t compared_as_label_ = kComparisons;
  std::vector<Index> classes_;  // of each arc or symbol; -1 without a word, less for slots
  std::vector<L> labels_;
  std::vector<std::pair<Index, Index>> range_;  // the labels of each node
  Front<W> front_, part_;
  tsl::robin_map<Index, Index> raised_;  // the counts of labels that a state has
  std::vector<Crossing> crossings_;
  tsl::robin_map<std::uint64_t, Index, lattices::MixedHash> crossing_;
  std::vector<Index> words_;
};

}  // namespace decoding
