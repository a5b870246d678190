// Lazy k best: the best derivations of a graph, or its best sentences, one after the other.
//
// A derivation of a node v is an edge e into v with a derivation d_i of each tail t_i of e:
//
//   value(<e, d_1 .. d_n>) = w(e) + value(d_1) + ... + value(d_n)
//
// Every node keeps the list of its best derivations, best first, and makes the next one only when
// it is asked for. One that was given is followed by those that differ from it in one tail, whose
// derivation is the next in that tail's list; they are what the node's heap is fed with (Huang &
// Chiang 2005, Better k-best parsing, algorithm 3). So that none comes twice, a tail is moved only
// if no tail to its right has been: each choice of derivations then follows one other only, which
// has its last moved tail one step back, and comes before it.
//
// What is searched (a graph), what a derivation is worth (a ranking) and which derivations count
// (a filter, as in cdec) are policies. Cost: O(edges) for the best, and O(tails * log) for each
// derivation that a node takes from its heap.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"
#include "lattices/native/spelling.hpp"

namespace lattices {

// What the search needs of a graph. `bottom_up` lists the nodes, tails before heads; `visit` calls
// back with every edge into a node. Symbols are what an edge says: words, -1 - i for what tail i
// says, and 0 for nothing. No edge of a `linear` graph has more than one tail; what it says is one
// word or none, then what the tail says.
template <class G>
concept Derivable = requires(const G graph, Index node, const typename G::Edge edge) {
  { G::linear } -> std::convertible_to<bool>;
  { graph.num_nodes() } -> std::convertible_to<Index>;
  { graph.bottom_up() } -> std::ranges::range;
  graph.visit(node, [](const typename G::Edge&) {});
  { graph.tails(edge) } -> std::convertible_to<std::span<const Index>>;
  { graph.weight(edge) } -> std::convertible_to<double>;
} && (G::linear ? requires(const G graph, const typename G::Edge edge) {
                      { graph.word_of(edge) } -> std::convertible_to<Index>;
                    } : requires(const G graph, const typename G::Edge edge) {
                      { graph.symbols(edge) } -> std::ranges::random_access_range;
                    });

// A lattice as a graph whose derivations are the suffixes of its paths: an arc followed by a
// suffix of its target, or the end in a final state (edge arcs + state). Scores add up from the
// end, as everywhere.
struct Suffixes {
  using Edge = Index;
  static constexpr bool linear = true;

  const Lattice& lattice;
  std::span<const Index> word;

  Index num_nodes() const { return lattice.num_nodes(); }
  auto bottom_up() const {
    return std::views::iota(lattice.start, num_nodes()) | std::views::reverse;
  }
  bool ends(Edge edge) const { return edge >= lattice.num_edges(); }
  Index state(Edge edge) const { return edge - lattice.num_edges(); }
  template <class Visit>
  void visit(Index node, Visit&& found) const {
    for (const Index arc : lattice.outgoing(node)) found(arc);
    if (lattice.final[node] > -std::numeric_limits<double>::infinity()) {
      found(lattice.num_edges() + node);
    }
  }
  std::span<const Index> tails(const Edge& edge) const {
    return ends(edge) ? std::span<const Index>{} : lattice.dst.subspan(edge, 1);
  }
  Index word_of(const Edge& edge) const { return ends(edge) ? 0 : word[edge]; }
  double weight(const Edge& edge) const {
    return ends(edge) ? lattice.final[state(edge)] : lattice.score[edge];
  }
};

// A forest; what its edges say may differ from its own target sides, in as many symbols.
struct ForestDerivations {
  using Edge = Index;
  static constexpr bool linear = false;

  const Forest& forest;
  std::span<const Index> said;

  Index num_nodes() const { return forest.num_nodes(); }
  auto bottom_up() const { return std::views::iota(Index{0}, num_nodes()); }
  template <class Visit>
  void visit(Index node, Visit&& found) const {
    for (const Index edge : forest.incoming(node)) found(edge);
  }
  std::span<const Index> tails(const Edge& edge) const { return forest.tails(edge); }
  std::span<const Index> symbols(const Edge& edge) const {
    const Index begin = forest.symbol_offset[edge];
    return said.subspan(begin, forest.symbol_offset[edge + 1] - begin);
  }
  double weight(const Edge& edge) const { return forest.score[edge]; }
};

static_assert(Derivable<Suffixes> && Derivable<ForestDerivations>);

// Ranked by the sum of the weights.
template <class G>
struct ByScore {
  using Value = double;

