// Handles: the columns of a Python space, checked once and kept alive, for any number of calls.
//
// `Lattice.columns`, `Forest.columns`, `feature_columns` of both and `Alignment.columns` make them.
// The other modules take them, too (all share one nanobind domain), so that a call passes one
// object instead of nine arrays.
#pragma once

#include <string>

#include "lattices/native/alignments.hpp"
#include "lattices/native/border.hpp"
#include "lattices/native/owned.hpp"
#include "lattices/native/paths.hpp"
#include "lattices/native/row_automata.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

void check_columns(const Lattice& lattice);
void check_columns(const Forest& forest);
void check_columns(const Alignment& alignment);
void check_columns(const AlignmentList& alignments);
void check_columns(const RowAutomaton& automaton);

// the last part of a space is what errors call it
using LatticeParts =
    Kept<Lattice, Ints, Ints, Ints, Floats, Floats, Ints, Ints, Ints, Index, std::string>;
// The columns are either Python's or its own.
struct LatticeColumns : LatticeParts {
  using LatticeParts::LatticeParts;
  // in normal form
  LatticeColumns(OwnedLattice own, std::string called);

 private:
  OwnedLattice own_;
  std::string called_;
};
using ForestColumns = Kept<Forest, Ints, Ints, Ints, Ints, Ints, Floats, Ints, Index, std::string>;
using AnySpace = std::variant<const LatticeColumns*, const ForestColumns*>;
using AlignmentColumns = Kept<Alignment, Index, Index, double, double, double, Ints, Ints, Floats>;
using AlignmentListColumns =
    Kept<AlignmentList, Index, double, double, double, Ints, Ints, Ints, Ints, Floats>;
// Made by `Automaton.row_columns`.
using RowAutomatonColumns =
    Kept<RowAutomaton, Ints, Ints, Ints, Floats, Floats, Floats, Ints, Ints, Ints, Floats>;

template <>
struct FromPython<const Lattice&> {
  using Type = const LatticeColumns&;
};
template <>
struct FromPython<const Forest&> {
  using Type = const ForestColumns&;
};
template <>
struct FromPython<const AlignmentList&> {
  using Type = const AlignmentListColumns&;
};
template <>
struct FromPython<const RowAutomaton&> {
  using Type = const RowAutomatonColumns&;
};

// Checked where the number of names is known.
inline void check_columns(const Features&) {}
using FeatureParts = Kept<Features, Ints, Ints, Floats, Ints, Ints, Floats>;
// The features of a space; `ends` has no rows where nothing ends.
struct FeatureColumns : FeatureParts {
  using Names = nb::typed<nb::tuple, nb::str, nb::ellipsis>;

  FeatureColumns(Names all_names, Ints bounds, Ints columns, Floats values, Ints end_bounds,
                 Ints end_columns, Floats end_values);
  // right by themselves
  FeatureColumns(Names all_names, OwnedRows own_edges, OwnedRows own_ends);

  // Whether there is a row for each edge, and for each node that may end a path.
  template <class Space>
  bool fit(const Space& space) const {
    return edges.num_rows() == space.num_edges() &&
           (ends.num_rows() == 0 || ends.num_rows() == space.num_nodes());
  }

  Names names;

 private:
  OwnedRows own_edges_, own_ends_;
};

}  // namespace lattices
