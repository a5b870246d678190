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
// A state of a lattice with one arc into it has the envelope of the state before, moved by the line
// of the arc. No envelope is kept for it, only how far it is moved from the last state that has one
// (its anchor): seven states of eight, in lattices of phrases.
//
// Sums are exact. Slopes and intercepts are rounded once, to multiples of a power of two that is so
// coarse that no sum along a hypothesis needs more than the 53 bits of a double. Parallel lines are
// then parallel, equal lines are equal, whatever the order of the edges, and a step where two lines
// meet is the correctly rounded quotient of two exact differences.
//
// Cost: O(edges times segments of a node); a node has at most as many segments as there are edges
// at and below it, and a few dozen in practice.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lattices/native/interning.hpp"
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

// Put a line on the right end of an envelope of smaller slopes; tell whether it is there. A line
// that is highest in one point only, where others cross, has no segment. If the line on the right
// end is the one before it in an envelope that both come from (`follows`), the step where they
// cross is known.
inline bool push(std::vector<Segment>& envelope, Segment line, bool follows = false) {
  if (follows && line.left > envelope.back().left) {
    envelope.push_back(line);
    return true;
  }
  line.left = kMinusInfinity;
  while (!envelope.empty()) {
    const Segment& top = envelope.back();
    line.left = (top.intercept - line.intercept) / (line.slope - top.slope);
    if (line.left > top.left) break;
    envelope.pop_back();
    line.left = kMinusInfinity;
  }
  if (line.left == kInfinity) return false;
  envelope.push_back(line);
  return true;
}

// The maximum of two envelopes; of equal lines the first one's. `moved(i)` is segment i of `other`
// ones.
template <class Moved>
void merge(std::span<const Segment> one, std::size_t other, const Moved& moved,
           std::vector<Segment>& result) {
  result.clear();
  std::size_t left = 0, right = 0;
  Segment next = moved(0);
  // which of the two the right end is from, if the next line of that one follows it
  int run = 0;
  const auto skip = [&](int side) {
    if (run == side) run = 0;
    if (side == 1) {
      ++left;
    } else if (++right < other) {
      next = moved(right);
    }
  };
  while (left < one.size() || right < other) {
    int side = right == other || (left < one.size() && one[left].slope <= next.slope) ? 1 : 2;
    if (side == 1 && right < other && one[left].slope == next.slope) {
      if (one[left].intercept < next.intercept) {
        skip(1);
        side = 2;
      } else {
        skip(2);
      }
    }
    const bool kept = push(result, side == 1 ? one[left] : next, run == side);
    run = kept ? side : 0;
    if (side == 1) {
      ++left;
    } else if (++right < other) {
      next = moved(right);
    }
  }
}

template <lattices::Graph G>
class EnvelopeSearch {
 public:
  // `lines` has a row for each edge; of a lattice, then one for each state, the lines of ends.
  EnvelopeSearch(const G& graph, std::vector<Line> lines)
      : graph_(graph), lines_(std::move(lines)) {}

  Envelope run(lattices::Poll& poll) {
    Envelope found;
    found.problem = round();
    if (found.problem != EnvelopeProblem::None) return found;
    begin_.assign(graph_.num_nodes() + 1, 0);
    if constexpr (kLattice) chains_.resize(graph_.num_nodes());
    for (Index node = 0; node < graph_.num_nodes(); ++node) {
      if constexpr (kLattice) {
        if (const Index arc = only_arc(node); arc >= 0) {
          chains_[node] = chains_[graph_.src[arc]].longer(lines_[arc]);
          begin_[node + 1] = begin_[node];
          continue;
        }
        chains_[node] = {node, 0, {}};
      }
      best_.clear();
      below_here_.clear();
      if (graph_.begins(node)) best_.push_back({0.0, 0.0, kMinusInfinity, -1, 0, 0});
      for (const Index edge : graph_.incoming(node)) {
        poll(best_.size());
        if constexpr (kLattice) {
          add(edge, graph_.src[edge], lines_[edge]);
        } else {
          add(edge);
        }
      }
      keep(node);
    }
    finish(found);
    return found;
  }

 private:
  static constexpr bool kLattice = std::is_base_of_v<lattices::Lattice, G>;

  // The state that a chain of arcs, each the only one into its state, leads from, and how many arcs
  // it has and their line.
  struct Chain {
    Index anchor = 0, length = 0;
    Line line;

    Chain longer(const Line& by) const {
      return {anchor, length + 1, {line.intercept + by.intercept, line.slope + by.slope}};
    }
  };

  // The only arc into a state, -1 if there are several or none.
  Index only_arc(Index state) const {
    const auto arcs = graph_.incoming(state);
    return arcs.size() == 1 && !graph_.begins(state) ? arcs[0] : -1;
  }

