// The k best paths, derivations and sentences: the bindings.
#include "lattices/native/kbest.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <utility>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/product.hpp"

namespace lattices {

namespace {

// Rows of numbers, one after the other, and where each begins.
struct Rows {
  std::vector<Index> entry, offset{0};
  // what each was ranked by, where that is a merit
  std::vector<double> worth;

  void end_row() { offset.push_back(static_cast<Index>(entry.size())); }
};
using GivenRows = std::pair<Array<Index>, Array<Index>>;

std::optional<GivenRows> give_rows(std::optional<Rows>&& rows) {
  if (!rows) return std::nullopt;
  return GivenRows{give(std::move(rows->entry)), give(std::move(rows->offset))};
}

constexpr double kMostEdges = std::numeric_limits<Index>::max();

// The k best derivations of a root; `write` appends what an edge stands for. Nothing if they are
// too long to be written down.
template <template <class> class Filter, class G, class Ranking, class Write>
std::optional<Rows> search(const G& graph, const Ranking& ranking, Index root, std::size_t k,
                           Write write) {
  Poll poll(check_signals);
  LazyKBest<G, Ranking, Filter> search(graph, ranking, poll);
  const std::vector<Index> found = search.best(root, k);
  Rows rows;
  double total = 0.0;
  if constexpr (!G::linear) {
    const std::vector<double> sizes = search.made().sizes();
    for (const Index derivation : found) total += sizes[derivation];
  }
  for (const Index derivation : found) {
    if (total > kMostEdges || static_cast<double>(rows.entry.size()) > kMostEdges)
      return std::nullopt;
    search.made().unroll(derivation, [&](const auto& edge) { write(rows.entry, edge); });
    rows.end_row();
    if constexpr (std::same_as<typename Ranking::Value, Merit>) {
      rows.worth.push_back(search.made().value(derivation).worth);
    }
  }
  if (static_cast<double>(rows.entry.size()) > kMostEdges) return std::nullopt;
  return rows;
}

template <class G, class Ranking, class Write>
std::optional<Rows> search(bool distinct, const G& graph, const Ranking& ranking, Index root,
                           std::size_t k, Write write) {
  return distinct ? search<OneForEachSentence>(graph, ranking, root, k, write)
                  : search<EveryDerivation>(graph, ranking, root, k, write);
}

template <class T>
void check_length(std::span<const T> column, std::size_t wanted, const char* name) {
  if (column.size() != wanted) {
    throw space_error(std::string(name) + " has " + std::to_string(column.size()) +
                      " entries, expected " + std::to_string(wanted));
  }
}

auto arcs_of(const Suffixes& graph) {
  return [&graph](std::vector<Index>& row, Index edge) {
    if (!graph.ends(edge)) row.push_back(edge);
  };
}

std::optional<Rows> k_best_paths(const Lattice& lattice, std::size_t k, bool distinct) {
  const Suffixes graph{lattice, lattice.label};
  const ByScore<Suffixes> ranking{graph};
  return search(distinct, graph, ranking, lattice.start, k, arcs_of(graph));
}

std::optional<Rows> k_best_derivations(const Forest& forest, std::size_t k, bool distinct) {
  const ForestDerivations graph{forest, forest.symbol};
  const ByScore<ForestDerivations> ranking{graph};
  return search(distinct, graph, ranking, forest.root, k,
                [](std::vector<Index>& row, Index edge) { row.push_back(edge); });
}

// What the arcs of a lattice gain, and its ends.
struct PathGains {
  std::span<const double> arc, end;

  double gain(Index edge) const {
    const auto arcs = static_cast<Index>(arc.size());
    return edge < arcs ? arc[edge] : end[edge - arcs];
  }
  static double in_values(Index, double gain) { return gain; }
};

std::optional<Rows> ranked_paths(const Lattice& lattice, std::span<const Index> word,
                                 const PathGains& gains, double sign, double weight,
                                 std::size_t k) {
  const Suffixes graph{lattice, word};
  const ByMerit<Suffixes, PathGains> ranking{graph, gains, sign, weight};
  return search<OneForEachSentence>(graph, ranking, lattice.start, k, arcs_of(graph));
}

struct ProductGains {
  static double gain(const Product::Edge& edge) { return edge.gain; }
  static double in_values(const Product::Edge&, double gain) { return gain; }
};

std::optional<Rows> best_in_product(const Lattice& lattice, std::span<const Index> word,
                                    const AutomatonArcs& given, double weight, std::size_t k) {
  const OrderedAutomaton automaton(given);
  const Product graph(lattice, word, automaton);
  const ByMerit<Product, ProductGains> ranking{graph, {}, 1.0, weight};
  return search<OneForEachSentence>(graph, ranking, Product::root, k,
                                    [](std::vector<Index>& row, const Product::Edge& edge) {
                                      if (edge.arc != kNone) row.push_back(edge.arc);
                                    });
}

struct DerivationGains {
  std::span<const double> edge, denominator;

