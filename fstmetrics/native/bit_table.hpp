// The edit distance table of two sentences, 64 cells at a time, with the way back.
//
// Myers. A fast bit-vector algorithm for approximate string matching based on dynamic programming.
// Journal of the ACM 46(3), 1999; in the form, and for long patterns, of Hyyrö. A bit-vector
// algorithm for computing Levenshtein and Damerau edit distances. Nordic Journal of Computing 10,
// 2003.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/poll.hpp"

namespace fstmetrics {

// A table d(i, j) of the first i units of a pattern and the first j of a text, by columns.
class BitTable {
 public:
  using Bits = std::uint64_t;
  static constexpr std::size_t width = 64;

  // Of one block of a column: where d rises and falls from a row to the next; where it is the same
  // as on the diagonal before it, and where it is higher than in the column before.
  struct Block {
    Bits rises, falls, diagonal, right;
  };

  // With X the matches, P and N the rises and falls:
  // D0 = (((X & P) + P) ^ P) | X | N;  HP = N | ~(D0 | P);  HN = D0 & P, both moved one row down;
  // P = HN | ~(D0 | HP);  N = HP & D0. What is moved out of the block is carried to the next.
  [[gnu::always_inline]] static Block next(Bits match, Bits rise, Bits fall, Bits& rise_in,
                                           Bits& fall_in) {
    const Bits same = match | fall_in;
    const Bits diagonal = (((same & rise) + rise) ^ rise) | same | fall;
    const Bits right = fall | ~(diagonal | rise), left = diagonal & rise;
    const Bits right_down = right << 1 | rise_in, left_down = left << 1 | fall_in;
    rise_in = right >> (width - 1);
    fall_in = left >> (width - 1);
    return {left_down | ~(diagonal | right_down), right_down & diagonal, diagonal, right};
  }

  std::size_t rows() const { return pattern_.size(); }

  // Take another pattern, of units that are not negative.
  template <class Each>
  void set_pattern(std::span<const Each> pattern) {
    for (const auto unit : pattern_) place_[unit] = 0;
    pattern_.assign(pattern.begin(), pattern.end());
    blocks_ = (pattern_.size() + width - 1) / width;
    std::size_t count = 0;
    for (const auto unit : pattern_) {
      if (static_cast<std::size_t>(unit) >= place_.size()) place_.resize(unit + 1);
      if (place_[unit] == 0) place_[unit] = static_cast<std::uint32_t>(++count);
    }
    match_.assign((count + 1) * blocks_, 0);
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      match_[place_[pattern_[i]] * blocks_ + i / width] |= Bits{1} << i % width;
    }
    column_.resize(blocks_);
    for (auto& block : column_) block = {~Bits{0}, 0, 0, 0};
  }

  // The number of a unit among those of the pattern, 0 if it is none of them.
  std::uint32_t number(Unit unit) const {
    return static_cast<std::size_t>(unit) < place_.size() ? place_[unit] : 0;
  }
  std::size_t numbers() const { return blocks_ == 0 ? 0 : match_.size() / blocks_ - 1; }

  // Fill the columns of a text, which `number` gives; return the distance.
  std::int32_t fill(std::span<const std::uint32_t> text, lattices::Poll& poll) {
    column_.resize((text.size() + 1) * blocks_);
    if (blocks_ == 1) {
      poll(text.size() * width);
      // in registers: what is written is not read again
      auto here = column_[0];
      for (std::size_t j = 0; j < text.size(); ++j) {
        Bits rise_in = 1, fall_in = 0;
        here = next(match_[text[j]], here.rises, here.falls, rise_in, fall_in);
        column_[j + 1] = here;
      }
      return measure({&here, 1}, text.size());
    }
    for (std::size_t j = 0; j < text.size(); ++j) {
      poll(blocks_ * width);
      const auto* match = &match_[text[j] * blocks_];
      const auto* before = &column_[j * blocks_];
      auto* here = &column_[(j + 1) * blocks_];
      Bits rise_in = 1, fall_in = 0;
      for (std::size_t b = 0; b < blocks_; ++b) {
        here[b] = next(match[b], before[b].rises, before[b].falls, rise_in, fall_in);
      }
    }
    return measure(std::span(column_).subspan(text.size() * blocks_), text.size());
  }

