// The k best sentences of a forest under a machine made of alignments, each once.
//
// A maximum over sentences of a maximum over alignments is one maximum, so the product of the
// forest with the machine serves (Bar-Hillel, Perles and Shamir 1961), and each sentence is taken
// by its best derivation and alignment. The whole product would be large, and nearly all of it is
// far from the best: only what comes near is built, by an exact bound, and the bound is lowered
// until k sentences are found above it. Then there are none other above it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lattices/native/best.hpp"
#include "lattices/native/forest_search.hpp"
#include "lattices/native/kbest.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// A derivation whose tails stand in the order of the target sides in the order of the tails.
inline std::vector<Index> in_tail_order(const Forest& forest, std::span<const Index> edges) {
  // the places of the edges below each, by tail; edges below stand behind, so from the last
  std::vector<Index> child, child_offset(edges.size()), stack;
  for (std::size_t place = edges.size(); place-- > 0;) {
    const std::size_t first = child.size();
    child_offset[place] = static_cast<Index>(first);
    child.resize(first + forest.tails(edges[place]).size());
    for (const Index symbol : forest.symbols(edges[place])) {
      if (symbol > 0) continue;
      child[first - 1 - symbol] = stack.back();
      stack.pop_back();
    }
    stack.push_back(static_cast<Index>(place));
  }
  std::vector<Index> ordered;
  ordered.reserve(edges.size());
  stack.assign(edges.empty() ? 0 : 1, 0);
  while (!stack.empty()) {
    const Index place = stack.back();
    stack.pop_back();
    ordered.push_back(edges[place]);
    for (std::size_t tail = forest.tails(edges[place]).size(); tail-- > 0;) {
      stack.push_back(child[child_offset[place] + tail]);
    }
  }
  return ordered;
}

namespace forests {

// What the links of a product gain; those of one part have its denominator.
struct NearGains {
  const NearLinks& links;
  std::span<const std::unique_ptr<FilledPart>> parts;

  double gain(Index edge) const { return links.link(edge).gain; }
  double in_values(Index edge, double gain) const {
    return gain / parts[links.link(edge).part]->denominator;
  }
};

struct RankedOptions : Options {
  std::size_t k = 1;
};

// A part of the product of a forest with a machine: the columns of a forest, its nodes bottom-up
// and its edges sorted by their heads. Gains are those of the parts, in their own units.
struct ProductColumns {
  std::vector<Index> head, tail, tail_offset{0}, symbol, symbol_offset{0}, origin, part;
  std::vector<double> gain;
  Index num_nodes = 0;
};

struct RankedSentences {
  std::vector<std::vector<Index>> derivations;
  // how much less than the best was looked for, each time, and whether that was all there is
  std::vector<std::pair<double, bool>> tries;
};

class RankedSearch {
 public:
  RankedSearch(const Forest& forest, std::span<const Index> said, const RankedOptions& options,
               Poll& poll)
      : forest_(forest), said_(said), options_(options), poll_(poll) {}

  RankedSentences find(std::span<const Part> parts) {
    RankedSentences result;
    const double best = fill(parts);
    // how much the first step down is, if the best sentences are too few
    double step = 1e-6;
    for (const Part& part : parts) {
      step = std::max(step, part.alignment->heaviest / part.denominator);
    }
    double slack = 0.0;
    for (;;) {
      bool whole = false;
      const auto found = rank(best - slack, whole, result);
      result.tries.emplace_back(slack, whole);
      if (whole) return result;
      if (found.size() < options_.k) {
        slack = std::max(1.5 * slack, slack + step);
        continue;
      }
      // no sentence is missing that is as good as the last one
      const double lost = found.front() - found.back();
      if (lost <= slack) return result;
      slack = lost;
    }
  }

