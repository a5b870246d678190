// The best derivation of a forest, from the items of its nodes.
//
// No item has back-pointers. From the items of the root that have the best gain downward, edges are
// read again, and those that come to the gain of an item are taken apart, symbol by symbol, into
// the items of their tails: gains are added up in the same order as they were before, so what was
// best is equal to the last bit. Then, from the bottom up, each of these items takes the edge and
// the items below it that give the highest model score.
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
#include <span>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/forest_inside.hpp"
#include "lattices/native/interning.hpp"

namespace lattices::forests {

struct Derivation {
  double model = kMinusInfinity;
  // from the top down
  std::vector<Index> edges;
};

template <class Real>
class BestDerivation {
 public:
  BestDerivation(Tables<Real>& tables, Poll& poll)
      : tables_(tables), plan_(tables.plan()), forest_(tables.forest()), poll_(poll) {}

  Derivation find() {
    newest_.assign(forest_.num_nodes(), -1);
    earliest_.resize(forest_.num_nodes());
    begin_at_root();
    for (Index node = forest_.root; node >= 0; --node) {
      if (newest_[node] >= 0) expand(node);
    }
    choose();
    return {model_[0], edges()};
  }

 private:
  // What a link reads, if not the item of a tail.
  static constexpr Index kWord = -1, kDone = -2;
  static constexpr std::size_t kMostLinks = std::size_t{1} << 26;
  static constexpr std::size_t kMostEdges = std::size_t{1} << 27;

  // From one state of a job to another over one symbol, or from its last state to an item.
  struct Link {
    std::int32_t from, to;
    Index what;
    // the link by which the best derivation comes to `from`
    std::int32_t via;
  };
  // The target side of an edge, read from one state of the machine. Links stand with the last
  // symbol first. State 0 is the one before the first symbol.
  struct Job {
    Index edge;
    std::int32_t states;
    std::size_t begin, end;
  };
  // An item stands for a cell of a node's rows, or for its derivations without words.
  struct Member {
    std::size_t cell;
    Index item, next;
  };

  std::size_t columns(Index node) const { return plan_.stride + std::size_t(plan_.width[node]); }
  std::size_t quiet_cell(Index node) const { return plan_.cell.back() + node; }

  // The best items of the root are one, with number 0.
  void begin_at_root() {
    const Real top = tables_.top();
    const Items<Real> root = tables_.items(forest_.root);
    items_ = 1;
    for (Index place = 0; place <= plan_.length; ++place) {
      if (root.plain[place] != top) continue;
      members_.push_back({plan_.cell[forest_.root] + place, 0, newest_[forest_.root]});
      newest_[forest_.root] = static_cast<Index>(members_.size()) - 1;
    }
  }

  Index item_of(Index node, std::size_t cell) {
    const auto [found, made] = number_.try_emplace(cell, items_);
    if (made) {
      members_.push_back({cell, items_++, newest_[node]});
      newest_[node] = static_cast<Index>(members_.size()) - 1;
    }
    return found->second;
  }

  // Take all items of a node apart.
  void expand(Index node) {
    group_.clear();
    for (Index at = newest_[node]; at >= 0; at = members_[at].next) group_.push_back(members_[at]);
    std::sort(group_.begin(), group_.end(),
              [](const Member& one, const Member& other) { return one.cell < other.cell; });
    const std::size_t base = plan_.cell[node], width = columns(node);
    for (std::size_t begin = 0, end; begin < group_.size(); begin = end) {
      end = begin + 1;
      if (group_[begin].cell >= plan_.cell.back()) {
        expand_quiet(node, group_[begin].item);
        continue;
      }
      const std::size_t row = (group_[begin].cell - base) / width;
      while (end < group_.size() && group_[end].cell < base + (row + 1) * width) ++end;
      expand_row(node, static_cast<Index>(row),
                 std::span<const Member>(group_).subspan(begin, end - begin));
    }
  }

