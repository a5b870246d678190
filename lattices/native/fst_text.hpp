// The lines of OpenFst's text format; lattices/formats/openfst/text.py has the layout.
//
// Known are lines of states that are whole numbers and of costs that are numbers, which say
// whether they are of an acceptor. Anything else, be it only doubtful, is answered with "no": then
// the file is for a reader that says what is wrong. Cost: linear in the bytes (with a sort of the
// states where their numbers are far apart).
#pragma once

#include <algorithm>
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

enum class FstSide { Output, Input };
enum class FstArcs { Auto, Acceptor, Transducer };

struct FstText {
  Index start = 0;
  std::vector<Index> src, dst, label;  // labels are numbers of `labels`
  std::vector<double> cost, final;     // infinite where no path ends
  Strings labels;
};

class FstTextReader {
 public:
  FstTextReader(FstArcs arcs, FstSide side) : arcs_(arcs), side_(side) {}

  // Whether all is as known.
  bool read(std::string_view data, FstText& found, Poll& poll) {
    if (!cut(data, poll) || rows_.empty()) return false;
    bool acceptor = false;
    if (!decide(acceptor)) return false;
    std::vector<std::int64_t> from, to, ends;
    std::vector<double> end_cost;
    const std::size_t wanted = acceptor || side_ == FstSide::Input ? 2 : 3;
    const std::size_t cost_at = acceptor ? 3 : 4;
    for (const auto& row : rows_) {
      poll();
      std::int64_t state = 0, target = 0;
      double cost = 0.0;
      if (!whole(row.column[0], state)) return false;
      const bool is_end = row.width < 3;
      const std::size_t place = is_end ? 1 : cost_at;
      if (row.width > place && !cost_of(row.column[place], cost)) return false;
      if (is_end) {
        ends.push_back(state);
        end_cost.push_back(cost);
        continue;
      }
      // in k2's text, which looks like this, such a label stands before the end
      if (!whole(row.column[1], target) || row.column[2] == "-1") return false;
      from.push_back(state);
      to.push_back(target);
      found.label.push_back(found.labels.number(row.column[wanted]));
      found.cost.push_back(cost);
    }
    std::int64_t start = 0;
    whole(rows_.front().column[0], start);
    const StateNumbers numbers({&from, &to, &ends});
    found.start = numbers.of(start);
    found.src = numbers.of(from);
    found.dst = numbers.of(to);
    found.final.assign(numbers.size(), std::numeric_limits<double>::infinity());
    // of several final costs of one state the last counts
    for (std::size_t end = 0; end < ends.size(); ++end) {
      found.final[numbers.of(ends[end])] = end_cost[end];
    }
    return true;
  }

 private:
  using Text = std::string_view;
  static constexpr std::size_t kMostColumns = 5, kMostDigits = 18;

  struct Row {
    std::size_t width = 0;
    Text column[kMostColumns];
  };

  static bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
  static bool is_whole(Text text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  }
  static bool whole(Text text, std::int64_t& value) {
    if (!is_whole(text) || text.size() > kMostDigits) return false;
    value = 0;
    for (const char byte : text) value = 10 * value + (byte - '0');
    return true;
  }
  static bool cost_of(Text text, double& value) {
    return number_of(text, value) && value != -std::numeric_limits<double>::infinity();
  }

  static bool is_nan(Text text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    const auto is = [&](std::size_t place, char byte) { return (text[place] | 32) == byte; };
    return text.size() == 3 && is(0, 'n') && is(1, 'a') && is(2, 'n');
  }

  bool cut(Text data, Poll& poll) {
    Row row;
    for (const char *at = data.data(), *last = at + data.size(); at < last;) {
      if (!is_blank(*at)) {
        const char* first = at;
        while (at < last && !is_blank(*at)) ++at;
        if (row.width == kMostColumns) return false;
        row.column[row.width++] = {first, static_cast<std::size_t>(at - first)};
        continue;
      }
      if (*at++ != '\n' || row.width == 0) continue;
      poll();
      rows_.push_back(row);
      row.width = 0;
    }
    if (row.width > 0) rows_.push_back(row);
    return true;
  }

  // Whether arcs have one label; false if that cannot be told, or is not so.
  bool decide(bool& acceptor) const {
    bool three = false, four = false, five = false, numbers = true, wholes = true, same = true;
    for (const auto& row : rows_) {
      three |= row.width == 3;
      five |= row.width == 5;
      if (row.width != 4) continue;
      four = true;
      double value = 0.0;
      // "nan" may be a cost that is wrong, or a word
      if (is_nan(row.column[3])) return false;
      numbers = numbers && number_of(row.column[3], value);
      wholes = wholes && is_whole(row.column[2]) && is_whole(row.column[3]);
      same = same && row.column[2] == row.column[3];
    }
    acceptor = arcs_ == FstArcs::Acceptor;
    if (arcs_ == FstArcs::Auto) {
      if (three || five) {
        acceptor = three;
      } else if (four && numbers) {
        if (wholes && !same) return false;
        acceptor = !wholes;
      }
    }
    return acceptor ? !five : !three;
  }

  FstArcs arcs_;
  FstSide side_;
  std::vector<Row> rows_;
};

}  // namespace lattices
