// What module.cpp calls: one function for each file that binds something.
#pragma once

#include <nanobind/nanobind.h>

namespace decoding {

void bind_edit(nanobind::module_& module);
void bind_envelope(nanobind::module_& module);
void bind_bleu_search(nanobind::module_& module);
void bind_linear(nanobind::module_& module);
void bind_oracles(nanobind::module_& module);
void bind_expectation(nanobind::module_& module);
void bind_evidence(nanobind::module_& module);
void bind_search(nanobind::module_& module);

}  // namespace decoding
