// Sentences as evidence: equal ones found, those of paths, and the mass of each in a lattice.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lattices/native/distinct.hpp"
#include "lattices/native/ngrams.hpp"
#include "lattices/native/paths.hpp"
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

// The words of complete paths, and their scores, added up from the end as everywhere.
struct PathSentences {
  std::vector<Index> label, offset{0};
  std::vector<double> score;
};

inline PathSentences path_sentences(const lattices::Lattice& lattice, const Sentences& paths) {
  PathSentences found;
  found.label.reserve(paths.label.size());
  for (Index path = 0; path < paths.size(); ++path) {
    const auto arcs = paths.words(path);
    append_words(lattice, arcs, found.label);
    double score = lattice.final[lattice.last(arcs)];
    for (std::size_t at = arcs.size(); at-- > 0;) score += lattice.score[arcs[at]];
    found.offset.push_back(static_cast<Index>(found.label.size()));
    found.score.push_back(score);
  }
  return found;
}

// The sums of features over complete paths and their ends, as rows of a sparse matrix, without
// zeros.
struct PathFeatures {
  std::vector<double> value;
  std::vector<Index> column, bounds{0};
};

inline PathFeatures path_features(const lattices::Lattice& lattice,
                                  const lattices::Features& features, std::size_t width,
                                  const Sentences& paths) {
  PathFeatures found;
  lattices::FeatureSums sums(width);
  for (Index path = 0; path < paths.size(); ++path) {
    sums.add_path(features, lattice, paths.words(path));
    sums.take([&](Index column, double sum) {
      found.column.push_back(column);
      found.value.push_back(sum);
    });
    found.bounds.push_back(static_cast<Index>(found.value.size()));
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
