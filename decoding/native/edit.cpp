// Expected edits over a lattice: the bindings.
#include "decoding/native/edit.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/paths.hpp"
#include "lattices/native/prefix_tree.hpp"
#include "lattices/native/tuples.hpp"

namespace decoding {

using namespace lattices;

namespace {

// A lattice of a batch, and the sentences to begin with.
struct EditProblem {
  const LatticeColumns* lattice;
  const FeatureColumns* features;  // if there are some
  double scale;
  std::vector<std::vector<Index>> beginnings;
};

EditProblem edit_problem(const nb::tuple& given) {
  if (given.size() != 5) throw nb::type_error("a problem has five parts");
  EditProblem problem{nb::cast<const LatticeColumns*>(given[0]),
                      given[1].is_none() ? nullptr : nb::cast<const FeatureColumns*>(given[1]),
                      nb::cast<double>(given[3]),
                      {}};
  if (problem.features != nullptr && !problem.features->fit(*problem.lattice)) {
    throw space_error("the features have not one row an arc");
  }
  for (const nb::handle each : nb::cast<nb::list>(given[4])) {
    const auto words = nb::cast<Ints>(each);
    problem.beginnings.emplace_back(view(words).begin(), view(words).end());
  }
  return problem;
}

struct EditAnswer {
  LeastEdits found;
  // of the best path of the sentence: its score, and sums of features that are not zero
  double score = kMinusInfinity;
  std::vector<std::pair<Index, double>> features;
  std::string too_large;  // what took more memory, if something did
};

EditAnswer solve(EditProblem& problem, const EditOptions& options, Poll& poll) {
  const Lattice& lattice = *problem.lattice;
  EditAnswer answer;
  try {
    answer.found =
        least_edits(lattice, problem.scale, std::move(problem.beginnings), options, poll);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::TooLarge) throw;
    answer.too_large = error.what();
  }
  if (!answer.found.path) return answer;
  PathReader reader(lattice);
  std::vector<Index> words;
  answer.score = reader.read(*answer.found.path, words);
  if (problem.features == nullptr) return answer;
  FeatureSums sums(problem.features->names.size());
  sums.add_path(*problem.features, lattice, *answer.found.path);
  sums.take([&](Index column, double sum) { answer.features.emplace_back(column, sum); });
  return answer;
}

// The sentences of a batch with few expected edits; rows are read when they are asked for.
class EditTable {
 public:
  std::vector<EditAnswer> answers;
  // by space
  std::vector<nb::object> strings, feature_names;

  nb::typed<nb::list, nb::tuple> rows() const {
    nb::typed<nb::list, nb::tuple> result;
    for (std::size_t place = 0; place < answers.size(); ++place) {
      const auto& [found, score, features, too_large] = answers[place];
      result.append(nb::make_tuple(words_of(strings[place], found.minimum.words), score,
                                   nb::tuple(nb::cast(found.minimum.objectives)),
                                   found.minimum.settled, found.minimum.proven, one_best(place)));
    }
    return result;
  }
  nb::tuple arcs(std::size_t place) const {
    const auto& path = answers.at(place).found.path;
    return path ? tuple_of(*path) : nb::tuple();
  }
  nb::dict features(std::size_t place) const {
    nb::dict result;
    for (const auto& [column, sum] : answers.at(place).features) {
      result[feature_names[place][column]] = sum;
    }
    return result;
  }

 private:
  nb::object one_best(std::size_t place) const {
    const auto& words = answers[place].found.best;
    return words ? nb::object(words_of(strings[place], *words)) : nb::none();
  }
};

// Where there is no sentence: the place, and what took more memory, if something did.
using Trouble = std::pair<std::size_t, std::string>;

std::pair<nb::object, std::vector<Trouble>> decide(const nb::list& given,
                                                   const EditOptions& options, int workers) {
  auto* decided = new EditTable;
  nb::object table = nb::cast(decided, nb::rv_policy::take_ownership);
  std::vector<EditProblem> problems;
  for (const nb::handle item : given) {
    const auto parts = nb::cast<nb::tuple>(item);
    problems.push_back(edit_problem(parts));
    const auto* features = problems.back().features;
    decided->strings.push_back(nb::cast<nb::list>(parts[2]));
    decided->feature_names.emplace_back();
    if (features != nullptr) decided->feature_names.back() = features->names;
  }
  decided->answers = search_batch<EditAnswer>(
      problems.size(), workers, [&](std::size_t place, EditAnswer& answer, Poll& poll) {
        answer = solve(problems[place], options, poll);
      });
  std::vector<Trouble> trouble;
  for (std::size_t place = 0; place < problems.size(); ++place) {
    const auto& answer = decided->answers[place];
    if (!std::isfinite(answer.found.mass)) trouble.emplace_back(place, answer.too_large);
  }
  return {std::move(table), std::move(trouble)};
}

}  // namespace

