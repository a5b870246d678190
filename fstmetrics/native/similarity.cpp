// Similar words and n-grams of them: the bindings.
#include "fstmetrics/native/similarity.hpp"

#include "fstmetrics/native/bindings.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

WordRows rows_of(const Ints& word, const Table<double>& vector) {
  if (vector.shape(0) != word.shape(0)) throw option_error("not as many vectors as words");
  return {view(word), view(vector), vector.shape(1)};
}

}  // namespace

void bind_similarity(nb::module_& module) {
  module.def(
      "affix_distances",
      [](const Ints& point, const Ints& offset, const Ints& other_point, const Ints& other_offset,
         double limit) {
        const Sentences words{view(point), view(offset)};
        const Sentences others{view(other_point), view(other_offset)};
        check(words);
        check(others);
        auto distance =
            unlocked([&](Poll& poll) { return affix_distances(words, others, limit, poll); });
        return give(std::move(distance), words.size(), others.size());
      },
      "point"_a, "offset"_a, "other_point"_a, "other_offset"_a, "limit"_a,
      "Return the affix distances of all pairs, those above the limit as 1.");
  module.def(
      "tolerant_matches",
      [](const Table<Unit>& word, const Table<double>& weight, const Ints& reference,
         const Ints& offset, std::size_t order) {
        const Sentences references{view(reference), view(offset)};
        check(references);
        if (word.shape(0) != references.size() || weight.shape(0) != references.size() ||
            weight.shape(1) != word.shape(1)) {
          throw option_error("not one correction for each reference");
        }
        const Corrections corrections{view(word), view(weight), word.shape(1)};
        return give(unlocked([&] { return tolerant_matches(corrections, references, order); }));
      },
      "word"_a, "weight"_a, "reference"_a, "offset"_a, "order"_a,
      "Return the weighted, clipped matches of a corrected sentence by order.");
  module.def(
      "nearest_ngrams",
      [](const Table<double>& product, const Ints& word, const Table<double>& vector,
         const Ints& other, const Table<double>& other_vector, std::size_t order) {
        const auto sentence = rows_of(word, vector), reference = rows_of(other, other_vector);
        if (product.shape(0) != sentence.word.size() || product.shape(1) != reference.word.size()) {
          throw option_error("products that do not fit the words");
        }
        auto nearest =
            unlocked([&] { return nearest_ngrams(view(product), sentence, reference, order); });
        return give(std::move(nearest), order, word.shape(0));
      },
      "product"_a, "word"_a, "vector"_a, "other"_a, "other_vector"_a, "order"_a,
      "Return the largest cosine of each n-gram with one of the reference.");
}

}  // namespace fstmetrics
