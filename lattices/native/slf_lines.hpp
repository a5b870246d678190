// The nodes (I=) and links (J=) of an HTK lattice as columns; lattices/formats/htk/links.py has the
// meaning of keys, and reads the header.
//
// Known is a line of key=value with ASCII blanks between, a finite number behind keys that have
// one, no key twice. Anything else, be it a comment behind fields or wrong, is answered with "no":
// then the lines are for a reader that says what is wrong. Cost: linear in the bytes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lattices/native/distinct.hpp"
#include "lattices/native/numbers.hpp"
#include "lattices/native/poll.hpp"

namespace lattices {

// What stands behind a key: anything, which is not kept; a number; the number that names a node; a
// word.
enum class SlfKind { Other, Number, Name, Word };

struct SlfColumn {
  SlfKind kind = SlfKind::Other;
  Index last_row = -1;
  std::vector<double> number;      // one entry a row, NaN where there is none
  std::vector<std::int64_t> name;  // one entry a row
};

// Lines of one kind.
struct SlfRows {
  std::vector<Index> line;  // how far below the first of the record
  Strings keys;             // by their short names
  std::vector<SlfColumn> columns;
  std::vector<Index> word;  // a number of `words`, -1 where there is none
  Strings words;

  Index size() const { return static_cast<Index>(line.size()); }
};

struct SlfLines {
  SlfRows nodes, links;
  // all other lines that are not blank, stripped, and where they are
  std::vector<std::string_view> other;
  std::vector<Index> other_line;
  // values that had escapes
  std::deque<std::string> unescaped;
};

class SlfReader {
 public:
  explicit SlfReader(bool quotes) : quotes_(quotes) {}

  // Whether all is as known.
  bool read(std::string_view data, SlfLines& found, Poll& poll) {
    Index number = 0;
    for (const char *at = data.data(), *last = at + data.size(); at <= last; ++number) {
      poll();
      const auto* end = at == last ? nullptr
                                   : static_cast<const char*>(std::memchr(
                                         at, '\n', static_cast<std::size_t>(last - at)));
      if (end == nullptr) end = last;
      const auto line = stripped(at, end);
      at = end + 1;
      if (line.empty()) continue;
      if (line.starts_with("J=")) {
        if (!row(line, number, found, found.links, "S", "E")) return false;
      } else if (line.starts_with("I=")) {
        if (!row(line, number, found, found.nodes, "I", "I")) return false;
      } else {
        found.other.push_back(line);
        found.other_line.push_back(number);
      }
    }
    return close(found.nodes) && close(found.links);
  }

 private:
  using Text = std::string_view;

  static bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

  static Text stripped(const char* first, const char* last) {
    while (first < last && is_blank(*first)) ++first;
    while (first < last && is_blank(last[-1])) --last;
    return {first, static_cast<std::size_t>(last - first)};
  }

  static Text short_name(Text key) {
    static constexpr std::pair<Text, Text> kAliases[] = {
        {"START", "S"},    {"END", "E"},   {"WORD", "W"},    {"time", "t"},
        {"acoustic", "a"}, {"ngram", "n"}, {"language", "l"}};
    for (const auto& [alias, name] : kAliases) {
      if (key == alias) return name;
    }
    return key;
  }

  static SlfKind kind_of(Text key, Text one, Text other) {
    if (key == one || key == other) return SlfKind::Name;
    if (key == "W") return SlfKind::Word;
    for (const Text known : {"t", "a", "n", "l", "r", "ds", "p"}) {
      if (key == known) return SlfKind::Number;
    }
    // x1, x2 and so on
    bool further = key.size() > 1 && key[0] == 'x' && key[1] != '0';
    for (const char byte : key.substr(further ? 1 : 0)) further = further && is_digit(byte);
    return further ? SlfKind::Number : SlfKind::Other;
  }

  // Whether blanks inside quotes, and escapes, have to be looked for.
  static bool has_quotes(Text line) {
    if (line.find('\\') != Text::npos) return true;
    for (auto at = line.find('='); at != Text::npos; at = line.find('=', at + 1)) {
      if (at + 1 < line.size() && (line[at + 1] == '"' || line[at + 1] == '\'')) return true;
    }
    return false;
  }

