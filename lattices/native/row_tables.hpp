// The handle of Python's RowMachine: the tables of its automaton, in integers that are wide enough.
#pragma once

#include <utility>
#include <variant>

#include "lattices/native/rows.hpp"

namespace lattices {

class RowTables {
 public:
  // `narrow`: all sums of gains stay below 2**26
  RowTables(const RowAutomaton& automaton, bool narrow)
      : reader_(narrow ? Reader(std::in_place_type<AutomatonReader<std::int32_t>>, automaton)
                       : Reader(std::in_place_type<AutomatonReader<std::int64_t>>, automaton)) {}

  // Call use(reader) with the AutomatonReader that is there; make a RowMachine on it for a search.
  template <class Use>
  auto visit(Use&& use) const {
    return std::visit(std::forward<Use>(use), reader_);
  }

 private:
  using Reader = std::variant<AutomatonReader<std::int32_t>, AutomatonReader<std::int64_t>>;
  Reader reader_;
};

}  // namespace lattices
