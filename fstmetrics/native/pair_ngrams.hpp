// n-gram matches of every candidate with every sentence of evidence: BLEU, PER and chrF.
//
// Clipped matches become plain ones when the second occurrence of an n-gram in a sentence counts as
// another n-gram than the first, and so on: then the matches of two sentences are what their sets
// have in common. All n-grams of both lists are numbered once, and each number has a row that says
// which candidates have it. The matches of a sentence of evidence with all candidates are the sum
// of the rows of its n-grams: vectors of small whole numbers, added.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "fstmetrics/native/bleu.hpp"
#include "fstmetrics/native/ngrams.hpp"
#include "fstmetrics/native/pairs.hpp"
#include "lattices/native/dispatch.hpp"

namespace fstmetrics {

// The n-grams of sentences by number, each occurrence in a sentence apart: those of order 1 of the
// first sentence, those of order 2, ..., of the next sentence, ...
class NGramNumbers {
 public:
  explicit NGramNumbers(std::size_t order) : order_(order) {}

  std::size_t count() const { return trie_.size(); }
  std::size_t sentences() const { return (offset_.size() - 1) / order_; }
  // n-grams of order k + 1
  std::span<const Trie::Node> operator()(std::size_t sentence, std::size_t k) const {
    const auto place = sentence * order_ + k;
    return std::span(number_).subspan(offset_[place], offset_[place + 1] - offset_[place]);
  }

  void add(std::span<const Unit> sentence) {
    find_nodes(sentence);
    seen_.resize(trie_.size(), -1);
    latest_.resize(trie_.size());
    const auto own = static_cast<std::int32_t>(sentences());
    for (std::size_t k = 0; k < order_; ++k) {
      for (std::size_t begin = 0; begin + k < sentence.size(); ++begin) {
        const auto node = node_[begin * order_ + k];
        auto number = node;
        if (seen_[node] == own) {
          number = trie_.make_child(latest_[node], again);
          seen_.resize(trie_.size(), -1);
          latest_.resize(trie_.size());
        }
        seen_[node] = own;
        latest_[node] = number;
        number_.push_back(number);
      }
      offset_.push_back(number_.size());
    }
    before_ = sentence;
  }

 private:
  // no unit: leads from an n-gram to its next occurrence in a sentence
  static constexpr Unit again = std::numeric_limits<Unit>::max();

  // node_[b * order + k] is the n-gram of order k + 1 that begins at b. Sentences of a list begin
  // and end alike, more often than not: there, those of the sentence before are taken.
  void find_nodes(std::span<const Unit> sentence) {
    const auto size = sentence.size(), other = before_.size();
    const auto prefix = common_prefix(sentence, before_);
    std::size_t suffix = 0;
    while (suffix < std::min(size, other) - prefix &&
           sentence[size - 1 - suffix] == before_[other - 1 - suffix]) {
      ++suffix;
    }
    std::swap(node_, node_before_);
    node_.resize(size * order_);
    for (std::size_t begin = 0; begin < size; ++begin) {
      const auto here = node_.begin() + begin * order_;
      if (begin + order_ <= prefix) {
        std::copy_n(node_before_.begin() + begin * order_, order_, here);
      } else if (begin + suffix >= size) {
        std::copy_n(node_before_.begin() + (begin + other - size) * order_, order_, here);
      } else {
        auto node = Trie::root;
        for (std::size_t k = 0; k < order_ && begin + k < size; ++k) {
          node = trie_.make_child(node, sentence[begin + k]);
          here[k] = node;
        }
      }
    }
  }

