// Expectations over all paths: the bindings.
#include "lattices/native/expectations.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>
#include <variant>

#include "lattices/native/alignment_set.hpp"
#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace lattices {

namespace {

template <class T>
auto shown(std::vector<T> LengthGraph::* column) {
  return [column](const LengthGraph& graph) { return give(std::vector<T>(graph.*column)); };
}

}  // namespace

void bind_expectations(nb::module_& module) {
  nb::class_<LengthGraph>(
      module, "LengthGraph",
      "Weighted sentences as a graph to walk, every step with its probability and its length.\n\n"
      "Nodes are in topological order, the first one is the start. Edges are grouped by target:\n"
      "those into node q are in_offset[q] up to in_offset[q + 1]. An edge has the place of its "
      "word\n"
      "in words (-1 for none) and the probability of being taken once at its source; a node has "
      "the\n"
      "probability of ending once there, and the number of words behind it.")
      .def_prop_ro("words", shown(&LengthGraph::words), nb::rv_policy::move)
      .def_prop_ro("in_offset", shown(&LengthGraph::in_offset), nb::rv_policy::move)
      .def_prop_ro("source", shown(&LengthGraph::source), nb::rv_policy::move)
      .def_prop_ro("word", shown(&LengthGraph::word), nb::rv_policy::move)
      .def_prop_ro("taken", shown(&LengthGraph::taken), nb::rv_policy::move)
      .def_prop_ro("stop", shown(&LengthGraph::stop), nb::rv_policy::move)
      .def_prop_ro("length", shown(&LengthGraph::length), nb::rv_policy::move)
      .def_prop_ro("nodes", &LengthGraph::num_nodes, "How many nodes there are.")
      .def_prop_ro(
          "longest",
          [](const LengthGraph& graph) {
            return graph.length.empty()
                       ? 0
                       : *std::max_element(graph.length.begin(), graph.length.end());
          },
          "How many words the longest sentence has.");
  module.def(
      "length_graph",
      [](const LatticeColumns& lattice, double scale, const Floats& outside, std::size_t memory) {
        if (outside.shape(0) != lattice.final.size())
          throw option_error("one score for each state");
        return unlocked(
            [&](Poll& poll) { return length_graph(lattice, scale, view(outside), memory, poll); });
      },
      "lattice"_a, "scale"_a, "outside"_a, "memory"_a,
      "Return a lattice with its states split by the number of words behind them.");
  module.def(
      "list_graph",
      [](const Ints& label, const Ints& offset, const Floats& weight) {
        const auto bounds = view(offset);
        if (bounds.size() != weight.shape(0) + 1 || bounds.front() != 0 ||
            bounds.back() != static_cast<Index>(label.shape(0)) ||
            !std::is_sorted(bounds.begin(), bounds.end())) {
          throw option_error("the columns of a list differ in length");
        }
        return unlocked([&] { return list_graph(view(label), bounds, view(weight)); });
      },
      "label"_a, "offset"_a, "weight"_a,
      "Return the prefix tree of weighted sentences label[offset[i]:offset[i + 1]].");
  nb::class_<AlignmentSet>(module, "AlignmentSet",
                           "Several alignments of one order, ready to be read by rows.")
      .def(
          "__init__",
          [](AlignmentSet* self, Index order, const std::tuple<double, double, double>& costs,
             const Ints& length, const Ints& offset, const std::tuple<Ints, Ints, Floats>& matches,
             const Ints& words, double largest) {
            const auto& [insertion, deletion, heaviest] = costs;
            const auto& [word, position, weight] = matches;
            const AlignmentList list{order,      insertion,      deletion,
                                     heaviest,   view(length),   view(offset),
                                     view(word), view(position), view(weight)};
            new (self) AlignmentSet(list, view(words), largest);
          },
          "order"_a, "costs"_a, "length"_a, "offset"_a, "matches"_a, "words"_a, "largest"_a,
          "Costs are those of insertions and deletions and the weight of the heaviest match;\n"
          "matches are columns of words, positions and weights. Sums of gains stay below the\n"
          "largest.")
      .def("read", &AlignmentSet::read, "number"_a, "words"_a,
           "Return the rows before, between and behind some words (places among those that the\n"
           "alignments were made for) under one alignment, and what was gained with each, then by\n"
           "ending. What is absent is less than -2**60.");
  module.def(
      "value_moments",
      [](const LengthGraph& graph, const AlignmentSet& alignments, const Floats& constant,
         const Floats& factor, std::size_t pairs, std::size_t bytes, double negligible) {
        Index longest = 0;
        for (const Index each : graph.length) longest = std::max(longest, each);
        if (constant.shape(0) <= static_cast<std::size_t>(longest) ||
            factor.shape(0) != constant.shape(0)) {
          throw option_error("a value for each length is needed");
        }
        const auto found = unlocked([&](Poll& poll) {
          return alignments.visit([&](const auto& rows) {
            if (static_cast<std::size_t>(rows.num_words()) != graph.words.size()) {
              throw option_error("the alignments were made for other words");
            }
            return value_moments(graph, rows, {view(constant), view(factor)}, {pairs, bytes},
                                 negligible, poll);
          });
        });
        std::vector<double> mean, variance, lost;
        std::vector<Index> needed;
        for (const ValueMoments& each : found) {
          mean.push_back(each.mean);
          variance.push_back(each.variance);
          lost.push_back(each.lost);
          needed.push_back(each.pairs);
        }
        return give_all(mean, variance, lost, needed);
      },
      "graph"_a, "alignments"_a, "constant"_a, "factor"_a, "pairs"_a, "bytes"_a, "negligible"_a,
      "Return mean and variance of the value under each alignment, the probability that was not\n"
      "followed, and the pairs of a node and a row that there were, -1 beyond the budget.");
}

}  // namespace lattices
