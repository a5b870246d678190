// Spaces: their handles, their normal form, topological order.
#include "lattices/native/spaces.hpp"

#include <cmath>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/normal_form.hpp"

namespace lattices {

namespace {

void check_offsets(std::span<const Index> offset, std::size_t rows, std::size_t entries,
                   const char* name) {
  bool good = offset.size() == rows + 1 && offset.front() == 0 &&
              static_cast<std::size_t>(offset.back()) == entries;
  for (std::size_t row = 0; good && row < rows; ++row) good = offset[row] <= offset[row + 1];
  if (!good) throw space_error(std::string("the offsets of ") + name + " do not fit their column");
}

void check_below(std::span<const Index> column, Index bound, const char* name) {
  for (const Index value : column) {
    if (value < 0 || value >= bound) {
      throw space_error(std::string(name) + " holds " + std::to_string(value) + ", expected 0.." +
                        std::to_string(bound - 1));
    }
  }
}

}  // namespace

void check_columns(const Lattice& lattice) {
  const auto &src = lattice.src, &dst = lattice.dst, &label = lattice.label,
             &in_arc = lattice.in_arc;
  const std::size_t arcs = src.size(), states = lattice.final.size();
  if (dst.size() != arcs || label.size() != arcs || lattice.score.size() != arcs ||
      in_arc.size() != arcs) {
    throw space_error("the columns of a lattice differ in length");
  }
  check_offsets(lattice.in_offset, states, arcs, "the arcs into states");
  check_offsets(lattice.out_offset, states, arcs, "the arcs out of states");
  const Index bound = lattice.num_nodes();
  bool good = lattice.start >= 0 && lattice.start < bound;
  for (std::size_t arc = 0; arc < arcs; ++arc) {
    good &= src[arc] >= 0 && src[arc] < dst[arc] && dst[arc] < bound && label[arc] >= 0;
    good &= in_arc[arc] >= 0 && static_cast<std::size_t>(in_arc[arc]) < arcs;
  }
  if (!good) throw space_error("a lattice is not in its normal form");
}

LatticeColumns::LatticeColumns(OwnedLattice own, std::string called)
    : LatticeParts(Lattice{own.src, own.dst, own.label, own.score, own.final, own.in_arc,
                           own.in_offset, own.out_offset, own.start}),
      // which leaves the memory where it is
      own_(std::move(own)),
      called_(std::move(called)) {
  name = called_;
}

void check_columns(const Forest& forest) {
  const auto &head = forest.head, &in_offset = forest.in_offset;
  const std::size_t edges = head.size();
  if (forest.score.size() != edges || in_offset.empty()) {
    throw space_error("the columns of a forest differ in length");
  }
  check_offsets(forest.tail_offset, edges, forest.tail.size(), "tails");
  check_offsets(forest.symbol_offset, edges, forest.symbol.size(), "symbols");
  check_offsets(in_offset, in_offset.size() - 1, edges, "the edges into nodes");
  check_below(head, forest.num_nodes(), "the column of heads");
  if (forest.root < 0 || forest.root >= forest.num_nodes())
    throw space_error("the root is no node");
  for (Index edge = 0; edge < forest.num_edges(); ++edge) {
    const auto arity = static_cast<Index>(forest.tails(edge).size());
    bool good = edge >= in_offset[head[edge]] && edge < in_offset[head[edge] + 1];
    for (const Index below : forest.tails(edge)) good &= below >= 0 && below < head[edge];
    for (const Index each : forest.symbols(edge)) good &= each != 0 && each >= -arity;
    if (!good) throw space_error("a forest is not in its normal form");
  }
}

namespace {

// A property for one of the columns, as an array.
template <auto member>
auto column_of() {
  return [](nb::handle_t<LatticeColumns> self) {
    const auto& columns = nb::cast<const LatticeColumns&>(self);
    const auto shown = columns.*member;
    return show(shown, self);
  };
}

}  // namespace

void bind_spaces(nb::module_& module) {
  nb::class_<LatticeColumns>(module, "LatticeColumns", "The columns of a lattice, checked.")
      .def(LatticeColumns::Init(), "src"_a, "dst"_a, "label"_a, "score"_a, "final"_a, "in_arc"_a,
           "in_offset"_a, "out_offset"_a, "start"_a, "called"_a = "the lattice")
      .def_prop_ro("src", column_of<&Lattice::src>())
      .def_prop_ro("dst", column_of<&Lattice::dst>())
      .def_prop_ro("label", column_of<&Lattice::label>())
      .def_prop_ro("score", column_of<&Lattice::score>())
      .def_prop_ro("final", column_of<&Lattice::final>())
      .def_prop_ro("in_arc", column_of<&Lattice::in_arc>())
      .def_prop_ro("in_offset", column_of<&Lattice::in_offset>())
      .def_prop_ro("out_offset", column_of<&Lattice::out_offset>())
      .def_ro("start", &LatticeColumns::start)
      .def_prop_ro("size", [](const LatticeColumns& columns) { return columns.num_edges(); });
  nb::class_<ForestColumns>(module, "ForestColumns", "The columns of a forest, checked.")
      .def(ForestColumns::Init(), "head"_a, "tail"_a, "tail_offset"_a, "symbol"_a,
           "symbol_offset"_a, "score"_a, "in_offset"_a, "root"_a, "called"_a = "the forest");
  module.def(
      "normal_form", native(normal_form), "src"_a, "dst"_a, "label"_a, "score"_a, "final"_a,
      "words"_a,
      "Return what a lattice lacks to be in normal form, the order of its arcs, and the arcs into\n"
      "and out of its states.");
  module.def("topological_numbers",
             native([](std::span<const Index> src, std::span<const Index> dst, Index nodes) {
               check_below(src, nodes, "a column of nodes");
               check_below(dst, nodes, "a column of nodes");
               return topological_numbers(src, dst, nodes);
             }),
             "src"_a, "dst"_a, "nodes"_a,
             "Return a number for every node, sources first, and how many could be numbered.");
}

}  // namespace lattices
