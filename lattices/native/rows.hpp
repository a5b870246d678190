// Rows: an automaton made deterministic as it is read, and its product with a graph.
//
// The row of a prefix x of a sentence has, for each state q of an automaton, the best gain of an
// alignment of x that ends in q:
//
//   row(empty)[q] = initial(q),
//   row(x w)[q]   = max over arcs p -> q that read w of  row(x)[p] + gain(p -> q),
//
// each closed under epsilon arcs. A sentence has one row, and its value is a function of it, where
// it has many alignments. Rows are kept in a normal form: states that no suffix can bring back to
// the lead are dropped (absent), the largest gain is taken out and belongs to the step. Gains are
// whole numbers, so that equal rows are equal; each has a number (the subset construction of
// determinisation with weights, Mohri 1997).
//
// Three layers, each usable alone:
//
//   RowReader            a concept: how one row becomes the next (AutomatonReader here reads any
//                        automaton; a reader that knows the shape of its automaton fits, too)
//   RowMachine<Reader>   rows interned to numbers, steps remembered for each row and word class
//   walk_rows            the pairs of a node of a graph and a row, in the order of the nodes, with
//                        a budget of pairs and of bytes
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/row_automata.hpp"
#include "lattices/native/spaces.hpp"
#include "lattices/native/top_down.hpp"

namespace lattices {

// What stands for minus infinity in a row; the sum of two does not overflow. Sums of gains that are
// there stay below an eighth of that in size, 2**26 where gains have 32 bits (Python's RowMachine
// sees to it): whatever is added to what is absent, more than half of it is left.
template <class Gain>
inline constexpr Gain kAbsent = std::numeric_limits<Gain>::min() / 2;

// How one row becomes the next. Words come in classes, numbered from 0; all functions write all
// cells of their result in normal form and return what was taken out (kAbsent if nothing is left).
//
//   width()               cells of a row
//   num_classes()         classes of words
//   open(result)          the row before the first word
//   step(row, c, result)  the row after a word of class c; `result` is not `row`
//   ending(row)           the gain of ending with a row, kAbsent if that is impossible
template <class R>
concept RowReader = std::signed_integral<typename R::Gain> &&
                    requires(const R reader, std::span<const typename R::Gain> row, Index word,
                             std::span<typename R::Gain> result) {
                      { reader.width() } -> std::convertible_to<std::size_t>;
                      { reader.num_classes() } -> std::convertible_to<Index>;
                      { reader.open(result) } -> std::same_as<typename R::Gain>;
                      { reader.step(row, word, result) } -> std::same_as<typename R::Gain>;
                      { reader.ending(row) } -> std::same_as<typename R::Gain>;
                    };

// The rows of any automaton. `words` are those that some arc reads, ascending; word i has class
// i + 1, and all others, which ANY arcs read, have class 0.
template <std::signed_integral G>
class AutomatonReader {
 public:
  using Gain = G;

  explicit AutomatonReader(const RowAutomaton& automaton)
      : initial_(gains(automaton.initial)), final_(gains(automaton.final)) {
    const Index states = automaton.num_states();
    std::vector<Index> place(states), silent, spoken;
    for (Index at = 0; at < states; ++at) place[automaton.order[at]] = at;
    for (Index arc = 0; arc < automaton.num_arcs(); ++arc) {
      const Index label = automaton.label[arc];
      if (label == RowAutomaton::kAny) any_.push_back(arc_of(automaton, arc));
      if (label == RowAutomaton::kEpsilon) silent.push_back(arc);
      if (label > 0) spoken.push_back(arc);
    }
    std::stable_sort(silent.begin(), silent.end(), [&](Index left, Index right) {
      return place[automaton.src[left]] < place[automaton.src[right]];
    });
    for (const Index arc : silent) silent_.push_back(arc_of(automaton, arc));
    std::stable_sort(spoken.begin(), spoken.end(), [&](Index left, Index right) {
      return automaton.label[left] < automaton.label[right];
    });
    class_offset_.push_back(0);
    for (const Index arc : spoken) {
      if (words_.empty() || words_.back() != automaton.label[arc]) {
        words_.push_back(automaton.label[arc]);
        class_offset_.push_back(static_cast<Index>(spoken_.size()));
      }
      spoken_.push_back(arc_of(automaton, arc));
    }
    class_offset_.push_back(static_cast<Index>(spoken_.size()));
    group_rules(automaton);
  }

