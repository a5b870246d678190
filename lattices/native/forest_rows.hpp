// Rows for forests: one value for every sentence, from the bottom up.
//
// A node of a forest may stand anywhere in a sentence. What its words are to an automaton is a
// matrix: for every state in which they may begin, the row with which they end and what was gained
// on the way. Two strings with matrices that are equal up to a constant are alike in every
// sentence, so the pairs of a node and a matrix are the nodes of a hypergraph, and an edge of the
// forest with a pair for each of its tails is an edge of it:
//
//   M(a b) = M(a) followed, row by row, by the words of b,
//
// where b is read by a representative, the first string that was found to have its matrix. The
// constant, the largest gain of a matrix, goes into the edge. A node that only begins sentences
// has one row, that of the initial states, and one that only ends them keeps what each row ends
// with in place of the row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/row_dominance.hpp"
#include "lattices/native/rows.hpp"

namespace lattices {

// Where nodes stand: whether they are needed, and have words before or behind them in a sentence.
struct Anchors {
  std::vector<char> needed, before, behind;

  explicit Anchors(const Forest& forest)
      : needed(forest.num_nodes(), 0),
        before(forest.num_nodes(), 0),
        behind(forest.num_nodes(), 0) {
    needed[forest.root] = 1;
    for (Index node = forest.num_nodes(); node-- > 0;) {
      if (!needed[node]) continue;
      for (const Index edge : forest.incoming(node)) {
        const auto symbols = forest.symbols(edge);
        for (std::size_t place = 0; place < symbols.size(); ++place) {
          if (symbols[place] > 0) continue;
          const Index below = forest.tails(edge)[-1 - symbols[place]];
          needed[below] = 1;
          before[below] |= before[node] || place > 0;
          behind[below] |= behind[node] || place + 1 < symbols.size();
        }
      }
    }
  }
};

// What is looked for: the pairs that can be among the k best (sign 1) or worst (sign -1) by the
// gain plus `weight` times the model score; all of them if k is 0.
struct ForestRowAim {
  double sign = 1.0, weight = 0.0;
  std::size_t k = 0;
};

// How much may be kept and looked at: pairs and bytes as for lattices, edges that are looked at,
// cells of matrices and words of representatives.
struct ForestRowBudget : RowBudget {
  std::size_t steps = std::numeric_limits<std::size_t>::max();
  std::size_t cells = std::numeric_limits<std::size_t>::max();
};

// The hypergraph, edges from the bottom up, those of one node of the forest together. The gains of
// a derivation of the last pair add up to the value of its sentence.
struct ForestRowProduct {
  std::size_t pairs = 0, rows = 0;
  std::vector<Index> head, origin;
  std::vector<double> gain;
  std::vector<Index> tail, tail_offset{0};
};

template <class Machine>
class ForestRowSearch {
 public:
  using Gain = typename Machine::Gain;

  ForestRowSearch(const Forest& forest, Machine& machine, const ForestRowAim& aim)
      : forest_(forest),
        machine_(machine),
        aim_(aim),
        anchors_(forest),
        states_(machine.reader().width()),
        answers_(machine),
        wide_(2 * states_),
        narrow_(2),
        wide_kept_(2 * states_),
        narrow_kept_(2),
        start_(forest.num_nodes() + 1, 0) {
    std::vector<Gain> row(states_);
    for (std::size_t state = 0; state < states_; ++state) {
      begin_gain_.push_back(machine.reader().open_at(static_cast<Index>(state), row));
      begin_row_.push_back(machine.intern(row));
    }
  }

  // Nothing beyond the budget.
  std::optional<ForestRowProduct> operator()(const ForestRowBudget& budget, Poll& poll) {
    for (Index node = 0; node < forest_.num_nodes(); ++node) {
      start_[node + 1] = start_[node];
      if (!anchors_.needed[node]) continue;
      if (!find_pairs(node, budget, poll)) return std::nullopt;
      keep_undominated(node, poll);
      if (!keep_pairs(node, budget) || pairs_.size() > budget.pairs) return std::nullopt;
    }
    if (start_[forest_.root + 1] == start_[forest_.root]) return std::nullopt;
    product_.pairs = pairs_.size();
    product_.rows = machine_.size();
    return std::move(product_);
  }

