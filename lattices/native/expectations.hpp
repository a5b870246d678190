// What to expect of many alignments over all paths of one lattice.
//
// The row of a prefix says what the prefix has earned, and how it stands. Paths that meet in a
// state with equal rows have the same future, so it is enough to know how probable they are
// together, and the first two moments of what they have earned. With m0, m1, m2 for these sums at a
// pair, an arc of probability p and gain g adds
//
//   m0' += p m0,   m1' += p (m1 + g m0),   m2' += p (m2 + 2 g m1 + g g m0)
//
// (the expectation semiring of Eisner 2002, and its second order, Li and Eisner 2009).
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lattices/native/alignment_rows.hpp"
#include "lattices/native/dispatch.hpp"
#include "lattices/native/errors.hpp"
#include "lattices/native/ngrams.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/prefix_tree.hpp"
#include "lattices/native/rows.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// Weighted sentences as a graph whose states know how many words are behind them, node 0 the start.
// Metrics divide by the length of the sentence that plays the reference, and a quotient does not
// decompose over arcs; here all that end in one node have one length. Edges carry the probability
// of being taken once at their tail, so that sums over paths are plain probabilities.
struct LengthGraph {
  std::vector<Index> words;              // that occur, ascending
  std::vector<Index> in_offset, source;  // edges, grouped by target
  std::vector<Index> word;               // of each edge: its place in `words`, -1 for none
  std::vector<double> taken, stop;  // of each edge; of each node, the probability of ending there
  std::vector<Index> length;        // of each node

  Index num_nodes() const { return static_cast<Index>(stop.size()); }
  Index num_edges() const { return static_cast<Index>(source.size()); }
  Index longest() const { return length.empty() ? 0 : std::ranges::max(length); }
  auto incoming(Index node) const { return std::views::iota(in_offset[node], in_offset[node + 1]); }
  std::span<const Index> tails(Index edge) const { return std::span(source).subspan(edge, 1); }
  bool begins(Index node) const { return node == 0; }
  double weight(Index edge) const { return taken[edge]; }
};

static_assert(Graph<LengthGraph>);

// A lattice with its states split by the number of words behind them; `outside` are its outside
// scores under LOG, -inf where no end can be reached; so many bytes may be taken. Cost: O(arcs x
// lengths of the prefixes of a state).
inline LengthGraph length_graph(const Lattice& lattice, double scale,
                                std::span<const double> outside, std::size_t memory, Poll& poll) {
  const Index states = lattice.num_nodes(), arcs = lattice.num_edges();
  LengthGraph graph;
  graph.words = list_words(lattice.label);
  std::vector<double> taken(arcs, 0.0);
  std::vector<Index> word(arcs, -1), behind(states, 0);
  Index longest = 0;
  for (Index arc = 0; arc < arcs; ++arc) {
    const Index source = lattice.src[arc], target = lattice.dst[arc];
    if (outside[source] > kMinusInfinity && outside[target] > kMinusInfinity) {
      taken[arc] = std::exp(scale * lattice.score[arc] + outside[target] - outside[source]);
    }
    const bool spoken = lattice.label[arc] != 0;
    behind[target] = std::max(behind[target], behind[source] + (spoken ? 1 : 0));
    longest = std::max(longest, behind[target]);
    if (!spoken) continue;
    const auto at = std::lower_bound(graph.words.begin(), graph.words.end(), lattice.label[arc]);
    word[arc] = static_cast<Index>(at - graph.words.begin());
  }
  const std::size_t lengths = static_cast<std::size_t>(longest) + 1;
  const double table = sizeof(Index) * static_cast<double>(states) * static_cast<double>(lengths);
  auto check = [&](double bytes) {
    if (bytes <= static_cast<double>(memory)) return;
    throw too_large(std::to_string(states) + " lattice states x " + std::to_string(lengths) +
                        " lengths of sentences",
                    bytes, memory);
  };
  check(table);
  // the node of each state and length, once it is reached
  std::vector<Index> node(states * lengths, -1);
  graph.in_offset.push_back(0);
  for (Index state = 0; state < states; ++state) {
    if (outside[state] == kMinusInfinity) continue;
    poll(lengths);
    check(table + static_cast<double>(growing_bytes(graph.source) + growing_bytes(graph.word) +
                                      growing_bytes(graph.taken) + growing_bytes(graph.stop) +
                                      growing_bytes(graph.length)));
    for (std::size_t length = 0; length < lengths; ++length) {
      const auto before = graph.source.size();
      for (const Index arc : lattice.incoming(state)) {
        const std::size_t more = word[arc] >= 0 ? 1 : 0;
        if (taken[arc] == 0.0 || length < more) continue;
        const Index source = node[lattice.src[arc] * lengths + length - more];
        if (source < 0) continue;
        graph.source.push_back(source);
        graph.word.push_back(word[arc]);
        graph.taken.push_back(taken[arc]);
      }
      if (graph.source.size() == before && !(state == lattice.start && length == 0)) continue;
      node[state * lengths + length] = graph.num_nodes();
      const double final = lattice.final[state];
      graph.stop.push_back(final == kMinusInfinity ? 0.0
                                                   : std::exp(scale * final - outside[state]));
      graph.length.push_back(static_cast<Index>(length));
      graph.in_offset.push_back(graph.num_edges());
    }
  }
  return graph;
}

