// Sentences as evidence: equal ones found, those of paths, and the mass of each in a lattice.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lattices/native/distinct.hpp"
#include "lattices/native/ngrams.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/prefix_tree.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Index;
using lattices::Sentences;

// Words as a string to be hashed and compared.
inline std::string_view bytes_of(std::span<const Index> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

// Which sentence each entry is, numbered as they come, and the first entry of each.
struct DistinctSentences {
  std::vector<Index> sentence, first;
};

inline DistinctSentences distinct_sentences(const Sentences& entries) {
  DistinctSentences found;
  lattices::Strings known;
  found.sentence.reserve(entries.size());
  for (Index entry = 0; entry < entries.size(); ++entry) {
    found.sentence.push_back(known.number(bytes_of(entries.words(entry))));
    if (found.sentence.back() == static_cast<Index>(found.first.size()))
      found.first.push_back(entry);
  }
  return found;
}

// For each sentence, the log of the sum of exp(scale * score) over all its paths; -inf if the
// lattice does not have it.
//
// The sentences stand in a trie, and one pass over the lattice carries, at each state, the mass of
// every prefix that leads there. Cost: O(sum over arcs of the prefixes at their source).
inline std::vector<double> path_masses(const lattices::Lattice& lattice, const Sentences& sentences,
                                       double scale, lattices::Poll& poll) {
  using lattices::Log;
  const auto tree = lattices::prefix_tree(sentences.label, sentences.offset);
  struct Prefix {
    Index node;
    double mass;
  };
  std::vector<std::vector<Prefix>> prefixes(lattice.num_nodes());
  std::vector<Log::Sum> mass(tree.size()), total(tree.size());
  std::vector<char> met(tree.size(), 0);
  for (Index state = lattice.start; state < lattice.num_nodes(); ++state) {
    auto& here = prefixes[state];
    const auto add = [&](Index node, double term) {
      if (!met[node]) {
        met[node] = 1;
        mass[node] = Log::Sum();
        here.push_back({node, 0.0});
      }
      mass[node].add(term);
    };
    if (state == lattice.start) add(0, 0.0);
    for (const Index arc : lattice.incoming(state)) {
      poll();
      const double weight = scale * lattice.score[arc];
      for (const auto& prefix : prefixes[lattice.src[arc]]) {
        Index node = prefix.node;
        if (lattice.label[arc] != 0) {
          node = tree.child(node, lattice.label[arc]);
          if (node < 0) continue;
        }
        add(node, prefix.mass + weight);
      }
    }
    const double final = lattice.final[state];
    for (auto& prefix : here) {
      prefix.mass = mass[prefix.node].value();
      met[prefix.node] = 0;
      if (final > lattices::kMinusInfinity) total[prefix.node].add(prefix.mass + scale * final);
    }
  }
  std::vector<double> found;
  for (const Index node : tree.leaf) found.push_back(total[node].value());
  return found;
}

}  // namespace decoding