 private:
  // A pair of a node and a matrix: the highest of sign * value that its strings have had, the model
  // score of that, what was taken out of its gains, and the edge of the product that found it
  // first, whose words are its representative.
  struct Pair {
    double base, model, constant;
    Index first_edge;
    // where the words of the representative stand
    std::size_t text = 0, words = 0;
    // where the matrix stands, in the one store or the other
    Index matrix = 0;
  };
  // The rows and gains of a matrix in the order of the beginnings.
  struct Cells {
    std::span<const Gain> row, gain;
  };

  std::size_t width(Index node) const { return anchors_.before[node] ? states_ : 1; }
  Interning<Gain>& fresh(Index node) { return anchors_.before[node] ? wide_ : narrow_; }
  const Interning<Gain>& fresh(Index node) const { return anchors_.before[node] ? wide_ : narrow_; }
  Blocks<Gain>& kept(Index node) { return anchors_.before[node] ? wide_kept_ : narrow_kept_; }
  Index below(Index edge, Index symbol) const { return forest_.tails(edge)[-1 - symbol]; }

  std::size_t bytes() const {
    return machine_.bytes() + answers_.bytes() + wide_.bytes() + narrow_.bytes() +
           wide_kept_.bytes() + narrow_kept_.bytes() + growing_bytes(pairs_) +
           growing_bytes(text_) + growing_bytes(product_.head) + growing_bytes(product_.origin) +
           growing_bytes(product_.gain) + growing_bytes(product_.tail) +
           growing_bytes(product_.tail_offset);
  }

  // Find all pairs of a node, and the edges of the product into them. They are numbered from the
  // first pair of the node on.
  bool find_pairs(Index node, const ForestRowBudget& budget, Poll& poll) {
    first_edge_ = product_.head.size();
    fresh(node).clear();
    for (const Index edge : forest_.incoming(node)) {
      const auto symbols = forest_.symbols(edge);
      const std::size_t length = symbols.size();
      level_row_.resize((length + 1) * states_);
      level_gain_.resize((length + 1) * states_);
      choice_.assign(length, 0);
      bool possible = true;
      for (std::size_t place = 0; place < length; ++place) {
        if (symbols[place] > 0) continue;
        const Index tail = below(edge, symbols[place]);
        choice_[place] = start_[tail];
        possible &= start_[tail] < start_[tail + 1];
      }
      if (!possible) continue;
      if (anchors_.before[node]) {
        std::copy(begin_row_.begin(), begin_row_.end(), level_row_.begin());
        std::copy(begin_gain_.begin(), begin_gain_.end(), level_gain_.begin());
      } else {
        level_row_[0] = 0;
        level_gain_[0] = machine_.opening();
      }
      // the last tail of the target side is moved first, and what stands before it remains
      std::size_t moved = 0;
      do {
        if (++steps_ > budget.steps) return false;
        poll();
        for (std::size_t place = moved; place < length; ++place) {
          read_symbol(node, edge, place);
          poll();
        }
        const std::size_t before = pairs_.size();
        add_edge(node, edge);
        if (pairs_.size() > before) {
          const std::size_t cells =
              fresh(node).size() * width(node) + wide_kept_.size() * states_ + narrow_kept_.size();
          if (cells > budget.cells || bytes() > budget.bytes) return false;
        }
      } while (move_tails(edge, moved));
    }
    return true;
  }

  // Choose the next pairs of the tails of an edge; return whether there are any, and write the
  // first place of the target side that changed.
  bool move_tails(Index edge, std::size_t& moved) {
    const auto symbols = forest_.symbols(edge);
    for (std::size_t place = symbols.size(); place-- > 0;) {
      if (symbols[place] > 0) continue;
      const Index tail = below(edge, symbols[place]);
      if (++choice_[place] < start_[tail + 1]) {
        moved = place;
        return true;
      }
      choice_[place] = start_[tail];
    }
    return false;
  }

