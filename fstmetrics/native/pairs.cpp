// Every candidate against every sentence of evidence: the bindings.
#include "fstmetrics/native/pairs.hpp"

#include <nanobind/stl/vector.h>

#include <array>

#include "fstmetrics/native/bindings.hpp"
#include "fstmetrics/native/pair_ngrams.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

// Keeps the columns of two lists alive, for any number of calls.
struct PairColumns : Pairs {
  PairColumns(Ints unit, Ints offset, Ints other, Ints other_offset)
      : Pairs{{view(unit), view(offset)}, {view(other), view(other_offset)}},
        columns_{unit, offset, other, other_offset} {
    check(candidates);
    check(evidence);
  }

 private:
  std::array<Ints, 4> columns_;
};

void bind_alignments(nb::module_& module) {
  module.def(
      "edit_distances",
      [](const PairColumns& pairs) {
        auto distances = unlocked([&](Poll& poll) { return edit_distances(pairs, poll); });
        return give(std::move(distances), pairs.evidence.size(), pairs.candidates.size());
      },
      "pairs"_a, "Return the edit distance of each pair.");
  module.def(
      "alignment_gains",
      [](const PairColumns& pairs, std::size_t order, double insertion, double deletion, double one,
         const Table<double>& worth) {
        if (order < 1) throw option_error("the order of n-grams is at least 1");
        const bool soft = worth.shape(0) > 0;
        if (soft && (worth.shape(0) < pairs.units() || worth.shape(1) != pairs.units())) {
          throw option_error("a table of similarities that does not fit the units");
        }
        auto gains = unlocked([&](Poll& poll) {
          return alignment_gains(pairs, {order, insertion, deletion}, soft ? 0.0 : one,
                                 soft ? view(worth) : std::span<const double>(), poll);
        });
        return give(std::move(gains), pairs.evidence.size(), pairs.candidates.size());
      },
      "pairs"_a, "order"_a, "insertion"_a, "deletion"_a, "one"_a, "worth"_a,
      "Return the best gain of each pair, in matches. Costs are whole multiples of 1 / one, or in "
      "matches if that is 0; worth is empty, or says what units are worth as matches.");
}

void bind_matches(nb::module_& module) {
  nb::class_<PairMatches>(module, "PairMatches", "Clipped n-gram matches of each pair.")
      .def(
          "__init__",
          [](PairMatches* self, const PairColumns& pairs, std::size_t order) {
            if (order < 1) throw option_error("the order of n-grams is at least 1");
            unlocked([&](Poll& poll) { new (self) PairMatches(pairs, order, poll); });
          },
          "pairs"_a, "order"_a)
      .def(
          "of_order",
          [](const PairMatches& pairs, std::size_t order) {
            if (order < 1 || order > pairs.order) throw option_error("no n-grams of that order");
            const auto columns = pairs.own.size(), rows = pairs.other.size();
            std::vector<std::int32_t> result(rows * columns);
            pairs.visit([&](auto matches) {
              for (std::size_t e = 0; e < rows; ++e) {
                std::copy_n(&matches[(e * pairs.order + order - 1) * columns], columns,
                            &result[e * columns]);
              }
            });
            return give(std::move(result), rows, columns);
          },
          "order"_a, "Return the matches of one order.")
      .def(
          "bleu",
          [](const PairMatches& pairs, const Floats& weight, int smoothing, double value,
             bool effective_order, bool arithmetic) {
            if (weight.shape(0) != pairs.order) throw option_error("one weight for each order");
            const BleuOptions options{view(weight), static_cast<Smoothing>(smoothing), value,
                                      effective_order, arithmetic};
            auto scores = unlocked([&] { return pair_bleu(pairs, options); });
            return give(std::move(scores), pairs.other.size(), pairs.own.size());
          },
          "weight"_a, "smoothing"_a, "value"_a, "effective_order"_a, "arithmetic"_a,
          "Return the sentence BLEU of each pair.");
  module.def(
      "pair_chrf",
      [](const std::vector<const PairMatches*>& parts, double beta, bool smooth) {
        for (const auto* part : parts) {
          if (part == nullptr || part->own.size() != parts[0]->own.size() ||
              part->other.size() != parts[0]->other.size()) {
            throw option_error("matches of other lists");
          }
        }
        if (parts.empty()) throw option_error("no matches");
        auto scores = unlocked([&] { return pair_chrf(parts, beta, smooth); });
        return give(std::move(scores), parts[0]->other.size(), parts[0]->own.size());
      },
      "parts"_a, "beta"_a, "smooth"_a,
      "Return the chrF of each pair, from matches of characters and words.");
  module.def(
      "chrf_scores",
      [](const Table<double>& matches, const Table<double>& own, const Floats& other, double beta,
         bool smooth) {
        const auto columns = own.shape(1);
        if (matches.shape(0) != other.shape(0) || own.shape(0) != other.shape(0) ||
            matches.shape(1) != columns) {
          throw option_error("matches that do not fit the n-grams");
        }
        ChrF chrf(beta, smooth, columns);
        for (std::size_t k = 0; k < other.shape(0); ++k) {
          chrf.add(view(matches).subspan(k * columns, columns),
                   view(own).subspan(k * columns, columns), view(other)[k]);
        }
        std::vector<double> scores(columns);
        chrf.finish(scores);
        return give(std::move(scores));
      },
      "matches"_a, "own"_a, "other"_a, "beta"_a, "smooth"_a,
      "Return chrF of candidates against one reference, from counts, a row for each order.");
}

}  // namespace

void bind_pairs(nb::module_& module) {
  nb::class_<PairColumns>(module, "Pairs", "Candidates and evidence over one numbering of units.")
      .def(nb::init<Ints, Ints, Ints, Ints>(), "unit"_a, "offset"_a, "other"_a, "other_offset"_a);
  bind_alignments(module);
  bind_matches(module);
}

}  // namespace fstmetrics
