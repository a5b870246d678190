// Inside and outside scores: the bindings.
#include "lattices/native/inside.hpp"

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/semirings.hpp"

namespace lattices {

namespace {

// Twice, for both kinds of space: nanobind takes the one that fits.
template <class Columns>
void bind(nb::module_& module) {
  module.def(
      "inside_scores",
      [](const Columns& space, int semiring, const Floats& weight) {
        return give(unlocked([&] {
          return with_semiring(semiring, [&](auto kind) {
            return inside_scores<decltype(kind)>(space, view(weight));
          });
        }));
      },
      nb::arg("space"), nb::arg("semiring"), nb::arg("weight"),
      "Return the sum over all that leads to each node.");
  module.def(
      "outside_scores",
      [](const Columns& space, int semiring, const Floats& weight, const Floats& end,
         const Floats& inside) {
        return give(unlocked([&] {
          return with_semiring(semiring, [&](auto kind) {
            return outside_scores<decltype(kind)>(space, view(weight), view(end), view(inside));
          });
        }));
      },
      nb::arg("space"), nb::arg("semiring"), nb::arg("weight"), nb::arg("end"), nb::arg("inside"),
      "Return the sum over all that completes each node.");
}

}  // namespace

void bind_inside(nb::module_& module) {
  bind<LatticeColumns>(module);
  bind<ForestColumns>(module);
}

}  // namespace lattices
