// Sentences as evidence: the bindings.
#include "decoding/native/evidence.hpp"

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/sentence_columns.hpp"

namespace decoding {

using namespace lattices;

void bind_evidence(nb::module_& module) {
  module.def("distinct_sentences",
             native([](std::span<const Index> label, std::span<const Index> offset) {
               return distinct_sentences(sentences_of(label, offset));
             }),
             "label"_a, "offset"_a,
             "Return which sentence each entry is, and the first entry of each sentence.");
  module.def("path_masses",
             native([](const Lattice& lattice, std::span<const Index> label,
                       std::span<const Index> offset, double scale, Poll& poll) {
               return path_masses(lattice, sentences_of(label, offset), scale, poll);
             }),
             "lattice"_a, "label"_a, "offset"_a, "scale"_a,
             "Return the log of the mass of all paths of each sentence.");
}

}  // namespace decoding
