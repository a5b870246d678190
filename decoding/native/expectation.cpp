// Expectations over all derivations: the bindings.
#include "decoding/native/expectation.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

namespace {

using namespace lattices;

// The columns of a Python DerivationGraph, checked once.
struct DerivationColumns : Derivations {
  DerivationColumns(Ints in_offset_column, Ints tail_column, Ints tail_offset_column,
                    Ints slot_column, Floats gain_column, Index root_node)
      : Derivations{view(in_offset_column), view(tail_column), view(tail_offset_column),
                    view(slot_column),      view(gain_column), root_node},
        in_offset_(std::move(in_offset_column)),
        tail_(std::move(tail_column)),
        tail_offset_(std::move(tail_offset_column)),
        slot_(std::move(slot_column)),
        gain_(std::move(gain_column)) {
    const std::size_t edges = slot.size();
    bool good = gain.size() == edges && !in_offset.empty() && in_offset.front() == 0 &&
                static_cast<std::size_t>(in_offset.back()) == edges &&
                tail_offset.size() == edges + 1 && tail_offset.front() == 0 &&
                static_cast<std::size_t>(tail_offset.back()) == tail.size() && root >= 0 &&
                root < num_nodes();
    for (Index node = 0; good && node < num_nodes(); ++node) {
      good = in_offset[node] <= in_offset[node + 1];
      for (Index edge = in_offset[node]; good && edge < in_offset[node + 1]; ++edge) {
        good = slot[edge] >= 0 && tail_offset[edge] <= tail_offset[edge + 1];
        if (!good) break;
        for (const Index below : tails(edge)) good &= below >= 0 && below < node;
      }
    }
    if (!good) throw space_error("the columns of a graph of derivations do not fit together");
  }

 private:
  Ints in_offset_, tail_, tail_offset_, slot_;
  Floats gain_;
};

auto given(DerivationArrays&& found) {
  return std::tuple(give(std::move(found.in_offset)), give(std::move(found.tail)),
                    give(std::move(found.tail_offset)), give(std::move(found.slot)),
                    give(std::move(found.gain)));
}

}  // namespace

void bind_expectation(nb::module_& module) {
  nb::class_<DerivationColumns>(module, "DerivationColumns",
                                "The columns of a graph of derivations, checked.")
      .def(nb::init<Ints, Ints, Ints, Ints, Floats, Index>(), nb::arg("in_offset"), nb::arg("tail"),
           nb::arg("tail_offset"), nb::arg("slot"), nb::arg("gain"), nb::arg("root"));
  module.def(
      "expectation",
      [](const DerivationColumns& graph, const Floats& score, double scale, double tilt,
         bool surprise) {
        auto found = unlocked([&] {
          Poll poll(check_signals);
          return expectation(graph, view(score), {scale, tilt, surprise}, poll);
        });
        return std::tuple(found.log_total, found.mean, found.variance,
                          give(std::move(found.gradient)), give(std::move(found.count)));
      },
      nb::arg("graph"), nb::arg("score"), nb::arg("scale"), nb::arg("tilt"), nb::arg("surprise"),
      "Return the logarithm of the sum over all derivations, mean and variance of the value, and\n"
      "of each slot the derivative of the mean and how often it is used.");
  module.def(
      "lattice_derivations",
      [](const LatticeColumns& lattice) {
        const Index arcs = lattice.num_edges(), states = lattice.num_nodes();
        std::vector<Index> slot(arcs), end(states, -1);
        for (Index arc = 0; arc < arcs; ++arc) slot[arc] = arc;
        for (Index state = 0; state < states; ++state) {
          if (lattice.final[state] > kMinusInfinity) end[state] = arcs + state;
        }
        const std::vector<double> nothing(std::max(arcs, states), 0.0);
        return given(from_the_end({lattice.src, lattice.dst, slot, end, nothing, nothing}));
      },
      nb::arg("lattice"), "Return a lattice as a graph of derivations, all gains 0.");
  module.def(
      "word_states",
      [](const LatticeColumns& units, const Ints& origin, const LatticeColumns& lattice) {
        if (origin.shape(0) != units.src.size()) throw option_error("one origin for each arc");
        std::vector<Index> state(units.final.size(), lattice.start);
        // arcs are sorted by source and states are in topological order
        for (std::size_t arc = 0; arc < units.src.size(); ++arc) {
          const Index from = view(origin)[arc];
          if (from >= lattice.num_edges()) throw option_error("no such arc");
          state[units.dst[arc]] = from >= 0 ? lattice.dst[from] : state[units.src[arc]];
        }
        return give(std::move(state));
      },
      nb::arg("units"), nb::arg("origin"), nb::arg("lattice"),
      "Return the state of the lattice of words for each state of that of characters; right for\n"
      "those between words, where alone a path may end.");
  module.def(
      "row_derivations",
      [](const LatticeColumns& lattice, const RowTables& machine, std::size_t pairs,
         std::size_t bytes, double factor, const Ints& arc_slot, const Ints& final_slot) {
        if (arc_slot.shape(0) != lattice.src.size() ||
            final_slot.shape(0) != lattice.final.size()) {
          throw option_error("slots that do not fit the lattice");
        }
        using Found = std::optional<std::pair<DerivationArrays, double>>;
        auto found = unlocked([&] {
          return machine.visit([&](const auto& reader) -> Found {
            RowMachine rows(reader);
            Poll poll(check_signals);
            const auto classes =
                arc_classes(lattice, [&](Index word) { return reader.class_of(word); });
            if (!classes) throw space_error("a lattice has no complete path");
            const auto product = row_product(lattice, *classes, rows, {pairs, bytes}, poll);
            if (!product) return std::nullopt;
            return std::pair(
                product_derivations(lattice, *product, factor, view(arc_slot), view(final_slot)),
                factor * product->opening);
          });
        });
        using Given = std::tuple<decltype(given(std::move(found->first))), double>;
        if (!found) return std::optional<Given>();
        return std::optional<Given>(Given(given(std::move(found->first)), found->second));
      },
      nb::arg("lattice"), nb::arg("machine"), nb::arg("pairs"), nb::arg("bytes"), nb::arg("factor"),
      nb::arg("arc_slot"), nb::arg("final_slot"),
      "Return the product of a lattice with rows as a graph of derivations, and its opening gain;\n"
      "None beyond the budget. Gains are multiplied by the factor.");
}

}  // namespace decoding
