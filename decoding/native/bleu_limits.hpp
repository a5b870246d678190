// What the sentences of a space may have at most: words, and n-grams of references.
//
// `classes` has the class of the word of each arc or symbol, negative where there is none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "decoding/native/clipping.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Forest;
using lattices::Lattice;

// Call use(class) for the words of an arc or edge.
template <class Use>
void for_words(const Lattice&, std::span<const Index> classes, Index arc, Use&& use) {
  if (classes[arc] >= 0) use(classes[arc]);
}
template <class Use>
void for_words(const Forest& forest, std::span<const Index> classes, Index edge, Use&& use) {
  for (auto at = forest.symbol_offset[edge]; at < forest.symbol_offset[edge + 1]; ++at) {
    if (classes[at] >= 0) use(classes[at]);
  }
}
inline bool ends(const Lattice& lattice, Index state) { return !std::isinf(lattice.final[state]); }
inline bool ends(const Forest& forest, Index node) { return node == forest.root; }

// The fewest and the most words of a sentence, neither counted beyond a limit.
template <class Space>
std::pair<Index, Index> lengths_of(const Space& space, std::span<const Index> classes,
                                   Index limit) {
  constexpr Index kNone = std::numeric_limits<Index>::max();
  std::vector<std::pair<Index, Index>> range(space.num_nodes(), {kNone, -1});
  Index shortest = kNone, longest = -1;
  for (Index node = 0; node < space.num_nodes(); ++node) {
    auto& [low, high] = range[node];
    if (space.begins(node)) low = high = 0;
    for (const Index edge : space.incoming(node)) {
      Index least = 0;
      for_words(space, classes, edge, [&](Index) { ++least; });
      Index most = least;
      bool reached = true;
      for (const Index tail : space.tails(edge)) {
        reached &= range[tail].second >= 0;
        if (!reached) break;
        least = std::min(least + range[tail].first, limit);
        most = std::min(most + range[tail].second, limit);
      }
      if (!reached) continue;
      low = std::min(low, least);
      high = std::max(high, most);
    }
    if (!ends(space, node) || high < 0) continue;
    shortest = std::min(shortest, low);
    longest = std::max(longest, high);
  }
  return {shortest, longest};
}

// Whether an n-gram may occur more often than its limit: by the most that a sentence has of each
// of its words.
template <class Space>
std::vector<char> might_exceed(const Space& space, const ReferenceNgrams& grams,
                               std::span<const Index> classes) {
  const std::size_t width = grams.classes();
  std::vector<Index> most(space.num_nodes() * width, -1), total(width, -1), sum(width);
  for (Index node = 0; node < space.num_nodes(); ++node) {
    const auto at = most.begin() + node * width;
    if (space.begins(node)) std::fill(at, at + width, 0);
    for (const Index edge : space.incoming(node)) {
      std::ranges::fill(sum, 0);
      bool reached = true;
      for (const Index tail : space.tails(edge)) {
        const auto from = most.begin() + tail * width;
        reached &= *from >= 0;
        for (std::size_t c = 0; c < width; ++c) sum[c] += from[c];
      }
      if (!reached) continue;
      for_words(space, classes, edge, [&](Index word_class) { ++sum[word_class]; });
      for (std::size_t c = 0; c < width; ++c) at[c] = std::max(at[c], sum[c]);
    }
    for (std::size_t c = 0; c < width; ++c) total[c] = std::max(total[c], at[c]);
  }
  std::vector<char> exceeded(grams.size(), 0);
  for (std::size_t gram = 1; gram < grams.size(); ++gram) {
    exceeded[gram] = 1;
    for (auto at = static_cast<Index>(gram); at != 0; at = grams[at].prefix) {
      exceeded[gram] &= total[grams[at].last] > grams[static_cast<Index>(gram)].limit;
    }
  }
  return exceeded;
}
}  // namespace decoding
