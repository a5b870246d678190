// Numbers side by side: 64 bytes of them, for which every operation is one of the whole vector.
//
// These are the vectors of gcc and clang; compiled without vector instructions they are loops.
// Comparisons give a vector of whole numbers of the same size, all bits set where they hold, which
// selects by `mask ? a : b`.
#pragma once

#include <cstddef>

namespace fstmetrics {

template <class Value>
struct alignas(64) Lanes {
  typedef Value Vector __attribute__((vector_size(64)));
  static constexpr std::size_t count = 64 / sizeof(Value);

  Vector v;
};

// Raise each lane to that of another vector, where that is larger. Vectors go in and out by
// reference: how they would be returned depends on the instruction set.
template <class Vector>
inline void raise(Vector& lanes, const Vector& other) {
  lanes = other > lanes ? other : lanes;
}

}  // namespace fstmetrics
