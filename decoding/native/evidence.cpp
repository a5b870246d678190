// Sentences as evidence: the bindings.
#include "decoding/native/evidence.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/sentence_columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

Sentences paths_of(const Lattice& lattice, const Ints& arcs, const Ints& offset) {
  const auto paths = sentences_of(arcs, offset);
  for (const Index arc : paths.label) {
    if (arc < 0 || arc >= lattice.num_edges()) throw option_error("a path has no such arc");
  }
  return paths;
}

}  // namespace

void bind_evidence(nb::module_& module) {
  module.def(
      "distinct_sentences",
      [](const Ints& label, const Ints& offset) {
        const auto entries = sentences_of(label, offset);
        auto found = unlocked([&] { return distinct_sentences(entries); });
        return give_all(found.sentence, found.first);
      },
      "label"_a, "offset"_a,
      "Return which sentence each entry is, and the first entry of each sentence.");
  module.def(
      "path_sentences",
      [](const LatticeColumns& lattice, const Ints& arcs, const Ints& offset) {
        const auto paths = paths_of(lattice, arcs, offset);
        auto found = unlocked([&] { return path_sentences(lattice, paths); });
        return give_all(found.label, found.offset, found.score);
      },
      "lattice"_a, "arcs"_a, "offset"_a,
      "Return the words of complete paths, where those of each begin, and the scores.");
  module.def(
      "path_features",
      [](const LatticeColumns& lattice, const FeatureColumns& features, const Ints& arcs,
         const Ints& offset) {
        const auto paths = paths_of(lattice, arcs, offset);
        if (!features.fit(lattice)) throw space_error("the features have not one row an arc");
        auto found = unlocked([&] {
          return path_features(lattice, features.edges, features.ends, features.names.size(),
                               paths);
        });
        return std::tuple(give(std::move(found.value)), give(std::move(found.column)),
                          give(std::move(found.bounds)));
      },
      nb::arg("lattice"), nb::arg("features"), nb::arg("arcs"), nb::arg("offset"),
      "Return the summed features of complete paths: values, columns and bounds of rows.");
  module.def(
      "path_masses",
      [](const LatticeColumns& lattice, const Ints& label, const Ints& offset, double scale) {
        const auto sentences = sentences_of(label, offset);
        return give(
            unlocked([&](Poll& poll) { return path_masses(lattice, sentences, scale, poll); }));
      },
      "lattice"_a, "label"_a, "offset"_a, "scale"_a,
      "Return the log of the mass of all paths of each sentence.");
}

}  // namespace decoding
