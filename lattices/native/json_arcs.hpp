// The arcs of a lattice in JSON, read from the bytes of its record.
//
// Known is what arcs look like in any spelling of numbers and with any blanks between them:
// [src, dst, "word", score, {"feature": value}], the last two optional. Anything else, be it only
// unusual or wrong, is answered with "no": then the record is for a reader that decodes all of its
// JSON and says what is wrong with it. Cost: linear in the bytes.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <vector>

#include "lattices/native/distinct.hpp"
#include "lattices/native/numbers.hpp"
#include "lattices/native/poll.hpp"

namespace lattices {

struct JsonArcs {
  // where the list stands in the record
  std::size_t begin = 0, end = 0;
  std::vector<Index> src, dst, word;
  std::vector<double> score;
  // features as the rows of a sparse matrix, entries in the order of the file
  std::vector<Index> offset, feature;
  std::vector<double> value;
  // as they are spelled between their quotes; some may be one string in two spellings
  Strings words, names;
};

class JsonArcReader {
 public:
  explicit JsonArcReader(std::string_view data)
      : first_(data.data()), at_(first_), last_(first_ + data.size()) {}

  // Whether all is as known; what stands behind the arcs is not looked at.
  bool read(JsonArcs& arcs, Poll& poll) {
    if (!find_arcs()) return false;
    arcs.begin = static_cast<std::size_t>(at_ - first_);
    reserve(arcs);
    take('[');
    if (!take(']')) {
      do {
        poll();
        if (!arc(arcs)) return false;
      } while (take(','));
      if (!take(']')) return false;
    }
    arcs.end = static_cast<std::size_t>(at_ - first_);
    return true;
  }

 private:
  void blanks() {
    while (at_ < last_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool sees(char byte) {
    blanks();
    return at_ < last_ && *at_ == byte;
  }
  bool take(char byte) {
    if (!sees(byte)) return false;
    ++at_;
    return true;
  }

  // What stands between two quotes, escapes as they are.
  bool text(std::string_view& found) {
    if (!take('"')) return false;
    const char* begin = at_;
    for (; at_ < last_; ++at_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"') {
        found = {begin, static_cast<std::size_t>(at_++ - begin)};
        return true;
      }
      if (byte < 32) return false;
      if (byte == '\\' && ++at_ == last_) return false;
    }
    return false;
  }

  bool state(Index& found) {
    blanks();
    if (at_ == last_ || !is_digit(*at_)) return false;
    const char* begin = at_;
    const auto [end, problem] = std::from_chars(begin, last_, found);
    at_ = end;
    return problem == std::errc{} && (end - begin == 1 || *begin != '0');
  }

  bool number(double& found) {
    blanks();
    const auto number = read_number(at_, last_);
    if (number.end == nullptr || !number.strict) return false;
    // longer ones may not fit in 64 bits, and are no business of doubles
    if (number.whole && number.end - at_ > 18) return false;
    // whole numbers have no -0
    found = number.whole && number.value == 0.0 ? 0.0 : number.value;
    at_ = number.end;
    return true;
  }

  // Go behind a value of any kind, to the comma or bracket; what is wrong in it others find out.
  void skip_value() {
    std::string_view skipped;
    for (int depth = 0; at_ < last_;) {
      if (*at_ == '"') {
        if (!text(skipped)) return;
        continue;
      }
      if (*at_ == '[' || *at_ == '{') ++depth;
      const bool closes = *at_ == ']' || *at_ == '}';
      if (depth == 0 && (closes || *at_ == ',')) return;
      depth -= closes;
      ++at_;
    }
  }

  // Go to the bracket that opens "arcs" of the outer object.
  bool find_arcs() {
    std::string_view key;
    if (!take('{')) return false;
    do {
      if (!text(key) || !take(':')) return false;
      if (key == "arcs") return sees('[');
      skip_value();
    } while (take(','));
    return false;
  }

  void reserve(JsonArcs& arcs) const {
    // no more than there are brackets and colons
    const auto rows = static_cast<std::size_t>(std::count(at_, last_, '['));
    const auto features = static_cast<std::size_t>(std::count(at_, last_, ':'));
    for (auto* column : {&arcs.src, &arcs.dst, &arcs.word}) column->reserve(rows);
    arcs.score.reserve(rows);
    arcs.offset.reserve(rows + 1);
    arcs.offset.push_back(0);
    arcs.feature.reserve(features);
    arcs.value.reserve(features);
  }

  bool arc(JsonArcs& arcs) {
    Index src = 0, dst = 0;
    std::string_view word;
    double score = 0.0;
    if (!take('[') || !state(src) || !take(',') || !state(dst) || !take(',') || !text(word)) {
      return false;
    }
    if (take(',')) {
      if (!number(score)) return false;
      if (take(',') && !features(arcs)) return false;
    }
    arcs.src.push_back(src);
    arcs.dst.push_back(dst);
    arcs.word.push_back(arcs.words.number(word));
    arcs.score.push_back(score);
    arcs.offset.push_back(static_cast<Index>(arcs.feature.size()));
    return take(']');
  }

  bool features(JsonArcs& arcs) {
    if (!take('{')) return false;
    if (take('}')) return true;
    const auto here = static_cast<Index>(arcs.src.size());
    Index known = 0;
    do {
      std::string_view name;
      double value = 0.0;
      if (!text(name) || !take(':') || !number(value)) return false;
      // most names come behind the same name on all arcs
      Index next = followers_[known].next;
      if (next < 0 || arcs.names[next] != name) {
        next = followers_[known].next = arcs.names.number(name);
        if (arcs.names.size() == static_cast<Index>(followers_.size())) followers_.emplace_back();
      }
      known = next + 1;
      if (followers_[known].last_arc == here) return false;
      followers_[known].last_arc = here;
      arcs.feature.push_back(next);
      arcs.value.push_back(value);
    } while (take(','));
    return take('}');
  }

  // Of name k, at k + 1: the name that came behind it last, and the arc that has had it last. What
  // came first on an arc is at 0.
  struct Follower {
    Index next = -1, last_arc = -1;
  };

  std::vector<Follower> followers_{Follower{}};
  const char *first_, *at_, *last_;
};

}  // namespace lattices
