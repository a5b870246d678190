// OpenFst's binary files: the states and arcs of `vector` FSTs, Kaldi's among them, and symbols.
//
// lattices/formats/openfst/codec.py has the layout. Nothing is read outside of the bytes, and
// nothing is allocated because a file announces it: memory grows with the bytes that are there.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "lattices/native/index.hpp"
#include "lattices/native/poll.hpp"

namespace lattices {

// The number that little-endian bytes hold.
template <class T>
T number_at(const std::uint8_t* place) {
  std::uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, place, sizeof(T));
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes, bytes + sizeof(T));
  return std::bit_cast<T>(bytes);
}

// A place in little-endian bytes. Reading past the end gives zeros, and `good` is false from then
// on.
class Bytes {
 public:
  Bytes(std::span<const std::uint8_t> data, std::size_t place)
      : data_(data), place_(std::min(place, data.size())), good_(place <= data.size()) {}

  bool good() const { return good_; }
  std::size_t place() const { return place_; }
  std::size_t left() const { return data_.size() - place_; }

  // Go on by so many bytes, if there are as many, and return where they begin.
  const std::uint8_t* skip(std::int64_t size) {
    if (size < 0 || static_cast<std::uint64_t>(size) > left()) {
      good_ = false;
      place_ = data_.size();
      return nullptr;
    }
    const auto* begin = data_.data() + place_;
    place_ += static_cast<std::size_t>(size);
    return begin;
  }

  template <class T>
  T take() {
    const auto* begin = skip(sizeof(T));
    return begin == nullptr ? T{} : number_at<T>(begin);
  }

  // Go on by so many bytes, and by as many ids of 4 bytes as the number says that begins `at` bytes
  // from here.
  void skip_ids(std::size_t size, std::size_t at) {
    const std::int64_t ids =
        size <= left() ? number_at<std::int32_t>(data_.data() + place_ + at) : 0;
    skip(ids < 0 ? ids : static_cast<std::int64_t>(size) + 4 * ids);
  }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t place_;
  bool good_;
};

// What a weight is: one cost or two, in single or double precision, and behind it perhaps a number
// of transition-ids and the ids.
struct WeightLayout {
  int costs = 1;
  bool wide = false, ids = false;

  std::int64_t least_bytes() const { return costs * (wide ? 8 : 4) + (ids ? 4 : 0); }
};

// The columns of an FST; `second` costs, and frames, are Kaldi's alone.
struct FstStates {
  std::vector<Index> src, ilabel, olabel, dst, frames;
  std::vector<double> cost, second, final, final_second;
  // how many states and arcs are complete, where they end, and whether they are as many as
  // announced
  std::int64_t states = 0, arcs = 0;
  std::size_t end = 0;
  bool complete = false;
};

// Count the states that are announced, or those up to the end if that is -1: no columns are made.
inline FstStates count_states(Bytes bytes, std::int64_t announced, const WeightLayout& layout,
                              Poll& poll) {
  FstStates found;
  const std::int64_t per_state = layout.least_bytes() + 8, per_arc = layout.least_bytes() + 12;
  // of a weight, perhaps in front of the number of its ids
  const auto costs = layout.costs * (layout.wide ? 8 : 4);
  found.end = bytes.place();
  while (announced < 0 ? bytes.left() > 0 : found.states < announced) {
    poll();
    if (bytes.left() < static_cast<std::size_t>(per_state)) return found;
    if (layout.ids) {
      bytes.skip_ids(costs + 4, costs);
    } else {
      bytes.skip(costs);
    }
    const auto count = bytes.take<std::int64_t>();
    if (!bytes.good() || count < 0 || count > static_cast<std::int64_t>(bytes.left()) / per_arc ||
        found.arcs + count > std::numeric_limits<Index>::max()) {
      return found;
    }
    if (!layout.ids) {
      bytes.skip(count * per_arc);
    } else {
      for (std::int64_t arc = 0; arc < count; ++arc) bytes.skip_ids(per_arc, 8 + costs);
    }
    if (!bytes.good()) return found;
    ++found.states;
    found.arcs += count;
    found.end = bytes.place();
  }
  found.complete = true;
  return found;
}

namespace detail {

// A place in little-endian bytes that are known to be there.
class CountedBytes {
 public:
  explicit CountedBytes(const std::uint8_t* at) : at_(at) {}

  template <class T>
  T take() {
    at_ += sizeof(T);
    return number_at<T>(at_ - sizeof(T));
  }
  void skip(std::int64_t size) { at_ += size; }

