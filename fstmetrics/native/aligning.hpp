// The best alignment of a sentence with a reference: the definition of the alignment metrics.
//
// This is the recurrence in the form of the paper, where every operation leaves from every state
// (i, m). The automata that search lattices have another, smaller form and other code; the two are
// each other's judge, so nothing here may be shared with a search.
//
// Chiang, DeNeefe, Chan and Ng. Decomposability of translation metrics for improved evaluation and
// efficient algorithms. EMNLP 2008, equations 5 and 6.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/dispatch.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/scratch.hpp"

namespace fstmetrics {

// The order of the operations is that of their counts in a row of statistics.
enum Operation : std::uint8_t { Match, Substitution, Insertion, Deletion };

// k-grams of 1..order are counted; costs are in matches.
struct AlignmentCosts {
  std::size_t order;
  double insertion, deletion;

  bool operator==(const AlignmentCosts&) const = default;
};

// One step of an alignment. `run` counts the matches in a row that the step ends, so a match is the
// end of a k-gram match for every k up to min(run, order).
struct Step {
  Operation operation;
  std::int32_t hypothesis, reference, run;
};

// The number of k-grams, k = 1..order, of a reference of so many words.
inline double possible_ngrams(std::size_t length, std::size_t order) {
  const auto longest = std::min(order, length);
  return static_cast<double>(longest * (2 * length - longest + 1) / 2);
}

// What words given as numbers are worth as matches of each other: 1 if they are equal.
template <class Number>
struct EqualNumbers {
  std::span<const Number> hypothesis, reference;
  double operator()(std::size_t j, std::size_t i) const {
    return hypothesis[j] == reference[i] ? 1.0 : 0.0;
  }
};

// The dynamic program, with scratch that is kept from one sentence to the next.
//
// V(j, i, m) is the best value of aligning the first j words of the hypothesis with the first i of
// the reference so that the last min(m, n - 1) steps are matches and, if m < n - 1, the one before
// is not (n is the order); V(j, i) is the maximum over m, the longest run of equals. With w(j, i)
// the worth of a match, a > 0 the cost of an insertion and b of a deletion:
//
//   V(j, i, min(m + 1, n - 1)) = max  V(j-1, i-1, m) + (m + 1) w(j, i)      if w(j, i) > 0
//   V(j, i, 0) = max( V(j-1, i-1),  V(j, i-1) - b,  V(j-1, i) - a )
//
// Of equals, matches are preferred to substitutions, these to deletions, these to insertions, from
// the end backward. Costs O(J L n) time and memory. Where that is much memory, the rows of the
// table are kept in blocks of about sqrt(J): forward the first row of each, backward the block that
// the trace is in, which is filled again.
class Aligner {
 public:
  explicit Aligner(const AlignmentCosts& costs) : costs_(costs) {}

  const AlignmentCosts& costs() const { return costs_; }

  // The length of a row of statistics.
  std::size_t width() const { return costs_.order + 4; }

  // Have a table for so many words and a reference of `length`; if there was none, what the one
  // before held is lost.
  void make_room(std::size_t words, std::size_t length) {
    const auto row = (length + 1) * (sizeof(Cell) + sizeof(double) * (costs_.order + 1));
    block_ = words;
    if (row * (words + 1) > kWhole) {
      block_ = static_cast<std::size_t>(std::sqrt(static_cast<double>(words))) + 1;
    }
    const auto cells = (block_ + 1) * (length + 1);
    if (cells <= cell_.size()) return;
    holds_all_ = false;
    // so that nothing is copied
    cell_.clear();
    best_.clear();
    value_.clear();
    cell_.resize(cells);
    best_.resize(cells);
    value_.resize(cells * costs_.order);
  }

  // Align `words` words with a reference of `length` words, where weight(j, i) is what word j of
  // the hypothesis is worth as a match of word i of the reference. The first `common` words are
  // those of the sentence before, against the same reference: their part of the table is kept,
  // which has room for both.
  template <class Weight>
  void align(std::size_t words, std::size_t length, const Weight& weight, lattices::Poll& poll,
             std::size_t common = 0) {
    columns_ = length + 1;
    make_room(words, length);
    const auto first = common > 0 && holds_all_ && block_ == words ? common + 1 : 0;
    holds_all_ = block_ == words;
    base_ = 0;
    kept_.clear();
    lattices::with_order(costs_.order, [&](auto order) {
      const auto fill_to = [&](std::size_t from, std::size_t to) {
        fill<order()>(from, to, weight, poll);
      };
      fill_to(first, block_);
      while (base_ + block_ < words) {
        keep_row(0);
        base_ += block_;
        keep_row(block_);
        take_row();
        fill_to(base_ + 1, std::min(base_ + block_, words));
      }
      trace(words, [&] {
        base_ -= block_;
        take_row();
        fill_to(base_ + 1, base_ + block_);
      });
    });
  }

