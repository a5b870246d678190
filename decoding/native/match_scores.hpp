// Scores that grow with the clipped n-gram matches of a sentence, for each length of it: BLEU,
// chrF.
//
// For a search by labels a score is bounded by what is linear in the matches m: with slopes s,
//
//   score(T, m) <= s . m + b(T)    for all sentences of length T and all lengths.
//
// For log BLEU,
//
//   b(T) = log BP(T) + sum over n of max over m <= T - n + 1 of (w_n log p_n(m, T) - s_n m),
//
// tight where s are the slopes at the sentence's own matches. Where more is added to the score, or
// its mean is arithmetic, the precisions themselves stand for their logarithms, those of a
// geometric mean scaled to be equal where the slopes are taken: for any scales c > 0,
//
//   prod p_n^w_n <= (sum over n of w_n c_n p_n) / prod c_n^w_n,
//
// where the weights w, and so the last product, depend on the length under `effective_order`.
//
// chrF (Popović 2015) is F(P, R) = (1 + beta^2) P R / (beta^2 P + R) of the mean precision
// P = mean m_n / H_n(T) and the mean recall R = mean m_n / R_n, concave and homogeneous: it is at
// most dF/dP P + dF/dR R, with the derivatives of any point, and so at most t(T) . m. With
// s = t(T0), b(T) = sum over n of max(0, t_n(T) - s_n) min(H_n(T), R_n).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "fstmetrics/native/bleu.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Index;

class MatchScore {
 public:
  explicit MatchScore(std::size_t order) : slope_(order, 0.0) {}
  virtual ~MatchScore() = default;
  MatchScore(const MatchScore&) = delete;
  MatchScore& operator=(const MatchScore&) = delete;

  Index order() const { return static_cast<Index>(slope_.size()); }
  // Whether each match more makes the score higher, unless it is 0.
  virtual bool strictly_grows() const = 0;
  // Whether the score is 0 where matches of one order are lacking, whatever there is of others.
  virtual bool has_zeros() const = 0;

  virtual void set_references(const fstmetrics::Sentences& references) = 0;
  // The length of sentences like the references.
  virtual Index likely_length() const = 0;
  // The most matches of each order.
  virtual std::vector<double> most_matches(Index length) const = 0;
  // Statistics of a sentence, and the score of statistics.
  virtual std::size_t width() const = 0;
  virtual void write(Index length, std::span<const double> matches,
                     std::span<double> row) const = 0;
  virtual double score(std::span<const double> row) const = 0;

  // Take the slopes at some matches of a sentence; with `sums`, more is added to the score.
  virtual void linearise(Index length, std::span<const double> matches, bool sums) = 0;
  std::span<const double> slopes() const { return slope_; }
  // b(T), and whether it and the slopes are of the logarithm.
  virtual double constant(Index length) const = 0;
  virtual bool is_logarithmic() const { return false; }

 protected:
  std::vector<double> slope_;
};

class BleuScore : public MatchScore {
 public:
  // with a strict brevity penalty, or not
  BleuScore(const fstmetrics::BleuOptions& bleu, fstmetrics::EffectiveLength length, bool strict)
      : MatchScore(bleu.weight.size()), bleu_(bleu), length_(length), strict_(strict) {}

  bool strictly_grows() const override {
    for (const double weight : bleu_.weight) {
      if (weight == 0.0) return false;
    }
    return bleu_.smoothing != fstmetrics::Smoothing::Floor || bleu_.value < 1.0;
  }
  bool has_zeros() const override {
    const auto smoothing = bleu_.smoothing;
    return smoothing == fstmetrics::Smoothing::None ||
           (smoothing != fstmetrics::Smoothing::Exp && bleu_.value == 0.0);
  }
  void set_references(const fstmetrics::Sentences& references) override {
    lengths_.emplace(references, length_);
  }
  Index likely_length() const override {
    std::vector<double> row(width());
    lengths_->write(1, false, row);
    return static_cast<Index>(std::max(1.0, row.back()));
  }
  std::vector<double> most_matches(Index length) const override {
    std::vector<double> row(width());
    lengths_->write(length, strict_, row);
    return {row.begin() + order(), row.begin() + 2 * order()};
  }
  std::size_t width() const override { return 2 * slope_.size() + 2; }
  void write(Index length, std::span<const double> matches, std::span<double> row) const override {
    std::ranges::copy(matches, row.begin());
    lengths_->write(length, strict_, row);
  }
  double score(std::span<const double> row) const override {
    return fstmetrics::bleu_score(row, bleu_);
  }

