// Matches of patterns in lattices: the bindings.
#include "lattices/native/matches.hpp"

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace lattices {

namespace {

// what `shown` makes of Matches
using FoundTuple = nb::typed<nb::tuple, double, Array<double>, Array<double>, Array<double>,
                             Array<double>, Array<Index>, Array<Index>, Array<Index>>;
using FoundList = nb::typed<nb::list, FoundTuple>;
using WordPatternColumns = Kept<WordPattern, Ints, Ints, Ints, Ints, Index>;

FoundList find_matches(const LatticeColumns& lattice,
                       const std::vector<const WordPatternColumns*>& patterns, const Floats& times,
                       double scale, double threshold) {
  if (times.shape(0) != 0 && times.shape(0) != lattice.final.size()) {
    throw option_error("a time for each state, or none");
  }
  auto found = unlocked([&](Poll& poll) {
    PatternSearch search(lattice, view(times), scale);
    std::vector<Matches> all;
    for (const auto* pattern : patterns) all.push_back(search.find(*pattern, threshold, poll));
    return all;
  });
  FoundList result;
  for (auto& each : found) result.append(nb::cast(shown(each)));
  return result;
}

}  // namespace

void bind_matches(nb::module_& module) {
  nb::class_<WordPatternColumns>(module, "WordPatternColumns",
                                 "A pattern of words as two deterministic automata, checked.")
      .def(WordPatternColumns::Init(), "word"_a, "word_class"_a, "forward"_a, "backward"_a,
           "classes"_a);
  module.def("find_matches", find_matches, "lattice"_a, "patterns"_a, "times"_a, "scale"_a,
             "threshold"_a,
             "Return for each pattern the probability of a match, and its occurrences.");
}

}  // namespace lattices
