// What the page docs/try.html computes, for WebAssembly: the oracle of a lattice by the library's
// own search, and the product of the lattice with the metric's machine.
//
// There are no exceptions in WebAssembly as zig compiles it: what would throw ends the module, and
// the page says so and loads it again.
#include <cstddef>
#include <vector>

#include "lattices/native/intersection.hpp"
#include "lattices/native/normal_form.hpp"
#include "lattices/native/product.hpp"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

extern "C" void* __cxa_allocate_exception(std::size_t) noexcept { __builtin_trap(); }
extern "C" [[noreturn]] void __cxa_throw(void*, void*, void (*)(void*)) { __builtin_trap(); }

namespace {

using lattices::Index;

std::vector<Index> ints;
std::vector<double> doubles, answer;

// The machine of an alignment, as docs/theory.md has it: state i * order + m.
struct Arcs {
  std::vector<Index> src, dst, label;
  std::vector<double> gain;

  void add(Index from, Index reads, double gains, Index to) {
    src.push_back(from);
    label.push_back(reads);
    gain.push_back(gains);
    dst.push_back(to);
  }
};

Arcs explicit_arcs(const lattices::Alignment& alignment) {
  constexpr Index epsilon = lattices::RowAutomaton::kEpsilon, any = lattices::RowAutomaton::kAny;
  const Index order = alignment.order;
  Arcs arcs;
  for (Index place = 0; place <= alignment.length; ++place) {
    const Index here = place * order, next = here + order;
    const bool more = place < alignment.length;
    for (Index run = 1; run < order; ++run) arcs.add(here + run, epsilon, 0.0, here);
    arcs.add(here, any, -alignment.insertion, here);
    if (!more) continue;
    arcs.add(here, epsilon, -alignment.deletion, next);
    arcs.add(here, any, 0.0, next);
    for (Index run = 0; run < order; ++run) {
      arcs.add(here + run, alignment.word[place], run + 1.0, next + std::min(run + 1, order - 1));
    }
  }
  return arcs;
}

}  // namespace

EXPORT(give_ints) Index* give_ints(Index count) {
  ints.assign(static_cast<std::size_t>(count), 0);
  return ints.data();
}

EXPORT(give_doubles) double* give_doubles(Index count) {
  doubles.assign(static_cast<std::size_t>(count), 0.0);
  return doubles.data();
}

// Ints are src, dst and label of arcs, in the order of their sources and targets, and the words of
// the reference; doubles the scores of arcs and the final scores of states, -inf where none ends.
// Returns, as doubles: how many there are; the gain of the best path, its score and its number of
// arcs; these; and for each edge of the product its two nodes (the second -1 where a path ends),
// its gain, the score it adds and the arc of the lattice (-1 if it takes none). Null if the lattice
// is not as said. Node 0 is the root, 1 + q * states + s the pair of states q and s.
EXPORT(search)
const double* search(Index states, Index arcs, Index length, Index order, double insertion,
                     double deletion) {
  const std::span<const Index> all(ints);
  const std::span<const double> scores(doubles);
  lattices::Lattice lattice{all.subspan(0, arcs),
                            all.subspan(arcs, arcs),
                            all.subspan(2 * arcs, arcs),
                            scores.subspan(0, arcs),
                            scores.subspan(arcs, states),
                            {},
                            {},
                            {},
                            0,
                            "the lattice"};
  const auto form = lattices::normal_form(lattice.src, lattice.dst, lattice.label, lattice.score,
                                          lattice.final, std::numeric_limits<Index>::max());
  if (form.form != lattices::Form::Normal) return nullptr;
  lattice.in_arc = form.in_arc;
  lattice.in_offset = form.in_offset;
  lattice.out_offset = form.out_offset;

  std::vector<Index> position(length);
  std::iota(position.begin(), position.end(), 0);
  const std::vector<double> weight(length, 1.0);
  const lattices::Alignment alignment{
      length, order, insertion, deletion, 1.0, all.subspan(3 * arcs, length), position, weight};
  const lattices::Part part{&alignment};
  lattices::BestPath best;
  lattices::Poll poll;
  lattices::Intersection().search(lattice, {&part, 1}, {}, best, poll);
  answer.assign(1, 0.0);
  answer.push_back(best.value);
  answer.push_back(best.model);
  answer.push_back(static_cast<double>(best.arcs.size()));
  answer.insert(answer.end(), best.arcs.begin(), best.arcs.end());

  const Arcs machine = explicit_arcs(alignment);
  const auto size = static_cast<Index>(alignment.num_states());
  std::vector<double> initial(size, lattices::kMinusInfinity), final = initial;
  initial.front() = final[size - order] = 0.0;
  // forgetting leads to m = 0, so that this comes last in each place
  std::vector<Index> sequence;
  for (Index state = 0; state < size; ++state) {
    sequence.push_back(state / order * order + (order - 1 - state % order));
  }
  const lattices::OrderedAutomaton automaton({machine.src,
                                              machine.dst,
                                              machine.label,
                                              machine.gain,
                                              initial,
                                              final,
                                              sequence,
                                              {},
                                              {},
                                              {}});
  const lattices::Product product(lattice, lattice.label, automaton);
  const auto pair_of = [&](Index node) {
    return node <= 0 ? node : 1 + (node - 1) / size * size + sequence[(node - 1) % size];
  };
  for (Index node = 0; node < product.num_nodes(); ++node) {
    product.visit(node, [&](const lattices::Product::Edge& edge) {
      const Index to = edge.tail == lattices::kNone ? -1 : pair_of(edge.tail);
      const Index arc = edge.arc == lattices::kNone ? -1 : edge.arc;
      answer.insert(answer.end(), {static_cast<double>(pair_of(node)), static_cast<double>(to),
                                   edge.gain, edge.score, static_cast<double>(arc)});
    });
  }
  answer[0] = static_cast<double>(answer.size());
  return answer.data();
}
