// Items of a forest's intersection with an alignment, and how they follow from shorter ones.
//
// Let G(s; i, m; j, n) be the best gain with which the symbols s lead from state (i, m) to (j, n).
// By the recurrence of alignments.hpp, with weights w and costs a and b:
//
//   G(s word; r; j, 0)                 = max( G(s; r; j, 0) - a,  G(s; r; j-1, 0) + b )
//   G(s word; r; j+1, min(m+1, n-1))   = max over m of  G'(s; r; j, m) + (m+1) w(word, j+1) + b
//   G(s tail; r; c)                    = max over q of  G(s; r; q) + G(tail; q; c)
//
// where G'(s; r; j, 0) = max over i <= j of G(s; r; i, 0), G' = G for m > 0, and every (j, m) may
// be forgotten at no cost: G(..; j, 0) >= G(..; j, m). Column j carries j b more than its gain.
// That makes deletions free; they are made just before a match, or at the end of the sentence, and
// nowhere else: every alignment has one of that kind with the same operations, and ties are fewer.
//
// A tail costs a product of two matrices under max and plus, of which only the upper triangle is
// there: O(length^3 / lanes), but a row ends at the last place that its words can reach.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/forest_plan.hpp"
#include "lattices/native/scratch.hpp"
#include "lattices/native/vectors.hpp"

namespace lattices::forests {

template <class Real>
inline constexpr Index kLine = 64 / sizeof(Real);

// Memory in whole cache lines that is not filled, with one line in front: a step looks at the cell
// before the first.
template <class Real>
class Cells {
 public:
  Real* make(std::size_t count) {
    if (count + kLine<Real> > room_.size()) {
      std::fill_n(room_.make(count + kLine<Real>), kLine<Real>, kWorst<Real>);
    }
    return room_.data() + kLine<Real>;
  }

 private:
  Room<Real> room_;
};

// The items of some symbols: rows are states before them, columns states behind them. Row i is
// (i, 0); the rows of runs stand as Plan::run_row says. All cells of a row are there, kWorst where
// there is no item.
template <class Real>
struct Items {
  Real* plain = nullptr;  // rows x stride: the columns (j, 0)
  Real* runs = nullptr;   // rows x width: order - 1 columns for each of `right`
  Index* end = nullptr;   // of each row, the place behind the last one with an item
  std::size_t stride = 0, width = 0;
  std::span<const Index> left = {}, right = {};
  Index origin = 0;  // the first row that is kept

  Real* plain_row(Index row) const { return plain + (row - origin) * stride; }
  Real* run_cells(Index row) const { return runs + (row - origin) * width; }
  Index& row_end(Index row) const { return end[row - origin]; }
};

// The rows that are computed: those whose state stands in first..last. All places of runs are among
// them: no word of a node matches behind its last row, and a row that is read alone has none.
struct Rows {
  Index first, last;
};

// Items that belong to no node: those of the first symbols of an edge.
template <class Real>
struct Level {
  Items<Real> items;
  std::vector<Index> left, right;

  // Make place for so many rows from `origin` on, with the columns of `right`.
  void shape(const Plan& plan, std::size_t rows, Index origin) {
    const std::size_t columns = right.size() * plan.runs();
    items.stride = plan.stride;
    items.width = (columns + kLine<Real> - 1) / kLine<Real> * kLine<Real>;
    items.plain = plain_.make(rows * items.stride);
    items.runs = runs_.make(rows * items.width);
    if (end_.size() < rows) end_.resize(rows);
    items.end = end_.data();
    items.left = left;
    items.right = right;
    items.origin = origin;
  }

 private:
  Cells<Real> plain_, runs_;
  std::vector<Index> end_;
};

// What a machine says about one word. No substitutions where an insertion costs no more: it leaves
// more of the reference to what follows; `swap` is kWorst then.
template <class Real>
struct Costs : AlignmentCosts<Real> {
  Real swap;

