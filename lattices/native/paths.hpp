// The words, scores and features of given paths and derivations.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "lattices/native/totals.hpp"

namespace lattices {

// A sparse matrix, one row an edge or a state.
struct FeatureRows {
  std::span<const Index> bounds, columns;
  std::span<const double> values;

  Index num_rows() const { return static_cast<Index>(bounds.size()) - 1; }
};

// The features of a space: of arcs or edges, and of final states.
struct Features {
  FeatureRows edges, ends;
};

// Sums of rows over a path. Only the columns that were touched are looked at again.
class FeatureSums {
 public:
  explicit FeatureSums(std::size_t width) : sums_(width), touched_(width) {}

  // Have at least so many columns.
  void widen(std::size_t width) {
    if (width <= sums_.size()) return;
    sums_.resize(width);
    touched_.resize(width);
  }

  void add(const FeatureRows& rows, Index row) {
    for (Index at = rows.bounds[row]; at < rows.bounds[row + 1]; ++at) {
      const Index column = rows.columns[at];
      if (!touched_[column]) {
        touched_[column] = 1;
        columns_.push_back(column);
      }
      sums_[column] += rows.values[at];
    }
  }

  // The rows of a path or derivation, and of its end.
  void add_path(const Features& features, const Lattice& lattice, std::span<const Index> arcs) {
    for (const Index arc : arcs) add(features.edges, arc);
    if (features.ends.num_rows() > 0) add(features.ends, lattice.last(arcs));
  }
  void add_path(const Features& features, const Forest&, std::span<const Index> edges) {
    for (const Index edge : edges) add(features.edges, edge);
  }

  // Call use(column, sum) for the sums that are not zero, in the order of the columns; begin anew.
  template <class Use>
  void take(Use&& use) {
    std::ranges::sort(columns_);
    for (const Index column : columns_) {
      if (sums_[column] != 0.0) use(column, sums_[column]);
      sums_[column] = 0.0;
      touched_[column] = 0;
    }
    columns_.clear();
  }

 private:
  std::vector<double> sums_;
  std::vector<char> touched_;
  std::vector<Index> columns_;
};

template <class Space>
void check_score(const Space& space, double score) {
  if (!std::isfinite(score)) {
    throw overflow(space, "those of a path add up to " + spelled(score));
  }
}

// Reads complete paths of a lattice, one after the other.
class PathReader {
 public:
  explicit PathReader(const Lattice& lattice) : lattice_(lattice) {}

  // Fill in the words, epsilons left out; return the score, folded from the end as the searches
  // do it: what they report is what they compared.
  double read(std::span<const Index> arcs, std::vector<Index>& words) {
    Index state = lattice_.start;
    words.clear();
    for (const Index arc : arcs) {
      if (arc < 0 || arc >= lattice_.num_edges()) throw no_such_arc();
      if (lattice_.src[arc] != state) {
        throw space_error("the arcs are not a path from the start state");
      }
      state = lattice_.dst[arc];
      if (lattice_.label[arc] != 0) words.push_back(lattice_.label[arc]);
    }
    double score = lattice_.final[state];
    if (score == kMinusInfinity) {
      throw space_error("the path ends in state " + std::to_string(state) + ", which is not final");
    }
    for (std::size_t step = arcs.size(); step-- > 0;) score += lattice_.score[arcs[step]];
    check_score(lattice_, score);
    return score;
  }

  Error no_such_arc() const {
    return space_error("a path names an arc that is not one of 0.." +
                       std::to_string(lattice_.num_edges() - 1));
  }

 private:
  const Lattice& lattice_;
};

// Reads derivations of a forest, one after the other: edges from the top down, left to right.
class DerivationReader {
 public:
  explicit DerivationReader(const Forest& forest) : forest_(forest) {}

  // Fill in the words; return the score: of an edge with what is below it, its own plus those of
  // its tails, from the first to the last.
  double read(std::span<const Index> edges, std::vector<Index>& words) {
    check(edges);
    const double score = add_up(edges);
    spell(edges, words);
    check_score(forest_, score);
    return score;
  }

 private:
  void check(std::span<const Index> edges) {
    wanted_.assign(1, forest_.root);
    for (const Index edge : edges) {
      if (wanted_.empty()) throw space_error("more edges than a derivation of the root has");
      const Index node = wanted_.back();
      wanted_.pop_back();
      if (edge < 0 || edge >= forest_.num_edges() || forest_.head[edge] != node) {
        throw space_error("edge " + std::to_string(edge) + " where one with the head " +
                          std::to_string(node) + " is needed");
      }
      const auto tails = forest_.tails(edge);
      wanted_.insert(wanted_.end(), tails.rbegin(), tails.rend());
    }
    if (!wanted_.empty()) throw space_error("fewer edges than a derivation of the root has");
  }

  // Find the places of the edges below each edge; from the last edge to the first, they are on the
  // stack when the edge comes.
  double add_up(std::span<const Index> edges) {
    part_.resize(edges.size());
    child_offset_.resize(edges.size());
    child_.clear();
    wanted_.clear();
    for (std::size_t place = edges.size(); place-- > 0;) {
      child_offset_[place] = child_.size();
      double score = forest_.score[edges[place]];
      for (std::size_t tail = forest_.tails(edges[place]).size(); tail > 0; --tail) {
        child_.push_back(wanted_.back());
        score += part_[wanted_.back()];
        wanted_.pop_back();
      }
      part_[place] = score;
      wanted_.push_back(static_cast<Index>(place));
    }
    return part_[0];
  }

  void spell(std::span<const Index> edges, std::vector<Index>& words) {
    words.clear();
    open_.assign(1, {0, 0});
    while (!open_.empty()) {
      auto& [place, at] = open_.back();
      const auto side = forest_.symbols(edges[place]);
      if (at == side.size()) {
        open_.pop_back();
        continue;
      }
      const Index symbol = side[at++];
      if (symbol > 0) {
        words.push_back(symbol);
        check_unfolded(forest_, static_cast<double>(words.size()));
      } else {
        open_.push_back({child_[child_offset_[place] - 1 - symbol], 0});
      }
    }
  }

  struct Open {
    Index place;
    std::size_t at;
  };
  const Forest& forest_;
  std::vector<Index> wanted_, child_;
  std::vector<std::size_t> child_offset_;
  std::vector<double> part_;
  std::vector<Open> open_;
};

}  // namespace lattices