  const G& graph;

  Value value(const typename G::Edge& edge) const { return graph.weight(edge); }
  static void add(Value& value, const Value& part) { value += part; }
  void finish(const typename G::Edge&, Value&) const {}
  static bool better(const Value& one, const Value& other) { return one > other; }
};

// Ranked by sign * (gain / denominator + weight * score), then by the score. The two sums are kept
// apart, so that gains, which are whole numbers, tie exactly. All edges below one have its
// denominator.
struct Merit {
  double worth, gain, score;
};

template <class G, class Gains>
struct ByMerit {
  using Value = Merit;

  const G& graph;
  Gains gains;
  double sign, weight;

  Value value(const typename G::Edge& edge) const {
    return {0.0, gains.gain(edge), graph.weight(edge)};
  }
  static void add(Value& value, const Value& part) {
    value.gain += part.gain;
    value.score += part.score;
  }
  void finish(const typename G::Edge& edge, Value& value) const {
    value.worth = sign * (gains.in_values(edge, value.gain) + weight * value.score);
  }
  static bool better(const Value& one, const Value& other) {
    return one.worth > other.worth || (one.worth == other.worth && one.score > other.score);
  }
};

// The derivations that were made so far, by number. What one is made of has smaller numbers.
template <Derivable G, class Value>
class Derivations {
 public:
  // So many bytes may be taken.
  explicit Derivations(const G& graph, std::size_t memory)
      : graph_(&graph),
        memory_(memory),
        most_(std::min<std::size_t>(std::numeric_limits<Index>::max(), memory / kBytes)) {}

  const G& graph() const { return *graph_; }
  Index size() const { return static_cast<Index>(made_.size()); }
  const Value& value(Index derivation) const { return made_[derivation].value; }
  const typename G::Edge& edge(Index derivation) const { return made_[derivation].edge; }
  // the derivation of a tail
  Index part(Index derivation, std::size_t place) const {
    if constexpr (G::linear) {
      return made_[derivation].parts;
    } else {
      return parts_[made_[derivation].parts + place];
    }
  }
  // the first tail that may be moved on
  Index moved(Index derivation) const { return made_[derivation].moved; }
  // the derivation that the same node gave after this one, kNone while nobody has asked
  Index& next(Index derivation) { return made_[derivation].next; }
  Index next(Index derivation) const { return made_[derivation].next; }

  template <class Parts>
  Index make(const typename G::Edge& edge, const Value& value, const Parts& parts, Index moved) {
    Index at = kNone;
    if constexpr (G::linear) {
      for (const Index part : parts) at = part;
    } else {
      at = static_cast<Index>(parts_.size());
      parts_.insert(parts_.end(), std::ranges::begin(parts), std::ranges::end(parts));
    }
    if (made_.size() >= most_ || parts_.size() >= std::numeric_limits<Index>::max()) {
      throw too_large(std::to_string(made_.size()) + " partial derivations of the k best",
                      static_cast<double>(made_.size() * kBytes), memory_);
    }
    made_.push_back({value, edge, at, kNone, moved});
    return size() - 1;
  }

  // Call back with the edges of a derivation, from the top down, the tails in their order.
  template <class Visit>
  void unroll(Index derivation, Visit&& found) const {
    struct Frame {
      Index derivation;
      std::size_t tail;
    };
    std::vector<Frame> stack;
    found(edge(derivation));
    stack.push_back({derivation, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.tail == graph_->tails(edge(top.derivation)).size()) {
        stack.pop_back();
        continue;
      }
      const Index below = part(top.derivation, top.tail++);
      found(edge(below));
      stack.push_back({below, 0});
    }
  }

