// Automata as rows read them: bounds of sums of gains, the bindings.
#include "lattices/native/row_automata.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/normal_form.hpp"

namespace lattices {

namespace {

std::vector<Index> numbers_without_loops(const RowAutomaton& automaton) {
  std::vector<Index> src, dst;
  for (Index arc = 0; arc < automaton.num_arcs(); ++arc) {
    if (automaton.src[arc] == automaton.dst[arc]) continue;
    src.push_back(automaton.src[arc]);
    dst.push_back(automaton.dst[arc]);
  }
  return topological_numbers(src, dst, automaton.num_states()).first;
}

double largest_finite(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

bool all_whole(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) {
    return !std::isfinite(value) || value == std::nearbyint(value);
  });
}

}  // namespace

double largest_total(const RowAutomaton& automaton, double steps) {
  double spoken = 0.0, once = 0.0, looping = 0.0;
  // of each state its place in the order of all arcs, -1 on a cycle of several states or behind one
  std::vector<Index> number;
  for (Index arc = 0; arc < automaton.num_arcs(); ++arc) {
    const double size = std::abs(automaton.gain[arc]);
    if (automaton.label[arc] != RowAutomaton::kEpsilon) {
      spoken = std::max(spoken, size);
    } else if (size > 0.0) {
      if (number.empty()) number = numbers_without_loops(automaton);
      (number[automaton.dst[arc]] < 0 ? looping : once) += size;
    }
  }
  const double ends = largest_finite(automaton.initial) + largest_finite(automaton.final) +
                      largest_finite(automaton.lead);
  // every gain is written down, even if no sentence has a word
  return spoken * std::max(1.0, steps) + once + looping * (steps + 1.0) + ends;
}

bool has_whole_gains(const RowAutomaton& automaton) {
  return all_whole(automaton.gain) && all_whole(automaton.initial) && all_whole(automaton.final);
}

void check_columns(const RowAutomaton& automaton) {
  const Index states = automaton.num_states();
  const auto fits = [&](std::span<const Index> column) {
    return std::all_of(column.begin(), column.end(),
                       [&](Index state) { return state >= 0 && state < states; });
  };
  const bool even = automaton.dst.size() == automaton.src.size() &&
                    automaton.label.size() == automaton.src.size() &&
                    automaton.gain.size() == automaton.src.size() &&
                    automaton.initial.size() == automaton.final.size() &&
                    automaton.order.size() == automaton.final.size() &&
                    automaton.kept.size() == automaton.forgotten.size() &&
                    automaton.lead.size() == automaton.forgotten.size();
  if (!even) throw option_error("the columns of an automaton differ in length");
  if (!fits(automaton.src) || !fits(automaton.dst) || !fits(automaton.order) ||
      !fits(automaton.forgotten) || !fits(automaton.kept)) {
    throw option_error("an automaton names a state that is not one of 0.." +
                       std::to_string(states - 1));
  }
}

void bind_row_automata(nb::module_& module) {
  nb::class_<RowAutomatonColumns>(module, "RowAutomatonColumns")
      .def(RowAutomatonColumns::Init(), "src"_a, "dst"_a, "label"_a, "gain"_a, "initial"_a,
           "final"_a, "order"_a, "forgotten"_a, "kept"_a, "lead"_a)
      .def(
          "largest_total",
          [](const RowAutomatonColumns& automaton, double steps) {
            return largest_total(automaton, steps);
          },
          "steps"_a, "Return a bound of what any alignment gains or loses.")
      .def(
          "has_whole_gains",
          [](const RowAutomatonColumns& automaton) { return has_whole_gains(automaton); },
          "Tell whether all gains are whole numbers.");
}

}  // namespace lattices