  void linearise(Index length, std::span<const double> matches, bool sums) override {
    logarithmic_ = !sums && !bleu_.arithmetic;
    const auto at = parts(length);
    slope_.assign(slope_.size(), 0.0);
    scale_.assign(slope_.size(), 1.0);
    double mean = 0.0;
    for (std::size_t n = 0; n < slope_.size(); ++n) {
      const double total = std::max(at.total[n], 1.0);
      const double own = std::clamp(matches[n], 0.5, total);
      if (logarithmic_) {
        slope_[n] = at.weight[n] / (own + added(n));
      } else if (!bleu_.arithmetic) {
        scale_[n] = (total + added(n)) / (own + added(n));
        mean += at.weight[n] * std::log(scale_[n]);
      }
    }
    if (logarithmic_) return;
    for (std::size_t n = 0; n < slope_.size(); ++n) {
      scale_[n] /= std::exp(mean);
      slope_[n] = at.penalty * at.weight[n] * scale_[n] / (std::max(at.total[n], 1.0) + added(n));
    }
  }
  double constant(Index length) const override {
    const auto at = parts(length);
    double sum = logarithmic_ ? std::log(at.penalty) : 0.0;
    if (at.penalty == 0.0) return logarithmic_ ? kNothing : 0.0;
    double scales = 0.0;
    for (std::size_t n = 0; n < at.total.size(); ++n) scales += at.weight[n] * std::log(scale_[n]);
    const double factor = at.penalty / std::exp(scales);
    for (std::size_t n = 0; n < at.total.size(); ++n) {
      if (at.weight[n] == 0.0) continue;
      const double total = at.total[n], one = std::min(1.0, total);
      double wanted = total;
      if (logarithmic_ && slope_[n] > 0.0) {
        wanted = std::clamp(at.weight[n] / slope_[n] - added(n), one, std::max(one, total));
      }
      double most = kNothing;
      for (const double matches : {0.0, one, wanted, total}) {
        const double p = precision(n, matches, total);
        const double worth =
            logarithmic_ ? at.weight[n] * std::log(p) : factor * at.weight[n] * scale_[n] * p;
        most = std::max(most, worth - slope_[n] * matches);
      }
      sum += most;
    }
    return sum;
  }
  bool is_logarithmic() const override { return logarithmic_; }

 private:
  static constexpr double kNothing = -std::numeric_limits<double>::infinity();

  double added(std::size_t n) const {
    return bleu_.smoothing == fstmetrics::Smoothing::AddK && n > 0 ? bleu_.value : 0.0;
  }
  // The precision of one order; what stands for no match, at the most.
  double precision(std::size_t n, double matches, double total) const {
    total += added(n);
    matches += added(n);
    if (total <= 0.0) return 0.0;
    if (matches <= 0.0) {
      if (bleu_.smoothing == fstmetrics::Smoothing::Floor) matches = bleu_.value;
      if (bleu_.smoothing == fstmetrics::Smoothing::Exp) matches = 0.5;
    }
    return matches / total;
  }
  // Totals, the penalty, and weights that sum to 1, of a length.
  struct AtLength {
    std::vector<double> total, weight;
    double penalty;
  };
  AtLength parts(Index length) const {
    const std::size_t order = slope_.size();
    std::vector<double> row(width());
    lengths_->write(length, strict_, row);
    AtLength result;
    result.total.assign(row.begin() + order, row.begin() + 2 * order);
    result.weight.assign(bleu_.weight.begin(), bleu_.weight.end());
    if (bleu_.effective_order) {
      double sum = 0.0;
      for (std::size_t n = 0; n < order; ++n) {
        if (result.total[n] + added(n) <= 0.0) result.weight[n] = 0.0;
        sum += result.weight[n];
      }
      for (auto& weight : result.weight) weight = sum > 0.0 ? weight / sum : 0.0;
    }
    const double own = row[2 * order], reference = row[2 * order + 1];
    result.penalty = own >= reference ? 1.0 : own > 0.0 ? std::exp(1.0 - reference / own) : 0.0;
    return result;
  }

