// The handle of several alignments that are read by rows, in integers that are wide enough.
#pragma once

#include <tuple>
#include <utility>
#include <variant>

#include "lattices/native/alignment_rows.hpp"
#include "lattices/native/border.hpp"

namespace lattices {

class AlignmentSet {
 public:
  // `narrow`: all sums of gains stay below 2**29
  AlignmentSet(const Ints& length, const Ints& offset, const Ints& word, const Ints& position,
               const Floats& weight, const Ints& words, Index order, double insertion,
               double deletion, double heaviest, bool narrow)
      : num_words_(words.shape(0)),
        rows_(made(
            {view(length), view(offset), view(word), view(position), view(weight), view(words)},
            {order, insertion, deletion, heaviest}, narrow)) {}

  std::size_t num_words() const { return num_words_; }

  // Call use(rows) with the Alignments that are there.
  template <class Use>
  auto visit(Use&& use) const {
    return std::visit(std::forward<Use>(use), rows_);
  }

  auto read(Index number, const Ints& words) const {
    return visit([&](const auto& rows) {
      using Gain = typename std::decay_t<decltype(rows)>::Gain;
      if (number < 0 || number >= rows.size()) throw option_error("no such alignment");
      AlignmentReader<Gain> reader(rows);
      reader.choose(number);
      std::vector<std::int64_t> table, gains;
      std::vector<Gain> row(reader.width()), next(reader.width());
      gains.push_back(reader.open(row));
      table.insert(table.end(), row.begin(), row.end());
      for (const Index word : view(words)) {
        if (word < 0 || static_cast<std::size_t>(word) >= num_words_) {
          throw option_error("no such word");
        }
        gains.push_back(reader.step(row, rows.class_of(number, word), next));
        row.swap(next);
        table.insert(table.end(), row.begin(), row.end());
      }
      gains.push_back(reader.ending(row));
      return std::tuple(give(std::move(table), words.shape(0) + 1, reader.width()),
                        give(std::move(gains)));
    });
  }

 private:
  using Rows = std::variant<Alignments<std::int32_t>, Alignments<std::int64_t>>;

  static Rows made(const AlignmentMatches& matches, const AlignmentCosts& costs, bool narrow) {
    const std::size_t count = matches.length.size(), entries = matches.word.size();
    if (count == 0 || costs.order < 1 || matches.offset.size() != count + 1 ||
        matches.offset.front() != 0 || static_cast<std::size_t>(matches.offset.back()) != entries ||
        matches.position.size() != entries || matches.weight.size() != entries) {
      throw option_error("the columns of alignments differ in length");
    }
    for (std::size_t each = 0; each < count; ++each) {
      if (matches.length[each] < 0 || matches.offset[each] > matches.offset[each + 1]) {
        throw option_error("the columns of alignments do not fit together");
      }
      for (Index entry = matches.offset[each]; entry < matches.offset[each + 1]; ++entry) {
        if (matches.position[entry] < 0 || matches.position[entry] >= matches.length[each]) {
          throw option_error("a match outside of its reference");
        }
      }
    }
    if (narrow) return Alignments<std::int32_t>(matches, costs);
    return Alignments<std::int64_t>(matches, costs);
  }

  std::size_t num_words_;
  Rows rows_;
};

}  // namespace lattices
