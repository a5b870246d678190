// Decimal numbers in bytes to doubles and back: correctly rounded, and the same in every locale.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <version>

namespace lattices {

inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// A number at the beginning of some bytes: where it ends (null if there is none), whether it is
// spelled as JSON allows it (not +1, .5, 5. or 007), whether it is a whole number, and its value,
// which is infinite or zero where it is beyond the range of doubles.
struct Number {
  const char* end = nullptr;
  bool strict = true, whole = true;
  double value = 0.0;
};

namespace detail {

// The double nearest to bytes that are spelled as a number.
inline double nearest_double(const char* first, const char* last) {
  if (*first == '+') ++first;
  double value = 0.0;
#if defined(__cpp_lib_to_chars) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 200000)
  if (std::from_chars(first, last, value).ec == std::errc{}) return value;
#endif
  // out of range, or a library without from_chars for doubles: a stream, slow but in no locale
  std::istringstream stream(std::string(first, last));
  stream.imbue(std::locale::classic());
  stream >> value;
  if (stream.fail() && std::abs(value) == std::numeric_limits<double>::max()) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return value;
}

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

}  // namespace detail

inline Number read_number(const char* at, const char* last) {
  Number found;
  std::uint64_t decimals = 0;
  const char* const begin = at;
  const auto digits = [&] {
    const char* first = at;
    for (; at < last && is_digit(*at); ++at) decimals = 10 * decimals + (*at - '0');
    return at - first;
  };
  bool negative = false;
  if (at < last && (*at == '-' || *at == '+')) {
    negative = *at == '-';
    found.strict = negative;
    ++at;
  }
  const char* first = at;
  auto count = digits();
  found.strict &= count == 1 || (count > 1 && *first != '0');
  std::ptrdiff_t behind = 0;
  if (at < last && *at == '.') {
    ++at;
    behind = digits();
    found.strict &= behind > 0;
    found.whole = false;
    count += behind;
  }
  if (count == 0) return found;
  if (at < last && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at < last && (*at == '-' || *at == '+')) ++at;
    if (digits() == 0) return found;
    found.whole = false;
    count = 0;
  }
  found.end = at;
  // a whole number below 2^53 over a power of ten: both are exact, so their quotient is the
  // nearest double (Clinger 1990); most numbers of files are such
  if (count > 0 && count < 16 && behind < 23) {
    const double quotient = static_cast<double>(decimals) / detail::kPowersOfTen[behind];
    found.value = negative ? -quotient : quotient;
  } else {
    found.value = detail::nearest_double(begin, at);
  }
  return found;
}

// The number that fills a text, as C spells it, infinities among them; false if it is none.
inline bool number_of(std::string_view text, double& value) {
  const char *first = text.data(), *last = first + text.size();
  const auto number = read_number(first, last);
  if (number.end == last && number.end != nullptr) {
    value = number.value;
    return true;
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string lower(text.substr(0, 9));
  for (char& byte : lower) byte = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
  if (lower != "inf" && lower != "infinity") return false;
  value =
      negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  return true;
}

// The bytes that a number may take.
inline constexpr std::size_t kNumberRoom = 32;

// Write a number as Python's repr spells it, and return the place behind it: the fewest digits that
// give it back, with an exponent from 1e16 on and below 1e-4.
inline char* put_number(char* at, double value) {
  const auto put = [&](std::string_view text) { at = std::copy(text.begin(), text.end(), at); };
  if (!std::isfinite(value)) {
    put(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return at;
  }
  if (value == 0.0) {
    put(std::signbit(value) ? "-0.0" : "0.0");
    return at;
  }
  char spelled[kNumberRoom];
  const char* const end =
      std::to_chars(spelled, spelled + sizeof spelled, value, std::chars_format::scientific).ptr;
  // -d.ddde-dd: the digits, and how many of them stand before the point
  const char* first = spelled;
  if (*first == '-') *at++ = *first++;
  const char* mark = end;
  while (*--mark != 'e') {
  }
  int exponent = 0;
  for (const char* digit = mark + 2; digit < end; ++digit)
    exponent = 10 * exponent + (*digit - '0');
  if (mark[1] == '-') exponent = -exponent;
  if (exponent >= 16 || exponent < -4) {
    put({first, end});
    return at;
  }
  const char lead = *first;
  const std::string_view rest =
      mark - first > 1 ? std::string_view(first + 2, mark) : std::string_view();
  if (exponent < 0) {
    put("0.");
    at = std::fill_n(at, -exponent - 1, '0');
    *at++ = lead;
    put(rest);
    return at;
  }
  const auto before = static_cast<std::size_t>(exponent);
  *at++ = lead;
  put(rest.substr(0, before));
  if (rest.size() < before) at = std::fill_n(at, before - rest.size(), '0');
  *at++ = '.';
  if (rest.size() > before) {
    put(rest.substr(before));
  } else {
    *at++ = '0';
  }
  return at;
}

inline void append_number(std::string& text, double value) {
  char spelled[kNumberRoom];
  text.append(spelled, put_number(spelled, value));
}

}  // namespace lattices