  // All that comes so near to the best value; its root is the last node.
  ProductColumns product(std::span<const Part> parts, double slack) {
    const double best = fill(parts);
    NearLinks links(options_.memory - kept_);
    // whatever the denominators, no bound is infinite: all that is impossible would reach it
    link(std::max(best - slack, -1e200), links);
    ProductColumns columns;
    std::vector<Index> number(links.num_nodes(), kNone);
    for (const Index node : links.bottom_up()) {
      number[node] = columns.num_nodes++;
      links.visit(node, [&](Index edge) {
        const auto& each = links.link(edge);
        columns.head.push_back(number[node]);
        for (const Index tail : links.tails(edge)) columns.tail.push_back(number[tail]);
        columns.tail_offset.push_back(static_cast<Index>(columns.tail.size()));
        const auto symbols = links.symbols(edge);
        columns.symbol.insert(columns.symbol.end(), symbols.begin(), symbols.end());
        columns.symbol_offset.push_back(static_cast<Index>(columns.symbol.size()));
        columns.origin.push_back(each.origin);
        columns.part.push_back(each.part);
        columns.gain.push_back(each.gain);
      });
    }
    return columns;
  }

 private:
  // Fill the tables of all parts; returns the best value.
  double fill(std::span<const Part> parts) {
    const double longest = longest_sentence(forest_);
    double best = kMinusInfinity;
    for (const Part& part : parts) {
      parts_.push_back(fill_part(forest_, part, longest, options_, kept_, poll_));
      kept_ += parts_.back()->bytes;
      best = std::max(best, parts_.back()->value());
    }
    return best;
  }

  // Add all that reaches a value; returns its root and whether that is all there is.
  std::pair<Index, bool> link(double least, NearLinks& links) {
    // how far, in relation to the best, rounding may move a value
    constexpr double kRounding = 1e-9;
    const Index root = links.new_item();
    links.place(root);
    bool whole = true;
    for (std::size_t number = 0; number < parts_.size(); ++number) {
      FilledPart& part = *parts_[number];
      double bound = least * part.denominator - part.shift;
      bound -= kRounding * std::max({1.0, std::abs(part.top), std::abs(bound)});
      if (part.top < bound) {
        whole = false;
        continue;
      }
      links.begin_part(static_cast<Index>(number));
      const auto [top, all] = part.find_near(bound, said_, links, poll_);
      whole = whole && all;
      links.add({.gain = part.shift,
                 .head = root,
                 .tail = {top, kNone},
                 .part = static_cast<Index>(number)});
    }
    links.finish();
    return {root, whole};
  }

  // Rank what reaches a value; returns the values of what was found.
  std::vector<double> rank(double least, bool& whole, RankedSentences& result) {
    NearLinks links(options_.memory - kept_);
    const auto [root, all] = link(least, links);
    whole = all;
    const ByMerit<NearLinks, NearGains> ranking{links, {links, parts_}, 1.0, options_.model_weight};
    LazyKBest<NearLinks, decltype(ranking), OneForEachSentence> search(links, ranking, poll_);
    const std::vector<Index> found = search.best(root, options_.k);
    result.derivations = written(search.made(), links, found);
    std::vector<double> worth;
    for (const Index derivation : found) worth.push_back(search.made().value(derivation).worth);
    return worth;
  }

  template <class Made>
  std::vector<std::vector<Index>> written(const Made& made, const NearLinks& links,
                                          std::span<const Index> found) const {
    made.check_sizes(forest_, found);
    std::vector<std::vector<Index>> derivations;
    for (const Index derivation : found) {
      std::vector<Index> edges;
      made.unroll(derivation, [&](Index edge) {
        if (links.link(edge).origin != kNone) edges.push_back(links.link(edge).origin);
      });
      derivations.push_back(in_tail_order(forest_, edges));
    }
    return derivations;
  }

  const Forest& forest_;
  std::span<const Index> said_;
  RankedOptions options_;
  Poll& poll_;
  std::vector<std::unique_ptr<FilledPart>> parts_;
  // bytes of their tables
  std::size_t kept_ = 0;
};

}  // namespace forests

}  // namespace lattices
