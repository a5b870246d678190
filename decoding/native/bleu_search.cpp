// The best sentences of spaces by labels: the bindings.
#include "decoding/native/bleu_search.hpp"

#include "decoding/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/rows.hpp"

namespace decoding {

using namespace lattices;

namespace {

// A machine as Python has it: its rows, its columns, its unit, and what it reads with each arc.
using Added = std::tuple<const RowTables*, const RowAutomatonColumns*, double, Ints>;
// A problem as Python has it: a space, the units and words of its arcs or symbols, references and
// where each begins, the weight of their score, and a machine that is added to it.
using Given = std::tuple<AnySpace, Ints, Ints, Ints, Ints, double, std::optional<Added>>;
// Paths, statistics, rows that dominate all, the bound, whether a search was completed, whether the
// answer is proven, the number of labels.
using Answer = std::tuple<std::vector<std::vector<Index>>, Matrix<double>, Matrix<double>, double,
                          bool, bool, std::size_t>;

using Problem = std::variant<BleuProblem<Lattice>, BleuProblem<Forest>>;

std::size_t num_symbols(const Lattice& lattice) { return lattice.label.size(); }
std::size_t num_symbols(const Forest& forest) { return forest.symbol.size(); }

Problem checked(const Given& given) {
  const auto& [space, unit, word, reference, offset, weight, added] = given;
  const fstmetrics::Sentences references{view(reference), view(offset)};
  fstmetrics::check(references);
  return std::visit(
      [&](const auto* columns) -> Problem {
        const std::size_t size = num_symbols(*columns);
        if (unit.shape(0) != size || word.shape(0) != size) {
          throw option_error("units or words that do not fit the space");
        }
        using Columns = std::decay_t<decltype(*columns)>;
        using Space = std::conditional_t<std::is_base_of_v<Lattice, Columns>, Lattice, Forest>;
        BleuProblem<Space> problem{columns, view(unit), view(word), references, weight, {}};
        if (added) {
          const auto& [tables, automaton, one, label] = *added;
          if (std::is_same_v<Space, Forest> || label.shape(0) != size) {
            throw option_error("a machine is added in lattices, and reads their arcs");
          }
          problem.added = AddedMachine{tables, automaton, one, view(label)};
        }
        return problem;
      },
      space);
}

// How matches are scored: smoothing, its value, effective order or not, arithmetic mean or not, the
// effective length, a strict penalty or not.
using BleuScoring = std::tuple<int, double, bool, bool, int, bool>;
// Beta, and whether each order has an F-score.
using ChrfScoring = std::tuple<double, bool>;

struct Scoring {
  std::span<const double> weight;
  std::variant<BleuScoring, ChrfScoring> options;

  std::unique_ptr<MatchScore> make() const {
    if (const auto* chrf = std::get_if<ChrfScoring>(&options)) {
      const auto [beta, each_order] = *chrf;
      return std::make_unique<ChrfScore>(weight.size(), beta, each_order);
    }
    const auto [smoothing, value, effective_order, arithmetic, length, strict] =
        std::get<BleuScoring>(options);
    const fstmetrics::BleuOptions bleu{weight, static_cast<fstmetrics::Smoothing>(smoothing), value,
                                       effective_order, arithmetic};
    const auto effective = static_cast<fstmetrics::EffectiveLength>(length);
    return std::make_unique<BleuScore>(bleu, effective, strict);
  }
};

template <std::size_t W>
std::vector<BleuAnswer> solve_all(std::span<const Problem> problems, const Scoring& scoring,
                                  const BleuSearchOptions& options, int workers) {
  const auto solve = [&](std::size_t place, BleuAnswer& answer, Poll& poll) {
    const auto score = scoring.make();
    BleuSearch<W> search(*score, options);
    answer = std::visit([&](const auto& problem) { return search.solve(problem, poll); },
                        problems[place]);
  };
  return search_batch<BleuAnswer>(problems.size(), workers, solve);
}

std::vector<Answer> search_bleu(const std::vector<Given>& given, const Floats& weight,
                                std::variant<BleuScoring, ChrfScoring> scored,
                                std::tuple<Index, bool, bool, double> wanted,
                                std::tuple<std::size_t, std::size_t, std::size_t> limits,
                                int workers) {
  const auto [k, worst, front, model_weight] = wanted;
  const auto [budget, memory, quick] = limits;
  const std::size_t order = weight.shape(0);
  if (order < 1 || order > 100 || k < 1) throw option_error("an order or k out of range");
  const Scoring scoring{view(weight), scored};
  const BleuSearchOptions options{k, worst, front, model_weight, budget, memory, quick};
  std::vector<Problem> problems;
  problems.reserve(given.size());
  for (const auto& each : given) problems.push_back(checked(each));
  auto answers = order <= 4    ? solve_all<1>(problems, scoring, options, workers)
                 : order <= 8  ? solve_all<2>(problems, scoring, options, workers)
                 : order <= 20 ? solve_all<5>(problems, scoring, options, workers)
                               : solve_all<25>(problems, scoring, options, workers);
  std::vector<Answer> results;
  results.reserve(answers.size());
  const std::size_t width = scoring.make()->width();
  for (auto& each : answers) {
    const std::size_t rows = each.rows.size() / width, outer = each.outer.size() / width;
    results.emplace_back(std::move(each.paths), give(std::move(each.rows), rows, width),
                         give(std::move(each.outer), outer, width), each.bound, each.complete,
                         each.exact, each.labels);
  }
  return results;
}

}  // namespace

void bind_bleu_search(nb::module_& module) {
  module.def(
      "search_bleu", &search_bleu, "problems"_a, "weight"_a, "scoring"_a, "wanted"_a, "limits"_a,
      "workers"_a,
      "Search spaces for their best sentences under BLEU or chrF.\n"
      "\n"
      "A problem has a space's columns, the unit and the word of each arc or symbol, the\n"
      "units of the references and where each reference begins, the weight of the score, and\n"
      "a machine that is added to it, if any: its rows, its columns, its unit, and the words\n"
      "that it reads. Scoring of BLEU: smoothing, its value, effective order or not,\n"
      "arithmetic mean or not, which the effective length is, a strict penalty or not; of\n"
      "chrF: beta, the mean of all orders or not; wanted: k, the worst or not, the whole\n"
      "front or not, the weight of the model score; limits: labels, bytes, and labels\n"
      "that are searched without a bound.\n"
      "Returns for each problem paths, their statistics, rows that dominate all others, a\n"
      "bound, whether a search was completed, whether it is proven, how many labels there\n"
      "were.");
}

}  // namespace decoding
