// Rows of costs of the edit recursion, whole or in a band of positions around each state's.
//
// For the recursion see edit.hpp. A row has the cells o(i) and e(i) for i from first(q) on, `width`
// of each: all of them, or a band. Outside of a band one of two things stands for the costs:
//
//   Outside::Least   bounds from below. What is found in the rows is then never above the costs of
//                    whole rows. Where a traceback takes nothing but cells of bands, every cell it
//                    visits is the cost of an alignment as well, and so is that of whole rows: that
//                    the band is wide enough is proven.
//   Outside::Most    bounds from above: alignments in the band alone.
//
// The bounds from below are of blocks of kBlock cells: V(q, b) <= o(q, i) for all i in block b,
//
//   V(q, b) = sum over arcs a into q of p(a) min { V(s, b), V(s, k) - 1 }
//
// where k <= b is the last block in which the sentence has the word of a, for its place in the
// block is forgotten. o never rises with i, so a cell of the band bounds the blocks before it.
// Far from where the sentence is aligned few words are in a block, and V falls by less than the
// costs do: a band need not become wider for a longer sentence.
//
// Cost: O(arcs * (width + L / kBlock)); of the bounds those of states with an arc to come are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/index.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/scratch.hpp"
#include "lattices/native/vectors.hpp"

namespace decoding {

using lattices::Index;

// What a word costs, on top of its edit, that is put into no bin: with it a word goes into a bin
// wherever that costs nothing.
inline constexpr double kUnplaced = 1e-9;

// An arc of the lattice that somebody takes, by the state it leads to.
struct EditStep {
  Index source, word;  // the number of its word, -1 for none
  double share;
  Index arc;
};

struct EditSteps {
  std::vector<EditStep> all;
  std::vector<Index> offset;  // of each state's steps, and their end
  std::vector<Index> last;    // of a state: the last one that a step leads to from it

  std::span<const EditStep> into(Index state) const {
    return std::span(all).subspan(offset[state], offset[state + 1] - offset[state]);
  }
  Index num_states() const { return static_cast<Index>(offset.size()) - 1; }
};

enum class Outside { Least, Most };

struct EditRowBuffers {
  lattices::Room<double> cells;
  std::vector<Index> first;  // by state
  // of each word: its places in the sentence, from 1, and the blocks they are in
  std::vector<Index> place_offset, places, block_offset, blocks;
  std::vector<double> beyond;          // see sweep
  std::vector<double> window, placed;  // see add
  std::vector<double> bounds;          // of blocks, by slot
  std::vector<Index> slot, idle;       // of a state; without a state

  std::size_t bytes() const {
    return sizeof(double) * (cells.size() + beyond.capacity() + window.capacity() +
                             placed.capacity() + bounds.capacity()) +
           sizeof(Index) *
               (first.capacity() + place_offset.capacity() + places.capacity() +
                block_offset.capacity() + blocks.capacity() + slot.capacity() + idle.capacity());
  }
};

class EditRows {
 public:
  using V = lattices::Vectors<double, 64>;
  using Vector = V::Vector;
  static constexpr std::size_t kLanes = V::count;
  static constexpr Index kBlock = 32;
  // More than any cost.
  static constexpr double kFar = 1e30;

  EditRows(EditRowBuffers& at, const EditSteps& steps) : at_(at), steps_(steps) {}

  // Cells of a whole row, padded to whole vectors; nothing that a pad holds reaches a cell before.
  static std::size_t whole(std::size_t words) { return (words + kLanes) / kLanes * kLanes; }
  // Bytes of the rows of a state.
  static std::size_t bytes(std::size_t width) { return sizeof(double) * (2 * width + kLanes); }

  bool is_whole() const { return width_ == size_; }
  std::size_t width() const { return width_; }
  Index first(Index state) const { return at_.first[state]; }
  // The last cell of a band.
  Index end(Index state) const { return first(state) + static_cast<Index>(width_) - 1; }
  // o from first(state) - 1 on, where the bound of all cells before stands, infinite without any; e
  // follows after `width` cells.
  const double* odd(Index state) const { return row(state) - first(state); }
  const double* whole_odd(Index state) const { return row(state); }

  // The last place of a word among the first i of the sentence, from 1; 0: none.
  Index last_place(Index word, Index i) const {
    const Index* begin = places_ + place_offset_[word];
    const Index* end = places_ + place_offset_[word + 1];
    if (end - begin > 8) end = std::upper_bound(begin, end, i);
    while (end != begin && end[-1] > i) --end;
    return end == begin ? 0 : end[-1];
  }

