// How often each n-gram is expected, and how probable it is that a sentence has it at all.
//
// With shares p(e), the probability of edge e where its head is derived, the passes over the
// unfolded space (unfolding.hpp) need no logarithms. The expected count of n-gram u is
//
//   count(u) = sum over edges e that u ends on of  outside(head e) * p(e) * product of
//   inside(tails)
//
// (DeNero et al. 2009). The probability of presence (Tromble et al. 2008; Blackwood et al. 2010) is
// the same for every n-gram that no derivation has twice. Which have, a pass with one bit an n-gram
// tells. For each of these one more pass carries has(i), the probability that item i is derived and
// has u. With tails a and b, or with a alone and b certain:
//
//   has(head) += p(e) * inside(a) * inside(b)                              if u ends on e
//   has(head) += p(e) * (has(a) inside(b) + has(b) (inside(a) - has(a)))   else
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "lattices/native/dispatch.hpp"
#include "lattices/native/inside.hpp"
#include "lattices/native/unfolding.hpp"

namespace lattices {

// The probability of each edge where its head is derived, and of ending in each node.
struct Shares {
  std::vector<double> edge, end;
};

// Nothing if the scale makes scores infinite, or there is no complete path.
template <Graph G>
std::optional<Shares> edge_shares(const G& graph, double scale) {
  std::vector<double> weight(graph.num_edges());
  for (Index edge = 0; edge < graph.num_edges(); ++edge) weight[edge] = scale * graph.weight(edge);
  const auto inside = inside_scores<Log>(graph, weight);
  Shares shares{std::move(weight), std::vector<double>(graph.num_nodes())};
  Log::Sum sum;
  for (Index node = 0; node < graph.num_nodes(); ++node) {
    const double end = end_score(graph, node);
    shares.end[node] = end == kMinusInfinity ? kMinusInfinity : scale * end + inside[node];
    sum.add(shares.end[node]);
    for (const Index edge : graph.incoming(node)) {
      shares.edge[edge] =
          inside[node] == kMinusInfinity
              ? 0.0
              : std::exp(edge_product<Log>(graph, edge, shares.edge, inside) - inside[node]);
    }
  }
  const double total = sum.value();
  if (!std::isfinite(total)) return std::nullopt;
  for (double& end : shares.end) end = std::exp(end - total);
  return shares;
}

// Some n-grams of a trie, and ways along suffixes from one of them to the next.
class SelectedNgrams {
 public:
  SelectedNgrams(const NgramTrie& trie, std::span<const Index> grams)
      : trie_(trie), step_(trie.size(), {-1, NgramTrie::kEmpty}) {
    for (std::size_t at = 0; at < grams.size(); ++at) {
      step_[grams[at]].place = static_cast<Index>(at);
    }
    for (Index gram = 1; gram < trie.size(); ++gram) {
      step_[gram].next = step_[gram].place >= 0 ? gram : step_[trie[gram].suffix].next;
    }
  }

  // Call `use` with the places, among the n-grams given, of an n-gram and its suffixes that are
  // longer than `above`; until it says that it has had enough.
  template <class Use>
  void for_suffixes(Index gram, Index above, Use&& use) const {
    for (gram = step_[gram].next; trie_[gram].length > above;
         gram = step_[trie_[gram].suffix].next) {
      if (!use(step_[gram].place)) return;
    }
  }

 private:
  struct Step {
    Index place, next;
  };

  const NgramTrie& trie_;
  std::vector<Step> step_;
};

// The passes over an unfolded space that n-gram posteriors are made of.
template <Graph G>
class NgramExpectations {
 public:
  NgramExpectations(const G& graph, const Unfolded& unfolded, const Shares& shares)
      : graph_(graph),
        unfolded_(unfolded),
        weight_(unfolded.num_edges()),
        end_(unfolded.num_nodes(), 0.0) {
    for (Index edge = 0; edge < unfolded.num_edges(); ++edge) {
      const auto& own = unfolded.edges[edge];
      weight_[edge] = own.whole ? shares.edge[own.source] : 1.0;
    }
    for (const auto& end : unfolded.ends) end_[end.item] = shares.end[end.node];
    inside_ = inside_scores<Count>(unfolded, weight_);
  }

