// The items of every node of a forest, from the bottom up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "lattices/native/forest_items.hpp"
#include "lattices/native/forest_plan.hpp"

namespace lattices::forests {

// The items of all nodes.
template <class Real>
class Tables {
 public:
  // `bias`: the weighted model score of each edge, in units of the gain; none if it is empty
  Tables(const Forest& forest, const Alignment& alignment, std::span<const double> bias, Poll& poll)
      : forest_(forest),
        bias_(bias),
        matches_(alignment),
        plan_(forest, alignment, matches_, kLine<Real>, poll),
        costs_(alignment),
        quiet_(forest.num_nodes(), kWorst<Real>) {}

  // How many cells `fill` asks memory for.
  std::size_t cells() const { return plan_.cell.back(); }

  // Fill all items.
  void fill(Poll& poll) {
    memory_.make(cells());
    end_.assign(plan_.row.back(), 0);
    reach_.resize(static_cast<std::size_t>(forest_.num_nodes()) * (plan_.length + 2));
    for (Index node = 0; node < forest_.num_nodes(); ++node) {
      if (plan_.use[node] == Use::Unused) continue;
      const bool anchored = plan_.use[node] == Use::Anchored;
      // behind the last match one row stands for all
      const Index last = anchored ? 0 : plan_.matchless_from(node);
      const Items<Real> items = fill_node(node, {0, last}, poll);
      if (!anchored) shift_rows(items, last);
      note_reach(items, node);
    }
  }

  const Plan& plan() const { return plan_; }
  const Matches& matches() const { return matches_; }
  const Forest& forest() const { return forest_; }
  Items<Real> items(Index node) {
    Items<Real> items;
    items.plain = memory_.make(0) + plan_.cell[node];
    items.stride = plan_.stride;
    items.width = plan_.width[node];
    items.runs = items.plain + plan_.rows[node] * items.stride;
    items.end = end_.data() + plan_.row[node];
    items.left = plan_.left(node);
    items.right = plan_.right(node);
    return items;
  }
  // Up to which place at most the words of a node lead, from any place before the given one.
  const Index* reach(Index node) const {
    return reach_.data() + static_cast<std::size_t>(node) * (plan_.length + 2);
  }
  // What the derivations of a node without words gain.
  Real quiet(Index node) const { return quiet_[node]; }
  Real bias(Index edge) const { return bias_.empty() ? Real{0} : static_cast<Real>(bias_[edge]); }
  // What an edge gains without any word, but for its own score; kWorst if it has one.
  Real quiet_gain(Index edge) const {
    Real gain = 0;
    for (const Index symbol : forest_.symbols(edge)) {
      if (symbol > 0) return kWorst<Real>;
      gain += quiet_[forest_.tails(edge)[-1 - symbol]];
    }
    return gain;
  }
  const Costs<Real>& costs() const { return costs_; }
  // The best gain of the root, with what the last column carries for deletions.
  Real top() {
    const Items<Real> root = items(forest_.root);
    return *std::max_element(root.plain, root.plain + plan_.length + 1);
  }

 private:
  Items<Real> fill_node(Index node, const Rows& rows, Poll& poll) {
    const Items<Real> into = items(node);
    std::fill(into.plain, into.plain + (plan_.cell[node + 1] - plan_.cell[node]), kWorst<Real>);
    const auto cells = static_cast<std::size_t>(rows.last + 1) *
                       static_cast<std::size_t>(plan_.stride * plan_.order);
    for (const Index edge : forest_.incoming(node)) {
      poll(cells * (1 + forest_.symbols(edge).size()));
      quiet_[node] = std::max(quiet_[node], quiet_gain(edge) + bias(edge));
      read_edge(node, edge, rows, into);
    }
    reader_.close_runs(into, rows);
    return into;
  }

