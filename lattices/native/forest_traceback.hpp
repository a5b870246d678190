// The way down from the best items of a forest's root: the derivations that come to a value.
//
// No item has back-pointers. From the items of the root downward, edges are read again, and what
// comes to the value that is looked for is taken apart, symbol by symbol, into the states between
// the symbols and the items of the tails. An aim says what comes to the value: with `Exactly` what
// attains the gain of an item (gains are added up in the same order as they were before, so what
// was best is equal to the last bit), with `Within` what reaches a bound, given the best gain of
// all around it. What is found goes to a product of links, from which derivations are read off:
// `TiedLinks` has the one of the highest model score, `NearLinks` is a graph for the lazy k best.
//
// Items over places where nothing matches have the same derivations wherever they begin, and are
// one item here: a reference of which no word is in the forest, with which all derivations tie,
// would otherwise lead through every split of every item.
//
// Cost: O(edges x length^2) for each row of a node that is used, less where tails are few.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/forest_inside.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/kbest.hpp"
#include "lattices/native/semirings.hpp"

namespace lattices::forests {

struct Derivation {
  double model = kMinusInfinity;
  // from the top down
  std::vector<Index> edges;
};

// Links of derivations that tie. A job is the target side of an edge, read from one state of the
// machine; its links stand with the last symbol first, and lead from one of its states to another
// over one symbol, or from the last to an item. State 0 is the one before the first symbol.
class TiedLinks {
 public:
  explicit TiedLinks(std::size_t memory) : memory_(memory) {}

  Index new_item() { return items_++; }
  Index new_state() { return states_++; }
  Index first_state(double) { return 0; }
  void place(Index) {}
  void open() {
    states_ = 1;
    begin_ = links_.size();
  }
  void close(Index edge) { jobs_.push_back({edge, states_, begin_, links_.size()}); }
  void end_edge(Index item, Index state, Index) { add(state, item, kDone); }
  void read_word(Index state, Index before, Index, double) { add(before, state, kWord); }
  void read_item(Index state, Index before, Index item) { add(before, state, item); }

  // The derivation of item 0 with the highest model score.
  Derivation best(const Forest& forest, Poll& poll) {
    choose(forest, poll);
    return {model_[0], edges(forest, poll)};
  }

 private:
  // What a link reads, if not the item of a tail.
  static constexpr Index kWord = -1, kDone = -2;
  // links are numbered by 32 bits
  static constexpr std::size_t kMostLinks = (std::size_t{1} << 31) - 1;

  struct Link {
    std::int32_t from, to;
    Index what;
    // the link by which the best derivation comes to `from`
    std::int32_t via;
  };
  struct Job {
    Index edge;
    std::int32_t states;
    std::size_t begin, end;
  };

  void add(Index from, Index to, Index what) {
    if (links_.size() >= std::min(kMostLinks, memory_ / sizeof(Link))) {
      throw too_large("the ways to come to the best value, which tie,",
                      static_cast<double>(memory_), memory_);
    }
    links_.push_back({from, to, what, -1});
  }

  // Settle the items from the bottom up.
  void choose(const Forest& forest, Poll& poll) {
    model_.assign(items_, kMinusInfinity);
    chosen_.assign(items_, -1);
    std::vector<double> worth;
    std::vector<std::int32_t> by;
    for (std::size_t number = jobs_.size(); number-- > 0;) {
      poll();
      const Job& job = jobs_[number];
      worth.assign(job.states, kMinusInfinity);
      by.assign(job.states, -1);
      worth[0] = forest.score[job.edge];
      for (std::size_t at = job.end; at-- > job.begin;) {
        Link& link = links_[at];
        link.via = by[link.from];
        if (link.what == kDone) {
          if (worth[link.from] > model_[link.to]) {
            model_[link.to] = worth[link.from];
            chosen_[link.to] = static_cast<std::int32_t>(at);
          }
          continue;
        }
        const double more = link.what == kWord ? 0.0 : model_[link.what];
        if (worth[link.from] + more > worth[link.to]) {
          worth[link.to] = worth[link.from] + more;
          by[link.to] = static_cast<std::int32_t>(at);
        }
      }
    }
  }