  explicit Costs(const Alignment& alignment)
      : AlignmentCosts<Real>(alignment),
        swap(-alignment.insertion < alignment.deletion ? this->move : kWorst<Real>) {}
};

// How a word moves runs of matches: from the runs of number `source` before it, or -1 for none, to
// those of number `target` behind it.
template <class Real>
struct Step {
  Index position, source, target;
  Real weight;
};

// List the steps of a word after items with runs at some places, and the places of runs behind it.
template <class Real>
void find_steps(std::span<const Match> matches, Index runs, std::span<const Index> before,
                std::vector<Step<Real>>& steps, std::vector<Index>& right) {
  steps.clear();
  right.clear();
  std::size_t index = 0;
  for (const Match& each : matches) {
    bool known = false;
    if (runs > 0) {
      while (index < before.size() && before[index] < each.position) ++index;
      known = index < before.size() && before[index] == each.position;
      if (right.empty() || right.back() != each.position + 1) right.push_back(each.position + 1);
    }
    steps.push_back({each.position, known ? static_cast<Index>(index) : -1,
                     static_cast<Index>(right.size()) - 1, static_cast<Real>(each.weight)});
  }
}

// A state with a run that stands both behind some items and before those of a tail: a column of
// the former, a row of the latter.
struct Join {
  Index place;
  std::size_t column;
  Index row;
};

inline void find_joins(const Plan& plan, std::span<const Index> right, std::span<const Index> left,
                       std::vector<Join>& joins) {
  joins.clear();
  for (std::size_t one = 0, other = 0; one < right.size() && other < left.size();) {
    if (right[one] < left[other]) {
      ++one;
    } else if (left[other] < right[one]) {
      ++other;
    } else {
      for (Index run = 1; run <= plan.runs(); ++run) {
        joins.push_back({right[one], one * plan.runs() + run - 1, plan.run_row(other, run)});
      }
      ++one;
      ++other;
    }
  }
}

// Reads symbols, by the recurrences above, for many rows at once.
template <class Real>
class Reader {
 public:
  Reader(const Plan& plan, const Matches& matches, const Costs<Real>& costs)
      : plan_(plan),
        matches_(matches),
        length_(plan.length),
        runs_(plan.order - 1),
        costs_(costs) {}

  // No symbols: every state leads to itself. `run`: the one row is (first, run), not (first, 0).
  void read_nothing(const Rows& rows, Index run, Level<Real>& out) {
    if (run > 0) out.right.assign(1, rows.first);
    shape(rows, out);
    const auto read = [&](Index row, Index begin, Index own_run) {
      clear_row(out.items, row);
      out.items.plain_row(row)[begin] = 0;
      out.items.row_end(row) = begin + 1;
      if (own_run == 0) return;
      const auto found = std::lower_bound(out.right.begin(), out.right.end(), begin);
      const auto index = static_cast<Index>(found - out.right.begin());
      out.items.run_cells(row)[index * runs_ + own_run - 1] = 0;
    };
    if (run > 0) {
      read(rows.first, rows.first, run);
    } else {
      each_row(rows, out.left, read);
    }
  }

  // One word and nothing before it. The rows of runs are those that it matches in, if `anywhere`.
  void read_first_word(const Rows& rows, Index word, bool anywhere, Level<Real>& out) {
    find_steps<Real>(matches_.of(word), runs_, {}, steps_, out.right);
    out.left.clear();
    if (anywhere) {
      for (const Index place : out.right) out.left.push_back(place - 1);
    }
    shape(rows, out);
    each_row(rows, out.left, [&](Index row, Index begin, Index run) {
      Real* plain = out.items.plain_row(row);
      Real* runs = out.items.run_cells(row);
      clear_row(out.items, row);
      plain[begin] = costs_.stay;
      Index end = begin + 1;
      if (costs_.swap > kWorst<Real> && end <= length_) plain[end++] = costs_.swap;
      for (const Step<Real>& step : steps_) {
        if (step.position < begin) continue;
        end = std::max(end, step.position + 2);
        Real* forgotten = plain + step.position + 1;
        match(Real{0}, 0, step, forgotten, runs);
        if (run > 0 && step.position == begin) match(Real{0}, run, step, forgotten, runs);
      }
      out.items.row_end(row) = end;
    });
  }

  // One word more.
  void read_word(const Items<Real>& in, const Rows& rows, Index word, Level<Real>& out) {
    find_steps(matches_.of(word), runs_, in.right, steps_, out.right);
    out.left.assign(in.left.begin(), in.left.end());
    shape(rows, out);
    dispatch_width([&](auto bytes) {
      each_row(rows, out.left, [&](Index row, Index begin, Index) {
        step_row<Vectors<Real, bytes()>>(in, out.items, row, begin);
      });
    });
  }

  // A tail more, of which all derivations have words. `reach`: see Tables.
  void read_tail(const Items<Real>& in, const Rows& rows, const Items<Real>& tail,
                 const Index* reach, Level<Real>& out) {
    out.right.assign(tail.right.begin(), tail.right.end());
    out.left.assign(in.left.begin(), in.left.end());
    shape(rows, out);
    find_joins(plan_, in.right, tail.left, joins_);
    each_row(rows, out.left, [&](Index row, Index, Index) { clear_row(out.items, row); });
    // into what is worst: sums are 0 + gain, and equal
    multiply(in, rows, tail, reach, Real{0}, out.items, false);
  }

