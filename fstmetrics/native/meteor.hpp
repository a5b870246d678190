// The alignment of METEOR: words matched one to one in stages, with the fewest crossings.
//
// Each stage matches as many of the words that are left as it can. Of the ways to do so it takes
// one with the fewest crossings (pairs of matches that are in another order in the reference), of
// these one with the fewest chunks, of these the first: words are left out or matched with early
// places first. A stage is a dynamic program over the words of the hypothesis, whose states are the
// places that are taken, and where the word before was matched.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/interning.hpp"
#include "lattices/native/poll.hpp"

namespace fstmetrics {

// For each stage the keys of each unit: units match that have one in common.
using Stages = std::vector<Sentences>;

class MeteorAlignment {
 public:
  // partial alignments that are kept at each word
  static constexpr std::size_t beam = 500;
  static constexpr std::int32_t none = -1;

  explicit MeteorAlignment(const Stages& stages) : stages_(stages) {
    std::size_t keys = 0;
    for (const auto& stage : stages_) {
      for (const auto key : stage.unit) keys = std::max<std::size_t>(keys, key + 1);
    }
    places_of_key_.resize(keys);
  }

  struct Counts {
    std::int32_t matches = 0, chunks = 0;
  };

  Counts operator()(std::span<const Unit> words, std::span<const Unit> reference,
                    lattices::Poll& poll) {
    chosen_.assign(words.size(), none);
    taken_.assign(reference.size(), false);
    for (const auto& stage : stages_) match_stage(stage, words, reference, poll);
    Counts counts;
    auto last = none;
    for (const auto place : chosen_) {
      if (place != none) {
        ++counts.matches;
        counts.chunks += last == none || place != last + 1;
      }
      last = place;
    }
    return counts;
  }

  // The place in the reference that each word was matched with, or none.
  std::span<const std::int32_t> places() const { return chosen_; }

 private:
  using Mask = std::uint64_t;
  using Places = std::vector<std::int32_t>;

  // Words that compete for places.
  struct Group {
    std::vector<std::int32_t> words;  // ascending
    std::vector<Mask> places;
    bool alike = true;  // all want the same places
    std::int32_t matches = 0;
  };

  void match_stage(const Sentences& stage, std::span<const Unit> words,
                   std::span<const Unit> reference, lattices::Poll& poll) {
    if (!find_wanted(stage, words, reference)) return;
    if (match_in_order(words.size())) return;
    poll(words.size() * words.size());
    group_words(words.size(), reference.size());
    search(words.size(), poll);
  }

  // Find the free places that each word can be matched with, ascending; tell whether there are any.
  bool find_wanted(const Sentences& stage, std::span<const Unit> words,
                   std::span<const Unit> reference) {
    for (std::size_t place = 0; place < reference.size(); ++place) {
      if (taken_[place]) continue;
      for (const auto key : stage[reference[place]]) {
        places_of_key_[key].push_back(static_cast<std::int32_t>(place));
      }
    }
    if (wanted_.size() < words.size()) wanted_.resize(words.size());
    bool any = false;
    for (std::size_t word = 0; word < words.size(); ++word) {
      auto& wanted = wanted_[word];
      wanted.clear();
      if (chosen_[word] != none) continue;
      const auto keys = stage[words[word]];
      for (const auto key : keys) {
        const auto& places = places_of_key_[key];
        wanted.insert(wanted.end(), places.begin(), places.end());
      }
      if (keys.size() > 1) {
        std::sort(wanted.begin(), wanted.end());
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
      }
      any |= !wanted.empty();
    }
    for (const auto unit : reference) {
      for (const auto key : stage[unit]) places_of_key_[key].clear();
    }
    return any;
  }

  // Where words that want a place want the same ones, and are as many as these, there is nothing
  // to choose: they are matched in order.
  bool match_in_order(std::size_t words) {
    used_.assign(taken_.size(), 0);
    for (std::size_t word = 0; word < words; ++word) {
      if (!wanted_[word].empty()) ++used_[wanted_[word].front()];
    }
    for (std::size_t word = 0; word < words; ++word) {
      const auto& wanted = wanted_[word];
      if (wanted.empty()) continue;
      if (static_cast<std::size_t>(used_[wanted.front()]) != wanted.size()) return false;
    }
    if (!are_disjoint(words)) return false;
    for (auto& each : used_) each = 0;
    for (std::size_t word = 0; word < words; ++word) {
      const auto& wanted = wanted_[word];
      if (!wanted.empty()) choose(word, wanted[used_[wanted.front()]++]);
    }
    return true;
  }