  // The distance to a text whose first `from` units are those of the text that the columns are of.
  std::int32_t distance(std::span<const std::uint32_t> text, std::size_t from,
                        lattices::Poll& poll) {
    poll((text.size() - from) * blocks_ * width);
    if (blocks_ == 1) {
      auto here = column_[from];
      for (auto j = from; j < text.size(); ++j) {
        Bits rise_in = 1, fall_in = 0;
        here = next(match_[text[j]], here.rises, here.falls, rise_in, fall_in);
      }
      return measure({&here, 1}, text.size());
    }
    scratch_.assign(column_.begin() + from * blocks_, column_.begin() + (from + 1) * blocks_);
    for (auto j = from; j < text.size(); ++j) {
      Bits rise_in = 1, fall_in = 0;
      for (std::size_t b = 0; b < blocks_; ++b) {
        auto& here = scratch_[b];
        here = next(match_[text[j] * blocks_ + b], here.rises, here.falls, rise_in, fall_in);
      }
    }
    return measure(scratch_, text.size());
  }

  static bool bit(std::size_t i, Bits bits) { return bits >> (i - 1) % width & 1; }

  // Whether d(i, j) is d(i - 1, j - 1), is above d(i - 1, j), is above d(i, j - 1): i, j >= 1.
  bool keeps(std::size_t i, std::size_t j) const { return bit(i, at(i, j).diagonal); }
  bool rises_down(std::size_t i, std::size_t j) const { return bit(i, at(i, j).rises); }
  bool rises_right(std::size_t i, std::size_t j) const { return bit(i, at(i, j).right); }

 private:
  const Block& at(std::size_t i, std::size_t j) const {
    return column_[j * blocks_ + (i - 1) / width];
  }

  // The distance at the end of a column is that at its top plus all steps down.
  std::int32_t measure(std::span<const Block> column, std::size_t top) const {
    auto distance = static_cast<std::int32_t>(top);
    for (std::size_t b = 0; b < blocks_; ++b) {
      const auto rest = pattern_.size() - b * width;
      const Bits valid = rest < width ? (Bits{1} << rest) - 1 : ~Bits{0};
      distance += std::popcount(column[b].rises & valid) - std::popcount(column[b].falls & valid);
    }
    return distance;
  }

  std::size_t blocks_ = 0;
  std::vector<Unit> pattern_;
  std::vector<std::uint32_t> place_;
  std::vector<Bits> match_;
  std::vector<Block> column_, scratch_;
};

// Counts of the operations of an alignment.
struct EditCounts {
  std::int32_t matches = 0, substitutions = 0, insertions = 0, deletions = 0;
};

// The way back through the table of two sentences of bytes: what a character needs of BitTable,
// with matches by byte and nothing of a column that the way back does not ask for.
class ByteTable {
 public:
  using Bits = BitTable::Bits;
  using Bytes = std::span<const std::uint8_t>;

  void fill(Bytes text, Bytes pattern, lattices::Poll& poll) {
    constexpr auto width = BitTable::width;
    blocks_ = (pattern.size() + width - 1) / width;
    poll(text.size() * blocks_ * width);
    // all are 0 between two calls
    if (match_.size() < 256 * blocks_) match_.assign(256 * blocks_, 0);
    const auto match = [&](std::size_t i) -> Bits& {
      return match_[pattern[i] * blocks_ + i / width];
    };
    for (std::size_t i = 0; i < pattern.size(); ++i) match(i) |= Bits{1} << i % width;
    column_.resize(text.size() * blocks_);
    switch (blocks_) {
      case 1:
        fill_columns<1>(text);
        break;
      case 2:
        fill_columns<2>(text);
        break;
      case 3:
        fill_columns<3>(text);
        break;
      default:
        fill_columns<0>(text);
    }
    for (std::size_t i = 0; i < pattern.size(); ++i) match(i) = 0;
  }

