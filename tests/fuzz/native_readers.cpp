// The native readers under libFuzzer, with address and undefined-behaviour sanitizers.
//
// `native_readers NAME [libFuzzer options] CORPUS`, with a name of READERS below.
// tests/fuzz/native.py builds it, where there is clang++, and runs it. Besides what the sanitizers
// find, a reader fails whose result does not keep the promises that its callers rely on.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lattices/native/arrow_rows.hpp"
#include "lattices/native/fst_bytes.hpp"
#include "lattices/native/fst_text.hpp"
#include "lattices/native/json_arcs.hpp"
#include "lattices/native/kaldi_binary.hpp"
#include "lattices/native/kaldi_costs.hpp"
#include "lattices/native/kaldi_text.hpp"
#include "lattices/native/moses_lists.hpp"
#include "lattices/native/numbers.hpp"
#include "lattices/native/slf_lines.hpp"

using namespace lattices;

namespace {

using Input = std::span<const std::uint8_t>;

std::string_view text_of(Input data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

template <class Column>
void all_below(const Column& column, std::size_t bound, const char* what) {
  for (const auto each : column) promise(each >= 0 && static_cast<std::size_t>(each) < bound, what);
}

// A number is what the C library makes of it, to the bit, and comes back as it is spelled here.
void numbers(Input data) {
  double value = 0.0;
  if (!number_of(text_of(data), value)) return;
  const std::string text(text_of(data));
  char* end = nullptr;
  const double expected = std::strtod(text.c_str(), &end);
  promise(end == text.c_str() + text.size(), "a number ends where that of strtod ends");
  promise(std::memcmp(&value, &expected, sizeof value) == 0, "a number is that of strtod");
  std::string spelled;
  append_number(spelled, value);
  double again = 0.0;
  promise(number_of(spelled, again) && std::memcmp(&value, &again, sizeof value) == 0,
          "a number that is written is read back");
}

void json(Input data) {
  JsonArcs arcs;
  Poll poll;
  if (!JsonArcReader(text_of(data)).read(arcs, poll)) return;
  const auto count = arcs.src.size();
  promise(arcs.begin < arcs.end && arcs.end <= data.size(), "arcs stand within the record");
  promise(data[arcs.begin] == '[' && data[arcs.end - 1] == ']', "arcs stand between brackets");
  promise(arcs.dst.size() == count && arcs.word.size() == count && arcs.score.size() == count,
          "columns are equally long");
  promise(arcs.offset.size() == count + 1 && arcs.offset.front() == 0, "a row for every arc");
  promise(static_cast<std::size_t>(arcs.offset.back()) == arcs.feature.size() &&
              arcs.feature.size() == arcs.value.size(),
          "rows share out the features");
  all_below(arcs.src, 1u << 31, "states are numbers from 0");
  all_below(arcs.dst, 1u << 31, "states are numbers from 0");
  all_below(arcs.word, arcs.words.values().size(), "words are known");
  all_below(arcs.feature, arcs.names.values().size(), "names are known");
}

void check_kaldi(std::span<const Index> src, std::span<const Index> dst,
                 std::span<const Index> frames, std::span<const double> graph,
                 std::span<const double> acoustic, Index start, std::size_t states) {
  all_below(src, states, "sources are states");
  all_below(dst, states, "targets are states");
  const auto scores = kaldi_scores(graph, acoustic, 1.0, 0.1);
  promise(scores.score.size() == src.size(), "a score for every arc");
  if (states == 0) return;
  const auto found = state_frames(src, dst, frames, start, static_cast<Index>(states));
  promise(!found || found->size() == states, "a frame for every state");
}

void kaldi_text(Input data) {
  Poll poll;
  auto found = KaldiTextReader().read(text_of(data), poll);
  const auto ends = empty_line_ends(text_of(data));
  promise(ends.empty() == (found.problem == KaldiProblem::Unended), "a lattice ends at a line");
  if (found.problem != KaldiProblem::None) return;
  all_below(found.label, found.labels.values().size(), "labels are known");
  promise(found.label_line.size() == found.labels.values().size(), "a line for every label");
  promise(found.final_graph.size() == found.final_acoustic.size(), "columns are equally long");
  check_kaldi(found.src, found.dst, found.frames, found.graph, found.acoustic, found.start,
              found.final_graph.size());
}

// The ends of an archive's lattices, and the first of them as columns.
void kaldi_binary(Input data) {
  Poll poll;
  std::size_t before = 0;
  for (const auto end : kaldi_ends(data, poll)) {
    promise(before < end && end <= data.size(), "lattices stand one after the other");
    before = end;
  }
  KaldiRecord record(data);
  if (!record.read(poll)) return;
  LabelNumbers numbers;
  Index words = 1;
  for (const Index label : record.unknown(numbers)) {
    promise(label >= 0, "labels are numbers from 0");
    if (label > 1 << 16) return;
    if (static_cast<std::size_t>(label) >= numbers.size()) numbers.resize(label + 1, -1);
    numbers[label] = label == 0 ? 0 : words++;
  }
  promise(record.unknown(numbers).empty(), "labels that have numbers are known");
  const auto made = record.make(numbers, words, 1.0, 0.1, 0.01);
  if (!made) return;
  const auto& lattice = made->lattice;
  const auto arcs = lattice.src.size(), states = lattice.final.size();
  promise(!made->key.empty() && made->key.size() < data.size(), "a key is within the bytes");
  promise(lattice.dst.size() == arcs && lattice.label.size() == arcs &&
              lattice.score.size() == arcs && lattice.in_arc.size() == arcs,
          "columns are equally long");
  promise(lattice.in_offset.size() == states + 1 && lattice.out_offset.size() == states + 1,
          "offsets for every state");
  promise(static_cast<std::size_t>(lattice.start) < states, "the start is a state");
  all_below(lattice.src, states, "sources are states");
  all_below(lattice.dst, states, "targets are states");
  all_below(lattice.label, words, "labels are words");
  all_below(lattice.in_arc, arcs, "arcs into states are arcs");
  promise(made->features.view().num_rows() == static_cast<Index>(arcs) &&
              made->final_features.view().num_rows() == static_cast<Index>(states),
          "features for every arc and state");
  promise(made->times.empty() || made->times.size() == states, "a time for every state");
}

void check_slf(const SlfRows& rows) {
  const auto count = rows.line.size();
  promise(rows.word.size() == count, "a word for every line, or none");
  promise(rows.columns.size() == static_cast<std::size_t>(rows.keys.size()), "a column a key");
  for (const Index word : rows.word) promise(word < rows.words.size(), "words are known");
  for (const auto& column : rows.columns) {
    promise(column.kind != SlfKind::Number || column.number.size() == count, "numbers of lines");
    promise(column.kind != SlfKind::Name || column.name.size() == count, "nodes of lines");
  }
}

// The first byte says whether quotes are syntax.
void slf(Input data) {
  if (data.empty()) return;
  Poll poll;
  SlfLines found;
  if (!SlfReader((data[0] & 1) != 0).read(text_of(data.subspan(1)), found, poll)) return;
  promise(found.other.size() == found.other_line.size(), "a place for every line");
  check_slf(found.nodes);
  check_slf(found.links);
}

// The first byte says what arcs have, and which side is read.
void fst_text(Input data) {
  if (data.empty()) return;
  Poll poll;
  FstText found;
  FstTextReader reader(static_cast<FstArcs>(data[0] % 3),
                       data[0] & 128 ? FstSide::Input : FstSide::Output);
  if (!reader.read(text_of(data.subspan(1)), found, poll)) return;
  const auto arcs = found.src.size(), states = found.final.size();
  promise(found.dst.size() == arcs && found.label.size() == arcs && found.cost.size() == arcs,
          "columns are equally long");
  promise(static_cast<std::size_t>(found.start) < states, "the start is a state");
  all_below(found.src, states, "sources are states");
  all_below(found.dst, states, "targets are states");
  all_below(found.label, found.labels.values().size(), "labels are known");
}

void moses(Input data) {
  Poll poll;
  MosesLines found;
  if (!MosesReader().read(text_of(data), found, poll)) return;
  const auto entries = found.score.size();
  promise(found.offset.size() == entries + 1 && found.extra.size() == entries, "a line an entry");
  promise(static_cast<std::size_t>(found.offset.back()) == found.word.size(), "lines have words");
  promise(found.value.size() % entries == 0, "as many features in every line");
  all_below(found.word, found.words.values().size(), "words are known");
}

// The first byte says which layout, the second how many states are announced.
void fst(Input data) {
  if (data.size() < 2) return;
  const WeightLayout layout{
      .costs = data[0] & 1 ? 2 : 1, .wide = (data[0] & 2) != 0, .ids = (data[0] & 5) == 5};
  const std::int64_t announced = static_cast<std::int8_t>(data[1]);
  Poll poll;
  const auto counted = count_states(Bytes(data, 2), announced, layout, poll);
  const auto found = read_states(data, 2, announced, layout, poll);
  promise(counted.complete == found.complete && counted.end == found.end &&
              counted.states == found.states && counted.arcs == found.arcs,
          "states are as they were counted");
  promise(found.end <= data.size(), "states end within the bytes");
  if (!found.complete) return;
  promise(announced < 0 || found.states == announced, "states are as many as announced");
  promise(found.src.size() == static_cast<std::size_t>(found.arcs) &&
              found.final.size() == static_cast<std::size_t>(found.states),
          "columns are as long as counted");
  if (layout.costs == 2 && is_sound_kaldi(found)) {
    check_kaldi(found.src, found.dst, found.frames, found.cost, found.second, 0,
                found.final.size());
  }
}

void symbols(Input data) {
  Poll poll;
  const auto counted = read_symbols(Bytes(data, 0), false, poll);
  const auto found = read_symbols(Bytes(data, 0), true, poll);
  promise(counted.complete == found.complete && counted.end == found.end, "the same end twice");
  if (!found.complete) return;
  promise(found.symbols.size() == found.keys.size(), "a key for every symbol");
  std::size_t size = 0;
  for (const auto symbol : found.symbols) {
    for (const char byte : symbol) size += byte != 0;
  }
  promise(size <= data.size(), "symbols are within the bytes");
}

// Rows of lists whose numbers, small ones, are the bytes.
void arrow(Input data) {
  std::vector<Index> lists[7];
  std::vector<Index> at[7];
  for (int which = 0; which < 7; ++which) at[which].push_back(0);
  std::size_t place = 0, rows = 0;
  while (place < data.size() && rows < 8) {
    for (int which = 0; which < 7; ++which) {
      for (auto left = place < data.size() ? data[place++] % 8 : 0; left > 0; --left) {
        lists[which].push_back(place < data.size() ? static_cast<std::int8_t>(data[place++]) : 0);
      }
      at[which].push_back(static_cast<Index>(lists[which].size()));
    }
    ++rows;
  }
  const auto column = [&](int which) { return ListColumn<Index>(at[which], lists[which], rows); };
  std::vector<double> numbers[2];
  for (int which = 0; which < 2; ++which) {
    for (const auto each : lists[3 + which]) {
      numbers[which].push_back(each == -128  ? kMinusInfinity
                               : each == 127 ? std::numeric_limits<double>::quiet_NaN()
                                             : each);
    }
  }
  const bool wanted[8] = {true, true, true, true, true, true, true, true};
  const std::vector<Index> start(rows, 0);
  const LatticeLists lattices{
      column(0), column(1), column(2), {at[3], numbers[0], rows}, {at[4], numbers[1], rows}, start};
  const auto found = normal_rows(lattices, {wanted, rows}, 100);
  promise(found.normal.size() == rows, "an answer for every row");
  const MatrixLists matrices{column(5), column(6), {at[3], numbers[0], rows}};
  sound_rows(matrices, {wanted, rows}, at[0], at[1]);
}

const std::map<std::string_view, void (*)(Input)> READERS = {
    {"numbers", numbers},
    {"json", json},
    {"kaldi-text", kaldi_text},
    {"kaldi-binary", kaldi_binary},
    {"fst", fst},
    {"symbols", symbols},
    {"arrow", arrow},
    {"slf", slf},
    {"fst-text", fst_text},
    {"moses", moses},
};

void (*reader)(Input) = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const auto found = *argc > 1 ? READERS.find((*argv)[1]) : READERS.end();
  if (found == READERS.end()) {
    std::fprintf(stderr, "expected the name of a reader:");
    for (const auto& [name, _] : READERS) std::fprintf(stderr, " %s", std::string(name).c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  reader = found->second;
  // the rest is libFuzzer's
  (*argv)[1] = (*argv)[0];
  ++*argv;
  --*argc;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // a copy of exactly that size: a byte read outside of it is found
  const std::vector<std::uint8_t> input(data, data + size);
  reader(input);
  return 0;
}
