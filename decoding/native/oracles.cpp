// Oracles of lattices and forests under alignment metrics: the bindings.
#include "decoding/native/oracles.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

nb::object stolen(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

std::span<PyObject* const> items(nb::handle tuple) {
  if (!PyTuple_Check(tuple.ptr())) throw nb::type_error("a tuple was expected");
  const auto size = static_cast<std::size_t>(PyTuple_GET_SIZE(tuple.ptr()));
  return {size == 0 ? nullptr : &PyTuple_GET_ITEM(tuple.ptr(), 0), size};
}

Index number_of(nb::handle vocabulary, nb::handle word) {
  PyObject* known = PyDict_GetItemWithError(vocabulary.ptr(), word.ptr());
  if (known == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return known == nullptr ? -1 : nb::cast<Index>(nb::handle(known));
}

// Call use(word) for the words of a text, as lattices.formats.base.split_words cuts it.
template <class Use>
void split_words(nb::handle text, Use&& use) {
  auto blank = [](Py_UCS4 each) { return each == ' ' || (each >= '\t' && each <= '\r'); };
  const int kind = PyUnicode_KIND(text.ptr());
  const void* data = PyUnicode_DATA(text.ptr());
  const Py_ssize_t length = PyUnicode_GET_LENGTH(text.ptr());
  for (Py_ssize_t begin = 0; begin < length;) {
    Py_ssize_t end = begin;
    while (end < length && !blank(PyUnicode_READ(kind, data, end))) ++end;
    if (end > begin) use(stolen(PyUnicode_Substring(text.ptr(), begin, end)));
    begin = end + 1;
  }
}

// One lattice or forest of a batch with all that it is searched by, as Python has it.
struct GivenProblem {
  const LatticeColumns* lattice;
  const ForestColumns* forest;
  const FeatureColumns* features;
  nb::handle numbers, strings, evaluator, metric, references;
};

WordProblem problem_of(const GivenProblem& given) {
  WordProblem problem;
  problem.lattice = given.lattice;
  problem.forest = given.forest;
  if (given.features != nullptr) {
    const bool fit = given.lattice != nullptr ? given.features->fit(*given.lattice)
                                              : given.features->fit(*given.forest);
    if (!fit) throw space_error("the features have not one row an arc");
    problem.features = &given.features->edges;
    problem.final_features = &given.features->ends;
    problem.num_features = given.features->names.size();
  }
  problem.metric = nb::cast<const WordMetric*>(given.metric);
  auto add = [&](nb::handle word) { problem.reference.push_back(number_of(given.numbers, word)); };
  for (PyObject* reference : items(given.references)) {
    if (PyUnicode_Check(reference)) {
      split_words(reference, add);
    } else {
      for (PyObject* word : items(reference)) add(word);
    }
    problem.offset.push_back(problem.reference.size());
  }
  return problem;
}

// What the oracles of a batch have beside their sentences and scores, to be read when it is asked
// for.
class WordOracles {
 public:
  std::vector<WordOracle> found;
  // by space
  std::vector<nb::object> feature_names;

  nb::tuple arcs(std::size_t place) const {
    const auto& numbers = found.at(place).arcs;
    nb::object result = stolen(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
    for (std::size_t step = 0; step < numbers.size(); ++step) {
      PyTuple_SET_ITEM(result.ptr(), step, stolen(PyLong_FromLong(numbers[step])).release().ptr());
    }
    return nb::borrow<nb::tuple>(result);
  }
  nb::dict features(std::size_t place) const {
    nb::dict result;
    for (const auto& [column, sum] : found.at(place).features) {
      result[feature_names[place][column]] = sum;
    }
    return result;
  }
  Array<double> stats(std::size_t place) const {
    return give(std::vector<double>(found.at(place).stats));
  }
};

// The places of the slots of a class in its objects, so that what is new and frozen can be filled.
template <std::size_t count>
std::array<Py_ssize_t, count> slots_of(nb::handle type,
                                       const std::array<const char*, count>& names) {
  std::array<Py_ssize_t, count> offsets;
  for (std::size_t each = 0; each < count; ++each) {
    const nb::object slot = type.attr(names[each]);
    if (!Py_IS_TYPE(slot.ptr(), &PyMemberDescr_Type)) throw nb::type_error("a class without slots");
    offsets[each] = reinterpret_cast<PyMemberDescrObject*>(slot.ptr())->d_member->offset;
  }
  return offsets;
}

// Makes objects of two classes with slots without their __init__: Oracle and Hypothesis, whose
// other fields are made when they are asked for, from what `_later` has.
class Maker {
 public:
  Maker(nb::handle oracle, nb::handle hypothesis)
      : oracle_(oracle),
        hypothesis_(hypothesis),
        oracle_slots_(
            slots_of<6>(oracle, {"hypothesis", "score", "reference", "exact", "engine", "_later"})),
        hypothesis_slots_(slots_of<4>(hypothesis, {"tokens", "score", "index", "_later"})),
        kernel_(nb::steal(PyUnicode_InternFromString("kernel"))),
        no_index_(nb::int_(-1)) {}

  nb::object make(const WordOracle& found, const nb::object& later, nb::handle strings) const {
    return filled(
        oracle_, oracle_slots_,
        {filled(hypothesis_, hypothesis_slots_,
                {tokens(found.words, strings), nb::float_(found.model), no_index_, later}),
         nb::float_(found.score), nb::int_(found.reference), nb::bool_(true), kernel_, later});
  }

 private:
  template <std::size_t count>
  static nb::object filled(nb::handle kind, const std::array<Py_ssize_t, count>& offsets,
                           std::array<nb::object, count> values) {
    auto* type = reinterpret_cast<PyTypeObject*>(kind.ptr());
    nb::object made = stolen(type->tp_alloc(type, 0));
    for (std::size_t each = 0; each < count; ++each) {
      auto* slot = reinterpret_cast<char*>(made.ptr()) + offsets[each];
      *reinterpret_cast<PyObject**>(slot) = values[each].release().ptr();
    }
    return made;
  }
  static nb::object tokens(std::span<const Index> words, nb::handle strings) {
    nb::object result = stolen(PyTuple_New(static_cast<Py_ssize_t>(words.size())));
    for (std::size_t place = 0; place < words.size(); ++place) {
      PyObject* word = PyList_GetItem(strings.ptr(), words[place]);
      if (word == nullptr) throw nb::python_error();
      PyTuple_SET_ITEM(result.ptr(), place, Py_NewRef(word));
    }
    return result;
  }

  nb::handle oracle_, hypothesis_;
  std::array<Py_ssize_t, 6> oracle_slots_;
  std::array<Py_ssize_t, 4> hypothesis_slots_;
  nb::object kernel_, no_index_;
};

// The searches of a batch. Problems are handed in one by one, and threads take what there is: so
// Python's objects are read and made, which takes the interpreter's lock, while others search.
class Batch {
 public:
  Batch(std::vector<WordOracle>& found, const WordOptions& options)
      : found_(found),
        options_(options),
        problems_(found.size()),
        done_(found.size()),
        count_(found.size()) {}
  ~Batch() {
    stop_ = true;
    for (auto& thread : threads_) thread.join();
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void start(int workers) try {
    threads_.reserve(workers);
    for (int each = 1; each < workers; ++each) {
      threads_.emplace_back([this] {
        try {
          Poll poll(nullptr, &stop_);
          WordSearch search;
          while (!stop_ && next_ < count_) {
            if (!solve_next(search, poll)) std::this_thread::yield();
          }
        } catch (const Stopped&) {
        } catch (...) {
          const std::lock_guard lock(failing_);
          if (!failed_) failure_ = std::current_exception();
          failed_ = true;
        }
      });
    }
  } catch (const std::system_error&) {
    // those that could be started, and the calling one, do all of it
  }
  void hand_in(std::size_t place, WordProblem problem) {
    problems_[place] = std::move(problem);
    ready_.store(place + 1, std::memory_order_release);
  }
  // There are no more.
  void close() { count_ = ready_.load(); }
  bool done(std::size_t place) const { return done_[place].load(std::memory_order_acquire); }

  // Search on this thread until a problem is solved, and a few more.
  void help(std::size_t place, Poll& poll) {
    for (int left = kAtOnce; !done(place) || left > 0; --left) {
      if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
      if (solve_next(search_, poll)) continue;
      if (done(place)) return;
      poll();
      std::this_thread::yield();
    }
  }

 private:
  static constexpr int kAtOnce = 8;

  // Solve the next problem that was handed in; false if there is none.
  bool solve_next(WordSearch& search, Poll& poll) {
    std::size_t place = next_.load(std::memory_order_relaxed);
    do {
      if (place >= ready_.load(std::memory_order_acquire)) return false;
    } while (!next_.compare_exchange_weak(place, place + 1));
    poll();
    // which ends here, not when the last one is solved
    const WordProblem problem = std::move(problems_[place]);
    found_[place] = search.solve(problem, options_, poll);
    done_[place].store(true, std::memory_order_release);
    return true;
  }

  std::vector<WordOracle>& found_;
  const WordOptions options_;
  std::vector<WordProblem> problems_;
  std::vector<std::atomic<bool>> done_;
  std::atomic<std::size_t> count_, ready_{0}, next_{0};
  std::atomic<bool> stop_{false}, failed_{false};
  std::mutex failing_;
  std::exception_ptr failure_;
  WordSearch search_;
  std::vector<std::thread> threads_;
};

// Where there is no oracle: the place, the outcome, and the arcs if a path was found.
using Trouble = std::tuple<std::size_t, int, std::vector<Index>>;

GivenProblem given_problem(nb::handle item) {
  const auto parts = items(item);
  if (parts.size() != 7 || !PyDict_Check(parts[2]) || !PyList_Check(parts[3])) {
    throw nb::type_error("a problem has seven parts, a dict and a list among them");
  }
  const nb::handle space(parts[0]), features(parts[1]);
  const bool forest = nb::isinstance<ForestColumns>(space);
  return {forest ? nullptr : nb::cast<const LatticeColumns*>(space),
          forest ? nb::cast<const ForestColumns*>(space) : nullptr,
          features.is_none() ? nullptr : nb::cast<const FeatureColumns*>(features),
          parts[2],
          parts[3],
          parts[4],
          parts[5],
          parts[6]};
}

// Let signals raise and other threads run; the interpreter's lock is held.
void breathe(std::size_t place) {
  if (place % 256 != 255) return;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  const nb::gil_scoped_release others;
}

std::pair<nb::list, std::vector<Trouble>> search_words(const nb::iterable& problems,
                                                       std::size_t most, const nb::tuple& classes,
                                                       double model_weight, std::size_t memory,
                                                       int workers) {
  const Maker maker(classes[0], classes[1]);
  auto* oracles = new WordOracles;
  const nb::object source = nb::cast(oracles, nb::rv_policy::take_ownership);
  oracles->found.resize(most);
  // what is searched stays alive until all threads have ended
  std::vector<nb::object> kept;
  std::vector<GivenProblem> given;
  kept.reserve(most);
  given.reserve(most);
  const nb::object searches = nb::module_::import_("lattices._native").attr("FOREST_SEARCH");
  Batch batch(oracles->found, {{model_weight, memory},
                               {model_weight, memory},
                               nb::cast<const forests::SearchHandle*>(searches)});
  batch.start(std::min(workers, static_cast<int>(std::min<std::size_t>(most, 1024))));
  for (const nb::handle item : problems) {
    if (given.size() == most) throw option_error("there are more problems than were announced");
    kept.push_back(nb::borrow(item));
    given.push_back(given_problem(item));
    const auto* features = given.back().features;
    oracles->feature_names.emplace_back();
    if (features != nullptr) oracles->feature_names.back() = features->names;
    batch.hand_in(given.size() - 1, problem_of(given.back()));
    breathe(given.size());
  }
  batch.close();
  nb::list results;
  std::vector<Trouble> trouble;
  Poll poll(check_signals);
  for (std::size_t place = 0; place < given.size(); ++place) {
    if (!batch.done(place)) unlocked([&] { batch.help(place, poll); });
    const auto& found = oracles->found[place];
    if (found.outcome == Outcome::Found) {
      const nb::object later = nb::make_tuple(source, place, given[place].evaluator);
      results.append(maker.make(found, later, given[place].strings));
    } else {
      results.append(nb::none());
      trouble.emplace_back(place, static_cast<int>(found.outcome), found.arcs);
    }
    // its search is over, and to let go takes time that others search in
    kept[place].reset();
    breathe(place);
  }
  return {std::move(results), std::move(trouble)};
}

}  // namespace

void bind_oracles(nb::module_& module) {
  nb::class_<WordOracles>(module, "WordOracles",
                          "What the oracles of a batch have beside their sentences and scores.")
      .def("arcs", &WordOracles::arcs, nb::arg("place"),
           nb::sig("def arcs(self, place: int) -> tuple[int, ...]"), "Return the arcs of a path.")
      .def("features", &WordOracles::features, nb::arg("place"),
           nb::sig("def features(self, place: int) -> dict[str, float]"),
           "Return the features of a path that are not zero, by name.")
      .def("stats", &WordOracles::stats, nb::arg("place"), "Return the statistics of a path.");
  module.def(
      "search_words", &search_words, nb::arg("problems"), nb::arg("most"), nb::arg("classes"),
      nb::arg("model_weight"), nb::arg("memory"), nb::arg("workers"),
      nb::sig("def search_words(problems: "
              "collections.abc.Iterable[tuple[lattices._native.LatticeColumns | "
              "lattices._native.ForestColumns, "
              "lattices._native.FeatureColumns | None, dict[str, int], list[str], object, "
              "fstmetrics._native.WordMetric, tuple[object, ...]]], most: int, "
              "classes: tuple[type, type], model_weight: float, memory: int, "
              "workers: int) -> tuple[list[object], list[tuple[int, int, list[int]]]]"),
      "Compile the references of each space, search it, and score what was found.\n"
      "\n"
      "A problem has the columns of a lattice or forest, those of its features or None, the\n"
      "numbers and the strings of its vocabulary, the evaluator, its metric, and the references:\n"
      "texts, or tuples of words. There are at most so many; while they are read, others are\n"
      "searched on threads. Each search may take so many bytes. Returns\n"
      "oracles of the two classes, Oracle and Hypothesis, or None with the place, the outcome and\n"
      "the arcs in a list: 1, no path is complete; 2, the path's model score overflows; 3, it\n"
      "takes more memory, or a forest cannot be searched.");
}

}  // namespace decoding
