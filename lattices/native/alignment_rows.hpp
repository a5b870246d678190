// Rows of many alignments over the words of one lattice.
//
// AutomatonReader (rows.hpp) reads any automaton, from tables that are built arc by arc.
// Minimum-risk decoding reads a lattice against a hundred sentences, and building a hundred tables
// would cost more than reading. Here the shape of Python's Alignment is known: cell (i, m) of a
// row, i words of the reference behind and the last m of them matched in a row, stands at m * width
// + i, and a step is a shift, a few matches and two running maxima. Rows have the same normal form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "lattices/native/rows.hpp"

namespace lattices {

// Possible matches of several alignments, as Python's Alignment has them: those of alignment e are
// offset[e] up to offset[e + 1]. `words`, ascending, are those that will be read.
struct AlignmentMatches {
  std::span<const Index> length, offset, word, position;
  std::span<const double> weight;
  std::span<const Index> words;
};

struct AlignmentCosts {
  Index order;
  double insertion, deletion;
  double heaviest;  // no match weighs more
};

// Several alignments of one order and with the same costs. Words are numbered 0.. as in
// `words`. A word has a class in each alignment, 0 if it matches nowhere.
template <std::signed_integral G>
class Alignments {
 public:
  using Gain = G;

  Alignments(const AlignmentMatches& matches, const AlignmentCosts& costs)
      : order_(costs.order),
        insertion_(static_cast<Gain>(costs.insertion)),
        deletion_(static_cast<Gain>(costs.deletion)),
        length_(matches.length.begin(), matches.length.end()),
        num_words_(matches.words.size()) {
    width_ = 1 + *std::max_element(length_.begin(), length_.end());
    number_classes(matches);
    leads(static_cast<Gain>(costs.heaviest));
  }

  Index size() const { return static_cast<Index>(length_.size()); }
  Index order() const { return order_; }
  Index width() const { return width_; }
  std::size_t cells() const { return static_cast<std::size_t>(order_) * width_; }
  Index num_classes() const { return num_classes_; }
  Index length(Index alignment) const { return length_[alignment]; }
  Gain insertion() const { return insertion_; }
  Gain deletion() const { return deletion_; }
  Index class_of(Index alignment, Index word) const {
    return class_[alignment * num_words_ + word];
  }

  struct Match {
    Index position;
    Gain weight;
  };
  // Where a class of words matches.
  std::span<const Match> matches(Index alignment, Index word_class) const {
    const std::size_t at = static_cast<std::size_t>(alignment) * num_classes_ + word_class;
    return std::span(match_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
  }
  // How much more than a run of `shorter` a run of `run` can earn with so many more words of the
  // reference, at most `order`.
  Gain lead(Index ahead, Index run, Index shorter) const {
    return earned_[ahead * order_ + run] - earned_[ahead * order_ + shorter];
  }

 private:
  void number_classes(const AlignmentMatches& matches) {
    class_.assign(length_.size() * num_words_, 0);
    std::vector<Index> word(matches.word.size(), -1);
    num_classes_ = 1;
    for (Index each = 0; each < size(); ++each) {
      Index classes = 0;
      for (Index entry = matches.offset[each]; entry < matches.offset[each + 1]; ++entry) {
        const auto at =
            std::lower_bound(matches.words.begin(), matches.words.end(), matches.word[entry]);
        if (at == matches.words.end() || *at != matches.word[entry]) continue;
        word[entry] = static_cast<Index>(at - matches.words.begin());
        Index& known = class_[each * num_words_ + word[entry]];
        if (known == 0) known = ++classes;
      }
      num_classes_ = std::max(num_classes_, classes + 1);
    }
    begin_.assign(length_.size() * num_classes_ + 1, 0);
    const auto slot = [&](Index each, Index entry) {
      return static_cast<std::size_t>(each) * num_classes_ + class_of(each, word[entry]);
    };
    for (Index each = 0; each < size(); ++each) {
      for (Index entry = matches.offset[each]; entry < matches.offset[each + 1]; ++entry) {
        if (word[entry] >= 0) ++begin_[slot(each, entry) + 1];
      }
    }
    for (std::size_t at = 1; at < begin_.size(); ++at) begin_[at] += begin_[at - 1];
    match_.resize(begin_.back());
    auto place = begin_;
    for (Index each = 0; each < size(); ++each) {
      for (Index entry = matches.offset[each]; entry < matches.offset[each + 1]; ++entry) {
        if (word[entry] < 0) continue;
        match_[place[slot(each, entry)]++] = {matches.position[entry],
                                              static_cast<Gain>(matches.weight[entry])};
      }
    }
  }
  // earned_[t * order + m]: what the next t matches earn behind a run of m
  void leads(Gain heaviest) {
    earned_.assign(static_cast<std::size_t>(order_ + 1) * order_, 0);
    for (Index ahead = 1; ahead <= order_; ++ahead) {
      for (Index run = 0; run < order_; ++run) {
        earned_[ahead * order_ + run] =
            earned_[(ahead - 1) * order_ + run] + std::min(run + ahead, order_) * heaviest;
      }
    }
  }

  Index order_, width_ = 1, num_classes_ = 1;
  Gain insertion_, deletion_;
  std::vector<Index> length_, class_, begin_;
  std::vector<Match> match_;
  std::vector<Gain> earned_;
  std::size_t num_words_;
};

// The rows of one of several alignments; another one can be chosen when the machine is cleared.
template <std::signed_integral G>
class AlignmentReader {
 public:
  using Gain = G;

