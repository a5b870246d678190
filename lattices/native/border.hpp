// The border to Python: columns in, arrays out, the interpreter's lock, errors.
//
// Functions take their columns as Column<T> (contiguous, one axis, of exactly that type; anything
// else is refused by nanobind with a TypeError) and look at them as spans. Whoever computes does so
// inside `unlocked`, which releases the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"

namespace nb = nanobind;

namespace lattices {

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

// Let pending signals raise: a Poll::Check for threads that released the lock.
inline void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Compute without the interpreter's lock.
template <class Compute>
auto unlocked(Compute&& compute) {
  const nb::gil_scoped_release released;
  return compute();
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
