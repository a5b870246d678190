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
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lattices/native/forest_near.hpp"
#include "lattices/native/forest_search.hpp"
#include "lattices/native/kbest.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// A derivation whose tails stand in the order of the target sides, or in that order from right to
// left, in the order of the tails.
inline std::vector<Index> in_tail_order(const Forest& forest, std::span<const Index> edges,
                                        bool mirrored) {
  // the places of the edges below each, by tail; edges below stand behind, so from the last
  std::vector<Index> child, child_offset(edges.size()), stack;
  for (std::size_t place = edges.size(); place-- > 0;) {
    const Index edge = edges[place];
    const auto symbols = forest.symbols(edge);
    const std::size_t first = child.size();
    child_offset[place] = static_cast<Index>(first);
    child.resize(first + forest.tails(edge).size());
    for (std::size_t at = 0; at < symbols.size(); ++at) {
      const Index symbol = symbols[mirrored ? symbols.size() - 1 - at : at];
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

// What the symbols of a forest of characters say: the words of the forest that it was made of, each
// in the place of one of its characters, 0 in the places of the others, and tails as they are.
inline std::vector<Index> words_said(const Forest& characters, const Forest& words,
                                     std::span<const Index> origin) {
  std::vector<Index> said(characters.symbol.size());
  for (Index edge = 0; edge < characters.num_edges(); ++edge) {
    const auto spoken = words.symbols(origin[edge]);
    auto next = spoken.begin();
    for (Index at = characters.symbol_offset[edge]; at < characters.symbol_offset[edge + 1]; ++at) {
      if (characters.symbol[at] < 0) {
        said[at] = characters.symbol[at];
        ++next;
      } else if (next != spoken.end() && *next > 0) {
        // words have at least one character
        said[at] = *next++;
      }
    }
  }
  return said;
}

namespace forests {

// One part of a machine with its tables, all filled.
class NearPart {
 public:
  virtual ~NearPart() = default;
  // Add all that gains at least `bound` to a product; returns its node and whether that is all.
  virtual std::pair<Index, bool> find(double bound, NearProduct& product, Poll& poll) = 0;

  double denominator = 1.0;
  // what turns the numbers of the tables into gains, and the best of them
  double shift = 0.0, top = kMinusInfinity;
  std::size_t cells = 0;

  double value() const { return (top + shift) / denominator; }
};

template <class Real>
class NearTables : public NearPart {
 public:
  NearTables(const Forest& forest, std::span<const Index> said, const Part& part, Index number,
             double model_weight, std::size_t most_cells, Poll& poll)
      : said_(said),
        number_(number),
        bias_(weighted(forest, model_weight * part.denominator)),
        tables_(forest, *part.alignment, bias_, poll) {
    cells = tables_.cells();
    if (cells > most_cells) return;
    denominator = part.denominator;
    shift = part.bonus - part.alignment->length * part.alignment->deletion;
    tables_.fill(poll);
    top = static_cast<double>(tables_.top());
  }

  std::pair<Index, bool> find(double bound, NearProduct& product, Poll& poll) override {
    NearSearch<Real> search(tables_, said_, number_, product, poll);
    const Index root = search.find(bound);
    return {root, !search.cut()};
  }

 private:
  static std::vector<double> weighted(const Forest& forest, double weight) {
    std::vector<double> bias;
    if (weight == 0.0) return bias;
    for (const double score : forest.score) bias.push_back(weight * score);
    return bias;
  }

  std::span<const Index> said_;
  Index number_;
  std::vector<double> bias_;
  Tables<Real> tables_;
};

// What the links of a product gain; those of one part have its denominator.
struct NearGains {
  const NearProduct& product;
  std::span<const std::unique_ptr<NearPart>> parts;

  double gain(Index edge) const { return product.link(edge).gain; }
  double in_values(Index edge, double gain) const {
    return gain / parts[product.link(edge).part]->denominator;
  }
};

struct RankedOptions {
  double model_weight = 0.0;
  std::size_t k = 1, most_cells = 0, most_links = 0;
};

struct RankedSentences {
  enum class Status { Found, TooLarge, TooManyLinks, TooLong } status = Status::Found;
  std::vector<std::vector<Index>> derivations;
  // how much less than the best was looked for, each time, and whether that was all there is
  std::vector<std::pair<double, bool>> tries;
  // of the tables that are too large
  Index part = kNone;
  std::size_t cells = 0;
};

class RankedSearch {
 public:
  RankedSearch(const Forest& forest, std::span<const Index> said, const RankedOptions& options,
               Poll& poll)
      : forest_(forest), said_(said), options_(options), poll_(poll) {}

  RankedSentences find(std::span<const Part> parts) {
    RankedSentences result;
    const double longest = longest_sentence(forest_);
    // how much the first step down is, if the best sentences are too few
    double step = 1e-6, best = kMinusInfinity;
    for (const Part& part : parts) {
      fill(part, longest);
      if (parts_.back()->cells > options_.most_cells) {
        result.status = RankedSentences::Status::TooLarge;
        result.part = static_cast<Index>(parts_.size()) - 1;
        result.cells = parts_.back()->cells;
        return result;
      }
      step = std::max(step, part.alignment->heaviest / part.denominator);
      best = std::max(best, parts_.back()->value());
    }
    double slack = 0.0;
    for (;;) {
      bool whole = false;
      const auto found = rank(best - slack, whole, result);
      result.tries.emplace_back(slack, whole);
      if (whole || result.status != RankedSentences::Status::Found) return result;
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

 private:
  void fill(const Part& part, double longest) {
    const auto number = static_cast<Index>(parts_.size());
    const auto make = [&](auto real) {
      parts_.push_back(std::make_unique<NearTables<decltype(real)>>(
          forest_, said_, part, number, options_.model_weight, options_.most_cells, poll_));
    };
    if (options_.model_weight == 0.0 && fits_single(*part.alignment, longest)) {
      make(float{});
    } else {
      make(double{});
    }
  }

  // Rank what reaches a value; returns the values of what was found.
  std::vector<double> rank(double least, bool& whole, RankedSentences& result) {
    // how far, in relation to the best, rounding may move a value
    constexpr double kRounding = 1e-9;
    NearProduct product(options_.most_links);
    const Index root = product.new_node();
    product.place(root);
    whole = true;
    try {
      for (std::size_t number = 0; number < parts_.size(); ++number) {
        NearPart& part = *parts_[number];
        double bound = least * part.denominator - part.shift;
        bound -= kRounding * std::max({1.0, std::abs(part.top), std::abs(bound)});
        if (part.top < bound) {
          whole = false;
          continue;
        }
        const auto [top, all] = part.find(bound, product, poll_);
        whole = whole && all;
        NearProduct::Link link;
        link.gain = part.shift;
        link.head = root;
        link.tail[0] = top;
        link.part = static_cast<Index>(number);
        product.add(link);
      }
    } catch (const TooManyLinks&) {
      result.status = RankedSentences::Status::TooManyLinks;
      return {};
    }
    product.finish();
    const ByMerit<NearProduct, NearGains> ranking{
        product, {product, parts_}, 1.0, options_.model_weight};
    LazyKBest<NearProduct, decltype(ranking), OneForEachSentence> search(product, ranking, poll_);
    const std::vector<Index> found = search.best(root, options_.k);
    write(search.made(), product, found, result);
    std::vector<double> worth;
    for (const Index derivation : found) worth.push_back(search.made().value(derivation).worth);
    return worth;
  }

  template <class Made>
  void write(const Made& made, const NearProduct& product, std::span<const Index> found,
             RankedSentences& result) const {
    result.derivations.clear();
    const std::vector<double> sizes = made.sizes();
    double total = 0.0;
    for (const Index derivation : found) total += sizes[derivation];
    if (total > std::numeric_limits<Index>::max()) {
      result.status = RankedSentences::Status::TooLong;
      return;
    }
    for (const Index derivation : found) {
      std::vector<Index> edges;
      made.unroll(derivation, [&](Index edge) {
        if (product.link(edge).origin != kNone) edges.push_back(product.link(edge).origin);
      });
      result.derivations.push_back(in_tail_order(forest_, edges, false));
    }
  }

  const Forest& forest_;
  std::span<const Index> said_;
  RankedOptions options_;
  Poll& poll_;
  std::vector<std::unique_ptr<NearPart>> parts_;
};

}  // namespace forests

}  // namespace lattices
