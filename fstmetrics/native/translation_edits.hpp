// Translation edit rate (Snover et al. 2006): the edits that are left after shifts of phrases, as
// Tercom's greedy search finds them, in the form of sacreBLEU, whose results these are.
//
// Each round tries to move phrases of the hypothesis that the reference has elsewhere, and keeps
// the shift that lowers the edit distance most; of equals the longest phrase, then the first one,
// then the first place. sacreBLEU computes distances in a beam around the diagonal. Here they are
// computed without, many cells at a time, which is the same where every alignment as short as the
// best one stays in the beam; otherwise in the beam, cell by cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "fstmetrics/native/bit_table.hpp"
#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/poll.hpp"

namespace fstmetrics {

class TranslationEdits {
 public:
  // Tercom's limits, and sacreBLEU's
  static constexpr std::int32_t longest_shift = 10, farthest_shift = 50, beam_width = 25;
  static constexpr std::size_t most_candidates = 1000;

  void set_reference(std::span<const Unit> reference) {
    table_.set_pattern(reference);
    reference_.clear();
    for (const auto unit : reference) reference_.push_back(table_.number(unit));
    // the places of each unit, ascending
    first_.assign(table_.numbers() + 1, nowhere);
    next_.resize(reference_.size());
    for (auto place = size(reference_); place-- > 0;) {
      next_[place] = first_[reference_[place]];
      first_[reference_[place]] = place;
    }
  }

  // The edits that make a hypothesis the reference; shifts count as one each.
  std::int32_t operator()(std::span<const Unit> hypothesis, lattices::Poll& poll) {
    words_.clear();
    for (const auto unit : hypothesis) words_.push_back(table_.number(unit));
    if (reference_.empty() || words_.empty()) return std::max(size(words_), size(reference_));
    least_outside_ = find_least_outside();
    const auto least = least_distance();
    std::size_t tried = 0;
    for (std::int32_t shifts = 0;; ++shifts) {
      const auto distance = align(poll);
      if (distance == least) return shifts + distance;
      find_candidates();
      tried += candidates_.size();
      if (tried >= most_candidates || !shift(distance, least, poll)) return shifts + distance;
    }
  }

 private:
  using Word = std::uint32_t;
  using Words = std::vector<Word>;
  static constexpr std::int32_t nowhere = -1,
                                infinite = std::numeric_limits<std::int32_t>::max() / 2;

  // Move `length` words at `start` so that they come before the word that is at `target`.
  struct Shift {
    std::int32_t length, start, target;

    // the order in which sacreBLEU prefers them
    auto key() const { return std::tuple(-length, start, target); }
    bool operator<(const Shift& other) const { return key() < other.key(); }
    bool operator==(const Shift&) const = default;
  };

  static std::int32_t size(const Words& words) { return static_cast<std::int32_t>(words.size()); }

  // A bound on what shifts can do: they change the order of words, not the words.
  std::int32_t least_distance() {
    count_.assign(first_.size(), 0);
    for (const auto word : reference_) ++count_[word];
    std::int32_t common = 0;
    for (const auto word : words_) {
      if (word > 0 && count_[word] > 0) {
        --count_[word];
        ++common;
      }
    }
    return std::max(size(words_), size(reference_)) - common;
  }

  // The beam of a row: the cells begin..end - 1.
  struct Beam {
    std::int32_t begin, end;
  };
  Beam beam(std::int32_t row) const {
    const double ratio =
        static_cast<double>(reference_.size()) / static_cast<double>(words_.size());
    const auto half = beam_width < ratio / 2
                          ? static_cast<std::int32_t>(std::ceil(ratio / 2 + beam_width))
                          : beam_width;
    const auto diagonal = static_cast<std::int32_t>(std::floor(row * ratio));
    const auto last = size(reference_) + 1;
    return {std::max(0, diagonal - half),
            row == size(words_) ? last : std::min(last, diagonal + half)};
  }

  // The fewest edits of an alignment that goes through a cell outside of the beam.
  std::int32_t find_least_outside() const {
    const auto rows = size(words_), columns = size(reference_);
    auto least = infinite;
    for (std::int32_t row = 1; row <= rows; ++row) {
      const auto [begin, end] = beam(row);
      // the further from the diagonal, the more edits
      for (const auto column : {begin - 1, end}) {
        if (column < 0 || column > columns) continue;
        least = std::min(least, std::abs(column - row) + std::abs(columns - column - (rows - row)));
      }
    }
    return least;
  }

  // Find the alignment of words and reference; return the distance. Of equals, matches and
  // substitutions are preferred to words that are too many, these to words that are missing, from
  // the end backward.
  std::int32_t align(lattices::Poll& poll) {
    const auto free = table_.fill(words_, poll);
    const bool in_beam = free >= least_outside_;
    const auto distance = in_beam ? fill_beam(words_, poll) : free;
    auto row = size(words_), column = size(reference_);
    aligned_.resize(column);
    word_wrong_.assign(row, false);
    reference_wrong_.assign(column, false);
    while (row > 0 || column > 0) {
      const auto step = in_beam && row > 0 && column > 0
                            ? cell_[row * (reference_.size() + 1) + column].step
                            : step_of(row, column);
      if (step == Step::Extra) {
        word_wrong_[--row] = true;
        continue;
      }
      --column;
      if (step == Step::Missing) {
        reference_wrong_[column] = true;
        aligned_[column] = row - 1;
        continue;
      }
      --row;
      aligned_[column] = row;
      word_wrong_[row] = reference_wrong_[column] = words_[row] != reference_[column];
    }
    return distance;
  }

  enum class Step : std::uint8_t { Pair, Extra, Missing };

