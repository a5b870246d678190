// Dominance: which of two rows cannot end higher than the other, whatever follows.
//
// Row x, with base(x) added to all of its cells, ends no higher than row y if for every state q
//
//   base(x) + x[q] <= base(y) + answer(y)[q],   answer(y)[q] = max(y[q], y[kept] - lead, ...),
//
// over the rules of q (AutomatonReader::ruled_states: no suffix earns more than `lead` better from
// q than from `kept`). It ends lower if all of these are strict.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lattices/native/rows.hpp"

namespace lattices {

// Gains of two rows that are there differ by less than this, see kAbsent; more, or less than its
// negative, if one is absent and `write_answers` wrote the other.
template <class Gain>
inline constexpr Gain kFar = -(kAbsent<Gain> / 4);

// Write how high each state of a row is answered: by itself, or by another that is never worth
// less than `lead` less, whatever follows.
template <class Reader>
void write_answers(const Reader& reader, std::span<const typename Reader::Gain> row,
                   std::span<typename Reader::Gain> answers) {
  using Gain = typename Reader::Gain;
  for (std::size_t state = 0; state < row.size(); ++state) {
    answers[state] = std::max<Gain>(row[state], kAbsent<Gain> / 2);
  }
  for (const auto& [state, rules] : reader.ruled_states()) {
    Gain best = answers[state];
    for (const auto& rule : rules) best = std::max<Gain>(best, row[rule.kept] - rule.lead);
    answers[state] = best;
  }
}

// Whether a row stands nowhere above what another answers by more than `limit`.
template <class Gain>
bool stands_below(std::span<const Gain> row, const Gain* answers, Gain limit) {
  constexpr std::size_t kBlock = 16;
  const Gain* mine = row.data();
  const std::size_t width = row.size();
  std::size_t state = 0;
  for (; state + kBlock <= width; state += kBlock) {
    Gain above = 0;
    for (std::size_t at = state; at < state + kBlock; ++at) above |= mine[at] - answers[at] > limit;
    if (above != 0) return false;
  }
  for (; state < width; ++state) {
    if (mine[state] - answers[state] > limit) return false;
  }
  return true;
}

// The answers of the rows of a machine, each made once.
template <class Machine>
class RowAnswers {
 public:
  using Gain = typename Machine::Gain;

  explicit RowAnswers(const Machine& machine)
      : machine_(machine), answers_(machine.reader().width()) {}

  // Call this for a row before it is compared with others.
  void learn(Index row) {
    if (place_.size() < machine_.size()) place_.resize(machine_.size(), -1);
    if (place_[row] >= 0) return;
    write_answers(machine_.reader(), machine_[row], {answers_.draft(), answers_.width()});
    place_[row] = static_cast<Index>(answers_.size());
    answers_.keep();
  }
  // Whether one row ends no higher than another, which was learnt and whose base is higher by
  // `ahead`; lower, if it is `strictly`.
  bool below(Index row, Index other, double ahead, bool strictly) const {
    constexpr auto far = static_cast<double>(kFar<Gain>);
    ahead = std::min(std::max(ahead, -far), far);
    const double limit = strictly ? std::ceil(ahead) - 1.0 : std::floor(ahead);
    return stands_below(machine_[row], answers_[place_[other]], static_cast<Gain>(limit));
  }
  // As if the answers of all rows had been made: those of one node are made at once.
  std::size_t bytes() const {
    return machine_.size() * answers_.width() * sizeof(Gain) + growing_bytes(place_);
  }

 private:
  const Machine& machine_;
  Blocks<Gain> answers_;
  std::vector<Index> place_;
};

}  // namespace lattices