  std::size_t order_;
  Trie trie_;
  std::vector<Trie::Node> number_, node_, node_before_, latest_;
  std::vector<std::int32_t> seen_;
  std::vector<std::size_t> offset_{0};
  std::span<const Unit> before_;
};

// Leave what two sequences do not have in common at their beginnings and ends.
inline void strip_common(std::span<const Trie::Node>& one, std::span<const Trie::Node>& other) {
  const auto prefix = common_prefix(one, other);
  one = one.subspan(prefix);
  other = other.subspan(prefix);
  const auto suffix = common_suffix(one, other);
  one = one.first(one.size() - suffix);
  other = other.first(other.size() - suffix);
}

// Clipped matches of all orders, by evidence, order and candidate, and the lengths of the
// sentences.
class PairMatches {
 public:
  // Cost: O(n-grams of evidence x candidates), many candidates at a time.
  PairMatches(const Pairs& pairs, std::size_t longest, lattices::Poll& poll) : order(longest) {
    NGramNumbers numbers(order);
    const bool same = pairs.is_one_list();
    for (std::size_t c = 0; c < pairs.candidates.size(); ++c) {
      own.push_back(static_cast<std::int32_t>(pairs.candidates.length(c)));
      numbers.add(pairs.candidates[c]);
    }
    for (std::size_t e = 0; e < pairs.evidence.size(); ++e) {
      other.push_back(static_cast<std::int32_t>(pairs.evidence.length(e)));
      if (!same) numbers.add(pairs.evidence[e]);
    }
    const auto first = same ? 0 : pairs.candidates.size();
    const auto most = pairs.candidates.longest();
    if (most <= std::numeric_limits<std::uint8_t>::max()) {
      count<std::uint8_t>(numbers, first, poll);
    } else if (most <= std::numeric_limits<std::uint16_t>::max()) {
      count<std::uint16_t>(numbers, first, poll);
    } else {
      count<std::uint32_t>(numbers, first, poll);
    }
  }

  // Call use(matches) with a span over all of them.
  template <class Use>
  auto visit(Use&& use) const {
    return std::visit([&](const auto& found) { return use(std::span(found)); }, matches_);
  }

  const std::size_t order;
  std::vector<std::int32_t> own, other;

 private:
  template <class Count>
  void count(const NGramNumbers& numbers, std::size_t first_evidence, lattices::Poll& poll) {
    constexpr std::size_t parts = 2, lanes = parts * Lanes<Count>::count;
    using Group = std::array<Lanes<Count>, parts>;  // candidates that are worked on side by side
    const auto columns = own.size();
    std::vector<Count> result(other.size() * order * columns);
    std::vector<Group> has, sum;
    for (std::size_t first = 0; first < columns; first += lanes) {
      const auto some = std::min(lanes, columns - first);
      has.assign(numbers.count(), Group{});
      for (std::size_t lane = 0; lane < some; ++lane) {
        const auto part = lane / Lanes<Count>::count, place = lane % Lanes<Count>::count;
        for (std::size_t k = 0; k < order; ++k) {
          for (const auto number : numbers(first + lane, k)) has[number][part].v[place] = 1;
        }
      }
      // sentences that follow each other have most n-grams in common: from the sum of one to that
      // of the next only the others are taken off and added
      sum.assign(order, Group{});
      for (std::size_t e = 0; e < other.size(); ++e) {
        poll();
        lattices::dispatch([&] {
          for (std::size_t k = 0; k < order; ++k) {
            auto fresh = numbers(first_evidence + e, k);
            auto stale = e == 0 ? fresh.first(0) : numbers(first_evidence + e - 1, k);
            strip_common(fresh, stale);
            auto total = sum[k];
            for (const auto number : stale) {
              for (std::size_t part = 0; part < parts; ++part) total[part].v -= has[number][part].v;
            }
            for (const auto number : fresh) {
              for (std::size_t part = 0; part < parts; ++part) total[part].v += has[number][part].v;
            }
            sum[k] = total;
            std::memcpy(&result[(e * order + k) * columns + first], &total, some * sizeof(Count));
          }
          return 0;
        });
      }
    }
    matches_ = std::move(result);
  }

  // as wide as the most matches of two sentences need
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>>
      matches_;
};

// Sentence BLEU with a geometric mean, for matches that are whole numbers.
//
// A power of each precision is the quotient of two powers of whole numbers (plus the smoothing
// value), which come from tables: a score is a product, without logarithms. An order without a
// match is followed by none with matches, so all that is smoothed is one factor, by the first such
// order.
class PairBleu {
 public:
  PairBleu(const BleuOptions& options, std::span<const std::int32_t> lengths, std::size_t longest)
      : options_(options), order_(options.weight.size()), longest_(longest), power_(order_ + 1) {
    for (const auto length : lengths) {
      if (static_cast<std::size_t>(length) >= of_length_.size()) of_length_.resize(length + 1);
      if (of_length_[length].smoothed.empty()) of_length_[length] = make(length);
    }
  }

