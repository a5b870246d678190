// Linear BLEU: the sentences of a space that gain most when each n-gram gains something.
//
//   G(E) = theta_0 |E| + sum over n-grams u of theta_|u| * #u(E) * P(u)     (Tromble et al. 2008)
//
// Unfolded by contexts, a space has each n-gram of a sentence on one edge, so that G is a sum over
// edges. All gains are multiples of one unit, a power of two: sums of them have no rounding, and
// what gains the same is a tie, which the model's score breaks.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "lattices/native/kbest.hpp"
#include "lattices/native/unfolding.hpp"

namespace decoding {

using lattices::Index;

// theta_0, theta_1, ..., and what all gains are rounded to multiples of.
struct LinearFactors {
  std::span<const double> theta;
  double unit;

  double rounded(double gain) const { return std::nearbyint(gain / unit) * unit; }
  double word() const { return rounded(theta[0]); }
  // theta_|u| * P(u) of each n-gram
  std::vector<double> gains(const lattices::NgramTrie& trie, std::span<const double> value) const {
    std::vector<double> gain(trie.size(), 0.0);
    for (Index gram = 1; gram < trie.size(); ++gram) {
      gain[gram] = rounded(theta[trie[gram].length] * value[gram]);
    }
    return gain;
  }
};

// What each sentence of a list gains; `grams` has the longest n-gram that ends with each word.
inline std::vector<double> sentence_gains(const lattices::NgramTrie& trie,
                                          const lattices::Sentences& grams,
                                          std::span<const double> value,
                                          const LinearFactors& factors) {
  const auto chain = chain_sums(trie, factors.gains(trie, value));
  std::vector<double> gain(grams.size(), 0.0);
  for (Index sentence = 0; sentence < grams.size(); ++sentence) {
    for (const Index gram : grams.words(sentence)) gain[sentence] += chain[gram] + factors.word();
  }
  return gain;
}

// What each edge of an unfolded space gains by its own words and n-grams.
inline std::vector<double> edge_gains(const lattices::Unfolded& unfolded,
                                      std::span<const double> value, const LinearFactors& factors) {
  const auto& trie = unfolded.ngrams;
  const auto own = factors.gains(trie, value);
  const auto chain = chain_sums(trie, own);
  const double word = factors.word();
  std::vector<double> gain(unfolded.num_edges());
  for (Index edge = 0; edge < unfolded.num_edges(); ++edge) {
    double sum = word * unfolded.edges[edge].words;
    for (const auto& ending : unfolded.endings_of(edge)) {
      if (ending.above == 0) {
        sum += chain[ending.gram];
      } else {
        trie.for_suffixes(ending.gram, ending.above, [&](Index gram) { sum += own[gram]; });
      }
    }
    gain[edge] = sum;
  }
  return gain;
}

// An unfolded space as the k best search sees it. From `num_edges` on there are edges that end:
// they make the root, the last node, of the items that a sentence may end in; the last edge of all
// makes the first item of a lattice of nothing.
template <class Space>
struct UnfoldedDerivations {
  using Edge = Index;
  static constexpr bool linear = std::is_base_of_v<lattices::Lattice, Space>;

  const Space& space;
  const lattices::Unfolded& unfolded;

  Index num_nodes() const { return unfolded.num_nodes() + 1; }
  Index root() const { return unfolded.num_nodes(); }
  auto bottom_up() const { return std::views::iota(Index{0}, num_nodes()); }
  bool within(Edge edge) const { return edge < unfolded.num_edges(); }
  Edge beginning() const { return unfolded.num_edges() + static_cast<Index>(unfolded.ends.size()); }
  const lattices::Unfolded::End& end(Edge edge) const {
    return unfolded.ends[edge - unfolded.num_edges()];
  }

  template <class Visit>
  void visit(Index node, Visit&& found) const {
    if (node == root()) {
      for (Edge edge = unfolded.num_edges(); edge < beginning(); ++edge) found(edge);
    } else {
      for (const Index edge : unfolded.incoming(node)) found(edge);
      if (unfolded.begins(node)) found(beginning());
    }
  }
  std::span<const Index> tails(const Edge& edge) const {
    if (within(edge)) return unfolded.tails(edge);
    if (edge == beginning()) return {};
    return {&end(edge).item, 1};
  }
  // The word of an arc, and what leads to its source: a sentence read from its end.
  Index word_of(const Edge& edge) const
    requires linear
  {
    return within(edge) && unfolded.edges[edge].words > 0 ? space.label[unfolded.edges[edge].source]
                                                          : 0;
  }
  // What a part of a target side says: what the part before it says, its words, and its slot.
  auto symbols(const Edge& edge) const
    requires(!linear)
  {
    std::span<const Index> side;
    Index before = 0;
    if (within(edge)) {
      const auto& own = unfolded.edges[edge];
      before = own.arity == 2;
      side = space.symbols(own.source).subspan(own.symbol, own.words + (own.arity > 0));
    } else {
      before = 1;
    }
    return std::views::iota(Index{0}, before + static_cast<Index>(side.size())) |
           std::views::transform([side, before](Index place) {
             if (place < before) return Index{-1};
             const Index symbol = side[place - before];
             return symbol < 0 ? -1 - before : symbol;
           });
  }
  double weight(const Edge& edge) const {
    if (within(edge)) return unfolded.score[edge];
    return edge == beginning() ? 0.0 : end_score(space, end(edge).node);
  }
};

// Ranked by the gain, then by the model's score.
template <class Space>
struct ByGain {
  struct Value {
    double gain, score;
  };

  const UnfoldedDerivations<Space>& graph;
  std::span<const double> gain;

  Value value(const Index& edge) const {
    return {graph.within(edge) ? gain[edge] : 0.0, graph.weight(edge)};
  }
  static void add(Value& value, const Value& part) {
    value.gain += part.gain;
    value.score += part.score;
  }
  void finish(const Index&, Value&) const {}
  static bool better(const Value& one, const Value& other) {
    return one.gain > other.gain || (one.gain == other.gain && one.score > other.score);
  }
};

// Sentences by the edges of the space: `edge[offset[s]]` up to `edge[offset[s + 1]]`.
struct RankedSentences {
  std::vector<double> gain;
  std::vector<Index> edge, offset{0};
};

// The k sentences that gain most, each once, by the derivation of the highest score.
template <class Space>
RankedSentences most_gaining(const Space& space, const lattices::Unfolded& unfolded,
                             std::span<const double> gain, std::size_t k, lattices::Poll& poll) {
  using Graph = UnfoldedDerivations<Space>;
  const Graph graph{space, unfolded};
  const ByGain<Space> ranking{graph, gain};
  lattices::LazyKBest<Graph, ByGain<Space>, lattices::OneForEachSentence> search(graph, ranking,
                                                                                 poll);
  const auto best = search.best(graph.root(), k);
  if constexpr (!Graph::linear) search.made().check_sizes(space, best);
  RankedSentences found;
  std::vector<Index> derivation;
  for (const Index each : best) {
    derivation.clear();
    search.made().unroll(each, [&](Index edge) {
      if (graph.within(edge)) derivation.push_back(edge);
    });
    const auto own = source_derivation(space, unfolded, derivation);
    found.edge.insert(found.edge.end(), own.begin(), own.end());
    found.offset.push_back(static_cast<Index>(found.edge.size()));
    found.gain.push_back(search.made().value(each).gain);
  }
  return found;
}

}  // namespace decoding
