// The numbers of states, arcs, nodes, edges and words, and groups of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lattices {

using Index = std::int32_t;

// Turn sizes of groups, each one place behind its group, into where groups begin.
inline void add_up(std::vector<Index>& sizes) {
  for (std::size_t at = 1; at < sizes.size(); ++at) sizes[at] += sizes[at - 1];
}

// Entries by group, in the order of their numbers: those of group g stand at offset[g] up to
// offset[g + 1].
struct Groups {
  std::vector<Index> offset, entry;
};
template <class GroupOf>
Groups group(std::size_t entries, std::size_t groups, GroupOf&& group_of) {
  Groups found{std::vector<Index>(groups + 1, 0), std::vector<Index>(entries)};
  for (std::size_t at = 0; at < entries; ++at) ++found.offset[group_of(at) + 1];
  add_up(found.offset);
  std::vector<Index> next(found.offset.begin(), found.offset.end() - 1);
  for (std::size_t at = 0; at < entries; ++at) {
    found.entry[next[group_of(at)]++] = static_cast<Index>(at);
  }
  return found;
}

}  // namespace lattices
