// Sentences as evidence: the bindings.
#include "decoding/native/evidence.hpp"

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/sentence_columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

Sentences paths_of(const Lattice& lattice, std::span<const Index> arcs,
                   std::span<const Index> offset) {
  const auto paths = sentences_of(arcs, offset);
  for (const Index arc : paths.label) {
    if (arc < 0 || arc >= lattice.num_edges()) throw option_error("a path has no such arc");
  }
  return paths;
}

}  // namespace

void bind_evidence(nb::module_& module) {
  module.def("distinct_sentences",
             native([](std::span<const Index> label, std::span<const Index> offset) {
               return distinct_sentences(sentences_of(label, offset));
             }),
             "label"_a, "offset"_a,
             "Return which sentence each entry is, and the first entry of each sentence.");
  module.def("path_sentences",
             native([](const Lattice& lattice, std::span<const Index> arcs,
                       std::span<const Index> offset) {
               return path_sentences(lattice, paths_of(lattice, arcs, offset));
             }),
             "lattice"_a, "arcs"_a, "offset"_a,
             "Return the words of complete paths, where those of each begin, and the scores.");
  module.def("path_features",
             native([](const Lattice& lattice, const FeatureColumns& features,
                       std::span<const Index> arcs, std::span<const Index> offset) {
               const auto paths = paths_of(lattice, arcs, offset);
               if (!features.fit(lattice))
                 throw space_error("the features have not one row an arc");
               return path_features(lattice, features, features.names.size(), paths);
             }),
             "lattice"_a, "features"_a, "arcs"_a, "offset"_a,
             "Return the summed features of complete paths: values, columns and bounds of rows.");
  module.def("path_masses",
             native([](const Lattice& lattice, std::span<const Index> label,
                       std::span<const Index> offset, double scale, Poll& poll) {
               return path_masses(lattice, sentences_of(label, offset), scale, poll);
             }),
             "lattice"_a, "label"_a, "offset"_a, "scale"_a,
             "Return the log of the mass of all paths of each sentence.");
}

}  // namespace decoding
