// Expectations over all derivations of a graph, and their gradients, in one pass up and one down.
//
// A derivation d of score s(d), the sum over its edges, and value v(d) has the probability
//
//   p(d) = exp(scale * s(d) + tilt * v(d)) / Z
//
// Going up, every node has the logarithm of its sum over derivations, and the mean and variance of
// the value of a random derivation of its own. Tails are independent given the edge:
//
//   p(e | v)    = exp(w(e) + sum over tails of inside(t) - inside(v))
//   value(e)    = gain(e) + sum over tails of mean(t)
//   mean(v)     = sum over e of p(e | v) value(e)
//   variance(v) = sum over e of p(e | v) ((value(e) - mean(v))^2 + sum over tails of variance(t))
//
// the last by the law of total variance, without a difference of large numbers. Going down, the
// derivative of the root's mean is handed from nodes to edges to tails: the gradient is the
// covariance of the value with the use of each edge. This is what the second-order expectation
// semiring computes (Li and Eisner 2009), as reverse-mode differentiation of the first-order one.
// All sums are over probabilities given the head, so scores of any size neither overflow nor lose
// digits. Cost: O(edges and tails).
#pragma once

#include <cmath>
#include <ranges>
#include <span>
#include <vector>

#include "lattices/native/poll.hpp"
#include "lattices/native/rows.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Index;
using lattices::kMinusInfinity;

// A hypergraph whose derivations carry values: edges add `gain`, and have their scores in slots.
struct Derivations {
  std::span<const Index> in_offset, tail, tail_offset, slot;
  std::span<const double> gain;
  Index root = 0;

  Index num_nodes() const { return static_cast<Index>(in_offset.size()) - 1; }
  Index num_edges() const { return static_cast<Index>(slot.size()); }
  auto incoming(Index node) const { return std::views::iota(in_offset[node], in_offset[node + 1]); }
  std::span<const Index> tails(Index edge) const {
    return tail.subspan(tail_offset[edge], tail_offset[edge + 1] - tail_offset[edge]);
  }
  bool begins(Index) const { return false; }
  double weight(Index edge) const { return gain[edge]; }
};

static_assert(lattices::Graph<Derivations>);

struct Exponent {
  double scale, tilt;
  // expect minus the logarithm of the probability, in the place of the value: its mean is the
  // entropy. That value depends on the scores itself; but the mean of its derivative is 0 at every
  // node, so the gradient is right nevertheless.
  bool surprise;
};

struct Expectation {
  double log_total, mean, variance;
  std::vector<double> gradient, count;  // of each slot
};

// `score` has an entry for each slot; slots beyond have none, and stand for 0.
inline Expectation expectation(const Derivations& graph, std::span<const double> score,
                               const Exponent& exponent, lattices::Poll& poll) {
  const Index nodes = graph.num_nodes(), slots = static_cast<Index>(score.size());
  std::vector<double> inside(nodes), mean(nodes, 0.0), variance(nodes, 0.0);
  std::vector<double> share(graph.num_edges()), value(graph.num_edges(), 0.0);
  for (Index node = 0; node < nodes; ++node) {
    const auto edges = graph.incoming(node);
    poll(edges.size());
    double best = kMinusInfinity;
    for (const Index edge : edges) {
      const Index slot = graph.slot[edge];
      double weight = slot < slots ? exponent.scale * score[slot] : 0.0;
      weight += exponent.tilt * graph.gain[edge];
      for (const Index tail : graph.tails(edge)) weight += inside[tail];
      share[edge] = weight;
      best = std::max(best, weight);
    }
    inside[node] = best;
    if (best == kMinusInfinity) {
      for (const Index edge : edges) share[edge] = 0.0;
      continue;
    }
    double total = 0.0;
    for (const Index edge : edges) {
      // the weight stays where its logarithm will be the value
      if (exponent.surprise) value[edge] = share[edge] - best;
      share[edge] = std::exp(share[edge] - best);
      total += share[edge];
    }
    const double rest = std::log(total);
    inside[node] += rest;
    double average = 0.0;
    for (const Index edge : edges) {
      share[edge] /= total;
      if (share[edge] == 0.0) {
        value[edge] = 0.0;
        continue;
      }
      value[edge] = exponent.surprise ? rest - value[edge] : graph.gain[edge];
      for (const Index tail : graph.tails(edge)) value[edge] += mean[tail];
      average += share[edge] * value[edge];
    }
    mean[node] = average;
    for (const Index edge : edges) {
      if (share[edge] == 0.0) continue;
      double term = (value[edge] - average) * (value[edge] - average);
      for (const Index tail : graph.tails(edge)) term += variance[tail];
      variance[node] += share[edge] * term;
    }
  }
  Expectation found{inside[graph.root], mean[graph.root], variance[graph.root],
                    std::vector<double>(slots, 0.0), std::vector<double>(slots, 0.0)};
  std::vector<double> used(nodes, 0.0), pull(nodes, 0.0);
  used[graph.root] = 1.0;
  for (Index node = graph.root; node >= 0; --node) {
    if (used[node] == 0.0) continue;
    for (const Index edge : graph.incoming(node)) {
      if (share[edge] == 0.0) continue;
      const double times = used[node] * share[edge];
      const double change = times * (value[edge] - mean[node]) + share[edge] * pull[node];
      const Index slot = graph.slot[edge];
      if (slot < slots) {
        found.count[slot] += times;
        found.gradient[slot] += exponent.scale * change;
      }
      for (const Index tail : graph.tails(edge)) {
        used[tail] += times;
        pull[tail] += change;
      }
    }
  }
  return found;
}

