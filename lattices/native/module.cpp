// The extension module lattices._native.
#include <nanobind/stl/string.h>

#include "lattices/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Searches and algorithms over lattices and forests.";
  lattices::set_up_module();
  module.def("in_bytes", &lattices::in_bytes, nb::arg("bytes"),
             "Return a number of bytes for people, as 2.1 GB.");
  lattices::bind_spaces(module);
  lattices::bind_inside(module);
  lattices::bind_paths(module);
  lattices::bind_transforms(module);
  lattices::bind_readers(module);
  lattices::bind_kaldi(module);
  lattices::bind_writers(module);
  lattices::bind_kbest(module);
  lattices::bind_forest_search(module);
  lattices::bind_ngrams(module);
  lattices::bind_intersection(module);
  lattices::bind_rows(module);
  lattices::bind_matches(module);
  lattices::bind_expectations(module);
}
