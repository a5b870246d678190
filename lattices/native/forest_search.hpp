// The search of forests for the derivation that is best under a machine made of alignments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lattices/native/forest_traceback.hpp"

namespace lattices::forests {

// One alignment of a machine; the value of a sentence is (gain + bonus) / denominator.
struct Part {
  const Alignment* alignment;
  double denominator, bonus;
};

using Options = SearchOptions;

// Whether single precision has all totals of an alignment.
inline bool fits_single(const Alignment& alignment, double longest) {
  const auto states = static_cast<double>(alignment.num_states());
  return (longest + states) * alignment.largest_gain() <= kLargestTotal<float>;
}

// The items for one part, all filled.
class FilledPart {
 public:
  virtual ~FilledPart() = default;
  // The derivation of the best value with the highest model score.
  virtual Derivation derivation(Poll& poll) = 0;
  // Add all that gains at least `bound`; returns its node and whether that is all there is.
  virtual std::pair<Index, bool> find_near(double bound, std::span<const Index> said,
                                           NearLinks& links, Poll& poll) = 0;

  double value() const { return (top + shift) / denominator; }
  // of the tables
  std::size_t bytes = 0;

  double denominator = 1.0;
  // the best gain of the tables, and what takes back what the last column carries for deletions
  double top = kMinusInfinity, shift = 0.0;
};

template <class Real>
class FilledTables : public FilledPart {
 public:
  FilledTables(const Forest& forest, const Part& part, const Options& options, Poll& poll)
      : bias_(weighted(forest, options.model_weight * part.denominator)),
        tables_(forest, *part.alignment, bias_, poll),
        left_(options.memory) {
    bytes = tables_.cells() * sizeof(Real);
    if (bytes > left_) {
      throw too_large(std::to_string(forest.num_nodes()) + " nodes and a reference of " +
                          std::to_string(part.alignment->length) + " words",
                      static_cast<double>(bytes), left_);
    }
    left_ -= bytes;
    tables_.fill(poll);
    denominator = part.denominator;
    top = static_cast<double>(tables_.top());
    shift = part.bonus - part.alignment->length * part.alignment->deletion;
  }

  Derivation derivation(Poll& poll) override {
    TiedLinks links(left_);
    Exactly aim{top};
    Traceback(tables_, tables_.forest().symbol, aim, links, poll)();
    return links.best(tables_.forest(), poll);
  }

  std::pair<Index, bool> find_near(double bound, std::span<const Index> said, NearLinks& links,
                                   Poll& poll) override {
    Within aim{bound};
    const Index root = Traceback(tables_, said, aim, links, poll)();
    return {root, !aim.cut};
  }

 private:
  static std::vector<double> weighted(const Forest& forest, double weight) {
    std::vector<double> bias;
    if (weight == 0.0) return bias;
    for (const double score : forest.score) bias.push_back(weight * score);
    return bias;
  }

  std::vector<double> bias_;
  Tables<Real> tables_;
  // what the tables leave of the memory
  std::size_t left_;
};

// `longest`: the words of the longest sentence of the forest
// `kept`: tables of other parts that take their share of the memory
inline std::unique_ptr<FilledPart> fill_part(const Forest& forest, const Part& part, double longest,
                                             Options options, std::size_t kept, Poll& poll) {
  options.memory -= std::min(options.memory, kept);
  if (options.model_weight == 0.0 && fits_single(*part.alignment, longest)) {
    return std::make_unique<FilledTables<float>>(forest, part, options, poll);
  }
  return std::make_unique<FilledTables<double>>(forest, part, options, poll);
}

// The best derivation of a forest; of several with the best value, one with the highest model
// score. Cost: O(edges x length^2) for words and O(length^3) for each tail that no edge begins
// with, in vectors of single precision wherever totals allow.
inline BestPath search(const Forest& forest, std::span<const Part> parts, const Options& options,
                       Poll& poll) {
  BestPath answer;
  const double longest = longest_sentence(forest);
  std::vector<std::pair<Index, std::unique_ptr<FilledPart>>> best;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    std::size_t kept = 0;
    for (const auto& [_, other] : best) kept += other->bytes;
    auto filled = fill_part(forest, parts[number], longest, options, kept, poll);
    const double value = filled->value();
    if (value < answer.value || value == kMinusInfinity) continue;
    if (value > answer.value) best.clear();
    answer.value = value;
    best.emplace_back(static_cast<Index>(number), std::move(filled));
  }
  if (best.empty()) {
    throw engine_error(std::string(forest.name) + ": no derivation has a finite value");
  }
  for (const auto& [number, filled] : best) {
    Derivation found = filled->derivation(poll);
    if (answer.complete() && found.model <= answer.model) continue;
    answer.model = found.model;
    answer.arcs = std::move(found.edges);
    answer.part = number;
  }
  return answer;
}

}  // namespace lattices::forests
