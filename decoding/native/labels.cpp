// The best sentences of spaces under BLEU: the bindings.
#include "decoding/native/labels.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

// A problem as Python has it: a space, the units and words of its arcs or symbols, references and
// where each begins.
using Given = std::tuple<nb::object, Ints, Ints, Ints, Ints>;
// Paths, statistics, rows that dominate all, the bound, whether a search was completed, whether the
// answer is proven, the number of labels.
using Answer = std::tuple<std::vector<std::vector<Index>>, Matrix<double>, Matrix<double>, double,
                          bool, bool, std::size_t>;

struct Checked {
  const LatticeColumns* lattice = nullptr;
  const ForestColumns* forest = nullptr;
  std::span<const Index> unit, word;
  fstmetrics::Sentences references;
};

Checked checked(const Given& given) {
  const auto& [space, unit, word, reference, offset] = given;
  Checked problem;
  problem.unit = view(unit);
  problem.word = view(word);
  problem.references = {view(reference), view(offset)};
  fstmetrics::check(problem.references);
  std::size_t size;
  if (nb::isinstance<LatticeColumns>(space)) {
    problem.lattice = nb::cast<const LatticeColumns*>(space);
    size = problem.lattice->label.size();
  } else {
    problem.forest = nb::cast<const ForestColumns*>(space);
    size = problem.forest->symbol.size();
  }
  if (problem.unit.size() != size || problem.word.size() != size) {
    throw option_error("units or words that do not fit the space");
  }
  return problem;
}

template <std::size_t W>
LabelAnswer solve(const Checked& problem, LabelSearch<W>& search, Poll& poll) {
  if (problem.lattice != nullptr) {
    return search.solve(
        LabelProblem<Lattice>{problem.lattice, problem.unit, problem.word, problem.references},
        poll);
  }
  return search.solve(
      LabelProblem<Forest>{problem.forest, problem.unit, problem.word, problem.references}, poll);
}

template <std::size_t W>
void solve_all(std::span<const Checked> problems, const LabelMetric& metric,
               const LabelOptions& options, int workers, std::vector<LabelAnswer>& answers) {
  parallel_for(problems.size(), workers, check_signals, [&](std::size_t place, Poll& poll) {
    LabelSearch<W> search(metric, options);
    answers[place] = solve(problems[place], search, poll);
  });
}

std::vector<Answer> search_labels(const std::vector<Given>& given, const Floats& weight,
                                  std::tuple<int, double, bool, bool> scoring,
                                  std::tuple<int, bool> lengths,
                                  std::tuple<Index, bool, bool, double> wanted,
                                  std::tuple<std::size_t, std::size_t, std::size_t> limits,
                                  int workers) {
  const auto [smoothing, value, effective_order, arithmetic] = scoring;
  const auto [length, strict] = lengths;
  const auto [k, worst, front, model_weight] = wanted;
  const auto [budget, memory, quick] = limits;
  const std::size_t order = weight.shape(0);
  if (order < 1 || order > 100 || k < 1) throw option_error("an order or k out of range");
  const LabelMetric metric{{view(weight), static_cast<fstmetrics::Smoothing>(smoothing), value,
                            effective_order, arithmetic},
                           static_cast<fstmetrics::EffectiveLength>(length),
                           strict};
  const LabelOptions options{k, worst, front, model_weight, budget, memory, quick};
  std::vector<Checked> problems;
  problems.reserve(given.size());
  for (const auto& each : given) problems.push_back(checked(each));
  std::vector<LabelAnswer> answers(given.size());
  unlocked([&] {
    if (order <= 4) {
      solve_all<1>(problems, metric, options, workers, answers);
    } else if (order <= 20) {
      solve_all<5>(problems, metric, options, workers, answers);
    } else {
      solve_all<25>(problems, metric, options, workers, answers);
    }
  });
  std::vector<Answer> results;
  results.reserve(answers.size());
  const std::size_t width = 2 * order + 2;
  for (auto& each : answers) {
    const std::size_t rows = each.rows.size() / width, outer = each.outer.size() / width;
    results.emplace_back(std::move(each.paths), give(std::move(each.rows), rows, width),
                         give(std::move(each.outer), outer, width), each.bound, each.complete,
                         each.exact, each.labels);
  }
  return results;
}

}  // namespace

void bind_labels(nb::module_& module) {
  module.def(
      "search_labels", &search_labels, "problems"_a, "weight"_a, "scoring"_a, "lengths"_a,
      "wanted"_a, "limits"_a, "workers"_a,
      "Search spaces for their best sentences under BLEU.\n"
      "\n"
      "A problem has a space's columns, the unit and the word of each arc or symbol, the\n"
      "units of the references and where each reference begins. Scoring: smoothing, its\n"
      "value, effective order or not, arithmetic mean or not; lengths: which is the\n"
      "effective one, a strict penalty or not; wanted: k, the worst or not, the whole front\n"
      "or not, the weight of the model score; limits: labels, bytes, and labels\n"
      "that are searched without a bound.\n"
      "Returns for each problem paths, their statistics, rows that dominate all others, a\n"
      "bound, whether a search was completed, whether it is proven, how many labels there\n"
      "were.");
}

}  // namespace decoding