  double gain(Index number) const { return edge[number]; }
  double in_values(Index number, double gain) const { return gain / denominator[number]; }
};

std::optional<Rows> ranked_derivations(const Forest& forest, std::span<const Index> said,
                                       const DerivationGains& gains, double sign, double weight,
                                       std::size_t k) {
  const ForestDerivations graph{forest, said};
  const ByMerit<ForestDerivations, DerivationGains> ranking{graph, gains, sign, weight};
  return search<OneForEachSentence>(
      graph, ranking, forest.root, k,
      [](std::vector<Index>& row, Index edge) { row.push_back(edge); });
}

}  // namespace

void bind_kbest(nb::module_& module) {
  module.def(
      "k_best_paths",
      [](const LatticeColumns& lattice, std::size_t k, bool distinct) {
        return give_rows(unlocked([&] { return k_best_paths(lattice, k, distinct); }));
      },
      nb::arg("lattice"), nb::arg("k"), nb::arg("distinct"),
      "Return the arcs of the best paths, one after the other, and where each begins.");
  module.def(
      "k_best_derivations",
      [](const ForestColumns& forest, std::size_t k, bool distinct) {
        return give_rows(unlocked([&] { return k_best_derivations(forest, k, distinct); }));
      },
      nb::arg("forest"), nb::arg("k"), nb::arg("distinct"),
      "Return the edges of the best derivations and where each begins; None if they are too many.");
  module.def(
      "ranked_paths",
      [](const LatticeColumns& lattice, const Ints& word, const Floats& gain,
         const Floats& final_gain, double sign, double weight, std::size_t k) {
        check_length(view(word), lattice.src.size(), "the column of words");
        check_length(view(gain), lattice.src.size(), "the column of gains");
        check_length(view(final_gain), lattice.final.size(), "the column of final gains");
        return give_rows(unlocked([&] {
          return ranked_paths(lattice, view(word), {view(gain), view(final_gain)}, sign, weight, k);
        }));
      },
      nb::arg("lattice"), nb::arg("word"), nb::arg("gain"), nb::arg("final_gain"), nb::arg("sign"),
      nb::arg("weight"), nb::arg("k"),
      "Return the arcs of the sentences of the highest sign * (gain + weight * score).");
  module.def(
      "ranked_derivations",
      [](const ForestColumns& forest, const Ints& said, const Floats& gain,
         const Floats& denominator, double sign, double weight,
         std::size_t k) -> std::optional<std::tuple<Array<Index>, Array<Index>, Array<double>>> {
        check_length(view(said), forest.symbol.size(), "the column of words");
        check_length(view(gain), forest.head.size(), "the column of gains");
        check_length(view(denominator), forest.head.size(), "the column of denominators");
        auto rows = unlocked([&] {
          return ranked_derivations(forest, view(said), {view(gain), view(denominator)}, sign,
                                    weight, k);
        });
        if (!rows) return std::nullopt;
        return std::tuple(give(std::move(rows->entry)), give(std::move(rows->offset)),
                          give(std::move(rows->worth)));
      },
      nb::arg("forest"), nb::arg("said"), nb::arg("gain"), nb::arg("denominator"), nb::arg("sign"),
      nb::arg("weight"), nb::arg("k"),
      "Return the edges of the sentences of the highest sign * (gain / denominator + weight * "
      "score), where each begins, and these values; None if the edges are too many.");
  module.def(
      "best_in_product",
      [](const LatticeColumns& lattice, const Ints& word, const nb::object& automaton,
         double weight, std::size_t k) {
        check_length(view(word), lattice.src.size(), "the column of words");
        const auto integers = [&](const char* name) {
          return nb::cast<Ints>(automaton.attr(name));
        };
        const auto numbers = [&](const char* name) {
          return nb::cast<Floats>(automaton.attr(name));
        };
        const Ints src = integers("src"), dst = integers("dst"), label = integers("label");
        const Ints order = integers("order");
        const Floats gain = numbers("gain"), initial = numbers("initial"), final = numbers("final");
        const AutomatonArcs arcs{view(src),     view(dst),   view(label), view(gain),
                                 view(initial), view(final), view(order)};
        return give_rows(
            unlocked([&] { return best_in_product(lattice, view(word), arcs, weight, k); }));
      },
      nb::arg("lattice"), nb::arg("word"), nb::arg("automaton"), nb::arg("weight"), nb::arg("k"),
      "Return the arcs of the sentences of the highest gain + weight * score.");
}

}  // namespace lattices
