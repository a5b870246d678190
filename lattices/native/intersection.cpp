// Intersection: handles of machines, and the search of a batch.
#include "lattices/native/intersection.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <variant>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace lattices {

void check_columns(const Alignment& alignment) {
  const auto& [length, order, insertion, deletion, heaviest, word, position, weight] = alignment;
  if (length < 0 || order < 1) throw option_error("an alignment has a length and an order");
  if (word.size() != position.size() || word.size() != weight.size()) {
    throw option_error("the columns of an alignment differ in length");
  }
  for (const Index each : position) {
    if (each < 0 || each >= length) {
      throw option_error("a match has position " + std::to_string(each) + ", expected 0.." +
                         std::to_string(length - 1));
    }
  }
}

namespace {

AutomatonRows automaton_rows(const Ints& src, const Ints& dst, const Ints& label,
                             const Floats& gain, const Floats& initial, const Floats& final,
                             const Ints& order) {
  const std::size_t arcs = src.shape(0), states = final.shape(0);
  bool good = dst.shape(0) == arcs && label.shape(0) == arcs && gain.shape(0) == arcs &&
              initial.shape(0) == states && order.shape(0) == states;
  std::vector<Index> rank(states, -1);
  for (std::size_t place = 0; good && place < states; ++place) {
    const Index state = view(order)[place];
    good = state >= 0 && static_cast<std::size_t>(state) < states && rank[state] < 0;
    if (good) rank[state] = static_cast<Index>(place);
  }
  for (std::size_t arc = 0; good && arc < arcs; ++arc) {
    const Index from = view(src)[arc], to = view(dst)[arc];
    good = from >= 0 && static_cast<std::size_t>(from) < states && to >= 0 &&
           static_cast<std::size_t>(to) < states &&
           (view(label)[arc] != 0 || rank[from] < rank[to]);
  }
  if (!good) throw option_error("the columns of an automaton do not fit each other");
  const RowAutomaton automaton{view(src),   view(dst),   view(label), view(gain), view(initial),
                               view(final), view(order), {},          {},         {}};
  return AutomatonRows(automaton, rank);
}

using GivenPart =
    std::tuple<std::variant<const AlignmentColumns*, const AutomatonRows*>, double, double>;
// Values, parts (-1 where no path is complete), the arcs of all paths with their offsets, and
// which lattices are too large, and why.
using FoundPaths = std::tuple<Array<double>, Array<Index>, Array<std::int64_t>, Array<Index>,
                              std::vector<std::pair<std::size_t, std::string>>>;

Part part_of(const GivenPart& given) {
  const auto& [automaton, denominator, bonus] = given;
  return std::visit([&](const auto* each) { return Part{each, denominator, bonus}; }, automaton);
}

FoundPaths search_lattices(const std::vector<const LatticeColumns*>& lattices,
                           const std::vector<std::vector<GivenPart>>& machines, double model_weight,
                           std::size_t memory, int workers) {
  const std::size_t count = lattices.size();
  if (machines.size() != count) throw option_error("not as many machines as lattices");
  std::vector<std::vector<Part>> parts(count);
  for (std::size_t place = 0; place < count; ++place) {
    for (const auto& part : machines[place]) parts[place].push_back(part_of(part));
  }
  const SearchOptions options{model_weight, memory};
  Pool<Intersection> pool;
  std::vector<std::string> problems(count);
  const auto search = [&](std::size_t place, BestPath& found, Poll& poll) {
    try {
      pool.take()->search(*lattices[place], parts[place], options, found, poll);
    } catch (const Error& error) {
      if (error.kind != ErrorKind::TooLarge) throw;
      problems[place] = error.what();
    }
  };
  const auto found = search_batch<BestPath>(count, workers, search);
  std::vector<std::pair<std::size_t, std::string>> too_large;
  for (std::size_t place = 0; place < count; ++place) {
    if (!problems[place].empty()) too_large.emplace_back(place, std::move(problems[place]));
  }
  std::vector<double> values;
  std::vector<Index> numbers, arcs;
  std::vector<std::int64_t> offset{0};
  for (const auto& best : found) {
    values.push_back(best.value);
    numbers.push_back(best.part);
    arcs.insert(arcs.end(), best.arcs.begin(), best.arcs.end());
    offset.push_back(static_cast<std::int64_t>(arcs.size()));
  }
  return {give(std::move(values)), give(std::move(numbers)), give(std::move(offset)),
          give(std::move(arcs)), std::move(too_large)};
}

}  // namespace

void bind_intersection(nb::module_& module) {
  nb::class_<AlignmentColumns>(module, "AlignmentColumns", "The columns of an alignment, checked.")
      .def(AlignmentColumns::Init(), "length"_a, "order"_a, "insertion"_a, "deletion"_a,
           "heaviest"_a, "word"_a, "position"_a, "weight"_a);
  nb::class_<AutomatonRows>(module, "AutomatonColumns",
                            "The columns of an automaton, checked and put in order.")
      .def(nb::new_(&automaton_rows), "src"_a, "dst"_a, "label"_a, "gain"_a, "initial"_a, "final"_a,
           "order"_a);
  module.def("search_lattices", &search_lattices, "lattices"_a, "machines"_a, "model_weight"_a,
             "memory"_a, "workers"_a,
             "Return the value of the best path of each lattice, the part of the machine it comes\n"
             "from (-1 where no path is complete), where its arcs begin in a column of all, and\n"
             "which lattices are too large for so many bytes, and why.\n"
             "\n"
             "A machine is a sequence of parts (automaton, denominator, bonus).");
}

}  // namespace lattices