  std::vector<double> counts() const {
    const auto& trie = unfolded_.ngrams;
    const auto outside = outside_scores<Count>(unfolded_, weight_, end_, inside_);
    // what all suffixes have, too, and what is listed one by one
    std::vector<double> value(trie.size(), 0.0), apart(trie.size(), 0.0);
    for (Index edge = 0; edge < unfolded_.num_edges(); ++edge) {
      const auto& own = unfolded_.edges[edge];
      if (own.endings == 0) continue;
      const double mass =
          outside[own.head] * edge_product<Count>(unfolded_, edge, weight_, inside_);
      for (const auto& ending : unfolded_.endings_of(edge)) {
        if (ending.above == 0) {
          value[ending.gram] += mass;
        } else {
          trie.for_suffixes(ending.gram, ending.above, [&](Index gram) { apart[gram] += mass; });
        }
      }
    }
    add_to_suffixes(trie, value);
    for (std::size_t gram = 0; gram < value.size(); ++gram) value[gram] += apart[gram];
    return value;
  }

  std::vector<double> presence(Poll& poll) const {
    auto value = counts();
    const auto repeated = may_repeat(poll);
    const auto all = events(repeated);
    for (std::size_t begin = 0; begin < repeated.size(); begin += kLanes) {
      const auto probable = probabilities(all, begin);
      const auto end = std::min(begin + kLanes, repeated.size());
      for (auto at = begin; at < end; ++at) value[repeated[at]] = probable[at - begin];
      poll();
    }
    for (double& each : value) each = std::min(each, 1.0);
    return value;
  }

 private:
  static constexpr std::size_t kLanes = 8, kWords = 8, kBits = 64 * kWords;
  // An edge that one of some n-grams ends on.
  struct Event {
    Index edge, place;
  };
  using Lanes = std::array<double, kLanes>;
  // The n-grams that may be twice in a sentence, as far as the numbers of items tell. On a path
  // that has one twice, the second time begins where the first ended or later.
  std::vector<Index> candidates() const {
    const auto& trie = unfolded_.ngrams;
    std::vector<Index> first_head(trie.size(), unfolded_.num_nodes()), last_tail(trie.size(), -1);
    bool paths = true;
    for (const auto& edge : unfolded_.edges) {
      paths = paths && edge.arity < 2;
      // several words on one edge may be the same
      const Index tail = edge.endings > 1  ? unfolded_.num_nodes()
                         : edge.arity == 0 ? -1
                                           : edge.tail[0];
      for (Index at = edge.ending; at < edge.ending + edge.endings; ++at) {
        const Index gram = unfolded_.endings[at].gram;
        first_head[gram] = std::min(first_head[gram], edge.head);
        last_tail[gram] = std::max(last_tail[gram], tail);
      }
    }
    std::vector<Index> found;
    for (Index gram = trie.size() - 1; gram > 0; --gram) {
      const Index suffix = trie[gram].suffix;
      first_head[suffix] = std::min(first_head[suffix], first_head[gram]);
      last_tail[suffix] = std::max(last_tail[suffix], last_tail[gram]);
      if (!paths || first_head[gram] <= last_tail[gram]) found.push_back(gram);
    }
    return found;
  }

  // The n-grams that some derivation may have twice. A lattice tells as well as what it was
  // unfolded to, and is smaller; but an edge of a forest may have an n-gram in several ways.
  std::vector<Index> may_repeat(Poll& poll) const {
    std::vector<Index> ends;
    if constexpr (std::is_base_of_v<Lattice, G>) {
      for (const auto& end : unfolded_.ends) ends.push_back(end.node);
      return may_repeat_on<false>(graph_, ends, poll);
    } else {
      for (const auto& end : unfolded_.ends) ends.push_back(end.item);
      return may_repeat_on<true>(unfolded_, ends, poll);
    }
  }