  // Tell whether words want all the same places, or none of the same.
  bool are_disjoint(std::size_t words) {
    owner_.assign(taken_.size(), none);
    for (std::size_t word = 0; word < words; ++word) {
      for (const auto place : wanted_[word]) {
        if (owner_[place] == none) {
          owner_[place] = static_cast<std::int32_t>(word);
        } else if (wanted_[owner_[place]] != wanted_[word]) {
          return false;
        }
      }
    }
    return true;
  }

  void choose(std::size_t word, std::int32_t place) {
    chosen_[word] = place;
    taken_[place] = true;
  }

  std::size_t mask_words() const { return (taken_.size() + 63) / 64; }
  static bool has(const Mask* mask, std::int32_t place) {
    return mask[place / 64] >> place % 64 & 1;
  }

  void group_words(std::size_t words, std::size_t places) {
    groups_.clear();
    group_of_.assign(words, none);
    owner_.assign(places, none);
    const auto width = mask_words();
    for (std::size_t word = 0; word < words; ++word) {
      if (wanted_[word].empty()) continue;
      auto own = static_cast<std::int32_t>(groups_.size());
      groups_.push_back({{static_cast<std::int32_t>(word)}, std::vector<Mask>(width), true, 0});
      for (const auto place : wanted_[word]) {
        groups_[own].places[place / 64] |= Mask{1} << place % 64;
        // joined to the group that has the place: what it owns is found by way of its words
        const auto other = owner_[place] == none ? none : group_of_[owner_[place]];
        owner_[place] = static_cast<std::int32_t>(word);
        if (other == none || other == own) continue;
        for (const auto each : groups_[other].words) group_of_[each] = own;
        join(groups_[own], groups_[other]);
      }
      group_of_[word] = own;
    }
    for (auto& group : groups_) {
      std::sort(group.words.begin(), group.words.end());
      for (const auto word : group.words) group.alike &= wanted_[word] == wanted_[group.words[0]];
      group.matches = count_matches(group);
    }
  }
  static void join(Group& into, Group& from) {
    into.words.insert(into.words.end(), from.words.begin(), from.words.end());
    for (std::size_t each = 0; each < into.places.size(); ++each) {
      into.places[each] |= from.places[each];
    }
    from.words.clear();
  }

  // How many words of a group can be matched at once: by augmenting paths.
  std::int32_t count_matches(const Group& group) {
    if (group.words.empty()) return 0;
    if (group.alike) {
      const auto most = std::min(group.words.size(), wanted_[group.words[0]].size());
      return static_cast<std::int32_t>(most);
    }
    owner_.assign(taken_.size(), none);
    std::int32_t count = 0;
    for (const auto word : group.words) {
      used_.assign(taken_.size(), 0);
      count += find_place(word);
    }
    return count;
  }
  bool find_place(std::int32_t word) {
    for (const auto place : wanted_[word]) {
      if (used_[place]) continue;
      used_[place] = 1;
      if (owner_[place] == none || find_place(owner_[place])) {
        owner_[place] = word;
        return true;
      }
    }
    return false;
  }

  // A partial alignment; less is better, then what comes first. They are kept in the order of the
  // places of their words, none first, so that of equals the first is found.
  struct State {
    std::int32_t unmatched = 0, crossings = 0, chunks = 0, last = none;
    std::int32_t before = none, choice = none;
    std::int32_t key = none;  // of places taken and the last one

    bool better(const State& other) const {
      if (unmatched != other.unmatched) return unmatched < other.unmatched;
      if (crossings != other.crossings) return crossings < other.crossings;
      return chunks < other.chunks;
    }
  };

