// Rows, and the automata that they read: the bindings.
#include "lattices/native/rows.hpp"

#include <algorithm>
#include <cmath>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/forest_rows.hpp"
#include "lattices/native/normal_form.hpp"
#include "lattices/native/row_search.hpp"

namespace lattices {

namespace {

std::vector<Index> numbers_without_loops(const RowAutomaton& automaton) {
  std::vector<Index> src, dst;
  for (Index arc = 0; arc < automaton.num_arcs(); ++arc) {
    if (automaton.src[arc] == automaton.dst[arc]) continue;
    src.push_back(automaton.src[arc]);
    dst.push_back(automaton.dst[arc]);
  }
  return topological_numbers(src, dst, automaton.num_states()).first;
}

double largest_finite(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

bool all_whole(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) {
    return !std::isfinite(value) || value == std::nearbyint(value);
  });
}

}  // namespace

double largest_total(const RowAutomaton& automaton, double steps) {
  double spoken = 0.0, once = 0.0, looping = 0.0;
  // of each state its place in the order of all arcs, -1 on a cycle of several states or behind one
  std::vector<Index> number;
  for (Index arc = 0; arc < automaton.num_arcs(); ++arc) {
    const double size = std::abs(automaton.gain[arc]);
    if (automaton.label[arc] != RowAutomaton::kEpsilon) {
      spoken = std::max(spoken, size);
    } else if (size > 0.0) {
      if (number.empty()) number = numbers_without_loops(automaton);
      (number[automaton.dst[arc]] < 0 ? looping : once) += size;
    }
  }
  const double ends = largest_finite(automaton.initial) + largest_finite(automaton.final) +
                      largest_finite(automaton.lead);
  // every gain is written down, even if no sentence has a word
  return spoken * std::max(1.0, steps) + once + looping * (steps + 1.0) + ends;
}

bool has_whole_gains(const RowAutomaton& automaton) {
  return all_whole(automaton.gain) && all_whole(automaton.initial) && all_whole(automaton.final);
}

void check_columns(const RowAutomaton& automaton) {
  const std::size_t arcs = automaton.src.size(), states = automaton.final.size();
  const bool even = automaton.dst.size() == arcs && automaton.label.size() == arcs &&
                    automaton.gain.size() == arcs && automaton.initial.size() == states &&
                    automaton.order.size() == states &&
                    automaton.kept.size() == automaton.forgotten.size() &&
                    automaton.lead.size() == automaton.forgotten.size();
  if (!even) throw option_error("the columns of an automaton differ in length");
  for (const auto column :
       {automaton.src, automaton.dst, automaton.order, automaton.forgotten, automaton.kept}) {
    for (const Index state : column) {
      if (state >= 0 && static_cast<std::size_t>(state) < states) continue;
      throw option_error("an automaton names a state that is not one of 0.." +
                         std::to_string(static_cast<std::ptrdiff_t>(states) - 1));
    }
  }
  std::vector<Index> rank(states, -1);
  for (std::size_t at = 0; at < states; ++at) rank[automaton.order[at]] = static_cast<Index>(at);
  bool ordered = std::ranges::find(rank, -1) == rank.end();
  for (std::size_t arc = 0; arc < arcs; ++arc) {
    ordered &= automaton.label[arc] != RowAutomaton::kEpsilon ||
               rank[automaton.src[arc]] < rank[automaton.dst[arc]];
  }
  if (!ordered) throw option_error("an epsilon arc of an automaton leads back in its order");
}

