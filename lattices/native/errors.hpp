// Errors that C++ raises: each becomes the class of the same name in lattices.errors.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

namespace lattices {

enum class ErrorKind { Space, Option, Engine, TooLarge };

class Error : public std::runtime_error {
 public:
  Error(ErrorKind which, const std::string& problem) : std::runtime_error(problem), kind(which) {}
  ErrorKind kind;
};

inline Error space_error(const std::string& problem) { return {ErrorKind::Space, problem}; }
inline Error option_error(const std::string& problem) { return {ErrorKind::Option, problem}; }
inline Error engine_error(const std::string& problem) { return {ErrorKind::Engine, problem}; }

// Bytes for people, as 2.1 GB; units are those of --memory.
inline std::string in_bytes(double bytes) {
  static constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  for (; bytes >= 999.5 && unit < 5; ++unit) bytes /= 1000.0;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 || bytes >= 99.95 ? "%.0f" : "%.1f", bytes);
  return std::string(text) + " " + units[unit];
}

// `what`, in the plural, would take more memory than a search may; the bytes are at least so many.
inline Error too_large(const std::string& what, double bytes, std::size_t memory) {
  return {ErrorKind::TooLarge, what + " take " + in_bytes(bytes) + " of memory or more, and " +
                                   in_bytes(static_cast<double>(memory)) + " are allowed"};
}

// Columns are indexed by 32 bits: refuse to make longer ones.
inline void check_size(std::size_t size, const char* what) {
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw space_error(std::string("more than 2147483647 ") + what);
  }
}

}  // namespace lattices
