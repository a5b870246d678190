// Every candidate against every sentence of evidence: edit distances, alignments, n-gram matches.
//
// Results are tables with one row for each sentence of evidence and one column for each candidate.
// In each of the three, many pairs are worked on side by side, in loops without branches over
// `lanes` that the compiler turns into vector instructions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "fstmetrics/native/aligning.hpp"
#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/dispatch.hpp"
#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/vectors.hpp"

namespace fstmetrics {

using lattices::Lanes;
using lattices::raise_to;

// Two lists over one numbering of their units.
struct Pairs {
  Sentences candidates, evidence;

  Pairs(std::span<const Unit> unit, std::span<const std::int32_t> offset,
        std::span<const Unit> other, std::span<const std::int32_t> other_offset)
      : candidates{unit, offset}, evidence{other, other_offset} {}

  std::size_t size() const { return candidates.size() * evidence.size(); }
  bool is_one_list() const {
    return candidates.unit.data() == evidence.unit.data() &&
           candidates.offset.data() == evidence.offset.data() &&
           candidates.offset.size() == evidence.offset.size();
  }
  std::size_t units() const {
    Unit highest = 0;
    for (const auto each : candidates.unit) highest = std::max(highest, each);
    for (const auto each : evidence.unit) highest = std::max(highest, each);
    return static_cast<std::size_t>(highest) + 1;
  }
};

inline void check_columns(const Pairs& pairs) {
  check(pairs.candidates);
  check(pairs.evidence);
}

// Edit distances, a machine word of the table at a time (Myers 1999, in the form of Hyyrö 2003), of
// a group of candidates side by side.
//
// A column of the table is kept as two words of bits: where it rises and where it falls from one
// row to the next. Words are short, with carries between those of longer sentences: so more
// candidates fit a vector, and fewer bits are left over.
class EditDistances {
 public:
  using Bits = std::uint16_t;
  static constexpr std::size_t lanes = Lanes<Bits>::count;
  static constexpr std::size_t width = std::numeric_limits<Bits>::digits;

  EditDistances(const Sentences& candidates, std::size_t first, std::size_t units) {
    const auto last = std::min(first + lanes, candidates.size());
    std::size_t longest = 1;
    for (auto each = first; each < last; ++each) {
      longest = std::max(longest, candidates.length(each));
    }
    blocks_ = (longest + width - 1) / width;
    // one group takes a few kilobytes, unless sentences are as long as books
    if (units * blocks_ > (std::size_t{1} << 24)) {
      throw lattices::option_error("sentences too long to compare all of them by edit distance");
    }
    match_.resize(units * blocks_);
    column_.resize(blocks_);
    for (auto each = first; each < last; ++each) {
      const auto sentence = candidates[each];
      for (std::size_t place = 0; place < sentence.size(); ++place) {
        const auto block = place / width;
        const auto bit = static_cast<Bits>(1u << place % width);
        match_[sentence[place] * blocks_ + block].v[each - first] |= bit;
        column_[block].valid.v[each - first] |= bit;
      }
    }
  }

  // Write the distances of one sentence to all candidates of the group.
  void operator()(std::span<const Unit> text, std::int32_t (&distance)[lanes]) {
    const Word none{}, all = ~none, one = none + 1;
    for (auto& block : column_) {
      block.rises.v = all;
      block.falls.v = none;
    }
    if (blocks_ == 1) {
      auto rises = all, falls = none;
      for (const auto unit : text) {
        auto rise_in = one, fall_in = none;
        step(match_[unit].v, rises, falls, rise_in, fall_in);
      }
      column_[0].rises.v = rises;
      column_[0].falls.v = falls;
    } else {
      for (const auto unit : text) {
        auto rise_in = one, fall_in = none;
        const auto* match = &match_[unit * blocks_];
        for (auto& column : column_) {
          step((match++)->v, column.rises.v, column.falls.v, rise_in, fall_in);
        }
      }
    }
    // the distance at the end is the length of the text plus all steps down the last column
    auto down = none, up = none;
    for (const auto& block : column_) {
      add_ones(block.rises.v & block.valid.v, down);
      add_ones(block.falls.v & block.valid.v, up);
    }
    const auto length = static_cast<std::int32_t>(text.size());
    for (std::size_t lane = 0; lane < lanes; ++lane)
      distance[lane] = length + down[lane] - up[lane];
  }

