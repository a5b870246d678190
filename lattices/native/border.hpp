// The border to Python: columns in, arrays out, the interpreter's lock, errors.
//
// Functions take their columns as Column<T> (contiguous, one axis, of exactly that type; anything
// else is refused by nanobind with a TypeError) and look at them as spans. Whoever computes does so
// inside `unlocked`, which releases the interpreter's lock, or in `search_batch`, with workers.
// `native(f)` makes of a function of spans, spaces and numbers one that Python can call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"

namespace nb = nanobind;

namespace lattices {

// the names of arguments: "name"_a
using namespace nb::literals;

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// a column that the function writes to
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Ints = Column<std::int32_t>;
using Floats = Column<double>;

template <class T>
std::span<const T> view(const Column<T>& column) {
  return {column.data(), column.shape(0)};
}
template <class T>
std::span<T> view(const Output<T>& column) {
  return {column.data(), column.shape(0)};
}
template <class T>
std::span<const T> view(const Table<T>& table) {
  return {table.data(), table.shape(0) * table.shape(1)};
}

// What is given, columns as spans.
template <class T>
const T& look_at(const T& given) {
  return given;
}
template <class T>
std::span<const T> look_at(const Column<T>& column) {
  return view(column);
}

template <class T>
using Array = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;
template <class T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

// Give a vector to numpy without a copy, as a column: read-only, so that a space or a result can
// keep it. The interpreter's lock is held.
template <class T>
Array<T> give(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}
template <class T>
Matrix<T> give(std::vector<T>&& values, std::size_t rows, std::size_t columns) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Matrix<T>(kept->data(), {rows, columns}, owner);
}

// Show memory that a Python object owns as a column, read-only, which keeps the object alive.
template <class T>
Array<T> show(std::span<const T> values, nb::handle owner) {
  return Array<T>(values.data(), {values.size()}, owner);
}

inline nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }
// Bytes of UTF-8 as a string of Python; null if they are none.
inline nb::object decode_text(std::string_view text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (decoded == nullptr) PyErr_Clear();
  return nb::steal(decoded);
}

// Numbers in rows and columns, as a result of a function.
template <class T>
struct Grid {
  std::vector<T> values;
  std::size_t rows, columns;
};

// The fields of a struct without constructors, as a tuple of references; it has two to eight.
struct AnyField {
  template <class T>
  operator T() const;
};
template <class T, class... Known>
consteval std::size_t count_fields() {
  if constexpr (requires { T{Known{}..., AnyField{}}; })
    return count_fields<T, Known..., AnyField>();
  return sizeof...(Known);
}
template <class T>
auto fields(T& all) {
  constexpr std::size_t count = count_fields<T>();
  static_assert(count >= 2 && count <= 8);
  if constexpr (count == 2) {
    auto& [a, b] = all;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = all;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = all;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = all;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = all;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = all;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = all;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

// A tuple of so many objects, made one by one; null where Python has set an error.
template <class Make>
nb::tuple tuple_of(std::size_t size, Make&& make) {
  nb::object result = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(size)));
  if (!result.is_valid()) throw nb::python_error();
  for (std::size_t place = 0; place < size; ++place) {
    PyObject* item = make(place);
    if (item == nullptr) throw nb::python_error();
    PyTuple_SET_ITEM(result.ptr(), place, item);
  }
  return nb::borrow<nb::tuple>(result);
}
inline nb::tuple tuple_of(std::span<const std::int32_t> numbers) {
  return tuple_of(numbers.size(), [&](std::size_t at) { return PyLong_FromLong(numbers[at]); });
}
// The strings of a list that have these numbers.
inline nb::tuple pick_strings(const nb::list& strings, std::span<const std::int32_t> numbers) {
  return tuple_of(numbers.size(), [&](std::size_t at) {
    return Py_XNewRef(PyList_GetItem(strings.ptr(), numbers[at]));
  });
}

// Results of a function: vectors of numbers and grids are given as arrays, structs and tuples as
// tuples of such, None where there is no result, and numbers as they are.
template <class T>
auto shown(T& result) {
  return std::move(result);
}
template <class T>
  requires std::is_enum_v<T>
auto shown(T& result) {
  return static_cast<int>(result);
}
template <class T>
  requires std::is_arithmetic_v<T>
auto shown(std::vector<T>& result) {
  return give(std::move(result));
}
template <class T>
auto shown(Grid<T>& result) {
  return give(std::move(result.values), result.rows, result.columns);
}
template <class T>
  requires std::is_aggregate_v<T>
