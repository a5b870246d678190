// Intersection: handles of machines, and the search of a batch.
#include "lattices/native/intersection.hpp"

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"

namespace lattices {

void check_columns(const Alignment& alignment) {
  const auto& [length, order, insertion, deletion, heaviest, word, position, weight] = alignment;
  if (length < 0 || order < 1) throw option_error("an alignment has a length and an order");
  if (word.size() != position.size() || word.size() != weight.size()) {
    throw option_error("the columns of an alignment differ in length");
  }
  for (const Index each : position) {
    if (each < 0 || each >= length) {
      throw option_error("a match has position " + std::to_string(each) + ", expected 0.." +
                         std::to_string(length - 1));
    }
  }
}

void check_columns(const AlignmentList& alignments) {
  const auto& [order, insertion, deletion, heaviest, length, offset, word, position, weight] =
      alignments;
  bool good = order >= 1 && !length.empty() && offset.size() == length.size() + 1 &&
              position.size() == word.size() && weight.size() == word.size() &&
              offset.front() == 0 && static_cast<std::size_t>(offset.back()) == word.size() &&
              std::ranges::is_sorted(offset);
  for (std::size_t each = 0; good && each < length.size(); ++each) {
    good = length[each] >= 0;
    for (Index at = offset[each]; at < offset[each + 1]; ++at) {
      good = good && position[at] >= 0 && position[at] < length[each];
    }
  }
  if (!good) throw option_error("the columns of alignments do not fit each other");
}

namespace {

using GivenPart =
    std::tuple<std::variant<const AlignmentColumns*, const AutomatonRows*>, double, double>;
// Values, parts (-1 where no path is complete), the arcs of all paths with their offsets, and
// which spaces cannot be searched, why, and whether they are too large.
using FoundPaths = std::tuple<Array<double>, Array<Index>, Array<std::int64_t>, Array<Index>,
                              std::vector<std::tuple<std::size_t, std::string, bool>>>;

Part part_of(const GivenPart& given) {
  const auto& [automaton, denominator, bonus] = given;
  return std::visit([&](const auto* each) { return Part{each, denominator, bonus}; }, automaton);
}

// The lists of the caller keep the handles alive while the lock is released.
FoundPaths search_spaces(const std::vector<AnySpace>& spaces,
                         const std::vector<std::vector<GivenPart>>& machines, double model_weight,
                         std::size_t memory, int workers) {
  const std::size_t count = spaces.size();
  if (machines.size() != count) throw option_error("not as many machines as spaces");
  std::vector<std::vector<Part>> parts(count);
  for (std::size_t place = 0; place < count; ++place) {
    for (const auto& part : machines[place]) parts[place].push_back(part_of(part));
  }
  const SearchOptions options{model_weight, memory};
  Pool<Intersection> pool;
  std::vector<std::tuple<std::size_t, std::string, bool>> problems(count);
  const auto search = [&](std::size_t place, BestPath& found, Poll& poll) {
    const auto* const* lattice = std::get_if<const LatticeColumns*>(&spaces[place]);
    try {
      if (lattice != nullptr) {
        pool.take()->search(**lattice, parts[place], options, found, poll);
      } else {
        const auto& forest = *std::get<const ForestColumns*>(spaces[place]);
        found = search_forest(forest, parts[place], options, poll);
      }
    } catch (const Error& error) {
      const bool too_large = error.kind == ErrorKind::TooLarge;
      if (lattice != nullptr && !too_large) throw;
      problems[place] = {place, error.what(), too_large};
    }
  };
  const auto found = search_batch<BestPath>(count, workers, search);
  std::erase_if(problems,
                [](const auto& problem) { return std::get<std::string>(problem).empty(); });
  std::vector<double> values;
  std::vector<Index> numbers, arcs;
  std::vector<std::int64_t> offset{0};
  for (const auto& best : found) {
    values.push_back(best.value);
    numbers.push_back(best.part);
    arcs.insert(arcs.end(), best.arcs.begin(), best.arcs.end());
    offset.push_back(static_cast<std::int64_t>(arcs.size()));
  }
  return {give(std::move(values)), give(std::move(numbers)), give(std::move(offset)),
          give(std::move(arcs)), std::move(problems)};
}

}  // namespace

void bind_intersection(nb::module_& module) {
  nb::class_<AlignmentColumns>(module, "AlignmentColumns", "The columns of an alignment, checked.")
      .def(AlignmentColumns::Init(), "length"_a, "order"_a, "insertion"_a, "deletion"_a,
           "heaviest"_a, "word"_a, "position"_a, "weight"_a);
  nb::class_<AutomatonRows>(module, "AutomatonColumns",
                            "The columns of an automaton, checked and put in order.")
      .def(nb::init<const RowAutomatonColumns&>(), "automaton"_a);
  module.def("search_spaces", &search_spaces, "spaces"_a, "machines"_a, "model_weight"_a,
             "memory"_a, "workers"_a,
             "Return the value of the best path or derivation of each space, the part of the\n"
             "machine it comes from (-1 where no path is complete), where its arcs or edges begin\n"
             "in a column of all, and which spaces cannot be searched, why, and whether it would\n"
             "take more than so many bytes.\n"
             "\n"
             "A machine is a sequence of parts (automaton, denominator, bonus).");
}

}  // namespace lattices