 private:
  const std::uint8_t* at_;
};

template <class Cost, int costs, bool ids>
void fill_states(CountedBytes bytes, FstStates& found, Poll& poll) {
  const auto weight = [&](double& first, double& second) {
    first = bytes.take<Cost>();
    if constexpr (costs == 2) second = bytes.take<Cost>();
    Index frames = 0;
    if constexpr (ids) {
      frames = bytes.take<std::int32_t>();
      bytes.skip(4 * static_cast<std::int64_t>(frames));
    }
    return frames;
  };
  std::size_t arc = 0;
  double none = 0.0;
  for (std::int64_t state = 0; state < found.states; ++state) {
    poll();
    weight(found.final[state], costs == 2 ? found.final_second[state] : none);
    for (auto count = bytes.take<std::int64_t>(); count > 0; --count, ++arc) {
      const auto ilabel = bytes.take<std::int32_t>();
      found.src[arc] = static_cast<Index>(state);
      found.olabel[arc] = bytes.take<std::int32_t>();
      const Index frames = weight(found.cost[arc], costs == 2 ? found.second[arc] : none);
      found.dst[arc] = bytes.take<std::int32_t>();
      if constexpr (costs == 2) {
        // the input label of a Lattice is a transition-id
        found.frames[arc] = ids ? frames : ilabel != 0;
      } else {
        found.ilabel[arc] = ilabel;
      }
    }
  }
}

}  // namespace detail

// Read the states that are announced, or those up to the end if that is -1. Columns are made if
// all are there.
inline FstStates read_states(std::span<const std::uint8_t> data, std::size_t place,
                             std::int64_t announced, const WeightLayout& layout, Poll& poll) {
  FstStates found = count_states(Bytes(data, place), announced, layout, poll);
  if (!found.complete) return found;
  const auto arcs = static_cast<std::size_t>(found.arcs);
  const auto states = static_cast<std::size_t>(found.states);
  const bool kaldi = layout.costs == 2;
  for (auto* column : {&found.src, &found.olabel, &found.dst}) column->resize(arcs);
  (kaldi ? found.frames : found.ilabel).resize(arcs);
  found.cost.resize(arcs);
  found.final.resize(states);
  if (kaldi) found.second.resize(arcs);
  if (kaldi) found.final_second.resize(states);
  const detail::CountedBytes bytes(data.data() + place);
  if (!kaldi) {
    layout.wide ? detail::fill_states<double, 1, false>(bytes, found, poll)
                : detail::fill_states<float, 1, false>(bytes, found, poll);
  } else if (layout.ids) {
    layout.wide ? detail::fill_states<double, 2, true>(bytes, found, poll)
                : detail::fill_states<float, 2, true>(bytes, found, poll);
  } else {
    layout.wide ? detail::fill_states<double, 2, false>(bytes, found, poll)
                : detail::fill_states<float, 2, false>(bytes, found, poll);
  }
  return found;
}

// Whether all costs of a Kaldi lattice are finite, or infinite together where a state is not final,
// and all targets are states.
inline bool is_sound_kaldi(const FstStates& fst) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool sound = true;
  for (std::size_t state = 0; state < fst.final.size(); ++state) {
    const double graph = fst.final[state], acoustic = fst.final_second[state];
    sound &= (std::isfinite(graph) && std::isfinite(acoustic)) ||
             (graph == infinity && acoustic == infinity);
  }
  for (std::size_t arc = 0; arc < fst.src.size(); ++arc) {
    sound &= std::isfinite(fst.cost[arc]) && std::isfinite(fst.second[arc]);
    sound &= fst.dst[arc] >= 0 && fst.dst[arc] < fst.states;
  }
  return sound;
}

// A symbol table: magic number, name, next free key, size, then symbols and keys.
struct SymbolTable {
  std::int32_t magic = 0;
  std::vector<std::string_view> symbols;
  std::vector<std::int64_t> keys;
  std::size_t end = 0;
  bool complete = false;
};

inline SymbolTable read_symbols(Bytes bytes, bool keep, Poll& poll) {
  SymbolTable found;
  found.magic = bytes.take<std::int32_t>();
  bytes.skip(bytes.take<std::int32_t>());
  bytes.take<std::int64_t>();
  const auto size = bytes.take<std::int64_t>();
  if (!bytes.good() || size < 0 || size > static_cast<std::int64_t>(bytes.left() / 12))
    return found;
  if (keep) {
    found.symbols.reserve(static_cast<std::size_t>(size));
    found.keys.reserve(static_cast<std::size_t>(size));
  }
  for (std::int64_t entry = 0; entry < size; ++entry) {
    poll();
    const auto length = bytes.take<std::int32_t>();
    const auto* symbol = bytes.skip(length);
    const auto key = bytes.take<std::int64_t>();
    if (!bytes.good()) return found;
    if (!keep) continue;
    found.symbols.emplace_back(reinterpret_cast<const char*>(symbol),
                               static_cast<std::size_t>(length));
    found.keys.push_back(key);
  }
  found.end = bytes.place();
  found.complete = true;
  return found;
}

}  // namespace lattices
