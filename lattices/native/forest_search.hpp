// The search of forests for the derivation that is best under a machine made of alignments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lattices/native/forest_derivation.hpp"
#include "lattices/native/forest_inside.hpp"

namespace lattices::forests {

// One alignment of a machine; the value of a sentence is (gain + bonus) / denominator.
struct Part {
  const Alignment* alignment;
  double denominator, bonus;
};

struct Options {
  double model_weight = 0.0;
  // the most cells that the tables of one part may ask memory for
  std::size_t most_cells = 0;
};

struct Answer {
  double value = kMinusInfinity;
  std::vector<Index> edges;
  Index part = -1;
};

// The number of words of the longest sentence; it can be huge.
inline double longest_sentence(const Forest& forest) {
  std::vector<double> words(forest.num_nodes(), 0.0);
  for (Index node = 0; node < forest.num_nodes(); ++node) {
    for (const Index edge : forest.incoming(node)) {
      double count = 0.0;
      for (const Index symbol : forest.symbols(edge)) {
        count += symbol > 0 ? 1.0 : words[forest.tails(edge)[-1 - symbol]];
      }
      words[node] = std::max(words[node], count);
    }
  }
  return words[forest.root];
}

// Whether single precision has all totals of an alignment: whole numbers below 2^24 are exact.
inline bool fits_single(const Alignment& alignment, double longest) {
  const auto states = static_cast<double>(alignment.num_states());
  return (longest + states) * alignment.largest_gain() < 16777216.0;
}

// The items for one part, all filled.
class FilledPart {
 public:
  virtual ~FilledPart() = default;
  virtual Derivation derivation(Poll& poll) = 0;
  double value = kMinusInfinity;
};

template <class Real>
class FilledTables : public FilledPart {
 public:
  FilledTables(const Forest& forest, const Part& part, const Options& options, Poll& poll)
      : bias_(weighted(forest, options.model_weight * part.denominator)),
        tables_(forest, *part.alignment, bias_, poll) {
    if (tables_.cells() > options.most_cells) {
      throw engine_error("the forest and a reference of " + std::to_string(part.alignment->length) +
                         " words take tables of " + std::to_string(tables_.cells()) +
                         " cells, more than " + std::to_string(options.most_cells));
    }
    tables_.fill(poll);
    // takes back what the last column carries for deletions
    const double shift = part.bonus - part.alignment->length * part.alignment->deletion;
    value = (static_cast<double>(tables_.top()) + shift) / part.denominator;
  }

  Derivation derivation(Poll& poll) override { return BestDerivation<Real>(tables_, poll).find(); }

 private:
  static std::vector<double> weighted(const Forest& forest, double weight) {
    std::vector<double> bias;
    if (weight == 0.0) return bias;
    for (const double score : forest.score) bias.push_back(weight * score);
    return bias;
  }

  std::vector<double> bias_;
  Tables<Real> tables_;
};

// The best derivation of a forest; of several with the best value, one with the highest model
// score. Cost: O(edges x length^2) for words and O(length^3) for each tail that no edge begins
// with, in vectors of single precision wherever totals allow.
inline Answer search(const Forest& forest, std::span<const Part> parts, const Options& options,
                     Poll& poll) {
  Answer answer;
  const double longest = longest_sentence(forest);
  std::vector<std::pair<Index, std::unique_ptr<FilledPart>>> best;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    const Part& part = parts[number];
    std::unique_ptr<FilledPart> filled;
    if (options.model_weight == 0.0 && fits_single(*part.alignment, longest)) {
      filled = std::make_unique<FilledTables<float>>(forest, part, options, poll);
    } else {
      filled = std::make_unique<FilledTables<double>>(forest, part, options, poll);
    }
    if (filled->value < answer.value || filled->value == kMinusInfinity) continue;
    if (filled->value > answer.value) best.clear();
    answer.value = filled->value;
    best.emplace_back(static_cast<Index>(number), std::move(filled));
  }
  if (best.empty()) throw engine_error("no derivation has a finite value");
  double model = kMinusInfinity;
  for (const auto& [number, filled] : best) {
    Derivation found = filled->derivation(poll);
    if (answer.part >= 0 && found.model <= model) continue;
    model = found.model;
    answer.edges = std::move(found.edges);
    answer.part = number;
  }
  return answer;
}

// The search as other modules have it, without compiling it again: made by lattices._native, as
// FOREST_SEARCH. `run` returns whether there is an answer; if not, `search` says why.
struct SearchHandle {
  bool (*run)(const Forest& forest, std::span<const Part> parts, const Options& options, Poll& poll,
              Answer& answer);
};

}  // namespace lattices::forests