  // states name their rules by where these stand
  AutomatonReader(const AutomatonReader&) = delete;
  AutomatonReader& operator=(const AutomatonReader&) = delete;

  std::size_t width() const { return initial_.size(); }
  Index num_classes() const { return static_cast<Index>(words_.size()) + 1; }
  std::span<const Index> words() const { return words_; }
  Index class_of(Index word) const {
    const auto at = std::lower_bound(words_.begin(), words_.end(), word);
    return at != words_.end() && *at == word ? static_cast<Index>(at - words_.begin()) + 1 : 0;
  }

  Gain open(std::span<Gain> result) const {
    std::copy(initial_.begin(), initial_.end(), result.begin());
    return close(result);
  }
  // Begin in one state; used where words may stand anywhere in a sentence.
  Gain open_at(Index state, std::span<Gain> result) const {
    std::fill(result.begin(), result.end(), kAbsent<Gain>);
    result[state] = 0;
    return close(result);
  }
  Gain step(std::span<const Gain> row, Index word_class, std::span<Gain> result) const {
    std::fill(result.begin(), result.end(), kAbsent<Gain>);
    for (const Arc& arc : any_) take(arc, row.data(), result.data());
    for (Index at = class_offset_[word_class]; at < class_offset_[word_class + 1]; ++at) {
      take(spoken_[at], row.data(), result.data());
    }
    return close(result);
  }
  Gain ending(std::span<const Gain> row) const {
    Gain best = kAbsent<Gain>;
    for (std::size_t state = 0; state < row.size(); ++state) {
      if (row[state] > kAbsent<Gain> && final_[state] > kAbsent<Gain>) {
        best = std::max<Gain>(best, row[state] + final_[state]);
      }
    }
    return best;
  }

  // A state is useless where its gain plus `lead` does not exceed that of `kept`, by any of its
  // rules.
  struct Rule {
    Index kept;
    Gain lead;
  };
  struct RuledState {
    Index state;
    std::span<const Rule> rules;
  };
  std::span<const RuledState> ruled_states() const { return ruled_; }

 private:
  struct Arc {
    Index src, dst;
    Gain gain;
  };

  static Gain gain_of(double gain) {
    // so small a gain is as good as none
    return gain <= static_cast<double>(kAbsent<Gain>) ? kAbsent<Gain> : static_cast<Gain>(gain);
  }
  static std::vector<Gain> gains(std::span<const double> column) {
    std::vector<Gain> result;
    result.reserve(column.size());
    for (const double gain : column) result.push_back(gain_of(gain));
    return result;
  }
  static Arc arc_of(const RowAutomaton& automaton, Index arc) {
    return {automaton.src[arc], automaton.dst[arc], gain_of(automaton.gain[arc])};
  }

  // Group the rules by the state that is forgotten; the order within a group stays.
  void group_rules(const RowAutomaton& automaton) {
    std::vector<Index> order(automaton.forgotten.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index left, Index right) {
      return automaton.forgotten[left] < automaton.forgotten[right];
    });
    rules_.reserve(order.size());
    for (const Index rule : order) {
      rules_.push_back({automaton.kept[rule], gain_of(automaton.lead[rule])});
    }
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      const Index state = automaton.forgotten[order[begin]];
      while (end < order.size() && automaton.forgotten[order[end]] == state) ++end;
      ruled_.push_back({state, std::span(rules_).subspan(begin, end - begin)});
    }
  }

  // What is absent stays far below what is there, so that nothing has to be asked on the way.
  static void take(const Arc& arc, const Gain* row, Gain* result) {
    const Gain gain = row[arc.src] + arc.gain;
    result[arc.dst] = std::max(result[arc.dst], gain);
  }

  // Close a row under epsilon arcs, drop what is useless, take out the largest gain.
  Gain close(std::span<Gain> row) const {
    for (const Arc& arc : silent_) take(arc, row.data(), row.data());
    Gain top = kAbsent<Gain>;
    for (Gain& gain : row) {
      gain = gain < kAbsent<Gain> / 2 ? kAbsent<Gain> : gain;
      top = std::max(top, gain);
    }
    if (top == kAbsent<Gain>) return top;
    for (const auto& [state, rules] : ruled_) {
      const Gain gain = row[state];
      bool useless = false;
      for (const Rule& rule : rules) useless |= gain + rule.lead <= row[rule.kept];
      row[state] = useless ? kAbsent<Gain> : gain;
    }
    for (Gain& gain : row) gain = gain == kAbsent<Gain> ? gain : gain - top;
    return top;
  }

  std::vector<Gain> initial_, final_;
  std::vector<Arc> any_, spoken_, silent_;
  std::vector<Index> words_, class_offset_;
  std::vector<Rule> rules_;
  std::vector<RuledState> ruled_;
};

