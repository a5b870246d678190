// A path of a lattice with its clipped matches, changed stretch by stretch for the better.
//
// Where another path leaves it and comes back, the stretch between may take the place of its own:
// matches change at the words there and at the N - 1 after them, so that each stretch is tried in
// time of its length. Cost of a path: O((words + stretches * N) * N).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Lattice;

// What paths are worth, the higher the better.
struct PathWorth {
  // by the length, the clipped matches and the model score
  std::function<double(Index length, std::span<const double> matches, double model)> of_matches;
  // what is added for whole paths, if anything: then stretches are not tried
  std::function<double(std::span<const Index> arcs)> added;
  double preference;  // times the model score, among equals
};

class PathMatches {
 public:
  PathMatches(const Lattice& lattice, std::span<const Index> classes, const ReferenceNgrams& grams,
              const PathWorth& worth)
      : lattice_(&lattice),
        classes_(classes),
        grams_(&grams),
        value_(&worth),
        times_(grams.size(), 0),
        matches_(grams.order(), 0.0) {}

  void assign(std::span<const Index> arcs) {
    arcs_.assign(arcs.begin(), arcs.end());
    words_.clear();
    std::ranges::fill(times_, 0);
    std::ranges::fill(matches_, 0.0);
    model_ = last(arcs);
    for (const Index arc : arcs) {
      model_ += lattice_->score[arc];
      if (classes_[arc] >= 0) words_.push_back(classes_[arc]);
    }
    length_ = static_cast<Index>(words_.size());
    count<1>(ReferenceNgrams::kEmpty, words_);
    worth_ = value_->of_matches(length_, matches_, model_);
    if (value_->added) worth_ += value_->added(arcs_);
  }

  const std::vector<Index>& arcs() const { return arcs_; }
  Index length() const { return length_; }
  std::span<const double> matches() const { return matches_; }
  double worth() const { return worth_; }
  // How often it has an n-gram, not clipped.
  Index times(Index gram) const { return times_[gram]; }
  bool is_below(const PathMatches& other) const {
    return is_better(other.worth_, other.model_, worth_, model_);
  }

  // Take those stretches of another path that make this one better.
  void take_stretches(std::span<const Index> other) {
    if (value_->added) return;
    const std::vector<Index> own = std::move(arcs_), words = std::move(words_);
    arcs_.clear();
    words_.clear();
    for_stretches(own, words, other, [&](const Stretch& stretch) {
      const bool better = !stretch.same && try_stretch(stretch);
      if (!better && !stretch.same) undo(stretch);
      for (const Index arc : better ? stretch.other : stretch.own) {
        arcs_.push_back(arc);
        if (classes_[arc] >= 0) words_.push_back(classes_[arc]);
      }
    });
    // sums of differences are rounded otherwise
    assign(std::vector<Index>(arcs_));
  }

  // Call use(worth, arcs) for the path with each of the stretches of another one alone, where its
  // worth is above a least one. `arcs` are to be asked for.
  template <class Use>
  void with_each_stretch(std::span<const Index> other, Use&& use) {
    if (value_->added) return;
    const std::vector<Index> own = arcs_, words = words_;
    words_.clear();
    std::size_t at = 0;
    for_stretches(own, words, other, [&](const Stretch& stretch) {
      if (!stretch.same) {
        const double worth = worth_, model = model_;
        const Index length = length_;
        try_stretch(stretch);
        use(worth_of_trial_, [&] {
          std::vector<Index> arcs(own.begin(), own.begin() + at);
          arcs.insert(arcs.end(), stretch.other.begin(), stretch.other.end());
          arcs.insert(arcs.end(), own.begin() + at + stretch.own.size(), own.end());
          return arcs;
        });
        undo(stretch);
        worth_ = worth;
        model_ = model;
        length_ = length;
      }
      at += stretch.own.size();
      words_.insert(words_.end(), stretch.words.begin(), stretch.words.end());
    });
    words_ = words;
  }

 private:
  static constexpr double kEqual = 1e-12;

  // Where two paths differ between states of both, or an arc of both.
  struct Stretch {
    bool same;
    std::span<const Index> own, other, words, right;  // arcs; own words, and those that follow
    double ending;                                    // what the model score of the end changes
  };

