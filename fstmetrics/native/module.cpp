// The extension module fstmetrics._native.
#include "fstmetrics/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Statistics of metrics.";
  lattices::translate_errors();
  // the handles of spaces, which functions here take
  nanobind::module_::import_("lattices._native");
}
