// The lines of one n-best list of Moses; lattices/formats/lists/moses.py has the layout.
//
// Known is a list whose lines have the same names of features, ending in = or :, in the same
// places, with finite numbers behind them. Anything else, such as other dialects and what is
// wrong, is answered with "no", and is for a reader that knows them. Cost: linear in the bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "lattices/native/distinct.hpp"
#include "lattices/native/numbers.hpp"
#include "lattices/native/poll.hpp"

namespace lattices {

struct MosesLines {
  std::string_view id;
  std::vector<Index> word, offset{0};  // words are numbers of `words`
  Strings words;
  std::vector<double> score, value;  // values of features, line by line
  std::string_view features;         // those of the first line, with their names
  std::vector<std::string_view> extra;
};

class MosesReader {
 public:
  // Whether all is as known.
  bool read(std::string_view data, MosesLines& found, Poll& poll) {
    for (const char *at = data.data(), *last = at + data.size(); at < last;) {
      poll();
      const auto* end =
          static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(last - at)));
      if (end == nullptr) end = last;
      const auto text = stripped({at, static_cast<std::size_t>(end - at)});
      at = end + 1;
      if (!text.empty() && !line(text, found)) return false;
    }
    return !found.score.empty();
  }

 private:
  using Text = std::string_view;
  static constexpr Text kBar = "|||";

  static bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
  static Text stripped(Text text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
  }
  // Call use(word) for what stands between blanks, as long as it says yes.
  template <class Use>
  static bool each_word(Text text, Use use) {
    const char *at = text.data(), *last = at + text.size();
    while (at < last) {
      const char* first = at;
      while (at < last && !is_blank(*at)) ++at;
      if (at > first && !use(Text(first, static_cast<std::size_t>(at - first)))) return false;
      while (at < last && is_blank(*at)) ++at;
    }
    return true;
  }

  void cut_fields(Text text) {
    fields_.clear();
    for (auto bar = text.find(kBar); bar != Text::npos; bar = text.find(kBar)) {
      fields_.push_back(text.substr(0, bar));
      text.remove_prefix(bar + kBar.size());
    }
    fields_.push_back(text);
  }

  bool line(Text text, MosesLines& found) {
    cut_fields(text);
    const auto count = fields_.size();
    if (count < 4) return false;
    // Marian has its features in the field before the last, and what more there is before them
    const bool marian = count > 4 && stripped(fields_[count - 2]).starts_with("F0=");
    const Text features = fields_[marian ? count - 2 : 2], score = fields_[marian ? count - 1 : 3];
    Text rest;
    if (count > 4) {
      const char* first = fields_[marian ? 2 : 4].data();
      const Text last = fields_[marian ? count - 3 : count - 1];
      rest = stripped({first, static_cast<std::size_t>(last.data() + last.size() - first)});
    }
    double value = 0.0;
    if (!number(stripped(score), value)) return false;
    found.id = stripped(fields_[0]);
    found.score.push_back(value);
    found.extra.push_back(rest);
    each_word(fields_[1], [&](Text word) {
      found.word.push_back(found.words.number(word));
      return true;
    });
    found.offset.push_back(static_cast<Index>(found.word.size()));
    const bool first = found.score.size() == 1;
    if (first) found.features = features;
    std::size_t place = 0;
    const bool good = each_word(features, [&](Text token) {
      const bool is_name = token.back() == '=' || token.back() == ':';
      if (first) {
        // several values behind a name in two places are numbered in a way of their own
        if (is_name && std::ranges::find(shape_, token) != shape_.end()) return false;
        shape_.push_back(is_name ? token : Text());
      } else if (place >= shape_.size() || shape_[place] != (is_name ? token : Text())) {
        return false;
      }
      ++place;
      if (is_name) return true;
      found.value.push_back(0.0);
      return number(token, found.value.back());
    });
    return good && place == shape_.size();
  }

  static bool number(Text text, double& value) {
    const auto found = read_number(text.data(), text.data() + text.size());
    value = found.value;
    return found.end != nullptr && found.end == text.data() + text.size() && std::isfinite(value);
  }

  // the names of features in the first line, nothing in the places of values
  std::vector<Text> shape_;
  std::vector<Text> fields_;
};

}  // namespace lattices