// The columns of Derivations.
struct DerivationArrays {
  std::vector<Index> in_offset{0}, tail, tail_offset{0}, slot;
  std::vector<double> gain;

  void add(Index slot_of_edge, double gain_of_edge) {
    slot.push_back(slot_of_edge);
    gain.push_back(gain_of_edge);
    tail_offset.push_back(static_cast<Index>(tail.size()));
  }
};

// A lattice, arcs sorted by source, read from its end: state q is node (states - 1 - q), with an
// edge for each arc out of it and one for ending there. `arc_slot` and `end_slot` say where scores
// stand; an end slot of -1 is none.
struct FromTheEnd {
  std::span<const Index> src, dst, arc_slot, end_slot;
  std::span<const double> gain, end_gain;
};

inline DerivationArrays from_the_end(const FromTheEnd& lattice) {
  DerivationArrays found;
  const auto states = static_cast<Index>(lattice.end_slot.size());
  auto arcs = static_cast<Index>(lattice.src.size());
  for (Index state = states - 1; state >= 0; --state) {
    Index first = arcs;
    while (first > 0 && lattice.src[first - 1] == state) --first;
    for (Index arc = first; arc < arcs; ++arc) {
      found.tail.push_back(states - 1 - lattice.dst[arc]);
      found.add(lattice.arc_slot[arc], lattice.gain[arc]);
    }
    arcs = first;
    if (lattice.end_slot[state] >= 0) found.add(lattice.end_slot[state], lattice.end_gain[state]);
    found.in_offset.push_back(static_cast<Index>(found.slot.size()));
  }
  return found;
}

// The product of a lattice with rows, read from its end. Slots are those of the lattice's arcs and
// of its final states.
inline DerivationArrays product_derivations(const lattices::Lattice& lattice,
                                            const lattices::RowProduct& product, double factor,
                                            std::span<const Index> arc_slot,
                                            std::span<const Index> final_slot) {
  std::vector<Index> slot(product.origin.size()), end(product.state.size(), -1);
  std::vector<double> gain(product.gain.size()), end_gain(product.ending.size());
  for (std::size_t arc = 0; arc < slot.size(); ++arc) {
    slot[arc] = arc_slot[product.origin[arc]];
    gain[arc] = factor * product.gain[arc];
  }
  for (std::size_t pair = 0; pair < end.size(); ++pair) {
    if (lattice.final[product.state[pair]] == kMinusInfinity) continue;
    end[pair] = final_slot[product.state[pair]];
    end_gain[pair] = factor * product.ending[pair];
  }
  return from_the_end({product.src, product.dst, slot, end, gain, end_gain});
}

}  // namespace decoding
