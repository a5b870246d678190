// Lines of text archives, made of columns.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lattices/native/numbers.hpp"
#include "lattices/native/paths.hpp"

namespace lattices {

// Text in the making. Room is made once for each line, which then is written without looking.
class TextRoom {
 public:
  explicit TextRoom(std::size_t expected) { text_.resize(expected); }
  // Make room for so many bytes more.
  void reserve(std::size_t bytes) {
    if (text_.size() - used_ < bytes) text_.resize(2 * text_.size() + bytes);
  }
  void put(char byte) { text_[used_++] = byte; }
  void put(std::string_view text) {
    std::copy(text.begin(), text.end(), text_.data() + used_);
    used_ += text.size();
  }
  void index(Index value) {
    char* const at = text_.data() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(at, at + kIndexRoom, value).ptr - at);
  }
  void number(double value) {
    char* const at = text_.data() + used_;
    used_ += static_cast<std::size_t>(put_number(at, value) - at);
  }
  std::string_view view() const { return {text_.data(), used_}; }

  static constexpr std::size_t kIndexRoom = 16;

 private:
  std::string text_;
  std::size_t used_ = 0;
};

// Costs of arcs and of ends; those are infinite where no path ends.
struct KaldiCosts {
  std::span<const double> graph, acoustic, final_graph, final_acoustic;
};

// A lattice of a Kaldi archive as lattices/formats/kaldi/text.py has it: the start state first.
// `name` counts in `names`.
inline TextRoom kaldi_lines(std::string_view key, const Lattice& lattice,
                            std::span<const Index> name, const std::vector<std::string_view>& names,
                            const KaldiCosts& costs, bool compact) {
  // a Lattice has the transition-id, which is epsilon here, in a column of its own
  const std::string_view before = compact ? "" : "0\t", behind = compact ? ",\n" : "\n";
  constexpr std::string_view never = "Infinity,Infinity";
  constexpr std::size_t line = 2 * TextRoom::kIndexRoom + 2 * kNumberRoom + never.size() + 8;
  TextRoom text(key.size() + 56 * lattice.src.size() + 24 * lattice.final.size() + line);
  text.reserve(key.size() + line);
  text.put(key);
  text.put(" \n");
  const auto weight = [&](double graph, double acoustic) {
    text.number(graph);
    text.put(',');
    text.number(acoustic);
    text.put(behind);
  };
  const auto state_lines = [&](Index state) {
    for (const Index arc : lattice.outgoing(state)) {
      const auto word = names[name[arc]];
      text.reserve(word.size() + line);
      text.index(state);
      text.put('\t');
      text.index(lattice.dst[arc]);
      text.put('\t');
      text.put(before);
      text.put(word);
      text.put('\t');
      weight(costs.graph[arc], costs.acoustic[arc]);
    }
    text.reserve(line);
    if (costs.final_graph[state] < std::numeric_limits<double>::infinity()) {
      text.index(state);
      text.put('\t');
      weight(costs.final_graph[state], costs.final_acoustic[state]);
    } else if (lattice.outgoing(state).empty()) {
      text.index(state);
      text.put('\t');
      text.put(never);
      text.put(behind);
    }
  };
  state_lines(lattice.start);
  for (Index state = 0; state < lattice.num_nodes(); ++state) {
    if (state != lattice.start) state_lines(state);
  }
  text.reserve(line);
  text.put('\n');
  return text;
}

// Features that stand behind one name in a list of Moses: columns of the matrix. The name is empty
// where values have none.
struct NamedColumns {
  std::string_view name;
  std::span<const Index> columns;
};

struct MosesList {
  std::string_view id;
  std::span<const Index> word, offset;  // words count in `words`, empty ones are left out
  std::vector<std::string_view> words;
  std::span<const double> score;
  FeatureRows features;  // no column twice in a row
  std::vector<NamedColumns> groups;
  std::vector<std::string_view> extra;  // what stands behind the score, or no entries
};

// One line a hypothesis; a group of features stands there if a value of it does.
inline std::string moses_lines(const MosesList& list, std::size_t width) {
  static constexpr std::string_view kBar = " ||| ";
  std::string text;
  text.reserve(64 * list.score.size() + 8 * list.word.size() + 24 * list.features.values.size());
  std::vector<double> value(width, 0.0);
  std::vector<Index> row_of(width, -1);
  for (Index row = 0; row < static_cast<Index>(list.score.size()); ++row) {
    text += list.id;
    text += kBar;
    bool first = true;
    const auto part = [&](std::string_view each) {
      if (!first) text += ' ';
      first = false;
      text += each;
    };
    for (Index at = list.offset[row]; at < list.offset[row + 1]; ++at) {
      const auto word = list.words[list.word[at]];
      if (!word.empty()) part(word);
    }
    text += kBar;
    const auto& features = list.features;
    for (Index at = features.bounds[row]; at < features.bounds[row + 1]; ++at) {
      value[features.columns[at]] = features.values[at];
      row_of[features.columns[at]] = row;
    }
    first = true;
    for (const auto& group : list.groups) {
      const auto is_here = [&](Index column) { return row_of[column] == row; };
      if (std::ranges::none_of(group.columns, is_here)) continue;
      if (!group.name.empty()) part(group.name);
      for (const Index column : group.columns) {
        part("");
        append_number(text, is_here(column) ? value[column] : 0.0);
      }
    }
    text += kBar;
    append_number(text, list.score[row]);
    if (!list.extra.empty() && !list.extra[row].empty()) {
      text += kBar;
      text += list.extra[row];
    }
    text += '\n';
  }
  return text;
}

}  // namespace lattices
