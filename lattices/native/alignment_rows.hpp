// Rows of many alignments: where the alignments of a prefix to each of several references stand.
//
// AutomatonReader (rows.hpp) reads any automaton, from tables that are built arc by arc. Here the
// shape is known (alignments.hpp). A row has, for each cell (t, m), the best gain G(q, i, m) of an
// alignment of the prefix q that leaves t = length - i words of the reference.
//
// Gains are whole numbers. Rows are kept in a normal form, so that equal rows have equal futures:
// cells that no suffix can bring back to the lead are absent, and the largest gain is taken out.
//
// The rows of `Lanes` alignments make a block, in which one number for each stands together:
// counted from the end all references are alike, and all are read at once. With one lane the cells
// of a row stand together, and they are. Either way loops run over whole vectors of kChunk numbers.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "lattices/native/alignments.hpp"
#include "lattices/native/vectors.hpp"

namespace lattices {

template <std::signed_integral G, Index Lanes>
class AlignmentBlocks {
 public:
  using Gain = G;
  static constexpr Index kLanes = Lanes;
  // What stands for minus infinity; the sum of two does not overflow, and sums of gains that are
  // there stay below half of it in size.
  static constexpr Gain kAbsent = std::numeric_limits<Gain>::min() / 2;
  // The largest sum of gains that may be met.
  static constexpr double kLargest = -static_cast<double>(kAbsent) / 2;
  // The alignments whose next word is the one in question when so many words are left, by the
  // weight of the match; kAbsent for the others.
  struct Match {
    Index left = 0;
    std::array<Gain, Lanes> weight;
  };

  // `words`, ascending, are those that will be read; they are numbered from 0.
  AlignmentBlocks(const AlignmentList& list, std::span<const Index> words)
      : order_(list.order),
        blocks_((list.size() + Lanes - 1) / Lanes),
        words_(static_cast<Index>(words.size())),
        insertion_(static_cast<Gain>(list.insertion)),
        deletion_(static_cast<Gain>(list.deletion)),
        length_(static_cast<std::size_t>(blocks_) * Lanes, 0) {
    const Index cells = 1 + *std::max_element(list.length.begin(), list.length.end());
    width_ = (cells * Lanes + kChunk - 1) / kChunk * kChunk / Lanes;
    std::copy(list.length.begin(), list.length.end(), length_.begin());
    collect_matches(list, words);
    // earned[t][m]: what a run of m earns with t more matches
    std::vector<double> earned(static_cast<std::size_t>(order_ + 1) * order_, 0.0);
    for (Index ahead = 1; ahead <= order_; ++ahead) {
      for (Index run = 0; run < order_; ++run) {
        earned[ahead * order_ + run] =
            earned[(ahead - 1) * order_ + run] + std::min(run + ahead, order_) * list.heaviest;
      }
    }
    for (Index run = 0; run < order_; ++run) {
      for (Index other = 0; other < order_; ++other) {
        for (Index left = 0; left < width_; ++left) {
          const double* most = earned.data() + std::min(order_, left) * order_;
          lead_.push_back(other < run ? static_cast<Gain>(most[run] - most[other]) : Gain{0});
        }
      }
    }
  }

  Index order() const { return order_; }
  // More than the words of the longest reference: cell (t, m) is m * width + t.
  Index width() const { return width_; }
  Index num_blocks() const { return blocks_; }
  std::size_t block_size() const { return static_cast<std::size_t>(order_) * width_ * Lanes; }
  Gain insertion() const { return insertion_; }
  Gain deletion() const { return deletion_; }
  Index length(Index alignment) const { return length_[alignment]; }
  Index num_words() const { return words_; }
  // In a block, words that match nowhere are class 0, each other one has a class of its own.
  Index num_classes() const { return classes_; }
  Index class_of(Index block, Index word) const {
    return class_[static_cast<std::size_t>(block) * words_ + word];
  }
  std::span<const Match> matches(Index block, Index word_class) const {
    const Index at = first_class_[block] + word_class;
    return std::span(match_).subspan(match_offset_[at], match_offset_[at + 1] - match_offset_[at]);
  }