  // The costs at all states for a sentence, in bands of such a width around where states are, from
  // 0 to 1. Whole rows have the cells before the first word that is not the last sentence's
  // already: so many are the `same`.
  void align(std::span<const Index> own, std::size_t num_words, std::size_t same, std::size_t width,
             std::span<const double> centres, Outside outside, lattices::Poll& poll) {
    const bool kept = rows_ != nullptr && is_whole() && size_ == whole(own.size());
    length_ = static_cast<Index>(own.size());
    size_ = whole(own.size());
    width_ = std::min(width, size_);
    outside_ = outside;
    list_places(own, num_words);
    at_.beyond.assign(width_, std::numeric_limits<double>::infinity());
    at_.beyond.resize(2 * width_ + kLanes, -1.0);
    place_offset_ = at_.place_offset.data();
    places_ = at_.places.data();
    stride_ = 2 * width_ + kLanes;
    rows_ = at_.cells.make(steps_.num_states() * stride_) + kLanes;
    if (is_whole()) {
      at_.first.assign(steps_.num_states(), 0);
      lattices::dispatch([&] { sweep_all(kept ? (same + 1) / kLanes * kLanes : 0, poll); });
    } else {
      centre(centres);
      at_.window.resize(2 * width_ + kLanes);
      at_.placed.resize(width_);
      at_.slot.assign(steps_.num_states(), -1);
      at_.bounds.clear();
      at_.idle.clear();
      lattices::dispatch([&] { sweep_bands(poll); });
    }
  }

 private:
  double* row(Index state) const { return rows_ + state * stride_; }
  std::span<const Index> places_of(Index word) const {
    return std::span(at_.places)
        .subspan(at_.place_offset[word], at_.place_offset[word + 1] - at_.place_offset[word]);
  }

  void list_places(std::span<const Index> own, std::size_t num_words) {
    auto& offset = at_.place_offset;
    offset.assign(num_words + 1, 0);
    for (const Index word : own) ++offset[word + 1];
    for (std::size_t word = 0; word < num_words; ++word) offset[word + 1] += offset[word];
    at_.places.resize(own.size());
    for (std::size_t i = own.size(); i-- > 0;) {
      at_.places[--offset[own[i] + 1]] = static_cast<Index>(i) + 1;
    }
    // each end has become the beginning
    offset.erase(offset.begin());
    offset.push_back(static_cast<Index>(own.size()));
    if (is_whole()) return;
    at_.block_offset.assign(1, 0);
    at_.blocks.clear();
    for (std::size_t word = 0; word < num_words; ++word) {
      for (const Index place : places_of(static_cast<Index>(word))) {
        const bool any = at_.block_offset.back() < static_cast<Index>(at_.blocks.size());
        if (!any || at_.blocks.back() != place / kBlock) at_.blocks.push_back(place / kBlock);
      }
      at_.block_offset.push_back(static_cast<Index>(at_.blocks.size()));
    }
  }

  void centre(std::span<const double> centres) {
    const auto most = static_cast<double>(size_ - width_);
    at_.first.resize(centres.size());
    for (std::size_t state = 0; state < centres.size(); ++state) {
      const double begin =
          centres[state] * static_cast<double>(length_) - static_cast<double>(width_) / 2.0;
      at_.first[state] = V::floor(static_cast<Index>(std::clamp(begin, 0.0, most)));
    }
  }

  void sweep_all(std::size_t begin, lattices::Poll& poll) {
    while (begin < size_) {
      switch ((size_ - begin) / kLanes) {
        case 1:
          sweep<1>(begin, poll);
          begin += kLanes;
          break;
        case 2:
          sweep<2>(begin, poll);
          begin += 2 * kLanes;
          break;
        default:
          sweep<3>(begin, poll);
          begin += 3 * kLanes;
      }
    }
  }

