// Buffers that a thread keeps between calls.
//
// Memory that the allocator asks the system for anew costs a page fault for every 4 KB, more than
// the search of a small lattice. A search takes its buffers from here and gives them back at the
// end, unless they have become large. Nothing in them is read before it is written.
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstddef>
#include <memory>
#include <new>
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

// Memory that is neither filled nor kept when it grows, aligned to cache lines. Large memory comes
// in large pages, where the system has them: a third of the time for forests and long references
// went into the faults of small ones.
template <class T>
class Room {
 public:
  T* make(std::size_t count) {
    if (count > size_) {
      memory_.reset();
      size_ = 0;
      const std::size_t bytes = count * sizeof(T);
      const Free free{std::align_val_t{bytes < kLarge ? 64 : kPage}};
      memory_ = {static_cast<T*>(::operator new(bytes, free.alignment)), free};
#ifdef MADV_HUGEPAGE
      if (bytes >= kLarge) madvise(memory_.get(), bytes, MADV_HUGEPAGE);
#endif
      size_ = count;
    }
    return memory_.get();
  }
  T* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kPage = std::size_t{1} << 21, kLarge = 16 * kPage;
  struct Free {
    std::align_val_t alignment{64};
    void operator()(T* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_ = 0;
};

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
