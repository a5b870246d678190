// Inside and outside scores of lattices and forests under any semiring.
//
//   inside(v)  = [v begins] + sum over edges e into v of  w(e) * product over tails t of inside(t)
//   outside(t) = end(t)     + sum over edges e with tail t of
//                             outside(head e) * w(e) * product over the other tails of inside
//
// (Goodman 1999, Semiring parsing.) Cost: O(edges and tails), in `outside` with the tails of an
// edge squared.
#pragma once

#include <span>
#include <vector>

#include "lattices/native/spaces.hpp"

namespace lattices {

// The weight of an edge times the inside scores of its tails.
template <class Semiring, Graph G>
double edge_product(const G& graph, Index edge, std::span<const double> weight,
                    std::span<const double> inside) {
  double product = weight[edge];
  for (const Index tail : graph.tails(edge)) product = Semiring::times(product, inside[tail]);
  return product;
}

template <class Semiring, Graph G>
std::vector<double> inside_scores(const G& graph, std::span<const double> weight) {
  std::vector<double> inside(graph.num_nodes());
  for (Index node = 0; node < graph.num_nodes(); ++node) {
    typename Semiring::Sum sum(graph.begins(node) ? Semiring::one : Semiring::zero);
    for (const Index edge : graph.incoming(node)) {
      sum.add(edge_product<Semiring>(graph, edge, weight, inside));
    }
    inside[node] = sum.value();
  }
  return inside;
}

// `end[v]` is the weight of ending in v: final scores, or one at the root and zero elsewhere.
// A lattice needs no inside scores, its edges have no other tails.
template <class Semiring, Graph G>
std::vector<double> outside_scores(const G& graph, std::span<const double> weight,
                                   std::span<const double> end, std::span<const double> inside) {
  std::vector<typename Semiring::Sum> sums;
  sums.reserve(end.size());
  for (const double each : end) sums.emplace_back(each);
  std::vector<double> outside(end.size());
  for (Index node = graph.num_nodes() - 1; node >= 0; --node) {
    outside[node] = sums[node].value();
    if (outside[node] == Semiring::zero) continue;
    for (const Index edge : graph.incoming(node)) {
      const double above = Semiring::times(outside[node], weight[edge]);
      const auto tails = graph.tails(edge);
      for (std::size_t place = 0; place < tails.size(); ++place) {
        double term = above;
        for (std::size_t other = 0; other < tails.size(); ++other) {
          if (other != place) term = Semiring::times(term, inside[tails[other]]);
        }
        sums[tails[place]].add(term);
      }
    }
  }
  return outside;
}

}  // namespace lattices