  // Refuse derivations that are too long to be written out; what is used twice counts twice.
  template <class Space>
  void check_sizes(const Space& space, std::span<const Index> derivations) const {
    std::vector<double> sizes(made_.size(), 1.0);
    for (Index derivation = 0; derivation < size(); ++derivation) {
      const std::size_t arity = graph_->tails(edge(derivation)).size();
      for (std::size_t place = 0; place < arity; ++place) {
        sizes[derivation] += sizes[part(derivation, place)];
      }
    }
    double total = 0.0;
    for (const Index each : derivations) {
      check_unfolded(space, sizes[each]);
      total += sizes[each];
    }
    check_unfolded_all(space, total);
  }

 private:
  struct Derivation {
    Value value;
    typename G::Edge edge;
    Index parts, next, moved;
  };
  // of a derivation while its vector grows, and of its place in a heap
  static constexpr std::size_t kBytes = 3 * sizeof(Derivation) + sizeof(Value) + sizeof(Index);

  const G* graph_;
  std::size_t memory_, most_;
  std::vector<Derivation> made_;
  std::vector<Index> parts_;
};

// Filters: which derivations of a node count. The search asks once for each that is due, in order.
template <class G>
struct EveryDerivation {
  template <class Made>
  bool admits(const Made&, Index, Index) {
    return true;
  }
};

// The first derivation of each sentence. A node passes over words that it has given before, which
// loses no sentence: take the first derivation of any sentence, and in it a part that a node would
// have passed over; the node has given the same words by a part that comes before it, and with
// that in its place the sentence would have a derivation that comes before its first.
template <class G>
class OneForEachSentence {
 public:
  template <class Made>
  bool admits(const Made& made, Index node, Index derivation) {
    return given_.insert(pair_key(node, spellings_.of(made, derivation)));
  }

 private:
  std::conditional_t<G::linear, SuffixSpellings, Spellings> spellings_;
  KeySet given_;
};

template <Derivable G, class Ranking, template <class> class Filter>
class LazyKBest {
 public:
  using Value = typename Ranking::Value;

  // Derivations may take so many bytes.
  LazyKBest(const G& graph, const Ranking& ranking, Poll& poll,
            std::size_t memory = std::numeric_limits<std::size_t>::max())
      : graph_(graph),
        ranking_(ranking),
        poll_(poll),
        made_(graph, memory),
        nodes_(graph.num_nodes()) {
    for (const Index node : graph.bottom_up()) find_best(node);
  }

  const Derivations<G, Value>& made() const { return made_; }
  // What the search takes for each node, before it has derivations.
  static constexpr std::size_t node_bytes() { return sizeof(Node); }

  // The k best derivations of a node, best first, or all of them.
  std::vector<Index> best(Index node, std::size_t k) {
    std::vector<Index> found;
    if (nodes_[node].first == kNone) return found;
    found.push_back(nodes_[node].first);
    while (found.size() < k) {
      if (made_.next(found.back()) == kNone && !give_next(node)) break;
      found.push_back(made_.next(found.back()));
    }
    return found;
  }

 private:
  using Edge = typename G::Edge;

  struct Node {
    Index first = kNone, last = kNone;
    // the edge of the first derivation, in the order of visits
    Index first_edge = kNone;
    // the derivation taken last: those that follow it are due before any other
    Index taken = kNone;
    Index heap = kNone;
    bool exhausted = false;
  };
  struct Candidate {
    Value value;
    Index derivation;
  };
  // For a heap whose top is the best; of equals that which was made first.
  struct Later {
    bool operator()(const Candidate& one, const Candidate& other) const {
      if (Ranking::better(one.value, other.value)) return false;
      return Ranking::better(other.value, one.value) || one.derivation > other.derivation;
    }
  };
  using Heap = std::vector<Candidate>;

  // The value of an edge with the best derivations of its tails; false if a tail has none.
  bool best_value(const Edge& edge, Value& value) const {
    value = ranking_.value(edge);
    for (const Index tail : graph_.tails(edge)) {
      const Index part = nodes_[tail].first;
      if (part == kNone) return false;
      Ranking::add(value, made_.value(part));
    }
    ranking_.finish(edge, value);
    return true;
  }