  // Round lines so that sums are exact, or say that they would overflow.
  EnvelopeProblem round() {
    // the most that sums along a hypothesis can come to: of intercepts, and of slopes
    const auto size = [](const Line& line) {
      return Line{std::abs(line.intercept), std::abs(line.slope)};
    };
    const Line none{kMinusInfinity, kMinusInfinity};
    const auto raise = [](Line& most, const Line& by) {
      most.intercept = std::max(most.intercept, by.intercept);
      most.slope = std::max(most.slope, by.slope);
    };
    const auto plus = [](const Line& one, const Line& other) {
      return Line{one.intercept + other.intercept, one.slope + other.slope};
    };
    std::vector<Line> most(graph_.num_nodes(), none);
    Line bound = none;
    for (Index node = 0; node < graph_.num_nodes(); ++node) {
      if (graph_.begins(node)) most[node] = {};
      for (const Index edge : graph_.incoming(node)) {
        Line sum = size(lines_[edge]);
        for (const Index tail : graph_.tails(edge)) sum = plus(sum, most[tail]);
        raise(most[node], sum);
      }
      if constexpr (kLattice) {
        if (graph_.final[node] > kMinusInfinity) {
          raise(bound, plus(most[node], size(lines_[graph_.num_edges() + node])));
        }
      }
    }
    if constexpr (!kLattice) bound = most[graph_.root];
    if (bound.slope == kMinusInfinity) return EnvelopeProblem::NoPath;
    if (!(bound.intercept < 1e300 && bound.slope < 1e300)) return EnvelopeProblem::TooLarge;
    // in doubles as large as these, neighbours are one quantum apart: additions round to multiples
    const Line coarse{0x1.8p52 * quantum(bound.intercept), 0x1.8p52 * quantum(bound.slope)};
    for (Line& line : lines_) {
      line.intercept = (line.intercept + coarse.intercept) - coarse.intercept;
      line.slope = (line.slope + coarse.slope) - coarse.slope;
    }
    return EnvelopeProblem::None;
  }

  std::span<const Segment> segments(Index node) const {
    return std::span(pool_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }

  // Merge the hypotheses that go from a state by an arc of this line, or by a final state's end.
  void add(Index edge, Index tail, const Line& by) {
    const auto [anchor, length, line] = chains_[tail].longer(by);
    const auto below = segments(anchor);
    if (below.empty()) return;
    const auto moved = [&](std::size_t at) {
      const Segment& each = below[at];
      // a shifted envelope turns where it turned before
      return Segment{each.slope + line.slope,
                     each.intercept + line.intercept,
                     each.left,
                     edge,
                     begin_[anchor] + static_cast<Index>(at),
                     each.edges + length};
    };
    if (best_.empty()) {
      for (std::size_t at = 0; at < below.size(); ++at) best_.push_back(moved(at));
    } else {
      merge(best_, below.size(), moved, spare_);
      best_.swap(spare_);
    }
  }

  // Merge the hypotheses of an edge of a forest into those of its head.
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
      merge(best_, fresh_.size(), [&](std::size_t at) { return fresh_[at]; }, spare_);
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
      if constexpr (!kLattice) {
        const Index from = segment.below;
        segment.below = static_cast<Index>(below_.size());
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
      // an end is an arc of its own, of a number behind all others
      for (Index state = 0; state < graph_.num_nodes(); ++state) {
        if (graph_.final[state] == kMinusInfinity) continue;
        const Index end = graph_.num_edges() + state;
        add(end, state, lines_[end]);
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
      for (const Segment* at = &last; at->edge >= 0; at = &pool_[at->below]) {
        for (Index arc = at->edge; arc >= 0;) {
          if (arc < graph_.num_edges()) {
            found.edges.push_back(arc);
            if (graph_.label[arc] != 0) found.words.push_back(graph_.label[arc]);
            arc = only_arc(graph_.src[arc]);
          } else {
            arc = only_arc(arc - graph_.num_edges());
          }
        }
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
  std::vector<Chain> chains_;
  // of the node under way
  std::vector<Segment> best_, fresh_, spare_;
  std::vector<Index> below_here_, at_;
};

// The envelope of the entries of a list; of equal lines the first entry's. An entry is an edge of
// its own.
inline Envelope list_envelope(std::span<const Line> lines, std::span<const Index> label,
                              std::span<const Index> offset) {
  Envelope found;
  for (const Line& line : lines) {
    // written so that NaN is too large
    if (!(std::max(std::abs(line.intercept), std::abs(line.slope)) < 1e300)) {
      found.problem = EnvelopeProblem::TooLarge;
      return found;
    }
  }
  if (lines.empty()) {
    found.problem = EnvelopeProblem::NoPath;
    return found;
  }
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

// Sentences by number, counted from 0 in the order in which they came; the same words of two spaces
// have two numbers.
class SentenceNumbers {
 public:
  struct Found {
    std::vector<Index> number, fresh;
  };

  Found number(std::span<const Index> count, std::span<const Index> words,
               std::span<const Index> offset) {
    Found found;
    for (std::size_t space = 0; space + 1 < count.size(); ++space) {
      for (Index at = count[space]; at < count[space + 1]; ++at) {
        key_.assign(1, static_cast<Index>(space));
        key_.insert(key_.end(), words.begin() + offset[at], words.begin() + offset[at + 1]);
        const auto [place, is_new] = known_.try_emplace(key_, static_cast<Index>(known_.size()));
        found.number.push_back(place->second);
        if (is_new) found.fresh.push_back(at);
      }
    }
    return found;
  }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<Index>& key) const {
      return lattices::hash_bytes(key.data(), key.size() * sizeof(Index));
    }
  };
  tsl::robin_map<std::vector<Index>, Index, Hash> known_;
  std::vector<Index> key_;
};

}  // namespace decoding
