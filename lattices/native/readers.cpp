// Byte-level readers: JSON lines, Kaldi's text and binaries, OpenFst's binaries, Arrow batches.
//
// They say where a file is wrong and in which way; the words of the error are Python's.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "lattices/native/arrow_rows.hpp"
#include "lattices/native/bindings.hpp"
#include "lattices/native/border.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/distinct.hpp"
#include "lattices/native/fst_bytes.hpp"
#include "lattices/native/fst_text.hpp"
#include "lattices/native/json_arcs.hpp"
#include "lattices/native/kaldi_costs.hpp"
#include "lattices/native/kaldi_text.hpp"
#include "lattices/native/moses_lists.hpp"
#include "lattices/native/picked_lattice.hpp"
#include "lattices/native/slf_lines.hpp"

namespace lattices {

namespace {

using ByteColumn = Column<std::uint8_t>;
using Texts = nb::typed<nb::list, nb::str>;
template <class T>
using ListArrays = std::pair<Ints, Column<T>>;

// Offsets and numbers of columns are 32 bits wide, and no text has more entries than bytes.
std::string_view text_of(const nb::bytes& data) {
  if (data.size() > static_cast<std::size_t>(std::numeric_limits<Index>::max())) {
    throw space_error("a record of " + std::to_string(data.size()) +
                      " bytes, expected less than 2 GB");
  }
  return {data.c_str(), data.size()};
}

// Strings of UTF-8, or nothing if one is none; whether any has an escape.
bool add_texts(const std::vector<std::string_view>& texts, Texts& found, bool& escaped) {
  for (const auto text : texts) {
    const nb::object decoded = decode_text(text);
    if (!decoded.is_valid()) return false;
    found.append(decoded);
    escaped |= text.find('\\') != std::string_view::npos;
  }
  return true;
}

auto json_arcs(const nb::bytes& record) {
  using Found =
      std::tuple<std::size_t, std::size_t, Array<Index>, Array<Index>, Array<Index>, Array<double>,
                 Array<Index>, Array<Index>, Array<double>, Texts, Texts, bool>;
  JsonArcs arcs;
  const auto data = text_of(record);
  const bool known = unlocked([&](Poll& poll) { return JsonArcReader(data).read(arcs, poll); });
  Texts words, names;
  bool escaped = false;
  if (!known || !add_texts(arcs.words.values(), words, escaped) ||
      !add_texts(arcs.names.values(), names, escaped)) {
    return std::optional<Found>();
  }
  return std::optional<Found>(
      Found(arcs.begin, arcs.end, give(std::move(arcs.src)), give(std::move(arcs.dst)),
            give(std::move(arcs.word)), give(std::move(arcs.score)), give(std::move(arcs.offset)),
            give(std::move(arcs.feature)), give(std::move(arcs.value)), words, names, escaped));
}

auto kaldi_text(const nb::bytes& record) {
  const auto data = text_of(record);
  auto found = unlocked([&](Poll& poll) { return KaldiTextReader().read(data, poll); });
  nb::typed<nb::list, nb::bytes> labels;
  for (const auto label : found.labels.values()) labels.append(bytes_of(label));
  return std::tuple(static_cast<int>(found.problem), found.line, found.compact, found.start,
                    give(std::move(found.src)), give(std::move(found.dst)),
                    give(std::move(found.frames)), give(std::move(found.graph)),
                    give(std::move(found.acoustic)), give(std::move(found.final_graph)),
                    give(std::move(found.final_acoustic)), give(std::move(found.label)), labels,
                    give(std::move(found.label_line)));
}

using Words = nb::typed<nb::list, nb::bytes>;
using SlfTable =
    std::tuple<Array<Index>, Words, nb::typed<nb::dict, nb::bytes, Array<double>>,
               nb::typed<nb::dict, nb::bytes, Array<std::int64_t>>, Array<Index>, Words>;

SlfTable slf_table(SlfRows&& rows) {
  Words keys, words;
  nb::typed<nb::dict, nb::bytes, Array<double>> numbers;
  nb::typed<nb::dict, nb::bytes, Array<std::int64_t>> names;
  for (Index which = 0; which < rows.keys.size(); ++which) {
    const auto key = bytes_of(rows.keys[which]);
    auto& column = rows.columns[which];
    keys.append(key);
    if (column.kind == SlfKind::Number) numbers[key] = give(std::move(column.number));
    if (column.kind == SlfKind::Name) names[key] = give(std::move(column.name));
  }
  for (const auto word : rows.words.values()) words.append(bytes_of(word));
  return {give(std::move(rows.line)), keys, numbers, names, give(std::move(rows.word)), words};
}

auto slf_lines(const nb::bytes& record, bool quotes) {
  using Found = std::tuple<SlfTable, SlfTable, Words, Array<Index>>;
  const auto data = text_of(record);
  SlfLines lines;
  const bool known =
      unlocked([&](Poll& poll) { return SlfReader(quotes).read(data, lines, poll); });
  if (!known) return std::optional<Found>();
  Words other;
  for (const auto line : lines.other) other.append(bytes_of(line));
  return std::optional<Found>(Found(slf_table(std::move(lines.nodes)),
                                    slf_table(std::move(lines.links)), other,
                                    give(std::move(lines.other_line))));
}

auto fst_text(const nb::bytes& record, std::optional<bool> acceptor, bool input) {
  using Found = std::tuple<Index, Array<Index>, Array<Index>, Array<Index>, Array<double>,
                           Array<double>, Words>;
  const auto data = text_of(record);
  const auto arcs = !acceptor ? FstArcs::Auto : *acceptor ? FstArcs::Acceptor : FstArcs::Transducer;
  FstText found;
  const bool known = unlocked([&](Poll& poll) {
    return FstTextReader(arcs, input ? FstSide::Input : FstSide::Output).read(data, found, poll);
  });
  if (!known) return std::optional<Found>();
  Words labels;
  for (const auto label : found.labels.values()) labels.append(bytes_of(label));
  return std::optional<Found>(Found(found.start, give(std::move(found.src)),
                                    give(std::move(found.dst)), give(std::move(found.label)),
                                    give(std::move(found.cost)), give(std::move(found.final)),
                                    labels));
}

auto moses_list(const nb::bytes& record) {
  using Found = std::tuple<nb::bytes, Array<Index>, Array<Index>, Texts, Array<double>,
                           Array<double>, nb::bytes, Texts>;
  const auto data = text_of(record);
  MosesLines found;
  const bool known = unlocked([&](Poll& poll) { return MosesReader().read(data, found, poll); });
  Texts words, extra;
  bool escaped = false;
  const bool more = std::ranges::any_of(found.extra, [](auto each) { return !each.empty(); });
  if (!known || !add_texts(found.words.values(), words, escaped) ||
      (more && !add_texts(found.extra, extra, escaped))) {
    return std::optional<Found>();
  }
  return std::optional<Found>(Found(
      bytes_of(found.id), give(std::move(found.word)), give(std::move(found.offset)), words,
      give(std::move(found.score)), give(std::move(found.value)), bytes_of(found.features), extra));
}

FstStates states_at(const ByteColumn& data, std::size_t place, std::int64_t announced,
                    const WeightLayout& layout) {
  return unlocked(
      [&](Poll& poll) { return read_states(view(data), place, announced, layout, poll); });
}

auto fst_states(const ByteColumn& data, std::size_t place, std::int64_t announced, bool wide) {
  auto found = states_at(data, place, announced, {.costs = 1, .wide = wide});
  return std::tuple(found.complete, found.states, found.end, give(std::move(found.src)),
                    give(std::move(found.ilabel)), give(std::move(found.olabel)),
                    give(std::move(found.cost)), give(std::move(found.dst)),
                    give(std::move(found.final)));
}

auto kaldi_states(const ByteColumn& data, std::size_t place, std::int64_t announced, bool compact,
                  bool wide) {
  const WeightLayout layout{.costs = 2, .wide = wide, .ids = compact};
  auto found = states_at(data, place, announced, layout);
  const bool sound = found.complete && is_sound_kaldi(found);
  return std::tuple(sound, give(std::move(found.src)), give(std::move(found.dst)),
                    give(std::move(found.olabel)), give(std::move(found.frames)),
                    give(std::move(found.cost)), give(std::move(found.second)),
                    give(std::move(found.final)), give(std::move(found.final_second)));
}

// Where they end, and nothing if the bytes end before.
std::optional<std::size_t> kaldi_end(const ByteColumn& data, std::size_t place,
                                     std::int64_t announced, bool compact, bool wide) {
  const WeightLayout layout{.costs = 2, .wide = wide, .ids = compact};
  const auto found = unlocked(
      [&](Poll& poll) { return count_states(Bytes(view(data), place), announced, layout, poll); });
  return found.complete ? std::optional(found.end) : std::nullopt;
}

std::optional<std::size_t> symbols_end(const ByteColumn& data, std::size_t place) {
  const auto found =
      unlocked([&](Poll& poll) { return read_symbols(Bytes(view(data), place), false, poll); });
  return found.complete ? std::optional(found.end) : std::nullopt;
}

auto symbols_at(const ByteColumn& data, std::size_t place, std::int32_t magic) {
  using Found = std::tuple<Texts, Array<std::int64_t>, std::size_t>;
  auto found =
      unlocked([&](Poll& poll) { return read_symbols(Bytes(view(data), place), true, poll); });
  Texts words;
  bool escaped = false;
  if (!found.complete || found.magic != magic || !add_texts(found.symbols, words, escaped)) {
    return std::optional<Found>();
  }
  return std::optional<Found>(Found(words, give(std::move(found.keys)), found.end));
}

// The different labels as they come, and the number of each among them.
auto distinct_labels(std::span<const Index> label) {
  Distinct<Index> distinct;
  std::vector<Index> which(label.size());
  std::ranges::transform(label, which.begin(), [&](Index each) { return distinct.number(each); });
  return std::pair(std::move(distinct.values()), std::move(which));
}

void check_equal(std::size_t one, std::size_t other) {
  if (one != other) throw space_error("columns differ in length");
}

auto scores_of_costs(const Floats& graph, const Floats& acoustic, double lm_scale,
                     double acoustic_scale) {
  check_equal(view(graph).size(), view(acoustic).size());
  auto found = kaldi_scores(view(graph), view(acoustic), lm_scale, acoustic_scale);
  return std::tuple(give(std::move(found.score)), give(std::move(found.value)));
}

std::optional<Array<Index>> frames_of_states(const Ints& src, const Ints& dst, const Ints& frames,
                                             Index start, Index states) {
  check_equal(view(src).size(), view(dst).size());
  check_equal(view(src).size(), view(frames).size());
  const auto is_state = [&](Index each) { return each >= 0 && each < states; };
  if (!is_state(start) || !std::ranges::all_of(view(src), is_state) ||
      !std::ranges::all_of(view(dst), is_state)) {
    throw space_error("an arc leads out of the states");
  }
  auto found = state_frames(view(src), view(dst), view(frames), start, states);
  if (!found) return std::nullopt;
  return give(std::move(*found));
}

template <class T>
ListColumn<T> lists_of(const ListArrays<T>& arrays, std::size_t rows) {
  return {view(arrays.first), view(arrays.second), rows};
}

auto normal_lattices(const Column<bool>& wanted, const ListArrays<Index>& src,
                     const ListArrays<Index>& dst, const ListArrays<Index>& label,
                     const ListArrays<double>& score, const ListArrays<double>& final,
                     const Ints& start, Index words) {
  const auto rows = view(wanted).size();
  check_equal(rows, view(start).size());
  const LatticeLists lists{lists_of(src, rows),   lists_of(dst, rows),   lists_of(label, rows),
                           lists_of(score, rows), lists_of(final, rows), view(start)};
  auto found = unlocked([&] { return normal_rows(lists, view(wanted), words); });
  return std::tuple(give(std::move(found.normal)), give(std::move(found.in_arc)),
                    give(std::move(found.in_offset)), give(std::move(found.out_offset)));
}

auto sound_matrices(const Column<bool>& wanted, const Ints& height_at, const Ints& width_at,
                    const ListArrays<Index>& offset, const ListArrays<Index>& column,
                    const ListArrays<double>& value) {
  const auto rows = view(wanted).size();
  check_equal(rows + 1, view(height_at).size());
  check_equal(rows + 1, view(width_at).size());
  const MatrixLists lists{lists_of(offset, rows), lists_of(column, rows), lists_of(value, rows)};
  return give(
      unlocked([&] { return sound_rows(lists, view(wanted), view(height_at), view(width_at)); }));
}

using MatrixArrays = std::tuple<Ints, Ints, Floats>;

std::optional<FeatureRows> rows_of(const std::optional<MatrixArrays>& arrays) {
  if (!arrays) return {};
  const auto& [bounds, columns, values] = *arrays;
  return FeatureRows{view(bounds), view(columns), view(values)};
}

auto lattice_of_columns(const Ints& src, const Ints& dst, const Ints& label, const Floats& score,
                        const Floats& final, Index start, Index words,
                        const FeatureColumns::Names& names,
                        const std::optional<MatrixArrays>& features,
                        const std::optional<MatrixArrays>& final_features,
                        const std::string& called) {
  using Found = std::pair<nb::object, nb::object>;
  const auto rows = rows_of(features), ends = rows_of(final_features);
  const ArcParts parts{view(src), view(dst), view(label), view(score), view(final)};
  const auto width = names.size();
  OwnedRows own_rows, own_ends;
  auto made = unlocked([&]() -> std::optional<PickedLattice> {
    if ((rows && !is_sound(*rows, parts.src.size(), width)) ||
        (ends && !is_sound(*ends, parts.final.size(), width))) {
      return {};
    }
    auto found = picked(parts, start, words);
    if (!found) return {};
    if (rows) own_rows = picked(*rows, found->order ? &*found->order : nullptr);
    if (ends) own_ends = picked(*ends, nullptr);
    return found;
  });
  if (!made) return std::optional<Found>();
  // without a policy, a pointer is taken for somebody else's, and never freed
  constexpr auto owned = nb::rv_policy::take_ownership;
  nb::object held = nb::none();
  if (rows) {
    held = nb::cast(new FeatureColumns(names, std::move(own_rows), std::move(own_ends)), owned);
  }
  return std::optional<Found>(
      Found(nb::cast(new LatticeColumns(std::move(made->lattice), called), owned), held));
}

}  // namespace

void bind_readers(nb::module_& module) {
  module.def("json_arcs", json_arcs, "record"_a,
             "Return the arcs of a JSON object: where they stand, src, dst, word, score, the\n"
             "offsets, columns and values of features, words and names, and whether any has an\n"
             "escape. None if anything is unusual.");
  module.def("lattice_of_columns", lattice_of_columns, "src"_a, "dst"_a, "label"_a, "score"_a,
             "final"_a, "start"_a, "words"_a, "names"_a, "features"_a.none(),
             "final_features"_a.none(), "called"_a,
             nb::sig("def lattice_of_columns(src: NDArray[numpy.int32], dst: NDArray[numpy.int32], "
                     "label: NDArray[numpy.int32], score: NDArray[numpy.float64], final: "
                     "NDArray[numpy.float64], start: int, words: int, names: tuple[str, ...], "
                     "features: tuple[NDArray[numpy.int32], NDArray[numpy.int32], "
                     "NDArray[numpy.float64]] | None, final_features: tuple[NDArray[numpy.int32], "
                     "NDArray[numpy.int32], NDArray[numpy.float64]] | None, called: str) -> "
                     "tuple[LatticeColumns, FeatureColumns | None] | None"),
             "Return columns and features in normal form; None if states are in no topological\n"
             "order, or anything is wrong.");
  module.def("kaldi_text", kaldi_text, "record"_a,
             "Return what the lines of a lattice say: problem, line, compact, start, src, dst,\n"
             "frames, graph, acoustic, final_graph, final_acoustic, label, the different labels\n"
             "and the line of each.");
  module.def("slf_lines", slf_lines, "record"_a, "quotes"_a,
             "Return the node lines and the link lines of an HTK lattice, and the others with\n"
             "their places. Of lines: places, keys, numbers and names of nodes by key, the number\n"
             "of each word, and words. None if anything is unusual.");
  module.def("fst_text", fst_text, "record"_a, "acceptor"_a.none(), "input"_a,
             "Return what OpenFst's text says: start, src, dst, label, cost, final cost, and the\n"
             "different labels. None if anything is unusual.");
  module.def("moses_list", moses_list, "record"_a,
             "Return an n-best list of Moses: id, the number of each word, where lines begin,\n"
             "words, scores, values of features, the features of the first line, and what\n"
             "stands behind scores, if anything. None if anything is unusual.");
  module.def(
      "empty_line_ends",
      [](const nb::bytes& data) { return empty_line_ends({data.c_str(), data.size()}); }, "data"_a,
      "Return the places behind the empty lines of a text.");
  module.def("fst_states", fst_states, "data"_a, "place"_a, "announced"_a, "wide"_a,
             "Return the states of an OpenFst vector FST: complete, states, end, src, ilabel,\n"
             "olabel, weight, dst, final. States up to the end if -1 are announced.");
  module.def("kaldi_states", kaldi_states, "data"_a, "place"_a, "announced"_a, "compact"_a,
             "wide"_a,
             "Return the states of a Kaldi lattice: sound, src, dst, label, frames, graph,\n"
             "acoustic, final_graph, final_acoustic.");
  module.def("kaldi_end", kaldi_end, "data"_a, "place"_a, "announced"_a, "compact"_a, "wide"_a,
             "Return the place behind the states of a Kaldi lattice; None if they are cut short.");
  module.def("symbols_end", symbols_end, "data"_a, "place"_a,
             "Return the place behind a symbol table; None if it is cut short.");
  module.def("symbols_at", symbols_at, "data"_a, "place"_a, "magic"_a,
             "Return the symbols and keys of a table, and where it ends; None if it is damaged.");
  module.def("distinct_labels", native(distinct_labels), "label"_a,
             "Return the different labels as they come, and the number of each among them.");
  module.def("kaldi_scores", scores_of_costs, "graph"_a, "acoustic"_a, "lm_scale"_a,
             "acoustic_scale"_a,
             "Return scores, and the values of both features, one row after the other.");
  module.def("kaldi_frames", frames_of_states, "src"_a, "dst"_a, "frames"_a, "start"_a, "states"_a,
             "Return the frame of every state; None if one has none, or more than one.");
  module.def("normal_lattices", normal_lattices, "wanted"_a, "src"_a, "dst"_a, "label"_a, "score"_a,
             "final"_a, "start"_a, "words"_a,
             "Tell which rows of a batch are lattices in normal form; return the arcs into and\n"
             "out of their states.");
  module.def("sound_matrices", sound_matrices, "wanted"_a, "height_at"_a, "width_at"_a, "offset"_a,
             "column"_a, "value"_a,
             "Tell which rows of a batch are sparse matrices as scipy wants them.");
}

}  // namespace lattices
