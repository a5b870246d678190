// What a beam and a band leave out of a forest's items, and what that could have earned.
//
// Promise. What stands before a node can earn no more than a match of every reference word before
// its item that any word of the forest matches, each at the end of the longest run it can have; nor
// more than as many matches as there can be words. It pays for the words and places that must be
// left over. The same holds behind. An item's gain plus both bounds, and plus the best weighted
// model score of all that is not below the node, is its promise: no derivation that uses it is
// worth more.
//
// Beam. Items that promise less than the best of their node, by more than the beam, are dropped as
// soon as the node is done.
//
// Band. In proportion to the length of the reference a node can begin in a range of places and
// cover a range of words; L / sqrt(shortest x longest sentence) is the proportion. Items that
// begin, or cover, more than `band` words outside of its range are not computed at all.
//
// A derivation that uses dropped items uses one below which nothing is dropped, and that one's
// promise was noted; so what is found is the best if no promise that was given up exceeds it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "lattices/native/forest_items.hpp"
#include "lattices/native/forest_plan.hpp"
#include "lattices/native/inside.hpp"
#include "lattices/native/semirings.hpp"

namespace lattices::forests {

// How many words a node has, and how many can stand before and behind it.
struct WordRange {
  double fewest = std::numeric_limits<double>::infinity(), most = kMinusInfinity;
  double fewest_before = fewest, most_before = most;
  double fewest_behind = fewest, most_behind = most;
};

// The ranges of all nodes, and the best weighted model score below and around each. Nodes that no
// derivation uses have infinite ranges.
struct WordRanges {
  std::vector<WordRange> node;
  std::vector<double> below, around;

  WordRanges(const Forest& forest, std::span<const double> bias) : node(forest.num_nodes()) {
    below = inside_scores<Viterbi>(forest, bias);
    std::vector<double> end(forest.num_nodes(), kMinusInfinity);
    end[forest.root] = 0.0;
    around = outside_scores<Viterbi>(forest, bias, end, below);
    for (Index head = 0; head < forest.num_nodes(); ++head) {
      for (const Index edge : forest.incoming(head)) {
        if (!derives(forest, edge)) continue;
        const auto [fewest, most] = words(forest, edge);
        node[head].fewest = std::min({node[head].fewest, fewest, kMany});
        node[head].most = std::max(node[head].most, std::min(most, kMany));
      }
    }
    WordRange& root = node[forest.root];
    root.fewest_before = root.most_before = root.fewest_behind = root.most_behind = 0.0;
    for (Index head = forest.num_nodes() - 1; head >= 0; --head) {
      if (around[head] == kMinusInfinity) continue;
      for (const Index edge : forest.incoming(head)) {
        if (derives(forest, edge)) pass_down(forest, node[head], edge);
      }
    }
  }

 private:
  // sentences can have more words than numbers hold; beyond this it makes no difference
  static constexpr double kMany = 1e9;
  struct Words {
    double fewest = 0.0, most = 0.0;
  };

