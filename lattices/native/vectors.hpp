// Numbers side by side, as vector instructions take them.
//
// These are the vectors of gcc and clang; compiled without vector instructions they are loops.
// Comparisons give a vector of whole numbers of the same size, all bits set where they hold, which
// selects by `mask ? a : b`. Vectors go in and out of functions by reference: how they would be
// returned depends on the instruction set.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "lattices/native/index.hpp"

namespace lattices {

// Raise a number, or each number of a vector that is aligned as a whole, to another one.
template <class Value>
void raise_to(Value& known, const std::type_identity_t<Value>& offered) {
  known = offered > known ? offered : known;
}

// Numbers that are kept as vectors: one cache line of them.
template <class Value>
struct alignas(64) Lanes {
  typedef Value Vector __attribute__((vector_size(64)));
  static constexpr std::size_t count = 64 / sizeof(Value);

  Vector v;
};

// Rows of numbers, looked at as vectors of so many bytes: the compiler cannot know that rows do not
// overlap, and what it does to find out costs more than a short row.
template <class Value, int Bytes>
struct Vectors {
  typedef Value Vector __attribute__((vector_size(Bytes), aligned(alignof(Value)), may_alias));
  static constexpr Index count = Bytes / sizeof(Value);

  static const Vector& at(const Value* cell) { return *reinterpret_cast<const Vector*>(cell); }
  static Vector& at(Value* cell) { return *reinterpret_cast<Vector*>(cell); }
  static void raise(Vector& known, const Vector& offered) {
    known = offered > known ? offered : known;
  }
  static void lower(Vector& known, const Vector& offered) {
    known = offered < known ? offered : known;
  }
  static Index floor(Index place) { return place & -count; }
  static Index ceil(Index place) { return (place + count - 1) & -count; }
  // Set the cells begin..end - 1, in whole vectors.
  static void fill(Value* row, Value value, std::size_t begin, std::size_t end) {
    const Vector values = Vector{} + value;
    for (std::size_t cell = begin; cell < end; cell += count) at(row + cell) = values;
  }
  // Raise the cells begin..end - 1, in whole vectors, to those of another row plus `more`.
  static void raise_all(Value* into, const Value* from, Value more, Index begin, Index end) {
    for (Index cell = begin; cell < end; cell += count) {
      const Vector offered = at(from + cell) + more;
      raise(at(into + cell), offered);
    }
  }
  // The highest of the cells begin..end - 1, which are whole vectors, at least one.
  static Value highest(const Value* row, Index begin, Index end) {
    Vector best = at(row + begin);
    for (Index cell = begin + count; cell < end; cell += count) raise(best, at(row + cell));
    for (Index half = count / 2; half > 0; half /= 2) {
      for (Index lane = 0; lane < half; ++lane) {
        best[lane] = best[lane + half] > best[lane] ? best[lane + half] : best[lane];
      }
    }
    return best[0];
  }
  // Set `result` to the lanes of `here`, moved to the right by so many; the last of `left` come in.
  template <int By>
  static void move(const Vector& left, const Vector& here, Vector& result) {
    shuffle<By>(left, here, result, std::make_integer_sequence<int, count>{});
  }
  // Raise each lane to the highest on its left; nothing is below `worst`.
  static void carry_on(Vector& lanes, Value worst) {
    raise_by<1>(lanes, worst);
    raise_by<2>(lanes, worst);
    raise_by<4>(lanes, worst);
    if constexpr (count > 8) raise_by<8>(lanes, worst);
  }

 private:
  template <int By>
  static void raise_by(Vector& lanes, Value worst) {
    Vector moved;
    move<By>(Vector{} + worst, lanes, moved);
    raise(lanes, moved);
  }
  template <int By, int... Lane>
  static void shuffle(const Vector& left, const Vector& here, Vector& result,
                      std::integer_sequence<int, Lane...>) {
#if defined(__clang__) || __GNUC__ >= 12
    result = __builtin_shufflevector(left, here, (Lane + count - By)...);
#else
    using Number = std::remove_cvref_t<decltype((left > here)[0])>;
    typedef Number Numbers __attribute__((vector_size(sizeof(Vector))));
    result = __builtin_shuffle(left, here, Numbers{(Lane + count - By)...});
#endif
  }
};

}  // namespace lattices