  void search(std::size_t words, lattices::Poll& poll) {
    const auto width = mask_words();
    if (keys_.empty() || keys_[0].width() != width + 1) {
      keys_.clear();
      keys_.emplace_back(width + 1);
      keys_.emplace_back(width + 1);
    }
    auto* now = &keys_[0];
    auto* after = &keys_[1];
    now->clear();
    std::fill_n(now->draft().begin(), width + 1, Mask{0});
    if (history_.size() <= words) history_.resize(words + 1);
    for (auto& states : history_) states.clear();
    history_[0].emplace_back();
    history_[0][0].key = now->settle();
    for (std::size_t word = 0; word < words; ++word) {
      after->clear();
      latest_.clear();
      auto& next = history_[word + 1];
      const auto& states = history_[word];
      poll(states.size() * 16);
      for (std::size_t s = 0; s < states.size(); ++s) {
        const auto mask = (*now)[states[s].key];
        const auto extend = [&](std::int32_t choice) {
          State longer = states[s];
          longer.before = static_cast<std::int32_t>(s);
          longer.choice = longer.last = choice;
          auto draft = after->draft();
          std::copy(mask.begin(), mask.end(), draft.begin());
          draft[width] = static_cast<Mask>(choice + 1);
          if (choice == none) {
            ++longer.unmatched;
          } else {
            const auto last = states[s].last;
            longer.crossings += count_from(mask.data(), choice);
            longer.chunks += last == none || choice != last + 1;
            draft[choice / 64] |= Mask{1} << choice % 64;
          }
          longer.key = after->settle();
          if (static_cast<std::size_t>(longer.key) == latest_.size()) {
            latest_.push_back(static_cast<std::int32_t>(next.size()));
            next.push_back(longer);
          } else if (auto& known = latest_[longer.key]; longer.better(next[known])) {
            // what is replaced goes, so that the order stays
            next[known].key = none;
            known = static_cast<std::int32_t>(next.size());
            next.push_back(longer);
          }
        };
        extend_all(static_cast<std::int32_t>(word), mask.data(), extend);
      }
      std::erase_if(next, [](const State& each) { return each.key == none; });
      keep_best(next);
      std::swap(now, after);
    }
    std::size_t best = 0;
    const auto& ends = history_[words];
    for (std::size_t each = 1; each < ends.size(); ++each) {
      if (ends[each].better(ends[best])) best = each;
    }
    for (auto word = words; word-- > 0;) {
      const auto& state = history_[word + 1][best];
      if (state.choice != none && chosen_[word] == none) choose(word, state.choice);
      best = state.before;
    }
  }

  // Call extend with each place that a word can take after those of the mask, none first.
  template <class Extend>
  void extend_all(std::int32_t word, const Mask* mask, Extend&& extend) {
    if (group_of_[word] == none) {
      extend(chosen_[word]);
      return;
    }
    const auto& group = groups_[group_of_[word]];
    const auto& wanted = wanted_[word];
    if (!group.alike) {
      bool is_free = false;
      for (const auto place : wanted) is_free |= !has(mask, place);
      if (!is_free || group.matches != static_cast<std::int32_t>(group.words.size())) extend(none);
      for (const auto place : wanted) {
        if (!has(mask, place)) extend(place);
      }
      return;
    }
    std::int32_t count = 0, begin = 0;
    for (std::size_t each = 0; each < mask_words(); ++each) {
      const auto taken = mask[each] & group.places[each];
      count += std::popcount(taken);
      if (taken != 0) {
        begin = static_cast<std::int32_t>(64 * each + 64) - std::countl_zero(taken);
      }
    }
    const auto missing = group.matches - count;
    if (missing == 0) {
      extend(none);
      return;
    }
    const auto later =
        group.words.end() - std::upper_bound(group.words.begin(), group.words.end(), word);
    if (later >= missing) extend(none);
    // after the places of earlier words, before those that the later ones need
    const auto end = wanted[wanted.size() - missing];
    for (const auto place : wanted) {
      if (place >= begin && place <= end) extend(place);
    }
  }

  // How many of the places that are taken come after one.
  std::int32_t count_from(const Mask* mask, std::int32_t place) const {
    const std::size_t first = place / 64;
    auto count = std::popcount(mask[first] >> place % 64);
    for (auto each = first + 1; each < mask_words(); ++each) count += std::popcount(mask[each]);
    return count;
  }

  // Keep the best states, in their order.
  void keep_best(std::vector<State>& states) {
    if (states.size() <= beam) return;
    order_.resize(states.size());
    std::iota(order_.begin(), order_.end(), std::int32_t{0});
    const auto better = [&](std::int32_t one, std::int32_t other) {
      if (states[one].better(states[other])) return true;
      return !states[other].better(states[one]) && one < other;
    };
    std::nth_element(order_.begin(), order_.begin() + beam, order_.end(), better);
    std::sort(order_.begin(), order_.begin() + beam);
    for (std::size_t each = 0; each < beam; ++each) states[each] = states[order_[each]];
    states.resize(beam);
  }

  const Stages& stages_;
  std::vector<Places> places_of_key_, wanted_;
  std::vector<std::int32_t> chosen_, used_, owner_, group_of_, latest_, order_;
  std::vector<bool> taken_;
  std::vector<Group> groups_;
  std::vector<std::vector<State>> history_;
  std::vector<lattices::Interning<Mask>> keys_;
};

// METEOR from matches, chunks and the lengths of both sentences.
struct MeteorScore {
  double alpha, beta, gamma;

  double operator()(std::span<const double> row) const {
    const double matches = row[0], chunks = row[1];
    if (matches == 0.0) return 0.0;
    const double precision = matches / row[2], recall = matches / row[3];
    const double mean = precision * recall / (alpha * precision + (1.0 - alpha) * recall);
    return (1.0 - gamma * std::pow(chunks / matches, beta)) * mean;
  }
};

}  // namespace fstmetrics
