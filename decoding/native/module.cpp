// The extension module decoding._native.
#include "decoding/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Minimum risk and training over lattices and forests.";
  lattices::translate_errors();
  // the handles of spaces, which functions here take
  nanobind::module_::import_("lattices._native");
  decoding::bind_evidence(module);
  decoding::bind_linear(module);
  decoding::bind_search(module);
}