  double last(std::span<const Index> arcs) const { return lattice_->final[lattice_->last(arcs)]; }
  // The state before a step; after the last arc comes that of ending.
  Index state(std::span<const Index> arcs, std::size_t at) const {
    if (at > arcs.size()) return std::numeric_limits<Index>::max();
    return at < arcs.size() ? lattice_->src[arcs[at]] : lattice_->last(arcs);
  }

  template <class Use>
  void for_stretches(std::span<const Index> own, std::span<const Index> words,
                     std::span<const Index> other, Use&& use) const {
    std::size_t i = 0, j = 0, word = 0;
    const auto step = [](std::span<const Index> arcs, std::size_t at) {
      return at < arcs.size() ? arcs[at] : -1;
    };
    const auto between = [](std::span<const Index> all, std::size_t begin, std::size_t end) {
      return all.subspan(begin, std::min(end, all.size()) - begin);
    };
    while (i <= own.size()) {
      const bool same = step(own, i) == step(other, j);
      std::size_t end = i + 1, other_end = j + 1;
      while (!same && state(own, end) != state(other, other_end)) {
        ++(state(own, end) < state(other, other_end) ? end : other_end);
      }
      const auto arcs = between(own, i, end);
      const auto begin = word;
      for (const Index arc : arcs) word += classes_[arc] >= 0;
      use(Stretch{same, arcs, between(other, j, other_end), between(words, begin, word),
                  between(words, word, word + grams_->order() - 1),
                  end > own.size() ? last(other) - last(own) : 0.0});
      i = end;
      j = other_end;
    }
  }

  bool is_better(double worth, double model, double than, double than_model) const {
    const double equal = kEqual * std::max(1.0, std::abs(than));
    if (worth > than + equal) return true;
    return worth >= than - equal &&
           value_->preference * model > value_->preference * than_model + equal;
  }

  // Count a stretch in place of the own one after the words before it; true if that is better.
  bool try_stretch(const Stretch& stretch) {
    context_ = ReferenceNgrams::kEmpty;
    const auto known = std::min<std::size_t>(words_.size(), grams_->order() - 1);
    for (const Index word : std::span(words_).last(known)) {
      context_ = (*grams_)[grams_->step(context_, word)].context;
    }
    double model = model_ + stretch.ending;
    for (const Index arc : stretch.own) model -= lattice_->score[arc];
    others_.clear();
    for (const Index arc : stretch.other) {
      model += lattice_->score[arc];
      if (classes_[arc] >= 0) others_.push_back(classes_[arc]);
    }
    const auto length =
        length_ + static_cast<Index>(others_.size()) - static_cast<Index>(stretch.words.size());
    count<-1>(count<-1>(context_, stretch.words), stretch.right);
    count<1>(count<1>(context_, others_), stretch.right);
    worth_of_trial_ = value_->of_matches(length, matches_, model);
    if (!is_better(worth_of_trial_, model, worth_, model_)) return false;
    worth_ = worth_of_trial_;
    model_ = model;
    length_ = length;
    return true;
  }
  void undo(const Stretch& stretch) {
    count<-1>(count<-1>(context_, others_), stretch.right);
    count<1>(count<1>(context_, stretch.words), stretch.right);
  }

  // Count the n-grams that end with words after a context, or take them out again.
  template <int Sign>
  Index count(Index context, std::span<const Index> words) {
    for (const Index word : words) {
      const Index longest = grams_->step(context, word);
      context = (*grams_)[longest].context;
      for (Index gram = longest; gram != 0; gram = (*grams_)[gram].suffix) {
        const auto& each = (*grams_)[gram];
        const Index before = Sign > 0 ? times_[gram] : times_[gram] - 1;
        times_[gram] += Sign;
        if (before < each.limit) matches_[each.length - 1] += Sign;
      }
    }
    return context;
  }

  const Lattice* lattice_;
  std::span<const Index> classes_;
  const ReferenceNgrams* grams_;
  const PathWorth* value_;
  std::vector<Index> arcs_, words_, times_, others_;
  std::vector<double> matches_;
  double model_ = 0.0, worth_ = 0.0, worth_of_trial_ = 0.0;
  Index length_ = 0, context_ = 0;
};

}  // namespace decoding
