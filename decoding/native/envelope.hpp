// Upper envelopes of the hypotheses of a space along a line of weights.
//
// Along weights + step * direction the score of a hypothesis is a straight line; the envelope of
// many lines is their maximum, made of segments from left to right, by ascending slope. With w(e)
// the line of an edge,
//
//   E(v) = max over edges e into v of  w(e) + sum over tails t of E(t)
//
// The sum of envelopes has a segment wherever one of them turns. A segment points to its edge and
// to a segment of each tail, so that a hypothesis is known by one number. (Macherey et al. 2008 for
// lattices, Kumar et al. 2009 for forests.)
//
// Sums are exact. Slopes and intercepts are rounded once, to multiples of a power of two that is so
// coarse that no sum along a hypothesis needs more than the 53 bits of a double. Parallel lines are
// then parallel, equal lines are equal, whatever the order of the edges, and a step where two lines
// meet is the correctly rounded quotient of two exact differences.
//
// Cost: O(edges times segments of a node); a node has at most as many segments as there are edges
// at and below it, and a few dozen in practice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lattices/native/inside.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/semirings.hpp"
#include "lattices/native/spaces.hpp"

namespace decoding {

using lattices::Index;
using lattices::kMinusInfinity;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The most edges of all hypotheses of an envelope together.
inline constexpr std::int64_t kMostEdges = std::int64_t{1} << 28;

struct Line {
  double intercept = 0.0, slope = 0.0;
};

struct Segment {
  double slope, intercept;
  double left;         // the step where it begins
  Index edge;          // -1 where a hypothesis begins
  Index below;         // where its segments of tails begin among all
  std::int64_t edges;  // how many edges the hypothesis has
};

enum class EnvelopeProblem { None, NoPath, TooLarge, TooManyEdges };

// The envelope of a space: lines from left to right, and the edges and the words of each, those of
// line i from offset[i] up to offset[i + 1].
struct Envelope {
  EnvelopeProblem problem = EnvelopeProblem::None;
  std::vector<double> slope, intercept, left;
  std::vector<Index> edges, edge_offset{0}, words, word_offset{0};
};

// The power of two of whose multiples sums up to `bound` are exact, and differences of two of them.
inline double quantum(double bound) {
  if (bound == 0.0) return 1.0;
  int exponent = 0;
  std::frexp(bound, &exponent);
  return std::ldexp(1.0, std::max(exponent - 51, -1021));
}

// Put a line on the right end of an envelope of smaller slopes. A line that is highest in one point
// only, where others cross, has no segment.
inline void push(std::vector<Segment>& envelope, Segment line) {
  line.left = kMinusInfinity;
  while (!envelope.empty()) {
    const Segment& top = envelope.back();
    line.left = (top.intercept - line.intercept) / (line.slope - top.slope);
    if (line.left > top.left) break;
    envelope.pop_back();
    line.left = kMinusInfinity;
  }
  if (line.left < kInfinity) envelope.push_back(line);
}

// The maximum of two envelopes; of equal lines the first one's.
inline void merge(std::span<const Segment> one, std::span<const Segment> other,
                  std::vector<Segment>& result) {
  result.clear();
  std::size_t left = 0, right = 0;
  while (left < one.size() || right < other.size()) {
    bool first =
        right == other.size() || (left < one.size() && one[left].slope <= other[right].slope);
    if (first && right < other.size() && one[left].slope == other[right].slope) {
      if (one[left].intercept < other[right].intercept) {
        first = false;
        ++left;
      } else {
        ++right;
      }
    }
    push(result, first ? one[left++] : other[right++]);
  }
}

template <lattices::Graph G>
class EnvelopeSearch {
 public:
  // `lines` has a row for each edge; of a lattice, then one for each state, the lines of ends.
  EnvelopeSearch(const G& graph, std::span<const Line> lines) : graph_(graph) {
    lines_.assign(lines.begin(), lines.end());
  }

  Envelope run(lattices::Poll& poll) {
    Envelope found;
    found.problem = round();
    if (found.problem != EnvelopeProblem::None) return found;
    begin_.assign(graph_.num_nodes() + 1, 0);
    for (Index node = 0; node < graph_.num_nodes(); ++node) {
      best_.clear();
      below_here_.clear();
      if (graph_.begins(node)) best_.push_back({0.0, 0.0, kMinusInfinity, -1, 0, 0});
      for (const Index edge : graph_.incoming(node)) {
        poll(best_.size());
        add(edge);
      }
      keep(node);
    }
    finish(found);
    return found;
  }

