// Tuples of Python's made of numbers: those themselves, or the words that they stand for.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

#include "lattices/native/index.hpp"

namespace lattices {

inline nanobind::object steal(PyObject* made) {
  if (made == nullptr) throw nanobind::python_error();
  return nanobind::steal(made);
}

// make(number) returns a new reference, or null with an error set.
template <class Make>
nanobind::tuple make_tuple_of(std::span<const Index> numbers, Make&& make) {
  nanobind::object result = steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    PyTuple_SET_ITEM(result.ptr(), place, steal(make(numbers[place])).release().ptr());
  }
  return nanobind::borrow<nanobind::tuple>(result);
}

inline nanobind::tuple tuple_of(std::span<const Index> numbers) {
  return make_tuple_of(numbers, [](Index number) { return PyLong_FromLong(number); });
}

// The words of a vocabulary, whose list of strings is given.
inline nanobind::tuple words_of(nanobind::handle strings, std::span<const Index> numbers) {
  return make_tuple_of(
      numbers, [&](Index number) { return Py_XNewRef(PyList_GetItem(strings.ptr(), number)); });
}

}  // namespace lattices
