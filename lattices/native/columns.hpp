// Handles: the columns of a Python space, checked once and kept alive, for any number of calls.
//
// `Lattice.columns`, `Forest.columns`, `feature_columns` of both and `Alignment.columns` make them.
// The other modules take them, too (all share one nanobind domain), so that a call passes one
// object instead of nine arrays.
#pragma once

#include <string>

#include "lattices/native/border.hpp"
#include "lattices/native/machines.hpp"
#include "lattices/native/owned.hpp"
#include "lattices/native/paths.hpp"
#include "lattices/native/row_automata.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

struct LatticeColumns : Lattice {
  LatticeColumns(Ints src, Ints dst, Ints label, Floats score, Floats final, Ints in_arc,
                 Ints in_offset, Ints out_offset, Index start, std::string called);
  // in normal form
  LatticeColumns(OwnedLattice own, std::string called);
  // `name` looks at a member
  LatticeColumns(const LatticeColumns&) = delete;
  LatticeColumns& operator=(const LatticeColumns&) = delete;

 private:
  // the columns are either Python's or its own
  Ints src_, dst_, label_, in_arc_, in_offset_, out_offset_;
  Floats score_, final_;
  OwnedLattice own_;
  std::string called_;
};

struct ForestColumns : Forest {
  ForestColumns(Ints head, Ints tail, Ints tail_offset, Ints symbol, Ints symbol_offset,
                Floats score, Ints in_offset, Index root, std::string called);
  ForestColumns(const ForestColumns&) = delete;
  ForestColumns& operator=(const ForestColumns&) = delete;

 private:
  Ints head_, tail_, tail_offset_, symbol_, symbol_offset_, in_offset_;
  Floats score_;
  std::string called_;
};

// The features of a space; `ends` has no rows where nothing ends.
struct FeatureColumns {
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
  FeatureRows edges, ends;

 private:
  Ints bounds_, columns_, end_bounds_, end_columns_;
  Floats values_, end_values_;
  OwnedRows own_edges_, own_ends_;
};

struct AlignmentColumns : Alignment {
  AlignmentColumns(Index length, Index order, double insertion, double deletion, double heaviest,
                   Ints word, Ints position, Floats weight);

 private:
  Ints word_, position_;
  Floats weight_;
};

// Made by `Automaton.row_columns`.
struct RowAutomatonColumns : RowAutomaton {
  RowAutomatonColumns(Ints src, Ints dst, Ints label, Floats gain, Floats initial, Floats final,
                      Ints order, Ints forgotten, Ints kept, Floats lead);

 private:
  Ints src_, dst_, label_, order_, forgotten_, kept_;
  Floats gain_, initial_, final_, lead_;
};

}  // namespace lattices