 private:
  static constexpr bool kLattice = std::is_base_of_v<lattices::Lattice, G>;

  // Round lines so that sums are exact, or say that they would overflow.
  EnvelopeProblem round() {
    const Index edges = graph_.num_edges();
    double units[2];
    for (const int side : {0, 1}) {
      const auto part = [side](const Line& line) {
        return side == 0 ? line.intercept : line.slope;
      };
      std::vector<double> weight(edges);
      for (Index edge = 0; edge < edges; ++edge) weight[edge] = std::abs(part(lines_[edge]));
      const auto most = lattices::inside_scores<lattices::Viterbi>(graph_, weight);
      double bound = kMinusInfinity;
      if constexpr (kLattice) {
        for (Index state = 0; state < graph_.num_nodes(); ++state) {
          if (graph_.final[state] == kMinusInfinity) continue;
          bound = std::max(bound, most[state] + std::abs(part(lines_[edges + state])));
        }
      } else {
        bound = most[graph_.root];
      }
      if (bound == kMinusInfinity) return EnvelopeProblem::NoPath;
      if (!(bound < 1e300)) return EnvelopeProblem::TooLarge;
      units[side] = quantum(bound);
    }
    for (Line& line : lines_) {
      line.intercept = std::rint(line.intercept / units[0]) * units[0];
      line.slope = std::rint(line.slope / units[1]) * units[1];
    }
    return EnvelopeProblem::None;
  }

