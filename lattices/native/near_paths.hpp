// Paths of a lattice under a machine that are near the best, as a graph whose derivations are
// their suffixes (kbest.hpp). Made from the ends, so that an edge leads to a node of lower number.
#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/spaces.hpp"
#include "lattices/native/spelling.hpp"

namespace lattices {

class NearPaths {
 public:
  // Edges that begin at one cell are a list.
  struct Step {
    double gain, score;
    // the arc of the lattice, if it takes one; the node it leads to, kNone where a path ends
    Index arc, tail, next;
  };
  using Edge = Index;
  static constexpr bool linear = true;

  // The words are what the arcs of the lattice say; edges and nodes may take so many bytes.
  NearPaths(std::span<const Index> word, std::size_t memory)
      : word_(word), memory_(memory), most_(memory / (2 * kBytes)) {}

  Index add(const Step& step) {
    // vectors grow to twice their size
    if (steps_.size() >= most_) {
      throw too_large(std::to_string(steps_.size()) + " steps of paths that are near the best",
                      2.0 * kBytes * static_cast<double>(steps_.size()), memory_);
    }
    check_size(steps_.size(), "steps of paths");
    steps_.push_back(step);
    return static_cast<Index>(steps_.size()) - 1;
  }
  // A node that has all its edges, given the first of them.
  Index close(Index first) {
    first_.push_back(first);
    return num_nodes() - 1;
  }
  // Let paths begin at a node.
  void begin(double gain, Index node) { start_ = add({gain, 0.0, kNone, node, start_}); }
  // The node where all paths begin, kNone if there are none.
  Index root() { return start_ == kNone ? kNone : close(start_); }

  std::size_t num_steps() const { return steps_.size(); }
  double bytes() const { return 2.0 * kBytes * static_cast<double>(steps_.size()); }

  // of a graph, see Derivable
  Index num_nodes() const { return static_cast<Index>(first_.size()); }
  auto bottom_up() const { return std::views::iota(Index{0}, num_nodes()); }
  template <class Visit>
  void visit(Index node, Visit&& found) const {
    for (Index edge = first_[node]; edge != kNone; edge = steps_[edge].next) found(edge);
  }
  std::span<const Index> tails(const Edge& edge) const {
    const Index& tail = steps_[edge].tail;
    return {&tail, tail == kNone ? std::size_t{0} : std::size_t{1}};
  }
  Index arc(Edge edge) const { return steps_[edge].arc; }
  double gain(Edge edge) const { return steps_[edge].gain; }
  Index word_of(const Edge& edge) const { return arc(edge) == kNone ? 0 : word_[arc(edge)]; }
  double weight(const Edge& edge) const { return steps_[edge].score; }

 private:
  // of a step, and of a node, which has one
  static constexpr std::size_t kBytes = sizeof(Step) + sizeof(Index);

  std::span<const Index> word_;
  std::size_t memory_, most_;
  std::vector<Step> steps_;
  std::vector<Index> first_;
  Index start_ = kNone;
};

}  // namespace lattices
