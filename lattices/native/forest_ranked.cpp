// The k best sentences of forests: the bindings.
#include "lattices/native/forest_ranked.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace lattices {

namespace {

using GivenPart = std::tuple<const AlignmentColumns*, double, double>;
using Found = std::tuple<int, std::vector<Array<Index>>, std::vector<std::pair<double, bool>>,
                         Index, std::size_t>;

// The lists of the caller keep the handles alive while the lock is released.
Found rank_forest(const ForestColumns& forest, const Ints& said,
                  const std::vector<GivenPart>& machine, double model_weight, std::size_t k,
                  std::size_t most_cells, std::size_t most_links) {
  if (said.shape(0) != forest.symbol.size()) {
    throw space_error("the column of words has other symbols than the forest");
  }
  std::vector<forests::Part> parts;
  for (const auto& [alignment, denominator, bonus] : machine) {
    parts.push_back({alignment, denominator, bonus});
  }
  auto result = unlocked([&] {
    Poll poll(check_signals);
    const forests::RankedOptions options{model_weight, k, most_cells, most_links};
    return forests::RankedSearch(forest, view(said), options, poll).find(parts);
  });
  std::vector<Array<Index>> derivations;
  for (auto& edges : result.derivations) derivations.push_back(give(std::move(edges)));
  return {static_cast<int>(result.status), std::move(derivations), std::move(result.tries),
          result.part, result.cells};
}

}  // namespace

void bind_forest_ranked(nb::module_& module) {
  module.def(
      "in_tail_order",
      [](const ForestColumns& forest, const Ints& edges, bool mirrored) {
        return give(in_tail_order(forest, view(edges), mirrored));
      },
      nb::arg("forest"), nb::arg("edges"), nb::arg("mirrored"),
      "Return a derivation whose tails stand in the order of the target sides in that of tails.");
  module.def("rank_forest", &rank_forest, nb::arg("forest"), nb::arg("said"), nb::arg("machine"),
             nb::arg("model_weight"), nb::arg("k"), nb::arg("most_cells"), nb::arg("most_links"),
             "Return a status (0 found, 1 tables too large, 2 too many links, 3 too many edges), "
             "the derivations of the best sentences, how much less than the best was looked for "
             "each time and whether that was all, and the part and the cells of large tables.");
  module.def(
      "words_said",
      [](const ForestColumns& characters, const ForestColumns& words, const Ints& origin) {
        if (origin.shape(0) != characters.head.size()) {
          throw space_error("an edge of characters has no edge of words");
        }
        return give(words_said(characters, words, view(origin)));
      },
      nb::arg("characters"), nb::arg("words"), nb::arg("origin"),
      "Return the words that the symbols of a forest of characters stand for.");
}

}  // namespace lattices