void bind_edit(nb::module_& module) {
  module.attr("UNPLACED") = kUnplaced;
  module.attr("TIE") = kTie;
  module.attr("GAIN") = kGain;
  nb::class_<EditTable>(module, "EditTable",
                        "Sentences of a batch with few expected edits, a row a space.")
      .def(
          "rows", &EditTable::rows,
          nb::sig("def rows(self) -> "
                  "list[tuple[tuple[str, ...], float, tuple[float, ...], bool, bool, "
                  "tuple[str, ...] | None]]"),
          "Return of each the words, the model score (-inf for a sentence that is not there), the\n"
          "expected edits of all sentences on the way, whether no change is left that lowers\n"
          "them, whether bands were proven wide enough, and the words of the model's best path, if "
          "the search began with them.")
      .def("arcs", &EditTable::arcs, "place"_a,
           nb::sig("def arcs(self, place: int) -> tuple[int, ...]"),
           "Return the arcs of the best path of the sentence, if it has one.")
      .def("features", &EditTable::features, "place"_a,
           nb::sig("def features(self, place: int) -> dict[str, float]"),
           "Return the features of that path that are not zero, by name.");
  module.def(
      "decide_edits",
      [](const nb::list& problems, bool likely, int changes, int swaps, std::size_t memory,
         int workers) { return decide(problems, {likely, changes, swaps, memory}, workers); },
      "problems"_a, "likely"_a, "changes"_a, "swaps"_a, "memory"_a, "workers"_a,
      nb::sig("def decide_edits(problems: list[tuple[lattices._native.LatticeColumns, "
              "lattices._native.FeatureColumns | None, list[str], float, "
              "list[numpy.typing.NDArray[numpy.int32]]]], likely: bool, changes: int, swaps: int, "
              "memory: int, workers: int) -> tuple[EditTable, list[tuple[int, str]]]"),
      "Find the sentence with few expected edits of each lattice that some sentences lead to.\n"
      "\n"
      "A problem has the columns of a lattice, those of its features or None, the strings of its\n"
      "vocabulary, the scale of its scores, and the sentences to begin with: where none is given,\n"
      "the model's best; and where asked for (`likely`) the path of the most probable arcs, too.\n"
      "So many `changes` are made, and so many of the closest alternatives of bins are tried at a\n"
      "minimum (`swaps`). Each search may take so many bytes. Returns a row for each problem, and\n"
      "where there is no sentence the place and what took more memory: nothing, if the sum of the\n"
      "masses of all paths is not finite.");
  module.def(
      "edit_bins",
      [](const LatticeColumns& lattice, double scale, const Floats& times, const Ints& words,
         std::size_t memory) {
        if (times.shape(0) > 0 && times.shape(0) != lattice.final.size()) {
          throw option_error("times that do not fit the lattice");
        }
        auto found = unlocked([&](Poll& poll) {
          return EditSearch(lattice, scale, view(times), memory).bins(view(words), poll);
        });
        std::vector<double> numbers;
        numbers.reserve(3 * found.placed.size());
        for (const Placed& each : found.placed) {
          numbers.insert(numbers.end(), {each.posterior, each.begin, each.end});
        }
        const std::size_t rows = found.placed.size();
        return give_all(found.label, give(std::move(numbers), rows, 3), found.offset, found.chosen);
      },
      "lattice"_a, "scale"_a, "times"_a, "words"_a, "memory"_a,
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
