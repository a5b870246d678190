// Scores, features and frames of Kaldi's lattices, from the costs and transition-ids of arcs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "lattices/native/index.hpp"
#include "lattices/native/normal_form.hpp"
#include "lattices/native/paths.hpp"
#include "lattices/native/semirings.hpp"

namespace lattices {

// score = -(lm_scale * graph + acoustic_scale * acoustic), and both negated costs, row by row.
// Where costs are infinite the score is, too, and the features are 0.
struct KaldiScores {
  std::vector<double> score, value;
};

inline KaldiScores kaldi_scores(std::span<const double> graph, std::span<const double> acoustic,
                                double lm_scale, double acoustic_scale) {
  KaldiScores found;
  const auto rows = graph.size();
  found.score.resize(rows);
  found.value.resize(2 * rows);
  for (std::size_t row = 0; row < rows; ++row) {
    if (!(graph[row] < std::numeric_limits<double>::infinity())) {
      found.score[row] = kMinusInfinity;
      continue;
    }
    // a plain minus would turn the cost 0.0 into the score -0.0
    const double score = 0.0 - (lm_scale * graph[row] + acoustic_scale * acoustic[row]);
    // too large a sum must not pass for a state that is not final
    found.score[row] = score == kMinusInfinity ? std::numeric_limits<double>::quiet_NaN() : score;
    found.value[2 * row] = 0.0 - graph[row];
    found.value[2 * row + 1] = 0.0 - acoustic[row];
  }
  return found;
}

// The costs that two features say, negated as they are there; infinite where no path ends. Whether
// scores are their plain sums, to a share of the largest score.
struct FeatureCosts {
  std::vector<double> graph, acoustic, final_graph, final_acoustic;
  bool summed = true;
};

inline FeatureCosts feature_costs(const Lattice& lattice, const FeatureRows& arcs,
                                  const FeatureRows& ends, Index graph, Index acoustic,
                                  double tolerance) {
  FeatureCosts found;
  const auto column = [](const FeatureRows& rows, std::size_t count, Index wanted) {
    std::vector<double> cost(count, 0.0);
    for (Index row = 0; row < rows.num_rows(); ++row) {
      for (Index at = rows.bounds[row]; at < rows.bounds[row + 1]; ++at) {
        if (rows.columns[at] == wanted) cost[row] += rows.values[at];
      }
    }
    // a plain minus would turn 0.0 into -0.0
    for (double& each : cost) each = 0.0 - each;
    return cost;
  };
  found.graph = column(arcs, lattice.src.size(), graph);
  found.acoustic = column(arcs, lattice.src.size(), acoustic);
  found.final_graph = column(ends, lattice.final.size(), graph);
  found.final_acoustic = column(ends, lattice.final.size(), acoustic);
  double largest = 1.0, farthest = 0.0;
  const auto compare = [&](double score, double sum) {
    largest = std::max(largest, std::abs(score));
    farthest = std::max(farthest, std::abs(score + sum));
  };
  for (std::size_t arc = 0; arc < lattice.src.size(); ++arc) {
    compare(lattice.score[arc], found.graph[arc] + found.acoustic[arc]);
  }
  for (std::size_t state = 0; state < lattice.final.size(); ++state) {
    if (lattice.final[state] > kMinusInfinity) {
      compare(lattice.final[state], found.final_graph[state] + found.final_acoustic[state]);
    } else {
      found.final_graph[state] = found.final_acoustic[state] =
          std::numeric_limits<double>::infinity();
    }
  }
  found.summed = farthest <= tolerance * largest;
  return found;
}

// The same for a lattice that has scores alone: they are graph costs.
inline FeatureCosts score_costs(const Lattice& lattice) {
  FeatureCosts found;
  const auto negated = [](std::span<const double> scores) {
    std::vector<double> cost(scores.begin(), scores.end());
    for (double& each : cost) each = 0.0 - each;
    return cost;
  };
  found.graph = negated(lattice.score);
  found.acoustic.assign(lattice.score.size(), 0.0);
  found.final_graph = negated(lattice.final);
  found.final_acoustic.assign(lattice.final.size(), 0.0);
  for (std::size_t state = 0; state < lattice.final.size(); ++state) {
    if (lattice.final[state] == kMinusInfinity) found.final_acoustic[state] = -kMinusInfinity;
  }
  return found;
}

// The frame of every state: the number of frames on each path from the start to it. None if there
// are no frames at all, if a state has none, or if paths to it do not agree.
inline std::optional<std::vector<Index>> state_frames(std::span<const Index> src,
                                                      std::span<const Index> dst,
                                                      std::span<const Index> frames, Index start,
                                                      Index states) {
  if (std::all_of(frames.begin(), frames.end(), [](Index each) { return each == 0; })) return {};
  // arcs in an order in which those into a state come before those out of it
  std::vector<Index> order(src.size());
  std::iota(order.begin(), order.end(), 0);
  bool ordered = true;
  for (std::size_t arc = 0; arc < src.size(); ++arc) {
    ordered &= src[arc] < dst[arc] && (arc == 0 || src[arc - 1] <= src[arc]);
  }
  if (!ordered) {
    const auto numbered = topological_numbers(src, dst, states);
    if (numbered.second < states) return {};
    const auto& number = numbered.first;
    std::stable_sort(order.begin(), order.end(),
                     [&](Index one, Index other) { return number[src[one]] < number[src[other]]; });
  }
  std::vector<std::int64_t> frame(states, -1);
  frame[start] = 0;
  for (const Index arc : order) {
    if (frame[src[arc]] < 0) continue;
    const auto reached = frame[src[arc]] + frames[arc];
    auto& known = frame[dst[arc]];
    if ((known >= 0 && known != reached) || reached > std::numeric_limits<Index>::max()) return {};
    known = reached;
  }
  std::vector<Index> found;
  found.reserve(frame.size());
  for (const auto each : frame) {
    if (each < 0) return {};
    found.push_back(static_cast<Index>(each));
  }
  return found;
}

}  // namespace lattices
