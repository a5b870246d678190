// BLEU made linear: an upper bound of what the beginning of a sentence of a lattice can become.
//
// With the matches' slopes s, log BLEU of a sentence of length T is at most s . m + b(T), where
//
//   b(T) = log BP(T) + sum over n of max over m <= T - n + 1 of (w_n log p_n(m, T) - s_n m),
//
// tight where s are the slopes at the sentence's own matches. Where the model score or an
// arithmetic mean counts, the precisions themselves stand for their logarithms, those of a
// geometric mean scaled to be equal where the slopes are taken: for any scales c > 0,
//
//   prod p_n^w_n <= (sum over n of w_n c_n p_n) / prod c_n^w_n,
//
// where the weights w, and so the last product, depend on the length under `effective_order`.
// So one backward pass over the cells (state, context, length) gives the most that a label there
// can gain.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "fstmetrics/native/bleu.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Lattice;
using lattices::Poll;

struct BleuMetric {
  fstmetrics::BleuOptions bleu;
  fstmetrics::EffectiveLength length;
  bool strict;  // a strict brevity penalty

  Index order() const { return static_cast<Index>(bleu.weight.size()); }
  // Whether each match more makes the score higher, unless it is 0.
  bool strictly_grows() const {
    for (const double weight : bleu.weight) {
      if (weight == 0.0) return false;
    }
    return bleu.smoothing != fstmetrics::Smoothing::Floor || bleu.value < 1.0;
  }
  // Whether the score is 0 where matches of one order are lacking, whatever there is of others.
  bool has_zeros() const {
    const auto smoothing = bleu.smoothing;
    return smoothing == fstmetrics::Smoothing::None ||
           (smoothing != fstmetrics::Smoothing::Exp && bleu.value == 0.0);
  }
};

class LinearBound {
 public:
  // The cells of a lattice; false if there are more than some.
  bool enumerate(const Lattice& lattice, std::span<const Index> classes,
                 const ReferenceNgrams& grams, std::size_t most, Poll& poll) {
    begin_.assign(1, 0);
    context_.clear();
    length_.clear();
    edge_.clear();
    target_.clear();
    gram_.clear();
    tsl::robin_map<std::uint64_t, Index, lattices::MixedHash> here;
    for (Index state = 0; state < lattice.num_nodes(); ++state) {
      here.clear();
      const auto cell = [&](Index context, Index length) {
        const auto number = static_cast<Index>(context_.size());
        const auto [found, is_new] = here.try_emplace(lattices::pair_key(context, length), number);
        if (is_new) {
          context_.push_back(context);
          length_.push_back(length);
          edge_.push_back(static_cast<Index>(target_.size()));
          target_.resize(target_.size() + lattice.outgoing(state).size(), -1);
          gram_.resize(target_.size());
        }
        return found->second;
      };
      if (lattice.begins(state)) start_ = cell(ReferenceNgrams::kEmpty, 0);
      for (const Index arc : lattice.incoming(state)) {
        const Index from = lattice.src[arc];
        poll(begin_[from + 1] - begin_[from]);
        for (Index at = begin_[from]; at < begin_[from + 1]; ++at) {
          const auto edge = edge_[at] + arc - lattice.out_offset[from];
          const bool word = classes[arc] >= 0;
          const Index gram = word ? grams.step(context_[at], classes[arc]) : -1;
          const Index to = cell(word ? grams[gram].context : context_[at], length_[at] + word);
          gram_[edge] = gram;
          target_[edge] = to;
        }
      }
      begin_.push_back(static_cast<Index>(context_.size()));
      if (target_.size() > most) return false;
    }
    return true;
  }

  // Take the slopes at some matches of a sentence, and pass backward.
  template <std::size_t W>
  void linearise(const Lattice& lattice, const Clipping<W>& clipping, const BleuMetric& metric,
                 const fstmetrics::ReferenceLengths& lengths, double model_weight, Index length,
                 std::span<const double> matches, Poll& poll) {
    metric_ = &metric;
    lengths_ = &lengths;
    logarithmic_ = model_weight == 0.0 && !metric.bleu.arithmetic;
    set_slopes(length, matches);
    std::vector<double> gain(clipping.size(), 0.0);
    for (std::size_t gram = 1; gram < gain.size(); ++gram) {
      gain[gram] = value(clipping.gain(static_cast<Index>(gram)));
    }
    std::vector<double> constant;
    for (const Index each : length_) {
      while (static_cast<Index>(constant.size()) <= each) {
        constant.push_back(at_length(static_cast<Index>(constant.size())));
      }
    }
    rest_.assign(context_.size(), kNothing);
    best_.assign(context_.size(), -1);
    for (Index state = lattice.num_nodes() - 1; state >= 0; --state) {
      poll(begin_[state + 1] - begin_[state]);
      for (Index cell = begin_[state]; cell < begin_[state + 1]; ++cell) {
        if (!std::isinf(lattice.final[state])) {
          rest_[cell] = constant[length_[cell]] + model_weight * lattice.final[state];
        }
        Index edge = edge_[cell];
        for (const Index arc : lattice.outgoing(state)) {
          double worth = rest_[target_[edge]] + model_weight * lattice.score[arc];
          if (gram_[edge] > 0) worth += gain[gram_[edge]];
          ++edge;
          if (worth > rest_[cell]) {
            rest_[cell] = worth;
            best_[cell] = arc;
          }
        }
      }
    }
  }

