// Alignment metrics by equal words, as searches and rescoring of whole batches take them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "fstmetrics/native/aligning.hpp"

namespace fstmetrics {

// Scores that differ by no more are equal: the first of two references counts. As metric.ROUNDING.
inline constexpr double rounding = 1e-12;

// A metric of the alignment family without similarities: equal words match. The scorer counts in
// matches; machines count in whole units, `one` to a match.
struct WordMetric {
  fstmetrics::AlignmentCosts costs{1, 0.0, 0.0};
  double insertion = 0.0, deletion = 0.0, one = 1.0;
  bool error_rate = false;

  // As AlignmentMetric.score: without any reference word, an empty sentence is right.
  double score(std::span<const double> stats) const {
    const std::size_t order = costs.order;
    const double substitutions = stats[order], insertions = stats[order + 1];
    const double deletions = stats[order + 2], possible = stats[order + 3];
    if (error_rate && order == 1) {
      const double errors =
          substitutions + costs.insertion * insertions + (1.0 + costs.deletion) * deletions;
      return errors / std::max(possible, 1.0);
    }
    double gain = 0.0;
    for (std::size_t k = 0; k < order; ++k) gain += stats[k];
    gain -= costs.insertion * insertions + costs.deletion * deletions;
    if (error_rate) return (possible - gain) / std::max(possible, 1.0);
    return possible != 0.0 ? gain / possible : 1.0 + gain;
  }
};

}  // namespace fstmetrics
