// The extension module decoding._native.
#include "decoding/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Oracles, minimum risk and training over lattices and forests.";
  lattices::set_up_module();
  // whose handles are taken here
  nanobind::module_::import_("lattices._native");
  nanobind::module_::import_("fstmetrics._native");
  decoding::bind_oracles(module);
  decoding::bind_edit(module);
  decoding::bind_bleu_search(module);
  decoding::bind_linear(module);
  decoding::bind_envelope(module);
  decoding::bind_expectation(module);
  decoding::bind_evidence(module);
  decoding::bind_search(module);
}
