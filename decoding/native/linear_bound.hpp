// A score made linear: an upper bound of what the beginning of a sentence of a lattice can become.
//
// With slopes s and constants b of each length (match_scores.hpp), one backward pass over the cells
// (state, context, length) gives the most that a label there can gain.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "decoding/native/match_scores.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Lattice;
using lattices::Poll;

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

  // Pass backward with the slopes that a score has taken; it counts times a weight, beside the
  // model score times one.
  template <std::size_t W>
  void pass(const Lattice& lattice, const Clipping<W>& clipping, const MatchScore& score,
            double score_weight, double model_weight, Poll& poll) {
    logarithmic_ = score.is_logarithmic();
    const double weight = logarithmic_ ? 1.0 : score_weight;
    factor_ = logarithmic_ ? score_weight : 1.0;
    slope_.assign(score.slopes().begin(), score.slopes().end());
    for (double& slope : slope_) slope *= weight;
    std::vector<double> gain(clipping.size(), 0.0);
    for (std::size_t gram = 1; gram < gain.size(); ++gram) {
      gain[gram] = value(clipping.gain(static_cast<Index>(gram)));
    }
    std::vector<double> constant;
    for (const Index each : length_) {
      while (static_cast<Index>(constant.size()) <= each) {
        constant.push_back(weight * score.constant(static_cast<Index>(constant.size())));
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
  double value() const { return logarithmic_ ? factor_ * std::exp(rest_[start_]) : rest_[start_]; }
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
    return logarithmic_ ? (worth > 0.0 ? std::log(worth / factor_) : kNothing) : worth;
  }
  std::size_t bytes() const {
    return 3 * (context_.capacity() * 28 + target_.capacity() * 2 * sizeof(Index));
  }

 private:
  static constexpr double kNothing = -std::numeric_limits<double>::infinity();

  // the weight of a score that is compared by its logarithm
  double factor_ = 1.0;
  bool logarithmic_ = true;
  std::vector<double> slope_, rest_;
  std::vector<Index> begin_, context_, length_, edge_, target_, gram_, best_;
  Index start_ = 0;
};

}  // namespace decoding