 private:
  using Word = Lanes<Bits>::Vector;
  struct Block {
    Lanes<Bits> rises, falls, valid;
  };

  // One word of a column, with X the matches, P and N the rises and falls:
  // D0 = (((X & P) + P) ^ P) | X | N;  HP = N | ~(D0 | P);  HN = D0 & P, both moved one row down;
  // P = HN | ~(D0 | HP);  N = HP & D0. What is moved out of the word is carried to the next.
  static void step(const Word& match, Word& rises, Word& falls, Word& rise_in, Word& fall_in) {
    const Word rise = rises, same = match | fall_in;
    const Word diagonal = (((same & rise) + rise) ^ rise) | same | falls;
    const Word right = falls | ~(diagonal | rise), left = diagonal & rise;
    const Word right_down = right << 1 | rise_in, left_down = left << 1 | fall_in;
    rise_in = right >> (width - 1);
    fall_in = left >> (width - 1);
    rises = left_down | ~(diagonal | right_down);
    falls = right_down & diagonal;
  }

  // Add how many bits of each word are set: sums of pairs, of fours, of bytes.
  static void add_ones(const Word& word, Word& count) {
    const Word pairs = word - ((word >> 1) & 0x5555);
    const Word fours = (pairs & 0x3333) + ((pairs >> 2) & 0x3333);
    const Word bytes = (fours + (fours >> 4)) & 0x0F0F;
    count += (bytes + (bytes >> 8)) & 0x1F;
  }

  std::size_t blocks_ = 1;
  std::vector<Lanes<Bits>> match_;
  std::vector<Block> column_;
};

// Cost: O(pairs x length x length / 16), thirty-two pairs at a time; half of it where candidates
// and evidence are the same, since distances are symmetric.
inline std::vector<std::int32_t> edit_distances(const Pairs& pairs, lattices::Poll& poll) {
  const auto columns = pairs.candidates.size(), rows = pairs.evidence.size(), units = pairs.units();
  const bool same = pairs.is_one_list();
  std::vector<std::int32_t> result(pairs.size());
  std::int32_t found[EditDistances::lanes];
  for (std::size_t first = 0; first < columns; first += EditDistances::lanes) {
    const auto some = std::min(EditDistances::lanes, columns - first);
    EditDistances distances(pairs.candidates, first, units);
    for (auto row = same ? first : 0; row < rows; ++row) {
      const auto sentence = pairs.evidence[row];
      poll(sentence.size() * pairs.candidates.longest());
      lattices::dispatch([&] {
        distances(sentence, found);
        return 0;
      });
      std::copy_n(found, some, &result[row * columns + first]);
      if (!same || row < first + some) continue;
      for (std::size_t lane = 0; lane < some; ++lane) {
        result[(first + lane) * columns + row] = found[lane];
      }
    }
  }
  return result;
}

// What an alignment is worth, in multiples of 1 / one: `one` for a match of equal units or, with a
// table, what it says of two units.
template <class Value>
struct Worth {
  std::size_t order;
  Value one, insertion, deletion;
  std::span<const double> table;
  std::size_t units;
};

// Whole numbers of the size of a value: units, so that comparing them selects values.
template <class Value>
using Whole = std::conditional_t<sizeof(Value) == 2, std::int16_t, std::int64_t>;

// The best gain of each pair under an alignment metric, without the way back to the alignment: the
// recurrence of Aligner, for a group of sentences of evidence side by side. Rows of a prefix serve
// all candidates that begin with it. Whole numbers are exact, and more of them fit a vector.
//
// Order is the order, or 0 if it is not known when this is compiled.
template <class Value, std::size_t Order>
class AlignmentGains {
 public:
  static constexpr std::size_t lanes = Lanes<Value>::count;
  static constexpr Value nothing = std::numeric_limits<Value>::has_infinity
                                       ? -std::numeric_limits<Value>::infinity()
                                       : std::numeric_limits<Value>::lowest();
  static constexpr std::size_t most_bytes = std::size_t{1} << 28;
  static constexpr auto unknown = std::numeric_limits<std::size_t>::max();