// The handle of Python's RowMachine: the tables of its automaton, in integers that are wide enough.
class RowTables {
 public:
  // `narrow`: all sums of gains stay below 2**26
  RowTables(const RowAutomaton& automaton, bool narrow)
      : reader_(narrow ? Reader(std::in_place_type<AutomatonReader<std::int32_t>>, automaton)
                       : Reader(std::in_place_type<AutomatonReader<std::int64_t>>, automaton)) {}

  // Call use(reader) with the AutomatonReader that is there; make a RowMachine on it for a search.
  template <class Use>
  auto visit(Use&& use) const {
    return std::visit(std::forward<Use>(use), reader_);
  }

 private:
  using Reader = std::variant<AutomatonReader<std::int32_t>, AutomatonReader<std::int64_t>>;
  Reader reader_;
};

// Rows with numbers, and where they lead; each is computed when it is first asked for. A machine
// belongs to one search, and the reader outlives it.
template <RowReader R>
class RowMachine {
 public:
  using Reader = R;
  using Gain = typename R::Gain;
  struct Step {
    Index row;
    Gain gain;
  };

  explicit RowMachine(const R& reader)
      : reader_(reader), rows_(reader.width()), steps_(reader.num_classes()) {
    opening_ = reader.open(rows_.draft());
    settle();
  }

  const R& reader() const { return reader_; }
  // The row before the first word has number 0, and this gain.
  Gain opening() const { return opening_; }
  std::size_t size() const { return rows_.size(); }
  std::span<const Gain> operator[](Index row) const { return rows_[row]; }

  // The row after a word of a class, and what the step gains (kAbsent if there is no alignment).
  Step step(Index row, Index word_class) {
    const Step known = steps_[row][word_class];
    return known.row >= 0 ? known : learn(row, word_class);
  }
  // The gain of ending with a row, kAbsent if that is impossible.
  Gain ending(Index row) {
    if (endings_[row] == kUnknown) endings_[row] = reader_.ending(rows_[row]);
    return endings_[row];
  }
  // The number of any row in normal form.
  Index intern(std::span<const Gain> row) {
    std::copy(row.begin(), row.end(), rows_.draft().begin());
    return settle();
  }

  // What rows and steps take, counted as if each vector were about to grow.
  std::size_t bytes() const { return rows_.bytes() + steps_.bytes() + growing_bytes(endings_); }
  // Forget all rows and steps, but keep their room; then open again.
  void clear() {
    rows_.clear();
    steps_.clear();
    endings_.clear();
    opening_ = reader_.open(rows_.draft());
    settle();
  }

 private:
  static constexpr Gain kUnknown = std::numeric_limits<Gain>::max();

  Step learn(Index row, Index word_class) {
    const Gain gain = reader_.step(rows_[row], word_class, rows_.draft());
    const Step found{settle(), gain};
    steps_[row][word_class] = found;
    return found;
  }
  // Number the row in the draft.
  Index settle() {
    const Index row = rows_.settle();
    if (static_cast<std::size_t>(row) == steps_.size()) {
      std::fill_n(steps_.draft(), steps_.width(), Step{-1, 0});
      steps_.keep();
      endings_.push_back(kUnknown);
    }
    return row;
  }