  // What no sentence surpasses.
  double value() const { return logarithmic_ ? std::exp(rest_[start_]) : rest_[start_]; }
  // The path that the bound is for.
  std::vector<Index> path(const Lattice& lattice) const {
    std::vector<Index> arcs;
    for (Index cell = start_; best_[cell] >= 0;) {
      const Index arc = best_[cell];
      arcs.push_back(arc);
      cell = target(cell, arc - lattice.out_offset[lattice.src[arc]]);
    }
    return arcs;
  }
  Index start() const { return start_; }
  Index target(Index cell, Index outgoing) const { return target_[edge_[cell] + outgoing]; }
  template <std::size_t W>
  double value(const Counts<W>& count) const {
    double sum = 0.0;
    for (std::size_t n = 1; n <= slope_.size(); ++n) sum += slope_[n - 1] * count[n];
    return sum;
  }
  double rest(Index cell) const { return rest_[cell]; }
  // A score as labels are compared with it.
  double scale(double worth) const {
    return logarithmic_ ? (worth > 0.0 ? std::log(worth) : kNothing) : worth;
  }
  std::size_t bytes() const {
    return 3 * (context_.capacity() * 28 + target_.capacity() * 2 * sizeof(Index));
  }

 private:
  static constexpr double kNothing = -std::numeric_limits<double>::infinity();

  double added(std::size_t n) const {
    return metric_->bleu.smoothing == fstmetrics::Smoothing::AddK && n > 0 ? metric_->bleu.value
                                                                           : 0.0;
  }
  // The precision of one order; what stands for no match, at the most.
  double precision(std::size_t n, double matches, double total) const {
    total += added(n);
    matches += added(n);
    if (total <= 0.0) return 0.0;
    if (matches <= 0.0) {
      if (metric_->bleu.smoothing == fstmetrics::Smoothing::Floor) matches = metric_->bleu.value;
      if (metric_->bleu.smoothing == fstmetrics::Smoothing::Exp) matches = 0.5;
    }
    return matches / total;
  }
  // Totals, the penalty, and weights that sum to 1, of a length.
  struct AtLength {
    std::vector<double> total, weight;
    double penalty;
  };
  AtLength parts(Index length) const {
    const std::size_t order = metric_->bleu.weight.size();
    std::vector<double> row(2 * order + 2);
    lengths_->write(length, metric_->strict, row);
    AtLength result;
    result.total.assign(row.begin() + order, row.begin() + 2 * order);
    result.weight.assign(metric_->bleu.weight.begin(), metric_->bleu.weight.end());
    if (metric_->bleu.effective_order) {
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
  void set_slopes(Index length, std::span<const double> matches) {
    const auto at = parts(length);
    const std::size_t order = at.total.size();
    slope_.assign(order, 0.0);
    scale_.assign(order, 1.0);
    double mean = 0.0;
    for (std::size_t n = 0; n < order; ++n) {
      const double total = std::max(at.total[n], 1.0);
      const double own = std::clamp(matches[n], 0.5, total);
      if (logarithmic_) {
        slope_[n] = at.weight[n] / (own + added(n));
      } else if (!metric_->bleu.arithmetic) {
        scale_[n] = (total + added(n)) / (own + added(n));
        mean += at.weight[n] * std::log(scale_[n]);
      }
    }
    if (logarithmic_) return;
    for (std::size_t n = 0; n < order; ++n) {
      scale_[n] /= std::exp(mean);
      slope_[n] = at.penalty * at.weight[n] * scale_[n] / (std::max(at.total[n], 1.0) + added(n));
    }
  }
  double at_length(Index length) const {
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

  const BleuMetric* metric_ = nullptr;
  const fstmetrics::ReferenceLengths* lengths_ = nullptr;
  bool logarithmic_ = true;
  std::vector<double> slope_, scale_, rest_;
  std::vector<Index> begin_, context_, length_, edge_, target_, gram_, best_;
  Index start_ = 0;
};

}  // namespace decoding
