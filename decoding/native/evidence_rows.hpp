// Rows of many alignments: where the alignments of a prefix to each sentence of the evidence stand.
//
// A row has, for each cell (t, m), the best gain of an alignment of the prefix that leaves t words
// of the reference, the last m before them matched in a row (lattices.engines.Alignment has the
// arcs). With w the weight of a match, a the cost of an insertion and b of a deletion, reading a
// word makes
//
//   row'(t-1, min(m+1, n-1)) = max  row(t, m) + (m+1) w      where the word is the next one
//   row'(t, 0)               = max( row(t+1, 0),  row(t, 0) - a )
//
// closed under forgetting, row(t, 0) >= row(t, m), and deletions, row(t-1, 0) >= row(t, 0) - b.
// Gains are whole numbers. Rows are kept in a normal form, so that equal rows have equal futures:
// cells that no suffix can bring back to the lead are absent, and the largest gain is taken out.
//
// The rows of 32 alignments make a block, in which one number for each stands together: counted
// from the end all references are alike, and all are read at once.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Index;

// Alignments of one order and with the same costs, in columns. For offset[e] <= k < offset[e + 1],
// word[k] matches word position[k] of reference e with weight[k] units.
struct AlignmentList {
  Index order = 1;
  double insertion = 0.0, deletion = 0.0, heaviest = 0.0;
  std::span<const Index> length, offset, word, position;
  std::span<const double> weight;

  Index size() const { return static_cast<Index>(length.size()); }
  std::span<const Index> words(Index each) const {
    return word.subspan(offset[each], offset[each + 1] - offset[each]);
  }
};

// The arcs of a lattice that lie on complete paths, and their words numbered from 0 in the order of
// their labels.
struct WordedLattice {
  const lattices::Lattice& lattice;
  std::vector<char> alive;             // states
  std::vector<Index> words, arc_word;  // labels; the number of each arc's word, -1 for epsilon

  explicit WordedLattice(const lattices::Lattice& given)
      : lattice(given), alive(given.num_nodes(), 0), words(given.label.begin(), given.label.end()) {
    std::vector<char> reached(given.num_nodes(), 0);
    reached[given.start] = 1;
    // arcs are sorted by source, so the one order serves both directions
    for (Index arc = 0; arc < given.num_edges(); ++arc) {
      if (reached[given.src[arc]]) reached[given.dst[arc]] = 1;
    }
    for (Index state = 0; state < given.num_nodes(); ++state) {
      alive[state] = given.final[state] > lattices::kMinusInfinity;
    }
    for (Index arc = given.num_edges(); arc-- > 0;) alive[given.src[arc]] |= alive[given.dst[arc]];
    for (Index state = 0; state < given.num_nodes(); ++state) alive[state] &= reached[state];
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    if (!words.empty() && words.front() == 0) words.erase(words.begin());
    arc_word.reserve(given.num_edges());
    for (const Index label : given.label) arc_word.push_back(number(label));
  }

  // The most words that a path has.
  Index longest() const {
    std::vector<Index> most(lattice.num_nodes(), 0);
    for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
      Index& there = most[lattice.dst[arc]];
      there = std::max(there, most[lattice.src[arc]] + (arc_word[arc] >= 0));
    }
    return *std::max_element(most.begin(), most.end());
  }
  // -1 if the lattice does not have the word
  Index number(Index label) const {
    const auto at = std::lower_bound(words.begin(), words.end(), label);
    return at != words.end() && *at == label ? static_cast<Index>(at - words.begin()) : -1;
  }
};

// How many alignments are read at once.
inline constexpr Index kLanes = 32;

