// The part of a forest's product with alignments that comes near to the best value.
//
// The way down is that of BestDerivation, with slack: an item is followed if some derivation
// through it reaches a bound, not only if it has the best value. What the item itself gains at best
// stands in the tables; what all around it gains at best is carried from the top down. The links
// are the edges of a hypergraph, whose derivations are pairs of a derivation of the forest and an
// alignment of its words. It has every pair that reaches the bound, and some that do not.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <span>
#include <vector>

#include "lattices/native/forest_inside.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/kbest.hpp"

namespace lattices::forests {

// Thrown where a product has more edges than it may.
struct TooManyLinks {};

// The hypergraph. Nodes are items and, within the target side of an edge of the forest, the states
// between its symbols. An edge is one symbol of a target side: what stands before it, then a word
// or an item. The model score of an edge of the forest stands before its first symbol.
class NearProduct {
 public:
  using Edge = Index;
  static constexpr bool linear = false;

  struct Link {
    double gain = 0.0, score = 0.0;
    Index head = kNone;
    Index tail[2] = {kNone, kNone};
    // a word, the second tail, or nothing
    Index symbol[2] = {-1, 0};
    // the edge of the forest that ends here, and the part of the machine
    Index origin = kNone, part = 0;
  };

  explicit NearProduct(std::size_t most_links) : most_(most_links) {}

  // Nodes have to be placed from the top down, each once; they may be used before.
  Index new_node() { return nodes_++; }
  void place(Index node) { top_down_.push_back(node); }
  void add(const Link& link) {
    if (links_.size() == most_) throw TooManyLinks{};
    links_.push_back(link);
  }
  // Sort the edges by their heads.
  void finish() {
    offset_.assign(nodes_ + std::size_t{1}, 0);
    for (const Link& link : links_) ++offset_[link.head + 1];
    for (Index node = 0; node < nodes_; ++node) offset_[node + 1] += offset_[node];
    incoming_.resize(links_.size());
    std::vector<Index> next(offset_.begin(), offset_.end() - 1);
    for (std::size_t at = 0; at < links_.size(); ++at) {
      incoming_[next[links_[at].head]++] = static_cast<Index>(at);
    }
  }

  const Link& link(Edge edge) const { return links_[edge]; }
  Index num_nodes() const { return nodes_; }
  auto bottom_up() const { return top_down_ | std::views::reverse; }
  template <class Visit>
  void visit(Index node, Visit&& found) const {
    for (Index at = offset_[node]; at < offset_[node + 1]; ++at) found(incoming_[at]);
  }
  std::span<const Index> tails(const Edge& edge) const {
    const auto& tail = links_[edge].tail;
    return std::span(tail).first((tail[0] != kNone) + (tail[1] != kNone));
  }
  std::span<const Index> symbols(const Edge& edge) const {
    const Link& link = links_[edge];
    if (link.tail[0] == kNone) return {};
    return std::span(link.symbol).first(link.symbol[1] == 0 ? 1 : 2);
  }
  double weight(const Edge& edge) const { return links_[edge].score; }

 private:
  std::size_t most_;
  Index nodes_ = 0;
  std::vector<Link> links_;
  std::vector<Index> offset_, incoming_, top_down_;
};

// Finds what reaches a bound of the product with one part of a machine.
template <class Real>
class NearSearch {
 public:
  // `said`: the words that the symbols of the forest stand for
  NearSearch(Tables<Real>& tables, std::span<const Index> said, Index part, NearProduct& product,
             Poll& poll)
      : tables_(tables),
        plan_(tables.plan()),
        forest_(tables.forest()),
        said_(said),
        part_(part),
        product_(product),
        poll_(poll) {}

  // The node of all derivations that gain at least `bound`, in the numbers of the tables.
  Index find(double bound) {
    bound_ = bound;
    newest_.assign(forest_.num_nodes(), kNone);
    earliest_.resize(forest_.num_nodes());
    const Index root = begin_at_root();
    for (Index node = forest_.root; node >= 0; --node) {
      if (newest_[node] != kNone) expand(node);
    }
    return root;
  }
  // Whether anything that does not reach the bound was left out.
  bool cut() const { return cut_; }

 private:
  using Link = NearProduct::Link;

  // A cell of a node's rows, or its derivations without words, as a node of the product. `outer` is
  // what all around it gains at best.
  struct Member {
    std::size_t cell;
    Index item, next;
    double outer;
  };
  // A state between two symbols of an edge, with what all around gains at best.
  struct State {
    std::size_t column;
    Index node;
    double outer;
  };

  static constexpr std::size_t kNoColumn = ~std::size_t{0};