  const R& reader_;
  Interning<Gain> rows_;
  Blocks<Step> steps_;
  std::vector<Gain> endings_;
  Gain opening_ = 0;
};

// How much a search may keep: pairs of a node and a row, and bytes for these and for the rows.
struct RowBudget {
  std::size_t pairs = std::numeric_limits<std::size_t>::max();
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
};

// What an edge reads, besides the classes of words: nothing, or nothing to be walked.
inline constexpr Index kSilent = -1;
inline constexpr Index kNotWalked = -2;

// Pairs of a node and a row. Those of node v are start[v] up to start[v + 1].
struct RowPairs {
  std::vector<Index> row;
  std::vector<Index> start;
};

// Walk the pairs of a node and a row, nodes in their order, edges into a node in theirs; return
// false if the budget did not suffice (pairs are counted when their node is left, bytes then and
// with every 64th new pair). `edge_class` has the class of words of each edge, kSilent or
// kNotWalked. Edges have one tail, and one node begins (with row 0 of the machine). A visitor
// has these functions:
//
//   add(pair)                  a pair that is new; its number is the next one
//   follow(pair)               false if the edges out of the pair are not to be walked
//   arc(edge, from, to, gain)  an edge from a pair to a pair, after `add(to)`; gain is the step's,
//                              0 if the edge is silent, kAbsent if the sentence has no alignment
//   leave(node, pairs)         all edges into a node were walked; the visitor may drop pairs of
//                              the node: it then moves those that it keeps, in `pairs.row` as in
//                              its own columns, together to pairs.start[node] and on, and
//                              shortens `pairs.row`
//   bytes()                    what it keeps itself
//
// Cost: O(pairs x edges out of a node), and one step of the reader for each row and class met.
template <Graph G, class Machine, class Visitor>
bool walk_rows(const G& graph, std::span<const Index> edge_class, Machine& machine,
               const RowBudget& budget, Visitor& visitor, RowPairs& pairs, Poll& poll) {
  using Gain = typename Machine::Gain;
  const Index nodes = graph.num_nodes();
  const std::size_t most = std::min<std::size_t>(
      budget.pairs, static_cast<std::size_t>(std::numeric_limits<Index>::max()));
  pairs.row.clear();
  pairs.start.assign(nodes + 1, 0);
  // the last pair of each row
  std::vector<Index> pair_of;
  for (Index node = 0; node < nodes; ++node) {
    const auto first = static_cast<Index>(pairs.row.size());
    pairs.start[node] = pairs.start[node + 1] = first;
    const auto pair_at = [&](Index row) {
      if (pair_of.size() < machine.size()) pair_of.resize(machine.size(), -1);
      const Index known = pair_of[row];
      // it may be one of an earlier node, or one that was dropped there
      if (known >= first && known < static_cast<Index>(pairs.row.size()) &&
          pairs.row[known] == row) {
        return known;
      }
      const auto pair = static_cast<Index>(pairs.row.size());
      pairs.row.push_back(row);
      pair_of[row] = pair;
      visitor.add(pair);
      return pair;
    };
    const auto fits = [&] {
      return machine.bytes() + growing_bytes(pairs.row) + growing_bytes(pair_of) +
                 visitor.bytes() <=
             budget.bytes;
    };
    if (graph.begins(node)) pair_at(0);
    for (const Index edge : graph.incoming(node)) {
      const Index word_class = edge_class[edge];
      if (word_class == kNotWalked) continue;
      const Index tail = graph.tails(edge)[0];
      for (Index pair = pairs.start[tail]; pair < pairs.start[tail + 1]; ++pair) {
        if (!visitor.follow(pair)) continue;
        Index row = pairs.row[pair];
        Gain gain = 0;
        if (word_class != kSilent) {
          const auto step = machine.step(row, word_class);
          row = step.row;
          gain = step.gain;
        }
        const auto before = pairs.row.size();
        visitor.arc(edge, pair, pair_at(row), gain);
        if (pairs.row.size() > before && pairs.row.size() % 64 == 0 && !fits()) return false;
        poll();
      }
    }
    visitor.leave(node, pairs);
    if (pairs.row.size() > most || !fits()) return false;
    pairs.start[node + 1] = static_cast<Index>(pairs.row.size());
  }
  return true;
}

