// The best path of a lattice where every n-gram of the references gains something, however often.
//
// One backward pass over the cells (state, context), where a context is what can become a part of
// the next match (clipping.hpp), gives what the rest of a path can gain at most.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Lattice;
using lattices::Poll;

class LinearBound {
 public:
  // The cells of a lattice; false if they and the edges between them take more bytes than they may.
  bool enumerate(const Lattice& lattice, std::span<const Index> classes,
                 const ReferenceNgrams& grams, std::size_t memory, Poll& poll) {
    begin_.assign(1, 0);
    context_.clear();
    edge_.clear();
    target_.clear();
    gram_.clear();
    tsl::robin_map<Index, Index> here;
    for (Index state = 0; state < lattice.num_nodes(); ++state) {
      here.clear();
      const auto cell = [&](Index context) {
        const auto number = static_cast<Index>(context_.size());
        const auto [found, is_new] = here.try_emplace(context, number);
        if (is_new) {
          context_.push_back(context);
          edge_.push_back(static_cast<Index>(target_.size()));
          target_.resize(target_.size() + lattice.outgoing(state).size(), -1);
          gram_.resize(target_.size());
        }
        return found->second;
      };
      if (lattice.begins(state)) start_ = cell(ReferenceNgrams::kEmpty);
      for (const Index arc : lattice.incoming(state)) {
        const Index from = lattice.src[arc];
        poll(begin_[from + 1] - begin_[from]);
        for (Index at = begin_[from]; at < begin_[from + 1]; ++at) {
          const auto edge = edge_[at] + arc - lattice.out_offset[from];
          const bool word = classes[arc] >= 0;
          gram_[edge] = word ? grams.step(context_[at], classes[arc]) : -1;
          target_[edge] = cell(word ? grams[gram_[edge]].context : context_[at]);
        }
      }
      begin_.push_back(static_cast<Index>(context_.size()));
      // columns grow to twice their size, and two more are made by the pass
      if (2 * bytes() + context_.size() * 12 > memory) return false;
    }
    return true;
  }

  // Pass backward with the gains of words: by the longest n-gram that ends with one, at 0 that of a
  // word without any.
  void pass(const Lattice& lattice, std::span<const double> gain, double model_weight, Poll& poll) {
    rest_.assign(context_.size(), -std::numeric_limits<double>::infinity());
    best_.assign(context_.size(), -1);
    for (Index state = lattice.num_nodes() - 1; state >= 0; --state) {
      poll(begin_[state + 1] - begin_[state]);
      for (Index cell = begin_[state]; cell < begin_[state + 1]; ++cell) {
        if (!std::isinf(lattice.final[state])) rest_[cell] = model_weight * lattice.final[state];
        Index edge = edge_[cell];
        for (const Index arc : lattice.outgoing(state)) {
          double worth = rest_[target_[edge]] + model_weight * lattice.score[arc];
          if (gram_[edge] >= 0) worth += gain[gram_[edge]];
          ++edge;
          if (worth > rest_[cell]) {
            rest_[cell] = worth;
            best_[cell] = arc;
          }
        }
      }
    }
  }

  // What no path surpasses, and the path that does not.
  double value() const { return rest_[start_]; }
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
  double rest(Index cell) const { return rest_[cell]; }
  std::size_t bytes() const {
    return context_.size() * 8 + target_.size() * 8 + (rest_.size() + best_.size()) * 6;
  }

 private:
  std::vector<Index> begin_, context_, edge_, target_, gram_, best_;
  std::vector<double> rest_;
  Index start_ = 0;
};

}  // namespace decoding