  // The steps of the latest alignment, in order.
  std::span<const Step> steps() const { return steps_; }

  // Write the statistics of the latest alignment, with the same weights: k-gram matches for k =
  // 1..order, then substitutions, insertions, deletions and the reference's k-grams. A soft match
  // counts by its weight; what it falls short of 1 counts as substitution.
  template <class Weight>
  void statistics(const Weight& weight, std::span<double> row) const {
    const auto order = costs_.order;
    std::fill(row.begin(), row.end(), 0.0);
    for (const auto& step : steps_) {
      if (step.operation == Match) {
        const double worth = weight(step.hypothesis, step.reference);
        const auto longest = std::min(static_cast<std::size_t>(step.run), order);
        for (std::size_t k = 0; k < longest; ++k) row[k] += worth;
        row[order] += 1.0 - worth;
      } else {
        row[order + step.operation - Substitution] += 1.0;
      }
    }
    row[order + 3] = possible_ngrams(columns_ - 1, order);
  }

 private:
  // How the best values of a cell come about. A run of m < n - 1 matches extends one of m - 1; the
  // longest extends one of n - 1, if `full`, or of n - 2; `operation` leads to m = 0.
  struct Cell {
    Operation operation;
    std::uint8_t longest;
    bool full;
  };

  template <std::size_t Order, class Weight>
  void fill(std::size_t first, std::size_t words, const Weight& weight, lattices::Poll& poll) {
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    const std::size_t order = Order > 0 ? Order : costs_.order;
    const double insertion = costs_.insertion, deletion = costs_.deletion;
    for (std::size_t j = first; j <= words; ++j) {
      poll(columns_ * order);
      for (std::size_t i = 0; i < columns_; ++i) {
        const auto here = (j - base_) * columns_ + i;
        double* value = &value_[here * order];
        const double worth = j > 0 && i > 0 ? weight(j - 1, i - 1) : 0.0;
        Cell cell{order == 1 && worth > 0 ? Match : Substitution, 0, false};
        for (std::size_t m = 0; m < order; ++m) value[m] = nothing;
        if (j == 0 && i == 0) value[0] = 0.0;
        if (worth > 0) {
          const double* before = &value_[(here - columns_ - 1) * order];
          for (std::size_t m = 0; m + 1 < order; ++m) {
            value[m + 1] = before[m] + static_cast<double>(m + 1) * worth;
          }
          const double full = before[order - 1] + static_cast<double>(order) * worth;
          if (order == 1 || full >= value[order - 1]) {
            value[order - 1] = full;
            cell.full = true;
          }
        }
        double best = value[0];
        if (j > 0 && i > 0 && best_[here - columns_ - 1] > best) {
          best = best_[here - columns_ - 1];
          cell.operation = Substitution;
        }
        if (i > 0 && best_[here - 1] - deletion > best) {
          best = best_[here - 1] - deletion;
          cell.operation = Deletion;
        }
        if (j > 0 && best_[here - columns_] - insertion > best) {
          best = best_[here - columns_] - insertion;
          cell.operation = Insertion;
        }
        value[0] = best;
        auto longest = order - 1;
        for (auto m = order - 1; m-- > 0;) {
          if (value[m] > value[longest]) longest = m;
        }
        cell.longest = static_cast<std::uint8_t>(longest);
        best_[here] = value[longest];
        cell_[here] = cell;
      }
    }
  }

  // `go_back` fills the block before.
  template <class GoBack>
  void trace(std::size_t words, const GoBack& go_back) {
    const auto order = costs_.order;
    steps_.clear();
    auto j = words, i = columns_ - 1;
    const auto here = [&]() -> const Cell& { return cell_[(j - base_) * columns_ + i]; };
    std::size_t m = here().longest;
    while (j > 0 || i > 0) {
      // the first row of a block has no cells: it is the last one of the block before
      if (j == base_ && j > 0) go_back();
      const auto& cell = here();
      // costs so large that sums overflow have no best alignment, but must not lead outside
      const auto operation = j == 0   ? Deletion
                             : i == 0 ? Insertion
                             : m > 0  ? Match
                                      : cell.operation;
      if (operation != Deletion) --j;
      if (operation != Insertion) --i;
      Step step{operation, static_cast<std::int32_t>(j), static_cast<std::int32_t>(i), 0};
      if (operation == Match) {
        if (m != order - 1 || !cell.full) --m;
        step.run = static_cast<std::int32_t>(m + 1);
      } else {
        if (j == base_ && j > 0) go_back();
        m = here().longest;
      }
      steps_.push_back(step);
    }
    std::reverse(steps_.begin(), steps_.end());
  }

