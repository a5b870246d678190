// Expected edits over a lattice: the bindings.
#include "decoding/native/edit.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/prefix_tree.hpp"

namespace decoding {

namespace {

using namespace lattices;

}  // namespace

void bind_edit(nb::module_& module) {
  module.attr("UNPLACED") = kUnplaced;
  module.attr("TIE") = kTie;
  module.attr("GAIN") = kGain;
  module.def(
      "least_edits",
      [](const LatticeColumns& lattice, double scale, const std::vector<Ints>& beginnings,
         bool likely, int changes, int swaps, std::size_t memory) {
        std::vector<std::vector<Index>> words;
        for (const Ints& each : beginnings) {
          words.emplace_back(view(each).begin(), view(each).end());
        }
        auto found = unlocked([&](Poll& poll) {
          return least_edits(lattice, scale, std::move(words), likely, changes, swaps, memory,
                             poll);
        });
        auto& [sentence, objectives, settled] = found.minimum;
        return std::tuple(std::move(sentence), std::move(objectives), settled,
                          std::move(found.path), found.mass);
      },
      "lattice"_a, "scale"_a, "beginnings"_a, "likely"_a, "changes"_a, "swaps"_a, "memory"_a,
      "Return the sentence with few expected edits that some sentences lead to: its words, the\n"
      "expected edits of all on the way, whether no change is left that lowers them, and the arcs\n"
      "of its best path, if it has one. Begin with these sentences, by default with the model's\n"
      "best, and where asked for with the path of the most probable arcs, too; then try so many\n"
      "of the closest alternatives of its bins. At last comes the\n"
      "logarithm of the sum over all complete paths; if it is not finite, there is no sentence.");
  module.def(
      "edit_bins",
      [](const LatticeColumns& lattice, double scale, const Floats& times, const Ints& words) {
        if (times.shape(0) > 0 && times.shape(0) != lattice.final.size()) {
          throw option_error("times that do not fit the lattice");
        }
        auto found = unlocked([&](Poll& poll) {
          return EditSearch(lattice, scale, view(times)).bins(view(words), poll);
        });
        std::vector<double> numbers;
        numbers.reserve(3 * found.placed.size());
        for (const Placed& each : found.placed) {
          numbers.insert(numbers.end(), {each.posterior, each.begin, each.end});
        }
        const std::size_t rows = found.placed.size();
        return give_all(found.label, give(std::move(numbers), rows, 3), found.offset, found.chosen);
      },
      "lattice"_a, "scale"_a, "times"_a, "words"_a,
      "Return the alternatives of all bins of a sentence: labels, posteriors and times weighted "
      "by\n"
      "them, where bins begin, and the sentence's own alternatives.");
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
        return give_all(tree.parent, tree.word, masses, best);
      },
      "label"_a, "offset"_a, "mass"_a, "score"_a,
      "Return the tree of the prefixes of a list's entries: the state before and the word into "
      "each\n"
      "state but the first, and the mass and the best score of the entries that end in each.");
}

}  // namespace decoding
