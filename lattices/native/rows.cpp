// Rows: the bindings.
#include "lattices/native/rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/forest_rows.hpp"
#include "lattices/native/row_product.hpp"
#include "lattices/native/row_search.hpp"

namespace lattices {

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
    return give_all(give(std::move(rows), said.size() + 1, width), gains);
  });
}

}  // namespace

void bind_rows(nb::module_& module) {
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
      [](const LatticeColumns& lattice, const RowTables& machine, std::size_t pairs,
         std::size_t bytes) {
        auto found = unlocked([&](Poll& poll) {
          return machine.visit([&](const auto& reader) {
            RowMachine rows(reader);
            return row_product(lattice, classes_of(lattice, reader), rows, {pairs, bytes}, poll);
          });
        });
        return given_or_none(found, [](RowProduct& product) {
          return give_all(product.opening, product.rows, product.state, product.ending, product.src,
                          product.dst, product.origin, product.gain);
        });
      },
      "lattice"_a, "machine"_a, "pairs"_a, "bytes"_a,
      "Return the product of a lattice with rows, or None beyond the budget of pairs and bytes:\n"
      "the opening gain, the number of rows; state and ending of each pair; source, target,\n"
      "origin and gain of each arc.");
  module.def(
      "lowest_path",
      [](const LatticeColumns& lattice, const RowTables& machine, double model_weight,
         std::size_t pairs, std::size_t bytes, std::size_t widest) {
        auto found = unlocked([&](Poll& poll) {
          return machine.visit([&](const auto& reader) {
            RowMachine rows(reader);
            LowestSearch search(lattice, rows, model_weight, widest);
            return search(classes_of(lattice, reader), {pairs, bytes}, poll);
          });
        });
        return given_or_none(found, [](auto& best) { return give_all(best.value, best.arcs); });
      },
      "lattice"_a, "machine"_a, "model_weight"_a, "pairs"_a, "bytes"_a, "widest"_a,
      "Return the lowest value of a sentence and the arcs of its path, or None beyond the budget\n"
      "of pairs and bytes. A state keeps at most `widest` prefixes, if that is not 0.");
  nb::class_<ForestRowAim>(module, "ForestRowAim", "What a product of a forest is made for.")
      .def(nb::init<double, double, std::size_t>(), "sign"_a, "weight"_a, "k"_a);
  module.def(
      "forest_row_product",
      [](const ForestColumns& forest, const RowTables& machine, const ForestRowAim& aim,
         std::size_t pairs, std::size_t bytes, std::size_t steps, std::size_t cells) {
        auto found = unlocked([&](Poll& poll) {
          return machine.visit([&](const auto& reader) {
            RowMachine rows(reader);
            ForestRowSearch search(forest, rows, aim);
            return search({{pairs, bytes}, steps, cells}, poll);
          });
        });
        return given_or_none(found, [](ForestRowProduct& product) {
          return give_all(product.pairs, product.rows, product.head, product.origin, product.gain,
                          product.tail, product.tail_offset);
        });
      },
      "forest"_a, "machine"_a, "aim"_a, "pairs"_a, "bytes"_a, "steps"_a, "cells"_a,
      "Return the product of a forest with rows, or None beyond the budget of pairs, of bytes, of\n"
      "edges that are looked at, and of cells of matrices: the numbers of pairs and of rows; "
      "head,\n"
      "origin and gain of each edge; tails and their offsets.");
  module.def(
      "longest_sentence", [](const ForestColumns& forest) { return longest_sentence(forest); },
      "forest"_a,
      "Return the number of words of the longest sentence: it can be huge, hence a float.");
}

}  // namespace lattices