  // Evidence in the order of its lengths, so that those side by side are about as long, and
  // candidates of up to so many units.
  AlignmentGains(const Sentences& evidence, std::span<const std::size_t> group,
                 const Worth<Value>& worth, std::size_t longest)
      : worth_(worth), length_(evidence.length(group.back())), rows_(longest + 1) {
    Lanes<Whole<Value>> no_unit{};
    no_unit.v -= 1;
    unit_.assign(length_, no_unit);
    for (std::size_t lane = 0; lane < group.size(); ++lane) {
      const auto sentence = evidence[group[lane]];
      for (std::size_t i = 0; i < sentence.size(); ++i) {
        unit_[i].v[lane] = static_cast<Whole<Value>>(sentence[i]);
      }
    }
    height_ = (length_ + 1) * (order() + 1);
    if (rows_ * height_ * sizeof(Lanes<Value>) > most_bytes) rows_ = 2;
    value_.resize(rows_ * height_);
    begin();
  }

  // Whether the rows of a candidate are there for the next one; of very long ones, two are kept.
  bool keeps_rows() const { return rows_ > 2; }

  void begin() {
    for (std::size_t i = 0; i <= length_; ++i) {
      set(0, i, static_cast<Value>(static_cast<Value>(i) * -worth_.deletion));
    }
  }

  // The gain of the first `depth` units of the latest candidate with the first i of a sentence.
  Value best(std::size_t depth, std::size_t i, std::size_t lane) const {
    return value_[place(depth, i)].v[lane];
  }

  // Append a unit to the first `depth` of a candidate.
  void push(std::size_t depth, Unit own) {
    set(depth + 1, 0, static_cast<Value>(static_cast<Value>(depth + 1) * -worth_.insertion));
    if (worth_.table.empty()) {
      const auto symbol = static_cast<Whole<Value>>(own);
      const Vector one = Vector{} + worth_.one;
      fill(depth, [&](std::size_t i, Vector& worth, Mask& matches) {
        worth = one;
        matches = unit_[i].v == symbol;
      });
      return;
    }
    if constexpr (std::is_floating_point_v<Value>) {
      const auto* soft = soft_worth(own);
      fill(depth, [&](std::size_t i, Vector& worth, Mask& matches) {
        worth = soft[i].v;
        matches = worth > 0;
      });
    }
  }

 private:
  using Vector = typename Lanes<Value>::Vector;
  using Mask = typename Lanes<Whole<Value>>::Vector;

  std::size_t order() const { return Order > 0 ? Order : worth_.order; }

  // A cell has the best of all, and the best that ends in a run of m matches for each m.
  std::size_t place(std::size_t depth, std::size_t i) const {
    return (keeps_rows() ? depth : depth % 2) * height_ + i * (order() + 1);
  }
  void set(std::size_t depth, std::size_t i, Value value) {
    auto* here = &value_[place(depth, i)];
    here[0].v = here[1].v = Vector{} + value;
    for (std::size_t m = 1; m < order(); ++m) here[m + 1].v = Vector{} + nothing;
  }

  // What a unit is worth as a match of each unit of the sentences: looked up in the table once, and
  // forgotten only when there are too many.
  __attribute__((noinline)) const Lanes<Value>* soft_worth(Unit own) {
    if (soft_place_.empty()) soft_place_.assign(worth_.units, unknown);
    if (soft_place_[own] == unknown) {
      if ((soft_.size() + length_) * sizeof(Lanes<Value>) > most_bytes) {
        soft_.clear();
        soft_place_.assign(worth_.units, unknown);
      }
      soft_place_[own] = soft_.size();
      const double* row = &worth_.table[own * worth_.units];
      for (const auto& units : unit_) {
        auto& found = soft_.emplace_back();
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const auto unit = units.v[lane];
          found.v[lane] = unit < 0 ? Value{0} : static_cast<Value>(row[unit]);
        }
      }
    }
    return soft_.data() + soft_place_[own];
  }