  std::span<const Segment> segments(Index node) const {
    return std::span(pool_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }

  // Merge the hypotheses of an edge into those of its head.
  void add(Index edge) {
    const auto tails = graph_.tails(edge);
    fresh_.clear();
    if (tails.size() == 1) {
      // a shifted envelope turns where it turned before
      Index at = begin_[tails[0]];
      for (const Segment& each : segments(tails[0])) {
        fresh_.push_back({each.slope + lines_[edge].slope, each.intercept + lines_[edge].intercept,
                          each.left, edge, static_cast<Index>(below_here_.size()), each.edges + 1});
        below_here_.push_back(at++);
      }
    } else {
      sum(edge, tails);
    }
    if (fresh_.empty()) return;
    if (best_.empty()) {
      best_.swap(fresh_);
    } else {
      merge(best_, fresh_, spare_);
      best_.swap(spare_);
    }
  }

  // The sum of several envelopes: from the left, each turns where the next of them does.
  void sum(Index edge, std::span<const Index> tails) {
    at_.clear();
    for (const Index tail : tails) {
      if (segments(tail).empty()) return;
      at_.push_back(begin_[tail]);
    }
    double left = kMinusInfinity;
    while (true) {
      Segment total{lines_[edge].slope,
                    lines_[edge].intercept,
                    left,
                    edge,
                    static_cast<Index>(below_here_.size()),
                    1};
      for (const Index each : at_) {
        total.slope += pool_[each].slope;
        total.intercept += pool_[each].intercept;
        total.edges += pool_[each].edges;
        below_here_.push_back(each);
      }
      total.edges = std::min(total.edges, kMostEdges + 1);
      fresh_.push_back(total);
      left = kInfinity;
      for (std::size_t place = 0; place < tails.size(); ++place) {
        if (at_[place] + 1 < begin_[tails[place] + 1]) {
          left = std::min(left, pool_[at_[place] + 1].left);
        }
      }
      if (left == kInfinity) return;
      for (std::size_t place = 0; place < tails.size(); ++place) {
        if (at_[place] + 1 < begin_[tails[place] + 1] && pool_[at_[place] + 1].left == left) {
          ++at_[place];
        }
      }
    }
  }

  // Keep the envelope of a node, and of the segments below it those that it uses.
  void keep(Index node) {
    for (Segment segment : best_) {
      const Index from = segment.below;
      segment.below = static_cast<Index>(below_.size());
      if (segment.edge >= 0) {
        const auto arity = graph_.tails(segment.edge).size();
        below_.insert(below_.end(), below_here_.begin() + from,
                      below_here_.begin() + from + static_cast<std::ptrdiff_t>(arity));
      }
      pool_.push_back(segment);
    }
    begin_[node + 1] = static_cast<Index>(pool_.size());
  }

  // Complete the hypotheses, and write their edges and words out.
  void finish(Envelope& found) {
    best_.clear();
    if constexpr (kLattice) {
      for (Index state = 0; state < graph_.num_nodes(); ++state) {
        if (graph_.final[state] == kMinusInfinity || segments(state).empty()) continue;
        const Line& end = lines_[graph_.num_edges() + state];
        fresh_.clear();
        for (Segment each : segments(state)) {
          each.slope += end.slope;
          each.intercept += end.intercept;
          fresh_.push_back(each);
        }
        merge(best_, fresh_, spare_);
        best_.swap(spare_);
      }
    } else {
      const auto root = segments(graph_.root);
      best_.assign(root.begin(), root.end());
    }
    std::int64_t edges = 0;
    for (const Segment& each : best_) edges += each.edges;
    if (edges > kMostEdges) {
      found.problem = EnvelopeProblem::TooManyEdges;
      return;
    }
    for (const Segment& each : best_) {
      found.slope.push_back(each.slope);
      found.intercept.push_back(each.intercept);
      found.left.push_back(each.left);
      write(each, found);
      found.edge_offset.push_back(static_cast<Index>(found.edges.size()));
      found.word_offset.push_back(static_cast<Index>(found.words.size()));
    }
  }

  void write(const Segment& last, Envelope& found) {
    if constexpr (kLattice) {
      const auto first_edge = static_cast<std::ptrdiff_t>(found.edges.size());
      const auto first_word = static_cast<std::ptrdiff_t>(found.words.size());
      for (const Segment* at = &last; at->edge >= 0; at = &pool_[below_[at->below]]) {
        found.edges.push_back(at->edge);
        if (graph_.label[at->edge] != 0) found.words.push_back(graph_.label[at->edge]);
      }
      std::reverse(found.edges.begin() + first_edge, found.edges.end());
      std::reverse(found.words.begin() + first_word, found.words.end());
    } else {
      // edges from the top down, the derivation of the first tail before that of the second; words
      // in the order of target sides
      std::vector<const Segment*> waiting{&last};
      while (!waiting.empty()) {
        const Segment& at = *waiting.back();
        waiting.pop_back();
        found.edges.push_back(at.edge);
        for (std::size_t slot = graph_.tails(at.edge).size(); slot-- > 0;) {
          waiting.push_back(&pool_[below_[at.below + slot]]);
        }
      }
      std::vector<std::pair<const Segment*, std::size_t>> open{{&last, 0}};
      while (!open.empty()) {
        auto& [at, place] = open.back();
        const auto symbols = graph_.symbols(at->edge);
        if (place == symbols.size()) {
          open.pop_back();
          continue;
        }
        const Index symbol = symbols[place++];
        if (symbol > 0) {
          found.words.push_back(symbol);
        } else {
          open.emplace_back(&pool_[below_[at->below - 1 - symbol]], 0);
        }
      }
    }
  }

  const G& graph_;
  std::vector<Line> lines_;
  // all segments, node by node; those of node v from begin_[v] up to begin_[v + 1]
  std::vector<Segment> pool_;
  std::vector<Index> begin_, below_;
  // of the node under way
  std::vector<Segment> best_, fresh_, spare_;
  std::vector<Index> below_here_, at_;
};

// The envelope of the entries of a list; of equal lines the first entry's. An entry is an edge of
// its own.
inline Envelope list_envelope(std::span<const Line> lines, std::span<const Index> label,
                              std::span<const Index> offset) {
  std::vector<Index> order(lines.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index one, Index other) {
    return lines[one].slope != lines[other].slope ? lines[one].slope < lines[other].slope
                                                  : lines[one].intercept > lines[other].intercept;
  });
  std::vector<Segment> best;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const Line& line = lines[order[at]];
    // of parallel lines the highest comes first
    if (at > 0 && line.slope == lines[order[at - 1]].slope) continue;
    push(best, {line.slope, line.intercept, 0.0, order[at], 0, 1});
  }
  Envelope found;
  for (const Segment& each : best) {
    found.slope.push_back(each.slope);
    found.intercept.push_back(each.intercept);
    found.left.push_back(each.left);
    found.edges.push_back(each.edge);
    found.edge_offset.push_back(static_cast<Index>(found.edges.size()));
    found.words.insert(found.words.end(), label.begin() + offset[each.edge],
                       label.begin() + offset[each.edge + 1]);
    found.word_offset.push_back(static_cast<Index>(found.words.size()));
  }
  return found;
}

}  // namespace decoding