  // The score but for the brevity penalty; found(k) matches of order k + 1.
  template <class Found>
  double operator()(std::int32_t length, Found&& found) const {
    const auto& [orders, scale, smoothed] = of_length_[length];
    double score = 1.0;
    std::size_t k = 0;
    for (; k < orders; ++k) {
      const auto matches = found(k);
      if (matches == 0) break;
      score *= power_[orders][k * (longest_ + 1) + matches];
    }
    return k == 0 ? 0.0 : score * scale[k] * smoothed[k];
  }

 private:
  // What depends on the length of a candidate: how many orders count; the product of the powers of
  // 1 / total for the first k orders; what the orders from k on contribute without matches.
  struct OfLength {
    std::size_t orders = 0;
    std::vector<double> scale, smoothed;
  };

  bool adds(std::size_t k) const { return options_.smoothing == Smoothing::AddK && k > 0; }

  OfLength make(std::int32_t length) {
    const auto total = [&](std::size_t k) {
      return std::max(0.0, length - static_cast<double>(k)) + (adds(k) ? options_.value : 0.0);
    };
    std::size_t orders = order_;
    if (options_.effective_order) {
      orders = 0;
      while (orders < order_ && total(orders) > 0) ++orders;
    }
    double weights = 0.0;
    for (std::size_t k = 0; k < orders; ++k) weights += options_.weight[k];
    OfLength result{orders, std::vector<double>(orders + 1, 1.0),
                    std::vector<double>(orders + 1, weights > 0 ? 1.0 : 0.0)};
    if (weights == 0) {
      result.orders = 0;
      return result;
    }
    const auto exponent = [&](std::size_t k) { return options_.weight[k] / weights; };
    if (power_[orders].empty()) {
      power_[orders].resize(orders * (longest_ + 1));
      for (std::size_t k = 0; k < orders; ++k) {
        for (std::size_t n = 0; n <= longest_; ++n) {
          const double matches = static_cast<double>(n) + (adds(k) ? options_.value : 0.0);
          power_[orders][k * (longest_ + 1) + n] = std::pow(matches, exponent(k));
        }
      }
    }
    for (std::size_t k = 0; k < orders; ++k) {
      const double power = total(k) > 0 ? std::pow(total(k), exponent(k)) : 1.0;
      result.scale[k + 1] = result.scale[k] / power;
    }
    for (std::size_t first = 0; first < orders; ++first) {
      double halvings = 1.0;
      for (auto k = first; k < orders; ++k) {
        double precision = 0.0;
        if (total(k) > 0) {
          if (adds(k)) {
            precision = options_.value / total(k);
          } else if (options_.smoothing == Smoothing::Floor) {
            precision = options_.value / total(k);
          } else if (options_.smoothing == Smoothing::Exp) {
            halvings *= 2.0;
            precision = 1.0 / (halvings * total(k));
          }
        }
        if (options_.weight[k] > 0) result.smoothed[first] *= std::pow(precision, exponent(k));
      }
    }
    return result;
  }

  BleuOptions options_;
  std::size_t order_, longest_;
  std::vector<std::vector<double>> power_;
  std::vector<OfLength> of_length_;
};

inline std::vector<double> pair_bleu(const PairMatches& pairs, const BleuOptions& options) {
  const auto columns = pairs.own.size(), order = pairs.order;
  std::vector<double> scores(pairs.other.size() * columns), row(2 * order + 2);
  std::int32_t longest = 0;
  for (const auto length : pairs.own) longest = std::max(longest, length);
  const PairBleu bleu(options, pairs.own, longest);
  std::vector<std::int32_t> lengths(pairs.own);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  // by the length of the candidate, of one sentence of evidence
  std::vector<double> brevity(longest + 1);
  pairs.visit([&](auto matches) {
    for (std::size_t e = 0; e < pairs.other.size(); ++e) {
      const double reference = pairs.other[e];
      for (const auto length : lengths) {
        brevity[length] = length == 0 ? 0.0 : std::exp(std::min(0.0, 1.0 - reference / length));
      }
      const auto of_order = [&, rows = &matches[e * order * columns]](std::size_t c) {
        return [rows, columns, c](std::size_t k) { return rows[k * columns + c]; };
      };
      for (std::size_t c = 0; c < columns; ++c) {
        const auto found = of_order(c);
        double& score = scores[e * columns + c];
        if (!options.arithmetic) {
          score = bleu(pairs.own[c], found) * brevity[pairs.own[c]];
          continue;
        }
        for (std::size_t k = 0; k < order; ++k) {
          row[k] = found(k);
          row[order + k] = std::max(0.0, pairs.own[c] - static_cast<double>(k));
        }
        row[2 * order] = pairs.own[c];
        row[2 * order + 1] = reference;
        score = bleu_score(row, options);
      }
    }
  });
  return scores;
}

// chrF (Popović 2015) as sacreBLEU has it, of many candidates against one reference: the F-score of
// mean precision and mean recall over the orders that both sides have; or, with `smooth`, the mean
// of the F-scores of all orders.
class ChrF {
 public:
  ChrF(double beta, bool smooth, std::size_t candidates)
      : factor_(beta * beta),
        smooth_(smooth),
        precision_(candidates),
        recall_(candidates),
        orders_(candidates) {}

