// Text of lattices and lists, made of columns: the bindings.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "lattices/native/arrow_rows.hpp"
#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/kaldi_costs.hpp"
#include "lattices/native/sentence_columns.hpp"
#include "lattices/native/text_lines.hpp"

namespace lattices {

namespace {

using Texts = nb::typed<nb::list, nb::str>;

// UTF-8 of a string, which Python keeps with it; an error for half of a surrogate pair.
std::string_view utf8_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) throw nb::python_error();
  return {bytes, static_cast<std::size_t>(size)};
}

std::vector<std::string_view> utf8_of_all(const Texts& texts) {
  std::vector<std::string_view> found;
  found.reserve(texts.size());
  for (const nb::handle text : texts) found.push_back(utf8_of(text));
  return found;
}

void check_below(std::span<const Index> column, std::size_t bound, const char* what) {
  const auto is_below = [&](Index each) {
    return each >= 0 && static_cast<std::size_t>(each) < bound;
  };
  if (!std::ranges::all_of(column, is_below)) throw option_error(what);
}

nb::bytes kaldi_lattice_lines(const nb::str& key, const LatticeColumns& lattice, const Ints& name,
                              const Texts& names, const Floats& graph, const Floats& acoustic,
                              const Floats& final_graph, const Floats& final_acoustic,
                              bool compact) {
  const KaldiCosts costs{view(graph), view(acoustic), view(final_graph), view(final_acoustic)};
  const auto arcs = lattice.src.size(), states = lattice.final.size();
  check_size(view(name).size(), arcs, "the column of names");
  check_size(costs.graph.size(), arcs, "the column of graph costs");
  check_size(costs.acoustic.size(), arcs, "the column of acoustic costs");
  check_size(costs.final_graph.size(), states, "the column of final graph costs");
  check_size(costs.final_acoustic.size(), states, "the column of final acoustic costs");
  check_below(view(name), names.size(), "a label has no name");
  const auto spelled = utf8_of_all(names);
  const auto spelled_key = utf8_of(key);
  const auto text = unlocked(
      [&] { return kaldi_lines(spelled_key, lattice, view(name), spelled, costs, compact); });
  return bytes_of(text.view());
}

// Costs are two of the features, or made of scores where there are none.
FeatureCosts written_costs(const LatticeColumns& lattice, const FeatureColumns* features,
                           Index graph, Index acoustic, double tolerance) {
  if (features == nullptr) return score_costs(lattice);
  if (!features->fit(lattice)) throw space_error("the features have not one row an arc");
  return feature_costs(lattice, features->edges, features->ends, graph, acoustic, tolerance);
}

// The labels of a lattice as they are spelled.
struct LabelNames {
  std::vector<Index> name;  // one entry an arc, into `names`
  std::vector<std::string_view> names;
};

// Words for labels; nothing if they would not all be read as they are: where one has a blank in it
// or is epsilon's name, or all are digits.
std::optional<LabelNames> plain_names(std::span<const Index> label, const Texts& strings) {
  constexpr std::string_view epsilon = "<eps>", blanks = " \t\n\v\f\r", digits = "0123456789";
  LabelNames found;
  std::vector<Index> number(strings.size(), -1);
  found.name.reserve(label.size());
  bool numbers = true;
  for (const Index each : label) {
    auto& place = number[each];
    if (place < 0) {
      const auto word = each == 0 ? epsilon : utf8_of(strings[each]);
      const bool is_odd = each > 0 && (word == epsilon || word.find_first_of(blanks) != word.npos);
      if (is_odd) return {};
      numbers = numbers && word.find_first_not_of(digits) == word.npos;
      place = static_cast<Index>(found.names.size());
      found.names.push_back(word);
    }
    found.name.push_back(place);
  }
  if (numbers) return {};
  return found;
}

std::optional<nb::bytes> plain_kaldi_lines(const nb::str& key, const LatticeColumns& lattice,
                                           const FeatureColumns* features, Index graph,
                                           Index acoustic, double tolerance, const Texts& strings,
                                           bool compact) {
  check_below(lattice.label, strings.size(), "a label has no word");
  const auto spelled = plain_names(lattice.label, strings);
  if (!spelled) return {};
  const auto spelled_key = utf8_of(key);
  const auto text = unlocked([&]() -> std::optional<TextRoom> {
    const auto costs = written_costs(lattice, features, graph, acoustic, tolerance);
    if (!costs.summed) return {};
    const KaldiCosts columns{costs.graph, costs.acoustic, costs.final_graph, costs.final_acoustic};
    return kaldi_lines(spelled_key, lattice, spelled->name, spelled->names, columns, compact);
  });
  if (!text) return {};
  return bytes_of(text->view());
}

