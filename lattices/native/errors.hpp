// Errors that C++ raises: each becomes the class of the same name in lattices.errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace lattices {

enum class ErrorKind { Space, Option, Engine };

class Error : public std::runtime_error {
 public:
  Error(ErrorKind which, const std::string& problem) : std::runtime_error(problem), kind(which) {}
  ErrorKind kind;
};

inline Error space_error(const std::string& problem) { return {ErrorKind::Space, problem}; }
inline Error option_error(const std::string& problem) { return {ErrorKind::Option, problem}; }
inline Error engine_error(const std::string& problem) { return {ErrorKind::Engine, problem}; }

// Columns are indexed by 32 bits: refuse to make longer ones.
inline void check_size(std::size_t size, const char* what) {
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw space_error(std::string("more than 2147483647 ") + what);
  }
}

}  // namespace lattices
