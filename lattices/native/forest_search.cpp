// The search of forests: the bindings.
#include "lattices/native/forest_search.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

namespace {

using forests::Answer;
using forests::Part;

using Found = std::tuple<std::string, double, Array<Index>, Index>;
using GivenPart = std::tuple<const AlignmentColumns*, double, double>;

// The lists of the caller keep the handles alive while the lock is released.
std::vector<Found> search_forests(const std::vector<const ForestColumns*>& spaces,
                                  const std::vector<std::vector<GivenPart>>& machines,
                                  double model_weight, std::size_t most_cells, int workers) {
  const std::size_t count = spaces.size();
  if (machines.size() != count) throw option_error("not as many machines as forests");
  std::vector<std::vector<Part>> parts(count);
  for (std::size_t index = 0; index < count; ++index) {
    for (const auto& [alignment, denominator, bonus] : machines[index]) {
      parts[index].push_back({alignment, denominator, bonus});
    }
  }
  const forests::Options options{model_weight, most_cells};
  std::vector<Answer> answers(count);
  std::vector<std::string> problems(count);
  unlocked([&] {
    parallel_for(count, workers, check_signals, [&](std::size_t index, Poll& poll) {
      try {
        answers[index] = forests::search(*spaces[index], parts[index], options, poll);
      } catch (const Error& error) {
        problems[index] = error.what();
      }
    });
  });
  std::vector<Found> found;
  found.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    Answer& answer = answers[index];
    found.emplace_back(std::move(problems[index]), answer.value, give(std::move(answer.edges)),
                       answer.part);
  }
  return found;
}

bool run_search(const Forest& forest, std::span<const Part> parts, const forests::Options& options,
                Poll& poll, Answer& answer) {
  try {
    check_sums(forest);
    answer = forests::search(forest, parts, options, poll);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::tuple<bool, std::vector<int>, std::vector<Index>> plan_forest(
    const ForestColumns& forest, const AlignmentColumns& alignment) {
  Poll poll;
  const forests::Matches matches(alignment);
  const forests::Plan plan(forest, alignment, matches, forests::kLine<float>, poll);
  std::vector<int> use;
  for (const forests::Use each : plan.use) use.push_back(static_cast<int>(each));
  return {forests::fits_single(alignment, forests::longest_sentence(forest)), use, plan.rows};
}

}  // namespace

void bind_forest_search(nb::module_& module) {
  nb::class_<forests::SearchHandle>(module, "ForestSearch",
                                    "The search of forests, for other modules.");
  module.attr("FOREST_SEARCH") = forests::SearchHandle{run_search};
  module.def("search_forests", &search_forests, nb::arg("forests"), nb::arg("machines"),
             nb::arg("model_weight"), nb::arg("most_cells"), nb::arg("workers"),
             "Return for each forest why it cannot be searched, or nothing, the best value, the "
             "edges of a derivation from the top down, and its part.");
  module.def("plan_forest", &plan_forest, nb::arg("forest"), nb::arg("alignment"),
             "Return if single precision is enough, what is asked of each node (0 nothing, 1 from "
             "the beginning, 2 from anywhere), and how many rows of items it has.");
}

}  // namespace lattices
