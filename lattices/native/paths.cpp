// Paths and derivations as Python sees them, and rows of sparse features: the bindings.
#include "lattices/native/paths.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace lattices {

namespace {

void check_rows(const FeatureRows& rows, std::size_t width) {
  bool good = !rows.bounds.empty() && rows.bounds.front() == 0 &&
              static_cast<std::size_t>(rows.bounds.back()) == rows.columns.size() &&
              rows.columns.size() == rows.values.size();
  for (Index row = 0; good && row < rows.num_rows(); ++row) {
    good = rows.bounds[row] <= rows.bounds[row + 1];
  }
  for (const Index column : rows.columns) {
    good &= column >= 0 && static_cast<std::size_t>(column) < width;
  }
  if (!good) throw space_error("the parts of a sparse matrix do not fit together");
}

}  // namespace

FeatureColumns::FeatureColumns(Names all_names, Ints bounds, Ints columns, Floats values,
                               Ints end_bounds, Ints end_columns, Floats end_values)
    : names(std::move(all_names)),
      edges{view(bounds), view(columns), view(values)},
      ends{view(end_bounds), view(end_columns), view(end_values)},
      bounds_(std::move(bounds)),
      columns_(std::move(columns)),
      end_bounds_(std::move(end_bounds)),
      end_columns_(std::move(end_columns)),
      values_(std::move(values)),
      end_values_(std::move(end_values)) {
  check_rows(edges, names.size());
  check_rows(ends, names.size());
}

FeatureColumns::FeatureColumns(Names all_names, OwnedRows own_edges, OwnedRows own_ends)
    : names(std::move(all_names)),
      edges(own_edges.view()),
      ends(own_ends.view()),
      // which leaves the memory where it is
      own_edges_(std::move(own_edges)),
      own_ends_(std::move(own_ends)) {}

namespace {

// The sums that are not zero, by name; they begin anew.
nb::dict named(FeatureSums& sums, const nb::tuple& names) {
  nb::dict result;
  sums.take([&](Index column, double sum) { result[names[column]] = sum; });
  return result;
}

// A reader of a space's paths, with the features of each.
template <class Space>
struct ReaderOf;
template <>
struct ReaderOf<Lattice> {
  using Type = PathReader;
};
template <>
struct ReaderOf<Forest> {
  using Type = DerivationReader;
};

// Makes tuples of tokens, score, features and edges: the fields of a Hypothesis.
template <class Space>
class Speller {
 public:
  Speller(const Space& space, const FeatureColumns* features, nb::list strings)
      : space_(space),
        features_(features),
        strings_(std::move(strings)),
        reader_(space),
        sums_(features == nullptr ? 0 : features->names.size()) {
    if (features == nullptr) return;
    if (!features->fit(space)) throw space_error("the features have not one row an arc");
  }

  nb::tuple fields(std::span<const Index> edges) {
    const double score = reader_.read(edges, words_);
    nb::object tokens = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(words_.size())));
    if (!tokens.is_valid()) throw nb::python_error();
    for (std::size_t place = 0; place < words_.size(); ++place) {
      PyObject* word = PyList_GetItem(strings_.ptr(), words_[place]);
      if (word == nullptr) throw nb::python_error();
      PyTuple_SET_ITEM(tokens.ptr(), place, Py_NewRef(word));
    }
    nb::object path = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    if (!path.is_valid()) throw nb::python_error();
    for (std::size_t place = 0; place < edges.size(); ++place) {
      PyObject* edge = PyLong_FromLong(edges[place]);
      if (edge == nullptr) throw nb::python_error();
      PyTuple_SET_ITEM(path.ptr(), place, edge);
    }
    return nb::make_tuple(tokens, score, summed(edges), path);
  }

 private:
  nb::dict summed(std::span<const Index> edges) {
    if (features_ == nullptr) return {};
    for (const Index edge : edges) sums_.add(features_->edges, edge);
    if constexpr (std::is_same_v<Space, Lattice>) {
      if (features_->ends.num_rows() > 0) sums_.add(features_->ends, reader_.last());
    }
    return named(sums_, features_->names);
  }

  const Space& space_;
  const FeatureColumns* features_;
  nb::list strings_;
  typename ReaderOf<Space>::Type reader_;
  FeatureSums sums_;
  std::vector<Index> words_;
};

// Whatever has numbers one after the other, as edges; what is none of them becomes -1.
std::vector<Index> edge_numbers(nb::handle numbers) {
  const nb::object fast = nb::steal(PySequence_Fast(numbers.ptr(), "a path is a sequence of arcs"));
  if (!fast.is_valid()) throw nb::python_error();
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(fast.ptr());
  std::vector<Index> result;
  result.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t place = 0; place < size; ++place) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.ptr(), place);
    const Py_ssize_t number = PyNumber_AsSsize_t(item, nullptr);
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    const bool fits = number >= 0 && number <= std::numeric_limits<Index>::max();
    result.push_back(fits ? static_cast<Index>(number) : -1);
  }
  return result;
}

std::span<const Index> row_of(std::span<const Index> column, std::span<const Index> offset,
                              std::size_t row) {
  const Index begin = offset[row], end = offset[row + 1];
  if (begin < 0 || end < begin || static_cast<std::size_t>(end) > column.size()) {
    throw space_error("the offsets of paths do not fit their column");
  }
  return column.subspan(begin, end - begin);
}

