// Oracles of lattices under alignment metrics: the bindings.
#include "decoding/native/oracles.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <tuple>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

using Words = nb::typed<nb::tuple, nb::str, nb::ellipsis>;
using References = nb::typed<nb::tuple, Words, nb::ellipsis>;
using WordAlignment = nb::typed<nb::tuple, WordMetric, References>;
using WordNumbers = nb::typed<nb::dict, nb::str, nb::int_>;

std::span<PyObject* const> items(nb::handle tuple) {
  if (!PyTuple_Check(tuple.ptr())) throw nb::type_error("a tuple was expected");
  const auto size = static_cast<std::size_t>(PyTuple_GET_SIZE(tuple.ptr()));
  return {size == 0 ? nullptr : &PyTuple_GET_ITEM(tuple.ptr(), 0), size};
}

// A metric, and the words of each reference by their numbers in a vocabulary.
WordProblem problem_of(const Lattice& lattice, nb::handle vocabulary, nb::handle alignment) {
  WordProblem problem;
  problem.lattice = &lattice;
  const auto parts = items(alignment);
  if (parts.size() != 2 || !PyDict_Check(vocabulary.ptr())) {
    throw nb::type_error("a metric with its references, and a vocabulary, were expected");
  }
  problem.metric = nb::cast<const WordMetric*>(nb::handle(parts[0]));
  for (PyObject* words : items(parts[1])) {
    for (PyObject* word : items(words)) {
      PyObject* known = PyDict_GetItemWithError(vocabulary.ptr(), word);
      if (known == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
      problem.reference.push_back(known == nullptr ? -1 : nb::cast<Index>(nb::handle(known)));
    }
    problem.offset.push_back(problem.reference.size());
  }
  return problem;
}

// The oracles of a batch, to be read one by one.
class WordOracles {
 public:
  explicit WordOracles(std::vector<WordOracle> found) : found_(std::move(found)) {}

  std::vector<std::tuple<int, double, Index>> heads() const {
    std::vector<std::tuple<int, double, Index>> result;
    result.reserve(found_.size());
    for (const auto& each : found_) {
      result.emplace_back(static_cast<int>(each.outcome), each.score, each.reference);
    }
    return result;
  }
  const std::vector<Index>& arcs(std::size_t place) const { return found_.at(place).arcs; }
  Array<double> stats(std::size_t place) const {
    return give(std::vector<double>(found_.at(place).stats));
  }

 private:
  std::vector<WordOracle> found_;
};

// Searches of the threads of one call: they share scratch, and stop together.
class WordSearches {
 public:
  void stop() { stopped_ = true; }

  WordOracles search(const std::vector<const LatticeColumns*>& lattices,
                     const nb::typed<nb::list, WordNumbers>& vocabularies,
                     const nb::typed<nb::list, WordAlignment>& alignments, double model_weight,
                     std::size_t most_cells) {
    const std::size_t count = lattices.size();
    if (vocabularies.size() != count || alignments.size() != count) {
      throw option_error("not as many vocabularies or references as lattices");
    }
    std::vector<WordProblem> problems;
    problems.reserve(count);
    for (std::size_t place = 0; place < count; ++place) {
      problems.push_back(problem_of(*lattices[place], vocabularies[place], alignments[place]));
    }
    std::vector<WordOracle> found(count);
    unlocked([&] {
      const SearchOptions options{model_weight, most_cells};
      const auto scratch = scratch_.take();
      Poll poll(check_signals, &stopped_);
      try {
        for (std::size_t place = 0; place < count; ++place) {
          poll();
          found[place] = scratch->solve(problems[place], options, poll);
        }
      } catch (const Stopped&) {
        throw engine_error("the search was stopped");
      }
    });
    return WordOracles(std::move(found));
  }

 private:
  Pool<WordSearch> scratch_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

void bind_oracles(nb::module_& module) {
  nb::class_<WordOracles>(module, "WordOracles", "The oracles of a batch of lattices.")
      .def("heads", &WordOracles::heads,
           "Return for each lattice the outcome, the score and the reference.\n"
           "\n"
           "Outcomes: 0, found; 1, no path is complete; 2, the path's model score overflows.")
      .def("arcs", &WordOracles::arcs, nb::arg("place"), "Return the arcs of a path.")
      .def("stats", &WordOracles::stats, nb::arg("place"), "Return the statistics of a path.");
  nb::class_<WordSearches>(module, "WordSearches",
                           "Searches that share memory, in any number of threads.")
      .def(nb::init<>())
      .def("stop", &WordSearches::stop, "End all searches, in whatever thread they run.")
      .def("search", &WordSearches::search, nb::arg("lattices"), nb::arg("vocabularies"),
           nb::arg("alignments"), nb::arg("model_weight"), nb::arg("most_cells"),
           "Compile the references of each lattice, search it, and score what was found.\n"
           "\n"
           "An alignment is a metric with the words of the references.");
}

}  // namespace decoding