  Step step_of(std::int32_t row, std::int32_t column) const {
    if (row == 0) return Step::Missing;
    if (column == 0) return Step::Extra;
    if (words_[row - 1] == reference_[column - 1] || !table_.keeps(column, row)) return Step::Pair;
    return table_.rises_right(column, row) ? Step::Extra : Step::Missing;
  }

  struct Cell {
    std::int32_t cost;
    Step step;
  };

  std::int32_t fill_beam(std::span<const Word> words, lattices::Poll& poll) {
    const auto width = reference_.size() + 1;
    cell_.resize(std::max(cell_.size(), (words.size() + 1) * width));
    for (std::size_t column = 0; column < width; ++column) {
      cell_[column] = {static_cast<std::int32_t>(column), Step::Missing};
    }
    for (std::size_t row = 1; row <= words.size(); ++row) {
      const auto [begin, end] = beam(static_cast<std::int32_t>(row));
      const auto next = beam(static_cast<std::int32_t>(std::min(row + 1, words.size())));
      // what this row and the next look at has no value outside of the beam
      for (auto column = std::max(0, begin - 1); column < std::max(end, next.end); ++column) {
        cell_[row * width + column] = {infinite, Step::Missing};
      }
      poll(end - begin);
      const auto* above = &cell_[(row - 1) * width];
      auto* here = &cell_[row * width];
      for (auto column = begin; column < end; ++column) {
        auto& cell = here[column];
        const auto offer = [&](std::int32_t cost, Step step) {
          if (cost < cell.cost) cell = {cost, step};
        };
        if (column > 0) {
          offer(above[column - 1].cost + (words[row - 1] != reference_[column - 1]), Step::Pair);
        }
        offer(above[column].cost + 1, Step::Extra);
        if (column > 0) offer(here[column - 1].cost + 1, Step::Missing);
      }
    }
    return cell_[words.size() * width + width - 1].cost;
  }

  // The shifts that are tried in a round, each once for each way to come by it: phrases that the
  // reference has elsewhere, unless one of both is right already.
  void find_candidates() {
    candidates_.clear();
    const auto rows = size(words_), columns = size(reference_);
    for (std::int32_t start = 0; start < rows; ++start) {
      if (words_[start] == 0) continue;
      for (auto place = first_[words_[start]]; place != nowhere; place = next_[place]) {
        if (std::abs(place - start) > farthest_shift) continue;
        bool words_wrong = false, reference_wrong = false;
        for (std::int32_t length = 1;
             length <= longest_shift && start + length <= rows && place + length <= columns;
             ++length) {
          if (words_[start + length - 1] != reference_[place + length - 1]) break;
          words_wrong |= word_wrong_[start + length - 1];
          reference_wrong |= reference_wrong_[place + length - 1];
          if (!words_wrong || !reference_wrong) continue;
          if (aligned_[place] >= start && aligned_[place] < start + length) continue;
          add_targets({length, start, 0}, place);
          if (candidates_.size() >= most_candidates) return;
        }
      }
    }
  }
  void add_targets(Shift shift, std::int32_t place) {
    auto before = nowhere;
    for (std::int32_t offset = -1; offset < shift.length; ++offset) {
      shift.target = place + offset < 0 ? 0 : aligned_[place + offset] + 1;
      if (shift.target == before) continue;
      before = shift.target;
      candidates_.push_back(shift);
    }
  }

  // Make the best shift, if it lowers the distance.
  bool shift(std::int32_t distance, std::int32_t least, lattices::Poll& poll) {
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    // of equal gains the first is taken, so the next has to be better
    auto best = distance;
    for (const auto& each : candidates_) {
      // words that move, or that others move past, are all that can come to be right or wrong
      const auto moved = std::min(each.length, distance_moved(each));
      const auto bound = distance < least_outside_ ? distance - 2 * moved : least;
      if (std::max(least, bound) >= best) continue;
      move(each);
      const auto first = std::min(each.start, each.target);
      auto found = table_.distance(moved_, first, poll);
      if (found >= least_outside_) found = fill_beam(moved_, poll);
      if (found < best) {
        best = found;
        best_.swap(moved_);
      }
    }
    if (best == distance) return false;
    words_.swap(best_);
    return true;
  }

  static std::int32_t distance_moved(const Shift& shift) {
    if (shift.target < shift.start) return shift.start - shift.target;
    if (shift.target > shift.start + shift.length) return shift.target - shift.start - shift.length;
    // within itself: the words behind come before it, as many as it is moved
    return shift.target - shift.start;
  }

  // The words after a shift: the phrase changes places with what it moves past.
  void move(const Shift& shift) {
    const auto begin = words_.begin();
    const auto [length, start, target] = shift;
    const auto rotate = [&](std::int32_t from, std::int32_t middle, std::int32_t to) {
      to = std::min(to, size(words_));
      moved_.assign(begin, begin + from);
      moved_.insert(moved_.end(), begin + middle, begin + to);
      moved_.insert(moved_.end(), begin + from, begin + middle);
      moved_.insert(moved_.end(), begin + to, words_.end());
    };
    if (target < start) {
      rotate(target, start, start + length);
    } else if (target > start + length) {
      rotate(start, start + length, target);
    } else {
      rotate(start, start + length, length + target);
    }
  }

  BitTable table_;
  Words reference_, words_, moved_, best_;
  std::vector<std::int32_t> first_, next_, aligned_, count_;
  std::vector<bool> word_wrong_, reference_wrong_;
  std::vector<Shift> candidates_;
  std::vector<Cell> cell_;
  std::int32_t least_outside_ = infinite;
};

}  // namespace fstmetrics