// The prefix tree of weighted sentences; weights are not negative, and not all zero.
inline LengthGraph list_graph(const Sentences& sentences, std::span<const double> weight) {
  LengthGraph graph;
  const PrefixTree tree = prefix_tree(sentences.label, sentences.offset);
  std::vector<double> passing(tree.size(), 0.0), ending(tree.size(), 0.0);
  for (std::size_t sentence = 0; sentence < weight.size(); ++sentence) {
    ending[tree.leaf[sentence]] += weight[sentence];
  }
  for (Index node = tree.size() - 1; node >= 0; --node) {
    passing[node] += ending[node];
    if (node > 0) passing[tree.parent[node]] += passing[node];
  }
  graph.words = list_words(sentences.label);
  std::vector<Index> number(tree.size(), -1);
  graph.in_offset.push_back(0);
  for (Index node = 0; node < tree.size(); ++node) {
    if (passing[node] == 0.0) continue;
    number[node] = graph.num_nodes();
    graph.stop.push_back(ending[node] / passing[node]);
    graph.length.push_back(0);
    if (node > 0) {
      const Index parent = tree.parent[node];
      const auto at = std::lower_bound(graph.words.begin(), graph.words.end(), tree.word[node]);
      graph.source.push_back(number[parent]);
      graph.word.push_back(static_cast<Index>(at - graph.words.begin()));
      graph.taken.push_back(passing[node] / passing[parent]);
      graph.length.back() = graph.length[number[parent]] + 1;
    }
    graph.in_offset.push_back(graph.num_edges());
  }
  return graph;
}

// A path of l words that gains g units is worth constant[l] + factor[l] * g.
struct LengthValues {
  std::span<const double> constant, factor;
};

// Of each alignment mean and variance of the value, the probability of paths that were not followed
// to their end, and how many pairs there were; -1 where the budget did not suffice.
struct ValueMoments {
  std::vector<double> mean, variance, lost;
  std::vector<Index> pairs;
};

namespace detail {

struct Mass {
  double m0 = 0.0, m1 = 0.0, m2 = 0.0;
};

// The visitor of walk_rows that adds up moments.
template <class Machine>
struct MomentSums {
  const LengthGraph& graph;
  const LengthValues& values;
  double negligible;
  Machine& machine;
  std::vector<Mass> mass;
  double first = 0.0, second = 0.0, lost = 0.0;

  void add(Index pair) {
    const auto opening = static_cast<double>(machine.opening());
    mass.push_back(pair == 0 ? Mass{1.0, opening, opening * opening} : Mass{});
  }
  bool follow(Index pair) const { return mass[pair].m0 >= negligible; }
  template <class Gain>
  void arc(Index edge, Index from, Index to, Gain step) {
    const double share = graph.taken[edge], gain = static_cast<double>(step);
    const Mass& source = mass[from];
    Mass& target = mass[to];
    target.m0 += share * source.m0;
    target.m1 += share * (source.m1 + gain * source.m0);
    target.m2 += share * (source.m2 + gain * (2.0 * source.m1 + gain * source.m0));
  }
  void leave(Index node, RowPairs& pairs) {
    const double stop = graph.stop[node];
    const double a = values.constant[graph.length[node]], b = values.factor[graph.length[node]];
    for (auto pair = static_cast<std::size_t>(pairs.start[node]); pair < mass.size(); ++pair) {
      auto [m0, m1, m2] = mass[pair];
      // what is not followed is all that does not end here
      if (m0 < negligible) lost += (1.0 - stop) * m0;
      if (stop == 0.0) continue;
      const auto gain = static_cast<double>(machine.ending(pairs.row[pair]));
      m2 += gain * (2.0 * m1 + gain * m0);
      m1 += gain * m0;
      first += stop * (a * m0 + b * m1);
      second += stop * (a * a * m0 + b * (2.0 * a * m1 + b * m2));
    }
  }
  std::size_t bytes() const { return growing_bytes(mass); }
};

}  // namespace detail

// The moments of the value under each of several alignments, over all paths. The first that is
// beyond the budget ends the work: the others are likely to need as much. Prefixes of one node and
// row that have less probability together than `negligible` are not followed.
template <class Gain>
ValueMoments value_moments(const LengthGraph& graph, const AlignmentBlocks<Gain, 1>& alignments,
                           const LengthValues& values, const RowBudget& budget, double negligible,
                           Poll& poll) {
  const std::vector<double> unknown(alignments.num_blocks(),
                                    std::numeric_limits<double>::quiet_NaN());
  ValueMoments result{unknown, unknown, std::vector<double>(unknown.size(), 1.0),
                      std::vector<Index>(unknown.size(), -1)};
  AlignmentReader<Gain> reader(alignments);
  RowMachine machine(reader);
  std::vector<Index> edge_class(graph.num_edges());
  RowPairs pairs;
  std::vector<detail::Mass> room;
  for (Index each = 0; each < alignments.num_blocks(); ++each) {
    reader.choose(each);
    machine.clear();
    for (Index edge = 0; edge < graph.num_edges(); ++edge) {
      edge_class[edge] =
          graph.word[edge] < 0 ? kSilent : alignments.class_of(each, graph.word[edge]);
    }
    room.clear();
    detail::MomentSums<decltype(machine)> sums{graph, values, negligible, machine, std::move(room)};
    const bool done =
        dispatch([&] { return walk_rows(graph, edge_class, machine, budget, sums, pairs, poll); });
    room = std::move(sums.mass);
    if (!done) break;
    // of what was not followed nothing better is known than the rest
    const double followed = std::max(1.0 - sums.lost, 1e-300);
    const double mean = sums.first / followed, second = sums.second / followed;
    result.mean[each] = mean;
    result.variance[each] = std::max(0.0, second - mean * mean);
    result.lost[each] = sums.lost;
    result.pairs[each] = static_cast<Index>(pairs.row.size());
  }
  return result;
}

}  // namespace lattices
