// What module.cpp calls: one function for each file that binds something.
#pragma once

#include <nanobind/nanobind.h>

namespace fstmetrics {

void bind_aligning(nanobind::module_& module);
void bind_corpora(nanobind::module_& module);
void bind_counting(nanobind::module_& module);
void bind_pairs(nanobind::module_& module);
void bind_similarity(nanobind::module_& module);

}  // namespace fstmetrics
