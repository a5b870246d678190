// What module.cpp calls: one function for each file that binds something.
#pragma once

#include <nanobind/nanobind.h>

namespace lattices {

void bind_spaces(nanobind::module_& module);
void bind_expectations(nanobind::module_& module);
void bind_inside(nanobind::module_& module);
void bind_paths(nanobind::module_& module);
void bind_transforms(nanobind::module_& module);
void bind_readers(nanobind::module_& module);
void bind_kaldi(nanobind::module_& module);
void bind_writers(nanobind::module_& module);
void bind_kbest(nanobind::module_& module);
void bind_forest_search(nanobind::module_& module);
void bind_ngrams(nanobind::module_& module);
void bind_intersection(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_matches(nanobind::module_& module);

}  // namespace lattices