  // The forward pass over so many vectors of cells, from one on. `beyond` is infinite up to its
  // middle and then -1: read from k cells before the middle on, it is -1 from cell k on.
  template <std::size_t Vectors>
  void sweep(std::size_t begin, lattices::Poll& poll) {
    // what is written may lie anywhere, as far as the compiler knows
    const std::size_t size = size_, stride = stride_;
    double* const rows = rows_;
    const Index* const offset = place_offset_;
    const Index* const places = places_;
    const double* const bound = at_.beyond.data() + size + begin;
    const Index states = steps_.num_states();
    for (Index state = 0; state < states; ++state) {
      if (state % 64 == 0) {
        const auto arcs = steps_.offset[std::min(state + 64, states)] - steps_.offset[state];
        poll(arcs * Vectors * kLanes);
      }
      Vector o[Vectors]{}, e[Vectors]{};
      for (const auto& [source, word, part, arc] : steps_.into(state)) {
        const double* from = rows + source * stride;
        const double* row = from + begin;
        if (word < 0) {
          for (std::size_t v = 0; v < Vectors; ++v) {
            o[v] += part * V::at(row + v * kLanes);
            e[v] += part * V::at(row + size + v * kLanes);
          }
          continue;
        }
        Vector z[Vectors];
        for (std::size_t v = 0; v < Vectors; ++v) z[v] = V::at(row + v * kLanes - 1);
        for (Index place = offset[word]; place < offset[word + 1]; ++place) {
          const Index k = places[place];
          const double* beyond = bound - k;
          for (std::size_t v = 0; v < Vectors; ++v) {
            V::lower(z[v], from[k - 1] + V::at(beyond + v * kLanes));
          }
        }
        for (std::size_t v = 0; v < Vectors; ++v) {
          Vector x = V::at(row + size + v * kLanes), y = x + 1.0;
          x += 1.0 + kUnplaced;
          V::lower(x, z[v]);
          V::lower(y, z[v]);
          e[v] += part * x;
          o[v] += part * y;
        }
      }
      double* to = rows + state * stride;
      to[-1] = std::numeric_limits<double>::infinity();
      for (std::size_t v = 0; v < Vectors; ++v) {
        V::at(to + begin + v * kLanes) = o[v];
        V::at(to + size + begin + v * kLanes) = e[v];
      }
    }
  }

  std::size_t num_blocks() const { return static_cast<std::size_t>(length_ / kBlock) + 1; }
  double* bounds(Index state) { return at_.bounds.data() + at_.slot[state] * num_blocks(); }

  // The forward pass in bands.
  void sweep_bands(lattices::Poll& poll) {
    const Index states = steps_.num_states();
    const auto free = [&](Index state) {
      if (at_.slot[state] >= 0) at_.idle.push_back(std::exchange(at_.slot[state], -1));
    };
    for (Index state = 0; state < states; ++state) {
      const auto steps = steps_.into(state);
      poll((steps.size() + 1) * (width_ + num_blocks()));
      std::fill_n(row(state), 2 * width_, 0.0);
      if (outside_ == Outside::Least) {
        if (at_.idle.empty()) {
          at_.idle.push_back(static_cast<Index>(at_.bounds.size() / num_blocks()));
          at_.bounds.resize(at_.bounds.size() + num_blocks());
        }
        at_.slot[state] = at_.idle.back();
        at_.idle.pop_back();
        std::fill_n(bounds(state), num_blocks(), 0.0);
        for (const EditStep& step : steps) add_bounds(step, state);
      }
      for (const EditStep& step : steps) add(step, state);
      finish(state);
      for (const EditStep& step : steps) {
        if (steps_.last[step.source] == state) free(step.source);
      }
      if (steps_.last[state] <= state) free(state);
    }
  }

  void add_bounds(const EditStep& step, Index state) {
    const double* from = bounds(step.source);
    double* to = bounds(state);
    const std::size_t count = num_blocks();
    std::size_t block = 0;
    double matched = std::numeric_limits<double>::infinity();
    const auto add_until = [&](std::size_t end) {
      for (; block < end; ++block) {
        to[block] += step.share * (from[block] < matched ? from[block] : matched);
      }
    };
    if (step.word >= 0) {
      for (Index next = at_.block_offset[step.word]; next < at_.block_offset[step.word + 1];
           ++next) {
        add_until(at_.blocks[next]);
        matched = from[at_.blocks[next]] - 1.0;
      }
    }
    add_until(count);
  }

  // What stands for a cell that is before or behind the band of a state.
  double before(Index state, Index cell) {
    if (cell < 0) return std::numeric_limits<double>::infinity();
    return outside_ == Outside::Least ? bounds(state)[cell / kBlock] : kFar;
  }
  double behind(Index state, Index cell) {
    if (outside_ == Outside::Most) return row(state)[width_ - 1];
    return bounds(state)[std::min(cell, length_) / kBlock];
  }

