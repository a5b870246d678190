// N-gram tries, unfolded spaces, n-gram posteriors: the bindings.
#include "lattices/native/ngrams.hpp"

#include <cstring>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/ngram_posteriors.hpp"
#include "lattices/native/sentence_columns.hpp"
#include "lattices/native/unfolding.hpp"

namespace lattices {

namespace {

Matrix<Index> rows_of(const NgramTrie& trie) {
  std::vector<Index> rows(4 * static_cast<std::size_t>(trie.size()));
  std::memcpy(rows.data(), trie.rows().data(), rows.size() * sizeof(Index));
  return give(std::move(rows), static_cast<std::size_t>(trie.size()), 4);
}

NgramTrie trie_of(const Table<Index>& table) {
  check_size(table.shape(1), 4, "a row of n-grams");
  std::vector<NgramTrie::Row> rows(table.shape(0));
  std::memcpy(rows.data(), table.data(), rows.size() * sizeof(NgramTrie::Row));
  for (std::size_t gram = 0; gram < rows.size(); ++gram) {
    const auto bound = static_cast<Index>(std::max<std::size_t>(gram, 1));
    const auto& row = rows[gram];
    if (row.prefix < 0 || row.prefix >= bound || row.suffix < 0 || row.suffix >= bound) {
      throw option_error("these rows are no table of n-grams");
    }
  }
  return rows.empty() ? NgramTrie() : NgramTrie(std::move(rows));
}

// Twice, for both kinds of space: nanobind takes the one that fits.
template <class Space>
void bind_space(nb::module_& module) {
  module.def(
      "unfold",
      [](typename FromPython<const Space&>::Type space, Index order, std::size_t most) {
        if (order < 1 || order > 32) throw option_error("the order of n-grams is from 1 to 32");
        return unlocked([&](Poll& poll) { return unfold<Space>(space, order, most, poll); });
      },
      "space"_a, "order"_a, "most"_a,
      "Return a space unfolded by contexts of order - 1 words, or None if it has more than `most`\n"
      "edges.");
  module.def(
      "ngram_values",
      native([](const Space& space, const Unfolded& unfolded, double scale, bool every,
                Poll& poll) -> std::optional<std::vector<double>> {
        const auto shares = edge_shares(space, scale);
        if (!shares) return std::nullopt;
        const NgramExpectations<Space> expectations(space, unfolded, *shares);
        return every ? expectations.counts() : expectations.presence(poll);
      }),
      "space"_a, "unfolded"_a, "scale"_a, "every"_a,
      "Return the expected count of each n-gram, or the probability of its presence; None if the\n"
      "scale makes scores infinite.");
}

}  // namespace

void bind_ngrams(nb::module_& module) {
  nb::class_<NgramTrie>(module, "NgramTrie",
                        "N-grams as rows of (prefix, word, suffix, length); the first is empty.")
      .def("__len__", &NgramTrie::size)
      .def("rows", &rows_of)
      .def("__getstate__", &rows_of)
      .def("__setstate__",
           [](NgramTrie& trie, const Table<Index>& rows) { new (&trie) NgramTrie(trie_of(rows)); })
      .def("values_elsewhere",
           native([](const NgramTrie& trie, const NgramTrie& other, std::span<const double> value,
                     std::span<const Index> words) {
             check_size(value.size(), other.size(), "the column of values");
             return values_elsewhere(trie, other, value, words);
           }),
           "other"_a, "value"_a, "words"_a,
           "Return the value that each n-gram has in another table; `words` are the numbers that\n"
           "words have there.");
  nb::class_<Unfolded>(module, "Unfolded", "A space unfolded by contexts.")
      .def_prop_ro(
          "ngrams", [](const Unfolded& unfolded) -> const NgramTrie& { return unfolded.ngrams; },
          nb::rv_policy::reference_internal)
      .def_prop_ro("num_items", &Unfolded::num_nodes)
      .def_prop_ro("num_edges", &Unfolded::num_edges)
      .def_prop_ro("complete", [](const Unfolded& unfolded) { return !unfolded.ends.empty(); });
  bind_space<Lattice>(module);
  bind_space<Forest>(module);
  module.def(
      "sentence_ngrams",
      [](const Ints& label, const Ints& offset, Index order) {
        const auto sentences = sentences_of(label, offset);
        auto found = unlocked([&] { return sentence_ngrams(sentences, order); });
        return std::pair(std::move(found.trie), give(std::move(found.gram)));
      },
      "label"_a, "offset"_a, "order"_a,
      "Return the n-grams of sentences, and for each word the longest that ends with it.");
  module.def(
      "sentence_ngram_values",
      native([](const NgramTrie& trie, std::span<const Index> gram, std::span<const Index> offset,
                std::span<const double> weight, bool every) {
        const auto grams = grams_of(trie, gram, offset);
        check_size(weight.size(), grams.size(), "the column of weights");
        return sentence_ngram_values(trie, grams, weight, every);
      }),
      "trie"_a, "gram"_a, "offset"_a, "weight"_a, "every"_a,
      "Return the sum of the weights of the sentences that have each n-gram, once or every time.");
}

}  // namespace lattices