  std::vector<Index> edges(const Forest& forest, Poll& poll) const {
    std::vector<Index> found, waiting{0}, below;
    while (!waiting.empty()) {
      poll();
      const Index link = chosen_[waiting.back()];
      waiting.pop_back();
      const auto job =
          std::upper_bound(jobs_.begin(), jobs_.end(), static_cast<std::size_t>(link),
                           [](std::size_t place, const Job& each) { return place < each.begin; });
      const Index edge = std::prev(job)->edge;
      found.push_back(edge);
      check_unfolded(forest, static_cast<double>(found.size()));
      const auto symbols = forest.symbols(edge);
      below.assign(forest.tails(edge).size(), -1);
      std::int32_t at = links_[link].via;
      for (std::size_t place = symbols.size(); place-- > 0; at = links_[at].via) {
        if (symbols[place] < 0) below[-1 - symbols[place]] = links_[at].what;
      }
      waiting.insert(waiting.end(), below.rbegin(), below.rend());
    }
    return found;
  }

  std::size_t memory_;
  Index items_ = 0, states_ = 0;
  std::size_t begin_ = 0;
  std::vector<Link> links_;
  std::vector<Job> jobs_;
  std::vector<double> model_;
  std::vector<std::int32_t> chosen_;
};

// The part of a forest's product with alignments that comes near to the best value, as a graph.
// Nodes are items and, within the target side of an edge of the forest, the states between its
// symbols. An edge is one symbol of a target side: what stands before it, then a word or an item.
// The model score of an edge of the forest stands before its first symbol. Derivations are pairs of
// a derivation of the forest and an alignment of its words: every pair that reaches the bound, and
// some that do not.
class NearLinks {
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

  explicit NearLinks(std::size_t memory) : memory_(memory) {}

  // The part of the machine whose links come next.
  void begin_part(Index part) { part_ = part; }
  Index new_item() { return nodes_++; }
  Index new_state() { return nodes_++; }
  // Nodes have to be placed from the top down, each once; they may be used before.
  void place(Index node) { top_down_.push_back(node); }
  void open() { begin_ = kNone; }
  void close(Index) {
    if (begin_ != kNone) place(begin_);
  }
  // The state before the first symbol of an edge of this model score; it is placed behind others.
  Index first_state(double score) {
    if (begin_ == kNone) {
      begin_ = nodes_++;
      add({.score = score, .head = begin_, .part = part_});
    }
    return begin_;
  }
  void end_edge(Index item, Index state, Index edge) {
    add({.head = item, .tail = {state, kNone}, .origin = edge, .part = part_});
  }
  void read_word(Index state, Index before, Index word, double gain) {
    add({.gain = gain,
         .head = state,
         .tail = {before, kNone},
         .symbol = {-1, word},
         .part = part_});
  }
  void read_item(Index state, Index before, Index item) {
    add({.head = state, .tail = {before, item}, .symbol = {-1, -2}, .part = part_});
  }
  void add(const Link& link) {
    if (links_.size() >= memory_ / kBytes) {
      throw too_large("the links of the product with the machine near the best value",
                      static_cast<double>(memory_), memory_);
    }
    links_.push_back(link);
  }
  // Sort the edges by their heads.
  void finish() {
    incoming_ = group(links_.size(), nodes_, [&](std::size_t at) { return links_[at].head; });
  }

  const Link& link(Edge edge) const { return links_[edge]; }
  Index num_nodes() const { return nodes_; }
  auto bottom_up() const { return top_down_ | std::views::reverse; }
  template <class Visit>
  void visit(Index node, Visit&& found) const {
    const auto& [offset, links] = incoming_;
    for (Index at = offset[node]; at < offset[node + 1]; ++at) found(links[at]);
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
  // of a link, of the node it leads to and of that node's best derivation
  static constexpr std::size_t kBytes = 2 * sizeof(Link);

  std::size_t memory_;
  Index nodes_ = 0, begin_ = kNone, part_ = 0;
  std::vector<Link> links_;
  Groups incoming_;
  std::vector<Index> top_down_;
};

// What attains the gain of an item. The aim at an item or a state is its own gain.
struct Exactly {
  double top;