  // A tail as the last symbol of an edge: raise the items of its node.
  void read_last_tail(const Items<Real>& in, const Rows& rows, const Items<Real>& tail,
                      const Index* reach, Real bias, const Items<Real>& node) {
    find_joins(plan_, in.right, tail.left, joins_);
    find_places(in.left, node.left, lefts_);
    find_places(tail.right, node.right, rights_);
    multiply(in, rows, tail, reach, bias, node, true);
  }

  // The items of all symbols of an edge: raise those of its node.
  void raise(const Items<Real>& in, const Rows& rows, Real bias, const Items<Real>& node) {
    find_places(in.left, node.left, lefts_);
    find_places(in.right, node.right, rights_);
    dispatch_width([&](auto bytes) {
      using L = Vectors<Real, bytes()>;
      each_row(rows, in.left, [&](Index row, Index begin, Index) {
        const Index end = in.row_end(row);
        if (end <= begin) return;
        const Index there = node_row(row);
        node.row_end(there) = std::max(node.row_end(there), end);
        L::raise_all(node.plain_row(there), in.plain_row(row), bias, L::floor(begin), end);
        raise_runs(in.run_cells(row), bias, node.run_cells(there));
      });
    });
  }

  // What was read before a tail that may have no words, which gain `quiet`, and behind it: the
  // better one of both. `read` has read the tail with words.
  void skip_tail(const Items<Real>& in, const Rows& rows, Real quiet, const Items<Real>& read,
                 Level<Real>& out) {
    out.left.assign(in.left.begin(), in.left.end());
    out.right.clear();
    std::set_union(in.right.begin(), in.right.end(), read.right.begin(), read.right.end(),
                   std::back_inserter(out.right));
    shape(rows, out);
    each_row(rows, out.left, [&](Index row, Index, Index) {
      clear_row(out.items, row);
      out.items.row_end(row) = std::max(in.row_end(row), read.row_end(row));
    });
    const auto raise_all = [&](const Items<Real>& from, Real more) {
      find_places(from.right, out.right, rights_);
      each_row(rows, out.left, [&](Index row, Index, Index) {
        Narrow::raise_all(out.items.plain_row(row), from.plain_row(row), more, 0, plan_.stride);
        raise_runs(from.run_cells(row), more, out.items.run_cells(row));
      });
    };
    raise_all(read, Real{0});
    raise_all(in, quiet);
  }

  // A run may be forgotten before the words of a node, too.
  void close_runs(const Items<Real>& node, const Rows& rows) {
    if (node.left.empty()) return;
    each_row(rows, node.left, [&](Index row, Index begin, Index run) {
      if (run == 0) return;
      Narrow::raise_all(node.plain_row(row), node.plain_row(begin), Real{0}, 0, plan_.stride);
      Narrow::raise_all(node.run_cells(row), node.run_cells(begin), Real{0}, 0,
                        static_cast<Index>(node.width));
      node.row_end(row) = std::max(node.row_end(row), node.row_end(begin));
    });
  }

 private:
  using Narrow = Vectors<Real, 16>;
  // rows that are multiplied at once
  static constexpr Index kMostRows = 4;

  void shape(const Rows& rows, Level<Real>& out) {
    if (rows.first == rows.last && out.left.empty()) {
      out.shape(plan_, 1, rows.first);
    } else {
      out.shape(plan_, length_ + 1 + out.left.size() * runs_, 0);
    }
  }
  void clear_row(const Items<Real>& items, Index row) {
    Real* plain = items.plain_row(row);
    std::fill(plain, plain + items.stride, kWorst<Real>);
    Real* runs = items.run_cells(row);
    std::fill(runs, runs + items.width, kWorst<Real>);
  }

  // use(row, place, run) for all rows.
  template <class Use>
  void each_row(const Rows& rows, std::span<const Index> left, Use&& use) {
    for (Index row = rows.first; row <= rows.last; ++row) use(row, row, 0);
    for (std::size_t index = 0; index < left.size(); ++index) {
      for (Index run = 1; run <= runs_; ++run) use(plan_.run_row(index, run), left[index], run);
    }
  }

  void match(Real gain, Index run, const Step<Real>& step, Real* forgotten, Real* runs) {
    gain += costs_.match(step.weight, run);
    if (runs_ > 0) raise_to(runs[step.target * runs_ + std::min(run + 1, runs_) - 1], gain);
    raise_to(*forgotten, gain);
  }

