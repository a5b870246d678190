// The best alignment of a sentence with a reference: the bindings.
#include "fstmetrics/native/aligning.hpp"

#include "fstmetrics/native/bindings.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

AlignmentCosts costs_of(std::size_t order, double insertion, double deletion) {
  if (order < 1 || order > 255) throw option_error("the order of n-grams is from 1 to 255");
  return {order, insertion, deletion};
}

// What different words are worth as matches of each other, and where those of a sentence and of
// a reference are in the table.
struct TableWeight {
  TableWeight(const Table<double>& weight, std::span<const Index> rows,
              std::span<const Index> columns)
      : table(view(weight)), row(rows), column(columns), width(weight.shape(1)) {
    const auto within = [](std::span<const Index> places, std::size_t count) {
      return std::ranges::all_of(places, [&](Index place) {
        return place >= 0 && static_cast<std::size_t>(place) < count;
      });
    };
    if (!within(row, weight.shape(0)) || !within(column, width)) {
      throw lattices::option_error("a word is not in the table of weights");
    }
  }
  double operator()(std::size_t j, std::size_t i) const {
    return table[static_cast<std::size_t>(row[j]) * width + static_cast<std::size_t>(column[i])];
  }

  std::span<const double> table;
  std::span<const Index> row, column;
  std::size_t width;
};

// Align under a table of weights, and return what use(aligner) makes of it.
template <class Use>
auto align(const TableWeight& worth, const AlignmentCosts& costs, Poll& poll, Use&& use) {
  Aligner aligner(costs);
  aligner.align(worth.row.size(), worth.column.size(), worth, poll);
  return use(aligner);
}

}  // namespace

void bind_aligning(nb::module_& module) {
  module.def("align",
             native([](const Table<double>& weight, std::span<const Index> row,
                       std::span<const Index> column, std::size_t order, double insertion,
                       double deletion, Poll& poll) {
               const TableWeight worth(weight, row, column);
               const auto costs = costs_of(order, insertion, deletion);
               return align(worth, costs, poll, [](const Aligner& aligner) {
                 Grid<std::int32_t> rows{{}, aligner.steps().size(), 4};
                 for (const auto& step : aligner.steps()) {
                   rows.values.insert(rows.values.end(),
                                      {step.operation, step.hypothesis, step.reference, step.run});
                 }
                 return rows;
               });
             }),
             "weight"_a, "row"_a, "column"_a, "order"_a, "insertion"_a, "deletion"_a,
             "Return the best alignment: rows (operation, hypothesis, reference, run).\n"
             "\n"
             "Word j is worth weight[row[j], column[i]] as a match of word i of the reference.");
  module.def("soft_statistics",
             native([](const Table<double>& weight, std::span<const Index> row,
                       std::span<const Index> column, std::size_t order, double insertion,
                       double deletion, Poll& poll) {
               const TableWeight worth(weight, row, column);
               const auto costs = costs_of(order, insertion, deletion);
               return align(worth, costs, poll, [&](const Aligner& aligner) {
                 std::vector<double> stats(aligner.width());
                 aligner.statistics(worth, stats);
                 return stats;
               });
             }),
             "weight"_a, "row"_a, "column"_a, "order"_a, "insertion"_a, "deletion"_a,
             "Return the statistics of the best alignment under a table of weights, as `align`.");
  module.def("number_statistics",
             native([](std::span<const Unit> hypothesis, std::span<const Unit> reference,
                       std::size_t order, double insertion, double deletion, Poll& poll) {
               Aligner aligner(costs_of(order, insertion, deletion));
               std::vector<double> row(aligner.width());
               number_statistics(aligner, hypothesis, reference, poll, row);
               return row;
             }),
             "hypothesis"_a, "reference"_a, "order"_a, "insertion"_a, "deletion"_a,
             "Return the statistics of the best alignment of words given as numbers.");
  module.def("list_statistics",
             native([](const Table<double>& table, std::span<const Unit> unit,
                       std::span<const std::int32_t> offset, std::size_t order, double insertion,
                       double deletion, Poll& poll) {
               const auto costs = costs_of(order, insertion, deletion);
               const Sentences list{unit, offset};
               check(list, table.shape(0));
               return Grid<double>{list_statistics(list, view(table), table.shape(1), costs, poll),
                                   list.size(), order + 4};
             }),
             "table"_a, "unit"_a, "offset"_a, "order"_a, "insertion"_a, "deletion"_a,
             "Return one row of statistics for each sentence of a list.");
  nb::class_<WordMetric>(module, "WordMetric",
                         "An alignment metric under which equal words match, and no others.")
      .def(
          "__init__",
          [](WordMetric* self, std::size_t order, double insertion, double deletion,
             double insertion_units, double deletion_units, double one, bool error_rate) {
            new (self) WordMetric{costs_of(order, insertion, deletion), insertion_units,
                                  deletion_units, one, error_rate};
          },
          "order"_a, "insertion"_a, "deletion"_a, "insertion_units"_a, "deletion_units"_a, "one"_a,
          "error_rate"_a);
}

}  // namespace fstmetrics
