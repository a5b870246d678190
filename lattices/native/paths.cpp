// Paths and derivations as Python sees them, and rows of sparse features: the bindings.
#include "lattices/native/paths.hpp"

#include <type_traits>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/owned.hpp"

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
    : FeatureParts(std::move(bounds), std::move(columns), std::move(values), std::move(end_bounds),
                   std::move(end_columns), std::move(end_values)),
      names(std::move(all_names)) {
  check_rows(edges, names.size());
  check_rows(ends, names.size());
}

FeatureColumns::FeatureColumns(Names all_names, OwnedRows own_edges, OwnedRows own_ends)
    : FeatureParts(Features{own_edges.view(), own_ends.view()}),
      names(std::move(all_names)),
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
    return nb::make_tuple(pick_strings(strings_, words_), score, summed(edges), tuple_of(edges));
  }

 private:
  nb::dict summed(std::span<const Index> edges) {
    if (features_ == nullptr) return {};
    sums_.add_path(*features_, space_, edges);
    return named(sums_, features_->names);
  }

  const Space& space_;
  const FeatureColumns* features_;
  nb::list strings_;
  std::conditional_t<std::is_same_v<Space, Lattice>, PathReader, DerivationReader> reader_;
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

// A sparse matrix, values first.
struct ValueRows {
  std::vector<double> values;
  std::vector<Index> columns, bounds{0};
};

ValueRows reorder_rows(std::span<const Index> bounds, std::span<const Index> columns,
                       std::span<const double> values, std::span<const Index> order) {
  const FeatureRows rows{bounds, columns, values};
  check_rows(rows, std::numeric_limits<Index>::max());
  ValueRows found;
  found.bounds.reserve(order.size() + 1);
  found.columns.reserve(columns.size());
  found.values.reserve(columns.size());
  for (const Index row : order) {
    if (row >= rows.num_rows()) {
      throw space_error("row " + std::to_string(row) + " of a matrix of " +
                        std::to_string(rows.num_rows()));
    }
    if (row >= 0) {
      const Index begin = bounds[row], end = bounds[row + 1];
      found.columns.insert(found.columns.end(), columns.begin() + begin, columns.begin() + end);
      found.values.insert(found.values.end(), values.begin() + begin, values.begin() + end);
    }
    found.bounds.push_back(static_cast<Index>(found.columns.size()));
  }
  return found;
}

}  // namespace

void bind_paths(nb::module_& module) {
  nb::class_<FeatureColumns>(module, "FeatureColumns", "The features of a space, checked.")
      .def(nb::init<FeatureColumns::Names, Ints, Ints, Floats, Ints, Ints, Floats>(), "names"_a,
           "bounds"_a, "columns"_a, "values"_a, "end_bounds"_a, "end_columns"_a, "end_values"_a)
      .def_prop_ro("size",
                   [](const FeatureColumns& features) { return features.edges.values.size(); })
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
      native([](const Forest& forest, std::span<const Index> edges, std::span<const Index> offset) {
        DerivationReader reader(forest);
        Spelled result;
        std::vector<Index> words;
        for (std::size_t path = 0; path + 1 < offset.size(); ++path) {
          result.scores.push_back(reader.read(row_of(edges, offset, path), words));
          result.words.insert(result.words.end(), words.begin(), words.end());
          result.offset.push_back(static_cast<Index>(result.words.size()));
        }
        return result;
      }),
      "forest"_a, "edges"_a, "offset"_a,
      "Return the words of many derivations, where each begins, and their scores.");
  module.def("canonical_rows",
             native([](std::span<const Index> bounds, std::span<const Index> columns,
                       std::span<const double> values) {
               return canonical(FeatureRows{bounds, columns, values});
             }),
             "bounds"_a, "columns"_a, "values"_a,
             "Return bounds, columns and values of rows with their columns in order and one value\n"
             "for each; None if they are so already.");
  module.def("reordered_rows", native(reorder_rows), "bounds"_a, "columns"_a, "values"_a, "order"_a,
             "Return the values, columns and bounds of these rows of a sparse matrix, an empty one "
             "for\n"
             "each that is negative.");
}

}  // namespace lattices