  // One word more, for one row.
  template <class L>
  void step_row(const Items<Real>& in, const Items<Real>& out, Index row, Index begin) {
    const Real* before = in.plain_row(row);
    Real* plain = out.plain_row(row);
    Real* runs = out.run_cells(row);
    const Index known = in.row_end(row);
    L::fill(runs, kWorst<Real>, 0, out.width);
    if (known <= begin) {
      L::fill(plain, kWorst<Real>, 0, out.stride);
      out.row_end(row) = 0;
      return;
    }
    Index end = std::min(known + (costs_.swap > kWorst<Real> ? 1 : 0), length_ + 1);
    for (const Step<Real>& step : steps_) {
      if (step.position >= begin) end = std::max(end, step.position + 2);
    }
    const Index low = L::floor(begin), high = L::ceil(end);
    L::fill(plain, kWorst<Real>, 0, low);
    for (Index place = low; place < high; place += L::count) {
      typename L::Vector stayed = L::at(before + place) + costs_.stay;
      const typename L::Vector moved = L::at(before + place - 1) + costs_.swap;
      L::raise(stayed, moved);
      L::at(plain + place) = stayed;
    }
    L::fill(plain, kWorst<Real>, high, out.stride);
    // nothing comes from before the first place, nothing goes behind the last
    if (low == 0) plain[0] = before[0] + costs_.stay;
    plain[length_ + 1] = kWorst<Real>;
    Real best = kWorst<Real>;
    Index seen = begin;
    for (const Step<Real>& step : steps_) {
      if (step.position < begin) continue;
      const Index stop = std::min(step.position + 1, known);
      // all before `seen` is in already, or worst
      if (stop - seen >= L::count) {
        raise_to(best, L::highest(before, L::floor(seen), L::floor(stop)));
        seen = L::floor(stop);
      }
      for (; seen < stop; ++seen) raise_to(best, before[seen]);
      Real* forgotten = plain + step.position + 1;
      match(best, 0, step, forgotten, runs);
      if (step.source < 0) continue;
      const Real* source = in.run_cells(row) + step.source * runs_;
      for (Index run = 1; run <= runs_; ++run) match(source[run - 1], run, step, forgotten, runs);
    }
    out.row_end(row) = end;
  }

  // Where each of some places stands among others, or -1.
  static void find_places(std::span<const Index> some, std::span<const Index> all,
                          std::vector<Index>& found) {
    found.clear();
    std::size_t at = 0;
    for (const Index place : some) {
      while (at < all.size() && all[at] < place) ++at;
      found.push_back(at < all.size() && all[at] == place ? static_cast<Index>(at) : -1);
    }
  }
  // The row of a node for a row of one of its edges.
  Index node_row(Index row) const {
    if (row <= length_) return row;
    const Index index = (row - length_ - 1) / runs_;
    return row + (lefts_[index] - index) * runs_;
  }
  void raise_runs(const Real* from, Real more, Real* into) {
    for (const Index there : rights_) {
      if (there >= 0) {
        Real* cells = into + there * runs_;
        for (Index run = 0; run < runs_; ++run) raise_to(cells[run], from[run] + more);
      }
      from += runs_;
    }
  }

  // Some rows of the left factor: none of them begins before `begin`, all end before `end`.
  struct Factor {
    const Real* plain;
    std::size_t stride;
    const Real* runs;
    std::size_t width;
    Index begin, end;
  };
  // Columns of the right factor and of the product.
  struct Columns {
    const Real* from;
    std::size_t from_stride;
    Real* into;
    std::size_t into_stride;
  };

