// Oracles of lattices under alignment metrics: the bindings.
#include "decoding/native/oracles.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

// The references of a segment as tuples of words, each word by its number in a vocabulary.
void number_references(nb::handle references, nb::handle vocabulary, WordProblem& problem) {
  if (!PyTuple_Check(references.ptr()) || !PyDict_Check(vocabulary.ptr())) {
    throw nb::type_error("references are tuples of words, and a vocabulary is a dict");
  }
  for (Py_ssize_t number = 0; number < PyTuple_GET_SIZE(references.ptr()); ++number) {
    PyObject* words = PyTuple_GET_ITEM(references.ptr(), number);
    if (!PyTuple_Check(words)) throw nb::type_error("a reference is a tuple of words");
    const Py_ssize_t length = PyTuple_GET_SIZE(words);
    for (Py_ssize_t place = 0; place < length; ++place) {
      PyObject* known = PyDict_GetItemWithError(vocabulary.ptr(), PyTuple_GET_ITEM(words, place));
      if (known == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
      problem.reference.push_back(known == nullptr ? -1 : nb::cast<Index>(nb::handle(known)));
    }
    problem.offset.push_back(problem.reference.size());
  }
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

using Words = nb::typed<nb::tuple, nb::str, nb::ellipsis>;
using References = nb::typed<nb::tuple, Words, nb::ellipsis>;
using WordNumbers = nb::typed<nb::dict, nb::str, nb::int_>;

WordOracles search_words(const std::vector<const LatticeColumns*>& lattices,
                         const nb::typed<nb::list, WordNumbers>& vocabularies,
                         const std::vector<const WordMetric*>& metrics,
                         const nb::typed<nb::list, References>& references, double model_weight,
                         std::size_t most_cells, const Stop* stop) {
  const std::size_t count = lattices.size();
  if (vocabularies.size() != count || metrics.size() != count || references.size() != count) {
    throw option_error("not as many metrics or references as lattices");
  }
  std::vector<WordProblem> problems(count);
  for (std::size_t place = 0; place < count; ++place) {
    problems[place].lattice = lattices[place];
    problems[place].metric = metrics[place];
    number_references(references[place], vocabularies[place], problems[place]);
  }
  std::vector<WordOracle> found(count);
  unlocked([&] {
    const SearchOptions options{model_weight, most_cells};
    WordSearch search;
    Poll poll(check_signals, stop == nullptr ? nullptr : stop->flag());
    try {
      for (std::size_t place = 0; place < count; ++place) {
        poll();
        found[place] = search.solve(problems[place], options, poll);
      }
    } catch (const Stopped&) {
      throw engine_error("the search was stopped");
    }
  });
  return WordOracles(std::move(found));
}

}  // namespace

void bind_oracles(nb::module_& module) {
  nb::class_<WordOracles>(module, "WordOracles", "The oracles of a batch of lattices.")
      .def("heads", &WordOracles::heads,
           "Return for each lattice the outcome (0: found, 1: no path is complete, 2: too large,\n"
           "3: the model score of the path overflows), the score and the reference.")
      .def("arcs", &WordOracles::arcs, nb::arg("place"), "Return the arcs of a path.")
      .def("stats", &WordOracles::stats, nb::arg("place"), "Return the statistics of a path.");
  module.def("search_words", &search_words, nb::arg("lattices"), nb::arg("vocabularies"),
             nb::arg("metrics"), nb::arg("references"), nb::arg("model_weight"),
             nb::arg("most_cells"), nb::arg("stop").none() = nb::none(),
             "Compile the references of each lattice, search it, and score what was found.");
}

}  // namespace decoding
