// The best path of a lattice under a weighted sum of alignments: prefixes with one row for each.
//
// What is maximised over the sentences h of a lattice is  sum over e of share(e) * gain(h, e).
// Prefixes of one lattice state with equal rows have the same future, and are one node, at the
// highest gain of them. What a node can still come to is bounded by the weighted sum of the best
// completions of each alignment; a node is dropped if that is below a value that some sentence is
// known to have. Nothing else is dropped without a beam, so what is found then is proven.
//
// Rows are read block by block, the weightiest first. Most extensions are dropped after a block or
// two: for the others, what the shorter prefix could come to is bound enough.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "decoding/native/completions.hpp"
#include "lattices/native/dispatch.hpp"
#include "lattices/native/errors.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"

namespace decoding {

// Why a search ended: nothing was left out, a beam left prefixes out, or there were too many.
enum class SearchEnd { Complete, Cut, TooMany };

struct FoundPath {
  SearchEnd end = SearchEnd::Complete;
  double gain = -std::numeric_limits<double>::infinity();
  std::vector<Index> arcs;
};

struct SearchLimits {
  double floor;        // nodes whose bound is below are dropped
  double equal;        // gains that differ by no more are equal
  std::size_t beam;    // nodes of a state, 0 for all
  std::size_t budget;  // nodes of all states without a beam
  std::size_t bytes;   // what the rows of nodes may take
};

// A hash of rows, eight numbers of 64 bits at a time: blocks of them have no less.
template <class Gain>
std::uint64_t hash_rows(std::span<const Gain> rows) {
  std::array<std::uint64_t, 8> hash{};
  const auto* at = reinterpret_cast<const unsigned char*>(rows.data());
  const auto* end = at + rows.size_bytes();
  for (; at < end; at += sizeof hash) {
    std::array<std::uint64_t, 8> part;
    std::memcpy(part.data(), at, sizeof part);
    for (std::size_t lane = 0; lane < hash.size(); ++lane) {
      hash[lane] = lattices::mixed(hash[lane], part[lane]);
    }
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t each : hash) sum = lattices::mixed(sum, each);
  return sum;
}

template <class Rows>
class RiskSearch {
 public:
  using Gain = typename Rows::Gain;

  RiskSearch(const WordedLattice& space, const AlignmentList& list, std::span<const double> share)
      : space_(space),
        rows_(list, space_.words),
        completions_(rows_, space_),
        share_(static_cast<std::size_t>(rows_.num_blocks()) * kLanes, 0.0),
        reached_(rows_.num_blocks() * rows_.block_size()),
        reached_onward_(rows_.num_blocks()),
        released_(space_.lattice.num_nodes()) {
    std::copy(share.begin(), share.end(), share_.begin());
    // the rows of a state are read until the last of its arcs has been followed
    for (Index state = 0; state < space_.lattice.num_nodes(); ++state) {
      Index last = state;
      for (const Index arc : space_.lattice.outgoing(state)) {
        if (space_.alive[space_.lattice.dst[arc]]) last = std::max(last, space_.lattice.dst[arc]);
      }
      released_[last].push_back(state);
    }
  }

  RiskSearch(const RiskSearch&) = delete;
  RiskSearch& operator=(const RiskSearch&) = delete;

  // The path of the highest gain, and of those the one of the highest score.
  FoundPath run(const SearchLimits& limits, lattices::Poll& poll) {
    FoundPath found;
    const auto& lattice = space_.lattice;
    begin();
    for (Index state = lattice.start; state < lattice.num_nodes(); ++state) {
      if (!space_.alive[state]) {
        node_start_[state + 1] = node_start_[state];
        continue;
      }
      const auto first = static_cast<std::size_t>(node_start_[state]);
      for (const Index arc : lattice.incoming(state)) {
        const Index source = lattice.src[arc];
        if (source < lattice.start || !space_.alive[source]) continue;
        for (Index node = node_start_[source]; node < node_start_[source + 1]; ++node) {
          poll();
          if (lattices::dispatch([&] { return reach(state, arc, node, limits.floor); }) &&
              !add(arc, node, first, limits)) {
            found.end = SearchEnd::TooMany;
            return found;
          }
        }
      }
      if (limits.beam > 0 && nodes_.size() - first > limits.beam && keep_best(first, limits.beam)) {
        found.end = SearchEnd::Cut;
      }
      node_start_[state + 1] = static_cast<Index>(nodes_.size());
      end_in(state);
      for (const Index done : released_[state]) {
        for (Index node = node_start_[done]; node < node_start_[done + 1]; ++node) {
          free_.push_back(nodes_[node].slot);
        }
      }
    }
    finish(limits.equal, found);
    return found;
  }

