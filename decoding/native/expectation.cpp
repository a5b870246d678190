// Expectations over all derivations: the bindings.
#include "decoding/native/expectation.hpp"

#include <algorithm>
#include <optional>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

using namespace lattices;

static void check_columns(const Derivations& graph) {
  const auto& [in_offset, tail, tail_offset, slot, gain, root] = graph;
  const std::size_t edges = slot.size();
  bool good = gain.size() == edges && !in_offset.empty() && in_offset.front() == 0 &&
              static_cast<std::size_t>(in_offset.back()) == edges &&
              tail_offset.size() == edges + 1 && tail_offset.front() == 0 &&
              static_cast<std::size_t>(tail_offset.back()) == tail.size() && root >= 0 &&
              root < graph.num_nodes();
  for (Index node = 0; good && node < graph.num_nodes(); ++node) {
    good = in_offset[node] <= in_offset[node + 1];
    for (Index edge = in_offset[node]; good && edge < in_offset[node + 1]; ++edge) {
      good = slot[edge] >= 0 && tail_offset[edge] <= tail_offset[edge + 1];
      if (!good) break;
      for (const Index below : graph.tails(edge)) good &= below >= 0 && below < node;
    }
  }
  if (!good) throw space_error("the columns of a graph of derivations do not fit together");
}

namespace {

// The columns of a Python DerivationGraph, checked once.
using DerivationColumns = Kept<Derivations, Ints, Ints, Ints, Ints, Floats, Index>;

}  // namespace

void bind_expectation(nb::module_& module) {
  nb::class_<DerivationColumns>(module, "DerivationColumns",
                                "The columns of a graph of derivations, checked.")
      .def(DerivationColumns::Init(), "in_offset"_a, "tail"_a, "tail_offset"_a, "slot"_a, "gain"_a,
           "root"_a);
  module.def(
      "expectation",
      native([](const DerivationColumns& graph, std::span<const double> score, double scale,
                double tilt, bool surprise,
                Poll& poll) { return expectation(graph, score, {scale, tilt, surprise}, poll); }),
      "graph"_a, "score"_a, "scale"_a, "tilt"_a, "surprise"_a,
      "Return the logarithm of the sum over all derivations, mean and variance of the value, and\n"
      "of each slot the derivative of the mean and how often it is used.");
  module.def(
      "expectations",
      [](const std::vector<const DerivationColumns*>& graphs, const Column<std::int64_t>& offset,
         const Floats& score, double scale, double tilt, int threads) {
        const auto begin = view(offset);
        const auto scores = view(score);
        if (begin.size() != graphs.size() + 1 || begin[0] != 0 ||
            begin.back() != static_cast<std::int64_t>(scores.size()) ||
            !std::is_sorted(begin.begin(), begin.end())) {
          throw option_error("scores that do not fit the graphs");
        }
        const auto found = search_batch<Expectation>(
            graphs.size(), threads, [&](std::size_t at, Expectation& answer, Poll& poll) {
              const auto own = scores.subspan(begin[at], begin[at + 1] - begin[at]);
              answer = expectation(*graphs[at], own, {scale, tilt, false}, poll);
            });
        std::vector<double> total, mean, gradient, count;
        for (const Expectation& each : found) {
          total.push_back(each.log_total);
          mean.push_back(each.mean);
          gradient.insert(gradient.end(), each.gradient.begin(), each.gradient.end());
          count.insert(count.end(), each.count.begin(), each.count.end());
        }
        return give_all(total, mean, gradient, count);
      },
      "graphs"_a, "offset"_a, "score"_a, "scale"_a, "tilt"_a, "threads"_a,
      "Return `expectation` of each graph, without the variance, end to end: graph i has the "
      "scores\n"
      "from offset[i] up to offset[i + 1].");
  module.def("lattice_derivations", native([](const Lattice& lattice) {
               const Index arcs = lattice.num_edges(), states = lattice.num_nodes();
               std::vector<Index> slot(arcs), end(states, -1);
               for (Index arc = 0; arc < arcs; ++arc) slot[arc] = arc;
               for (Index state = 0; state < states; ++state) {
                 if (lattice.final[state] > kMinusInfinity) end[state] = arcs + state;
               }
               const std::vector<double> nothing(std::max(arcs, states), 0.0);
               return from_the_end({lattice.src, lattice.dst, slot, end, nothing, nothing});
             }),
             "lattice"_a, "Return a lattice as a graph of derivations, all gains 0.");
  module.def(
      "word_states",
      native([](const Lattice& units, std::span<const Index> origin, const Lattice& lattice) {
        if (origin.size() != units.src.size()) throw option_error("one origin for each arc");
        std::vector<Index> state(units.final.size(), lattice.start);
        // arcs are sorted by source and states are in topological order
        for (std::size_t arc = 0; arc < origin.size(); ++arc) {
          if (origin[arc] >= lattice.num_edges()) throw option_error("no such arc");
          state[units.dst[arc]] =
              origin[arc] >= 0 ? lattice.dst[origin[arc]] : state[units.src[arc]];
        }
        return state;
      }),
      "units"_a, "origin"_a, "lattice"_a,
      "Return the state of the lattice of words for each state of that of characters; right for\n"
      "those between words, where alone a path may end.");
  module.def(
      "row_derivations",
      native([](const Lattice& lattice, const RowTables& machine, std::size_t pairs,
                std::size_t bytes, double factor, std::span<const Index> arc_slot,
                std::span<const Index> final_slot, Poll& poll) {
        if (arc_slot.size() != lattice.src.size() || final_slot.size() != lattice.final.size()) {
          throw option_error("slots that do not fit the lattice");
        }
        using Found = std::optional<std::pair<DerivationArrays, double>>;
        return machine.visit([&](const auto& reader) -> Found {
          RowMachine rows(reader);
          const auto classes =
              arc_classes(lattice, [&](Index word) { return reader.class_of(word); });
          if (!classes) throw space_error("a lattice has no complete path");
          const auto product = row_product(lattice, *classes, rows, {pairs, bytes}, poll);
          if (!product) return std::nullopt;
          return std::pair(product_derivations(lattice, *product, factor, arc_slot, final_slot),
                           factor * product->opening);
        });
      }),
      "lattice"_a, "machine"_a, "pairs"_a, "bytes"_a, "factor"_a, "arc_slot"_a, "final_slot"_a,
      "Return the product of a lattice with rows as a graph of derivations, and its opening gain;\n"
      "None beyond the budget. Gains are multiplied by the factor.");
}

}  // namespace decoding
