// Sentences as evidence: the bindings.
#include "decoding/native/evidence.hpp"

#include <nanobind/stl/tuple.h>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/sentence_columns.hpp"

namespace decoding {

using namespace lattices;

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
