// Corpora from strings to statistics, and TER and METEOR of pairs: the bindings.
#include "fstmetrics/native/corpora.hpp"

#include "fstmetrics/native/bindings.hpp"
#include "fstmetrics/native/pairs.hpp"
#include "lattices/native/border.hpp"

namespace fstmetrics {

using namespace lattices;

namespace {

// The strings of a corpus, kept alive; not `plain` if there is anything else among them.
class Strings : public TextCorpus {
 public:
  Strings(nb::handle said, nb::handle expected) {
    plain = read(said, expected);
    // whoever reads them in another way says what is wrong
    PyErr_Clear();
  }

  bool plain;

 private:
  bool read(nb::handle said, nb::handle expected) {
    const auto sentences = items(said), of_segments = items(expected);
    if (!sentences.is_valid() || !of_segments.is_valid()) return false;
    const auto count = PySequence_Fast_GET_SIZE(sentences.ptr());
    if (PySequence_Fast_GET_SIZE(of_segments.ptr()) != count) return false;
    kept_.reserve(2 * count);
    for (Py_ssize_t s = 0; s < count; ++s) {
      if (!add(PySequence_Fast_GET_ITEM(sentences.ptr(), s), hypotheses)) return false;
      PyObject* some = PySequence_Fast_GET_ITEM(of_segments.ptr(), s);
      if (!is_sequence(some)) return false;
      const auto references_of = PySequence_Fast_GET_SIZE(some);
      if (references_of == 0) return false;
      for (Py_ssize_t r = 0; r < references_of; ++r) {
        if (!add(PySequence_Fast_GET_ITEM(some, r), references)) return false;
      }
      segment.push_back(static_cast<std::int32_t>(references.size()));
    }
    return true;
  }

  static nb::object items(nb::handle sequence) {
    return nb::steal(PySequence_Fast(sequence.ptr(), "no sequence"));
  }
  static bool is_sequence(PyObject* some) { return PyList_Check(some) || PyTuple_Check(some); }

  // Add a sentence: text, or tokens.
  bool add(PyObject* sentence, Texts& texts) {
    if (PyUnicode_Check(sentence)) {
      add_piece(sentence, texts);
      texts.end_sentence(true);
      return true;
    }
    if (!is_sequence(sentence)) return false;
    for (Py_ssize_t t = 0; t < PySequence_Fast_GET_SIZE(sentence); ++t) {
      PyObject* token = PySequence_Fast_GET_ITEM(sentence, t);
      if (!PyUnicode_Check(token)) return false;
      add_piece(token, texts);
    }
    texts.end_sentence(false);
    return true;
  }
  void add_piece(PyObject* string, Texts& texts) {
    kept_.push_back(nb::borrow(string));
    texts.piece.push_back(
        {PyUnicode_DATA(string), static_cast<std::size_t>(PyUnicode_GET_LENGTH(string)),
         static_cast<int>(PyUnicode_KIND(string)), static_cast<bool>(PyUnicode_IS_ASCII(string))});
  }

  std::vector<nb::object> kept_;
};

CorpusRun run_of(std::size_t width, int workers) { return {width, workers, check_signals}; }

Grid<double> grid_of(std::vector<double> rows, std::size_t width) {
  const auto count = rows.size() / width;
  return {std::move(rows), count, width};
}

// Sentences as numbers of words.
struct NumberedTexts {
  std::vector<Unit> unit;
  std::vector<std::int32_t> offset{0};