  // Whether a matrix of the first symbol, a tail, is what is needed: it begins as the node does.
  bool begins_alike(Index node, Index edge, std::size_t place, Index symbol) const {
    return place == 0 && symbol < 0 &&
           anchors_.before[below(edge, symbol)] == anchors_.before[node];
  }

  // Write the level behind a symbol of the target side: that before it, and the words.
  void read_symbol(Index node, Index edge, std::size_t place) {
    const Index symbol = forest_.symbols(edge)[place];
    const std::size_t count = width(node);
    const Gain* row = level_row_.data() + place * states_;
    const Gain* gain = level_gain_.data() + place * states_;
    Gain* next_row = level_row_.data() + (place + 1) * states_;
    Gain* next_gain = level_gain_.data() + (place + 1) * states_;
    if (begins_alike(node, edge, place, symbol)) {
      const Gain* matrix = kept(node)[pairs_[choice_[place]].matrix];
      std::copy_n(matrix, count, next_row);
      std::copy_n(matrix + count, count, next_gain);
      return;
    }
    Index word_class = 0;
    std::span<const Index> words(&word_class, 1);
    if (symbol > 0) {
      word_class = machine_.reader().class_of(symbol);
    } else {
      const Pair& pair = pairs_[choice_[place]];
      words = std::span<const Index>(text_).subspan(pair.text, pair.words);
    }
    for (std::size_t begin = 0; begin < count; ++begin) {
      auto at = static_cast<Index>(row[begin]);
      Gain total = gain[begin];
      for (const Index word : words) {
        if (total == kAbsent<Gain>) break;
        const auto step = machine_.step(at, word);
        at = step.row;
        total = step.gain == kAbsent<Gain> ? kAbsent<Gain> : total + step.gain;
      }
      next_row[begin] = at;
      next_gain[begin] = total;
    }
  }

  // Add the edge of the product that the last level is the matrix of, unless no alignment is left.
  void add_edge(Index node, Index edge) {
    const auto symbols = forest_.symbols(edge);
    const std::size_t count = width(node), last = symbols.size();
    const Gain* row = level_row_.data() + last * states_;
    const Gain* gain = level_gain_.data() + last * states_;
    auto draft = fresh(node).draft();
    Gain *final_row = draft.data(), *final_gain = draft.data() + count;
    // a tail alone that only ends sentences has ended already
    const bool ended = last == 1 && begins_alike(node, edge, 0, symbols[0]) &&
                       !anchors_.behind[below(edge, symbols[0])];
    Gain top = kAbsent<Gain>;
    for (std::size_t begin = 0; begin < count; ++begin) {
      Gain total = gain[begin];
      if (!anchors_.behind[node] && !ended && total > kAbsent<Gain>) {
        const Gain ending = machine_.ending(static_cast<Index>(row[begin]));
        total = ending == kAbsent<Gain> ? kAbsent<Gain> : total + ending;
      }
      final_gain[begin] = total;
      top = std::max(top, total);
    }
    if (top == kAbsent<Gain>) return;
    for (std::size_t begin = 0; begin < count; ++begin) {
      const bool there = final_gain[begin] > kAbsent<Gain>;
      if (there) final_gain[begin] -= top;
      final_row[begin] = there && anchors_.behind[node] ? row[begin] : 0;
    }
    const auto number = static_cast<Index>(start_[node] + fresh(node).settle());
    // tails that were read as words have their constants in their own edges
    double extra = static_cast<double>(top), whole = extra;
    for (std::size_t place = 0; place < last; ++place) {
      if (symbols[place] > 0) continue;
      const double constant = pairs_[choice_[place]].constant;
      if (begins_alike(node, edge, place, symbols[place])) {
        whole += constant;
      } else {
        extra -= constant;
      }
    }
    const std::size_t arity = forest_.tails(edge).size(), at = product_.tail.size();
    product_.tail.resize(at + arity);
    for (std::size_t place = 0; place < last; ++place) {
      if (symbols[place] < 0) product_.tail[at - 1 - symbols[place]] = choice_[place];
    }
    const auto added = static_cast<Index>(product_.head.size());
    product_.tail_offset.push_back(static_cast<Index>(product_.tail.size()));
    product_.head.push_back(number);
    product_.origin.push_back(edge);
    product_.gain.push_back(extra);
    double total = aim_.sign * aim_.weight * forest_.score[edge], model = forest_.score[edge];
    for (std::size_t tail = at; tail < product_.tail.size(); ++tail) {
      total += pairs_[product_.tail[tail]].base;
      model += pairs_[product_.tail[tail]].model;
    }
    total += aim_.sign * extra;
    if (static_cast<std::size_t>(number) == pairs_.size()) {
      pairs_.push_back({total, model, whole, added});
      return;
    }
    Pair& pair = pairs_[number];
    if (total > pair.base || (total == pair.base && model > pair.model)) {
      pair.base = total;
      pair.model = model;
    }
  }