  // match(i, worth, matches) sets what unit i of each sentence is worth, and where it matches.
  template <class Match>
  void fill(std::size_t depth, const Match& match) {
    const auto order = this->order();
    const auto insertion = worth_.insertion, deletion = worth_.deletion;
    const Vector none = Vector{} + nothing;
    const auto* diagonal = &value_[place(depth, 0)];
    auto* here = &value_[place(depth + 1, 0)];
    Vector left = here[0].v, worth{};
    Mask matches{};
    for (std::size_t i = 0; i < length_; ++i, diagonal += order + 1) {
      here += order + 1;
      match(i, worth, matches);
      const auto* above = diagonal + order + 1;
      Vector run = above[0].v - insertion;
      raise_to<Vector>(run, diagonal[0].v);
      raise_to<Vector>(run, left - deletion);
      left = run;
      Vector scaled = worth;
      for (std::size_t m = 1; m < order; ++m) {
        here[m].v = run;
        run = matches ? diagonal[m].v + scaled : none;
        raise_to<Vector>(left, run);
        scaled += worth;
      }
      raise_to<Vector>(run, matches ? diagonal[order].v + scaled : none);
      here[order].v = run;
      raise_to<Vector>(left, run);
      here[0].v = left;
    }
  }

  Worth<Value> worth_;
  std::size_t length_, rows_, height_ = 0;
  std::vector<Lanes<Whole<Value>>> unit_;
  std::vector<Lanes<Value>> value_, soft_;
  std::vector<std::size_t> soft_place_;
};

template <std::size_t Order, class Value>
void alignment_gains(const Pairs& pairs, const Worth<Value>& worth, lattices::Poll& poll,
                     std::span<double> result) {
  using Gains = AlignmentGains<Value, Order>;
  const auto columns = pairs.candidates.size();
  std::vector<std::size_t> sorted(columns), by_length(pairs.evidence.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t one, std::size_t other) {
    const auto left = pairs.candidates[one], right = pairs.candidates[other];
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  });
  std::stable_sort(by_length.begin(), by_length.end(), [&](std::size_t one, std::size_t other) {
    return pairs.evidence.length(one) < pairs.evidence.length(other);
  });
  const auto longest = pairs.candidates.longest();
  for (std::size_t first = 0; first < by_length.size(); first += Gains::lanes) {
    const auto group =
        std::span(by_length).subspan(first, std::min(Gains::lanes, by_length.size() - first));
    Gains gains(pairs.evidence, group, worth, longest);
    std::span<const Unit> before;
    for (const auto column : sorted) {
      const auto sentence = pairs.candidates[column];
      poll(sentence.size() * pairs.evidence.longest() * Gains::lanes);
      const auto common = gains.keeps_rows() ? common_prefix(sentence, before) : 0;
      if (!gains.keeps_rows()) gains.begin();
      lattices::dispatch([&] {
        for (auto depth = common; depth < sentence.size(); ++depth) {
          gains.push(depth, sentence[depth]);
        }
        return 0;
      });
      for (std::size_t lane = 0; lane < group.size(); ++lane) {
        const auto length = pairs.evidence.length(group[lane]);
        const auto gain = static_cast<double>(gains.best(sentence.size(), length, lane));
        result[group[lane] * columns + column] = gain / static_cast<double>(worth.one);
      }
      before = sentence;
    }
  }
}

// Gains in matches. `costs` are in multiples of 1 / one; where `one` is not 0, both costs are
// whole. Soft matches are fractions: they take floats, and `one` is 0.
inline std::vector<double> alignment_gains(const Pairs& pairs, const AlignmentCosts& costs,
                                           double one, std::span<const double> table,
                                           lattices::Poll& poll) {
  std::vector<double> result(pairs.size());
  const auto units = pairs.units();
  const auto longest = pairs.candidates.longest() + pairs.evidence.longest();
  // no value is further from 0 than this, and a run that cannot be stays below all of them
  const double bound = static_cast<double>(longest) *
                       std::max({static_cast<double>(costs.order) * one, std::abs(costs.insertion),
                                 std::abs(costs.deletion)});
  const auto with = [&]<class Value>(Value match) {
    const auto insertion = static_cast<Value>(costs.insertion);
    const auto deletion = static_cast<Value>(costs.deletion);
    const Worth<Value> worth{costs.order, match, insertion, deletion, table, units};
    lattices::with_order(costs.order,
                         [&](auto order) { alignment_gains<order()>(pairs, worth, poll, result); });
  };
  if (one > 0 && bound < 10000 && units <= 32767) {
    with(static_cast<std::int16_t>(one));
  } else {
    with(one > 0 ? one : 1.0);
  }
  return result;
}

}  // namespace fstmetrics
