// The handle of several alignments that are read by rows, in integers that are wide enough.
#pragma once

#include <tuple>
#include <utility>
#include <variant>

#include "lattices/native/alignment_rows.hpp"
#include "lattices/native/border.hpp"
#include "lattices/native/rows.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

class AlignmentSet {
 public:
  // `words`: those that will be read; no sum of gains is larger than `largest`
  AlignmentSet(const AlignmentList& list, std::span<const Index> words, double largest)
      : rows_(made(list, words, largest)) {}

  // Call use(rows) with the AlignmentBlocks that are there.
  template <class Use>
  auto visit(Use&& use) const {
    return std::visit(std::forward<Use>(use), rows_);
  }

  auto read(Index number, const Ints& words) const {
    return visit([&](const auto& rows) {
      using Blocks = std::decay_t<decltype(rows)>;
      using Gain = typename Blocks::Gain;
      if (number < 0 || number >= rows.num_blocks()) throw option_error("no such alignment");
      AlignmentReader<Gain> reader(rows);
      reader.choose(number);
      std::vector<std::int64_t> table, gains;
      std::vector<Gain> row(reader.width()), next(reader.width());
      const Index length = rows.length(number);
      const auto show = [&] {
        for (Index cell = 0; cell < rows.order() * (length + 1); ++cell) {
          const Index run = cell / (length + 1), left = length - cell % (length + 1);
          const Gain gain = row[run * rows.width() + left];
          table.push_back(gain == Blocks::kAbsent ? kAbsent<std::int64_t> : gain);
        }
      };
      gains.push_back(reader.open(row));
      show();
      for (const Index word : view(words)) {
        if (word < 0 || word >= rows.num_words()) throw option_error("no such word");
        gains.push_back(reader.step(row, rows.class_of(number, word), next));
        row.swap(next);
        show();
      }
      gains.push_back(reader.ending(row));
      return std::tuple(give(std::move(table), words.shape(0) + 1, rows.order() * (length + 1)),
                        give(std::move(gains)));
    });
  }

 private:
  template <class... Gain>
  using Any = std::variant<AlignmentBlocks<Gain, 1>...>;
  using Rows = Any<std::int16_t, std::int32_t, std::int64_t>;

  static Rows made(const AlignmentList& list, std::span<const Index> words, double largest) {
    if (!list.fits()) throw option_error("the columns of alignments do not fit each other");
    if (largest < AlignmentBlocks<std::int16_t, 1>::kLargest) {
      return AlignmentBlocks<std::int16_t, 1>(list, words);
    }
    if (largest < AlignmentBlocks<std::int32_t, 1>::kLargest) {
      return AlignmentBlocks<std::int32_t, 1>(list, words);
    }
    if (largest < AlignmentBlocks<std::int64_t, 1>::kLargest) {
      return AlignmentBlocks<std::int64_t, 1>(list, words);
    }
    throw option_error("gains up to " + spelled(largest) + " units are too large for rows");
  }

  Rows rows_;
};

}  // namespace lattices