  Cells cells(Index node, Index pair) const {
    const auto matrix = fresh(node)[pair - start_[node]];
    return {matrix.first(matrix.size() / 2), matrix.last(matrix.size() / 2)};
  }

  // Choose the pairs of a node that are kept: those that not k others beat in every sentence.
  void keep_undominated(Index node, Poll& poll) {
    order_.resize(pairs_.size() - start_[node]);
    std::iota(order_.begin(), order_.end(), static_cast<Index>(start_[node]));
    chosen_ = order_;
    if (aim_.k == 0 || order_.size() <= aim_.k) return;
    std::sort(order_.begin(), order_.end(), [&](Index left, Index right) {
      const Pair &a = pairs_[left], &b = pairs_[right];
      if (a.base != b.base) return a.base > b.base;
      return a.model != b.model ? a.model > b.model : left < right;
    });
    for (const Index pair : order_) {
      for (const Gain row : cells(node, pair).row) answers_.learn(static_cast<Index>(row));
    }
    chosen_.clear();
    dispatch([&] {
      for (const Index pair : order_) {
        const std::size_t rivals = std::min(chosen_.size(), kRivals + aim_.k);
        std::size_t beaten = 0;
        for (std::size_t rival = 0; rival < rivals && beaten < aim_.k; ++rival) {
          poll();
          beaten += beats(node, chosen_[rival], pair);
        }
        if (beaten < aim_.k) chosen_.push_back(pair);
      }
    });
    std::sort(chosen_.begin(), chosen_.end());
  }

  // Whether a pair is at least as good as another in every sentence, and better or of no lower
  // model score.
  bool beats(Index node, Index rival, Index pair) const {
    const Pair &other = pairs_[rival], &mine = pairs_[pair];
    const bool strictly = other.model < mine.model;
    // the worst ones beat those that end higher
    return aim_.sign < 0 ? below(node, rival, -other.base, pair, -mine.base, strictly)
                         : below(node, pair, mine.base, rival, other.base, strictly);
  }

  // Whether one pair ends no higher than another in any sentence; lower, if it is `strictly`.
  bool below(Index node, Index low, double low_base, Index high, double high_base,
             bool strictly) const {
    const Cells mine = cells(node, low), yours = cells(node, high);
    for (std::size_t begin = 0; begin < mine.row.size(); ++begin) {
      if (mine.gain[begin] == kAbsent<Gain>) continue;
      if (yours.gain[begin] == kAbsent<Gain>) return false;
      const double ahead = (high_base + static_cast<double>(yours.gain[begin])) -
                           (low_base + static_cast<double>(mine.gain[begin]));
      const bool fits = mine.row[begin] == yours.row[begin]
                            ? (strictly ? ahead > 0.0 : ahead >= 0.0)
                            : answers_.below(static_cast<Index>(mine.row[begin]),
                                             static_cast<Index>(yours.row[begin]), ahead, strictly);
      if (!fits) return false;
    }
    return true;
  }

