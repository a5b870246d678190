// Totals: what scores add up to over the paths and derivations of a space, checked.
//
// Every score of a space is finite, but their sums may leave the range of doubles: then there is no
// answer, and the caller gets an error instead of an infinity that means something else here (minus
// infinity: impossible). Where the value of every node that can be derived is finite, all of them
// are right: a term that fell to minus infinity beside a finite one does not count, and one that
// rose to infinity is seen.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/inside.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/top_down.hpp"

namespace lattices {

inline std::string spelled(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

// The scores of steps, multiplied: a view where nothing changes.
class Scaled {
 public:
  template <class Semiring>
  static Scaled weights(std::span<const double> scores, double scale) {
    if (!std::isfinite(scale)) {
      throw option_error("the scale is " + spelled(scale) + ", expected a finite number");
    }
    Scaled result;
    result.view_ = scores;
    constexpr bool counted = std::is_same_v<Semiring, Count>;
    if (!counted && scale == 1.0) return result;
    result.own_.reserve(scores.size());
    for (const double score : scores) {
      // what cannot happen stays so, whatever the scale
      const bool possible = score != kMinusInfinity;
      const double weight = counted ? Semiring::one : scale * score;
      result.own_.push_back(possible ? weight : Semiring::zero);
    }
    result.view_ = result.own_;
    return result;
  }

  Scaled(Scaled&&) = default;
  operator std::span<const double>() const { return view_; }
  double operator[](Index at) const { return view_[at]; }

 private:
  Scaled() = default;
  std::span<const double> view_;
  std::vector<double> own_;
};

// Whether a sum has any term at all.
struct Boolean {
  static constexpr double zero = 0.0;
  static constexpr double one = 1.0;
  static double times(double left, double right) { return std::min(left, right); }
  class Sum {
   public:
    explicit Sum(double first = zero) : any_(first) {}
    void add(double term) { any_ = std::max(any_, term); }
    double value() const { return any_; }

   private:
    double any_;
  };
};

inline std::span<const double> end_scores(const Lattice& lattice) { return lattice.final; }
inline std::span<const double> end_scores(const Forest&) { return {}; }
inline const char* node_word(const Lattice&) { return "state"; }
inline const char* node_word(const Forest&) { return "node"; }

template <class Space>
Error overflow(const Space& space, const std::string& sum, double scale = 1.0) {
  double largest = 0.0;
  for (const double score : space.score) largest = std::max(largest, std::fabs(score));
  for (const double score : end_scores(space)) {
    if (score != kMinusInfinity) largest = std::max(largest, std::fabs(score));
  }
  std::string problem = "the scores of " + std::string(space.name) + " overflow: " + sum +
                        ", with scores of up to " + spelled(largest) + " in size";
  if (scale != 1.0) problem += " and a scale of " + spelled(scale);
  return space_error(problem + "; make them smaller");
}

inline Error no_complete_path(const Lattice& lattice) {
  const auto ending =
      std::ranges::count_if(lattice.final, [](double each) { return each != kMinusInfinity; });
  return space_error(std::string(lattice.name) + " has no complete path: none of its " +
                     std::to_string(ending) + " final states can be reached from start state " +
                     std::to_string(lattice.start));
}
inline Error no_complete_path(const Forest& forest) {
  return space_error(std::string(forest.name) + " has no derivation left");
}

// Raise if the total of a node that `possible()` marks is not finite.
template <class Semiring, class Space, class Possible>
void check_totals(const Space& space, std::span<const double> totals, double scale,
                  Possible&& possible) {
  if (std::is_same_v<Semiring, Count>) return;
  bool all = true;
  for (const double total : totals) all &= std::fabs(total) <= std::numeric_limits<double>::max();
  if (all) return;
  const auto marked = possible();
  for (const Index node : top_down(space).upwards()) {
    if (marked[node] == 0 || std::isfinite(totals[node])) continue;
    // the log-sum of infinities is not a number
    const double total = std::isnan(totals[node]) ? -kMinusInfinity : totals[node];
    throw overflow(
        space,
        "they add up to " + spelled(total) + " at " + node_word(space) + " " + std::to_string(node),
        scale);
  }
}

template <class Semiring>
std::vector<double> ends_of(const Lattice& lattice, double scale) {
  const auto scaled = Scaled::weights<Semiring>(lattice.final, scale);
  const std::span<const double> view = scaled;
  return {view.begin(), view.end()};
}
template <class Semiring>
std::vector<double> ends_of(const Forest& forest, double) {
  std::vector<double> ends(forest.num_nodes(), Semiring::zero);
  ends[forest.root] = Semiring::one;
  return ends;
}

// inside_scores of the scores of a space.
template <class Semiring, Graph Space>
std::vector<double> inside_totals(const Space& space, double scale) {
  const auto weight = Scaled::weights<Semiring>(space.score, scale);
  auto inside = inside_scores<Semiring>(space, weight);
  check_totals<Semiring>(space, inside, scale, [&] {
    return inside_scores<Boolean>(space, std::vector<double>(space.num_edges(), 1.0));
  });
  return inside;
}

// outside_scores of the scores of a space.
template <class Semiring, Graph Space>
std::vector<double> outside_totals(const Space& space, double scale) {
  constexpr bool needs_inside = !std::is_same_v<Space, Lattice>;
  const auto weight = Scaled::weights<Semiring>(space.score, scale);
  std::vector<double> inside;
  if constexpr (needs_inside) inside = inside_totals<Semiring>(space, scale);
  auto outside = outside_scores<Semiring>(space, weight, ends_of<Semiring>(space, scale), inside);
  check_totals<Semiring>(space, outside, scale, [&] {
    const std::vector<double> ones(space.num_edges(), 1.0);
    if constexpr (needs_inside) inside = inside_scores<Boolean>(space, ones);
    auto ends = ends_of<Count>(space, 1.0);
    return outside_scores<Boolean>(space, ones, ends, inside);
  });
  return outside;
}

// The sum over all that each node derives, from the top down: suffixes, derivations.
template <class Semiring>
struct Below {
  Scaled weight, end;
  std::vector<double> value;
  double scale;

  // the weight of an edge times what its parts derive
  template <TopDown G>
  double product(const G& graph, Index edge) const {
    double result = weight[edge];
    for (const Index part : graph.parts(edge)) result = Semiring::times(result, value[part]);
    return result;
  }
  template <TopDown G>
  double ending(const G& graph, Index node) const {
    return graph.ends(node) ? end[node] : Semiring::zero;
  }
};

// Raises if the root derives nothing, or if a total that matters to it overflows.
template <class Semiring, Graph Space>
Below<Semiring> below(const Space& space, double scale) {
  Below<Semiring> found{Scaled::weights<Semiring>(space.score, scale),
                        Scaled::weights<Semiring>(end_scores(space), scale),
                        {},
                        scale};
  if constexpr (std::is_same_v<Space, Lattice>) {
    found.value = outside_scores<Semiring>(space, found.weight, found.end, {});
  } else {
    found.value = inside_scores<Semiring>(space, found.weight);
  }
  const auto graph = top_down(space);
  check_totals<Semiring>(space, found.value, scale, [&] {
    auto useful = find_useful(graph).nodes;
    if (!useful[graph.root()]) throw no_complete_path(space);
    return useful;
  });
  if (found.value[graph.root()] == Semiring::zero) throw no_complete_path(space);
  return found;
}

// Raise if the scores of some complete path or derivation could overflow, summed in any order: for
// searches that add them up as they please.
template <Graph Space>
void check_sums(const Space& space) {
  auto size = [](std::span<const double> scores) {
    std::vector<double> result(scores.begin(), scores.end());
    for (double& each : result) each = each == kMinusInfinity ? each : std::fabs(each);
    return result;
  };
  std::vector<double> totals;
  if constexpr (std::is_same_v<Space, Lattice>) {
    totals = outside_scores<Viterbi>(space, size(space.score), size(space.final), {});
  } else {
    totals = inside_scores<Viterbi>(space, size(space.score));
  }
  const auto graph = top_down(space);
  if (totals[graph.root()] == -kMinusInfinity) {
    throw overflow(space, "what they add up to, signs aside, is infinite");
  }
}

}  // namespace lattices