  // Raise cells to what a match makes of others, at the end of a run.
  static void add_match(Gain* cells, const Gain* others, const Match& match, Index run) {
    for (Index lane = 0; lane < Lanes; ++lane) {
      const auto gain = static_cast<Gain>(others[lane] + (run + 1) * match.weight[lane]);
      cells[lane] = std::max(cells[lane], match.weight[lane] == kAbsent ? kAbsent : gain);
    }
  }

  // Write the rows of a block before the first word, and what is taken out of each.
  void open(Index block, Gain* rows, Gain* top) const {
    std::fill_n(rows, block_size(), kAbsent);
    for (Index lane = 0; lane < Lanes; ++lane) {
      rows[static_cast<std::size_t>(length_[block * Lanes + lane]) * Lanes + lane] = 0;
    }
    close(block, rows, top);
  }

  // Write the rows of a block after a word of a class, and what each of them gains.
  void step(Index block, const Gain* __restrict rows, Index word_class, Gain* __restrict result,
            Gain* top) const {
    const std::size_t run_size = static_cast<std::size_t>(width_) * Lanes;
    const Gain insertion = insertion_;
    for (std::size_t begin = 0; begin < run_size; begin += kChunk) {
      Chunk next = Chunk{} + kAbsent;
      if (begin + kChunk < run_size) {
        next = V::at(rows + begin + Lanes);
      } else {
        std::memcpy(&next, rows + begin + Lanes, (kChunk - Lanes) * sizeof(Gain));
      }
      const Chunk inserted = V::at(rows + begin) - insertion;
      V::raise(next, inserted);
      V::at(result + begin) = next;
    }
    V::fill(result, kAbsent, run_size, block_size());
    for (const auto& match : matches(block, word_class)) {
      const Gain* from = rows + static_cast<std::size_t>(match.left) * Lanes;
      Gain* to = result + static_cast<std::size_t>(match.left - 1) * Lanes;
      for (Index run = 0; run < order_; ++run) {
        add_match(to + static_cast<std::size_t>(std::min(run + 1, order_ - 1)) * run_size,
                  from + run * run_size, match, run);
      }
    }
    close(block, result, top);
  }

 private:
  static constexpr Index kChunk = Lanes > 16 ? Lanes : 16;
  using V = Vectors<Gain, kChunk * sizeof(Gain)>;
  using Chunk = typename V::Vector;

  void collect_matches(const AlignmentList& list, std::span<const Index> words) {
    class_.assign(static_cast<std::size_t>(blocks_) * words_, 0);
    std::vector<std::vector<Match>> found(1);
    for (Index block = 0; block < blocks_; ++block) {
      first_class_.push_back(static_cast<Index>(match_offset_.size()));
      Index classes = 1;
      for (Index each = block * Lanes; each < std::min(list.size(), (block + 1) * Lanes); ++each) {
        for (Index at = list.offset[each]; at < list.offset[each + 1]; ++at) {
          const auto word = std::lower_bound(words.begin(), words.end(), list.word[at]);
          if (word == words.end() || *word != list.word[at]) continue;
          Index& known = class_[static_cast<std::size_t>(block) * words_ + (word - words.begin())];
          if (known == 0) known = classes++;
          if (found.size() < static_cast<std::size_t>(classes)) found.emplace_back();
          auto& some = found[known];
          const Index left = list.length[each] - list.position[at];
          auto same = std::find_if(some.begin(), some.end(),
                                   [&](const Match& match) { return match.left == left; });
          if (same == some.end()) {
            same = some.insert(some.end(), Match{left, {}});
            same->weight.fill(kAbsent);
          }
          same->weight[each % Lanes] = static_cast<Gain>(list.weight[at]);
        }
      }
      for (Index number = 0; number < classes; ++number) {
        match_offset_.push_back(static_cast<Index>(match_.size()));
        match_.insert(match_.end(), found[number].begin(), found[number].end());
        found[number].clear();
      }
      classes_ = std::max(classes_, classes);
    }
    match_offset_.push_back(static_cast<Index>(match_.size()));
  }

