// Expectations over all paths: the bindings.
#include "lattices/native/expectations.hpp"

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/sentence_columns.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

namespace {

// Several alignments that are read by rows, in integers that are wide enough.
class AlignmentSet {
 public:
  // `words`: those that will be read; no sum of gains is larger than `largest`
  AlignmentSet(const AlignmentList& list, std::span<const Index> words, double largest)
      : rows_(made(list, words, largest)) {}

  // Call use(rows) with the AlignmentBlocks that are there.
  template <class Use>
  auto visit(Use&& use) const {
    return std::visit(std::forward<Use>(use), rows_);
  }

  auto read(Index number, const Ints& words) const {
    return visit([&](const auto& rows) {
      using Blocks = std::decay_t<decltype(rows)>;
      using Gain = typename Blocks::Gain;
      if (number < 0 || number >= rows.num_blocks()) throw option_error("no such alignment");
      AlignmentReader<Gain> reader(rows);
      reader.choose(number);
      std::vector<std::int64_t> table, gains;
      std::vector<Gain> row(reader.width()), next(reader.width());
      const Index length = rows.length(number);
      const auto show = [&] {
        for (Index cell = 0; cell < rows.order() * (length + 1); ++cell) {
          const Index run = cell / (length + 1), left = length - cell % (length + 1);
          const Gain gain = row[run * rows.width() + left];
          table.push_back(gain == Blocks::kAbsent ? kAbsent<std::int64_t> : gain);
        }
      };
      gains.push_back(reader.open(row));
      show();
      for (const Index word : view(words)) {
        if (word < 0 || word >= rows.num_words()) throw option_error("no such word");
        gains.push_back(reader.step(row, rows.class_of(number, word), next));
        row.swap(next);
        show();
      }
      gains.push_back(reader.ending(row));
      return std::tuple(give(std::move(table), words.shape(0) + 1, rows.order() * (length + 1)),
                        give(std::move(gains)));
    });
  }

 private:
  template <class... Gain>
  using Any = std::variant<AlignmentBlocks<Gain, 1>...>;
  using Rows = Any<std::int16_t, std::int32_t, std::int64_t>;

  static Rows made(const AlignmentList& list, std::span<const Index> words, double largest) {
    if (largest < AlignmentBlocks<std::int16_t, 1>::kLargest) {
      return AlignmentBlocks<std::int16_t, 1>(list, words);
    }
    if (largest < AlignmentBlocks<std::int32_t, 1>::kLargest) {
      return AlignmentBlocks<std::int32_t, 1>(list, words);
    }
    if (largest < AlignmentBlocks<std::int64_t, 1>::kLargest) {
      return AlignmentBlocks<std::int64_t, 1>(list, words);
    }
    throw option_error("gains up to " + spelled(largest) + " units are too large for rows");
  }

  Rows rows_;
};

// A property of a graph for one of its columns, as an array.
template <class T>
auto column(std::vector<T> LengthGraph::* which) {
  return [which](const LengthGraph& graph) { return give(std::vector<T>(graph.*which)); };
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
      .def_prop_ro("words", column(&LengthGraph::words), nb::rv_policy::move)
      .def_prop_ro("in_offset", column(&LengthGraph::in_offset), nb::rv_policy::move)
      .def_prop_ro("source", column(&LengthGraph::source), nb::rv_policy::move)
      .def_prop_ro("word", column(&LengthGraph::word), nb::rv_policy::move)
      .def_prop_ro("taken", column(&LengthGraph::taken), nb::rv_policy::move)
      .def_prop_ro("stop", column(&LengthGraph::stop), nb::rv_policy::move)
      .def_prop_ro("length", column(&LengthGraph::length), nb::rv_policy::move)
      .def_prop_ro("nodes", &LengthGraph::num_nodes, "How many nodes there are.")
      .def_prop_ro("longest", &LengthGraph::longest, "How many words the longest sentence has.");
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
        const auto sentences = sentences_of(label, offset);
        check_size(weight.shape(0), sentences.size(), "the column of weights");
        return unlocked([&] { return list_graph(sentences, view(weight)); });
      },
      "label"_a, "offset"_a, "weight"_a,
      "Return the prefix tree of weighted sentences label[offset[i]:offset[i + 1]].");
  nb::class_<AlignmentListColumns>(module, "AlignmentListColumns",
                                   "Alignments of one order and with the same costs, checked.")
      .def(AlignmentListColumns::Init(), "order"_a, "insertion"_a, "deletion"_a, "heaviest"_a,
           "length"_a, "offset"_a, "word"_a, "position"_a, "weight"_a);
  nb::class_<AlignmentSet>(module, "AlignmentSet",
                           "Several alignments of one order, ready to be read by rows.")
      .def(
          "__init__",
          [](AlignmentSet* self, const AlignmentListColumns& alignments, const Ints& words,
             double largest) { new (self) AlignmentSet(alignments, view(words), largest); },
          "alignments"_a, "words"_a, "largest"_a, "Sums of gains stay below the largest.")
      .def("read", &AlignmentSet::read, "number"_a, "words"_a,
           "Return the rows before, between and behind some words (places among those that the\n"
           "alignments were made for) under one alignment, and what was gained with each, then by\n"
           "ending. What is absent is less than -2**60.");
  module.def(
      "value_moments",
      native([](const LengthGraph& graph, const AlignmentSet& alignments,
                std::span<const double> constant, std::span<const double> factor, std::size_t pairs,
                std::size_t bytes, double negligible, Poll& poll) {
        if (constant.size() <= static_cast<std::size_t>(graph.longest()) ||
            factor.size() != constant.size()) {
          throw option_error("a value for each length is needed");
        }
        return alignments.visit([&](const auto& rows) {
          if (static_cast<std::size_t>(rows.num_words()) != graph.words.size()) {
            throw option_error("the alignments were made for other words");
          }
          return value_moments(graph, rows, {constant, factor}, {pairs, bytes}, negligible, poll);
        });
      }),
      "graph"_a, "alignments"_a, "constant"_a, "factor"_a, "pairs"_a, "bytes"_a, "negligible"_a,
      "Return mean and variance of the value under each alignment, the probability that was not\n"
      "followed, and the pairs of a node and a row that there were, -1 beyond the budget.");
}

}  // namespace lattices
