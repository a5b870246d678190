// The k best paths, derivations and sentences: the bindings.
#include "lattices/native/kbest.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "lattices/native/best.hpp"
#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/path_lists.hpp"
#include "lattices/native/product.hpp"
#include "lattices/native/sentence_columns.hpp"

namespace lattices {

namespace {

// Rows of numbers, one after the other, and where each begins.
struct Rows {
  std::vector<Index> entry, offset{0};

  void end_row() { offset.push_back(static_cast<Index>(entry.size())); }
};

// The k best derivations of a root; `write` appends what an edge stands for.
template <template <class> class Filter, class Space, class G, class Ranking, class Write>
Rows search(const Space& space, const G& graph, const Ranking& ranking, Index root, std::size_t k,
            Write write, Poll& poll, std::size_t memory = std::numeric_limits<std::size_t>::max()) {
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
            std::size_t k, Write write, Poll& poll) {
  return distinct ? search<OneForEachSentence>(space, graph, ranking, root, k, write, poll)
                  : search<EveryDerivation>(space, graph, ranking, root, k, write, poll);
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

Rows k_best_paths(const Lattice& lattice, std::size_t k, bool distinct, Poll& poll) {
  const Suffixes graph{lattice, lattice.label};
  const ByScore<Suffixes> ranking{graph};
  return search(distinct, lattice, graph, ranking, lattice.start, k, arcs_of(graph), poll);
}

Rows k_best_derivations(const Forest& forest, std::size_t k, bool distinct, Poll& poll) {
  const ForestDerivations graph{forest, forest.symbol};
  const ByScore<ForestDerivations> ranking{graph};
  return search(
      distinct, forest, graph, ranking, forest.root, k,
      [](std::vector<Index>& row, Index edge) { row.push_back(edge); }, poll);
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

Rows ranked_paths(const Lattice& lattice, std::span<const Index> word, std::span<const double> gain,
                  std::span<const double> final_gain, double sign, double weight, std::size_t k,
                  Poll& poll) {
  check_length(word, lattice.src.size(), "the column of words");
  check_length(gain, lattice.src.size(), "the column of gains");
  check_length(final_gain, lattice.final.size(), "the column of final gains");
  const Suffixes graph{lattice, word};
  const PathGains gains{gain, final_gain};
  const ByMerit<Suffixes, PathGains> ranking{graph, gains, sign, weight};
  return search<OneForEachSentence>(lattice, graph, ranking, lattice.start, k, arcs_of(graph),
                                    poll);
}

struct ProductGains {
  static double gain(const Product::Edge& edge) { return edge.gain; }
  static double in_values(const Product::Edge&, double gain) { return gain; }
};

Rows best_in_product(const Lattice& lattice, std::span<const Index> word, const RowAutomaton& given,
                     double weight, std::size_t k, std::size_t memory, Poll& poll) {
  check_length(word, lattice.src.size(), "the column of words");
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
      poll, memory - static_cast<std::size_t>(bytes));
}

Rows ranked_derivations(const Forest& forest, std::span<const Index> said,
                        std::span<const double> gain, double sign, double weight, std::size_t k,
                        Poll& poll) {
  check_length(said, forest.symbol.size(), "the column of words");
  check_length(gain, forest.head.size(), "the column of gains");
  const ForestDerivations graph{forest, said};
  const ByMerit<ForestDerivations, PathGains> ranking{graph, {gain, {}}, sign, weight};
  return search<OneForEachSentence>(
      forest, graph, ranking, forest.root, k,
      [](std::vector<Index>& row, Index edge) { row.push_back(edge); }, poll);
}

PathLister lister_of(const LatticeColumns& lattice, const FeatureColumns* features) {
  if (features == nullptr) return {lattice, nullptr, nullptr, 0};
  if (!features->fit(lattice)) throw space_error("the features have not one row an arc");
  return {lattice, &features->edges, &features->ends, features->names.size()};
}

// The features of a list, as Python keeps them; None for those of a lattice without features.
nb::object give_features(PathList& list, const FeatureColumns* features) {
  if (features == nullptr) return nb::none();
  return nb::cast(new FeatureColumns(features->names, std::move(list.features), OwnedRows{}),
                  nb::rv_policy::take_ownership);
}

auto path_list(const LatticeColumns& lattice, const FeatureColumns* features, const Ints& arcs,
               const Ints& offset) {
  const auto paths = sentences_of(arcs, offset);
  for (const Index arc : paths.label) {
    if (arc < 0 || arc >= lattice.num_edges()) throw option_error("a path has no such arc");
  }
  PathLister lister = lister_of(lattice, features);
  auto list = unlocked([&] {
    PathList made;
    for (Index path = 0; path < paths.size(); ++path) lister.add(paths.words(path), made);
    return made;
  });
  return std::tuple(give(std::move(list.label)), give(std::move(list.offset)),
                    give(std::move(list.score)), give_features(list, features), list.finite);
}

// The k best paths of many lattices as lists, in columns that hold all of them one after the other.
auto k_best_lists(const nb::list& given, std::size_t k, bool distinct, int workers) {
  struct Problem {
    const LatticeColumns* lattice;
    const FeatureColumns* features;
    PathLister lister;
  };
  std::vector<Problem> problems;
  problems.reserve(given.size());
  for (const nb::handle item : given) {
    const auto parts = nb::cast<nb::tuple>(item);
    if (parts.size() != 2) throw nb::type_error("a problem has two parts");
    const auto* lattice = nb::cast<const LatticeColumns*>(parts[0]);
    const auto* features = parts[1].is_none() ? nullptr : nb::cast<const FeatureColumns*>(parts[1]);
    problems.push_back({lattice, features, lister_of(*lattice, features)});
  }
  auto lists = search_batch<PathList>(
      problems.size(), workers, [&](std::size_t place, PathList& list, Poll& poll) {
        Problem& problem = problems[place];
        const Rows found = k_best_paths(*problem.lattice, k, distinct, poll);
        for (std::size_t row = 0; row + 1 < found.offset.size(); ++row) {
          const Index begin = found.offset[row], end = found.offset[row + 1];
          problem.lister.add(std::span(found.entry).subspan(begin, end - begin), list);
        }
      });
  std::vector<Index> label, offset;
  std::vector<double> score;
  std::vector<std::pair<std::size_t, std::size_t>> sizes;
  nb::list features;
  bool finite = true;
  for (std::size_t place = 0; place < lists.size(); ++place) {
    PathList& list = lists[place];
    label.insert(label.end(), list.label.begin(), list.label.end());
    offset.insert(offset.end(), list.offset.begin(), list.offset.end());
    score.insert(score.end(), list.score.begin(), list.score.end());
    sizes.emplace_back(list.size(), list.label.size());
    finite &= list.finite;
    features.append(give_features(list, problems[place].features));
  }
  return std::tuple(give(std::move(label)), give(std::move(offset)), give(std::move(score)),
                    std::move(sizes), std::move(features), finite);
}

}  // namespace

void bind_kbest(nb::module_& module) {
  module.def("path_list", path_list, "lattice"_a, "features"_a.none(), "arcs"_a, "offset"_a,
             nb::sig("def path_list(lattice: LatticeColumns, features: FeatureColumns | None, "
                     "arcs: numpy.typing.NDArray[numpy.int32], "
                     "offset: numpy.typing.NDArray[numpy.int32]) -> "
                     "tuple[numpy.typing.NDArray[numpy.int32], "
                     "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], "
                     "FeatureColumns | None, bool]"),
             "Return the words of complete paths, where those of each begin, the scores, the\n"
             "features, and whether all scores and features are finite.");
  module.def(
      "k_best_lists", k_best_lists, "problems"_a, "k"_a, "distinct"_a, "workers"_a,
      nb::sig("def k_best_lists(problems: list[tuple[LatticeColumns, FeatureColumns | None]], "
              "k: int, distinct: bool, workers: int) -> "
              "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32], "
              "numpy.typing.NDArray[numpy.float64], list[tuple[int, int]], "
              "list[FeatureColumns | None], bool]"),
      "Return the k best paths of each lattice as lists: the words of all of them, where those of\n"
      "each entry begin in its list, the scores, the entries and words of each list, the "
      "features,\n"
      "and whether all scores and features are finite. A lattice without a path has no entries.");
  module.def("k_best_paths", native(k_best_paths), "lattice"_a, "k"_a, "distinct"_a,
             "Return the arcs of the best paths, one after the other, and where each begins.");
  module.def("k_best_derivations", native(k_best_derivations), "forest"_a, "k"_a, "distinct"_a,
             "Return the edges of the best derivations, and where each begins.");
  module.def("ranked_paths", native(ranked_paths), "lattice"_a, "word"_a, "gain"_a, "final_gain"_a,
             "sign"_a, "weight"_a, "k"_a,
             "Return the arcs of the sentences of the highest sign * (gain + weight * score).");
  module.def("ranked_derivations", native(ranked_derivations), "forest"_a, "said"_a, "gain"_a,
             "sign"_a, "weight"_a, "k"_a,
             "Return the edges of the sentences of the highest sign * (gain + weight * score).");
  module.def("best_in_product", native(best_in_product), "lattice"_a, "word"_a, "automaton"_a,
             "weight"_a, "k"_a, "memory"_a,
             "Return the arcs of the sentences of the highest gain + weight * score.");
}

}  // namespace lattices
