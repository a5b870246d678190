// Upper envelopes along a line of weights: the bindings.
#include "decoding/native/envelope.hpp"

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

namespace {

using namespace lattices;

// A list: its words and where each entry's begin.
using ListColumns = std::pair<Ints, Ints>;
using Weighable = std::variant<const LatticeColumns*, const ForestColumns*, ListColumns>;

// How many lines a space has: of its edges, and of the ends of a lattice; of the entries of a list.
std::int64_t num_lines(const Lattice& lattice) { return lattice.num_edges() + lattice.num_nodes(); }
std::int64_t num_lines(const Forest& forest) { return forest.num_edges(); }
std::int64_t num_lines(const ListColumns& list) {
  return static_cast<std::int64_t>(list.second.shape(0)) - 1;
}

// Features in the rows of a sparse matrix, which are lines under weights + step * direction.
struct FeatureRows {
  std::span<const Index> bound, column;
  std::span<const double> value, weight, way;

  void check() const {
    const auto size = static_cast<Index>(column.size());
    if (bound.empty() || bound.front() != 0 || bound.back() != size ||
        column.size() != value.size() || weight.size() != way.size() ||
        !std::is_sorted(bound.begin(), bound.end())) {
      throw option_error("a matrix of features or weights that do not fit it");
    }
    // without a way out, for many at a time: this is done for every line
    bool good = true;
    for (const Index each : column) {
      good &= static_cast<std::size_t>(static_cast<std::uint32_t>(each)) < weight.size();
    }
    if (!good) throw option_error("a feature without a weight");
  }
  // The lines of some rows.
  std::vector<Line> lines(std::int64_t first, std::int64_t last) const {
    std::vector<Line> found(last - first);
    for (std::int64_t row = first; row < last; ++row) {
      Line line;
      for (Index entry = bound[row]; entry < bound[row + 1]; ++entry) {
        line.intercept += value[entry] * weight[column[entry]];
        line.slope += value[entry] * way[column[entry]];
      }
      found[row - first] = line;
    }
    return found;
  }
};

template <class T>
std::vector<T> joined(std::vector<Envelope>& parts, std::vector<T> Envelope::* column) {
  std::size_t size = 0;
  for (const Envelope& each : parts) size += (each.*column).size();
  std::vector<T> all;
  all.reserve(size);
  for (const Envelope& each : parts) {
    all.insert(all.end(), (each.*column).begin(), (each.*column).end());
  }
  return all;
}

// Offsets into columns that were joined: all but the first of each part, moved behind those before.
std::vector<Index> joined_offsets(std::vector<Envelope>& parts,
                                  std::vector<Index> Envelope::* column) {
  std::vector<Index> all{0};
  std::int64_t base = 0;
  for (const Envelope& each : parts) {
    const auto& offset = each.*column;
    for (std::size_t at = 1; at < offset.size(); ++at) {
      if (base + offset[at] > std::numeric_limits<Index>::max()) {
        throw engine_error("the envelopes of a batch have too many words or edges");
      }
      all.push_back(static_cast<Index>(base + offset[at]));
    }
    base += offset.back();
  }
  return all;
}

// How many segments each space has, all segments end to end, their edges and words; what is wrong
// with which space, if something is: its number, and one of EnvelopeProblem.
auto give_envelopes(std::vector<Envelope> parts) {
  int problem = 0;
  Index culprit = -1;
  std::vector<Index> count{0};
  for (const Envelope& each : parts) {
    if (problem == 0 && each.problem != EnvelopeProblem::None) {
      problem = static_cast<int>(each.problem);
      culprit = static_cast<Index>(count.size()) - 1;
    }
    count.push_back(count.back() + static_cast<Index>(each.left.size()));
  }
  return give_all(
      count, give(joined(parts, &Envelope::slope)), give(joined(parts, &Envelope::intercept)),
      give(joined(parts, &Envelope::left)), give(joined(parts, &Envelope::edges)),
      give(joined_offsets(parts, &Envelope::edge_offset)), give(joined(parts, &Envelope::words)),
      give(joined_offsets(parts, &Envelope::word_offset)), culprit, problem);
}

}  // namespace

void bind_envelope(nb::module_& module) {
  module.def(
      "envelopes",
      [](const std::vector<Weighable>& spaces, const std::tuple<Ints, Ints, Floats>& features,
         const Column<std::int64_t>& offset, const Floats& weights, const Floats& direction,
         int threads) {
        const auto& [bound, column, value] = features;
        const FeatureRows rows{view(bound), view(column), view(value), view(weights),
                               view(direction)};
        rows.check();
        const auto begin = view(offset);
        if (begin.size() != spaces.size() + 1) throw option_error("one more offset than spaces");
        const auto num_rows = static_cast<std::int64_t>(rows.bound.size()) - 1;
        for (std::size_t at = 0; at < spaces.size(); ++at) {
          const auto needed = std::visit(
              [](const auto& space) {
                if constexpr (std::is_pointer_v<std::decay_t<decltype(space)>>) {
                  return num_lines(*space);
                } else {
                  return num_lines(space);
                }
              },
              spaces[at]);
          if (begin[at] < 0 || begin[at + 1] - begin[at] != needed || begin[at + 1] > num_rows) {
            throw option_error("features that do not fit the spaces");
          }
        }
        const auto search = [&](std::size_t at, Envelope& found, Poll& poll) {
          auto lines = rows.lines(begin[at], begin[at + 1]);
          if (const auto* list = std::get_if<ListColumns>(&spaces[at])) {
            found = list_envelope(lines, view(list->first), view(list->second));
          } else if (const auto* lattice = std::get_if<const LatticeColumns*>(&spaces[at])) {
            found = EnvelopeSearch<Lattice>(**lattice, std::move(lines)).run(poll);
          } else {
            const auto& forest = *std::get<const ForestColumns*>(spaces[at]);
            found = EnvelopeSearch<Forest>(forest, std::move(lines)).run(poll);
          }
        };
        return give_envelopes(search_batch<Envelope>(spaces.size(), threads, search));
      },
      "spaces"_a, "features"_a, "offset"_a, "weights"_a, "direction"_a, "threads"_a,
      "Return the envelopes of lattices, forests and lists (words, offsets) along a line of "
      "weights,\n"
      "end to end: where each begins, slopes, intercepts, steps, edges and words of the segments;\n"
      "then the first space of which there is none, and why. Space i has the rows of features "
      "from\n"
      "offset[i] up to offset[i + 1].");
  nb::class_<SentenceNumbers>(
      module, "SentenceNumbers",
      "Numbers of sentences, the same for the same words of the same space.")
      .def(nb::init<>())
      .def(
          "number",
          [](SentenceNumbers& known, const Ints& count, const Ints& words, const Ints& offset) {
            auto found = known.number(view(count), view(words), view(offset));
            return give_all(found.number, found.fresh);
          },
          "count"_a, "words"_a, "offset"_a,
          "Return the number of each sentence, those of space i from count[i] up to count[i + 1],\n"
          "and the places of those that are new, in their order.");
}

}  // namespace decoding
