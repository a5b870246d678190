// Oracles of lattices and forests under alignment metrics: the bindings.
#include "decoding/native/oracles.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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
  nb::handle numbers, strings, metric, references;
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

// The oracles of a batch; rows are read when they are asked for.
class OracleTable {
 public:
  std::vector<WordOracle> found;
  // by space
  std::vector<nb::object> feature_names, strings;

  // What nearly everybody asks for: the words, the metric and the model's score of each row.
  nb::typed<nb::list, nb::tuple> rows() const {
    nb::typed<nb::list, nb::tuple> result;
    for (std::size_t place = 0; place < strings.size(); ++place) {
      const auto& row = found[place];
      result.append(nb::make_tuple(words(place, row.words), row.metric.score, row.model));
    }
    return result;
  }
  nb::typed<nb::list, nb::str> texts() const {
    const nb::object blank = stolen(PyUnicode_FromString(" "));
    nb::typed<nb::list, nb::str> result;
    for (std::size_t place = 0; place < strings.size(); ++place) {
      const nb::object said = words(place, found[place].words);
      result.append(stolen(PyUnicode_Join(blank.ptr(), said.ptr())));
    }
    return result;
  }
  std::vector<double> scores() const {
    std::vector<double> result;
    for (std::size_t place = 0; place < strings.size(); ++place) {
      result.push_back(found[place].metric.score);
    }
    return result;
  }
  // Statistics, a row each, of oracles or of the model's own choices; all of one metric.
  Matrix<double> stats_rows(bool of_one_best) const {
    std::vector<double> values;
    for (std::size_t place = 0; place < strings.size(); ++place) {
      const auto& row = of_one_best ? found[place].one_best_metric : found[place].metric;
      values.insert(values.end(), row.stats.begin(), row.stats.end());
    }
    const std::size_t width = strings.empty() ? 0 : values.size() / strings.size();
    if (width * strings.size() != values.size()) {
      throw option_error("the oracles are of several metrics");
    }
    return give(std::move(values), strings.size(), width);
  }
  nb::object one_best(std::size_t place) const { return words(place, found.at(place).one_best); }
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
    return give(std::vector<double>(found.at(place).metric.stats));
  }
  Array<double> one_best_stats(std::size_t place) const {
    return give(std::vector<double>(found.at(place).one_best_metric.stats));
  }

 private:
  nb::object words(std::size_t place, std::span<const Index> numbers) const {
    nb::object result = stolen(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      PyObject* word = PyList_GetItem(strings[place].ptr(), numbers[at]);
      if (word == nullptr) throw nb::python_error();
      PyTuple_SET_ITEM(result.ptr(), at, Py_NewRef(word));
    }
    return result;
  }
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
  if (parts.size() != 6 || !PyDict_Check(parts[2]) || !PyList_Check(parts[3])) {
    throw nb::type_error("a problem has six parts, a dict and a list among them");
  }
  const nb::handle space(parts[0]), features(parts[1]);
  const bool forest = nb::isinstance<ForestColumns>(space);
  return {forest ? nullptr : nb::cast<const LatticeColumns*>(space),
          forest ? nb::cast<const ForestColumns*>(space) : nullptr,
          features.is_none() ? nullptr : nb::cast<const FeatureColumns*>(features),
          parts[2],
          parts[3],
          parts[4],
          parts[5]};
}

// Let signals raise and other threads run; the interpreter's lock is held.
void breathe(std::size_t place) {
  if (place % 256 != 255) return;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  const nb::gil_scoped_release others;
}

