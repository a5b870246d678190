// The search of forests, for the best and the k best: the bindings.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/forest_ranked.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

namespace {

using forests::Answer;
using forests::Part;

// Why there is no answer, and whether it would have taken too much memory; or the answer.
using Found = std::tuple<std::string, bool, double, Array<Index>, Index>;
using Ranked = std::pair<std::vector<Array<Index>>, std::vector<std::pair<double, bool>>>;
using GivenPart = std::tuple<const AlignmentColumns*, double, double>;

std::vector<Part> parts_of(const std::vector<GivenPart>& machine) {
  std::vector<Part> parts;
  for (const auto& [alignment, denominator, bonus] : machine) {
    parts.push_back({alignment, denominator, bonus});
  }
  return parts;
}

// The lists of the caller keep the handles alive while the lock is released.
std::vector<Found> search_forests(const std::vector<const ForestColumns*>& spaces,
                                  const std::vector<std::vector<GivenPart>>& machines,
                                  double model_weight, std::size_t memory, int workers) {
  const std::size_t count = spaces.size();
  if (machines.size() != count) throw option_error("not as many machines as forests");
  std::vector<std::vector<Part>> parts;
  for (const auto& machine : machines) parts.push_back(parts_of(machine));
  const forests::Options options{model_weight, memory};
  std::vector<std::string> problems(count);
  std::vector<char> too_large(count, 0);
  const auto search = [&](std::size_t place, Answer& answer, Poll& poll) {
    try {
      answer = forests::search(*spaces[place], parts[place], options, poll);
    } catch (const Error& error) {
      problems[place] = error.what();
      too_large[place] = error.kind == ErrorKind::TooLarge;
    }
  };
  auto answers = search_batch<Answer>(count, workers, search);
  std::vector<Found> found;
  found.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    Answer& answer = answers[index];
    found.emplace_back(std::move(problems[index]), too_large[index] != 0, answer.value,
                       give(std::move(answer.edges)), answer.part);
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

Ranked rank_forest(const ForestColumns& forest, const Ints& said,
                   const std::vector<GivenPart>& machine, double model_weight, std::size_t k,
                   std::size_t memory) {
  if (said.shape(0) != forest.symbol.size()) {
    throw space_error("the column of words has other symbols than the forest");
  }
  const auto parts = parts_of(machine);
  auto result = unlocked([&](Poll& poll) {
    const forests::RankedOptions options{{model_weight, memory}, k};
    return forests::RankedSearch(forest, view(said), options, poll).find(parts);
  });
  std::vector<Array<Index>> derivations;
  for (auto& edges : result.derivations) derivations.push_back(give(std::move(edges)));
  return {std::move(derivations), std::move(result.tries)};
}

auto forest_product(const ForestColumns& forest, const Ints& said,
                    const std::vector<GivenPart>& machine, double slack, std::size_t memory) {
  if (said.shape(0) != forest.symbol.size()) {
    throw space_error("the column of words has other symbols than the forest");
  }
  const auto parts = parts_of(machine);
  auto found = unlocked([&](Poll& poll) {
    const forests::RankedOptions options{{0.0, memory}};
    return forests::RankedSearch(forest, view(said), options, poll).product(parts, slack);
  });
  return give_all(found.num_nodes, found.head, found.tail, found.tail_offset, found.symbol,
                  found.symbol_offset, found.gain, found.origin, found.part);
}

std::tuple<bool, std::vector<int>, std::vector<Index>> plan_forest(
    const ForestColumns& forest, const AlignmentColumns& alignment) {
  Poll poll;
  const forests::Matches matches(alignment);
  const forests::Plan plan(forest, alignment, matches, forests::kLine<float>, poll);
  std::vector<int> use;
  for (const forests::Use each : plan.use) use.push_back(static_cast<int>(each));
  return {forests::fits_single(alignment, longest_sentence(forest)), use, plan.rows};
}

}  // namespace

void bind_forest_search(nb::module_& module) {
  nb::class_<forests::SearchHandle>(module, "ForestSearch",
                                    "The search of forests, for other modules.");
  module.attr("FOREST_SEARCH") = forests::SearchHandle{run_search};
  module.def(
      "search_forests", &search_forests, "forests"_a, "machines"_a, "model_weight"_a, "memory"_a,
      "workers"_a,
      "Return for each forest why it cannot be searched, or nothing, whether that would take "
      "more than so many bytes, the best value, the "
      "edges of a derivation from the top down, and its part.");
  module.def("rank_forest", &rank_forest, "forest"_a, "said"_a, "machine"_a, "model_weight"_a,
             "k"_a, "memory"_a,
             "Return the derivations of the best sentences, and how much less than the best was "
             "looked for each time and whether that was all.");
  module.def("forest_product", &forest_product, "forest"_a, "said"_a, "machine"_a, "slack"_a,
             "memory"_a,
             "Return the number of nodes, head, tails, symbols, gain, edge of the forest and part\n"
             "of the machine of each edge of the product that comes within the slack of the best.");
  module.def("plan_forest", &plan_forest, "forest"_a, "alignment"_a,
             "Return if single precision is enough, what is asked of each node (0 nothing, 1 from "
             "the beginning, 2 from anywhere), and how many rows of items it has.");
}

}  // namespace lattices