  void read_edge(Index node, Index edge, const Rows& rows, const Items<Real>& into) {
    const auto symbols = forest_.symbols(edge);
    const auto tails = forest_.tails(edge);
    const bool anywhere = plan_.use[node] == Use::Anywhere;
    bool skips = symbols.empty();
    for (const Index tail : tails) skips = skips || plan_.wordless[tail];
    Items<Real> read;
    int turn = 0;
    std::size_t at = 0;
    if (skips) {
      find_lefts(edge, anywhere, levels_[turn].left);
      levels_[turn].right = levels_[turn].left;
      reader_.read_nothing(rows, 0, levels_[turn]);
      read = levels_[turn].items;
    }
    for (; at < symbols.size(); ++at) {
      const Index symbol = symbols[at];
      const bool first = at == 0 && !skips;
      if (symbol < 0 && first) {
        read = items(tails[-1 - symbol]);
        if (!anywhere) read.left = {};
        continue;
      }
      Level<Real>& out = levels_[turn = (turn + 1) % 3];
      if (symbol > 0) {
        if (first) {
          reader_.read_first_word(rows, symbol, anywhere, out);
        } else {
          reader_.read_word(read, rows, symbol, out);
        }
        read = out.items;
        continue;
      }
      const Index tail = tails[-1 - symbol];
      const Items<Real> below = items(tail);
      if (at + 1 == symbols.size() && !skips) {
        reader_.read_last_tail(read, rows, below, reach(tail), bias(edge), into);
        return;
      }
      reader_.read_tail(read, rows, below, reach(tail), out);
      if (quiet_[tail] > kWorst<Real>) {
        Level<Real>& both = levels_[turn = (turn + 1) % 3];
        reader_.skip_tail(read, rows, quiet_[tail], out.items, both);
        read = both.items;
      } else {
        read = out.items;
      }
    }
    reader_.raise(read, rows, bias(edge), into);
  }

  // The places where the words of an edge may begin with a match.
  void find_lefts(Index edge, bool anywhere, std::vector<Index>& lefts) {
    lefts.clear();
    if (!anywhere || plan_.runs() == 0) return;
    for (const Index symbol : forest_.symbols(edge)) {
      if (symbol > 0) {
        for (const Match& match : matches_.of(symbol)) lefts.push_back(match.position);
        break;
      }
      const Index tail = forest_.tails(edge)[-1 - symbol];
      const auto left = plan_.left(tail);
      lefts.insert(lefts.end(), left.begin(), left.end());
      if (!plan_.wordless[tail]) break;
    }
    std::sort(lefts.begin(), lefts.end());
    lefts.erase(std::unique(lefts.begin(), lefts.end()), lefts.end());
  }

  // Set the rows behind `last` to the one before each, moved on by one place.
  void shift_rows(const Items<Real>& items, Index last) {
    for (Index row = last + 1; row <= plan_.length; ++row) {
      const Index known = items.row_end(row - 1);
      if (known < row) continue;
      const Index end = std::min(known + 1, plan_.length + 1);
      const Real* from = items.plain_row(row - 1);
      std::copy(from + row - 1, from + end - 1, items.plain_row(row) + row);
      items.row_end(row) = end;
    }
  }

  void note_reach(const Items<Real>& items, Index node) {
    Index* reached = reach_.data() + static_cast<std::size_t>(node) * (plan_.length + 2);
    const Index plain = std::min(plan_.rows[node], plan_.length + 1);
    reached[0] = 0;
    for (Index place = 0; place <= plan_.length; ++place) {
      reached[place + 1] = std::max(reached[place], place < plain ? items.row_end(place) : 0);
    }
  }

  const Forest& forest_;
  std::span<const double> bias_;
  Matches matches_;
  Plan plan_;
  Costs<Real> costs_;
  Cells<Real> memory_;
  std::vector<Index> end_, reach_;
  std::vector<Real> quiet_;
  Level<Real> levels_[3];
  Reader<Real> reader_{plan_, matches_, costs_};
};

}  // namespace lattices::forests