  bool derives(const Forest& forest, Index edge) const {
    for (const Index tail : forest.tails(edge)) {
      if (below[tail] == kMinusInfinity) return false;
    }
    return true;
  }
  Words words(const Forest& forest, Index edge) const {
    Words count;
    for (const Index symbol : forest.symbols(edge)) {
      const auto [fewest, most] = words(forest, edge, symbol);
      count.fewest += fewest;
      count.most += most;
    }
    return count;
  }
  Words words(const Forest& forest, Index edge, Index symbol) const {
    if (symbol > 0) return {1.0, 1.0};
    const WordRange& tail = node[forest.tails(edge)[-1 - symbol]];
    return {tail.fewest, tail.most};
  }
  void pass_down(const Forest& forest, const WordRange& head, Index edge) {
    const Words all = words(forest, edge);
    Words before;
    for (const Index symbol : forest.symbols(edge)) {
      const Words own = words(forest, edge, symbol);
      if (symbol < 0) {
        WordRange& tail = node[forest.tails(edge)[-1 - symbol]];
        const double fewest_rest = std::max(0.0, all.fewest - before.fewest - own.fewest);
        const double most_rest = std::max(0.0, all.most - before.most - own.most);
        tail.fewest_before = std::min(tail.fewest_before, head.fewest_before + before.fewest);
        tail.most_before =
            std::max(tail.most_before, std::min(head.most_before + before.most, kMany));
        tail.fewest_behind = std::min(tail.fewest_behind, head.fewest_behind + fewest_rest);
        tail.most_behind =
            std::max(tail.most_behind, std::min(head.most_behind + most_rest, kMany));
      }
      before.fewest += own.fewest;
      before.most += own.most;
    }
  }
};

// What words can gain over some places, as the tables count it.
class GainBound {
 public:
  GainBound(const Forest& forest, const Alignment& alignment, const Matches& matches)
      : length_(alignment.length),
        per_word_(alignment.order * std::max(0.0, alignment.heaviest)),
        insertion_(alignment.insertion),
        deletion_(alignment.deletion),
        earned_(alignment.length + std::size_t{1}, 0.0) {
    std::vector<double> heaviest(length_, 0.0);
    for (const Index symbol : forest.symbol) {
      if (symbol < 0) continue;
      for (const Match& match : matches.of(symbol)) {
        heaviest[match.position] = std::max(heaviest[match.position], match.weight);
      }
    }
    Index run = 0;
    for (Index place = 0; place < length_; ++place) {
      run = heaviest[place] > 0.0 ? std::min(run + 1, alignment.order) : 0;
      earned_[place + 1] = earned_[place] + run * heaviest[place];
    }
  }

  // What between `fewest` and `most` words can gain from one place to another, the deletions added
  // that columns carry.
  double operator()(Index from, Index to, double fewest, double most) const {
    const double places = to - from;
    return std::min(earned_[to] - earned_[from], most * per_word_) +
           std::max(0.0, deletion_) * std::min(places, most) -
           std::max(0.0, insertion_) * std::max(0.0, fewest - places) +
           std::max(0.0, -insertion_) * most;
  }
  double before(const WordRange& range, Index place) const {
    return (*this)(0, place, range.fewest_before, range.most_before);
  }
  double behind(const WordRange& range, Index place) const {
    return (*this)(place, length_, range.fewest_behind, range.most_behind);
  }
  // Whether a run of so many matches can end at a place.
  bool has_run(Index place, Index run) const {
    if (run > place) return false;
    for (Index at = place; at > place - run; --at) {
      if (earned_[at] == earned_[at - 1]) return false;
    }
    return true;
  }
  Index length() const { return length_; }

 private:
  Index length_;
  double per_word_, insertion_, deletion_;
  // by all matches of so many first words of the reference
  std::vector<double> earned_;
};

// The places at which a node may begin, and how many it may cover.
struct Window {
  Index first = 0, last = 0, least = 0, most = 0;

  Window() = default;
  Window(const WordRange& node, const WordRange& root, Index length, double band) {
    if (node.most_before < 0.0) return;
    const double stretch =
        length / std::sqrt(std::max(1.0, root.fewest) * std::max(1.0, root.most));
    const auto within = [&](double place) {
      return static_cast<Index>(std::min(std::max(place, 0.0), static_cast<double>(length)));
    };
    first = within(std::floor(node.fewest_before * stretch) - band);
    last = within(std::ceil(node.most_before * stretch) + band);
    least = within(std::floor(node.fewest * stretch) - band);
    most = within(std::ceil(node.most * stretch) + band);
  }