  // One bit an n-gram: whether a derivation of a node may have it, and whether it may twice.
  // `Several` tells whether an edge that is met twice with an n-gram has it twice.
  template <bool Several, class Space>
  std::vector<Index> may_repeat_on(const Space& space, std::span<const Index> ends,
                                   Poll& poll) const {
    using Bits = std::array<std::uint64_t, kWords>;
    struct Known {
      Bits once{}, twice{};
    };
    const auto grams = candidates();
    std::vector<Index> found;
    std::vector<Known> known(space.num_nodes());
    std::vector<Bits> own(space.num_edges()), own_twice(Several ? space.num_edges() : 0);
    for (std::size_t begin = 0; begin < grams.size(); begin += kBits) {
      const auto some =
          std::span(grams).subspan(begin).first(std::min(kBits, grams.size() - begin));
      const SelectedNgrams selected(unfolded_.ngrams, some);
      for (Index edge = 0; edge < unfolded_.num_edges(); ++edge) {
        auto& once = own[Several ? edge : unfolded_.edges[edge].source];
        for (const auto& ending : unfolded_.endings_of(edge)) {
          selected.for_suffixes(ending.gram, ending.above, [&](Index bit) {
            const std::uint64_t mask = std::uint64_t{1} << bit % 64;
            const bool fresh = !(once[bit / 64] & mask);
            if (Several && !fresh) own_twice[edge][bit / 64] |= mask;
            once[bit / 64] |= mask;
            // an arc that has an n-gram has its suffixes, too
            return Several || fresh;
          });
        }
      }
      dispatch([&] {
        for (Index node = 0; node < space.num_nodes(); ++node) {
          Known here;
          for (const Index edge : space.incoming(node)) {
            Known sum{own[edge], Several ? own_twice[edge] : Bits{}};
            for (const Index tail : space.tails(edge)) {
              const Known& below = known[tail];
              for (std::size_t word = 0; word < kWords; ++word) {
                sum.twice[word] |= below.twice[word] | (sum.once[word] & below.once[word]);
                sum.once[word] |= below.once[word];
              }
            }
            for (std::size_t word = 0; word < kWords; ++word) {
              here.once[word] |= sum.once[word];
              here.twice[word] |= sum.twice[word];
            }
          }
          known[node] = here;
        }
      });
      Bits repeated{};
      for (const Index end : ends) {
        for (std::size_t word = 0; word < kWords; ++word) repeated[word] |= known[end].twice[word];
      }
      for (std::size_t bit = 0; bit < some.size(); ++bit) {
        if (repeated[bit / 64] >> bit % 64 & 1) found.push_back(some[bit]);
      }
      std::fill(own.begin(), own.end(), Bits{});
      std::fill(own_twice.begin(), own_twice.end(), Bits{});
      poll(kWords * own.size());
    }
    return found;
  }

  // The edges that n-grams end on, in order.
  std::vector<Event> events(std::span<const Index> grams) const {
    std::vector<Event> found;
    if (grams.empty()) return found;
    const SelectedNgrams selected(unfolded_.ngrams, grams);
    for (Index edge = 0; edge < unfolded_.num_edges(); ++edge) {
      for (const auto& ending : unfolded_.endings_of(edge)) {
        selected.for_suffixes(ending.gram, ending.above, [&](Index place) {
          found.push_back({edge, place});
          return true;
        });
      }
    }
    return found;
  }

  // The probability that a sentence has each of the n-grams from place `begin` on.
  Lanes probabilities(std::span<const Event> all, std::size_t begin) const {
    std::vector<Event> own;
    for (const auto& event : all) {
      const auto lane = static_cast<std::size_t>(event.place) - begin;
      if (lane < kLanes) own.push_back({event.edge, static_cast<Index>(lane)});
    }
    own.push_back({unfolded_.num_edges(), 0});
    std::vector<Lanes> has(unfolded_.num_nodes(), Lanes{});
    dispatch([&] {
      auto event = own.begin();
      // nothing has any of them before the first
      for (Index item = unfolded_.edges[event->edge].head; item < unfolded_.num_nodes(); ++item) {
        Lanes here{};
        for (const Index edge : unfolded_.incoming(item)) {
          const auto& made = unfolded_.edges[edge];
          Lanes mass{};
          if (made.arity == 1) {
            mass = has[made.tail[0]];
          } else if (made.arity == 2) {
            const auto [one, other] = made.tail;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
              mass[lane] = has[one][lane] * inside_[other] +
                           has[other][lane] * (inside_[one] - has[one][lane]);
            }
          }
          if (event->edge == edge) {
            double certain = 1.0;
            for (const Index tail : unfolded_.tails(edge)) certain *= inside_[tail];
            for (; event->edge == edge; ++event) mass[event->place] = certain;
          }
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            here[lane] += weight_[edge] * mass[lane];
          }
        }
        has[item] = here;
      }
    });
    Lanes value{};
    for (const auto& end : unfolded_.ends) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        value[lane] += end_[end.item] * has[end.item][lane];
      }
    }
    return value;
  }

  const G& graph_;
  const Unfolded& unfolded_;
  std::vector<double> weight_, end_, inside_;
};

}  // namespace lattices
