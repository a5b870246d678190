// Units, n-gram counts and BLEU: the bindings.
#include "fstmetrics/native/bindings.hpp"
#include "fstmetrics/native/bleu.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

Sentences sentences_of(std::span<const Unit> unit, std::span<const std::int32_t> offset) {
  const Sentences sentences{unit, offset};
  check(sentences);
  return sentences;
}

EffectiveLength length_of(int number) {
  if (number < 0 || number > 3)
    throw option_error("an effective length is closest, shortest, average, none");
  return static_cast<EffectiveLength>(number);
}

void bind_units(nb::module_& module) {
  module.def("distinct", native(distinct), "unit"_a,
             "Return the distinct units, first seen first, and the place of each unit.");
  module.def("spell",
             native([](std::span<const Unit> unit, std::span<const std::int32_t> offset,
                       std::span<const Unit> letter, std::span<const std::int32_t> letter_offset,
                       bool spaces) {
               const auto letters = sentences_of(letter, letter_offset);
               const Sentences words{unit, offset};
               check(words, letters.size());
               return spell(words, letters, spaces);
             }),
             "unit"_a, "offset"_a, "letter"_a, "letter_offset"_a, "spaces"_a,
             "Return sentences of words as sentences of letters; letter 0 is a blank.");
}

void bind_ngrams(nb::module_& module) {
  nb::class_<NGrams>(module, "NGrams",
                     "The n-grams of some references, with the most times that one has each.")
      .def(
          "__init__",
          [](NGrams* self, const Ints& unit, const Ints& offset, std::size_t order, int length) {
            new (self) NGrams(sentences_of(view(unit), view(offset)), order, length_of(length));
          },
          "unit"_a, "offset"_a, "order"_a, "length"_a)
      .def("matches",
           native([](const NGrams& ngrams, std::span<const Unit> unit,
                     std::span<const std::int32_t> offset, bool strict) {
             const auto sentences = sentences_of(unit, offset);
             return Grid<double>{match_list(ngrams, sentences, strict), sentences.size(),
                                 ngrams.width()};
           }),
           "unit"_a, "offset"_a, "strict"_a,
           "Return a row for each sentence: clipped matches and n-grams of each order, the length, "
           "the effective reference length.");
  module.def(
      "corpus_matches",
      native([](std::span<const Unit> unit, std::span<const std::int32_t> offset,
                std::span<const Unit> reference, std::span<const std::int32_t> reference_offset,
                std::span<const std::int32_t> segment, std::size_t order, int length, bool strict) {
        const Corpus corpus{sentences_of(unit, offset), sentences_of(reference, reference_offset),
                            segment};
        check_corpus(corpus);
        return Grid<double>{match_corpus(corpus, order, length_of(length), strict),
                            corpus.sentences.size(), 2 * order + 2};
      }),
      "unit"_a, "offset"_a, "reference"_a, "reference_offset"_a, "segment"_a, "order"_a, "length"_a,
      "strict"_a, "Return a row, as NGrams.matches does, for each segment of a corpus.");
}

}  // namespace

void bind_counting(nb::module_& module) {
  bind_units(module);
  bind_ngrams(module);
  module.def("bleu_scores",
             native([](const Table<double>& rows, std::span<const double> weight, int smoothing,
                       double value, bool effective_order, bool arithmetic) {
               if (rows.shape(1) != 2 * weight.size() + 2) {
                 throw option_error("statistics that do not fit the order of BLEU");
               }
               return bleu_scores(view(rows), {weight, static_cast<Smoothing>(smoothing), value,
                                               effective_order, arithmetic});
             }),
             "rows"_a, "weight"_a, "smoothing"_a, "value"_a, "effective_order"_a, "arithmetic"_a,
             "Return the BLEU of each row of statistics, in [0, 1].");
}

}  // namespace fstmetrics