  void expand_quiet(Index node, Index item) {
    for (const Index edge : forest_.incoming(node)) {
      if (tables_.quiet_gain(edge) + tables_.bias(edge) != tables_.quiet(node)) continue;
      const auto symbols = forest_.symbols(edge);
      const auto count = static_cast<std::int32_t>(symbols.size());
      const std::size_t begin = links_.size();
      add_link(count, item, kDone);
      for (std::int32_t at = count; at-- > 0;) {
        const Index tail = forest_.tails(edge)[-1 - symbols[at]];
        add_link(at, at + 1, item_of(tail, quiet_cell(tail)));
      }
      jobs_.push_back({edge, count + 1, begin, links_.size()});
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
      const std::size_t begin = links_.size();
      states_ = 1;
      for (std::vector<Wanted>& each : wanted_) each.clear();
      const Items<Real>& last = levels_[symbols].items;
      for (const Member& member : members) {
        const std::size_t column = member.cell - first;
        const Real gain = column < items.stride ? items.plain_row(row)[column]
                                                : items.run_cells(row)[column - items.stride];
        const std::size_t own = column_in(last, items.right, column);
        if (own == kNoColumn || value(last, own) + tables_.bias(edge) != gain) continue;
        add_link(want(symbols, own), member.item, kDone);
      }
      if (links_.size() == begin) continue;
      trace(edge, place);
      jobs_.push_back({edge, states_, begin, links_.size()});
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

  // Follow the wanted states of all levels back to the first one.
  void trace(Index edge, Index place) {
    const auto symbols = forest_.symbols(edge);
    for (std::size_t at = symbols.size(); at-- > 0;) {
      const Items<Real>& after = levels_[at + 1].items;
      const Items<Real>& before = levels_[at].items;
      const Index tail = symbols[at] < 0 ? forest_.tails(edge)[-1 - symbols[at]] : -1;
      if (tail < 0) {
        find_steps(tables_.matches().of(symbols[at]), plan_.runs(), before.right, steps_, places_);
      } else {
        find_joins(plan_, before.right, plan_.left(tail), joins_);
      }
      for (const Wanted& each : wanted_[at + 1]) {
        const Real gain = value(after, each.column);
        if (tail < 0) {
          trace_word(at, place, each, gain);
        } else {
          trace_tail(at, place, tail, each, gain);
        }
      }
    }
  }

  static constexpr std::size_t kNoColumn = ~std::size_t{0};

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

  struct Wanted {
    std::size_t column;
    std::int32_t state;
  };
  // The number of a state of the job at hand; before the first symbol there is one.
  std::int32_t want(std::size_t level, std::size_t column) {
    if (level == 0) return 0;
    if (wanted_.size() <= level) wanted_.resize(level + 1);
    for (const Wanted& each : wanted_[level]) {
      if (each.column == column) return each.state;
    }
    wanted_[level].push_back({column, states_});
    return states_++;
  }

  void add_link(std::int32_t from, std::int32_t to, Index what) {
    if (links_.size() == kMostLinks) {
      throw engine_error("more than " + std::to_string(kMostLinks) +
                         " ways to come to the best value tie");
    }
    links_.push_back({from, to, what, -1});
  }

  void trace_word(std::size_t at, Index begin, const Wanted& wanted, Real gain) {
    const std::size_t column = wanted.column;
    const Items<Real>& before = levels_[at].items;
    const Costs<Real>& costs = tables_.costs();
    const auto link = [&](std::size_t source) { add_link(want(at, source), wanted.state, kWord); };
    Index place, run = 0;
    if (column < before.stride) {
      place = static_cast<Index>(column);
      if (before.plain[place] + costs.stay == gain) link(column);
      if (place > begin && before.plain[place - 1] + costs.move == gain) link(column - 1);
    } else {
      const std::size_t index = (column - before.stride) / plan_.runs();
      place = levels_[at + 1].right[index];
      run = static_cast<Index>((column - before.stride) % plan_.runs()) + 1;
    }
    for (const Step<Real>& step : steps_) {
      if (step.position + 1 != place) continue;
      for (Index known = 0; known < plan_.order; ++known) {
        if (run != 0 && std::min(known + 1, plan_.runs()) != run) continue;
        const Real more = costs.match(step.weight, known);
        if (known > 0) {
          if (step.source < 0) break;
          const std::size_t source = step.source * plan_.runs() + known - 1;
          if (before.runs[source] + more == gain) link(before.stride + source);
          continue;
        }
        // deletions, from wherever the gain is highest
        const Real* places = before.plain;
        const Real best = *std::max_element(places + begin, places + step.position + 1);
        if (best + more != gain) continue;
        for (Index source = begin; source <= step.position; ++source) {
          if (places[source] == best) link(source);
        }
      }
    }
  }

  void trace_tail(std::size_t at, Index begin, Index tail, const Wanted& wanted, Real gain) {
    const auto [column, state] = wanted;
    const Items<Real>& before = levels_[at].items;
    const Items<Real> below = tables_.items(tail);
    const std::size_t own = column_in(below, levels_[at + 1].right, column);
    if (own != kNoColumn) {
      const bool plain = own < below.stride;
      const Real* cells = plain ? below.plain + own : below.runs + (own - below.stride);
      const std::size_t step = plain ? below.stride : below.width;
      const Index last =
          std::min({before.row_end(begin), std::min(plan_.rows[tail], plan_.length + 1),
                    plain ? static_cast<Index>(own) + 1 : plan_.length + 1});
      for (Index place = begin; place < last; ++place) {
        if (before.plain[place] + cells[place * step] != gain) continue;
        if (before.plain[place] == kWorst<Real>) continue;
        add_link(want(at, place), state, item_of(tail, cell_of(tail, place, own, plain)));
      }
      for (const Join& join : joins_) {
        const Real known = before.runs[join.column];
        if (known == kWorst<Real> || known + cells[join.row * step] != gain) continue;
        const std::size_t cell = plan_.cell[tail] + join.row * columns(tail) + own;
        add_link(want(at, before.stride + join.column), state, item_of(tail, cell));
      }
    }
    const Real quiet = tables_.quiet(tail);
    if (quiet == kWorst<Real>) return;
    const std::size_t same = column_in(before, levels_[at + 1].right, column);
    if (same != kNoColumn && value(before, same) + quiet == gain) {
      add_link(want(at, same), state, item_of(tail, quiet_cell(tail)));
    }
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

  // Settle the items from the bottom up.
  void choose() {
    model_.assign(items_, kMinusInfinity);
    chosen_.assign(items_, -1);
    std::vector<double> worth;
    std::vector<std::int32_t> by;
    for (std::size_t number = jobs_.size(); number-- > 0;) {
      poll_();
      const Job& job = jobs_[number];
      worth.assign(job.states, kMinusInfinity);
      by.assign(job.states, -1);
      worth[0] = forest_.score[job.edge];
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

  std::vector<Index> edges() {
    std::vector<Index> found, waiting{0}, below;
    while (!waiting.empty()) {
      poll_();
      const Index link = chosen_[waiting.back()];
      waiting.pop_back();
      const auto job =
          std::upper_bound(jobs_.begin(), jobs_.end(), static_cast<std::size_t>(link),
                           [](std::size_t place, const Job& each) { return place < each.begin; });
      const Index edge = std::prev(job)->edge;
      if (found.size() == kMostEdges) {
        throw engine_error("the best derivation has more than " + std::to_string(kMostEdges) +
                           " edges");
      }
      found.push_back(edge);
      const auto symbols = forest_.symbols(edge);
      below.assign(forest_.tails(edge).size(), -1);
      std::int32_t at = links_[link].via;
      for (std::size_t place = symbols.size(); place-- > 0; at = links_[at].via) {
        if (symbols[place] < 0) below[-1 - symbols[place]] = links_[at].what;
      }
      waiting.insert(waiting.end(), below.rbegin(), below.rend());
    }
    return found;
  }

  Tables<Real>& tables_;
  const Plan& plan_;
  const Forest& forest_;
  Poll& poll_;
  std::vector<Level<Real>> levels_;
  Reader<Real> reader_{plan_, tables_.matches(), tables_.costs()};
  std::vector<Step<Real>> steps_;
  std::vector<Join> joins_;
  std::vector<Index> places_;
  std::vector<std::vector<Wanted>> wanted_;
  std::int32_t states_ = 0;
  tsl::robin_map<std::size_t, Index, MixedHash> number_;
  std::vector<Member> members_, group_;
  std::vector<Index> newest_;
  std::vector<std::vector<Index>> earliest_;
  Index items_ = 0;
  std::vector<Link> links_;
  std::vector<Job> jobs_;
  std::vector<double> model_;
  std::vector<std::int32_t> chosen_;
};

}  // namespace lattices::forests