  bool keeps(std::size_t i, std::size_t j) const { return BitTable::bit(i, at(i, j).diagonal); }
  bool rises_down(std::size_t i, std::size_t j) const { return BitTable::bit(i, at(i, j).rises); }

 private:
  struct Block {
    Bits rises, diagonal;
  };
  const Block& at(std::size_t i, std::size_t j) const {
    return column_[(j - 1) * blocks_ + (i - 1) / BitTable::width];
  }

  // Few blocks, in a number that the compiler knows, stay in registers; inlined into its caller, or
  // with calls inside, it takes half as long again.
  template <std::size_t Blocks>
  [[gnu::noinline]] void fill_columns(Bytes text) {
    using Steps = std::pair<Bits, Bits>;
    std::conditional_t<Blocks == 0, std::vector<Steps>, std::array<Steps, Blocks>> steps;
    if constexpr (Blocks == 0) steps.resize(blocks_);
    const std::size_t blocks = Blocks == 0 ? blocks_ : Blocks;
    for (auto& each : steps) each = {~Bits{0}, 0};
    const Bits* const match = match_.data();
    Block* here = column_.data();
    for (const auto unit : text) {
      Bits rise_in = 1, fall_in = 0;
      for (std::size_t b = 0; b < blocks; ++b) {
        const auto made = BitTable::next(match[unit * blocks + b], steps[b].first, steps[b].second,
                                         rise_in, fall_in);
        steps[b] = {made.rises, made.falls};
        *here++ = {made.rises, made.diagonal};
      }
    }
  }

  std::size_t blocks_ = 0;
  std::vector<Bits> match_;
  std::vector<Block> column_;
};

// The alignment of fewest edits, as Aligner finds it at order 1 with insertions at 1 and deletions
// at 0: of equals, matches are preferred to substitutions, these to deletions, these to insertions,
// from the end backward. What sentences have in common at the beginning and at the end is matched
// by some best alignment, and by all in which other preferences are not violated: so it is left
// out.
class EditAlignment {
 public:
  template <class Each>
  EditCounts operator()(std::span<const Each> hypothesis, std::span<const Each> reference,
                        lattices::Poll& poll) {
    EditCounts counts;
    const auto prefix = common_prefix(hypothesis, reference);
    hypothesis = hypothesis.subspan(prefix);
    reference = reference.subspan(prefix);
    const auto suffix = common_suffix(hypothesis, reference);
    hypothesis = hypothesis.first(hypothesis.size() - suffix);
    reference = reference.first(reference.size() - suffix);
    counts.matches = static_cast<std::int32_t>(prefix + suffix);
    auto j = hypothesis.size(), i = reference.size();
    if (i == 1 && j == 1) {
      ++counts.substitutions;
      return counts;
    }
    const auto walk = [&](const auto& table) {
      while (i > 0 && j > 0) {
        if (hypothesis[j - 1] == reference[i - 1]) {
          ++counts.matches;
          --i, --j;
        } else if (!table.keeps(i, j)) {
          ++counts.substitutions;
          --i, --j;
        } else if (table.rises_down(i, j)) {
          ++counts.deletions;
          --i;
        } else {
          ++counts.insertions;
          --j;
        }
      }
    };
    if (i > 0 && j > 0) {
      if constexpr (sizeof(Each) == 1) {
        bytes_.fill(hypothesis, reference, poll);
        walk(bytes_);
      } else {
        table_.set_pattern(reference);
        text_.clear();
        for (const auto unit : hypothesis) text_.push_back(table_.number(unit));
        table_.fill(text_, poll);
        walk(table_);
      }
    }
    counts.deletions += static_cast<std::int32_t>(i);
    counts.insertions += static_cast<std::int32_t>(j);
    return counts;
  }

 private:
  BitTable table_;
  ByteTable bytes_;
  std::vector<std::uint32_t> text_;
};

}  // namespace fstmetrics