  // One order: matches and n-grams of each candidate, n-grams of the reference.
  template <class Count>
  void add(std::span<const Count> matches, std::span<const double> own, double other) {
    ++added_;
    if (smooth_) {
      for (std::size_t c = 0; c < own.size(); ++c) {
        const auto found = static_cast<double>(matches[c]);
        const double hits = own[c] > 0 && other > 0 ? found / own[c] : smallest;
        precision_[c] += f_score(hits, other > 0 ? found / other : smallest, smallest);
      }
      return;
    }
    if (!(other > 0)) return;
    const double inverse = 1.0 / other;
    for (std::size_t c = 0; c < own.size(); ++c) {
      const auto found = static_cast<double>(matches[c]);
      const bool both = own[c] > 0;
      precision_[c] += found / (both ? own[c] : 1.0);
      recall_[c] += found * inverse;
      orders_[c] += both ? 1.0 : 0.0;
    }
  }

  // Write the scores, and begin again.
  void finish(std::span<double> scores) {
    for (std::size_t c = 0; c < scores.size(); ++c) {
      if (smooth_) {
        scores[c] = precision_[c] / static_cast<double>(added_);
      } else {
        const double orders = std::max(orders_[c], 1.0);
        scores[c] = f_score(precision_[c] / orders, recall_[c] / orders, 0.0);
      }
      precision_[c] = recall_[c] = orders_[c] = 0.0;
    }
    added_ = 0;
  }

 private:
  static constexpr double smallest = 1e-16;

  double f_score(double precision, double recall, double otherwise) const {
    const double below = factor_ * precision + recall;
    const double above = (1.0 + factor_) * precision * recall;
    return below > 0.0 ? above / below : otherwise;
  }

  double factor_;
  bool smooth_;
  std::size_t added_ = 0;
  std::vector<double> precision_, recall_, orders_;
};

// How many n-grams of each order sentences of these lengths have.
inline std::vector<double> ngram_totals(std::span<const std::int32_t> lengths, std::size_t order) {
  std::vector<double> totals;
  for (std::size_t k = 0; k < order; ++k) {
    for (const auto length : lengths) {
      totals.push_back(std::max(0.0, length - static_cast<double>(k)));
    }
  }
  return totals;
}

// chrF of each pair, from the matches of characters and, if there are any, of words.
inline std::vector<double> pair_chrf(std::span<const PairMatches* const> parts, double beta,
                                     bool smooth) {
  const auto columns = parts[0]->own.size(), rows = parts[0]->other.size();
  std::vector<double> scores(rows * columns);
  std::vector<std::vector<double>> totals;
  for (const auto* part : parts) totals.push_back(ngram_totals(part->own, part->order));
  ChrF chrf(beta, smooth, columns);
  for (std::size_t e = 0; e < rows; ++e) {
    lattices::dispatch([&] {
      for (std::size_t each = 0; each < parts.size(); ++each) {
        const auto& part = *parts[each];
        part.visit([&](auto matches) {
          for (std::size_t k = 0; k < part.order; ++k) {
            chrf.add(matches.subspan((e * part.order + k) * columns, columns),
                     std::span<const double>(totals[each]).subspan(k * columns, columns),
                     std::max(0.0, part.other[e] - static_cast<double>(k)));
          }
        });
      }
      chrf.finish(std::span(scores).subspan(e * columns, columns));
      return 0;
    });
  }
  return scores;
}

}  // namespace fstmetrics