  std::size_t columns(Index node) const { return plan_.stride + std::size_t(plan_.width[node]); }
  std::size_t quiet_cell(Index node) const { return plan_.cell.back() + node; }

  // Whether a sum reaches the bound; if not, it is left out.
  bool reaches(double inner, double outer) {
    if (inner == kMinusInfinity) return false;
    if (inner + outer >= bound_) return true;
    cut_ = true;
    return false;
  }

  // The cells of the root are one item.
  Index begin_at_root() {
    const Items<Real> items = tables_.items(forest_.root);
    const Index root = product_.new_node();
    for (Index place = 0; place <= plan_.length; ++place) {
      if (reaches(items.plain[place], 0.0)) {
        add_member(forest_.root, plan_.cell[forest_.root] + place, root);
      }
    }
    return root;
  }
  Index add_member(Index node, std::size_t cell, Index item) {
    const auto member = static_cast<Index>(members_.size());
    members_.push_back({cell, item, newest_[node], node == forest_.root ? 0.0 : kMinusInfinity});
    newest_[node] = member;
    return member;
  }
  // The item of a tail, and that `outer` may stand around it.
  Index item_of(Index node, std::size_t cell, double outer) {
    const auto [found, made] = number_.try_emplace(cell, kNone);
    if (made) found.value() = add_member(node, cell, product_.new_node());
    Member& member = members_[found->second];
    member.outer = std::max(member.outer, outer);
    return member.item;
  }

  void expand(Index node) {
    group_.clear();
    for (Index at = newest_[node]; at != kNone; at = members_[at].next) {
      group_.push_back(members_[at]);
    }
    std::ranges::sort(group_, {}, &Member::cell);
    for (const Member& member : group_) {
      product_.place(member.item);
      if (node == forest_.root) break;
    }
    const std::size_t base = plan_.cell[node], width = columns(node);
    for (std::size_t begin = 0, end; begin < group_.size(); begin = end) {
      end = begin + 1;
      if (group_[begin].cell >= plan_.cell.back()) {
        expand_quiet(node, group_[begin]);
        continue;
      }
      const std::size_t row = (group_[begin].cell - base) / width;
      while (end < group_.size() && group_[end].cell < base + (row + 1) * width) ++end;
      expand_row(node, static_cast<Index>(row),
                 std::span<const Member>(group_).subspan(begin, end - begin));
    }
  }

  // The state before the first symbol of an edge; it is placed behind all others.
  Index begin_edge(Index edge) {
    const Index begin = product_.new_node();
    Link link = link_to(begin, kNone);
    link.score = forest_.score[edge];
    product_.add(link);
    return begin;
  }
  Link link_to(Index head, Index before) const {
    Link link;
    link.head = head;
    link.tail[0] = before;
    link.part = part_;
    return link;
  }
  void end_edge(Index item, Index state, Index edge) {
    Link link = link_to(item, state);
    link.origin = edge;
    product_.add(link);
  }
  void read_item(Index head, Index before, Index item) {
    Link link = link_to(head, before);
    link.tail[1] = item;
    link.symbol[1] = -2;
    product_.add(link);
  }

  void expand_quiet(Index node, const Member& member) {
    for (const Index edge : forest_.incoming(node)) {
      const double gain = tables_.quiet_gain(edge);
      const double outer = tables_.bias(edge) + member.outer;
      if (!reaches(gain, outer)) continue;
      const auto symbols = forest_.symbols(edge);
      states_.clear();
      for (std::size_t at = 0; at < symbols.size(); ++at) states_.push_back(product_.new_node());
      Index before = begin_edge(edge);
      const Index begin = before;
      for (std::size_t at = 0; at < symbols.size(); ++at) {
        const Index tail = forest_.tails(edge)[-1 - symbols[at]];
        const double rest = gain - tables_.quiet(tail) + outer;
        read_item(states_[at], before, item_of(tail, quiet_cell(tail), rest));
        before = states_[at];
      }
      end_edge(member.item, before, edge);
      for (const Index state : states_ | std::views::reverse) product_.place(state);
      product_.place(begin);
    }
  }

  void expand_row(Index node, Index row, std::span<const Member> members) {
    Index place = row, run = 0;
    if (row > plan_.length) {
      const Index index = row - plan_.length - 1;
      place = plan_.left(node)[index / plan_.runs()];
      run = index % plan_.runs() + 1;
    }
    const Items<Real> items = tables_.items(node);
    const std::size_t first = plan_.cell[node] + row * columns(node);
    for (const Index edge : forest_.incoming(node)) {
      poll_();
      read_edge(edge, place, run);
      const std::size_t symbols = forest_.symbols(edge).size();
      begin_levels(symbols);
      const Items<Real>& last = levels_[symbols].items;
      bool any = false;
      for (const Member& member : members) {
        const std::size_t own = column_in(last, items.right, member.cell - first);
        const double outer = tables_.bias(edge) + member.outer;
        if (own == kNoColumn || !reaches(value(last, own), outer)) continue;
        any = true;
        end_edge(member.item, want(edge, symbols, own, outer), edge);
      }
      if (any) trace(edge, place);
    }
  }