  void add(const Texts& texts, std::size_t sentence, const Cut& cut, WordNumbers& numbers,
           std::vector<std::string_view>& said) {
    said.clear();
    numbers.append(texts[sentence], texts.is_text[sentence], cut, unit, said);
    if (unit.size() > INT32_MAX) throw option_error("more than 2^31 words in one corpus");
    offset.push_back(static_cast<std::int32_t>(unit.size()));
  }
};

auto number_words(const Strings& strings) {
  WordNumbers numbers;
  NumberedTexts said, expected;
  unlocked([&](Poll& poll) {
    std::vector<std::string_view> words;
    for (std::size_t s = 0; s < strings.hypotheses.size(); ++s) {
      poll();
      for (auto r = strings.segment[s]; r < strings.segment[s + 1]; ++r) {
        expected.add(strings.references, r, {}, numbers, words);
      }
      said.add(strings.hypotheses, s, {}, numbers, words);
    }
    // 0 is no word
    for (auto* each : {&said, &expected}) {
      for (auto& unit : each->unit) ++unit;
    }
  });
  auto words = tuple_of(numbers.size(), [&](std::size_t number) {
    const auto word = numbers[number];
    return PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), "surrogatepass");
  });
  return std::tuple_cat(
      std::make_tuple(nb::typed<nb::tuple, nb::str, nb::ellipsis>(std::move(words))),
      give_all(said.unit, said.offset, expected.unit, expected.offset));
}

using StageColumns = std::vector<std::pair<Ints, Ints>>;

Stages stages_of(const StageColumns& given, std::size_t units) {
  Stages stages;
  for (const auto& [key, offset] : given) {
    stages.push_back({view(key), view(offset)});
    check(stages.back());
    if (stages.back().size() < units) throw option_error("units that have no keys");
  }
  return stages;
}

using PairColumns = Kept<Pairs, Ints, Ints, Ints, Ints>;

void bind_texts(nb::module_& module) {
  nb::class_<Strings>(module, "Corpus",
                      "Hypotheses and references as strings, or as lists or tuples of words.")
      .def(nb::init<nb::handle, nb::handle>(), "hypotheses"_a, "references"_a)
      .def_ro("plain", &Strings::plain,
              "Whether it is one: each segment has references, and all are strings or words.")
      .def_prop_ro(
          "segment", [](const Strings& strings) { return give(std::vector(strings.segment)); },
          nb::rv_policy::move, "Where the references of each segment begin, and end.")
      .def("words", number_words,
           "Return all words, and hypotheses and references as numbers of words, from 1 on.");
  module.def("alignment_rows",
             native([](const Strings& corpus, bool characters, bool spaces, std::size_t order,
                       double insertion, double deletion, int workers) {
               if (order < 1 || order > 255) {
                 throw option_error("the order of n-grams is from 1 to 255");
               }
               const Cut cut{Blanks::Ascii, characters, spaces, false};
               const auto width = order + 4;
               return grid_of(alignment_rows(corpus, cut, {order, insertion, deletion},
                                             run_of(width, workers)),
                              width);
             }),
             "corpus"_a, "characters"_a, "spaces"_a, "order"_a, "insertion"_a, "deletion"_a,
             "workers"_a, "Return a row of statistics for each reference.");
  module.def("ter_rows", native([](const Strings& corpus, int workers) {
               const Cut cut{Blanks::Unicode, false, false, false};
               return grid_of(ter_rows(corpus, cut, run_of(2, workers)), 2);
             }),
             "corpus"_a, "workers"_a,
             "Return the edits of TER, and the length, for each reference.");
  module.def("ngram_rows",
             native([](const Strings& corpus, bool characters, bool whitespace, std::size_t order,
                       int workers) {
               if (order < 1) throw option_error("the order of n-grams is at least 1");
               const auto blanks = whitespace ? Blanks::None : Blanks::Unicode;
               const Cut cut{blanks, characters, false, true};
               return grid_of(ngram_rows(corpus, cut, order, run_of(3 * order, workers)),
                              3 * order);
             }),
             "corpus"_a, "characters"_a, "whitespace"_a, "order"_a, "workers"_a,
             "Return what chrF counts of each order, of characters or words, for each reference.");
}

