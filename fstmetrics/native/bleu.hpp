// From n-gram statistics to BLEU.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace fstmetrics {

// sacreBLEU's smoothings; the order is that of SMOOTHINGS in fstmetrics.bleu_options.
enum class Smoothing { None, Floor, AddK, Exp };

struct BleuOptions {
  std::span<const double> weight;  // one for each order
  Smoothing smoothing;
  double value;  // of floor and add-k
  bool effective_order, arithmetic;
};

// The BLEU of one row of statistics, in [0, 1]: matches and totals of orders 1..N, the length c and
// the effective reference length r.
//
//   min(1, exp(1 - r / c)) * exp(sum over n of w_n log p_n)
//
// As in sacreBLEU, a row without any match has score 0 whatever the smoothing, and
// `effective_order` leaves out the orders for which there are no n-grams; the weights of the others
// are then scaled to sum to 1.
inline double bleu_score(std::span<const double> row, const BleuOptions& options) {
  const auto order = options.weight.size();
  bool matched = false;
  for (std::size_t k = 0; k < order; ++k) matched |= row[k] > 0;
  if (!matched) return 0.0;
  double mean = 0.0, weights = 0.0, halvings = 1.0;
  for (std::size_t k = 0; k < order; ++k) {
    double matches = row[k], total = row[order + k];
    if (options.smoothing == Smoothing::AddK && k > 0) {
      matches += options.value;
      total += options.value;
    }
    double precision = 0.0;
    if (total > 0) {
      if (matches > 0) {
        precision = matches / total;
      } else if (options.smoothing == Smoothing::Floor) {
        precision = options.value / total;
      } else if (options.smoothing == Smoothing::Exp) {
        halvings *= 2.0;
        precision = 1.0 / (halvings * total);
      }
    } else if (options.effective_order) {
      break;
    }
    if (options.weight[k] > 0) {
      weights += options.weight[k];
      mean += options.weight[k] * (options.arithmetic ? precision : std::log(precision));
    }
  }
  if (weights == 0) return 0.0;
  mean = options.arithmetic ? mean / weights : std::exp(mean / weights);
  const double length = row[2 * order], reference = row[2 * order + 1];
  if (length < reference) mean *= length > 0 ? std::exp(1.0 - reference / length) : 0.0;
  return mean;
}

inline std::vector<double> bleu_scores(std::span<const double> rows, const BleuOptions& options) {
  const auto width = 2 * options.weight.size() + 2;
  std::vector<double> scores(rows.size() / width);
  for (std::size_t row = 0; row < scores.size(); ++row) {
    scores[row] = bleu_score(rows.subspan(row * width, width), options);
  }
  return scores;
}

}  // namespace fstmetrics