// What each arc of a lattice reads, where class_of(word) is the class of a word; arcs that lie on
// no complete path are not walked. Nothing, if there is no complete path.
template <class ClassOf>
std::optional<std::vector<Index>> arc_classes(const Lattice& lattice, ClassOf&& class_of) {
  const Useful useful = find_useful(top_down(lattice));
  if (!useful.nodes[lattice.start]) return std::nullopt;
  std::vector<Index> result(lattice.num_edges(), kNotWalked);
  for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
    if (!useful.edges[arc]) continue;
    result[arc] =
        lattice.label[arc] == RowAutomaton::kEpsilon ? kSilent : class_of(lattice.label[arc]);
  }
  return result;
}

// Pairs of a lattice state and a row are the states of the product, in the order of the lattice's
// states. Arcs are sorted by source, then by target: the normal form of a lattice. The gains of a
// path, with `opening` and the ending of its last pair, add up to the one value of its sentence.
struct RowProduct {
  double opening = 0.0;
  std::size_t rows = 0;
  std::vector<Index> state;
  std::vector<double> ending;
  std::vector<Index> src, dst, origin;
  std::vector<double> gain;
};

namespace detail {

template <class Gain>
struct ProductArcs {
  std::vector<Index> src, dst, origin;
  std::vector<Gain> gain;

  void add(Index) {}
  bool follow(Index) const { return true; }
  void arc(Index edge, Index from, Index to, Gain step) {
    src.push_back(from);
    dst.push_back(to);
    origin.push_back(edge);
    gain.push_back(step);
  }
  void leave(Index, RowPairs&) {}
  // the arcs, sorted once more at the end
  std::size_t bytes() const {
    return 2 *
           (growing_bytes(src) + growing_bytes(dst) + growing_bytes(origin) + growing_bytes(gain));
  }
};

}  // namespace detail

// The product with a machine that is new, or nothing beyond the budget. `arc_class` is that of
// arc_classes.
template <class Machine>
std::optional<RowProduct> row_product(const Lattice& lattice, std::span<const Index> arc_class,
                                      Machine& machine, const RowBudget& budget, Poll& poll) {
  using Gain = typename Machine::Gain;
  detail::ProductArcs<Gain> arcs;
  RowPairs pairs;
  if (!walk_rows(lattice, arc_class, machine, budget, arcs, pairs, poll)) return std::nullopt;
  RowProduct product;
  product.opening = static_cast<double>(machine.opening());
  product.rows = machine.size();
  const std::size_t count = pairs.row.size(), size = arcs.src.size();
  product.state.resize(count);
  product.ending.resize(count);
  for (Index state = 0; state < lattice.num_nodes(); ++state) {
    for (Index pair = pairs.start[state]; pair < pairs.start[state + 1]; ++pair) {
      product.state[pair] = state;
      product.ending[pair] = static_cast<double>(machine.ending(pairs.row[pair]));
    }
  }
  // by source; arcs came in the order of their targets' states, so only those into the same
  // state may stand in the wrong order
  auto [begin, order] = group(size, count, [&](std::size_t arc) { return arcs.src[arc]; });
  for (std::size_t pair = 0; pair < count; ++pair) {
    std::stable_sort(order.begin() + begin[pair], order.begin() + begin[pair + 1],
                     [&](Index left, Index right) { return arcs.dst[left] < arcs.dst[right]; });
  }
  product.src.reserve(size);
  product.dst.reserve(size);
  product.origin.reserve(size);
  product.gain.reserve(size);
  for (const Index arc : order) {
    product.src.push_back(arcs.src[arc]);
    product.dst.push_back(arcs.dst[arc]);
    product.origin.push_back(arcs.origin[arc]);
    product.gain.push_back(static_cast<double>(arcs.gain[arc]));
  }
  return product;
}

}  // namespace lattices
