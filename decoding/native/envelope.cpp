// Upper envelopes along a line of weights: the bindings.
#include "decoding/native/envelope.hpp"

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace decoding {

namespace {

using namespace lattices;

static_assert(sizeof(Line) == 2 * sizeof(double));

// The lines of a space: of its edges, and of the ends of a lattice.
std::int64_t num_lines(const Lattice& lattice) { return lattice.num_edges() + lattice.num_nodes(); }
std::int64_t num_lines(const Forest& forest) { return forest.num_edges(); }

std::span<const Line> lines_of(const Table<double>& table) {
  if (table.shape(1) != 2) throw option_error("lines have two columns, intercepts and slopes");
  return {reinterpret_cast<const Line*>(table.data()), table.shape(0)};
}

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
      [](const std::vector<AnySpace>& spaces, const Table<double>& lines,
         const Column<std::int64_t>& offset, int threads) {
        const auto rows = lines_of(lines);
        const auto bounds = view(offset);
        if (bounds.size() != spaces.size() + 1) throw option_error("one more offset than spaces");
        for (std::size_t at = 0; at < spaces.size(); ++at) {
          const auto needed =
              std::visit([](const auto* space) { return num_lines(*space); }, spaces[at]);
          if (bounds[at] < 0 || bounds[at + 1] - bounds[at] != needed ||
              bounds[at + 1] > static_cast<std::int64_t>(rows.size())) {
            throw option_error("lines that do not fit the spaces");
          }
        }
        const auto search = [&](std::size_t at, Envelope& found, Poll& poll) {
          const auto own = rows.subspan(bounds[at], bounds[at + 1] - bounds[at]);
          found = std::visit(
              [&](const auto* space) { return EnvelopeSearch(*space, own).run(poll); }, spaces[at]);
        };
        return give_envelopes(search_batch<Envelope>(spaces.size(), threads, search));
      },
      "spaces"_a, "lines"_a, "offset"_a, "threads"_a,
      "Return the envelopes of lattices and forests, end to end: where each begins, slopes,\n"
      "intercepts, steps, edges and words of the segments; then the first space of which there is\n"
      "none, and why.");
  module.def("feature_lines",
             native([](std::span<const Index> bound, std::span<const Index> column,
                       std::span<const double> value, std::span<const double> weight,
                       std::span<const double> way) {
               if (bound.empty() || bound.back() != static_cast<Index>(column.size()) ||
                   column.size() != value.size() || weight.size() != way.size()) {
                 throw option_error("a matrix of features or weights that do not fit it");
               }
               for (const Index each : column) {
                 if (each < 0 || each >= static_cast<Index>(weight.size())) {
                   throw option_error("a feature without a weight");
                 }
               }
               Grid<double> lines{std::vector<double>(2 * (bound.size() - 1)), bound.size() - 1, 2};
               for (std::size_t row = 0; row < lines.rows; ++row) {
                 double intercept = 0.0, slope = 0.0;
                 for (Index entry = bound[row]; entry < bound[row + 1]; ++entry) {
                   intercept += value[entry] * weight[column[entry]];
                   slope += value[entry] * way[column[entry]];
                 }
                 lines.values[2 * row] = intercept;
                 lines.values[2 * row + 1] = slope;
               }
               return lines;
             }),
             "bounds"_a, "columns"_a, "values"_a, "weights"_a, "direction"_a,
             "Return the intercept and the slope of each row of a sparse matrix of features.");
  module.def(
      "list_envelope",
      [](const Table<double>& lines, const Ints& label, const Ints& offset) {
        const auto rows = lines_of(lines);
        if (offset.shape(0) != rows.size() + 1) throw option_error("lines that do not fit a list");
        std::vector<Envelope> found(1);
        found[0] = unlocked([&] { return list_envelope(rows, view(label), view(offset)); });
        return give_envelopes(std::move(found));
      },
      "lines"_a, "label"_a, "offset"_a,
      "Return the envelope of the entries of a list, as `envelopes` does.");
}

}  // namespace decoding
