// The extension module decoding._native.
#include "decoding/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Oracles, minimum risk and training over lattices and forests.";
  lattices::translate_errors();
  // whose handles are taken here
  nanobind::module_::import_("lattices._native");
  nanobind::module_::import_("fstmetrics._native");
  decoding::bind_oracles(module);
}
