// Spaces made of spaces: parts, without epsilons, of characters, expanded. The bindings.
#include <optional>

#include "lattices/native/bindings.hpp"
#include "lattices/native/characters.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/epsilon.hpp"
#include "lattices/native/expansion.hpp"
#include "lattices/native/push.hpp"
#include "lattices/native/top_down.hpp"
#include "lattices/native/totals.hpp"

namespace lattices {

namespace {

using Mask = Column<bool>;
// columns by the names that the fields of a space have
using Fields = nb::typed<nb::dict, nb::str, nb::any>;

// Fields by name: put(fields, name, value, name, value ...); vectors become columns.
void put(Fields&) {}
template <class T, class... Rest>
void put(Fields& fields, const char* name, T& value, Rest&&... rest) {
  fields[name] = shown(value);
  put(fields, rest...);
}

// Number what is marked without gaps, -1 elsewhere; also return the marked ones.
std::vector<Index> number_marked(const std::vector<char>& marks, std::vector<Index>& marked) {
  std::vector<Index> number(marks.size(), -1);
  for (std::size_t at = 0; at < marks.size(); ++at) {
    if (!marks[at]) continue;
    number[at] = static_cast<Index>(marked.size());
    marked.push_back(static_cast<Index>(at));
  }
  return number;
}

// The columns of the lattice of what is useful, in normal form as the whole is.
struct LatticePart {
  std::vector<Index> arcs, states, src, dst, label, in_arc, in_offset, out_offset;
  std::vector<double> score, final;
  Index start = 0;
};

std::optional<LatticePart> lattice_part(const Lattice& lattice, std::span<const bool> keep_arcs,
                                        std::span<const bool> keep_finals) {
  const auto useful = find_useful(
      top_down(lattice), [&](Index arc) { return keep_arcs[arc]; },
      [&](Index state) { return keep_finals[state]; });
  if (!useful.nodes[lattice.start]) throw no_complete_path(lattice);
  LatticePart part;
  const auto number = number_marked(useful.nodes, part.states);
  for (const Index state : part.states) {
    part.final.push_back(keep_finals[state] ? lattice.final[state] : kMinusInfinity);
  }
  for (Index arc = 0; arc < lattice.num_edges(); ++arc) {
    if (useful.edges[arc]) part.arcs.push_back(arc);
  }
  bool whole = part.arcs.size() == lattice.src.size() && part.states.size() == lattice.final.size();
  for (Index state = 0; whole && state < lattice.num_nodes(); ++state) {
    whole = lattice.final[state] == kMinusInfinity || keep_finals[state];
  }
  if (whole) return std::nullopt;
  for (const Index arc : part.arcs) {
    part.src.push_back(number[lattice.src[arc]]);
    part.dst.push_back(number[lattice.dst[arc]]);
    part.label.push_back(lattice.label[arc]);
    part.score.push_back(lattice.score[arc]);
  }
  const std::size_t arcs = part.arcs.size(), states = part.states.size();
  part.out_offset = group(arcs, states, [&](std::size_t arc) { return part.src[arc]; }).offset;
  auto in = group(arcs, states, [&](std::size_t arc) { return part.dst[arc]; });
  part.in_offset = std::move(in.offset);
  part.in_arc = std::move(in.entry);
  part.start = number[lattice.start];
  return part;
}

// The columns of the forest of what is useful, in normal form as the whole is.
struct ForestPart {
  std::vector<Index> edges, nodes, head, tail, tail_offset{0}, symbol, symbol_offset{0}, in_offset;
  std::vector<double> score;
  Index root = 0;
};

std::optional<ForestPart> forest_part(const Forest& forest, std::span<const bool> keep) {
  const auto useful = find_useful(
      top_down(forest), [&](Index edge) { return keep[edge]; }, [](Index) { return true; });
  if (!useful.nodes[forest.root]) throw no_complete_path(forest);
  ForestPart part;
  const auto number = number_marked(useful.nodes, part.nodes);
  number_marked(useful.edges, part.edges);
  if (part.edges.size() == forest.head.size() &&
      static_cast<Index>(part.nodes.size()) == forest.num_nodes()) {
    return std::nullopt;
  }
  part.in_offset.assign(part.nodes.size() + 1, 0);
  for (const Index edge : part.edges) {
    part.head.push_back(number[forest.head[edge]]);
    ++part.in_offset[part.head.back() + 1];
    part.score.push_back(forest.score[edge]);
    for (const Index tail : forest.tails(edge)) part.tail.push_back(number[tail]);
    part.tail_offset.push_back(static_cast<Index>(part.tail.size()));
    const auto side = forest.symbols(edge);
    part.symbol.insert(part.symbol.end(), side.begin(), side.end());
    part.symbol_offset.push_back(static_cast<Index>(part.symbol.size()));
  }
  add_up(part.in_offset);
  part.root = number[forest.root];
  return part;
}

void check_mask(const Mask& mask, Index count) {
  if (mask.shape(0) != static_cast<std::size_t>(count)) {
    throw option_error("a mask of " + std::to_string(mask.shape(0)) + " entries for " +
                       std::to_string(count));
  }
}

void check_spelling(const Spelling& spelling, std::size_t places) {
  bool good = spelling.word.size() == places && !spelling.offset.empty() &&
              spelling.offset.front() == 0 &&
              static_cast<std::size_t>(spelling.offset.back()) == spelling.letter.size();
  for (std::size_t word = 0; good && word + 1 < spelling.offset.size(); ++word) {
    good = spelling.offset[word] <= spelling.offset[word + 1];
  }
  for (const Index word : spelling.word) {
    good &= word >= 0 && static_cast<std::size_t>(word) + 1 < spelling.offset.size();
  }
  if (!good) throw option_error("the spelling of words does not fit");
}

}  // namespace

void bind_transforms(nb::module_& module) {
  module.def("useful_states", native([](const Lattice& lattice) {
               const auto marks = find_useful(top_down(lattice)).nodes;
               return std::vector<std::int8_t>(marks.begin(), marks.end());
             }),
             "lattice"_a, "Return, for every state, whether it lies on a complete path: 1 or 0.");
  module.def("has_derivation", native([](const Forest& forest) {
               return find_useful(top_down(forest)).nodes[forest.root] != 0;
             }),
             "forest"_a, "Tell whether the root can be derived.");
  module.def(
      "lattice_part",
      [](const LatticeColumns& columns, const Mask& keep_arcs, const Mask& keep_finals) {
        check_mask(keep_arcs, columns.num_edges());
        check_mask(keep_finals, columns.num_nodes());
        auto part =
            unlocked([&] { return lattice_part(columns, view(keep_arcs), view(keep_finals)); });
        Fields fields;
        if (!part) return fields;
        put(fields, "arcs", part->arcs, "states", part->states, "src", part->src, "dst", part->dst,
            "label", part->label, "score", part->score, "final", part->final, "in_arc",
            part->in_arc, "in_offset", part->in_offset, "out_offset", part->out_offset, "start",
            part->start);
        return fields;
      },
      "lattice"_a, "keep_arcs"_a, "keep_finals"_a,
      "Return the columns of the lattice of complete paths of these arcs and ends, by name; none\n"
      "if that is all of it.");
  module.def(
      "forest_part",
      [](const ForestColumns& columns, const Mask& keep) {
        check_mask(keep, columns.num_edges());
        auto part = unlocked([&] { return forest_part(columns, view(keep)); });
        Fields fields;
        if (!part) return fields;
        put(fields, "edges", part->edges, "nodes", part->nodes, "head", part->head, "tail",
            part->tail, "tail_offset", part->tail_offset, "symbol", part->symbol, "symbol_offset",
            part->symbol_offset, "score", part->score, "in_offset", part->in_offset, "root",
            part->root);
        return fields;
      },
      "forest"_a, "keep"_a,
      "Return the columns of the forest of derivations of these edges, by name; none if that is\n"
      "all of it.");
  module.def(
      "push", native([](const Lattice& lattice, const std::string& where) {
        if (where == "ahead") return push_ahead(lattice);
        return where == "final" ? push_to_final(lattice) : push_to_start(lattice);
      }),
      "lattice"_a, "where"_a,
      "Return the scores of arcs and of ends, moved to the \"start\", to the \"final\" states, or "
      "with\n"
      "what lies \"ahead\" taken out, and the best score of all.");
  module.def(
      "epsilon_closures", native(epsilon_closures), "lattice"_a, "summed"_a,
      "Return begin, end, score, last arc and entry before it of the epsilon paths that matter.");
  module.def(
      "character_arcs",
      native([](const Lattice& lattice, std::span<const Index> word, std::span<const Index> letter,
                std::span<const Index> offset, Index space, Poll& poll) {
        const Spelling spelling{word, letter, offset, space};
        check_spelling(spelling, lattice.src.size());
        return character_arcs(lattice, spelling, poll);
      }),
      "lattice"_a, "word"_a, "letter"_a, "offset"_a, "space"_a,
      "Return source, target, label and origin of each arc of characters, and the state that each\n"
      "of their states is a copy of.");
  module.def(
      "character_edges",
      [](const ForestColumns& columns, const Ints& word, const Ints& letter, const Ints& offset,
         Index space) {
        const Spelling spelling{view(word), view(letter), view(offset), space};
        check_spelling(spelling, columns.symbol.size());
        auto found =
            unlocked([&](Poll& poll) { return CharacterForest(columns, spelling).run(poll); });
        Fields fields;
        put(fields, "head", found.head, "tail", found.tail, "tail_offset", found.tail_offset,
            "symbol", found.symbol, "symbol_offset", found.symbol_offset, "num_nodes",
            found.num_nodes, "root", found.root);
        return give_all(fields, found.origin);
      },
      "forest"_a, "word"_a, "letter"_a, "offset"_a, "space"_a,
      "Return the columns of the forest of characters, by name, and the edge each comes from.");
  module.def(
      "expand", native(expand), "forest"_a, "max_states"_a,
      "Return source, target, label and edge of each arc of a trimmed forest's lattice, its "
      "number\n"
      "of states, and whether it begins in state 0 and not in 1; None if it has more states.");
  module.def(
      "words_said",
      native([](const Forest& characters, const Forest& words, std::span<const Index> origin) {
        if (origin.size() != characters.head.size()) {
          throw space_error("an edge of characters has no edge of words");
        }
        return words_said(characters, words, origin);
      }),
      "characters"_a, "words"_a, "origin"_a,
      "Return the words that the symbols of a forest of characters stand for.");
}

}  // namespace lattices
