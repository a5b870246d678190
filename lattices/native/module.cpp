// The extension module lattices._native.
#include "lattices/native/bindings.hpp"
#include "lattices/native/border.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Searches and algorithms over lattices and forests.";
  lattices::set_up_module();
  lattices::bind_spaces(module);
  lattices::bind_inside(module);
  lattices::bind_automata(module);
  lattices::bind_rows(module);
  lattices::bind_expectations(module);
}
