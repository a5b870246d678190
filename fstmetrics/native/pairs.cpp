// Every candidate against every sentence of evidence: the bindings.
#include "fstmetrics/native/pairs.hpp"

#include "fstmetrics/native/bindings.hpp"
#include "fstmetrics/native/pair_ngrams.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

// Two lists; Pairs has both as sentences.
using PairColumns = Kept<Pairs, Ints, Ints, Ints, Ints>;

Grid<double> grid_of(std::vector<double> scores, const PairMatches& pairs) {
  return {std::move(scores), pairs.other.size(), pairs.own.size()};
}

void bind_alignments(nb::module_& module) {
  module.def("edit_distances", native([](const PairColumns& pairs, Poll& poll) {
               return Grid<std::int32_t>{edit_distances(pairs, poll), pairs.evidence.size(),
                                         pairs.candidates.size()};
             }),
             "pairs"_a, "Return the edit distance of each pair.");
  module.def(
      "alignment_gains",
      native([](const PairColumns& pairs, std::size_t order, double insertion, double deletion,
                double one, const Table<double>& worth, Poll& poll) {
        if (order < 1) throw option_error("the order of n-grams is at least 1");
        const bool soft = worth.shape(0) > 0;
        if (soft && (worth.shape(0) < pairs.units() || worth.shape(1) != pairs.units())) {
          throw option_error("a table of similarities that does not fit the units");
        }
        auto gains = alignment_gains(pairs, {order, insertion, deletion}, soft ? 0.0 : one,
                                     soft ? view(worth) : std::span<const double>(), poll);
        return Grid<double>{std::move(gains), pairs.evidence.size(), pairs.candidates.size()};
      }),
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
      .def("of_order", native([](const PairMatches& pairs, std::size_t order) {
             if (order < 1 || order > pairs.order) throw option_error("no n-grams of that order");
             const auto columns = pairs.own.size(), rows = pairs.other.size();
             Grid<std::int32_t> result{std::vector<std::int32_t>(rows * columns), rows, columns};
             pairs.visit([&](auto matches) {
               for (std::size_t e = 0; e < rows; ++e) {
                 std::copy_n(&matches[(e * pairs.order + order - 1) * columns], columns,
                             &result.values[e * columns]);
               }
             });
             return result;
           }),
           "order"_a, "Return the matches of one order.")
      .def("bleu",
           native([](const PairMatches& pairs, std::span<const double> weight, int smoothing,
                     double value, bool effective_order, bool arithmetic) {
             if (weight.size() != pairs.order) throw option_error("one weight for each order");
             return grid_of(pair_bleu(pairs, {weight, static_cast<Smoothing>(smoothing), value,
                                              effective_order, arithmetic}),
                            pairs);
           }),
           "weight"_a, "smoothing"_a, "value"_a, "effective_order"_a, "arithmetic"_a,
           "Return the sentence BLEU of each pair.");
  module.def("pair_chrf",
             native([](const std::vector<const PairMatches*>& parts, double beta, bool smooth) {
               for (const auto* part : parts) {
                 if (part == nullptr || part->own.size() != parts[0]->own.size() ||
                     part->other.size() != parts[0]->other.size()) {
                   throw option_error("matches of other lists");
                 }
               }
               if (parts.empty()) throw option_error("no matches");
               return grid_of(pair_chrf(parts, beta, smooth), *parts[0]);
             }),
             "parts"_a, "beta"_a, "smooth"_a,
             "Return the chrF of each pair, from matches of characters and words.");
  module.def("chrf_scores",
             native([](const Table<double>& matches, const Table<double>& own,
                       std::span<const double> other, double beta, bool smooth) {
               const auto columns = own.shape(1);
               if (matches.shape(0) != other.size() || own.shape(0) != other.size() ||
                   matches.shape(1) != columns) {
                 throw option_error("matches that do not fit the n-grams");
               }
               ChrF chrf(beta, smooth, columns);
               for (std::size_t k = 0; k < other.size(); ++k) {
                 chrf.add(view(matches).subspan(k * columns, columns),
                          view(own).subspan(k * columns, columns), other[k]);
               }
               std::vector<double> scores(columns);
               chrf.finish(scores);
               return scores;
             }),
             "matches"_a, "own"_a, "other"_a, "beta"_a, "smooth"_a,
             "Return chrF of candidates against one reference, from counts, a row for each order.");
}

}  // namespace

void bind_pairs(nb::module_& module) {
  nb::class_<PairColumns>(module, "Pairs", "Candidates and evidence over one numbering of units.")
      .def(PairColumns::Init(), "unit"_a, "offset"_a, "other"_a, "other_offset"_a);
  bind_alignments(module);
  bind_matches(module);
}

}  // namespace fstmetrics