template <class Space, class Columns>
void bind(nb::module_& module, const std::string& kind) {
  const std::string fields = "tuple[tuple[str, ...], float, dict[str, float], tuple[int, ...]]";
  module.def(
      "path_fields",
      [](const Columns& columns, const FeatureColumns* features, nb::list strings,
         const nb::object& edges) {
        return Speller<Space>(columns, features, std::move(strings)).fields(edge_numbers(edges));
      },
      "space"_a, "features"_a.none(), "strings"_a, "edges"_a,
      nb::sig(("def path_fields(space: " + kind +
               ", features: FeatureColumns | None, strings: list[str], edges: "
               "collections.abc.Sequence[int]) -> " +
               fields)
                  .c_str()),
      "Return the tokens, the score, the features and the edges of a path or derivation.");
  module.def(
      "paths_fields",
      [](const Columns& columns, const FeatureColumns* features, nb::list strings,
         const Ints& edges, const Ints& offset) {
        Speller<Space> speller(columns, features, std::move(strings));
        const auto all = view(edges), bounds = view(offset);
        nb::list found;
        for (std::size_t path = 0; path + 1 < bounds.size(); ++path) {
          found.append(speller.fields(row_of(all, bounds, path)));
        }
        return found;
      },
      "space"_a, "features"_a.none(), "strings"_a, "edges"_a, "offset"_a,
      nb::sig(("def paths_fields(space: " + kind +
               ", features: FeatureColumns | None, strings: list[str], edges: "
               "numpy.typing.NDArray[numpy.int32], offset: numpy.typing.NDArray[numpy.int32]) -> "
               "list[" +
               fields + "]")
                  .c_str()),
      "Return what path_fields says of each of several paths.");
}

struct Spelled {
  std::vector<Index> words, offset{0};
  std::vector<double> scores;
};

}  // namespace

void bind_paths(nb::module_& module) {
  nb::class_<FeatureColumns>(module, "FeatureColumns", "The features of a space, checked.")
      .def(nb::init<FeatureColumns::Names, Ints, Ints, Floats, Ints, Ints, Floats>(), "names"_a,
           "bounds"_a, "columns"_a, "values"_a, "end_bounds"_a, "end_columns"_a, "end_values"_a)
      .def(
          "row",
          [](const FeatureColumns& features, Index row) {
            if (row < 0 || row >= features.edges.num_rows()) throw nb::index_error("no such row");
            FeatureSums sums(features.names.size());
            sums.add(features.edges, row);
            return named(sums, features.names);
          },
          "row"_a, nb::sig("def row(self, row: int) -> dict[str, float]"),
          "Return the features of one row that are not zero, by name.")
      .def(
          "rows",
          [](nb::handle_t<FeatureColumns> self, bool ends) {
            const auto& features = nb::cast<const FeatureColumns&>(self);
            const auto& rows = ends ? features.ends : features.edges;
            return std::tuple(show(rows.values, self), show(rows.columns, self),
                              show(rows.bounds, self));
          },
          "ends"_a = false, "Return values, columns and bounds of the rows of edges, or of ends.");
  bind<Lattice, LatticeColumns>(module, "LatticeColumns");
  bind<Forest, ForestColumns>(module, "ForestColumns");
  module.def(
      "spell_derivations",
      [](const ForestColumns& columns, const Ints& edges, const Ints& offset) {
        const auto all = view(edges), bounds = view(offset);
        auto found = unlocked([&] {
          DerivationReader reader(columns);
          Spelled result;
          std::vector<Index> words;
          for (std::size_t path = 0; path + 1 < bounds.size(); ++path) {
            result.scores.push_back(reader.read(row_of(all, bounds, path), words));
            result.words.insert(result.words.end(), words.begin(), words.end());
            result.offset.push_back(static_cast<Index>(result.words.size()));
          }
          return result;
        });
        return give_all(found.words, found.offset, found.scores);
      },
      "forest"_a, "edges"_a, "offset"_a,
      "Return the words of many derivations, where each begins, and their scores.");
  module.def(
      "reordered_rows",
      [](const Ints& bounds, const Ints& columns, const Floats& values, const Ints& order) {
        const FeatureRows rows{view(bounds), view(columns), view(values)};
        check_rows(rows, std::numeric_limits<Index>::max());
        std::vector<Index> new_bounds{0}, new_columns;
        std::vector<double> new_values;
        new_bounds.reserve(order.shape(0) + 1);
        new_columns.reserve(rows.columns.size());
        new_values.reserve(rows.columns.size());
        for (const Index row : view(order)) {
          if (row < 0) {
            new_bounds.push_back(new_bounds.back());
            continue;
          }
          if (row >= rows.num_rows()) {
            throw space_error("row " + std::to_string(row) + " of a matrix of " +
                              std::to_string(rows.num_rows()));
          }
          const Index begin = rows.bounds[row], size = rows.bounds[row + 1] - begin;
          const auto picked = rows.columns.subspan(begin, size);
          new_columns.insert(new_columns.end(), picked.begin(), picked.end());
          const auto numbers = rows.values.subspan(begin, size);
          new_values.insert(new_values.end(), numbers.begin(), numbers.end());
          new_bounds.push_back(static_cast<Index>(new_columns.size()));
        }
        return give_all(new_values, new_columns, new_bounds);
      },
      "bounds"_a, "columns"_a, "values"_a, "order"_a,
      "Return the values, columns and bounds of these rows of a sparse matrix, an empty one for\n"
      "each that is negative.");
}

}  // namespace lattices