  // Read the target side of an edge from one state; level k has read k symbols.
  void read_edge(Index edge, Index place, Index run) {
    const auto symbols = forest_.symbols(edge);
    if (levels_.size() < 2 * symbols.size() + 2) levels_.resize(2 * symbols.size() + 2);
    const Rows rows{place, place};
    levels_[0].right.clear();
    reader_.read_nothing(rows, run, levels_[0]);
    for (std::size_t at = 0; at < symbols.size(); ++at) {
      const Items<Real>& read = levels_[at].items;
      if (symbols[at] > 0) {
        reader_.read_word(read, rows, symbols[at], levels_[at + 1]);
        continue;
      }
      const Index tail = forest_.tails(edge)[-1 - symbols[at]];
      const bool skips = tables_.quiet(tail) > kWorst<Real>;
      Level<Real>& out = levels_[skips ? symbols.size() + 1 + at : at + 1];
      reader_.read_tail(read, rows, tables_.items(tail), tables_.reach(tail), out);
      if (skips) reader_.skip_tail(read, rows, tables_.quiet(tail), out.items, levels_[at + 1]);
    }
  }

  void begin_levels(std::size_t symbols) {
    begin_ = kNone;
    if (wanted_.size() <= symbols) {
      wanted_.resize(symbols + 1);
      known_.resize(symbols + 1);
    }
    for (std::size_t level = 1; level <= symbols; ++level) {
      const Items<Real>& items = levels_[level].items;
      wanted_[level].clear();
      known_[level].assign(items.stride + items.width, kNone);
    }
  }
  // The node of a state, and that `outer` may stand around it; before the first symbol there is
  // one.
  Index want(Index edge, std::size_t level, std::size_t column, double outer) {
    if (level == 0) {
      if (begin_ == kNone) begin_ = begin_edge(edge);
      return begin_;
    }
    Index& known = known_[level][column];
    if (known == kNone) {
      known = static_cast<Index>(wanted_[level].size());
      wanted_[level].push_back({column, product_.new_node(), outer});
    }
    State& state = wanted_[level][known];
    state.outer = std::max(state.outer, outer);
    return state.node;
  }

  // Follow the states of all levels back to the first one.
  void trace(Index edge, Index place) {
    const auto symbols = forest_.symbols(edge);
    for (std::size_t at = symbols.size(); at-- > 0;) {
      const Items<Real>& before = levels_[at].items;
      const Index tail = symbols[at] < 0 ? forest_.tails(edge)[-1 - symbols[at]] : kNone;
      if (tail == kNone) {
        find_steps(tables_.matches().of(symbols[at]), plan_.runs(), before.right, steps_, places_);
      } else {
        find_joins(plan_, before.right, plan_.left(tail), joins_);
      }
      for (const State& state : wanted_[at + 1]) {
        product_.place(state.node);
        if (tail == kNone) {
          trace_word(edge, at, place, state);
        } else {
          trace_tail(edge, at, place, tail, state);
        }
      }
    }
    if (begin_ != kNone) product_.place(begin_);
  }

  Real value(const Items<Real>& items, std::size_t column) const {
    return column < items.stride ? items.plain[column] : items.runs[column - items.stride];
  }
  // The column of other items for the same state; kNoColumn if they have none.
  std::size_t column_in(const Items<Real>& items, std::span<const Index> right,
                        std::size_t column) const {
    if (column < items.stride) return column;
    const std::size_t index = (column - items.stride) / plan_.runs();
    const auto found = std::lower_bound(items.right.begin(), items.right.end(), right[index]);
    if (found == items.right.end() || *found != right[index]) return kNoColumn;
    const std::size_t run = (column - items.stride) % plan_.runs();
    return items.stride + (found - items.right.begin()) * plan_.runs() + run;
  }