  bool begins(double gain) const { return gain == top; }
  // the aim at an item of this gain, of which others ask for `aim`
  static double at(double gain, double) { return gain; }
  // whether `known` and then `more` come to the aim
  bool follows(double known, double more, double aim) const { return known + more == aim; }
  // what is asked of the state that gains `known`, and of the item that gains `more`
  static double before(double known, double, double) { return known; }
  static double beside(double, double more, double) { return more; }
};

// What reaches a bound. The aim at an item or a state is what all around it gains at best.
struct Within {
  double bound;
  // whether anything that does not reach the bound was left out
  bool cut = false;

  bool begins(double gain) { return follows(gain, 0.0, 0.0); }
  static double at(double, double aim) { return aim; }
  bool follows(double known, double more, double aim) {
    const double sum = known + more + aim;
    if (sum >= bound) return true;
    cut = cut || sum > kMinusInfinity;
    return false;
  }
  static double before(double, double more, double aim) { return more + aim; }
  static double beside(double known, double, double aim) { return known + aim; }
};

template <class Real, class Aim, class Links>
class Traceback {
 public:
  // `said`: the words that the symbols of the forest stand for
  Traceback(Tables<Real>& tables, std::span<const Index> said, Aim& aim, Links& links, Poll& poll)
      : tables_(tables),
        plan_(tables.plan()),
        forest_(tables.forest()),
        said_(said),
        aim_(aim),
        links_(links),
        poll_(poll),
        newest_(forest_.num_nodes(), kNone),
        earliest_(forest_.num_nodes()) {}

  // The item of all derivations that come to the aim.
  Index operator()() {
    // the items of the root are one
    const Items<Real> items = tables_.items(forest_.root);
    const Index root = links_.new_item();
    for (Index place = 0; place <= plan_.length; ++place) {
      const double gain = items.plain[place];
      if (!aim_.begins(gain)) continue;
      add_member(forest_.root, plan_.cell[forest_.root] + place, root, Aim::beside(0.0, gain, 0.0));
    }
    for (Index node = forest_.root; node >= 0; --node) {
      if (newest_[node] != kNone) expand(node);
    }
    return root;
  }

 private:
  // A cell of a node's rows, or its derivations without words, as an item.
  struct Member {
    std::size_t cell;
    Index item, next;
    double aim;
  };
  // A state between two symbols of an edge.
  struct State {
    std::size_t column;
    Index number;
    double aim;
  };

  static constexpr std::size_t kNoColumn = ~std::size_t{0};

  std::size_t columns(Index node) const { return plan_.stride + std::size_t(plan_.width[node]); }
  std::size_t quiet_cell(Index node) const { return plan_.cell.back() + node; }

  Index add_member(Index node, std::size_t cell, Index item, double aim) {
    const auto member = static_cast<Index>(members_.size());
    members_.push_back({cell, item, newest_[node], aim});
    newest_[node] = member;
    return member;
  }
  // The item of a tail, of which `aim` is asked, too.
  Index item_of(Index node, std::size_t cell, double aim) {
    const auto [found, made] = number_.try_emplace(cell, kNone);
    if (made) found.value() = add_member(node, cell, links_.new_item(), aim);
    Member& member = members_[found->second];
    member.aim = std::max(member.aim, aim);
    return member.item;
  }

