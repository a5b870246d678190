// The numbers of states, arcs, nodes, edges and words.
#pragma once

#include <cstdint>

namespace lattices {

using Index = std::int32_t;

}  // namespace lattices