 private:
  struct Node {
    // the gain of the prefix, what it can come to, and the highest score of one with that gain
    double base, bound, model;
    Index previous, arc;
    std::uint64_t hash;
    Index slot;  // of its rows
  };
  // A complete path.
  struct Ending {
    Index node;
    double gain, score;
  };

  std::size_t row_bytes() const { return reached_.size() * sizeof(Gain); }
  const Gain* rows_of(Index node) const { return slots_[nodes_[node].slot].get(); }
  const double* onward_of(Index node) const {
    return onward_.data() + static_cast<std::size_t>(node) * rows_.num_blocks();
  }

  void begin() {
    nodes_.clear();
    onward_.clear();
    endings_.clear();
    free_.clear();
    for (std::size_t slot = slots_.size(); slot-- > 0;) free_.push_back(static_cast<Index>(slot));
    table_.assign(64, -1);
    node_start_.assign(space_.lattice.num_nodes() + 1, 0);
    if (!space_.alive[space_.lattice.start]) return;
    Node opening{0.0, 0.0, 0.0, -1, -1, 0, 0};
    std::array<Gain, kLanes> top, best;
    for (Index block = 0; block < rows_.num_blocks(); ++block) {
      Gain* rows = reached_.data() + block * rows_.block_size();
      const double* share = share_.data() + block * kLanes;
      rows_.open(block, rows, top.data());
      completions_.best(space_.lattice.start, block, rows, best.data());
      reached_onward_[block] = weighted_sum(share, best.data());
      opening.base += weighted_sum(share, top.data());
      opening.bound += weighted_sum(share, top.data()) + reached_onward_[block];
    }
    store(opening);
  }

  // Extend a prefix by an arc: fill in the rows that are reached, their gain and bound; false if it
  // is to be dropped.
  bool reach(Index state, Index arc, Index node, double floor) {
    const Index word = space_.arc_word[arc];
    const Gain* before = rows_of(node);
    const double* before_onward = onward_of(node);
    reached_base_ = nodes_[node].base;
    double bound = nodes_[node].bound;
    reached_bound_ = reached_base_;
    std::array<Gain, kLanes> top, best;
    for (Index block = 0; block < rows_.num_blocks(); ++block) {
      const std::size_t at = block * rows_.block_size();
      const double* share = share_.data() + block * kLanes;
      double gain = 0.0;
      if (word >= 0) {
        rows_.step(block, before + at, rows_.class_of(block, word), reached_.data() + at,
                   top.data());
        gain = weighted_sum(share, top.data());
      } else {
        std::copy_n(before + at, rows_.block_size(), reached_.data() + at);
      }
      completions_.best(state, block, reached_.data() + at, best.data());
      reached_onward_[block] = weighted_sum(share, best.data());
      reached_base_ += gain;
      reached_bound_ += gain + reached_onward_[block];
      // no extension comes to more than the prefix
      bound += gain + reached_onward_[block] - before_onward[block];
      if (bound < floor) return false;
    }
    return true;
  }

  // Add what was reached to the nodes of a state; false if there are too many.
  bool add(Index arc, Index node, std::size_t first, const SearchLimits& limits) {
    const double model = nodes_[node].model + space_.lattice.score[arc];
    const std::uint64_t hash = hash_rows<Gain>(reached_);
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hash & mask;
    // an entry below the first node of the state is one of another state, and as good as none
    for (; table_[slot] >= static_cast<Index>(first); slot = (slot + 1) & mask) {
      Node& known = nodes_[table_[slot]];
      if (known.hash != hash ||
          std::memcmp(rows_of(table_[slot]), reached_.data(), row_bytes()) != 0) {
        continue;
      }
      if (reached_base_ > known.base + limits.equal) {
        known = {reached_base_, reached_bound_, model, node, arc, hash, known.slot};
      } else if (reached_base_ >= known.base - limits.equal && model > known.model) {
        known = {known.base, known.bound, model, node, arc, hash, known.slot};
      }
      return true;
    }
    if (limits.beam == 0 && nodes_.size() >= limits.budget) return false;
    if (free_.empty() && (slots_.size() + 1) * row_bytes() > limits.bytes) {
      if (limits.beam == 0) return false;
      throw lattices::option_error("a beam of " + std::to_string(limits.beam) +
                                   " prefixes takes more than " + std::to_string(limits.bytes) +
                                   " bytes: take a narrower one");
    }
    table_[slot] = static_cast<Index>(nodes_.size());
    store({reached_base_, reached_bound_, model, node, arc, hash, 0});
    if (2 * (nodes_.size() - first) > table_.size()) fill_table(2 * table_.size(), first);
    return true;
  }

