// Semirings: what one pass over a graph computes.
//
// A sum of several terms is an accumulator, so that LOG takes one exp a term and one log a sum:
// with terms t_i and their highest m, log(sum exp t_i) = m + log(sum exp(t_i - m)), the sum kept
// over the highest term so far and rescaled when a higher one comes.
#pragma once

#include <cmath>
#include <limits>

namespace lattices {

inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct Viterbi {
  static constexpr double zero = kMinusInfinity;
  static constexpr double one = 0.0;
  static double times(double left, double right) { return left + right; }
  class Sum {
   public:
    explicit Sum(double first = zero) : best_(first) {}
    void add(double term) {
      if (term > best_) best_ = term;
    }
    double value() const { return best_; }

   private:
    double best_;
  };
};

struct Log {
  static constexpr double zero = kMinusInfinity;
  static constexpr double one = 0.0;
  static double times(double left, double right) { return left + right; }
  class Sum {
   public:
    explicit Sum(double first = zero) : best_(first), sum_(first == zero ? 0.0 : 1.0) {}
    void add(double term) {
      if (term <= best_) {
        if (term != zero) sum_ += std::exp(term - best_);
      } else {
        // exp(-inf) is 0: the first term of all
        sum_ = sum_ * std::exp(best_ - term) + 1.0;
        best_ = term;
      }
    }
    double value() const { return sum_ == 0.0 ? zero : best_ + std::log(sum_); }

   private:
    double best_, sum_;
  };
};

struct Count {
  static constexpr double zero = 0.0;
  static constexpr double one = 1.0;
  // no paths, times more than a double can hold, are no paths
  static double times(double left, double right) {
    return left == 0.0 || right == 0.0 ? 0.0 : left * right;
  }
  class Sum {
   public:
    explicit Sum(double first = zero) : sum_(first) {}
    void add(double term) { sum_ += term; }
    double value() const { return sum_; }

   private:
    double sum_;
  };
};

// Call `use` with the semiring that has this code in lattices/algorithms/semirings.py.
template <class Use>
auto with_semiring(int code, Use&& use) {
  switch (code) {
    case 0:
      return use(Viterbi{});
    case 1:
      return use(Log{});
    default:
      return use(Count{});
  }
}

}  // namespace lattices