  // Take all items of a node apart.
  void expand(Index node) {
    group_.clear();
    for (Index at = newest_[node]; at != kNone; at = members_[at].next) {
      group_.push_back(members_[at]);
    }
    std::ranges::sort(group_, {}, &Member::cell);
    for (const Member& member : group_) {
      links_.place(member.item);
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

  void expand_quiet(Index node, const Member& member) {
    const double own_aim = Aim::at(tables_.quiet(node), member.aim);
    for (const Index edge : forest_.incoming(node)) {
      const double gain = tables_.quiet_gain(edge), bias = tables_.bias(edge);
      if (!aim_.follows(gain, bias, own_aim)) continue;
      const auto symbols = forest_.symbols(edge);
      const auto state_at = [&](std::size_t level) {
        return level == 0 ? links_.first_state(forest_.score[edge]) : links_.new_state();
      };
      links_.open();
      Index state = state_at(symbols.size());
      links_.end_edge(member.item, state, edge);
      for (std::size_t at = symbols.size(); at-- > 0;) {
        links_.place(state);
        const Index before = state_at(at), tail = forest_.tails(edge)[-1 - symbols[at]];
        const double own = tables_.quiet(tail);
        const double aim = Aim::beside(gain - own, own, Aim::before(gain, bias, own_aim));
        links_.read_item(state, before, item_of(tail, quiet_cell(tail), aim));
        state = before;
      }
      links_.close(edge);
    }
  }

  void expand_row(Index node, Index row, std::span<const Member> members) {
    Index place = row, run = 0;
    if (row > plan_.length) {
      const Index index = row - plan_.length - 1;
      place = plan_.left(node)[index / plan_.runs()];
      run = index % plan_.runs() + 1;
    }
    Items<Real> items = tables_.items(node);
    items.plain = items.plain_row(row);
    items.runs = items.run_cells(row);
    const std::size_t first = plan_.cell[node] + row * columns(node);
    for (const Index edge : forest_.incoming(node)) {
      poll_();
      read_edge(edge, place, run);
      const std::size_t symbols = forest_.symbols(edge).size();
      const Items<Real>& last = levels_[symbols].items;
      const double bias = tables_.bias(edge);
      bool any = false;
      for (const Member& member : members) {
        const std::size_t column = member.cell - first;
        const std::size_t own = column_in(last, items.right, column);
        if (own == kNoColumn) continue;
        const double known = value(last, own), aim = Aim::at(value(items, column), member.aim);
        if (!aim_.follows(known, bias, aim)) continue;
        if (!any) begin_levels(symbols);
        any = true;
        const Index state = want(edge, symbols, own, Aim::before(known, bias, aim));
        links_.end_edge(member.item, state, edge);
      }
      if (!any) continue;
      trace(edge, place);
      links_.close(edge);
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
    links_.open();
    if (wanted_.size() <= symbols) {
      wanted_.resize(symbols + 1);
      known_.resize(symbols + 1);
    }
    for (std::size_t level = 1; level < wanted_.size(); ++level) {
      // few columns of a level are wanted: those alone are taken back
      for (const State& state : wanted_[level]) known_[level][state.column] = kNone;
      wanted_[level].clear();
      if (level > symbols) continue;
      const std::size_t columns = levels_[level].items.stride + levels_[level].items.width;
      if (known_[level].size() < columns) known_[level].resize(columns, kNone);
    }
  }
  // The number of a state, of which `aim` is asked, too; before the first symbol there is one.
  Index want(Index edge, std::size_t level, std::size_t column, double aim) {
    if (level == 0) return links_.first_state(forest_.score[edge]);
    Index& known = known_[level][column];
    if (known == kNone) {
      known = static_cast<Index>(wanted_[level].size());
      wanted_[level].push_back({column, links_.new_state(), aim});
    }
    State& state = wanted_[level][known];
    state.aim = std::max(state.aim, aim);
    return state.number;
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
        links_.place(state.number);
        if (tail == kNone) {
          trace_word(edge, at, place, state);
        } else {
          trace_tail(edge, at, place, tail, state);
        }
      }
    }
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
      if (!aim_.follows(known, gain, state.aim)) return;
      const Index from = want(edge, at, source, Aim::before(known, gain, state.aim));
      links_.read_word(state.number, from, word, gain);
    };
    Index place, run = 0;
    if (state.column < before.stride) {
      place = static_cast<Index>(state.column);
      offer(state.column, costs.stay);
      if (place > begin) offer(state.column - 1, costs.swap);
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
      if (!aim_.follows(known, inner, state.aim)) return;
      const Index item = item_of(tail, cell(), Aim::beside(known, inner, state.aim));
      const Index from = want(edge, at, source, Aim::before(known, inner, state.aim));
      links_.read_item(state.number, from, item);
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
  Aim& aim_;
  Links& links_;
  Poll& poll_;
  std::vector<Level<Real>> levels_;
  Reader<Real> reader_{plan_, tables_.matches(), tables_.costs()};
  std::vector<Step<Real>> steps_;
  std::vector<Join> joins_;
  std::vector<Index> places_;
  // the states of each level of the edge at hand, and which of them a column has
  std::vector<std::vector<State>> wanted_;
  std::vector<std::vector<Index>> known_;
  tsl::robin_map<std::size_t, Index, MixedHash> number_;
  std::vector<Member> members_, group_;
  std::vector<Index> newest_;
  std::vector<std::vector<Index>> earliest_;
};

}  // namespace lattices::forests