  explicit AlignmentReader(const Alignments<G>& all) : all_(all) {}
  void choose(Index alignment) { own_ = alignment; }

  std::size_t width() const { return all_.cells(); }
  Index num_classes() const { return all_.num_classes(); }

  Gain open(std::span<Gain> result) const {
    std::fill(result.begin(), result.end(), kAbsent<Gain>);
    result[0] = 0;
    return close(result);
  }
  Gain step(std::span<const Gain> row, Index word_class, std::span<Gain> result) const {
    std::fill(result.begin(), result.end(), kAbsent<Gain>);
    const Index length = all_.length(own_), order = all_.order(), width = all_.width();
    // a substitution, or an insertion
    Gain before = kAbsent<Gain>;
    for (Index place = 0; place <= length; ++place) {
      const Gain here = row[place];
      result[place] =
          here > kAbsent<Gain> ? std::max<Gain>(before, here - all_.insertion()) : before;
      before = here;
    }
    for (const auto& [position, weight] : all_.matches(own_, word_class)) {
      for (Index run = 0; run < order; ++run) {
        const Gain gain = row[run * width + position];
        if (gain == kAbsent<Gain>) continue;
        Gain& there = result[std::min(run + 1, order - 1) * width + position + 1];
        there = std::max<Gain>(there, gain + (run + 1) * weight);
      }
    }
    return close(result);
  }
  Gain ending(std::span<const Gain> row) const { return row[all_.length(own_)]; }

 private:
  // Close a row under forgetting and deletions, drop what is dominated, take out the maximum.
  Gain close(std::span<Gain> row) const {
    const Index length = all_.length(own_), order = all_.order(), width = all_.width();
    Gain top = kAbsent<Gain>;
    for (Index place = 0; place <= length; ++place) {
      Gain best = row[place];
      for (Index run = 1; run < order; ++run) best = std::max(best, row[run * width + place]);
      row[place] = best;
      if (place < length && best > kAbsent<Gain>) {
        row[place + 1] = std::max<Gain>(row[place + 1], best - all_.deletion());
      }
      top = std::max(top, best);
    }
    for (Index place = 0; place <= length; ++place) {
      const Index ahead = std::min(order, length - place);
      for (Index run = 1; run < order; ++run) {
        const Gain gain = row[run * width + place];
        if (gain == kAbsent<Gain>) continue;
        bool useless = false;
        for (Index longer = run + 1; longer < order; ++longer) {
          useless |= gain <= row[longer * width + place];
        }
        for (Index shorter = 0; shorter < run; ++shorter) {
          const Gain rival = row[shorter * width + place];
          useless |= rival > kAbsent<Gain> && gain + all_.lead(ahead, run, shorter) <= rival;
        }
        if (useless) row[run * width + place] = kAbsent<Gain>;
      }
    }
    for (Gain& gain : row) gain = gain == kAbsent<Gain> ? gain : gain - top;
    return top;
  }

  const Alignments<G>& all_;
  Index own_ = 0;
};

}  // namespace lattices