auto shown(T& result) {
  return std::apply([](auto&... each) { return std::make_tuple(shown(each)...); }, fields(result));
}
template <class One, class Other>
auto shown(std::pair<One, Other>& result) {
  return std::make_tuple(shown(result.first), shown(result.second));
}
template <class... Parts>
auto shown(std::tuple<Parts...>& result) {
  return std::apply([](auto&... each) { return std::make_tuple(shown(each)...); }, result);
}
template <class T>
auto shown(std::optional<T>& result) {
  return result ? std::optional(shown(*result)) : std::nullopt;
}
template <class... Results>
auto give_all(Results&&... results) {
  return std::tuple(shown(results)...);
}

// None where there is no result, and what give(result) makes of it where there is one.
template <class Found, class Give>
auto given_or_none(std::optional<Found>& found, Give&& give) {
  return found ? std::optional(give(*found)) : std::nullopt;
}

// A struct of spans, made of columns that it keeps alive, in the order of its members: a handle
// for any number of calls. check_columns(columns) throws where they do not fit together.
template <class... Parts>
struct KeptParts {
  std::tuple<Parts...> parts;
};
template <class Columns, class... Parts>
struct Kept : private KeptParts<Parts...>, Columns {
  explicit Kept(Parts... given)
      : KeptParts<Parts...>{{std::move(given)...}},
        Columns(std::apply([](const auto&... each) { return Columns{look_at(each)...}; },
                           this->parts)) {
    check_columns(static_cast<const Columns&>(*this));
  }
  // for columns that a derived class keeps
  explicit Kept(Columns columns) : Columns(std::move(columns)) {}
  // strings are looked at where they stand
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  using Init = nb::init<Parts...>;
};

// Let pending signals raise: a Poll::Check for threads that released the lock.
inline void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Compute without the interpreter's lock: compute() or, where it takes long, compute(poll).
template <class Compute>
auto unlocked(Compute&& compute) {
  const nb::gil_scoped_release released;
  if constexpr (std::is_invocable_v<Compute, Poll&>) {
    Poll poll(check_signals);
    return compute(poll);
  } else {
    return compute();
  }
}

// How Python hands over a parameter: a span is a column, a space its handle (columns.hpp), and
// anything else is what it is.
template <class T>
struct FromPython {
  using Type = T;
};
template <class T>
struct FromPython<std::span<const T>> {
  using Type = const Column<T>&;
};

template <class F>
struct Parameters : Parameters<decltype(&F::operator())> {};
template <class Result, class... Each>
struct Parameters<Result (*)(Each...)> {
  using Type = std::tuple<Each...>;
};
template <class F, class Result, class... Each>
struct Parameters<Result (F::*)(Each...) const> : Parameters<Result (*)(Each...)> {};

// A function as Python calls it: it computes without the interpreter's lock, with a poll of signals
// if that is its last parameter, and its result is shown.
template <class All, class F, std::size_t... Place>
auto native(F compute, std::index_sequence<Place...>) {
  return [compute](typename FromPython<std::tuple_element_t<Place, All>>::Type... given) {
    const auto call = [&](Poll& poll) {
      if constexpr (sizeof...(Place) < std::tuple_size_v<All>) {
        return compute(look_at(given)..., poll);
      } else {
        return compute(look_at(given)...);
      }
    };
    if constexpr (std::is_void_v<decltype(unlocked(call))>) {
      unlocked(call);
    } else {
      auto result = unlocked(call);
      return shown(result);
    }
  };
}
template <class F>
auto native(F compute) {
  using All = typename Parameters<F>::Type;
  constexpr std::size_t last = std::tuple_size_v<All> - 1;
  constexpr bool polls = std::is_same_v<std::tuple_element_t<last, All>, Poll&>;
  return native<All>(compute, std::make_index_sequence<last + (polls ? 0 : 1)>());
}

// Search a batch of problems with so many workers, without the interpreter's lock:
// search(place, answer, poll) sets the answer of the problem at a place.
template <class Answer, class Search>
std::vector<Answer> search_batch(std::size_t count, int workers, Search&& search) {
  std::vector<Answer> answers(count);
  unlocked([&] {
    parallel_for(count, workers, check_signals,
                 [&](std::size_t place, Poll& poll) { search(place, answers[place], poll); });
  });
  return answers;
}

// Set an error of lattices.errors.
inline void raise(const char* name, const char* problem) {
  const nb::object kind = nb::module_::import_("lattices.errors").attr(name);
  PyErr_SetString(kind.ptr(), problem);
}

// What each module begins with: lattices::Error becomes the classes of lattices.errors, so does an
// allocation that fails, and nothing is printed about objects that are alive when the interpreter
// ends.
inline void set_up_module() {
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      static constexpr const char* names[] = {"SpaceError", "OptionError", "EngineError",
                                              "TooLargeError"};
      raise(names[static_cast<int>(error.kind)], error.what());
    } catch (const std::bad_alloc&) {
      raise("TooLargeError", "there is not enough memory");
    } catch (const std::length_error&) {
      // a vector of more elements than there are addresses
      raise("TooLargeError", "there is not enough memory");
    }
  });
}

}  // namespace lattices