  // Give the chosen pairs of a node their places, drop the others with the edges into them, and
  // write down what those above will read.
  bool keep_pairs(Index node, const ForestRowBudget& budget) {
    const Index first = start_[node];
    auto& store = kept(node);
    for (const Index pair : chosen_) {
      const auto matrix = fresh(node)[pair - first];
      std::copy(matrix.begin(), matrix.end(), store.draft());
      pairs_[pair].matrix = static_cast<Index>(store.size());
      store.keep();
      if (!write_text(pairs_[pair], budget)) return false;
    }
    if (chosen_.size() < pairs_.size() - first) {
      std::vector<Index> number(pairs_.size() - first, -1);
      for (std::size_t place = 0; place < chosen_.size(); ++place) {
        number[chosen_[place] - first] = static_cast<Index>(first + place);
        pairs_[first + place] = pairs_[chosen_[place]];
      }
      pairs_.erase(pairs_.begin() + first + static_cast<Index>(chosen_.size()), pairs_.end());
      drop_edges(number, first);
    }
    start_[node + 1] = static_cast<Index>(pairs_.size());
    return true;
  }

  // Write the representative of a pair: the words of the edge that found it first.
  bool write_text(Pair& pair, const ForestRowBudget& budget) {
    const Index edge = product_.origin[pair.first_edge];
    const Index* tails = product_.tail.data() + product_.tail_offset[pair.first_edge];
    const auto symbols = forest_.symbols(edge);
    pair.text = text_.size();
    pair.words = 0;
    for (const Index symbol : symbols) {
      pair.words += symbol > 0 ? 1 : pairs_[tails[-1 - symbol]].words;
      if (text_.size() + pair.words > budget.cells) return false;
    }
    if (bytes() + 3 * (text_.size() + pair.words) * sizeof(Index) > budget.bytes) return false;
    for (const Index symbol : symbols) {
      if (symbol > 0) {
        text_.push_back(machine_.reader().class_of(symbol));
        continue;
      }
      const Pair& tail = pairs_[tails[-1 - symbol]];
      for (std::size_t word = 0; word < tail.words; ++word) {
        text_.push_back(text_[tail.text + word]);
      }
    }
    return true;
  }

  // Renumber the heads of the last node's edges; those without a number go.
  void drop_edges(std::span<const Index> number, Index first) {
    std::size_t left = first_edge_;
    auto tail = static_cast<std::size_t>(product_.tail_offset[first_edge_]);
    for (std::size_t edge = first_edge_; edge < product_.head.size(); ++edge) {
      const Index head = number[product_.head[edge] - first];
      if (head < 0) continue;
      const auto begin = product_.tail.begin() + product_.tail_offset[edge];
      const auto end = product_.tail.begin() + product_.tail_offset[edge + 1];
      tail = std::copy(begin, end, product_.tail.begin() + static_cast<std::ptrdiff_t>(tail)) -
             product_.tail.begin();
      product_.head[left] = head;
      product_.origin[left] = product_.origin[edge];
      product_.gain[left] = product_.gain[edge];
      product_.tail_offset[++left] = static_cast<Index>(tail);
    }
    product_.head.resize(left);
    product_.origin.resize(left);
    product_.gain.resize(left);
    product_.tail_offset.resize(left + 1);
    product_.tail.resize(tail);
  }

  // how many others a pair is compared with, beyond those that it takes to drop it
  static constexpr std::size_t kRivals = 64;

  const Forest& forest_;
  Machine& machine_;
  ForestRowAim aim_;
  Anchors anchors_;
  std::size_t states_;
  RowAnswers<Machine> answers_;
  // the matrices of the node that is looked at, and those of the pairs that are kept: rows, then
  // gains; nodes with words before them have as many as there are states, the others one
  Interning<Gain> wide_, narrow_;
  Blocks<Gain> wide_kept_, narrow_kept_;
  std::vector<Index> begin_row_;
  std::vector<Gain> begin_gain_;
  // the pairs of node v are start_[v] up to start_[v + 1]
  std::vector<Index> start_;
  std::vector<Pair> pairs_;
  std::vector<Index> text_, order_, chosen_, choice_;
  // the matrices before and behind each symbol of a target side
  std::vector<Gain> level_row_, level_gain_;
  std::size_t steps_ = 0, first_edge_ = 0;
  ForestRowProduct product_;
};

}  // namespace lattices