  // Keep a row of the table until take_row puts the last one that was kept into the first row.
  void keep_row(std::size_t row) {
    const auto order = costs_.order;
    kept_.insert(kept_.end(), value_.begin() + row * columns_ * order,
                 value_.begin() + (row + 1) * columns_ * order);
    kept_.insert(kept_.end(), best_.begin() + row * columns_, best_.begin() + (row + 1) * columns_);
  }
  void take_row() {
    const auto values = columns_ * costs_.order;
    const auto row = kept_.end() - (values + columns_);
    std::copy(row, row + values, value_.begin());
    std::copy(row + values, kept_.end(), best_.begin());
    kept_.erase(row, kept_.end());
  }

  // a table of more bytes is filled in blocks
  static constexpr std::size_t kWhole = std::size_t{1} << 26;

  AlignmentCosts costs_;
  std::size_t columns_ = 1;
  // the table holds rows base_ to base_ + block_; whether these are all of the latest alignment
  std::size_t base_ = 0, block_ = 0;
  bool holds_all_ = false;
  std::vector<double> kept_;
  // a long sentence and a long reference take gigabytes: `fill` writes them, and polls
  lattices::RawVector<double> value_, best_;
  lattices::RawVector<Cell> cell_;
  std::vector<Step> steps_;
};

// Write the statistics of one sentence against one reference, both as numbers of words: what
// rescores a result, sentence by sentence.
template <class Number>
void number_statistics(Aligner& aligner, std::span<const Number> hypothesis,
                       std::span<const Number> reference, lattices::Poll& poll,
                       std::span<double> row) {
  const EqualNumbers<Number> weight{hypothesis, reference};
  aligner.align(hypothesis.size(), reference.size(), weight, poll);
  aligner.statistics(weight, row);
}

// One row of statistics for each sentence of a list, where table[u, i] is what unit u is worth as a
// match of word i of a reference of `length` words. Where a sentence begins like the one before it,
// as is the rule in n-best lists, the rows of the program that they have in common are not filled
// again.
inline std::vector<double> list_statistics(const Sentences& list, std::span<const double> table,
                                           std::size_t length, const AlignmentCosts& costs,
                                           lattices::Poll& poll) {
  Aligner aligner(costs);
  aligner.make_room(list.longest(), length);
  std::vector<double> rows(list.size() * aligner.width());
  std::span<const Unit> before;
  for (std::size_t s = 0; s < list.size(); ++s) {
    const auto units = list[s];
    const auto weight = [&](std::size_t j, std::size_t i) { return table[units[j] * length + i]; };
    aligner.align(units.size(), length, weight, poll, common_prefix(units, before));
    aligner.statistics(weight, std::span(rows).subspan(s * aligner.width(), aligner.width()));
    before = units;
  }
  return rows;
}

// Scores that differ by no more are equal: the first of two references counts. As metric.ROUNDING.
inline constexpr double rounding = 1e-12;

// A metric of the alignment family without similarities: equal words match. The scorer counts in
// matches; machines count in whole units, `one` to a match.
struct WordMetric {
  AlignmentCosts costs{1, 0.0, 0.0};
  double insertion = 0.0, deletion = 0.0, one = 1.0;
  bool error_rate = false;

  // As AlignmentMetric.score: without any reference word, an empty sentence is right.
  double score(std::span<const double> stats) const {
    const std::size_t order = costs.order;
    const double substitutions = stats[order], insertions = stats[order + 1];
    const double deletions = stats[order + 2], possible = stats[order + 3];
    if (error_rate && order == 1) {
      const double errors =
          substitutions + costs.insertion * insertions + (1.0 + costs.deletion) * deletions;
      return errors / std::max(possible, 1.0);
    }
    double gain = 0.0;
    for (std::size_t k = 0; k < order; ++k) gain += stats[k];
    gain -= costs.insertion * insertions + costs.deletion * deletions;
    if (error_rate) return (possible - gain) / std::max(possible, 1.0);
    return possible != 0.0 ? gain / possible : 1.0 + gain;
  }
};

}  // namespace fstmetrics
