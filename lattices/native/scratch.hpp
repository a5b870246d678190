// Buffers that a thread keeps between calls.
//
// Memory that the allocator asks the system for anew costs a page fault for every 4 KB, more than
// the search of a small lattice. A search takes its buffers from here and gives them back at the
// end, unless they have become large. Nothing in them is read before it is written.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lattices {

// A vector whose new elements are not written. Zeroing a table of gigabytes takes a second in which
// nobody polls; the loops that fill it do.
template <class T>
struct Unwritten : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Unwritten<U>;
  };
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};
template <class T>
using RawVector = std::vector<T, Unwritten<T>>;

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