  fstmetrics::BleuOptions bleu_;
  fstmetrics::EffectiveLength length_;
  bool strict_, logarithmic_ = true;
  std::optional<fstmetrics::ReferenceLengths> lengths_;
  std::vector<double> scale_;
};

// chrF against one reference, as sacreBLEU computes it: orders that the sentence or the reference
// is too short for are left out of both means. With `each_order`, as chrF++.py does it, the mean of
// the F-scores of all orders, 1e-16 for what is undefined.
class ChrfScore : public MatchScore {
 public:
  ChrfScore(std::size_t order, double beta, bool each_order)
      : MatchScore(order), factor_(beta * beta), each_order_(each_order) {}

  bool strictly_grows() const override { return true; }
  bool has_zeros() const override { return false; }
  void set_references(const fstmetrics::Sentences& references) override {
    reference_ = static_cast<Index>(references.longest());
  }
  Index likely_length() const override { return std::max(reference_, 1); }
  std::vector<double> most_matches(Index length) const override {
    std::vector<double> most;
    for (Index n = 0; n < order(); ++n) {
      most.push_back(std::min(total(length, n), total(reference_, n)));
    }
    return most;
  }
  std::size_t width() const override { return 3 * slope_.size(); }
  void write(Index length, std::span<const double> matches, std::span<double> row) const override {
    for (Index n = 0; n < order(); ++n) {
      row[3 * n + 1] = total(reference_, n);
      row[3 * n] = row[3 * n + 1] > 0.0 ? total(length, n) : 0.0;
      row[3 * n + 2] = matches[n];
    }
  }
  double score(std::span<const double> row) const override {
    double precision = 0.0, recall = 0.0, sum = 0.0;
    Index orders = 0;
    for (Index n = 0; n < order(); ++n) {
      const double own = row[3 * n], other = row[3 * n + 1], both = row[3 * n + 2];
      const double p = own > 0.0 ? both / own : kTiny, r = other > 0.0 ? both / other : kTiny;
      const double below = factor_ * p + r;
      sum += below > 0.0 ? (1.0 + factor_) * p * r / below : kTiny;
      if (own > 0.0 && other > 0.0) {
        precision += p;
        recall += r;
        ++orders;
      }
    }
    if (each_order_) return sum / order();
    if (orders == 0 || precision + recall == 0.0) return 0.0;
    precision /= orders;
    recall /= orders;
    return (1.0 + factor_) * precision * recall / (factor_ * precision + recall);
  }

  void linearise(Index length, std::span<const double> matches, bool) override {
    taken_.assign(matches.begin(), matches.end());
    slope_ = tangent(length);
  }
  double constant(Index length) const override {
    const auto slope = tangent(length), most = most_matches(length);
    double sum = each_order_ ? 2.0 * kTiny : 0.0;
    for (std::size_t n = 0; n < slope.size(); ++n) {
      sum += std::max(0.0, slope[n] - slope_[n]) * most[n];
    }
    return sum;
  }

 private:
  static constexpr double kTiny = 1e-16;  // sacreBLEU's

  static double total(Index length, Index n) { return std::max(0, length - n); }

  // t(T)
  std::vector<double> tangent(Index length) const {
    const auto most = most_matches(length);
    std::vector<double> slope(most.size(), 0.0);
    double precision = 0.0, recall = 0.0, orders = 0.0;
    for (Index n = 0; n < order(); ++n) {
      if (most[n] == 0.0) continue;
      const double matches = std::clamp(taken_[n], 0.5, most[n]);
      precision += matches / total(length, n);
      recall += matches / total(reference_, n);
      ++orders;
    }
    const double below = factor_ * precision + recall;
    for (Index n = 0; n < order(); ++n) {
      if (most[n] == 0.0) continue;
      const double own = total(length, n), other = total(reference_, n);
      if (each_order_) {
        slope[n] = (1.0 + factor_) / (factor_ * other + own) / order();
      } else {
        const double p = recall / below, r = precision / below;
        slope[n] = (1.0 + factor_) * (p * p / own + factor_ * r * r / other) / orders;
      }
    }
    return slope;
  }

  double factor_;
  bool each_order_;
  Index reference_ = 0;
  std::vector<double> taken_;
};

}  // namespace decoding
