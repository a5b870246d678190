// Totals, posteriors, max-marginals, best and random paths of lattices and forests: the bindings.
#include "lattices/native/inside.hpp"

#include <tuple>

#include "lattices/native/best.hpp"
#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/posteriors.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

namespace {

// What a numpy BitGenerator's capsule holds (numpy/random/bitgen.h, a stable interface).
struct BitGenerator {
  void* state;
  std::uint64_t (*next_uint64)(void*);
  std::uint32_t (*next_uint32)(void*);
  double (*next_double)(void*);
  std::uint64_t (*next_raw)(void*);
};

std::vector<double> word_counts(const Lattice& lattice) {
  std::vector<double> counts;
  counts.reserve(lattice.label.size());
  for (const Index label : lattice.label) counts.push_back(label == 0 ? 0.0 : 1.0);
  return counts;
}
std::vector<double> word_counts(const Forest& forest) {
  std::vector<double> counts(forest.num_edges());
  for (Index edge = 0; edge < forest.num_edges(); ++edge) {
    counts[edge] = static_cast<double>(forest.symbols(edge).size() - forest.tails(edge).size());
  }
  return counts;
}

// The most words that are derived, each weighted so; infinite if they are beyond counting.
double highest_length(const Lattice& lattice, std::span<const double> weight) {
  std::vector<double> end(lattice.final.begin(), lattice.final.end());
  for (double& each : end) {
    if (each != kMinusInfinity) each = 0.0;
  }
  return outside_scores<Viterbi>(lattice, weight, end, {})[lattice.start];
}
double highest_length(const Forest& forest, std::span<const double> weight) {
  return inside_scores<Viterbi>(forest, weight)[forest.root];
}

template <Graph Space>
std::tuple<double, double> path_lengths(const Space& space) {
  auto words = word_counts(space);
  const double longest = highest_length(space, words);
  for (double& each : words) each = -each;
  const double shortest = -highest_length(space, words);
  if (longest == kMinusInfinity) throw no_complete_path(space);
  return {shortest, longest};
}

// Twice, for both kinds of space: nanobind takes the one that fits.
template <class Space>
void bind(nb::module_& module) {
  module.def(
      "inside", native([](const Space& space, int semiring, double scale) {
        return with_semiring(
            semiring, [&](auto kind) { return inside_totals<decltype(kind)>(space, scale); });
      }),
      "space"_a, "semiring"_a, "scale"_a, "Return the sum over all that leads to each node.");
  module.def(
      "outside", native([](const Space& space, int semiring, double scale) {
        return with_semiring(
            semiring, [&](auto kind) { return outside_totals<decltype(kind)>(space, scale); });
      }),
      "space"_a, "semiring"_a, "scale"_a, "Return the sum over all that completes each node.");
  module.def("total", native([](const Space& space, int semiring, double scale) {
               return with_semiring(semiring, [&](auto kind) {
                 return below<decltype(kind)>(space, scale).value[top_down(space).root()];
               });
             }),
             "space"_a, "semiring"_a, "scale"_a,
             "Return the sum over all complete paths or derivations.");
  module.def("check_sums", native(check_sums<Space>), "space"_a,
             "Raise if the scores of some path may overflow, summed in any order.");
  module.def("path_lengths", native(path_lengths<Space>), "space"_a,
             "Return how many words the shortest and the longest path have.");
  module.def("posteriors", native(posteriors<Space>), "space"_a, "scale"_a,
             "Return how often each edge and node is used, and each node ended in, on average.");
  module.def("edge_shares",
             native([](const Space& space, double scale) { return shares(space, scale).edges; }),
             "space"_a, "scale"_a,
             "Return the probability of each edge where its head is derived.");
  module.def("max_marginals", native(max_marginals<Space>), "space"_a,
             "Return the best score, and what each edge and each end loses to it at least.");
  module.def("best_path", native(best_edges<Space>), "space"_a,
             "Return the arcs of the best path, or the edges of the best derivation.");
  module.def(
      "sample_paths",
      [](const typename FromPython<const Space&>::Type space, std::int64_t n, double scale,
         const nb::object& generator) {
        const auto* bits =
            static_cast<const BitGenerator*>(PyCapsule_GetPointer(generator.ptr(), "BitGenerator"));
        if (bits == nullptr) throw nb::python_error();
        auto found = unlocked([&](Poll& poll) {
          const auto random = [&] { return bits->next_double(bits->state); };
          return sample<Space>(space, n, scale, random, poll);
        });
        return shown(found);
      },
      "space"_a, "n"_a, "scale"_a, "generator"_a,
      "Return n random paths. The capsule is that of a numpy BitGenerator, whose lock is held.");
}

}  // namespace

void bind_inside(nb::module_& module) {
  bind<Lattice>(module);
  bind<Forest>(module);
}

}  // namespace lattices
