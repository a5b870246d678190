// Intersection: handles of machines, the search of a batch, and the k best of long lattices.
#include "lattices/native/intersection.hpp"

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/kbest.hpp"

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

struct NearGains {
  const NearPaths& paths;
  double gain(Index edge) const { return paths.gain(edge); }
  static double in_values(Index, double gain) { return gain; }
};
static_assert(Derivable<NearPaths>);

// The paths of the k best sentences, one after the other, and where they begin; whether all of them
// are sure to be in their place.
struct BestSentences {
  std::vector<Index> arcs, offset;
  bool proven;
};

// The k best sentences of a lattice among the paths within a slack of the best, which grows until
// there are so many of them. Beyond the memory they are those of the slack before. Parts have
// gains of one unit, and denominators of 1.
//
// Cost: once that of a search of the best, and for each slack that of its way back, with O(steps)
// of the paths that are near.
BestSentences search_near(const Lattice& lattice, std::span<const Index> word,
                          std::span<const Part> parts, double weight, std::size_t k,
                          std::size_t memory, Poll& poll) {
  Intersection search;
  // a half for the rows, a half for the paths
  const std::size_t half = memory / 2;
  const auto passes = search.prepare_near(lattice, parts, {weight, half}, poll);
  double best = kMinusInfinity, step = 1.0;
  for (const auto& pass : passes) raise_to(best, pass.total);
  for (const Part& part : parts) {
    if (const auto* const* each = std::get_if<const Alignment*>(&part.automaton)) {
      const Alignment& alignment = **each;
      step = std::max(step, std::min({alignment.heaviest, std::abs(alignment.insertion),
                                      std::abs(alignment.deletion)}));
    }
  }
  BestSentences found{{}, {0}, true};
  if (best == kMinusInfinity) return found;
  std::size_t before = 0;
  for (double slack = weight == 0.0 ? 0.0 : step;;) {
    const bool all = slack == std::numeric_limits<double>::infinity();
    const double lowest = all ? -1e300 : best - slack;
    // sums of model scores are rounded
    const double lost = weight == 0.0 || all ? 0.0
                                             : (std::abs(best) + slack) * lattice.num_nodes() *
                                                   (4.0 * std::numeric_limits<double>::epsilon());
    try {
      NearPaths paths(word, half);
      for (const auto& pass : passes) {
        if (pass.total > kMinusInfinity) pass.add(lowest - lost, paths);
      }
      const Index root = paths.root();
      using Ranking = ByMerit<NearPaths, NearGains>;
      using Search = LazyKBest<NearPaths, Ranking, OneForEachSentence>;
      const double bytes = static_cast<double>(paths.num_nodes()) * Search::node_bytes();
      if (bytes > static_cast<double>(half)) {
        throw too_large(std::to_string(paths.num_nodes()) + " cells near the best", bytes, half);
      }
      const Ranking ranking{paths, {paths}, 1.0, weight};
      Search sentences(paths, ranking, poll, half - static_cast<std::size_t>(bytes));
      found = {{}, {0}, true};
      bool near = true;
      for (const Index each : sentences.best(root, k)) {
        near = sentences.made().value(each).worth >= lowest;
        sentences.made().unroll(each, [&](Index edge) {
          if (paths.arc(edge) != kNone) found.arcs.push_back(paths.arc(edge));
        });
        found.offset.push_back(static_cast<Index>(found.arcs.size()));
      }
      check_unfolded_all(lattice, static_cast<double>(found.arcs.size()));
      if (all || (near && found.offset.size() == k + 1)) return found;
      // where a larger slack gave no more paths, there may be none
      slack = paths.num_steps() == before ? std::numeric_limits<double>::infinity()
                                          : std::max(2.0 * slack, step);
      before = paths.num_steps();
    } catch (const Error& error) {
      if (error.kind != ErrorKind::TooLarge || found.offset.size() == 1) throw;
      found.proven = false;
      return found;
    }
  }
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
  module.def(
      "search_near",
      [](const LatticeColumns& lattice, const Ints& word, const std::vector<GivenPart>& given,
         double weight, std::size_t k, std::size_t memory) {
        if (word.shape(0) != lattice.src.size()) throw space_error("not as many words as arcs");
        std::vector<Part> parts;
        for (const auto& part : given) parts.push_back(part_of(part));
        auto found = unlocked([&](Poll& poll) {
          return search_near(lattice, view(word), parts, weight, k, memory, poll);
        });
        return give_all(std::move(found.arcs), std::move(found.offset), found.proven);
      },
      "lattice"_a, "word"_a, "parts"_a, "weight"_a, "k"_a, "memory"_a,
      "Return the arcs of the k best sentences, where those of each begin, and whether all are\n"
      "sure to be in their place. Parts are (automaton, 1, bonus), their gains of one unit.");
}

}  // namespace lattices
