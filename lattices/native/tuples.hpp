// Tuples of the words that numbers stand for.
#pragma once

#include <span>

#include "lattices/native/border.hpp"

namespace lattices {

// The words of a vocabulary, whose list of strings is given.
inline nb::tuple words_of(nb::handle strings, std::span<const std::int32_t> numbers) {
  return pick_strings(nb::borrow<nb::list>(strings), numbers);
}

}  // namespace lattices