  auto first_parts(const Edge& edge) const {
    return graph_.tails(edge) |
           std::views::transform([this](Index tail) { return nodes_[tail].first; });
  }

  void find_best(Index node) {
    poll_();
    Value best_so_far{};
    Edge chosen{};
    Index place = 0, first_edge = kNone;
    graph_.visit(node, [&](const Edge& edge) {
      Value value;
      if (best_value(edge, value) && (first_edge == kNone || Ranking::better(value, best_so_far))) {
        best_so_far = value;
        chosen = edge;
        first_edge = place;
      }
      ++place;
    });
    if (first_edge == kNone) return;
    Node& here = nodes_[node];
    here.first_edge = first_edge;
    here.first = here.last = here.taken = made_.make(chosen, best_so_far, first_parts(chosen), 0);
  }

  // Put all other edges into the heap of a node that is asked for more than its first derivation.
  void open(Index node) {
    Node& here = nodes_[node];
    here.heap = static_cast<Index>(heaps_.size());
    Heap& heap = heaps_.emplace_back();
    Index place = 0;
    graph_.visit(node, [&](const Edge& edge) {
      Value value;
      if (place++ != here.first_edge && best_value(edge, value)) {
        heap.push_back({value, made_.make(edge, value, first_parts(edge), 0)});
      }
    });
    std::make_heap(heap.begin(), heap.end(), Later{});
    filter_.admits(made_, node, here.first);
  }

  // A tail that has yet to give what follows its part of a derivation, kNone if there is none.
  Index unready_tail(Index derivation) const {
    const auto tails = graph_.tails(made_.edge(derivation));
    for (std::size_t place = made_.moved(derivation); place < tails.size(); ++place) {
      if (made_.next(made_.part(derivation, place)) == kNone && !nodes_[tails[place]].exhausted) {
        return tails[place];
      }
    }
    return kNone;
  }

  void push_followers(Index derivation, Heap& heap) {
    const Edge edge = made_.edge(derivation);
    const std::size_t arity = graph_.tails(edge).size();
    for (std::size_t moved = made_.moved(derivation); moved < arity; ++moved) {
      const Index following = made_.next(made_.part(derivation, moved));
      if (following == kNone) continue;
      parts_.clear();
      Value value = ranking_.value(edge);
      for (std::size_t place = 0; place < arity; ++place) {
        parts_.push_back(place == moved ? following : made_.part(derivation, place));
        Ranking::add(value, made_.value(parts_.back()));
      }
      ranking_.finish(edge, value);
      heap.push_back({value, made_.make(edge, value, parts_, static_cast<Index>(moved))});
      std::push_heap(heap.begin(), heap.end(), Later{});
    }
  }

  // Let a node give its next derivation; false if it has no more. Nodes below that are asked for
  // theirs are on a stack of our own: forests are deep.
  bool give_next(Index root) {
    waiting_.assign(1, root);
    while (!waiting_.empty()) {
      poll_();
      const Index node = waiting_.back();
      Node& here = nodes_[node];
      if (here.heap == kNone) open(node);
      Heap& heap = heaps_[here.heap];
      if (here.taken != kNone) {
        const Index tail = unready_tail(here.taken);
        if (tail != kNone) {
          waiting_.push_back(tail);
          continue;
        }
        push_followers(here.taken, heap);
        here.taken = kNone;
      }
      if (heap.empty()) {
        here.exhausted = true;
        waiting_.pop_back();
        continue;
      }
      std::pop_heap(heap.begin(), heap.end(), Later{});
      here.taken = heap.back().derivation;
      heap.pop_back();
      if (!filter_.admits(made_, node, here.taken)) continue;
      made_.next(here.last) = here.taken;
      here.last = here.taken;
      waiting_.pop_back();
    }
    return !nodes_[root].exhausted;
  }

  const G& graph_;
  const Ranking& ranking_;
  Poll& poll_;
  Derivations<G, Value> made_;
  std::vector<Node> nodes_;
  std::vector<Heap> heaps_;
  Filter<G> filter_;
  // room that is used again and again
  std::vector<Index> waiting_, parts_;
};

}  // namespace lattices