  void trace_word(Index edge, std::size_t at, Index begin, const State& state) {
    const Items<Real>& before = levels_[at].items;
    const Costs<Real>& costs = tables_.costs();
    const Index word = said_[forest_.symbol_offset[edge] + at];
    const auto offer = [&](std::size_t source, double gain) {
      const double known = value(before, source);
      if (!reaches(known + gain, state.outer)) return;
      Link link = link_to(state.node, want(edge, at, source, gain + state.outer));
      link.symbol[1] = word;
      link.gain = gain;
      product_.add(link);
    };
    Index place, run = 0;
    if (state.column < before.stride) {
      place = static_cast<Index>(state.column);
      offer(state.column, costs.stay);
      if (place > begin) offer(state.column - 1, costs.move);
    } else {
      const std::size_t index = (state.column - before.stride) / plan_.runs();
      place = levels_[at + 1].right[index];
      run = static_cast<Index>((state.column - before.stride) % plan_.runs()) + 1;
    }
    for (const Step<Real>& step : steps_) {
      if (step.position + 1 != place) continue;
      for (Index known = 0; known < plan_.order; ++known) {
        if (run != 0 && std::min(known + 1, plan_.runs()) != run) continue;
        const double more = costs.match(step.weight, known);
        if (known > 0) {
          if (step.source < 0) break;
          offer(before.stride + step.source * plan_.runs() + known - 1, more);
        } else {
          // deletions are made just before a match
          for (Index source = begin; source <= step.position; ++source) offer(source, more);
        }
      }
    }
  }

  void trace_tail(Index edge, std::size_t at, Index begin, Index tail, const State& state) {
    const Items<Real>& before = levels_[at].items;
    const Items<Real> below = tables_.items(tail);
    const auto offer = [&](std::size_t source, double inner, auto&& cell) {
      const double known = value(before, source);
      if (inner == kMinusInfinity || !reaches(known + inner, state.outer)) return;
      const Index item = item_of(tail, cell(), known + state.outer);
      read_item(state.node, want(edge, at, source, inner + state.outer), item);
    };
    const std::size_t own = column_in(below, levels_[at + 1].right, state.column);
    if (own != kNoColumn) {
      const bool plain = own < below.stride;
      const Real* cells = plain ? below.plain + own : below.runs + (own - below.stride);
      const std::size_t step = plain ? below.stride : below.width;
      const Index last =
          std::min({before.row_end(begin), std::min(plan_.rows[tail], plan_.length + 1),
                    plain ? static_cast<Index>(own) + 1 : plan_.length + 1});
      for (Index place = begin; place < last; ++place) {
        offer(place, cells[place * step], [&] { return cell_of(tail, place, own, plain); });
      }
      for (const Join& join : joins_) {
        offer(before.stride + join.column, cells[join.row * step],
              [&] { return plan_.cell[tail] + join.row * columns(tail) + own; });
      }
    }
    const std::size_t same = column_in(before, levels_[at + 1].right, state.column);
    if (tables_.quiet(tail) == kWorst<Real> || same == kNoColumn) return;
    offer(same, tables_.quiet(tail), [&] { return quiet_cell(tail); });
  }

  // The cell of a tail's item: of all those that are the same but for their place, the first.
  std::size_t cell_of(Index tail, Index place, std::size_t column, bool plain) {
    if (plain) {
      const Index covered = static_cast<Index>(column) - place;
      const Index matched = plan_.touched.next(tail, place);
      if (matched < 0 || matched >= place + covered) {
        const Index origin = earliest(tail, covered);
        return plan_.cell[tail] + origin * columns(tail) + origin + covered;
      }
    }
    return plan_.cell[tail] + place * columns(tail) + column;
  }
  // The first place from which on no word of a node matches, over so many places.
  Index earliest(Index node, Index covered) {
    std::vector<Index>& known = earliest_[node];
    if (known.empty()) {
      known.reserve(plan_.length + 1);
      for (Index place = 0; place <= plan_.length; ++place) {
        const Index matched = plan_.touched.next(node, place);
        const Index span = (matched < 0 ? plan_.length : matched) - place;
        while (static_cast<Index>(known.size()) <= span) known.push_back(place);
      }
    }
    return known[covered];
  }

  Tables<Real>& tables_;
  const Plan& plan_;
  const Forest& forest_;
  std::span<const Index> said_;
  Index part_;
  NearProduct& product_;
  Poll& poll_;
  double bound_ = kMinusInfinity;
  bool cut_ = false;
  std::vector<Level<Real>> levels_;
  Reader<Real> reader_{plan_, tables_.matches(), tables_.costs()};
  std::vector<Step<Real>> steps_;
  std::vector<Join> joins_;
  std::vector<Index> places_, states_;
  // the states of each level of the edge at hand, and which of them a column has
  std::vector<std::vector<State>> wanted_;
  std::vector<std::vector<Index>> known_;
  // the state before its first symbol
  Index begin_ = kNone;
  tsl::robin_map<std::size_t, Index, MixedHash> number_;
  std::vector<Member> members_, group_;
  std::vector<Index> newest_;
  std::vector<std::vector<Index>> earliest_;
};

}  // namespace lattices::forests