std::pair<nb::object, std::vector<Trouble>> search_words(const nb::iterable& problems,
                                                         std::size_t most, double model_weight,
                                                         std::size_t memory, int workers,
                                                         bool one_best) {
  auto* oracles = new OracleTable;
  nb::object table = nb::cast(oracles, nb::rv_policy::take_ownership);
  oracles->found.resize(most);
  // what is searched stays alive until all threads have ended
  std::vector<nb::object> kept;
  std::vector<GivenProblem> given;
  kept.reserve(most);
  given.reserve(most);
  const nb::object searches = nb::module_::import_("lattices._native").attr("FOREST_SEARCH");
  Batch batch(oracles->found, {{model_weight, memory},
                               {model_weight, memory},
                               nb::cast<const forests::SearchHandle*>(searches),
                               one_best});
  batch.start(std::min(workers, static_cast<int>(std::min<std::size_t>(most, 1024))));
  for (const nb::handle item : problems) {
    if (given.size() == most) throw option_error("there are more problems than were announced");
    kept.push_back(nb::borrow(item));
    given.push_back(given_problem(item));
    const auto* features = given.back().features;
    oracles->feature_names.emplace_back();
    if (features != nullptr) oracles->feature_names.back() = features->names;
    oracles->strings.push_back(nb::borrow(given.back().strings));
    batch.hand_in(given.size() - 1, problem_of(given.back()));
    breathe(given.size());
  }
  batch.close();
  std::vector<Trouble> trouble;
  Poll poll(check_signals);
  for (std::size_t place = 0; place < given.size(); ++place) {
    if (!batch.done(place)) unlocked([&] { batch.help(place, poll); });
    const auto& found = oracles->found[place];
    if (found.outcome != Outcome::Found) {
      trouble.emplace_back(place, static_cast<int>(found.outcome), found.arcs);
    }
    // its search is over, and to let go takes time that others search in
    kept[place].reset();
    breathe(place);
  }
  return {std::move(table), std::move(trouble)};
}

}  // namespace

void bind_oracles(nb::module_& module) {
  const auto row = [](auto get) {
    return
        [get](const OracleTable& table, std::size_t place) { return get(table.found.at(place)); };
  };
  nb::class_<OracleTable>(module, "OracleTable", "The oracles of a batch, a row a space.")
      .def("rows", &OracleTable::rows,
           nb::sig("def rows(self) -> list[tuple[tuple[str, ...], float, float]]"),
           "Return words, metric and model score of each.")
      .def("texts", &OracleTable::texts, nb::sig("def texts(self) -> list[str]"),
           "Return the words of each, joined by blanks.")
      .def("scores", &OracleTable::scores, "Return the metric of each.")
      .def("stats_rows", &OracleTable::stats_rows, nb::arg("of_one_best"),
           "Return the statistics of each, or of the model's own choices, of one metric.")
      .def_prop_ro(
          "has_one_best",
          [](const OracleTable& table) {
            return !table.strings.empty() && !table.found[0].one_best_metric.stats.empty();
          },
          "Whether the model's own choices were scored.")
      .def("one_best", &OracleTable::one_best, nb::arg("place"),
           nb::sig("def one_best(self, place: int) -> tuple[str, ...]"),
           "Return the words of the model's own choice.")
      .def("arcs", &OracleTable::arcs, nb::arg("place"),
           nb::sig("def arcs(self, place: int) -> tuple[int, ...]"), "Return the arcs of the path.")
      .def("features", &OracleTable::features, nb::arg("place"),
           nb::sig("def features(self, place: int) -> dict[str, float]"),
           "Return the features of the path that are not zero, by name.")
      .def("reference", row([](const WordOracle& found) { return found.metric.reference; }),
           nb::arg("place"), "Return the reference it was scored against.")
      .def("stats", &OracleTable::stats, nb::arg("place"), "Return the statistics.")
      .def("one_best_stats", &OracleTable::one_best_stats, nb::arg("place"),
           "Return the statistics of the model's own choice.");
  module.def(
      "search_words", &search_words, nb::arg("problems"), nb::arg("most"), nb::arg("model_weight"),
      nb::arg("memory"), nb::arg("workers"), nb::arg("one_best"),
      nb::sig("def search_words(problems: "
              "collections.abc.Iterable[tuple[lattices._native.LatticeColumns | "
              "lattices._native.ForestColumns, "
              "lattices._native.FeatureColumns | None, dict[str, int], list[str], "
              "fstmetrics._native.WordMetric, tuple[object, ...]]], most: int, "
              "model_weight: float, memory: int, workers: int, one_best: bool) -> "
              "tuple[OracleTable, list[tuple[int, int, list[int]]]]"),
      "Compile the references of each space, search it, and score what was found.\n"
      "\n"
      "A problem has the columns of a lattice or forest, those of its features or None, the\n"
      "numbers and the strings of its vocabulary, the metric, and the references:\n"
      "texts, or tuples of words. There are at most so many; while they are read, others are\n"
      "searched on threads. Each search may take so many bytes. Returns a row for each problem,\n"
      "and where there is no oracle the place, the outcome and the arcs in a list: 1, no path is\n"
      "complete; 2, the path's model score overflows; 3, it takes more memory, or a forest cannot\n"
      "be searched. With `one_best` the model's own choice is scored, too.");
}

}  // namespace decoding
