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

struct TableWeight {
  std::span<const double> table;
  std::size_t length;
  double operator()(std::size_t j, std::size_t i) const { return table[j * length + i]; }
};

std::vector<std::int32_t> alignment_steps(const Table<double>& weight,
                                          const AlignmentCosts& costs) {
  const TableWeight worth{view(weight), weight.shape(1)};
  Aligner aligner(costs);
  Poll poll(check_signals);
  aligner.align(weight.shape(0), weight.shape(1), worth, poll);
  std::vector<std::int32_t> steps;
  for (const auto& step : aligner.steps()) {
    steps.insert(steps.end(), {step.operation, step.hypothesis, step.reference, step.run});
  }
  return steps;
}

std::vector<double> soft_statistics(const Table<double>& weight, const AlignmentCosts& costs) {
  const TableWeight worth{view(weight), weight.shape(1)};
  Aligner aligner(costs);
  Poll poll(check_signals);
  aligner.align(weight.shape(0), weight.shape(1), worth, poll);
  std::vector<double> row(aligner.width());
  aligner.statistics(worth, row);
  return row;
}

}  // namespace

void bind_aligning(nb::module_& module) {
  module.def(
      "align",
      [](const Table<double>& weight, std::size_t order, double insertion, double deletion) {
        const auto costs = costs_of(order, insertion, deletion);
        auto steps = unlocked([&] { return alignment_steps(weight, costs); });
        const auto count = steps.size() / 4;
        return give(std::move(steps), count, 4);
      },
      nb::arg("weight"), nb::arg("order"), nb::arg("insertion"), nb::arg("deletion"),
      "Return the best alignment: rows (operation, hypothesis, reference, run).");
  module.def(
      "soft_statistics",
      [](const Table<double>& weight, std::size_t order, double insertion, double deletion) {
        const auto costs = costs_of(order, insertion, deletion);
        return give(unlocked([&] { return soft_statistics(weight, costs); }));
      },
      nb::arg("weight"), nb::arg("order"), nb::arg("insertion"), nb::arg("deletion"),
      "Return the statistics of the best alignment under a table of weights.");
  module.def(
      "number_statistics",
      [](const Ints& hypothesis, const Ints& reference, std::size_t order, double insertion,
         double deletion) {
        Aligner aligner(costs_of(order, insertion, deletion));
        std::vector<double> row(aligner.width());
        unlocked([&] {
          Poll poll(check_signals);
          number_statistics(aligner, view(hypothesis), view(reference), poll, row);
        });
        return give(std::move(row));
      },
      nb::arg("hypothesis"), nb::arg("reference"), nb::arg("order"), nb::arg("insertion"),
      nb::arg("deletion"),
      "Return the statistics of the best alignment of words given as numbers.");
  module.def(
      "list_statistics",
      [](const Table<double>& table, const Ints& unit, const Ints& offset, std::size_t order,
         double insertion, double deletion) {
        const auto costs = costs_of(order, insertion, deletion);
        const Sentences list{view(unit), view(offset)};
        check(list, table.shape(0));
        auto rows = unlocked([&] {
          Poll poll(check_signals);
          return list_statistics(list, view(table), table.shape(1), costs, poll);
        });
        return give(std::move(rows), offset.shape(0) - 1, order + 4);
      },
      nb::arg("table"), nb::arg("unit"), nb::arg("offset"), nb::arg("order"), nb::arg("insertion"),
      nb::arg("deletion"), "Return one row of statistics for each sentence of a list.");
  nb::class_<WordMetric>(module, "WordMetric",
                         "An alignment metric under which equal words match, and no others.")
      .def(
          "__init__",
          [](WordMetric* self, std::size_t order, double insertion, double deletion,
             double insertion_units, double deletion_units, double one, bool error_rate) {
            if (order < 1 || order > 255) throw option_error("the order is from 1 to 255");
            new (self) WordMetric{
                {order, insertion, deletion}, insertion_units, deletion_units, one, error_rate};
          },
          nb::arg("order"), nb::arg("insertion"), nb::arg("deletion"), nb::arg("insertion_units"),
          nb::arg("deletion_units"), nb::arg("one"), nb::arg("error_rate"));
}

}  // namespace fstmetrics