// sum over lanes of share * gain, always in the same order
template <class Gain>
double weighted_sum(const double* share, const Gain* gain) {
  std::array<double, 8> sum{};
  for (Index lane = 0; lane < kLanes; lane += 8) {
    for (Index at = 0; at < 8; ++at) {
      sum[at] += share[lane + at] * static_cast<double>(gain[lane + at]);
    }
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

template <std::signed_integral G>
class EvidenceRows {
 public:
  using Gain = G;
  // What stands for minus infinity; the sum of two does not overflow, and sums of gains that are
  // there stay below half of it in size.
  static constexpr Gain kAbsent = std::numeric_limits<Gain>::min() / 2;
  // The largest sum of gains that may be met.
  static constexpr double kLargest = -static_cast<double>(kAbsent) / 2;
  // The alignments whose next word is the one in question when so many words are left, by the
  // weight of the match; kAbsent for the others.
  struct Match {
    Index left = 0;
    std::array<Gain, kLanes> weight;
  };

  EvidenceRows(const AlignmentList& list, const WordedLattice& space)
      : order_(list.order),
        width_(1 + *std::max_element(list.length.begin(), list.length.end())),
        blocks_((list.size() + kLanes - 1) / kLanes),
        words_(static_cast<Index>(space.words.size())),
        insertion_(static_cast<Gain>(list.insertion)),
        deletion_(static_cast<Gain>(list.deletion)),
        length_(static_cast<std::size_t>(blocks_) * kLanes, 0) {
    std::copy(list.length.begin(), list.length.end(), length_.begin());
    collect_matches(list, space);
    // earned[t][m]: what a run of m earns with t more matches
    std::vector<double> earned(static_cast<std::size_t>(order_ + 1) * order_, 0.0);
    for (Index ahead = 1; ahead <= order_; ++ahead) {
      for (Index run = 0; run < order_; ++run) {
        earned[ahead * order_ + run] =
            earned[(ahead - 1) * order_ + run] + std::min(run + ahead, order_) * list.heaviest;
      }
    }
    lead_.reserve(earned.size() * order_);
    for (Index ahead = 0; ahead <= order_; ++ahead) {
      for (Index run = 0; run < order_; ++run) {
        for (Index other = 0; other < order_; ++other) {
          lead_.push_back(
              static_cast<Gain>(earned[ahead * order_ + run] - earned[ahead * order_ + other]));
        }
      }
    }
  }

  Index order() const { return order_; }
  // One more than the words of the longest reference: cell (t, m) is m * width + t.
  Index width() const { return width_; }
  Index num_blocks() const { return blocks_; }
  std::size_t block_size() const { return static_cast<std::size_t>(order_) * width_ * kLanes; }
  Gain insertion() const { return insertion_; }
  Gain deletion() const { return deletion_; }
  std::span<const Match> matches(Index block, Index word) const {
    const std::size_t at = static_cast<std::size_t>(block) * words_ + word;
    return std::span(match_).subspan(match_offset_[at], match_offset_[at + 1] - match_offset_[at]);
  }

  // Raise cells to what a match makes of others, at the end of a run.
  static void add_match(Gain* cells, const Gain* others, const Match& match, Index run) {
    for (Index lane = 0; lane < kLanes; ++lane) {
      const auto gain = static_cast<Gain>(others[lane] + (run + 1) * match.weight[lane]);
      cells[lane] = std::max(cells[lane], match.weight[lane] == kAbsent ? kAbsent : gain);
    }
  }

  // Write the rows of a block before the first word, and what is taken out of each.
  void open(Index block, Gain* rows, Gain* top) const {
    std::fill_n(rows, block_size(), kAbsent);
    for (Index lane = 0; lane < kLanes; ++lane) {
      rows[static_cast<std::size_t>(length_[block * kLanes + lane]) * kLanes + lane] = 0;
    }
    close(rows, top);
  }

  // Write the rows of a block after a word, and what each of them gains.
  void step(Index block, const Gain* rows, Index word, Gain* result, Gain* top) const {
    const std::size_t run_size = static_cast<std::size_t>(width_) * kLanes;
    const Gain insertion = insertion_;
    for (std::size_t at = 0; at < run_size; ++at) {
      result[at] = static_cast<Gain>(rows[at] - insertion);
    }
    for (std::size_t at = 0; at + kLanes < run_size; ++at) {
      result[at] = std::max(result[at], rows[at + kLanes]);
    }
    std::fill(result + run_size, result + block_size(), kAbsent);
    for (const auto& match : matches(block, word)) {
      const Gain* from = rows + static_cast<std::size_t>(match.left) * kLanes;
      Gain* to = result + static_cast<std::size_t>(match.left - 1) * kLanes;
      for (Index run = 0; run < order_; ++run) {
        add_match(to + static_cast<std::size_t>(std::min(run + 1, order_ - 1)) * run_size,
                  from + run * run_size, match, run);
      }
    }
    close(result, top);
  }

 private:
  void collect_matches(const AlignmentList& list, const WordedLattice& space) {
    std::vector<std::vector<Match>> found(static_cast<std::size_t>(blocks_) * words_);
    for (Index each = 0; each < list.size(); ++each) {
      const std::size_t block = each / kLanes;
      for (Index at = list.offset[each]; at < list.offset[each + 1]; ++at) {
        const Index word = space.number(list.word[at]);
        if (word < 0) continue;
        const Index left = list.length[each] - list.position[at];
        auto& some = found[block * words_ + word];
        auto same = std::find_if(some.begin(), some.end(),
                                 [&](const Match& match) { return match.left == left; });
        if (same == some.end()) {
          same = some.insert(some.end(), Match{left, {}});
          same->weight.fill(kAbsent);
        }
        same->weight[each % kLanes] = static_cast<Gain>(list.weight[at]);
      }
    }
    match_offset_.push_back(0);
    for (const auto& some : found) {
      match_.insert(match_.end(), some.begin(), some.end());
      match_offset_.push_back(static_cast<Index>(match_.size()));
    }
  }

  // Close rows under forgetting and deletions, drop what is dominated, take out the maxima. What
  // was added to what is absent leaves it absent.
  void close(Gain* rows, Gain* top) const {
    const std::size_t run_size = static_cast<std::size_t>(width_) * kLanes;
    const Gain deletion = deletion_;
    std::fill_n(top, kLanes, kAbsent);
    for (Index left = width_ - 1; left >= 0; --left) {
      Gain* cells = rows + static_cast<std::size_t>(left) * kLanes;
      for (Index run = 1; run < order_; ++run) raise(cells, cells + run * run_size);
      for (Index lane = 0; lane < kLanes; ++lane) {
        cells[lane] = cells[lane] < kAbsent / 2 ? kAbsent : cells[lane];
      }
      raise(top, cells);
      if (left == 0) break;
      for (Index lane = 0; lane < kLanes; ++lane) {
        cells[lane - kLanes] =
            std::max(cells[lane - kLanes], static_cast<Gain>(cells[lane] - deletion));
      }
    }
    // a run is useless where a longer one has as much, or a shorter one more than it can catch up
    for (Index run = 1; run < order_; ++run) {
      for (Index left = 0; left < width_; ++left) {
        Gain* cells = rows + run * run_size + static_cast<std::size_t>(left) * kLanes;
        const Gain* lead = lead_.data() + (std::min(order_, left) * order_ + run) * order_;
        std::array<Gain, kLanes> useless;
        for (Index lane = 0; lane < kLanes; ++lane) useless[lane] = cells[lane] < kAbsent / 2;
        for (Index other = 0; other < order_; ++other) {
          if (other == run) continue;
          const Gain* rivals = rows + other * run_size + static_cast<std::size_t>(left) * kLanes;
          const Gain ahead = other < run ? lead[other] : Gain{0};
          for (Index lane = 0; lane < kLanes; ++lane) {
            useless[lane] |= static_cast<Gain>(cells[lane] + ahead) <= rivals[lane];
          }
        }
        for (Index lane = 0; lane < kLanes; ++lane) {
          cells[lane] = useless[lane] ? kAbsent : cells[lane];
        }
      }
    }
    for (std::size_t cell = 0; cell < block_size(); cell += kLanes) {
      for (Index lane = 0; lane < kLanes; ++lane) {
        Gain& gain = rows[cell + lane];
        gain = gain == kAbsent ? kAbsent : static_cast<Gain>(gain - top[lane]);
      }
    }
  }

  static void raise(Gain* cells, const Gain* others) {
    for (Index lane = 0; lane < kLanes; ++lane) cells[lane] = std::max(cells[lane], others[lane]);
  }

  Index order_, width_, blocks_, words_;
  Gain insertion_, deletion_;
  std::vector<Index> length_, match_offset_;
  std::vector<Match> match_;
  std::vector<Gain> lead_;
};

// The best gain from every lattice state and cell to the end, for each alignment: exact for one of
// them, since a maximum over suffixes of a maximum over alignments is one maximum.
//
// All words cost the same as substitutions and insertions, so these are applied once a state, to
// the maximum over the arcs that have a word. Cost: O(arcs * words of a reference * blocks +
// matches).
template <class Rows>
class Completions {
 public:
  using Gain = typename Rows::Gain;

  Completions(const Rows& rows, const WordedLattice& space)
      : rows_(rows),
        state_size_(rows.num_blocks() * rows.block_size()),
        value_(std::make_unique_for_overwrite<Gain[]>(space.lattice.num_nodes() * state_size_)) {
    std::vector<Gain> onward(static_cast<std::size_t>(rows.width()) * kLanes);
    lattices::dispatch([&] {
      for (Index state = space.lattice.num_nodes() - 1; state >= 0; --state) {
        if (!space.alive[state]) continue;
        for (Index block = 0; block < rows_.num_blocks(); ++block) {
          complete(state, block, space, onward.data());
        }
      }
    });
  }

  // The best gains of finishing from a state with the rows of a block.
  void best(Index state, Index block, const Gain* rows, Gain* found) const {
    const Gain* onward = value_.get() + state * state_size_ + block * rows_.block_size();
    std::fill_n(found, kLanes, Rows::kAbsent);
    for (std::size_t cell = 0; cell < rows_.block_size(); cell += kLanes) {
      for (Index lane = 0; lane < kLanes; ++lane) {
        const auto gain = static_cast<Gain>(rows[cell + lane] + onward[cell + lane]);
        found[lane] = std::max(found[lane], gain);
      }
    }
  }

 private:
  static void raise(Gain* cells, const Gain* others, std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) cells[at] = std::max(cells[at], others[at]);
  }

  void complete(Index state, Index block, const WordedLattice& space, Gain* onward) {
    const Index order = rows_.order();
    const std::size_t size = rows_.block_size();
    const std::size_t run_size = static_cast<std::size_t>(rows_.width()) * kLanes;
    const auto& lattice = space.lattice;
    Gain* own = value_.get() + block * size;
    Gain* here = own + state * state_size_;
    std::fill(here, here + size, Rows::kAbsent);
    std::fill(onward, onward + run_size, Rows::kAbsent);
    if (lattice.final[state] > lattices::kMinusInfinity) std::fill_n(here, kLanes, Gain{0});
    for (const Index arc : lattice.outgoing(state)) {
      if (!space.alive[lattice.dst[arc]]) continue;
      const Gain* there = own + lattice.dst[arc] * state_size_;
      const Index word = space.arc_word[arc];
      if (word < 0) {
        raise(here, there, size);
        continue;
      }
      raise(onward, there, run_size);
      for (const auto& match : rows_.matches(block, word)) {
        Gain* from = here + static_cast<std::size_t>(match.left) * kLanes;
        const Gain* to = there + static_cast<std::size_t>(match.left - 1) * kLanes;
        for (Index run = 0; run < order; ++run) {
          Rows::add_match(from + run * run_size,
                          to + static_cast<std::size_t>(std::min(run + 1, order - 1)) * run_size,
                          match, run);
        }
      }
    }
    const Gain insertion = rows_.insertion(), deletion = rows_.deletion();
    for (Index left = 0; left < rows_.width(); ++left) {
      Gain* cells = here + static_cast<std::size_t>(left) * kLanes;
      const Gain* read = onward + static_cast<std::size_t>(left) * kLanes;
      for (Index lane = 0; lane < kLanes; ++lane) {
        cells[lane] = std::max(cells[lane], static_cast<Gain>(read[lane] - insertion));
      }
      if (left > 0) {
        for (Index lane = 0; lane < kLanes; ++lane) {
          const auto deleted = static_cast<Gain>(cells[lane - kLanes] - deletion);
          cells[lane] = std::max(cells[lane], std::max(read[lane - kLanes], deleted));
        }
      }
      for (Index lane = 0; lane < kLanes; ++lane) {
        cells[lane] = cells[lane] < Rows::kAbsent / 2 ? Rows::kAbsent : cells[lane];
      }
      for (Index run = 1; run < order; ++run) raise(cells + run * run_size, cells, kLanes);
    }
  }

  const Rows& rows_;
  const std::size_t state_size_;
  std::unique_ptr<Gain[]> value_;
};

}  // namespace decoding
