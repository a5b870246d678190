// Sentences as Python has them, cut into words or characters.
//
// A text is cut at blanks; tokens come as they are. Nothing here needs the interpreter: whoever
// makes Texts keeps the strings alive.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fstmetrics/native/sentences.hpp"
#include "lattices/native/interning.hpp"
#include "tsl/robin_map.h"

namespace fstmetrics {

// The code points of a string, of 1, 2 or 4 bytes each, and whether all are ASCII.
struct Text {
  const void* data;
  std::size_t length;
  int width;
  bool ascii;

  template <class Use>
  void visit(Use&& use) const {
    if (width == 1) {
      use(std::span(static_cast<const std::uint8_t*>(data), length));
    } else if (width == 2) {
      use(std::span(static_cast<const std::uint16_t*>(data), length));
    } else {
      use(std::span(static_cast<const std::uint32_t*>(data), length));
    }
  }
};

// Where texts are cut: at the blanks of lattices.formats.base, at those of Python's str.split, or
// nowhere.
enum class Blanks { Ascii, Unicode, None };

constexpr bool is_blank(std::uint32_t point, Blanks blanks) {
  if (blanks == Blanks::None) return false;
  if (point == ' ' || (point >= '\t' && point <= '\r')) return true;
  if (blanks == Blanks::Ascii || point < 0x1c) return false;
  return point <= 0x1f || point == 0x85 || point == 0xa0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
         point == 0x202f || point == 0x205f || point == 0x3000;
}

// The same for bytes, by a table.
inline const std::array<bool, 256>& byte_blanks(Blanks blanks) {
  static constexpr auto table = [](Blanks which) {
    std::array<bool, 256> result{};
    for (std::uint32_t point = 0; point < 256; ++point) result[point] = is_blank(point, which);
    return result;
  };
  static constexpr std::array<std::array<bool, 256>, 3> tables{
      table(Blanks::Ascii), table(Blanks::Unicode), table(Blanks::None)};
  return tables[static_cast<std::size_t>(blanks)];
}

// How sentences become units: characters, with a blank between words or without, or words.
struct Cut {
  Blanks blanks = Blanks::Ascii;
  bool characters = false, spaces = true;
  // punctuation at the end of a word, or else at its beginning, is a word of its own, as for chrF++
  bool punctuation = false;
};

// Sentence s has the pieces offset[s]..offset[s + 1] - 1: one text, or tokens.
struct Texts {
  std::vector<Text> piece;
  std::vector<std::int32_t> offset{0};
  std::vector<bool> is_text;

  std::size_t size() const { return is_text.size(); }
  void end_sentence(bool text) {
    offset.push_back(static_cast<std::int32_t>(piece.size()));
    is_text.push_back(text);
  }
  std::span<const Text> operator[](std::size_t sentence) const {
    return std::span(piece).subspan(offset[sentence], offset[sentence + 1] - offset[sentence]);
  }
};

// Tell whether the characters of a text are its bytes: none is of two, single spaces are all its
// blanks, and none of them is at an end.
inline bool is_bytes(const Text& text) {
  if (text.width > 1) return false;
  if (text.length == 0) return true;
  const auto* const point = static_cast<const std::uint8_t*>(text.data);
  const auto last = text.length - 1;
  // in bytes, so that the loops are vectors
  std::uint8_t other = (point[0] == ' ') | (point[last] == ' ');
  for (std::size_t at = 0; at <= last; ++at)
    other |= static_cast<std::uint8_t>(point[at] - '\t') < 5;
  for (std::size_t at = 0; at < last; ++at) other |= (point[at] == ' ') & (point[at + 1] == ' ');
  return other == 0;
}
inline std::span<const std::uint8_t> bytes_of(const Text& text) {
  return {static_cast<const std::uint8_t*>(text.data), text.length};
}

// Append the code points of a sentence.
inline void append_characters(std::span<const Text> pieces, bool is_text, const Cut& cut,
                              std::vector<Unit>& unit) {
  bool first = true;
  for (const auto& piece : pieces) {
    if (!first && cut.spaces) unit.push_back(' ');
    first = false;
    const auto begin = unit.size();
    // with a blank behind the last word, perhaps
    unit.resize(begin + piece.length + 1);
    auto* at = &unit[begin];
    const auto* const start = at;
    piece.visit([&]<class Point>(std::span<const Point> points) {
      if (!is_text || cut.blanks == Blanks::None) {
        at = std::copy(points.begin(), points.end(), at);
        return;
      }
      // each blank is written over the one before it
      bool after_blank = true;
      const auto& table = byte_blanks(cut.blanks);
      for (const auto point : points) {
        const bool blank = point < 256 ? table[point] : is_blank(point, cut.blanks);
        *at = blank ? ' ' : static_cast<Unit>(point);
        at += blank ? cut.spaces && !after_blank : 1;
        after_blank = blank;
      }
      if (cut.spaces && after_blank && at > start) --at;
    });
    unit.resize(begin + (at - start));
  }
}

// Append the UTF-8 of code points; lone surrogates as if they were none, other blanks as a space.
inline void append_utf8(const Text& text, Blanks blanks, std::string& bytes) {
  text.visit([&](auto points) {
    for (const std::uint32_t point : points) {
      const auto put = [&](std::uint32_t byte) { bytes.push_back(static_cast<char>(byte)); };
      if (point < 0x80) {
        put(point);
      } else if (is_blank(point, blanks)) {
        put(' ');
      } else if (point < 0x800) {
        put(0xc0 | point >> 6);
        put(0x80 | (point & 0x3f));
      } else if (point < 0x10000) {
        put(0xe0 | point >> 12);
        put(0x80 | (point >> 6 & 0x3f));
        put(0x80 | (point & 0x3f));
      } else {
        put(0xf0 | point >> 18);
        put(0x80 | (point >> 12 & 0x3f));
        put(0x80 | (point >> 6 & 0x3f));
        put(0x80 | (point & 0x3f));
      }
    }
  });
}

inline bool is_punctuation(char byte) {
  return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') ||
         (byte >= '[' && byte <= '`') || (byte >= '{' && byte <= '~');
}

// Words, as UTF-8, numbered as they come.
class WordNumbers {
 public:
  std::size_t size() const { return words_.size(); }
  std::string_view operator[](std::size_t number) const { return words_[number]; }
  void clear() {
    number_.clear();
    words_.clear();
    kept_.clear();
  }