  // Keep a node with what was reached.
  void store(Node node) {
    if (free_.empty()) {
      free_.push_back(static_cast<Index>(slots_.size()));
      slots_.push_back(std::make_unique_for_overwrite<Gain[]>(reached_.size()));
    }
    node.slot = free_.back();
    free_.pop_back();
    std::copy(reached_.begin(), reached_.end(), slots_[node.slot].get());
    onward_.insert(onward_.end(), reached_onward_.begin(), reached_onward_.end());
    nodes_.push_back(node);
  }

  void fill_table(std::size_t size, std::size_t first) {
    table_.assign(size, -1);
    for (std::size_t node = first; node < nodes_.size(); ++node) {
      std::size_t slot = nodes_[node].hash & (size - 1);
      while (table_[slot] >= 0) slot = (slot + 1) & (size - 1);
      table_[slot] = static_cast<Index>(node);
    }
  }

  // Keep the best nodes of a state by bound, then by score; tell whether any was dropped. Those
  // that tie with the last one are kept as well: which of them came first must not matter.
  bool keep_best(std::size_t first, std::size_t beam) {
    const auto rank = [&](std::size_t node) {
      return std::pair(nodes_[node].bound, nodes_[node].model);
    };
    std::vector<std::pair<double, double>> ranks;
    for (std::size_t node = first; node < nodes_.size(); ++node) ranks.push_back(rank(node));
    const auto last = ranks.begin() + static_cast<std::ptrdiff_t>(beam) - 1;
    std::nth_element(ranks.begin(), last, ranks.end(), std::greater<>());
    std::size_t kept = first;
    for (std::size_t node = first; node < nodes_.size(); ++node) {
      if (rank(node) < *last) {
        free_.push_back(nodes_[node].slot);
        continue;
      }
      const auto blocks = static_cast<std::ptrdiff_t>(rows_.num_blocks());
      std::copy_n(onward_.begin() + static_cast<std::ptrdiff_t>(node) * blocks, blocks,
                  onward_.begin() + static_cast<std::ptrdiff_t>(kept) * blocks);
      nodes_[kept++] = nodes_[node];
    }
    const bool cut = kept < nodes_.size();
    nodes_.resize(kept);
    onward_.resize(kept * rows_.num_blocks());
    // entries of dropped nodes could be taken for those of nodes to come
    table_.assign(64, -1);
    return cut;
  }

  // Note the paths that end in a state; a row ends where no word is left.
  void end_in(Index state) {
    const double final = space_.lattice.final[state];
    if (final == lattices::kMinusInfinity) return;
    for (Index node = node_start_[state]; node < node_start_[state + 1]; ++node) {
      double gain = nodes_[node].base;
      for (Index block = 0; block < rows_.num_blocks(); ++block) {
        gain += weighted_sum(share_.data() + block * kLanes,
                             rows_of(node) + block * rows_.block_size());
      }
      endings_.push_back({node, gain, nodes_[node].model + final});
    }
  }

  void finish(double equal, FoundPath& found) const {
    for (const auto& each : endings_) found.gain = std::max(found.gain, each.gain);
    const Ending* best = nullptr;
    for (const auto& each : endings_) {
      if (each.gain >= found.gain - equal && (best == nullptr || each.score > best->score)) {
        best = &each;
      }
    }
    if (best == nullptr) return;
    for (Index node = best->node; nodes_[node].arc >= 0; node = nodes_[node].previous) {
      found.arcs.push_back(nodes_[node].arc);
    }
    std::reverse(found.arcs.begin(), found.arcs.end());
  }

  const WordedLattice& space_;
  const Rows rows_;
  const Completions<Rows> completions_;
  std::vector<double> share_;
  // what an extension has reached: rows, what each block can still gain, gain and bound
  std::vector<Gain> reached_;
  std::vector<double> reached_onward_;
  double reached_base_ = 0.0, reached_bound_ = 0.0;
  std::vector<Node> nodes_;
  // what each block of each node can still gain
  std::vector<double> onward_;
  // the nodes of each state
  std::vector<Index> node_start_;
  std::vector<Index> table_;
  std::vector<Ending> endings_;
  // rows of nodes; those of nodes that are done are used again
  std::vector<std::unique_ptr<Gain[]>> slots_;
  std::vector<Index> free_;
  // the states that are done when a state has been reached
  std::vector<std::vector<Index>> released_;
};

}  // namespace decoding
