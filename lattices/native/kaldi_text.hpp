// The lines of one lattice of a Kaldi text archive; lattices/formats/kaldi/text.py has the layout.
//
// Cost: linear in the bytes (with a sort of the states where their numbers are far apart).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "lattices/native/distinct.hpp"
#include "lattices/native/numbers.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/state_numbers.hpp"

namespace lattices {

// The first thing that is wrong, in the order in which a line is looked at; the codes of
// lattices/formats/kaldi/text.py.
enum class KaldiProblem {
  None,
  Unended,
  Key,
  Empty,
  Columns,
  Mixed,
  Weight,
  Ids,
  TransitionId,
  State
};

struct KaldiText {
  KaldiProblem problem = KaldiProblem::None;
  Index line = 0;  // where it is, the key's line being 0
  bool compact = true;
  Index start = 0;
  // one entry an arc; the labels are numbers of `labels`
  std::vector<Index> src, dst, label, frames;
  std::vector<double> graph, acoustic;
  // one entry a state
  std::vector<double> final_graph, final_acoustic;
  Strings labels;
  std::vector<Index> label_line;  // the line of each label's first arc
};

class KaldiTextReader {
 public:
  // `data` is the key's line and those of the arcs and final states, up to an empty line.
  KaldiText read(std::string_view data, Poll& poll) {
    if (!cut(data, poll)) return stop(KaldiProblem::Unended, 0);
    const auto lines = static_cast<Index>(begin_.size()) - 1;
    if (width(0) != 1) return stop(KaldiProblem::Key, 0);
    if (lines == 1) return stop(KaldiProblem::Empty, 0);
    if (!decide_kind()) return std::move(found_);
    for (Index line = 1; line < lines; ++line) {
      poll();
      const auto problem = read_line(line);
      if (problem != KaldiProblem::None) return stop(problem, line);
    }
    close_up();
    return std::move(found_);
  }

 private:
  using Text = std::string_view;
  static constexpr std::size_t kMostColumns = 5, kMostDigits = 18;

  // one entry a line that says how a path may end
  struct Final {
    std::int64_t state;
    double graph, acoustic;
  };

  static bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

  KaldiText stop(KaldiProblem problem, Index line) {
    found_.problem = problem;
    found_.line = line;
    return std::move(found_);
  }

  // Cut at ASCII blanks: columns, and where those of each line begin among them. False if there is
  // no empty line below the first.
  bool cut(Text data, Poll& poll) {
    begin_.push_back(0);
    const char *at = data.data(), *last = at + data.size();
    while (at < last) {
      const char byte = *at;
      if (!is_blank(byte)) {
        const char* first = at;
        while (at < last && !is_blank(*at)) ++at;
        columns_.emplace_back(first, static_cast<std::size_t>(at - first));
        continue;
      }
      ++at;
      if (byte != '\n') continue;
      if (begin_.size() > 1 && begin_.back() == columns_.size()) return true;
      begin_.push_back(columns_.size());
      poll();
    }
    return false;
  }

  std::size_t width(Index line) const { return begin_[line + 1] - begin_[line]; }
  Text column(Index line, std::size_t place) const { return columns_[begin_[line] + place]; }
  static auto commas(Text text) { return std::count(text.begin(), text.end(), ','); }

  bool looks_compact(Index line) const {
    const auto columns = width(line);
    return columns == 3 || (columns == 4 && commas(column(line, 3)) > 0) ||
           (columns == 2 && commas(column(line, 1)) == 2);
  }

  // Whether it is a CompactLattice, as its lines tell; false if they disagree.
  bool decide_kind() {
    const auto lines = static_cast<Index>(begin_.size()) - 1;
    Index telling = 0;
    bool three = false, four = false, five = false;
    for (Index line = 1; line < lines; ++line) {
      const auto columns = width(line);
      if (columns > kMostColumns) {
        stop(KaldiProblem::Columns, line);
        return false;
      }
      if (columns > 1 && telling == 0) telling = line;
      three |= columns == 3;
      four |= columns == 4;
      five |= columns == 5;
    }
    if (telling > 0) found_.compact = looks_compact(telling);
    // what is no weight of a CompactLattice is found when weights are read, but words of a
    // Lattice may be anything
    if (!(found_.compact ? five : three || four)) return true;
    for (Index line = 1; line < lines; ++line) {
      if (width(line) > 1 && looks_compact(line) != found_.compact) {
        stop(KaldiProblem::Mixed, line);
        return false;
      }
    }
    return true;
  }