  // Append the numbers of the words of a sentence to `unit`, and the words to `said`. Words that
  // follow each other as in `known`, a sentence with these numbers, are not looked up.
  void append(std::span<const Text> pieces, bool is_text, const Cut& cut, std::vector<Unit>& unit,
              std::vector<std::string_view>& said, std::span<const std::string_view> known = {},
              std::span<const Unit> known_unit = {}) {
    std::size_t next = 0;
    const auto add = [&](std::string_view word) {
      Unit number = -1;
      // where the sentence goes on, or where it does if one of the two has a word more
      for (const auto at : {next, next - 1, next + 1}) {
        if (at < known.size() && known[at] == word) {
          number = known_unit[at];
          next = at;
          break;
        }
      }
      ++next;
      if (number < 0) {
        const auto [found, fresh] = number_.try_emplace(word, static_cast<Unit>(words_.size()));
        if (fresh) words_.push_back(word);
        number = found->second;
      }
      unit.push_back(number);
      said.push_back(word);
    };
    for (const auto& piece : pieces) {
      const auto text = bytes_of(piece, is_text ? cut.blanks : Blanks::None);
      if (is_text && cut.blanks != Blanks::None) {
        split(text, cut, add);
      } else {
        add(text);
      }
    }
  }

 private:
  struct Hash {
    std::size_t operator()(std::string_view word) const {
      return lattices::hash_bytes(word.data(), word.size());
    }
  };

  std::string_view bytes_of(const Text& text, Blanks blanks) {
    if (text.ascii) return {static_cast<const char*>(text.data), text.length};
    append_utf8(text, blanks, kept_.emplace_back());
    return kept_.back();
  }

  template <class Add>
  static void split(std::string_view text, const Cut& cut, Add&& add) {
    const auto& blank = byte_blanks(cut.blanks);
    const auto is_blank_at = [&](std::size_t at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      return byte < 0x80 && blank[byte];
    };
    for (std::size_t begin = 0; begin < text.size();) {
      if (is_blank_at(begin)) {
        ++begin;
        continue;
      }
      auto end = begin + 1;
      while (end < text.size() && !is_blank_at(end)) ++end;
      const auto word = text.substr(begin, end - begin);
      begin = end;
      if (!cut.punctuation || word.size() == 1) {
        add(word);
      } else if (is_punctuation(word.back())) {
        add(word.substr(0, word.size() - 1));
        add(word.substr(word.size() - 1));
      } else if (is_punctuation(word.front())) {
        add(word.substr(0, 1));
        add(word.substr(1));
      } else {
        add(word);
      }
    }
  }

  tsl::robin_map<std::string_view, Unit, Hash, std::equal_to<>,
                 std::allocator<std::pair<std::string_view, Unit>>, true>
      number_;
  std::vector<std::string_view> words_;
  // what is not ASCII: strings that do not move
  std::deque<std::string> kept_;
};

// A corpus: hypotheses, and the references segment[s]..segment[s + 1] - 1 of each.
struct TextCorpus {
  Texts hypotheses, references;
  std::vector<std::int32_t> segment{0};
};

// A segment in units: the hypothesis, and each of its references.
class SegmentUnits {
 public:
  std::span<const Unit> hypothesis() const { return unit_[0]; }
  std::span<const Unit> reference(std::size_t number) const { return unit_[number + 1]; }

  // Words are numbered anew for each segment.
  void read(const TextCorpus& corpus, std::size_t segment, const Cut& cut) {
    const std::size_t first = corpus.segment[segment];
    const std::size_t count = corpus.segment[segment + 1] - first;
    if (unit_.size() < count + 1) unit_.resize(count + 1);
    if (cut.characters) {
      for (std::size_t r = 0; r <= count; ++r) unit_[r].clear();
      append_characters(corpus.hypotheses[segment], corpus.hypotheses.is_text[segment], cut,
                        unit_[0]);
      for (std::size_t r = 0; r < count; ++r) {
        append_characters(corpus.references[first + r], corpus.references.is_text[first + r], cut,
                          unit_[r + 1]);
      }
      return;
    }
    numbers_.clear();
    known_.clear();
    for (std::size_t r = 0; r < count; ++r) {
      said_.clear();
      unit_[r + 1].clear();
      numbers_.append(corpus.references[first + r], corpus.references.is_text[first + r], cut,
                      unit_[r + 1], r == 0 ? known_ : said_);
    }
    said_.clear();
    unit_[0].clear();
    numbers_.append(corpus.hypotheses[segment], corpus.hypotheses.is_text[segment], cut, unit_[0],
                    said_, known_, count > 0 ? std::span<const Unit>(unit_[1]) : std::span<Unit>());
  }

 private:
  WordNumbers numbers_;
  std::vector<std::string_view> said_, known_;
  std::vector<std::vector<Unit>> unit_;
};

}  // namespace fstmetrics
