// Spaces: their handles, their normal form, topological order.
#include "lattices/native/spaces.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <tuple>

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

LatticeColumns::LatticeColumns(Ints src_column, Ints dst_column, Ints label_column,
                               Floats score_column, Floats final_column, Ints in_arc_column,
                               Ints in_offset_column, Ints out_offset_column, Index start_state,
                               std::string called)
    : Lattice{view(src_column),       view(dst_column),        view(label_column),
              view(score_column),     view(final_column),      view(in_arc_column),
              view(in_offset_column), view(out_offset_column), start_state},
      src_(std::move(src_column)),
      dst_(std::move(dst_column)),
      label_(std::move(label_column)),
      in_arc_(std::move(in_arc_column)),
      in_offset_(std::move(in_offset_column)),
      out_offset_(std::move(out_offset_column)),
      score_(std::move(score_column)),
      final_(std::move(final_column)),
      called_(std::move(called)) {
  name = called_;
  const std::size_t arcs = src.size(), states = final.size();
  if (dst.size() != arcs || label.size() != arcs || score.size() != arcs || in_arc.size() != arcs) {
    throw space_error("the columns of a lattice differ in length");
  }
  check_offsets(in_offset, states, arcs, "the arcs into states");
  check_offsets(out_offset, states, arcs, "the arcs out of states");
  const Index bound = num_nodes();
  bool good = start >= 0 && start < bound;
  for (std::size_t arc = 0; arc < arcs; ++arc) {
    good &= src[arc] >= 0 && src[arc] < dst[arc] && dst[arc] < bound && label[arc] >= 0;
    good &= in_arc[arc] >= 0 && static_cast<std::size_t>(in_arc[arc]) < arcs;
  }
  if (!good) throw space_error("a lattice is not in its normal form");
}

LatticeColumns::LatticeColumns(OwnedLattice own, std::string called)
    : Lattice{own.src,    own.dst,       own.label,      own.score, own.final,
              own.in_arc, own.in_offset, own.out_offset, own.start},
      // which leaves the memory where it is
      own_(std::move(own)),
      called_(std::move(called)) {
  name = called_;
}

ForestColumns::ForestColumns(Ints head_column, Ints tail_column, Ints tail_offset_column,
                             Ints symbol_column, Ints symbol_offset_column, Floats score_column,
                             Ints in_offset_column, Index root_node, std::string called)
    : Forest{view(head_column),          view(tail_column),
             view(tail_offset_column),   view(symbol_column),
             view(symbol_offset_column), view(score_column),
             view(in_offset_column),     root_node},
      head_(std::move(head_column)),
      tail_(std::move(tail_column)),
      tail_offset_(std::move(tail_offset_column)),
      symbol_(std::move(symbol_column)),
      symbol_offset_(std::move(symbol_offset_column)),
      in_offset_(std::move(in_offset_column)),
      score_(std::move(score_column)),
      called_(std::move(called)) {
  name = called_;
  const std::size_t edges = head.size();
  if (score.size() != edges || in_offset.empty()) {
    throw space_error("the columns of a forest differ in length");
  }
  check_offsets(tail_offset, edges, tail.size(), "tails");
  check_offsets(symbol_offset, edges, symbol.size(), "symbols");
  check_offsets(in_offset, in_offset.size() - 1, edges, "the edges into nodes");
  check_below(head, num_nodes(), "the column of heads");
  if (root < 0 || root >= num_nodes()) throw space_error("the root is no node");
  for (Index edge = 0; edge < num_edges(); ++edge) {
    const auto arity = static_cast<Index>(tails(edge).size());
    bool good = edge >= in_offset[head[edge]] && edge < in_offset[head[edge] + 1];
    for (const Index below : tails(edge)) good &= below >= 0 && below < head[edge];
    for (const Index each : symbols(edge)) good &= each != 0 && each >= -arity;
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
      .def(nb::init<Ints, Ints, Ints, Floats, Floats, Ints, Ints, Ints, Index, std::string>(),
           nb::arg("src"), nb::arg("dst"), nb::arg("label"), nb::arg("score"), nb::arg("final"),
           nb::arg("in_arc"), nb::arg("in_offset"), nb::arg("out_offset"), nb::arg("start"),
           nb::arg("called") = "the lattice")
      .def_prop_ro("src", column_of<&Lattice::src>())
      .def_prop_ro("dst", column_of<&Lattice::dst>())
      .def_prop_ro("label", column_of<&Lattice::label>())
      .def_prop_ro("score", column_of<&Lattice::score>())
      .def_prop_ro("final", column_of<&Lattice::final>())
      .def_prop_ro("in_arc", column_of<&Lattice::in_arc>())
      .def_prop_ro("in_offset", column_of<&Lattice::in_offset>())
      .def_prop_ro("out_offset", column_of<&Lattice::out_offset>())
      .def_ro("start", &LatticeColumns::start);
  nb::class_<ForestColumns>(module, "ForestColumns", "The columns of a forest, checked.")
      .def(nb::init<Ints, Ints, Ints, Ints, Ints, Floats, Ints, Index, std::string>(),
           nb::arg("head"), nb::arg("tail"), nb::arg("tail_offset"), nb::arg("symbol"),
           nb::arg("symbol_offset"), nb::arg("score"), nb::arg("in_offset"), nb::arg("root"),
           nb::arg("called") = "the forest");
  module.def(
      "normal_form",
      [](const Ints& src, const Ints& dst, const Ints& label, const Floats& score,
         const Floats& final, Index words) {
        auto found =
            normal_form(view(src), view(dst), view(label), view(score), view(final), words);
        return std::tuple(static_cast<int>(found.form), give(std::move(found.order)),
                          give(std::move(found.in_arc)), give(std::move(found.in_offset)),
                          give(std::move(found.out_offset)));
      },
      nb::arg("src"), nb::arg("dst"), nb::arg("label"), nb::arg("score"), nb::arg("final"),
      nb::arg("words"),
      "Return what a lattice lacks to be in normal form, the order of its arcs, and the arcs into\n"
      "and out of its states.");
  module.def(
      "topological_numbers",
      [](const Ints& src, const Ints& dst, Index nodes) {
        check_below(view(src), nodes, "a column of nodes");
        check_below(view(dst), nodes, "a column of nodes");
        auto [number, done] = topological_numbers(view(src), view(dst), nodes);
        return std::tuple(give(std::move(number)), done);
      },
      nb::arg("src"), nb::arg("dst"), nb::arg("nodes"),
      "Return a number for every node, sources first, and how many could be numbered.");
}

}  // namespace lattices
