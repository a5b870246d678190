// A lattice of a Kaldi binary archive, from its key to columns; lattices/formats/kaldi/binary.py
// has the layout, and says what is wrong where this one gives up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lattices/native/fst_bytes.hpp"
#include "lattices/native/kaldi_costs.hpp"
#include "lattices/native/owned.hpp"

namespace lattices {

struct KaldiFst {
  std::string_view key;
  WeightLayout layout;
  std::int64_t start = -1, states = 0;
  bool has_tables = false;
  std::size_t body = 0;
};

// The key and the header that begin at a place; nothing if they are not complete, or not as usual.
inline std::optional<KaldiFst> read_kaldi_header(std::span<const std::uint8_t> data,
                                                 std::size_t place, Poll& poll) {
  constexpr std::size_t longest_key = 4096;
  constexpr std::int32_t fst_magic = 2125659606, version = 2, has_symbols[] = {1, 2};
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  const auto blank = text.substr(0, std::min(text.size(), place + longest_key)).find(' ', place);
  if (blank == std::string_view::npos || blank == place) return {};
  KaldiFst fst;
  fst.key = text.substr(place, blank - place);
  if (fst.key.find_first_of("\t\n\v\f\r") != std::string_view::npos) return {};
  Bytes bytes(data, blank + 1);
  const auto string = [&] {
    const auto length = bytes.take<std::int32_t>();
    const auto* begin = reinterpret_cast<const char*>(bytes.skip(length));
    return begin == nullptr ? std::string_view() : std::string_view(begin, length);
  };
  if (bytes.take<std::int32_t>() != fst_magic || string() != "vector") return {};
  const auto arc_type = string();
  const bool compact = arc_type.starts_with("compact");
  const auto width = arc_type.substr(compact ? 7 : 0);
  if (width != (compact ? "lattice44" : "lattice4") &&
      width != (compact ? "lattice84" : "lattice8"))
    return {};
  fst.layout = {.costs = 2, .wide = width[7] == '8', .ids = compact};
  if (bytes.take<std::int32_t>() != version) return {};
  const auto flags = bytes.take<std::int32_t>();
  bytes.take<std::uint64_t>();
  fst.start = bytes.take<std::int64_t>();
  fst.states = bytes.take<std::int64_t>();
  bytes.take<std::int64_t>();
  for (const auto flag : has_symbols) {
    if ((flags & flag) == 0) continue;
    fst.has_tables = true;
    const auto table = read_symbols(bytes, false, poll);
    if (!table.complete) return {};
    bytes = Bytes(data, table.end);
  }
  const auto per_state = fst.layout.least_bytes() + 8;
  if (!bytes.good() || fst.states < 0 ||
      fst.states > static_cast<std::int64_t>(bytes.left()) / per_state || fst.start < -1 ||
      fst.start >= fst.states) {
    return {};
  }
  fst.body = bytes.place();
  return fst;
}

// The places behind the FSTs, one after the other from the first byte on, as far as they are
// complete and as usual.
inline std::vector<std::size_t> kaldi_ends(std::span<const std::uint8_t> data, Poll& poll) {
  std::vector<std::size_t> ends;
  std::size_t place = 0;
  while (place < data.size()) {
    const auto fst = read_kaldi_header(data, place, poll);
    if (!fst) break;
    const auto counted = count_states(Bytes(data, fst->body), fst->states, fst->layout, poll);
    if (!counted.complete) break;
    ends.push_back(place = counted.end);
  }
  return ends;
}

// The number in a vocabulary of each label of a symbol table, -1 while it is not known.
using LabelNumbers = std::vector<Index>;

struct KaldiLattice {
  std::string_view key;
  OwnedLattice lattice;
  OwnedRows features, final_features;
  std::vector<double> times;  // empty if there are none
};

// A record of one FST: its states are read, then its labels numbered, then columns made.
class KaldiRecord {
 public:
  explicit KaldiRecord(std::span<const std::uint8_t> data) : data_(data) {}

  // False if something is wrong, or for Python to read.
  bool read(Poll& poll) {
    const auto fst = read_kaldi_header(data_, 0, poll);
    if (!fst || fst->has_tables || fst->start < 0) return false;
    fst_ = *fst;
    states_ = read_states(data_, fst->body, fst->states, fst->layout, poll);
    return states_.complete && is_sound_kaldi(states_) &&
           std::ranges::all_of(states_.olabel, [](Index label) { return label >= 0; });
  }

  // The labels that have no number yet, ascending.
  std::vector<Index> unknown(const LabelNumbers& numbers) const {
    std::vector<Index> found;
    for (const Index label : states_.olabel) {
      const auto at = static_cast<std::size_t>(label);
      if (at >= numbers.size() || numbers[at] < 0) found.push_back(label);
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  // The lattice, all labels being known. Nothing if it is not in normal form but for the order of
  // arcs.
  std::optional<KaldiLattice> make(const LabelNumbers& numbers, Index words, double lm_scale,
                                   double acoustic_scale, double frame_shift) {
    KaldiLattice made;
    made.key = fst_.key;
    auto& lattice = made.lattice;
    lattice.start = static_cast<Index>(fst_.start);
    auto scores = kaldi_scores(states_.cost, states_.second, lm_scale, acoustic_scale);
    auto ends = kaldi_scores(states_.final, states_.final_second, lm_scale, acoustic_scale);
    const auto frames = state_frames(states_.src, states_.dst, states_.frames, lattice.start,
                                     static_cast<Index>(states_.states));
    lattice.src = std::move(states_.src);
    lattice.dst = std::move(states_.dst);
    lattice.label.reserve(states_.olabel.size());
    for (const Index label : states_.olabel) lattice.label.push_back(numbers[label]);
    lattice.score = std::move(scores.score);
    lattice.final = std::move(ends.score);
    if (!normalise(lattice, words, scores.value, 2)) return {};
    made.features = full_rows(std::move(scores.value), 2);
    made.final_features = full_rows(std::move(ends.value), 2);
    if (frames) {
      made.times.reserve(frames->size());
      for (const Index frame : *frames) made.times.push_back(frame * frame_shift);
    }
    return made;
  }

 private:
  std::span<const std::uint8_t> data_;
  KaldiFst fst_;
  FstStates states_;
};

}  // namespace lattices
