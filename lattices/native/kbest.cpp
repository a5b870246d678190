// The k best paths, derivations and sentences: the bindings.
#include "lattices/native/kbest.hpp"

#include <nanobind/stl/tuple.h>

#include <limits>
#include <utility>

#include "lattices/native/best.hpp"
#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/product.hpp"

namespace lattices {

namespace {

// Rows of numbers, one after the other, and where each begins.
struct Rows {
  std::vector<Index> entry, offset{0};

  void end_row() { offset.push_back(static_cast<Index>(entry.size())); }
};

// Search without the lock, and give the rows that were found.
template <class Search>
auto give_rows(Search&& search) {
  auto rows = unlocked(search);
  return give_all(rows.entry, rows.offset);
}

// The k best derivations of a root; `write` appends what an edge stands for.
template <template <class> class Filter, class Space, class G, class Ranking, class Write>
Rows search(const Space& space, const G& graph, const Ranking& ranking, Index root, std::size_t k,
            Write write, std::size_t memory = std::numeric_limits<std::size_t>::max()) {
  Poll poll(check_signals);
  LazyKBest<G, Ranking, Filter> search(graph, ranking, poll, memory);
  const std::vector<Index> found = search.best(root, k);
  if constexpr (!G::linear) search.made().check_sizes(space, found);
  Rows rows;
  for (const Index derivation : found) {
    search.made().unroll(derivation, [&](const auto& edge) { write(rows.entry, edge); });
    check_unfolded_all(space, static_cast<double>(rows.entry.size()));
    rows.end_row();
  }
  return rows;
}

template <class Space, class G, class Ranking, class Write>
Rows search(bool distinct, const Space& space, const G& graph, const Ranking& ranking, Index root,
            std::size_t k, Write write) {
  return distinct ? search<OneForEachSentence>(space, graph, ranking, root, k, write)
                  : search<EveryDerivation>(space, graph, ranking, root, k, write);
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

Rows k_best_paths(const Lattice& lattice, std::size_t k, bool distinct) {
  const Suffixes graph{lattice, lattice.label};
  const ByScore<Suffixes> ranking{graph};
  return search(distinct, lattice, graph, ranking, lattice.start, k, arcs_of(graph));
}

Rows k_best_derivations(const Forest& forest, std::size_t k, bool distinct) {
  const ForestDerivations graph{forest, forest.symbol};
  const ByScore<ForestDerivations> ranking{graph};
  return search(distinct, forest, graph, ranking, forest.root, k,
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

Rows ranked_paths(const Lattice& lattice, std::span<const Index> word, const PathGains& gains,
                  double sign, double weight, std::size_t k) {
  const Suffixes graph{lattice, word};
  const ByMerit<Suffixes, PathGains> ranking{graph, gains, sign, weight};
  return search<OneForEachSentence>(lattice, graph, ranking, lattice.start, k, arcs_of(graph));
}

struct ProductGains {
  static double gain(const Product::Edge& edge) { return edge.gain; }
  static double in_values(const Product::Edge&, double gain) { return gain; }
};

Rows best_in_product(const Lattice& lattice, std::span<const Index> word, const RowAutomaton& given,
                     double weight, std::size_t k, std::size_t memory) {
  using Ranking = ByMerit<Product, ProductGains>;
  const OrderedAutomaton automaton(given);
  // a byte of the product and a node of the search for each pair
  const double pairs = static_cast<double>(lattice.num_nodes()) * automaton.num_states();
  const double bytes = pairs * (1 + LazyKBest<Product, Ranking, OneForEachSentence>::node_bytes());
  if (bytes > static_cast<double>(memory)) {
    throw too_large(std::to_string(lattice.num_nodes()) + " lattice states x " +
                        std::to_string(automaton.num_states()) + " machine states",
                    bytes, memory);
  }
  const Product graph(lattice, word, automaton);
  const Ranking ranking{graph, {}, 1.0, weight};
  return search<OneForEachSentence>(
      lattice, graph, ranking, Product::root, k,
      [](std::vector<Index>& row, const Product::Edge& edge) {
        if (edge.arc != kNone) row.push_back(edge.arc);
      },
      memory - static_cast<std::size_t>(bytes));
}

Rows ranked_derivations(const Forest& forest, std::span<const Index> said,
                        std::span<const double> gain, double sign, double weight, std::size_t k) {
  const ForestDerivations graph{forest, said};
  const ByMerit<ForestDerivations, PathGains> ranking{graph, {gain, {}}, sign, weight};
  return search<OneForEachSentence>(
      forest, graph, ranking, forest.root, k,
      [](std::vector<Index>& row, Index edge) { row.push_back(edge); });
}

}  // namespace

void bind_kbest(nb::module_& module) {
  module.def(
      "k_best_paths",
      [](const LatticeColumns& lattice, std::size_t k, bool distinct) {
        return give_rows([&] { return k_best_paths(lattice, k, distinct); });
      },
      "lattice"_a, "k"_a, "distinct"_a,
      "Return the arcs of the best paths, one after the other, and where each begins.");
  module.def(
      "k_best_derivations",
      [](const ForestColumns& forest, std::size_t k, bool distinct) {
        return give_rows([&] { return k_best_derivations(forest, k, distinct); });
      },
      "forest"_a, "k"_a, "distinct"_a,
      "Return the edges of the best derivations, and where each begins.");
  module.def(
      "ranked_paths",
      [](const LatticeColumns& lattice, const Ints& word, const Floats& gain,
         const Floats& final_gain, double sign, double weight, std::size_t k) {
        check_length(view(word), lattice.src.size(), "the column of words");
        check_length(view(gain), lattice.src.size(), "the column of gains");
        check_length(view(final_gain), lattice.final.size(), "the column of final gains");
        return give_rows([&] {
          return ranked_paths(lattice, view(word), {view(gain), view(final_gain)}, sign, weight, k);
        });
      },
      "lattice"_a, "word"_a, "gain"_a, "final_gain"_a, "sign"_a, "weight"_a, "k"_a,
      "Return the arcs of the sentences of the highest sign * (gain + weight * score).");
  module.def(
      "ranked_derivations",
      [](const ForestColumns& forest, const Ints& said, const Floats& gain, double sign,
         double weight, std::size_t k) {
        check_length(view(said), forest.symbol.size(), "the column of words");
        check_length(view(gain), forest.head.size(), "the column of gains");
        return give_rows(
            [&] { return ranked_derivations(forest, view(said), view(gain), sign, weight, k); });
      },
      "forest"_a, "said"_a, "gain"_a, "sign"_a, "weight"_a, "k"_a,
      "Return the edges of the sentences of the highest sign * (gain + weight * score).");
  module.def(
      "best_in_product",
      [](const LatticeColumns& lattice, const Ints& word, const RowAutomatonColumns& automaton,
         double weight, std::size_t k, std::size_t memory) {
        check_length(view(word), lattice.src.size(), "the column of words");
        return give_rows(
            [&] { return best_in_product(lattice, view(word), automaton, weight, k, memory); });
      },
      "lattice"_a, "word"_a, "automaton"_a, "weight"_a, "k"_a, "memory"_a,
      "Return the arcs of the sentences of the highest gain + weight * score.");
}

}  // namespace lattices
