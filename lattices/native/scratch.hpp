// Buffers that a thread keeps between calls.
//
// Memory that the allocator asks the system for anew costs a page fault for every 4 KB, more than
// the search of a small lattice. A search takes its buffers from here and gives them back at the
// end, unless they have become large. Nothing in them is read before it is written.
#pragma once

#include <cstddef>
#include <utility>

namespace lattices {

// `Buffers` is a struct of vectors with a method bytes().
template <class Buffers>
class Scratch {
 public:
  Scratch() : buffers_(std::exchange(kept(), Buffers{})) {}
  ~Scratch() {
    if (buffers_.bytes() <= kMost) kept() = std::move(buffers_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Buffers* operator->() { return &buffers_; }
  const Buffers* operator->() const { return &buffers_; }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 24;
  static Buffers& kept() {
    static thread_local Buffers buffers;
    return buffers;
  }
  Buffers buffers_;
};

}  // namespace lattices