  bool holds(Index begin, Index end) const {
    return first <= begin && begin <= last && least <= end - begin && end - begin <= most;
  }
};

// The most that any item outside of its window promises. Cost: O(nodes x length^2).
inline double band_promise(const WordRanges& ranges, std::span<const Window> windows,
                           const Plan& plan, const GainBound& bound, Poll& poll) {
  double promise = kMinusInfinity;
  const Index length = plan.length;
  for (std::size_t node = 0; node < windows.size(); ++node) {
    poll(static_cast<std::size_t>(length) * static_cast<std::size_t>(length));
    const WordRange& range = ranges.node[node];
    if (plan.use[node] == Use::Unused || range.most_before < 0.0 ||
        ranges.below[node] == kMinusInfinity) {
      continue;
    }
    const double model = ranges.below[node] + ranges.around[node];
    const Index last = plan.use[node] == Use::Anywhere ? length : 0;
    for (Index begin = 0; begin <= last; ++begin) {
      const double before = bound.before(range, begin);
      // what follows has the words of the node and those behind it
      const double rest =
          bound(begin, length, range.fewest + range.fewest_behind, range.most + range.most_behind);
      if (before + rest + model <= promise) continue;
      for (Index end = begin; end <= length; ++end) {
        if (windows[node].holds(begin, end)) continue;
        const double gain = bound(begin, end, range.fewest, range.most);
        promise = std::max(promise, before + gain + bound.behind(range, end) + model);
      }
    }
  }
  return promise;
}

// use(row, place, run) for all rows of a node.
template <class Use>
void each_row(const Plan& plan, Index node, Use&& use) {
  const auto left = plan.left(node);
  const Index plain = std::min(plan.rows[node], plan.length + 1);
  for (Index row = 0; row < plain; ++row) use(row, row, 0);
  for (std::size_t index = 0; index < left.size(); ++index) {
    for (Index run = 1; run < plan.order; ++run) use(plan.run_row(index, run), left[index], run);
  }
}

// Drop the items of a node that cover fewer or more places than they may.
template <class Real>
void cut_spans(const Plan& plan, Index node, const Items<Real>& items, const Window& window) {
  each_row(plan, node, [&](Index row, Index begin, Index) {
    const Index low = begin + window.least;
    const Index high = std::min(items.row_end(row), begin + window.most + 1);
    Real* plain = items.plain_row(row);
    for (Index place = 0; place < plan.stride; ++place) {
      if (place < low || place >= high) plain[place] = kWorst<Real>;
    }
    Real* runs = items.run_cells(row);
    for (const Index place : items.right) {
      if (place < low || place >= high) std::fill(runs, runs + plan.runs(), kWorst<Real>);
      runs += plan.runs();
    }
    items.row_end(row) = std::max(high, 0);
  });
}

// Drop the items of a node that promise too little, and return the most that one of them promises,
// without the model score around the node, which is the same for all. A run of matches goes with
// the item that forgets it: that one never promises less. Rows that no run of matches can lead to
// are no measure for the others.
template <class Real>
double cut_promises(const Plan& plan, Index node, const Items<Real>& items, const WordRange& range,
                    const GainBound& bound, double beam) {
  std::vector<double> before(plan.length + 1), behind(plan.length + 1);
  for (Index place = 0; place <= plan.length; ++place) {
    before[place] = bound.before(range, place);
    behind[place] = bound.behind(range, place);
  }
  double best = kMinusInfinity, dropped = kMinusInfinity;
  each_row(plan, node, [&](Index row, Index begin, Index run) {
    if (!bound.has_run(begin, run)) return;
    const Real* plain = items.plain_row(row);
    for (Index end = begin; end < items.row_end(row); ++end) {
      best = std::max(best, before[begin] + plain[end] + behind[end]);
    }
  });
  each_row(plan, node, [&](Index row, Index begin, Index) {
    Real* plain = items.plain_row(row);
    Index high = 0;
    for (Index end = begin; end < items.row_end(row); ++end) {
      const double promise = before[begin] + plain[end] + behind[end];
      if (promise < best - beam) {
        plain[end] = kWorst<Real>;
        dropped = std::max(dropped, promise);
      } else if (promise > kMinusInfinity) {
        high = end + 1;
      }
    }
    items.row_end(row) = high;
    Real* runs = items.run_cells(row);
    for (const Index place : items.right) {
      if (plain[place] == kWorst<Real>) std::fill(runs, runs + plan.runs(), kWorst<Real>);
      runs += plan.runs();
    }
  });
  return dropped;
}

}  // namespace lattices::forests
