// Oracles of lattices and forests under alignment metrics: the bindings.
#include "decoding/native/oracles.hpp"

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

// A lattice or forest of a batch with all that it is searched by: its columns, those of its
// features, the numbers and the strings of its vocabulary, the metric, and the references.
using StringList = nb::typed<nb::list, nb::str>;
using GivenProblem = std::tuple<AnySpace, std::optional<const FeatureColumns*>,
                                nb::typed<nb::dict, nb::str, nb::int_>, StringList,
                                const WordMetric*, nb::typed<nb::tuple, nb::object, nb::ellipsis>>;

WordProblem problem_of(const GivenProblem& given) {
  const auto& [space, features, numbers, strings, metric, references] = given;
  WordProblem problem;
  problem.metric = metric;
  std::visit(
      [&](const auto* columns) {
        if (features && !(*features)->fit(*columns)) {
          throw space_error("the features have not one row an arc");
        }
        problem.space = columns;
      },
      space);
  if (features) {
    problem.features = *features;
    problem.num_features = (*features)->names.size();
  }
  auto add = [&](nb::handle word) { problem.reference.push_back(number_of(numbers, word)); };
  for (PyObject* reference : items(references)) {
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
  std::vector<nb::object> feature_names;
  std::vector<nb::list> strings;

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
  nb::tuple one_best(std::size_t place) const { return words(place, found.at(place).one_best); }
  nb::tuple arcs(std::size_t place) const { return tuple_of(found.at(place).arcs); }
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

 private:
  nb::tuple words(std::size_t place, std::span<const Index> numbers) const {
    return pick_strings(strings[place], numbers);
  }
};

// Where there is no oracle: the place, the outcome, and the arcs if a path was found.
using Trouble = std::tuple<std::size_t, int, std::vector<Index>>;

// The list of the caller keeps what is searched alive.
std::pair<nb::typed<nb::object, OracleTable>, std::vector<Trouble>> search_words(
    const std::vector<GivenProblem>& problems, double model_weight, std::size_t memory, int workers,
    bool one_best) {
  auto* oracles = new OracleTable;
  nb::object table = nb::cast(oracles, nb::rv_policy::take_ownership);
  std::vector<WordProblem> given;
  for (const auto& problem : problems) {
    const auto features = std::get<1>(problem);
    oracles->feature_names.emplace_back();
    if (features) oracles->feature_names.back() = (*features)->names;
    oracles->strings.push_back(std::get<StringList>(problem));
    given.push_back(problem_of(problem));
  }
  const nb::object searches = nb::module_::import_("lattices._native").attr("FOREST_SEARCH");
  const WordOptions options{
      {model_weight, memory}, nb::cast<const SearchHandle*>(searches), one_best};
  Pool<WordSearch> pool;
  oracles->found = search_batch<WordOracle>(
      given.size(), workers, [&](std::size_t place, WordOracle& found, Poll& poll) {
        found = pool.take()->solve(given[place], options, poll);
      });
  std::vector<Trouble> trouble;
  for (std::size_t place = 0; place < given.size(); ++place) {
    const auto& found = oracles->found[place];
    if (found.outcome == Outcome::Found) continue;
    trouble.emplace_back(place, static_cast<int>(found.outcome), found.arcs);
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
      .def("stats_rows", &OracleTable::stats_rows, "of_one_best"_a,
           "Return the statistics of each, or of the model's own choices, of one metric.")
      .def_prop_ro(
          "has_one_best",
          [](const OracleTable& table) {
            return !table.strings.empty() && !table.found[0].one_best_metric.stats.empty();
          },
          "Whether the model's own choices were scored.")
      .def("one_best", &OracleTable::one_best, "place"_a,
           nb::sig("def one_best(self, place: int) -> tuple[str, ...]"),
           "Return the words of the model's own choice.")
      .def("arcs", &OracleTable::arcs, "place"_a,
           nb::sig("def arcs(self, place: int) -> tuple[int, ...]"), "Return the arcs of the path.")
      .def("features", &OracleTable::features, "place"_a,
           nb::sig("def features(self, place: int) -> dict[str, float]"),
           "Return the features of the path that are not zero, by name.")
      .def("reference", row([](const WordOracle& found) { return found.metric.reference; }),
           "place"_a, "Return the reference it was scored against.")
      .def("stats", &OracleTable::stats, "place"_a, "Return the statistics.");
  module.def(
      "search_words", &search_words, "problems"_a, "model_weight"_a, "memory"_a, "workers"_a,
      "one_best"_a,
      "Compile the references of each space, search it, and score what was found.\n"
      "\n"
      "A problem has the columns of a lattice or forest, those of its features or None, the\n"
      "numbers and the strings of its vocabulary, the metric, and the references:\n"
      "texts, or tuples of words. Each search may take so many bytes. Returns a row for each\n"
      "problem, and where there is no oracle the place, the outcome and the arcs in a list: 1, no\n"
      "path is complete; 2, the path's model score overflows; 3, it takes more memory, or a "
      "forest\n"
      "cannot be searched. With `one_best` the model's own choice is scored, too.");
}

}  // namespace decoding