  static bool all_digits(Text text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  }

  static bool state(Text text, std::int64_t& found) {
    if (!all_digits(text) || text.size() > kMostDigits) return false;
    std::from_chars(text.data(), text.data() + text.size(), found);
    return true;
  }

  // graph,acoustic and in a CompactLattice the transition-ids, joined by _
  KaldiProblem weight(Text text, bool arc, double& graph, double& acoustic, Index& frames) const {
    const auto first = text.find(',');
    if (first == Text::npos) return KaldiProblem::Weight;
    const auto second = text.find(',', first + 1);
    const bool three = second != Text::npos;
    if (three != found_.compact || (three && text.find(',', second + 1) != Text::npos)) {
      return KaldiProblem::Weight;
    }
    const Text costs[] = {text.substr(0, first), text.substr(first + 1, second - first - 1)};
    if (!number_of(costs[0], graph) || !number_of(costs[1], acoustic)) return KaldiProblem::Weight;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool not_final = !arc && graph == infinity && acoustic == infinity;
    if (!not_final && !(std::isfinite(graph) && std::isfinite(acoustic))) {
      return KaldiProblem::Weight;
    }
    if (!three) return KaldiProblem::None;
    const Text ids = text.substr(second + 1);
    frames = ids.empty() ? 0 : 1;
    for (const char byte : ids) {
      if (byte != '_' && !is_digit(byte)) return KaldiProblem::Ids;
      frames += byte == '_';
    }
    return KaldiProblem::None;
  }

  KaldiProblem read_line(Index line) {
    const auto columns = width(line);
    const bool arc = columns > 2;
    const std::size_t full = found_.compact ? 4 : 5;
    double graph = 0.0, acoustic = 0.0;
    Index frames = 0;
    if (columns == 2 || columns == full) {
      const auto problem = weight(column(line, columns - 1), arc, graph, acoustic, frames);
      if (problem != KaldiProblem::None) return problem;
    }
    if (arc && !found_.compact) {
      const Text id = column(line, 2);
      if (id != "<eps>" && !all_digits(id)) return KaldiProblem::TransitionId;
      frames = id != "<eps>" && id.find_first_not_of('0') != Text::npos;
    }
    std::int64_t src = 0, dst = 0;
    if (!state(column(line, 0), src) || (arc && !state(column(line, 1), dst))) {
      return KaldiProblem::State;
    }
    if (line == 1) start_ = src;
    if (!arc) {
      finals_.push_back({src, graph, acoustic});
      return KaldiProblem::None;
    }
    src_.push_back(src);
    dst_.push_back(dst);
    found_.label.push_back(found_.labels.number(column(line, found_.compact ? 2 : 3)));
    if (found_.labels.size() > static_cast<Index>(found_.label_line.size())) {
      found_.label_line.push_back(line);
    }
    found_.frames.push_back(frames);
    found_.graph.push_back(graph);
    found_.acoustic.push_back(acoustic);
    return KaldiProblem::None;
  }

  // Number the states that are named without gaps, in their order.
  void close_up() {
    StateNumbers::Names ends{start_};
    for (const auto& final : finals_) ends.push_back(final.state);
    const StateNumbers states({&src_, &dst_, &ends});
    found_.src = states.of(src_);
    found_.dst = states.of(dst_);
    found_.start = states.of(start_);
    found_.final_graph.assign(states.size(), std::numeric_limits<double>::infinity());
    found_.final_acoustic = found_.final_graph;
    // of several final weights of one state the last counts, as in OpenFst
    for (const auto& final : finals_) {
      found_.final_graph[states.of(final.state)] = final.graph;
      found_.final_acoustic[states.of(final.state)] = final.acoustic;
    }
  }

  std::vector<Text> columns_;
  std::vector<std::size_t> begin_;
  std::vector<std::int64_t> src_, dst_;
  std::vector<Final> finals_;
  std::int64_t start_ = 0;
  KaldiText found_;
};

// The places behind the empty lines of a text, which blanks may be in.
inline std::vector<std::size_t> empty_line_ends(std::string_view data) {
  std::vector<std::size_t> ends;
  for (auto line_end = data.find('\n'); line_end != std::string_view::npos;) {
    const auto next = data.find_first_not_of(" \t\v\f\r", line_end + 1);
    if (next == std::string_view::npos) break;
    if (data[next] != '\n') {
      line_end = data.find('\n', next);
      continue;
    }
    ends.push_back(next + 1);
    line_end = data.find('\n', next + 1);
  }
  return ends;
}

}  // namespace lattices
