// The search for the best path under a weighted sum of alignments: the bindings.
#include "decoding/native/search.hpp"

#include <cmath>
#include <memory>
#include <variant>

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

using namespace lattices;

namespace {

void check(const AlignmentList& list, std::size_t shares) {
  if (shares != list.length.size()) throw option_error("not as many shares as alignments");
  bool whole = true;
  for (const double gain : {list.insertion, list.deletion, list.heaviest}) {
    whole = whole && gain == std::rint(gain);
  }
  for (const double weight : list.weight) {
    whole = whole && weight == std::rint(weight) && weight <= list.heaviest;
  }
  if (!whole) throw option_error("rows need gains that are whole numbers");
}

// No sum of gains along a path is larger.
double largest_sum(const AlignmentList& list, Index longest_path) {
  const double one =
      std::max({list.heaviest * list.order, std::abs(list.insertion), std::abs(list.deletion)});
  const Index longest = *std::max_element(list.length.begin(), list.length.end());
  return one * (static_cast<double>(longest_path) + longest + 2 + list.order);
}

// A search in the narrowest numbers that hold its gains. The best completions, one number for each
// state, cell and alignment, may take so many bytes.
class LatticeRiskSearch {
 public:
  LatticeRiskSearch(const LatticeColumns& lattice, const AlignmentList& list,
                    std::span<const double> share, std::size_t memory)
      : space_(lattice), memory_(memory) {
    check(list, share.size());
    const double largest = largest_sum(list, space_.longest());
    const bool found = choose<std::int16_t>(largest, list, share) ||
                       choose<std::int32_t>(largest, list, share) ||
                       choose<std::int64_t>(largest, list, share);
    if (!found) {
      throw option_error("gains up to " + std::to_string(largest) +
                         " units are too large for rows");
    }
  }
  LatticeRiskSearch(const LatticeRiskSearch&) = delete;
  LatticeRiskSearch& operator=(const LatticeRiskSearch&) = delete;

  FoundPath run(const SearchLimits& limits) {
    Poll poll(check_signals);
    return std::visit([&](auto& search) { return search->run(limits, poll); }, search_);
  }

 private:
  template <class Gain>
  using Search = std::unique_ptr<RiskSearch<EvidenceRows<Gain>>>;

  template <class Gain>
  bool choose(double largest, const AlignmentList& list, std::span<const double> share) {
    if (!(largest < EvidenceRows<Gain>::kLargest)) return false;
    const Index longest = *std::max_element(list.length.begin(), list.length.end());
    const double bytes = sizeof(Gain) * static_cast<double>(space_.lattice.num_nodes()) *
                         list.order * (longest + 1.0) * (list.size() + kLanes);
    if (bytes > static_cast<double>(memory_)) {
      throw too_large(std::to_string(space_.lattice.num_nodes()) + " lattice states x " +
                          std::to_string(list.size()) + " sentences of up to " +
                          std::to_string(longest) + " words of evidence",
                      bytes, memory_);
    }
    search_ = std::make_unique<RiskSearch<EvidenceRows<Gain>>>(space_, list, share);
    return true;
  }

  const WordedLattice space_;
  const std::size_t memory_;
  std::variant<Search<std::int16_t>, Search<std::int32_t>, Search<std::int64_t>> search_;
};

}  // namespace

void bind_search(nb::module_& module) {
  nb::class_<LatticeRiskSearch>(module, "RiskSearch",
                                "The search for the best path under a weighted sum of alignments.")
      .def(
          "__init__",
          [](LatticeRiskSearch* self, const LatticeColumns& lattice,
             const AlignmentListColumns& alignments, const Floats& share, std::size_t memory) {
            unlocked(
                [&] { new (self) LatticeRiskSearch(lattice, alignments, view(share), memory); });
          },
          "lattice"_a, "alignments"_a, "share"_a, "memory"_a, nb::keep_alive<1, 2>(),
          "The weightiest alignments first make the search fastest.")
      .def(
          "run",
          [](LatticeRiskSearch& self, double floor, double equal, std::size_t beam,
             std::size_t budget, std::size_t bytes) {
            auto found = unlocked([&] { return self.run({floor, equal, beam, budget, bytes}); });
            return shown(found);
          },
          "floor"_a, "equal"_a, "beam"_a, "budget"_a, "bytes"_a,
          "Return how it ended (0: complete, 1: cut, 2: too many), the gain, the arcs.");
}

}  // namespace decoding