auto costs_of_lattice(const LatticeColumns& lattice, const FeatureColumns* features, Index graph,
                      Index acoustic, double tolerance) {
  auto found =
      unlocked([&] { return written_costs(lattice, features, graph, acoustic, tolerance); });
  return std::tuple(found.summed, give(std::move(found.graph)), give(std::move(found.acoustic)),
                    give(std::move(found.final_graph)), give(std::move(found.final_acoustic)));
}

nb::bytes moses_list_lines(const nb::str& id, const Ints& word, const Ints& offset,
                           const Texts& words, const Floats& score, const FeatureColumns* features,
                           const Texts& group_names, const Ints& group_column,
                           const Ints& group_offset, const Texts& extra) {
  const auto sentences = sentences_of(word, offset);
  const auto groups = sentences_of(group_column, group_offset);
  const auto entries = view(score).size();
  const std::size_t width = features == nullptr ? 0 : features->names.size();
  check_size(sentences.offset.size(), entries + 1, "the column of offsets");
  check_size(groups.offset.size(), group_names.size() + 1, "the column of groups");
  if (extra.size() > 0) check_size(extra.size(), entries, "what stands behind scores");
  if (features != nullptr) {
    check_size(features->edges.bounds.size(), entries + 1, "the rows of features");
  }
  check_below(sentences.label, words.size(), "a word has no name");
  check_below(groups.label, width, "a group has no such feature");
  const std::vector<Index> none(entries + 1, 0);
  MosesList list{.id = utf8_of(id),
                 .word = sentences.label,
                 .offset = sentences.offset,
                 .words = utf8_of_all(words),
                 .score = view(score),
                 .features = features == nullptr ? FeatureRows{none, {}, {}} : features->edges,
                 .groups = {},
                 .extra = utf8_of_all(extra)};
  for (Index group = 0; group < groups.size(); ++group) {
    list.groups.push_back({utf8_of(group_names[group]), groups.words(group)});
  }
  return bytes_of(unlocked([&] { return moses_lines(list, width); }));
}

auto join_lattices(const std::vector<const LatticeColumns*>& lattices,
                   const std::vector<std::optional<const FeatureColumns*>>& features) {
  check_size(features.size(), lattices.size(), "the list of features");
  std::vector<const FeatureRows*> arcs, ends;
  for (const auto& each : features) {
    arcs.push_back(each ? &(*each)->edges : nullptr);
    ends.push_back(each && (*each)->ends.num_rows() > 0 ? &(*each)->ends : nullptr);
  }
  auto found = unlocked([&] {
    const std::vector<const Lattice*> all(lattices.begin(), lattices.end());
    return std::tuple(joined(all), joined(arcs), joined(ends));
  });
  return shown(found);
}

}  // namespace

void bind_writers(nb::module_& module) {
  module.def(
      "joined_lattices", join_lattices, "lattices"_a, "features"_a,
      "Return columns of lattices, one after the other: where arcs and states of each begin,\n"
      "src, dst, label, score, final; and features of arcs and of ends: which have any,\n"
      "where their bounds begin, bounds, where their entries begin, columns, values.");
  module.def("kaldi_lines", kaldi_lattice_lines, "key"_a, "lattice"_a, "name"_a, "names"_a,
             "graph"_a, "acoustic"_a, "final_graph"_a, "final_acoustic"_a, "compact"_a,
             "Return a lattice of a Kaldi text archive; `name` says which of `names` an arc has.");
  module.def(
      "plain_kaldi_lines", plain_kaldi_lines, "key"_a, "lattice"_a, "features"_a.none(), "graph"_a,
      "acoustic"_a, "tolerance"_a, "strings"_a, "compact"_a,
      "Return a lattice of a Kaldi text archive, with words of a vocabulary, and two features\n"
      "or negated scores for costs. None if anything is unusual.");
  module.def("kaldi_costs", costs_of_lattice, "lattice"_a, "features"_a.none(), "graph"_a,
             "acoustic"_a, "tolerance"_a,
             "Return whether scores are the sums of costs, and the costs: graph, acoustic,\n"
             "final_graph, final_acoustic. They are two features, or else of scores alone.");
  module.def("moses_lines", moses_list_lines, "id"_a, "word"_a, "offset"_a, "words"_a, "score"_a,
             "features"_a.none(), "group_names"_a, "group_column"_a, "group_offset"_a, "extra"_a,
             "Return the lines of an n-best list of Moses; `word` says which of `words` each is.");
  module.def(
      "number_text",
      [](double value) {
        std::string text;
        append_number(text, value);
        return bytes_of(text);
      },
      "value"_a, "Return a number as Python's repr spells it.");
}

}  // namespace lattices