namespace {

template <class Reader>
std::vector<Index> classes_of(const Lattice& lattice, const Reader& reader) {
  auto found = arc_classes(lattice, [&](Index word) { return reader.class_of(word); });
  // callers say which lattice it is
  if (!found) throw space_error("a lattice has no complete path");
  return *std::move(found);
}

template <class Reader>
std::size_t row_bytes(const Reader& reader) {
  using Machine = RowMachine<Reader>;
  return 2 * reader.width() * sizeof(typename Machine::Gain) +
         reader.num_classes() * sizeof(typename Machine::Step) + 64;
}

// The rows of all prefixes of a sentence: for tests, and to look at.
auto read_rows(const RowTables& machine, const Ints& words) {
  return machine.visit([&](const auto& reader) {
    using Gain = typename std::decay_t<decltype(reader)>::Gain;
    const std::size_t width = reader.width();
    const auto said = view(words);
    std::vector<std::int64_t> rows, gains;
    std::vector<Gain> row(width), next(width);
    gains.push_back(reader.open(row));
    rows.insert(rows.end(), row.begin(), row.end());
    for (const Index word : said) {
      gains.push_back(reader.step(row, reader.class_of(word), next));
      row.swap(next);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    gains.push_back(reader.ending(row));
    return give_all(Grid<std::int64_t>{std::move(rows), said.size() + 1, width}, gains);
  });
}

}  // namespace

void bind_rows(nb::module_& module) {
  nb::class_<RowAutomatonColumns>(module, "RowAutomatonColumns")
      .def(RowAutomatonColumns::Init(), "src"_a, "dst"_a, "label"_a, "gain"_a, "initial"_a,
           "final"_a, "order"_a, "forgotten"_a, "kept"_a, "lead"_a)
      .def("largest_total", native(largest_total), "steps"_a,
           "Return a bound of what any alignment gains or loses.")
      .def("has_whole_gains", native(has_whole_gains), "Tell whether all gains are whole numbers.");
  nb::class_<RowTables>(module, "RowTables", "An automaton, ready to be read by rows.")
      .def(
          "__init__",
          [](RowTables* place, const RowAutomatonColumns& automaton, bool narrow) {
            new (place) RowTables(automaton, narrow);
          },
          "automaton"_a, "narrow"_a)
      .def("read", &read_rows, "words"_a,
           "Return the rows before, between and behind the words of a sentence, and what was\n"
           "gained with each, then by ending. What is absent is -2**30 or less.")
      .def_prop_ro(
          "row_bytes",
          [](const RowTables& machine) {
            return machine.visit([](const auto& reader) { return row_bytes(reader); });
          },
          "What one more row takes in a search: the row, its answers and its steps.")
      .def(
          "words",
          [](const RowTables& machine) {
            return machine.visit([](const auto& reader) {
              const auto words = reader.words();
              return give(std::vector<Index>(words.begin(), words.end()));
            });
          },
          "Return the words that some arc reads, ascending.");
  module.def(
      "row_product",
      native([](const Lattice& lattice, const RowTables& machine, std::size_t pairs,
                std::size_t bytes, Poll& poll) {
        return machine.visit([&](const auto& reader) {
          RowMachine rows(reader);
          return row_product(lattice, classes_of(lattice, reader), rows, {pairs, bytes}, poll);
        });
      }),
      "lattice"_a, "machine"_a, "pairs"_a, "bytes"_a,
      "Return the product of a lattice with rows, or None beyond the budget of pairs and bytes:\n"
      "the opening gain, the number of rows; state and ending of each pair; source, target,\n"
      "origin and gain of each arc.");
  module.def(
      "lowest_path",
      native([](const Lattice& lattice, const RowTables& machine, double model_weight,
                std::size_t pairs, std::size_t bytes, std::size_t widest, Poll& poll) {
        return machine.visit([&](const auto& reader) {
          RowMachine rows(reader);
          LowestSearch search(lattice, rows, model_weight, widest);
          return search(classes_of(lattice, reader), {pairs, bytes}, poll);
        });
      }),
      "lattice"_a, "machine"_a, "model_weight"_a, "pairs"_a, "bytes"_a, "widest"_a,
      "Return the lowest value of a sentence and the arcs of its path, or None beyond the budget\n"
      "of pairs and bytes. A state keeps at most `widest` prefixes, if that is not 0.");
  nb::class_<ForestRowAim>(module, "ForestRowAim", "What a product of a forest is made for.")
      .def(nb::init<double, double, std::size_t>(), "sign"_a, "weight"_a, "k"_a);
  module.def(
      "forest_row_product",
      native([](const Forest& forest, const RowTables& machine, const ForestRowAim& aim,
                std::size_t pairs, std::size_t bytes, std::size_t steps, std::size_t cells,
                Poll& poll) {
        return machine.visit([&](const auto& reader) {
          RowMachine rows(reader);
          ForestRowSearch search(forest, rows, aim);
          return search({{pairs, bytes}, steps, cells}, poll);
        });
      }),
      "forest"_a, "machine"_a, "aim"_a, "pairs"_a, "bytes"_a, "steps"_a, "cells"_a,
      "Return the product of a forest with rows, or None beyond the budget of pairs, of bytes, of\n"
      "edges that are looked at, and of cells of matrices: the numbers of pairs and of rows; "
      "head,\n"
      "origin and gain of each edge; tails and their offsets.");
  module.def("longest_sentence", native(longest_sentence), "forest"_a,
             "Return the number of words of the longest sentence: it can be huge, hence a float.");
}

}  // namespace lattices
