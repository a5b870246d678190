// The extension module decoding._native.
#include "decoding/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Minimum risk and training over lattices and forests.";
  lattices::translate_errors();
}
