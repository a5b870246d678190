// Oracles of lattices and forests under alignment metrics: compiled, searched and scored without
// Python.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "fstmetrics/native/aligning.hpp"
#include "lattices/native/best.hpp"
#include "lattices/native/intersection.hpp"
#include "lattices/native/paths.hpp"

namespace decoding {

using fstmetrics::WordMetric;
using lattices::Index;

// A lattice or a forest, and the references of its segment as numbers of its vocabulary, negative
// where a word is not in it.
struct WordProblem {
  std::variant<const lattices::Lattice*, const lattices::Forest*> space;
  // if there are some, with so many columns
  const lattices::Features* features = nullptr;
  std::size_t num_features = 0;
  const WordMetric* metric = nullptr;
  std::vector<Index> reference;
  std::vector<std::size_t> offset{0};

  std::size_t num_references() const { return offset.size() - 1; }
  std::span<const Index> words(std::size_t number) const {
    return std::span(reference).subspan(offset[number], offset[number + 1] - offset[number]);
  }
};

// Overflow: a path was found, but its model score is beyond all numbers. Refused: lattice and
// machine take more memory than a search may, or a forest cannot be searched.
enum class Outcome { Found, NoPath, Overflow, Refused };

struct WordOptions {
  lattices::SearchOptions search;
  const lattices::SearchHandle* forests = nullptr;
  // whether the best path by the model is scored, too
  bool one_best = false;
};

// What the metric says of words against the reference that scores them best, the first of equals.
struct WordScore {
  double score = 0.0;
  Index reference = -1;
  std::vector<double> stats;
};

// The path that was found, and the model's own.
struct WordOracle {
  Outcome outcome = Outcome::NoPath;
  double model = 0.0;
  WordScore metric;
  std::vector<Index> arcs, words;  // arcs or edges
  // sums of features that are not zero, with their columns
  std::vector<std::pair<Index, double>> features;
  // where they were asked for
  std::vector<Index> one_best;
  WordScore one_best_metric;

  bool any() const { return outcome == Outcome::Found || outcome == Outcome::Overflow; }
};

// Solves problems one after the other, in memory that is kept from one to the next.
class WordSearch {
 public:
  WordOracle solve(const WordProblem& problem, const WordOptions& options, lattices::Poll& poll) {
    WordOracle found;
    compile(problem);
    std::visit(
        [&](const auto* space) {
          search(*space, options, poll, found);
          if (options.one_best && found.any()) found.one_best = best_words(*space, poll);
        },
        problem.space);
    if (!found.any()) return found;
    add_features(problem, found);
    found.metric = score(problem, found.words, poll);
    if (options.one_best) found.one_best_metric = score(problem, found.one_best, poll);
    return found;
  }

 private:
  void search(const lattices::Lattice& lattice, const WordOptions& options, lattices::Poll& poll,
              WordOracle& found) {
    try {
      intersection_.search(lattice, parts_, options.search, best_, poll);
    } catch (const lattices::Error& error) {
      if (error.kind != lattices::ErrorKind::TooLarge) throw;
      found.outcome = Outcome::Refused;
      return;
    }
    if (!best_.complete()) return;
    found.outcome = std::isfinite(best_.model) ? Outcome::Found : Outcome::Overflow;
    found.model = best_.model;
    found.arcs = best_.arcs;
    append_words(lattice, found.arcs, found.words);
  }

  void search(const lattices::Forest& forest, const WordOptions& options, lattices::Poll& poll,
              WordOracle& found) {
    if (!options.forests->run(forest, parts_, options.search, poll, best_)) {
      found.outcome = Outcome::Refused;
      return;
    }
    found.arcs = best_.arcs;
    // sums cannot overflow, or the forest would have been refused
    found.model = lattices::DerivationReader(forest).read(found.arcs, found.words);
    found.outcome = Outcome::Found;
  }

  // The alignments to all references, as AlignmentEvaluator.machine makes them.
  void compile(const WordProblem& problem) {
    const WordMetric& metric = *problem.metric;
    word_.clear();
    position_.clear();
    alignments_.clear();
    parts_.clear();
    for (std::size_t number = 0; number < problem.num_references(); ++number) {
      const auto words = problem.words(number);
      for (std::size_t place = 0; place < words.size(); ++place) {
        if (words[place] <= 0) continue;
        word_.push_back(words[place]);
        position_.push_back(static_cast<Index>(place));
      }
    }
    weight_.assign(word_.size(), metric.one);
    std::size_t begin = 0;
    for (std::size_t number = 0; number < problem.num_references(); ++number) {
      const auto words = problem.words(number);
      const auto known = static_cast<std::size_t>(
          std::count_if(words.begin(), words.end(), [](Index word) { return word > 0; }));
      alignments_.push_back(
          {static_cast<Index>(words.size()), static_cast<Index>(metric.costs.order),
           metric.insertion, metric.deletion, metric.one, std::span(word_).subspan(begin, known),
           std::span(position_).subspan(begin, known), std::span(weight_).subspan(begin, known)});
      begin += known;
    }
    for (const auto& alignment : alignments_) {
      const double possible = fstmetrics::possible_ngrams(
          static_cast<std::size_t>(alignment.length), metric.costs.order);
      if (possible > 0) {
        parts_.push_back({&alignment, possible * metric.one, 0.0});
      } else {
        parts_.push_back({&alignment, metric.one, metric.one});
      }
    }
  }

  void add_features(const WordProblem& problem, WordOracle& found) {
    if (problem.features == nullptr) return;
    sums_.widen(problem.num_features);
    std::visit([&](const auto* space) { sums_.add_path(*problem.features, *space, found.arcs); },
               problem.space);
    found.features.reserve(problem.num_features);
    sums_.take([&](Index column, double sum) { found.features.emplace_back(column, sum); });
  }

  static std::vector<Index> best_words(const lattices::Lattice& lattice, lattices::Poll& poll) {
    std::vector<Index> words;
    append_words(lattice, lattices::best_edges(lattice, poll), words);
    return words;
  }
  static std::vector<Index> best_words(const lattices::Forest& forest, lattices::Poll& poll) {
    std::vector<Index> words;
    lattices::DerivationReader(forest).read(lattices::best_edges(forest, poll), words);
    return words;
  }

  // Machines search, scorers report.
  WordScore score(const WordProblem& problem, std::span<const Index> words, lattices::Poll& poll) {
    const WordMetric& metric = *problem.metric;
    if (aligner_.costs() != metric.costs) aligner_ = fstmetrics::Aligner(metric.costs);
    stats_.resize(aligner_.width());
    WordScore best;
    for (std::size_t number = 0; number < problem.num_references(); ++number) {
      fstmetrics::number_statistics<Index>(aligner_, words, problem.words(number), poll, stats_);
      const double here = metric.score(stats_);
      const double better = metric.error_rate ? best.score - here : here - best.score;
      if (best.reference >= 0 && better <= fstmetrics::rounding) continue;
      best = {here, static_cast<Index>(number), stats_};
    }
    return best;
  }

  lattices::Intersection intersection_;
  lattices::BestPath best_;
  fstmetrics::Aligner aligner_{fstmetrics::AlignmentCosts{1, 0.0, 0.0}};
  lattices::FeatureSums sums_{0};
  std::vector<Index> word_, position_;
  std::vector<double> weight_, stats_;
  std::vector<lattices::Alignment> alignments_;
  std::vector<lattices::Part> parts_;
};

}  // namespace decoding