  // The cells of a source where the band of a target is; its own, if they are the same.
  const double* look_through(Index source, Index first) {
    const auto size = static_cast<Index>(width_), lanes = static_cast<Index>(kLanes);
    const double* from = row(source);
    const Index shift = first - at_.first[source];
    if (shift == 0) return from;
    double* to = at_.window.data() + kLanes;
    if (shift > 0) {
      to[-1] = shift <= size ? from[shift - 1] : behind(source, first - 1);
    } else {
      to[-1] = before(source, first - 1);
    }
    for (Index cell = 0; cell < size; cell += lanes) {
      const Index there = cell + shift;
      if (there >= 0 && there < size) {
        V::at(to + cell) = V::at(from + there);
        V::at(to + size + cell) = V::at(from + size + there);
      } else {
        const double bound =
            there < 0 ? before(source, first + cell) : behind(source, first + cell);
        V::at(to + cell) = Vector{} + bound;
        V::at(to + size + cell) = V::at(to + cell);
      }
    }
    return to;
  }

  // o(k - 1) of a state for the last place k of a word before the cells that are wanted.
  double earlier(Index state, Index k) {
    const Index there = k - 1 - at_.first[state];
    if (there < 0) return before(state, k - 1);
    if (there < static_cast<Index>(width_)) return row(state)[there];
    return outside_ == Outside::Most ? kFar : behind(state, k - 1);
  }

  // One arc into a band.
  void add(const EditStep& step, Index state) {
    const std::size_t size = width_;
    const Index first = at_.first[state];
    const double part = step.share;
    const double* from = look_through(step.source, first);
    double* to = row(state);
    if (step.word < 0) {
      for (std::size_t cell = 0; cell < 2 * size; cell += kLanes) {
        V::at(to + cell) += part * V::at(from + cell);
      }
      return;
    }
    const auto places = places_of(step.word);
    auto next = std::upper_bound(places.begin(), places.end(), first);
    double known = std::numeric_limits<double>::infinity();
    if (next != places.begin()) known = earlier(step.source, next[-1]) - 1.0;
    const Vector all = Vector{} + known;
    double* z = at_.placed.data();
    for (std::size_t cell = 0; cell < size; cell += kLanes) {
      V::at(z + cell) = V::at(from + cell - 1);
      V::lower(V::at(z + cell), all);
    }
    // alignments in the band alone take no word behind it
    const auto end =
        static_cast<Index>(size) +
        (outside_ == Outside::Most ? std::min(first, at_.first[step.source] + 1) : first);
    for (; next != places.end() && *next < end; ++next) {
      const Index k = *next - first;
      const double* beyond = at_.beyond.data() + size - k;
      for (std::size_t cell = V::floor(k); cell < size; cell += kLanes) {
        V::lower(V::at(z + cell), from[k - 1] + V::at(beyond + cell));
      }
    }
    for (std::size_t cell = 0; cell < size; cell += kLanes) {
      Vector x = V::at(from + size + cell), y = x + 1.0;
      x += 1.0 + kUnplaced;
      V::lower(x, V::at(z + cell));
      V::lower(y, V::at(z + cell));
      V::at(to + size + cell) += part * x;
      V::at(to + cell) += part * y;
    }
  }

  // The bounds of a state, with what its band knows of them.
  void finish(Index state) {
    const Index first = at_.first[state], end = this->end(state);
    double* to = row(state);
    to[-1] = before(state, first - 1);
    if (outside_ == Outside::Most) return;
    double* all = bounds(state);
    double most = -kFar;
    for (auto block = static_cast<Index>(num_blocks()); block-- > 0;) {
      const Index last = std::min(block * kBlock + kBlock - 1, length_);
      if (last < first) {
        most = std::max(most, to[0]);
      } else if (last <= end) {
        most = std::max(most, to[last - first]);
      }
      all[block] = most = std::max(most, all[block]);
    }
    if (first > 0) to[-1] = std::max(before(state, first - 1), to[0]);
  }

  EditRowBuffers& at_;
  const EditSteps& steps_;
  double* rows_ = nullptr;  // that of the first state
  const Index *place_offset_ = nullptr, *places_ = nullptr;
  Index length_ = 0;
  std::size_t size_ = 0, width_ = 0, stride_ = 0;
  Outside outside_ = Outside::Least;
};

}  // namespace decoding
