// Hot loops for several instruction sets: compiled once for each, chosen when they are called.
//
// `dispatch(f)` calls f() in a copy that was compiled for the best instruction set of this
// processor: f and all that it calls are inlined into a function with that target (flatten), so
// that no code outside of it depends on the processor. Results are the same: no instruction set
// changes what a float operation rounds to, and contraction is off.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace lattices {

// Sanitizers look at one version: inlining all they insert takes the compiler half an hour.
#if defined(FSTMETRICS_DISPATCH) && defined(__x86_64__) && defined(__GNUC__) && \
    !defined(__SANITIZE_ADDRESS__)

template <class F>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2"),
               flatten)) auto run_avx512(F& f) {
  return f();
}
template <class F>
__attribute__((target("avx2,bmi,bmi2"), flatten)) auto run_avx2(F& f) {
  return f();
}

// The same for code that is written in vectors: f gets the bytes of the widest one as a constant.
// 512 bits are for whole rows of single precision; 256 where there is no more.
template <class F>
auto dispatch_width(F&& f) {
  auto wide = [&] { return f(std::integral_constant<int, 64>{}); };
  auto middle = [&] { return f(std::integral_constant<int, 32>{}); };
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return run_avx512(wide);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return run_avx2(middle);
  return f(std::integral_constant<int, 16>{});
}

#else

template <class F>
auto dispatch_width(F&& f) {
  return f(std::integral_constant<int, 16>{});
}

#endif

// Call use(order) with the order of n-grams as a constant where it is a usual one, and with 0 where
// it is known only when this runs.
template <class Use>
auto with_order(std::size_t order, Use&& use) {
  switch (order) {
    case 1:
      return use(std::integral_constant<int, 1>{});
    case 4:
      return use(std::integral_constant<int, 4>{});
    default:
      return use(std::integral_constant<int, 0>{});
  }
}

template <class F>
auto dispatch(F&& f) {
  return dispatch_width([&](auto) { return f(); });
}

}  // namespace lattices