  // The fields of one line; `one` and `other` are the keys of nodes.
  bool row(Text line, Index number, SlfLines& found, SlfRows& rows, Text one, Text other) {
    const Index here = rows.size();
    rows.line.push_back(number);
    rows.word.push_back(-1);
    const bool quoted = quotes_ && has_quotes(line);
    const char *at = line.data(), *last = at + line.size();
    for (Index place = 0; at < last; ++place) {
      const char* first = at;
      while (at < last && !is_blank(*at) && *at != '=') ++at;
      if (at == last || *at != '=' || at == first) return false;
      const Text key(first, static_cast<std::size_t>(at - first));
      Text value;
      first = ++at;
      if (quoted) {
        if (!quoted_value(at, last, found, value)) return false;
      } else {
        while (at < last && !is_blank(*at)) ++at;
        value = {first, static_cast<std::size_t>(at - first)};
      }
      if (!field(key, value, place, here, rows, one, other)) return false;
      while (at < last && is_blank(*at)) ++at;
    }
    return true;
  }

  // Where a text that begins at `at` ends: before an end that is not escaped. Null if there is
  // none.
  template <class IsEnd>
  static const char* text_end(const char* at, const char* last, IsEnd is_end) {
    for (; at < last && !is_end(*at); ++at) {
      if (*at == '\\' && ++at == last) return nullptr;
    }
    return at;
  }

  // A value in quotes if they end where a blank or the line's end follows, and else up to a blank.
  static bool quoted_value(const char*& at, const char* last, SlfLines& found, Text& value) {
    const char* first = at;
    const char quote = at < last ? *at : ' ';
    if (quote == '"' || quote == '\'') {
      const char* end = text_end(at + 1, last, [&](char byte) { return byte == quote; });
      if (end != nullptr && end < last && (end + 1 == last || is_blank(end[1]))) {
        at = end + 1;
        value = unescaped({first + 1, static_cast<std::size_t>(end - first - 1)}, found);
        return true;
      }
    }
    at = text_end(first, last, is_blank);
    // a string that does not end, or a line that ends with a backslash
    if (at == nullptr || (quote == '"' && at - first > 1)) return false;
    value = unescaped({first, static_cast<std::size_t>(at - first)}, found);
    return true;
  }

  // \0ooo and \ooo are bytes in octal digits, any other byte behind a backslash is itself.
  static Text unescaped(Text text, SlfLines& found) {
    if (text.find('\\') == Text::npos) return text;
    const auto octal = [&](std::size_t place, std::size_t count, char most) {
      if (place + count > text.size() || text[place] > most) return false;
      for (const char byte : text.substr(place, count)) {
        if (byte < '0' || byte > '7') return false;
      }
      return true;
    };
    std::string plain;
    for (std::size_t place = 0; place < text.size(); ++place) {
      if (text[place] != '\\') {
        plain += text[place];
        continue;
      }
      ++place;
      const std::size_t digits = octal(place, 4, '0') ? 4 : octal(place, 3, '3') ? 3 : 0;
      if (digits == 0) {
        plain += text[place];
        continue;
      }
      int code = 0;
      for (const char byte : text.substr(place, digits)) code = 8 * code + (byte - '0');
      plain += static_cast<char>(code & 0xFF);
      place += digits - 1;
    }
    return found.unescaped.emplace_back(std::move(plain));
  }

  bool field(Text key, Text value, Index place, Index here, SlfRows& rows, Text one, Text other) {
    // most lines have the keys of the one before, in the same places
    const bool same = place < rows.keys.size() && rows.keys[place] == key;
    const Index which = same ? place : rows.keys.number(short_name(key));
    if (which == static_cast<Index>(rows.columns.size())) {
      rows.columns.emplace_back();
      rows.columns.back().kind = kind_of(rows.keys[which], one, other);
    }
    auto& column = rows.columns[which];
    if (column.last_row == here) return false;
    column.last_row = here;
    if (column.kind == SlfKind::Word) {
      rows.word.back() = rows.words.number(value);
    } else if (column.kind == SlfKind::Number) {
      const auto number = read_number(value.data(), value.data() + value.size());
      if (number.end != value.data() + value.size() || !std::isfinite(number.value)) return false;
      column.number.resize(here, std::numeric_limits<double>::quiet_NaN());
      column.number.push_back(number.value);
    } else if (column.kind == SlfKind::Name) {
      if (value.empty() || value.size() > 18) return false;
      std::int64_t name = 0;
      for (const char byte : value) {
        if (!is_digit(byte)) return false;
        name = 10 * name + (byte - '0');
      }
      // one that is missing is found by the length of the column
      column.name.push_back(name);
    }
    return true;
  }

  static bool close(SlfRows& rows) {
    for (auto& column : rows.columns) {
      if (column.kind == SlfKind::Number) {
        column.number.resize(rows.line.size(), std::numeric_limits<double>::quiet_NaN());
      }
      if (column.kind == SlfKind::Name && column.name.size() != rows.line.size()) return false;
    }
    return true;
  }

  bool quotes_;
};

}  // namespace lattices
