// Alignment metrics by equal words: the bindings.
#include "fstmetrics/native/word_metric.hpp"

#include "fstmetrics/native/bindings.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

void bind_word_metric(nb::module_& module) {
  nb::class_<WordMetric>(module, "WordMetric",
                         "An alignment metric under which equal words match, and no others.")
      .def(
          "__init__",
          [](WordMetric* self, std::size_t order, double insertion, double deletion,
             double insertion_units, double deletion_units, double one, bool error_rate) {
            if (order < 1 || order > 255) throw option_error("the order is from 1 to 255");
            new (self) WordMetric{
                {order, insertion, deletion}, insertion_units, deletion_units, one, error_rate};
          },
          nb::arg("order"), nb::arg("insertion"), nb::arg("deletion"), nb::arg("insertion_units"),
          nb::arg("deletion_units"), nb::arg("one"), nb::arg("error_rate"));
}

}  // namespace fstmetrics
