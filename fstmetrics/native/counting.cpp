// Units, n-gram counts and BLEU: the bindings.
#include <nanobind/stl/tuple.h>

#include "fstmetrics/native/bindings.hpp"
#include "fstmetrics/native/bleu.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

Sentences checked(const Ints& unit, const Ints& offset) {
  const Sentences sentences{view(unit), view(offset)};
  check(sentences);
  return sentences;
}

EffectiveLength length_of(int number) {
  if (number < 0 || number > 3)
    throw option_error("an effective length is closest, shortest, average, none");
  return static_cast<EffectiveLength>(number);
}

void bind_units(nb::module_& module) {
  module.def(
      "distinct",
      [](const Ints& unit) {
        auto found = unlocked([&] { return distinct(view(unit)); });
        return give_all(found.units, found.place);
      },
      "unit"_a, "Return the distinct units, first seen first, and the place of each unit.");
  module.def(
      "spell",
      [](const Ints& unit, const Ints& offset, const Ints& letter, const Ints& letter_offset,
         bool spaces) {
        const auto letters = checked(letter, letter_offset);
        const Sentences words{view(unit), view(offset)};
        check(words, letters.size());
        auto found = unlocked([&] { return spell(words, letters, spaces); });
        return give_all(found.letter, found.offset);
      },
      "unit"_a, "offset"_a, "letter"_a, "letter_offset"_a, "spaces"_a,
      "Return sentences of words as sentences of letters; letter 0 is a blank.");
}

void bind_ngrams(nb::module_& module) {
  nb::class_<NGrams>(module, "NGrams",
                     "The n-grams of some references, with the most times that one has each.")
      .def(
          "__init__",
          [](NGrams* self, const Ints& unit, const Ints& offset, std::size_t order, int length) {
            new (self) NGrams(checked(unit, offset), order, length_of(length));
          },
          "unit"_a, "offset"_a, "order"_a, "length"_a)
      .def(
          "matches",
          [](const NGrams& ngrams, const Ints& unit, const Ints& offset, bool strict) {
            const auto sentences = checked(unit, offset);
            auto rows = unlocked([&] { return match_list(ngrams, sentences, strict); });
            return give(std::move(rows), sentences.size(), ngrams.width());
          },
          "unit"_a, "offset"_a, "strict"_a,
          "Return a row for each sentence: clipped matches and n-grams of each order, the length, "
          "the effective reference length.");
  module.def(
      "corpus_matches",
      [](const Ints& unit, const Ints& offset, const Ints& reference, const Ints& reference_offset,
         const Ints& segment, std::size_t order, int length, bool strict) {
        const Corpus corpus{checked(unit, offset), checked(reference, reference_offset),
                            view(segment)};
        // segments are cut from the references as sentences from units
        const std::vector<Unit> none(corpus.references.size());
        check({none, corpus.segment});
        if (corpus.segment.size() != corpus.sentences.size() + 1) {
          throw option_error("not as many lists of references as sentences");
        }
        auto rows =
            unlocked([&] { return match_corpus(corpus, order, length_of(length), strict); });
        return give(std::move(rows), corpus.sentences.size(), 2 * order + 2);
      },
      "unit"_a, "offset"_a, "reference"_a, "reference_offset"_a, "segment"_a, "order"_a, "length"_a,
      "strict"_a, "Return a row, as NGrams.matches does, for each segment of a corpus.");
}

}  // namespace

void bind_counting(nb::module_& module) {
  bind_units(module);
  bind_ngrams(module);
  module.def(
      "bleu_scores",
      [](const Table<double>& rows, const Floats& weight, int smoothing, double value,
         bool effective_order, bool arithmetic) {
        if (rows.shape(1) != 2 * weight.shape(0) + 2) {
          throw option_error("statistics that do not fit the order of BLEU");
        }
        const BleuOptions options{view(weight), static_cast<Smoothing>(smoothing), value,
                                  effective_order, arithmetic};
        return give(unlocked([&] { return bleu_scores(view(rows), options); }));
      },
      "rows"_a, "weight"_a, "smoothing"_a, "value"_a, "effective_order"_a, "arithmetic"_a,
      "Return the BLEU of each row of statistics, in [0, 1].");
}

}  // namespace fstmetrics
