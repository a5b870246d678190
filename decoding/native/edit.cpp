// Expected edits over a lattice: the bindings.
#include "decoding/native/edit.hpp"

#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/prefix_tree.hpp"

namespace decoding {

namespace {

using namespace lattices;

void check_fit(const Floats& column, std::size_t size, const char* name) {
  if (column.shape(0) != size)
    throw option_error(std::string(name) + " that do not fit the lattice");
}

}  // namespace

void bind_edit(nb::module_& module) {
  module.attr("UNPLACED") = kUnplaced;
  module.attr("TIE") = kTie;
  module.attr("GAIN") = kGain;
  module.def(
      "edit_shares",
      [](const LatticeColumns& lattice, double scale) {
        auto found = unlocked([&] { return edit_shares(lattice, scale); });
        return std::tuple(give(std::move(found.arc)), give(std::move(found.end)), found.mass);
      },
      nb::arg("lattice"), nb::arg("scale"),
      "Return how probable each arc is for those who reach its target, how probable each end is,\n"
      "and the logarithm of the sum over all complete paths.");
  module.def(
      "minimise_edits",
      [](const LatticeColumns& lattice, const Floats& share, const Floats& ending,
         const Ints& words, int changes) {
        check_fit(share, lattice.src.size(), "shares");
        check_fit(ending, lattice.final.size(), "ends");
        auto found = unlocked([&] {
          Poll poll(check_signals);
          return EditSearch(lattice, view(share), view(ending), {})
              .minimise(view(words), changes, poll);
        });
        return std::tuple(give(std::move(found.words)), give(std::move(found.objectives)),
                          found.settled);
      },
      nb::arg("lattice"), nb::arg("share"), nb::arg("ending"), nb::arg("words"), nb::arg("changes"),
      "Return the sentence of few expected edits that a sentence leads to, the expected edits of\n"
      "all on the way, and whether no change is left that lowers them.");
  module.def(
      "likely_words",
      [](const LatticeColumns& lattice, const Floats& share, const Floats& ending) {
        check_fit(share, lattice.src.size(), "shares");
        check_fit(ending, lattice.final.size(), "ends");
        return give(unlocked([&] { return likely_words(lattice, view(share), view(ending)); }));
      },
      nb::arg("lattice"), nb::arg("share"), nb::arg("ending"),
      "Return the words of the path with the most probable arcs.");
  module.def(
      "edit_bins",
      [](const LatticeColumns& lattice, const Floats& share, const Floats& ending,
         const Floats& times, const Ints& words) {
        check_fit(share, lattice.src.size(), "shares");
        check_fit(ending, lattice.final.size(), "ends");
        if (times.shape(0) > 0) check_fit(times, lattice.final.size(), "times");
        auto found = unlocked([&] {
          return EditSearch(lattice, view(share), view(ending), view(times)).bins(view(words));
        });
        std::vector<double> numbers;
        numbers.reserve(3 * found.placed.size());
        for (const Placed& each : found.placed) {
          numbers.insert(numbers.end(), {each.posterior, each.begin, each.end});
        }
        const std::size_t rows = found.placed.size();
        return std::tuple(give(std::move(found.label)), give(std::move(numbers), rows, 3),
                          give(std::move(found.offset)), give(std::move(found.chosen)));
      },
      nb::arg("lattice"), nb::arg("share"), nb::arg("ending"), nb::arg("times"), nb::arg("words"),
      "Return the alternatives of all bins of a sentence: labels, posteriors and times weighted "
      "by\n"
      "them, where bins begin, and the sentence's own alternatives.");
  module.def(
      "best_spelling",
      [](const LatticeColumns& lattice, const Ints& words) {
        auto found = unlocked([&] { return best_spelling(lattice, view(words)); });
        return std::tuple(give(std::move(found.arcs)), found.found);
      },
      nb::arg("lattice"), nb::arg("words"),
      "Return the arcs of the best path that spells these words, and whether there is one.");
  module.def(
      "prefix_tree",
      [](const Ints& label, const Ints& offset, const Floats& mass, const Floats& score) {
        if (offset.shape(0) != mass.shape(0) + 1 || score.shape(0) != mass.shape(0) ||
            view(offset).back() != static_cast<Index>(label.shape(0))) {
          throw option_error("the columns of a list differ in length");
        }
        auto tree = unlocked([&] { return prefix_tree(view(label), view(offset)); });
        std::vector<Log::Sum> sums(tree.size());
        std::vector<double> best(tree.size(), kMinusInfinity), masses;
        for (std::size_t entry = 0; entry < tree.leaf.size(); ++entry) {
          sums[tree.leaf[entry]].add(view(mass)[entry]);
          best[tree.leaf[entry]] = std::max(best[tree.leaf[entry]], view(score)[entry]);
        }
        for (const auto& sum : sums) masses.push_back(sum.value());
        tree.parent.erase(tree.parent.begin());
        tree.word.erase(tree.word.begin());
        return std::tuple(give(std::move(tree.parent)), give(std::move(tree.word)),
                          give(std::move(masses)), give(std::move(best)));
      },
      nb::arg("label"), nb::arg("offset"), nb::arg("mass"), nb::arg("score"),
      "Return the tree of the prefixes of a list's entries: the state before and the word into "
      "each\n"
      "state but the first, and the mass and the best score of the entries that end in each.");
}

}  // namespace decoding