void bind_meteor(nb::module_& module) {
  module.def(
      "meteor_rows",
      [](const Ints& unit, const Ints& offset, const Ints& reference, const Ints& reference_offset,
         const Ints& segment, const StageColumns& stages, int workers) {
        const Corpus corpus{
            {view(unit), view(offset)}, {view(reference), view(reference_offset)}, view(segment)};
        check_corpus(corpus);
        const Pairs all{view(unit), view(offset), view(reference), view(reference_offset)};
        const auto keys = stages_of(stages, all.units());
        auto rows =
            unlocked([&] { return grid_of(meteor_rows(corpus, keys, run_of(4, workers)), 4); });
        return shown(rows);
      },
      "unit"_a, "offset"_a, "reference"_a, "reference_offset"_a, "segment"_a, "stages"_a,
      "workers"_a, "Return matches, chunks and both lengths for each reference.");
  module.def(
      "meteor_places",
      [](const Ints& words, const Ints& reference, const StageColumns& given) {
        const std::vector<std::int32_t> offset{0, static_cast<std::int32_t>(words.size())};
        const std::vector<std::int32_t> other{0, static_cast<std::int32_t>(reference.size())};
        const Pairs pair{view(words), offset, view(reference), other};
        check_columns(pair);
        const auto stages = stages_of(given, pair.units());
        MeteorAlignment align(stages);
        Poll poll;
        align(view(words), view(reference), poll);
        return give(std::vector(align.places().begin(), align.places().end()));
      },
      "words"_a, "reference"_a, "stages"_a,
      "Return the place that each word is matched with, -1 for none.");
  module.def(
      "pair_meteor",
      [](const PairColumns& pairs, const StageColumns& given, double alpha, double beta,
         double gamma) {
        const auto stages = stages_of(given, pairs.units());
        const MeteorScore score{alpha, beta, gamma};
        Grid<double> scores{{}, pairs.evidence.size(), pairs.candidates.size()};
        unlocked([&](Poll& poll) {
          MeteorAlignment align(stages);
          for (std::size_t e = 0; e < pairs.evidence.size(); ++e) {
            for (std::size_t c = 0; c < pairs.candidates.size(); ++c) {
              const auto words = pairs.candidates[c], reference = pairs.evidence[e];
              const auto [matches, chunks] = align(words, reference, poll);
              const double row[] = {static_cast<double>(matches), static_cast<double>(chunks),
                                    static_cast<double>(words.size()),
                                    static_cast<double>(reference.size())};
              scores.values.push_back(score(row));
            }
          }
        });
        return shown(scores);
      },
      "pairs"_a, "stages"_a, "alpha"_a, "beta"_a, "gamma"_a, "Return the METEOR of each pair.");
  module.def("meteor_scores",
             native([](const Table<double>& rows, double alpha, double beta, double gamma) {
               if (rows.shape(1) != 4) throw option_error("rows of METEOR have 4 statistics");
               const MeteorScore score{alpha, beta, gamma};
               std::vector<double> scores;
               for (std::size_t row = 0; row < rows.shape(0); ++row) {
                 scores.push_back(score(view(rows).subspan(4 * row, 4)));
               }
               return scores;
             }),
             "rows"_a, "alpha"_a, "beta"_a, "gamma"_a,
             "Return the METEOR of each row of statistics.");
}

}  // namespace

void bind_corpora(nb::module_& module) {
  bind_texts(module);
  bind_meteor(module);
  module.def("pair_translation_edits", native([](const PairColumns& pairs, Poll& poll) {
               Grid<std::int32_t> result{{}, pairs.evidence.size(), pairs.candidates.size()};
               TranslationEdits edits;
               for (std::size_t e = 0; e < pairs.evidence.size(); ++e) {
                 edits.set_reference(pairs.evidence[e]);
                 for (std::size_t c = 0; c < pairs.candidates.size(); ++c) {
                   result.values.push_back(edits(pairs.candidates[c], poll));
                 }
               }
               return result;
             }),
             "pairs"_a, "Return the edits of TER of each pair.");
}

}  // namespace fstmetrics
