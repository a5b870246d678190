// Interning: equal sequences get one number, counted from 0 in the order in which they came.
//
// Sequences of one width stand in blocks that never move, so that what was handed out stays valid
// and memory is bounded by what is there: a vector that grows holds its old and its new room at
// once. Numbers depend on the order of the calls alone, never on the hash.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lattices/native/spaces.hpp"

namespace lattices {

// The bytes that a vector holds when it next grows: its room and twice that.
template <class T>
std::size_t growing_bytes(const std::vector<T>& values) {
  return 3 * values.capacity() * sizeof(T);
}

// Records of one width that never move; they are not initialised.
template <class T>
class Blocks {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Blocks(std::size_t width) : width_(width), shift_(shift_of(width * sizeof(T))) {}

  std::size_t width() const { return width_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return blocks_.size() * (width_ << shift_) * sizeof(T); }
  T* operator[](std::size_t record) {
    return blocks_[record >> shift_].get() + (record & ((std::size_t{1} << shift_) - 1)) * width_;
  }
  const T* operator[](std::size_t record) const {
    return blocks_[record >> shift_].get() + (record & ((std::size_t{1} << shift_) - 1)) * width_;
  }
  // The room behind the last record.
  T* draft() {
    if (size_ >> shift_ == blocks_.size()) {
      blocks_.push_back(std::make_unique_for_overwrite<T[]>(width_ << shift_));
    }
    return (*this)[size_];
  }
  // Make the draft a record.
  void keep() { ++size_; }
  // Forget all records; the room stays.
  void clear() { size_ = 0; }

 private:
  static constexpr std::size_t kBlockBytes = 1 << 15;

  // as many records of so many bytes as fit into a block, but a power of two
  static int shift_of(std::size_t bytes) {
    int shift = 0;
    while (bytes > 0 && (bytes << (shift + 1)) <= kBlockBytes) ++shift;
    return shift;
  }

  std::size_t width_;
  int shift_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<T[]>> blocks_;
};

// Two numbers as one key.
inline std::uint64_t pair_key(Index one, Index other) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(one)) << 32 |
         static_cast<std::uint32_t>(other);
}

// The hash of a key for tsl::robin_map, whose own is the key itself: of a pair the table would see
// one number alone.
struct MixedHash {
  std::size_t operator()(std::uint64_t key) const {
    key *= 0x9E3779B97F4A7C15u;
    return key ^ (key >> 32);
  }
};

inline std::uint64_t mixed(std::uint64_t left, std::uint64_t right) {
  left = (left ^ right) * 0x9E3779B97F4A7C15u;
  return left ^ (left >> 29);
}

inline std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  // two lanes, so that one multiplication does not wait for the other
  std::uint64_t even = bytes, odd = 0xD6E8FEB86659FD93u;
  const auto word = [](const unsigned char* from) {
    std::uint64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  for (; bytes >= 16; at += 16, bytes -= 16) {
    even = mixed(even, word(at));
    odd = mixed(odd, word(at + 8));
  }
  unsigned char rest[16] = {};
  if (bytes > 0) std::memcpy(rest, at, bytes);
  even = mixed(even, word(rest));
  odd = mixed(odd, word(rest + 8));
  return mixed(even, odd);
}

template <class T>
class Interning {
  static_assert(std::has_unique_object_representations_v<T>, "sequences are compared by bytes");

 public:
  explicit Interning(std::size_t width) : sequences_(width), table_(kSlots) {}

  std::size_t size() const { return sequences_.size(); }
  std::size_t width() const { return sequences_.width(); }
  std::size_t bytes() const {
    return sequences_.bytes() + growing_bytes(hashes_) + growing_bytes(table_);
  }
  std::span<const T> operator[](std::size_t number) const { return {sequences_[number], width()}; }

  // Room for a sequence: write all of it, then call `settle`.
  std::span<T> draft() { return {sequences_.draft(), width()}; }
  // Return the number of the sequence in the draft: that of its equal, or a new one.
  Index settle() {
    const T* sequence = sequences_.draft();
    const std::uint64_t hash = hash_bytes(sequence, width() * sizeof(T));
    const std::size_t mask = table_.size() - 1;
    std::size_t place = hash & mask;
    for (; table_[place].number >= 0; place = (place + 1) & mask) {
      if (table_[place].tag == tag(hash) &&
          std::memcmp(sequences_[table_[place].number], sequence, width() * sizeof(T)) == 0) {
        return table_[place].number;
      }
    }
    const auto number = static_cast<Index>(size());
    table_[place] = {number, tag(hash)};
    hashes_.push_back(hash);
    sequences_.keep();
    if (2 * size() > table_.size()) grow();
    return number;
  }
  Index intern(std::span<const T> sequence) {
    std::copy(sequence.begin(), sequence.end(), draft().begin());
    return settle();
  }
  // Forget all sequences; their room stays.
  void clear() {
    sequences_.clear();
    hashes_.clear();
    table_.assign(kSlots, Slot{});
  }

 private:
  struct Slot {
    Index number = -1;
    std::uint32_t tag = 0;
  };
  static constexpr std::size_t kSlots = 64;

  // the upper half: the lower decides the place
  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  void grow() {
    std::vector<Slot> larger(2 * table_.size());
    const std::size_t mask = larger.size() - 1;
    for (std::size_t number = 0; number < hashes_.size(); ++number) {
      std::size_t place = hashes_[number] & mask;
      while (larger[place].number >= 0) place = (place + 1) & mask;
      larger[place] = {static_cast<Index>(number), tag(hashes_[number])};
    }
    table_ = std::move(larger);
  }

  Blocks<T> sequences_;
  std::vector<std::uint64_t> hashes_;
  std::vector<Slot> table_;
};

}  // namespace lattices
