// Polling where nothing can interrupt: stands for the library's header in WebAssembly, which has
// neither threads nor exceptions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace lattices {

struct Poll {
  void operator()(std::size_t = 1) {}
};

}  // namespace lattices