  // The product of what was read and a tail, added to `bias`: raise `out`. If it is a `node`, its
  // places of runs are more.
  void multiply(const Items<Real>& in, const Rows& rows, const Items<Real>& tail,
                const Index* reach, Real bias, const Items<Real>& out, bool node) {
    Real* gathered = node ? gathered_.make(kMostRows * tail.width) : nullptr;
    dispatch_width([&](auto bytes) {
      using L = Vectors<Real, bytes()>;
      each_group(rows, in.left, [&](Index row, Index count, Index begin, bool plain) {
        const Index there = node ? node_row(row) : row;
        Factor a{in.plain_row(row), in.stride, in.run_cells(row), in.width, begin, begin};
        Index high = 0;
        for (Index each = 0; each < count; ++each) {
          const Index known = in.row_end(row + each), own = plain ? row + each : begin;
          const Index end = known > own ? reach[known] : 0;
          Index& reached = out.row_end(there + each);
          reached = node ? std::max(reached, end) : end;
          a.end = std::max(a.end, known);
          high = std::max(high, end);
        }
        if (a.end == begin) return;
        const Columns plains{tail.plain, tail.stride, out.plain_row(there), out.stride};
        multiply_columns<L>(a, count, plains, tail.end, L::floor(begin), high, bias);
        if (tail.width == 0) return;
        const auto width = static_cast<Index>(tail.width);
        if (!node) {
          const Columns runs{tail.runs, tail.width, out.run_cells(there), out.width};
          multiply_columns<L>(a, count, runs, nullptr, 0, width, bias);
          return;
        }
        L::fill(gathered, kWorst<Real>, 0, count * tail.width);
        const Columns runs{tail.runs, tail.width, gathered, tail.width};
        multiply_columns<L>(a, count, runs, nullptr, 0, width, bias);
        for (Index each = 0; each < count; ++each) {
          raise_runs(gathered + each * tail.width, Real{0}, out.run_cells(there + each));
        }
      });
    });
  }

  // use(first row, how many, place, whether without runs) for groups of 4, 2 or 1 rows.
  template <class Use>
  void each_group(const Rows& rows, std::span<const Index> left, Use&& use) {
    const auto groups = [&](Index row, Index last, Index place) {
      while (row <= last) {
        const Index left_over = last + 1 - row;
        const Index count = left_over >= kMostRows ? kMostRows : left_over >= 2 ? 2 : 1;
        use(row, count, place < 0 ? row : place, place < 0);
        row += count;
      }
    };
    groups(rows.first, rows.last, -1);
    for (std::size_t index = 0; index < left.size(); ++index) {
      groups(plan_.run_row(index, 1), plan_.run_row(index, runs_), left[index]);
    }
  }

  // The columns low..high - 1, in blocks of two vectors. Of columns without runs, `ends` has those
  // of the rows of the right factor.
  template <class L>
  void multiply_columns(const Factor& a, Index count, const Columns& columns, const Index* ends,
                        Index low, Index high, Real bias) {
    for (Index cell = low; cell < high;) {
      const Index vectors = cell + L::count < high ? 2 : 1;
      Index from = a.begin, to = a.end;
      if (ends != nullptr) {
        to = std::min(to, cell + vectors * L::count);
        while (from < to && ends[from] <= cell) ++from;
      }
      const auto block = [&](auto rows) {
        if (vectors == 2) {
          multiply_block<L, rows(), 2>(a, columns, cell, from, to, bias);
        } else {
          multiply_block<L, rows(), 1>(a, columns, cell, from, to, bias);
        }
      };
      if (count == kMostRows) {
        block(std::integral_constant<int, kMostRows>{});
      } else if (count == 2) {
        block(std::integral_constant<int, 2>{});
      } else {
        block(std::integral_constant<int, 1>{});
      }
      cell += vectors * L::count;
    }
  }

  // The sum under max and plus over the places from..to - 1 and over the joins.
  template <class L, int R, int V>
  void multiply_block(const Factor& a, const Columns& columns, Index cell, Index from, Index to,
                      Real bias) {
    using Vector = typename L::Vector;
    Vector sum[R][V];
    for (int row = 0; row < R; ++row) {
      for (int v = 0; v < V; ++v) sum[row][v] = Vector{} + kWorst<Real>;
    }
    const auto add = [&](const Real* gains, const Real* factor, std::size_t stride) {
      for (int v = 0; v < V; ++v) {
        const Vector gain = L::at(gains + v * L::count);
        for (int row = 0; row < R; ++row) {
          const Vector offered = gain + factor[row * stride];
          L::raise(sum[row][v], offered);
        }
      }
    };
    const Real* b = columns.from + cell;
    for (Index place = from; place < to; ++place) {
      add(b + place * columns.from_stride, a.plain + place, a.stride);
    }
    for (const Join& each : joins_) {
      if (each.place < a.begin) continue;
      add(b + each.row * columns.from_stride, a.runs + each.column, a.width);
    }
    for (int row = 0; row < R; ++row) {
      for (int v = 0; v < V; ++v) {
        const Vector offered = sum[row][v] + bias;
        L::raise(L::at(columns.into + row * columns.into_stride + cell + v * L::count), offered);
      }
    }
  }

  const Plan& plan_;
  const Matches& matches_;
  Index length_, runs_;
  Costs<Real> costs_;
  std::vector<Step<Real>> steps_;
  std::vector<Join> joins_;
  std::vector<Index> lefts_, rights_;
  Cells<Real> gathered_;
};

}  // namespace lattices::forests
