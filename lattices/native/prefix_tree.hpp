// The tree of the prefixes of several sentences.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <span>
#include <vector>

#include "lattices/native/interning.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// Node 0 is the empty prefix; each other one is its parent, which has a lower number, and a word.
struct PrefixTree {
  std::vector<Index> parent{-1}, word{-1};
  std::vector<Index> leaf;                                   // the node of each sentence
  tsl::robin_map<std::uint64_t, Index, MixedHash> children;  // by pair_key of a node and a word

  Index size() const { return static_cast<Index>(parent.size()); }
  // A prefix and one more word; -1 if no sentence begins so.
  Index child(Index node, Index next) const {
    const auto found = children.find(pair_key(node, next));
    return found == children.end() ? -1 : found->second;
  }
};

// Sentence i is label[offset[i]] up to label[offset[i + 1]]. Cost: O(words).
inline PrefixTree prefix_tree(std::span<const Index> label, std::span<const Index> offset) {
  PrefixTree tree;
  tree.children.reserve(label.size());
  tree.leaf.reserve(offset.size() - 1);
  for (std::size_t sentence = 0; sentence + 1 < offset.size(); ++sentence) {
    Index node = 0;
    for (Index place = offset[sentence]; place < offset[sentence + 1]; ++place) {
      const auto [at, fresh] = tree.children.try_emplace(pair_key(node, label[place]), tree.size());
      if (fresh) {
        tree.parent.push_back(node);
        tree.word.push_back(label[place]);
      }
      node = at->second;
    }
    tree.leaf.push_back(node);
  }
  return tree;
}

}  // namespace lattices
