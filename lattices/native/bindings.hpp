// What module.cpp calls: one function for each file that binds something.
#pragma once

#include <nanobind/nanobind.h>

namespace lattices {

void bind_spaces(nanobind::module_& module);
void bind_expectations(nanobind::module_& module);
void bind_inside(nanobind::module_& module);
void bind_automata(nanobind::module_& module);
void bind_rows(nanobind::module_& module);

}  // namespace lattices
