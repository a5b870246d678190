// Linear BLEU, consensus and aggregation: the bindings.
#include "decoding/native/linear.hpp"

#include <algorithm>
#include <numeric>

#include "decoding/native/bindings.hpp"
#include "decoding/native/evidence.hpp"
#include "decoding/native/ngram_matches.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/sentence_columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

LinearFactors factors_of(std::span<const double> theta, double unit, const NgramTrie& trie,
                         std::span<const double> value) {
  check_size(value.size(), trie.size(), "the column of values");
  for (const auto& row : trie.rows()) {
    if (static_cast<std::size_t>(row.length) >= theta.size()) {
      throw option_error("there are n-grams that are longer than the factors");
    }
  }
  return {theta, unit};
}

// The entries of the k sentences of the highest values, each sentence once, by the entry of the
// highest score; ties go to the higher score, then to the first.
std::vector<Index> ranked_sentences(const Sentences& sentences, std::span<const double> value,
                                    std::span<const double> score, std::size_t k) {
  std::vector<Index> order(sentences.size());
  std::iota(order.begin(), order.end(), Index{0});
  const auto ahead = [&](Index one, Index other) {
    if (value[one] != value[other]) return value[one] > value[other];
    if (score[one] != score[other]) return score[one] > score[other];
    return one < other;
  };
  if (k == 1 && !order.empty()) return {*std::min_element(order.begin(), order.end(), ahead)};
  std::sort(order.begin(), order.end(), ahead);
  Strings known;
  std::vector<Index> found;
  for (const Index entry : order) {
    if (found.size() == k) break;
    const Index number = known.number(bytes_of(sentences.words(entry)));
    if (number == static_cast<Index>(found.size())) found.push_back(entry);
  }
  return found;
}

// Twice, for both kinds of space: nanobind takes the one that fits.
template <class Space>
void bind_space(nb::module_& module) {
  module.def(
      "most_gaining",
      native([](const Space& space, const Unfolded& unfolded, std::span<const double> value,
                std::span<const double> theta, double unit, std::size_t k, Poll& poll) {
        const auto factors = factors_of(theta, unit, unfolded.ngrams, value);
        return most_gaining(space, unfolded, edge_gains(unfolded, value, factors), k, poll);
      }),
      "space"_a, "unfolded"_a, "value"_a, "theta"_a, "unit"_a, "k"_a,
      "Return the k sentences of the highest linear BLEU: what they gain, their edges, offsets.");
}

}  // namespace

void bind_linear(nb::module_& module) {
  bind_space<Lattice>(module);
  bind_space<Forest>(module);
  module.def(
      "sentence_gains",
      native([](const NgramTrie& trie, std::span<const Index> gram, std::span<const Index> offset,
                std::span<const double> value, std::span<const double> theta, double unit) {
        const auto factors = factors_of(theta, unit, trie, value);
        return sentence_gains(trie, grams_of(trie, gram, offset), value, factors);
      }),
      "trie"_a, "gram"_a, "offset"_a, "value"_a, "theta"_a, "unit"_a,
      "Return the linear BLEU of each sentence of a list.");
  module.def(
      "ranked_sentences",
      native([](std::span<const Index> label, std::span<const Index> offset,
                std::span<const double> value, std::span<const double> score, std::size_t k) {
        const auto sentences = sentences_of(label, offset);
        check_size(value.size(), sentences.size(), "the column of values");
        check_size(score.size(), sentences.size(), "the column of scores");
        return ranked_sentences(sentences, value, score, k);
      }),
      "label"_a, "offset"_a, "value"_a, "score"_a, "k"_a,
      "Return the entries of the k sentences of the highest values, each sentence once.");
  module.def(
      "expected_bleu",
      native([](const NgramTrie& trie, std::span<const Index> gram, std::span<const Index> offset,
                std::span<const double> expected, double length, Index order) {
        check_size(expected.size(), trie.size(), "the column of expected counts");
        return expected_bleu(trie, grams_of(trie, gram, offset), expected, length, order);
      }),
      "trie"_a, "gram"_a, "offset"_a, "expected"_a, "length"_a, "order"_a,
      "Return the BLEU of each sentence against expected counts and length.");
  module.def("average_matches",
             native([](std::span<const Index> unit, std::span<const Index> offset,
                       std::span<const Index> other, std::span<const Index> other_offset,
                       std::span<const double> weight, Index order) {
               const auto sentences = sentences_of(unit, offset);
               const auto others = sentences_of(other, other_offset);
               check_size(weight.size(), others.size(), "the column of weights");
               const auto ngrams = sentence_ngrams(others, order);
               const auto expected =
                   sentence_ngram_values(ngrams.trie, {ngrams.gram, others.offset}, weight, true);
               const auto gram = longest_known(ngrams.trie, sentences, order);
               const auto rows = static_cast<std::size_t>(sentences.size());
               return Grid<double>{
                   clipped_matches(ngrams.trie, {gram, sentences.offset}, expected, order), rows,
                   static_cast<std::size_t>(order)};
             }),
             "unit"_a, "offset"_a, "other"_a, "other_offset"_a, "weight"_a, "order"_a,
             "Return the matches of sentences by order, clipped by the expected counts of others.");
}

}  // namespace decoding