  // Close rows under forgetting and deletions, drop what is dominated, take out the maxima. What
  // was added to what is absent leaves it absent.
  void close([[maybe_unused]] Index block, Gain* rows, Gain* top) const {
    const std::size_t run_size = static_cast<std::size_t>(width_) * Lanes;
    const Chunk absent = Chunk{} + kAbsent;
    const auto forget = [&](std::size_t begin) {
      Chunk best = V::at(rows + begin);
      for (Index run = 1; run < order_; ++run) {
        V::raise(best, V::at(rows + run * run_size + begin));
      }
      V::at(rows + begin) = best;
    };
    const auto clamp = [&](std::size_t begin) {
      Chunk& gains = V::at(rows + begin);
      gains = gains < absent / 2 ? absent : gains;
    };
    const Gain deletion = deletion_;
    Chunk highest = absent;
    if constexpr (Lanes == 1) {
      for (std::size_t begin = 0; begin < run_size; begin += kChunk) forget(begin);
      Gain best = kAbsent, most = kAbsent;
      for (Index left = length_[block]; left >= 0; --left) {
        best = std::max(rows[left], static_cast<Gain>(best - deletion));
        rows[left] = best;
        most = std::max(most, best);
      }
      for (std::size_t begin = 0; begin < run_size; begin += kChunk) clamp(begin);
      highest += static_cast<Gain>(most - kAbsent);
    } else {
      Chunk deleted = absent;
      for (std::size_t cell = run_size; cell > 0;) {
        cell -= Lanes;
        forget(cell);
        Chunk& best = V::at(rows + cell);
        V::raise(best, deleted);
        clamp(cell);
        V::raise(highest, best);
        deleted = best - deletion;
      }
    }
    std::memcpy(top, &highest, Lanes * sizeof(Gain));
    // a run is useless where a longer one has as much, or a shorter one more than it can catch up
    for (Index run = 1; run < order_; ++run) {
      for (std::size_t begin = 0; begin < run_size; begin += kChunk) {
        const Chunk gains = V::at(rows + run * run_size + begin);
        auto useless = gains < absent / 2;
        for (Index other = 0; other < order_; ++other) {
          if (other == run) continue;
          const Gain* lead = lead_.data() + (run * order_ + other) * width_ + begin / Lanes;
          Chunk ahead;
          if constexpr (Lanes == 1) {
            ahead = V::at(lead);
          } else {
            ahead = Chunk{} + *lead;
          }
          useless |= gains + ahead <= V::at(rows + other * run_size + begin);
        }
        V::at(rows + run * run_size + begin) = useless ? absent : gains;
      }
    }
    for (std::size_t begin = 0; begin < block_size(); begin += kChunk) {
      Chunk& gains = V::at(rows + begin);
      gains = gains == absent ? absent : gains - highest;
    }
  }

  Index order_, width_ = 0, blocks_, words_, classes_ = 1;
  Gain insertion_, deletion_;
  // of alignments; of blocks and words; of blocks; of their classes
  std::vector<Index> length_, class_, first_class_, match_offset_;
  std::vector<Match> match_;
  std::vector<Gain> lead_;  // by run, other run and words left
};

// One of several alignments as a RowReader; another one can be chosen when the machine is cleared.
template <std::signed_integral G>
class AlignmentReader {
 public:
  using Gain = G;
  using Rows = AlignmentBlocks<G, 1>;

  explicit AlignmentReader(const Rows& all) : all_(all) {}
  void choose(Index alignment) { own_ = alignment; }

  std::size_t width() const { return all_.block_size(); }
  Index num_classes() const { return all_.num_classes(); }
  Gain open(std::span<Gain> result) const {
    Gain top;
    all_.open(own_, result.data(), &top);
    return top;
  }
  Gain step(std::span<const Gain> row, Index word_class, std::span<Gain> result) const {
    Gain top;
    all_.step(own_, row.data(), word_class, result.data(), &top);
    return top;
  }
  Gain ending(std::span<const Gain> row) const { return row[0]; }

 private:
  const Rows& all_;
  Index own_ = 0;
};

}  // namespace lattices
