// Similar words and n-grams of them: the bindings.
#include "fstmetrics/native/similarity.hpp"

#include "fstmetrics/native/bindings.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

WordRows rows_of(std::span<const Unit> word, const Table<double>& vector) {
  if (vector.shape(0) != word.size()) throw option_error("not as many vectors as words");
  return {word, view(vector), vector.shape(1)};
}

}  // namespace

void bind_similarity(nb::module_& module) {
  module.def("affix_distances",
             native([](std::span<const Unit> point, std::span<const std::int32_t> offset,
                       std::span<const Unit> other_point,
                       std::span<const std::int32_t> other_offset, double limit, Poll& poll) {
               const Sentences words{point, offset}, others{other_point, other_offset};
               check(words);
               check(others);
               return Grid<double>{affix_distances(words, others, limit, poll), words.size(),
                                   others.size()};
             }),
             "point"_a, "offset"_a, "other_point"_a, "other_offset"_a, "limit"_a,
             "Return the affix distances of all pairs, those above the limit as 1.");
  module.def("tolerant_matches",
             native([](const Table<Unit>& word, const Table<double>& weight,
                       std::span<const Unit> reference, std::span<const std::int32_t> offset,
                       std::size_t order) {
               const Sentences references{reference, offset};
               check(references);
               if (word.shape(0) != references.size() || weight.shape(0) != references.size() ||
                   weight.shape(1) != word.shape(1)) {
                 throw option_error("not one correction for each reference");
               }
               return tolerant_matches({view(word), view(weight), word.shape(1)}, references,
                                       order);
             }),
             "word"_a, "weight"_a, "reference"_a, "offset"_a, "order"_a,
             "Return the weighted, clipped matches of a corrected sentence by order.");
  module.def("nearest_ngrams",
             native([](const Table<double>& product, std::span<const Unit> word,
                       const Table<double>& vector, std::span<const Unit> other,
                       const Table<double>& other_vector, std::size_t order) {
               const auto sentence = rows_of(word, vector),
                          reference = rows_of(other, other_vector);
               if (product.shape(0) != word.size() || product.shape(1) != other.size()) {
                 throw option_error("products that do not fit the words");
               }
               return Grid<double>{nearest_ngrams(view(product), sentence, reference, order), order,
                                   word.size()};
             }),
             "product"_a, "word"_a, "vector"_a, "other"_a, "other_vector"_a, "order"_a,
             "Return the largest cosine of each n-gram with one of the reference.");
}

}  // namespace fstmetrics
