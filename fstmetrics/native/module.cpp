// The extension module fstmetrics._native.
#include "fstmetrics/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Statistics of metrics.";
  lattices::set_up_module();
  // the handles of spaces, which functions here take
  nanobind::module_::import_("lattices._native");
  fstmetrics::bind_aligning(module);
  fstmetrics::bind_counting(module);
  fstmetrics::bind_pairs(module);
  fstmetrics::bind_similarity(module);
  // takes the pairs
  fstmetrics::bind_corpora(module);
}
