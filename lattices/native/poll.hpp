// Polling for interrupts, and loops over threads that live for one call.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lattices {

// Thrown in a thread whose work is no longer wanted; it never reaches a caller.
struct Stopped {};

// What long loops call now and then, once a state or once a few hundred steps: on the thread
// that Python called from it lets pending signals (Ctrl-C) raise, on the others it stops when
// another thread has failed. A call costs a decrement; the clock is read every 256 calls, the
// interpreter asked at most twenty times a second. Where what follows a call may be much, the call
// is told how many steps (cells, edges) that is about.
class Poll {
 public:
  using Check = void (*)();

  explicit Poll(Check check = nullptr, const std::atomic<bool>* stop = nullptr)
      : check_(check), stop_(stop), last_(Clock::now()) {}

  void operator()() { spend(1); }
  void operator()(std::size_t steps) { spend(1 + steps / kStepsOfCall); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kCalls = 256, kStepsOfCall = 1024;

  void spend(std::size_t calls) {
    if (left_ > calls) {
      left_ -= calls;
    } else {
      look();
    }
  }
  void look() {
    left_ = kCalls;
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw Stopped{};
    if (check_ == nullptr) return;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    check_();
  }

  Check check_;
  const std::atomic<bool>* stop_;
  Clock::time_point last_;
  std::size_t left_ = kCalls;
};

// Call work(index, poll) for every index below count on so many threads, the calling one among
// them; the first exception ends all and is thrown again. Indexes are handed out one by one, so
// what a result is may not depend on who computes it.
template <class Work>
void parallel_for(std::size_t count, int threads, Poll::Check check, Work&& work) {
  const auto wanted = std::min<std::size_t>(count, static_cast<std::size_t>(std::max(threads, 1)));
  if (wanted <= 1) {
    Poll poll(check);
    for (std::size_t index = 0; index < count; ++index) {
      poll();
      work(index, poll);
    }
    return;
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex failing;
  auto run = [&](Poll::Check own_check) {
    Poll poll(own_check, &stop);
    try {
      for (;;) {
        const auto index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= count || stop.load(std::memory_order_relaxed)) return;
        poll();
        work(index, poll);
      }
    } catch (const Stopped&) {
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };
  std::condition_variable ended;
  std::size_t running = 0;
  std::vector<std::thread> others;
  others.reserve(wanted - 1);
  for (std::size_t each = 1; each < wanted; ++each) {
    {
      const std::lock_guard lock(failing);
      ++running;
    }
    try {
      others.emplace_back([&] {
        run(nullptr);
        const std::lock_guard lock(failing);
        if (--running == 0) ended.notify_one();
      });
    } catch (const std::system_error&) {
      // those that could be started, and this one, do all of it
      const std::lock_guard lock(failing);
      --running;
      break;
    }
  }
  run(check);
  // The others may work for long after the last index was handed out, and signals are this
  // thread's to ask for.
  std::unique_lock lock(failing);
  while (!ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) {
    if (check == nullptr || stop) continue;
    lock.unlock();
    std::exception_ptr signal;
    try {
      check();
    } catch (...) {
      signal = std::current_exception();
    }
    lock.lock();
    if (signal && !failure) failure = signal;
    if (signal) stop = true;
  }
  lock.unlock();
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

// Scratch for the work of parallel_for: what one index has used, a later one takes again.
template <class Scratch>
class Pool {
 public:
  // Held while it is worked with, then given back.
  class Loan {
   public:
    explicit Loan(Pool& pool) : pool_(pool) {
      {
        const std::lock_guard lock(pool_.guard_);
        if (!pool_.free_.empty()) {
          scratch_ = std::move(pool_.free_.back());
          pool_.free_.pop_back();
          return;
        }
        // room to come back to, which must not fail
        pool_.free_.reserve(++pool_.made_);
      }
      scratch_ = std::make_unique<Scratch>();
    }
    ~Loan() {
      const std::lock_guard lock(pool_.guard_);
      pool_.free_.push_back(std::move(scratch_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Scratch* operator->() const { return scratch_.get(); }

   private:
    Pool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

  Loan take() { return Loan(*this); }

 private:
  std::mutex guard_;
  std::vector<std::unique_ptr<Scratch>> free_;
  std::size_t made_ = 0;
};

}  // namespace lattices
