// The search of forests, for the best and the k best: the bindings.
#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/forest_ranked.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

namespace {

using Ranked = std::pair<std::vector<Array<Index>>, std::vector<std::pair<double, bool>>>;
using GivenPart = std::tuple<const AlignmentColumns*, double, double>;

std::vector<forests::Part> parts_of(const std::vector<GivenPart>& machine) {
  std::vector<forests::Part> parts;
  for (const auto& [alignment, denominator, bonus] : machine) {
    parts.push_back({alignment, denominator, bonus});
  }
  return parts;
}

bool run_search(const Forest& forest, std::span<const Part> parts, const SearchOptions& options,
                Poll& poll, BestPath& best) {
  try {
    check_sums(forest);
    best = search_forest(forest, parts, options, poll);
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

BestPath search_forest(const Forest& forest, std::span<const Part> parts,
                       const SearchOptions& options, Poll& poll) {
  std::vector<forests::Part> alignments;
  for (const auto& [automaton, denominator, bonus] : parts) {
    const auto* alignment = std::get_if<const Alignment*>(&automaton);
    if (alignment == nullptr) throw engine_error("forests are searched with alignments alone");
    alignments.push_back({*alignment, denominator, bonus});
  }
  return forests::search(forest, alignments, options, poll);
}

void bind_forest_search(nb::module_& module) {
  nb::class_<SearchHandle>(module, "ForestSearch", "The search of forests, for other modules.");
  module.attr("FOREST_SEARCH") = SearchHandle{run_search};
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
