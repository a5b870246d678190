// Lattices and forests of characters.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lattices/native/errors.hpp"
#include "lattices/native/poll.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// How words are spelled: the one at a place (of an arc, of a symbol) has the letters
// letter[offset[w]] up to letter[offset[w + 1]], where w = word[place]; epsilon has none. `space`
// is the letter between words, 0 where there is none.
struct Spelling {
  std::span<const Index> word, letter, offset;
  Index space = 0;

  std::span<const Index> letters(std::size_t place) const {
    return letter.subspan(offset[word[place]], offset[word[place] + 1] - offset[word[place]]);
  }
};

// Arcs of a lattice of characters, and where its states come from.
struct CharacterArcs {
  std::vector<Index> src, dst, label;
  // the arc whose word begins here, or whose epsilon this is; -1 inside a word
  std::vector<Index> origin;
  // the state that each new state is a copy of; -1 inside a word
  std::vector<Index> state;
};

// Every word becomes a chain of arcs, one for each letter. With spaces a state is split in two,
// for paths without and with a word so far: a space stands before every word but a path's first.
// After a copy of a state come the states inside the words that leave it, so that arcs lead to
// higher numbers; copies that no path reaches are left out. Linear in the letters of all arcs.
inline CharacterArcs character_arcs(const Lattice& lattice, const Spelling& spelling, Poll& poll) {
  const Index states = lattice.num_nodes();
  const bool spaces = spelling.space != 0;
  auto length = [&](Index arc, bool spoken) {
    const auto letters = static_cast<Index>(spelling.letters(arc).size());
    return lattice.label[arc] == 0 ? 0 : letters + (spaces && spoken);
  };
  // the copies of states in the order of their numbers, -1 where there is none
  std::vector<std::array<Index, 2>> number(states, {-1, -1});
  number[lattice.start][0] = 0;
  std::size_t new_arcs = 0;
  CharacterArcs found;
  for (Index state = lattice.start; state < states; ++state) {
    for (const bool spoken : {false, true}) {
      if (number[state][spoken] < 0) continue;
      number[state][spoken] = static_cast<Index>(found.state.size());
      found.state.push_back(state);
      for (const Index arc : lattice.outgoing(state)) {
        const Index letters = length(arc, spoken);
        number[lattice.dst[arc]][letters == 0 ? spoken : spaces] = 0;
        new_arcs += letters == 0 ? 1 : letters;
        for (Index inside = 1; inside < letters; ++inside) found.state.push_back(-1);
      }
    }
  }
  check_size(new_arcs, "arcs of characters");
  for (auto* column : {&found.src, &found.dst, &found.label, &found.origin}) {
    column->reserve(new_arcs);
  }
  auto add = [&](Index src, Index dst, Index label, Index origin) {
    found.src.push_back(src);
    found.dst.push_back(dst);
    found.label.push_back(label);
    found.origin.push_back(origin);
  };
  for (Index state = lattice.start; state < states; ++state) {
    for (const bool spoken : {false, true}) {
      const Index here = number[state][spoken];
      if (here < 0) continue;
      poll();
      Index inner = here;
      for (const Index arc : lattice.outgoing(state)) {
        const Index target = lattice.dst[arc];
        if (lattice.label[arc] == 0) {
          add(here, number[target][spoken], 0, arc);
          continue;
        }
        Index source = here, origin = arc, left = length(arc, spoken);
        auto step = [&](Index label) {
          const Index next = --left == 0 ? number[target][spaces] : ++inner;
          add(source, next, label, origin);
          source = next;
          origin = -1;
        };
        if (spaces && spoken) step(spelling.space);
        for (const Index letter : spelling.letters(arc)) step(letter);
      }
    }
  }
  return found;
}

// Edges of a forest of characters, sorted by head, and the edges that they come from.
struct CharacterEdges {
  std::vector<Index> head, tail, tail_offset{0}, symbol, symbol_offset{0}, origin;
  Index num_nodes = 0, root = 0;
};

// A space stands before every word but the first, and any tail may have the first. So a node has
// up to three copies: of its sentences without words, of its sentences with words where they begin
// a whole sentence, and of all its sentences where words stand before them. The root, whose copies
// are nobody's tails, has its sentences with and without words in one.
class CharacterForest {
 public:
  CharacterForest(const Forest& forest, const Spelling& spelling)
      : forest_(forest),
        spelling_(spelling),
        wordless_(forest.num_nodes()),
        with_words_(forest.num_nodes()) {}

  CharacterEdges run(Poll& poll) {
    for (Index node = 0; node < forest_.num_nodes(); ++node) {
      for (const Index edge : forest_.incoming(node)) {
        poll();
        spelling_.space == 0 ? copy_plainly(edge) : copy(edge);
      }
    }
    return sorted();
  }

 private:
  enum Kind : Index { Wordless, First, Later, Kinds };

  static Index copy_of(Index node, Kind kind) { return Kinds * node + kind; }

  // Write a row; the symbol at `first` has no space before it, if it is a word.
  void add(Index head, Index edge, std::span<const Index> tails, std::size_t first) {
    rows_.tail.insert(rows_.tail.end(), tails.begin(), tails.end());
    rows_.tail_offset.push_back(static_cast<Index>(rows_.tail.size()));
    const std::size_t begin = forest_.symbol_offset[edge];
    const auto side = forest_.symbols(edge);
    for (std::size_t place = 0; place < side.size(); ++place) {
      if (side[place] < 0) {
        rows_.symbol.push_back(side[place]);
        continue;
      }
      if (spelling_.space != 0 && place != first) rows_.symbol.push_back(spelling_.space);
      const auto letters = spelling_.letters(begin + place);
      rows_.symbol.insert(rows_.symbol.end(), letters.begin(), letters.end());
    }
    rows_.symbol_offset.push_back(static_cast<Index>(rows_.symbol.size()));
    check_size(rows_.symbol.size(), "characters");
    check_size(rows_.tail.size(), "tails of edges");
    rows_.head.push_back(head);
    rows_.origin.push_back(edge);
  }

  void copy_plainly(Index edge) {
    tails_.clear();
    for (const Index tail : forest_.tails(edge)) tails_.push_back(copy_of(tail, First));
    add(copy_of(forest_.head[edge], First), edge, tails_, 0);
  }

  // Write one row for each symbol that the first word may come from, one if there may be no words
  // at all, and one where words stand before.
  void copy(Index edge) {
    const Index head = forest_.head[edge];
    const auto tails = forest_.tails(edge);
    const auto side = forest_.symbols(edge);
    const std::size_t none = side.size();
    tails_.clear();
    for (const Index tail : tails) tails_.push_back(copy_of(tail, Later));
    if (head != forest_.root) add(copy_of(head, Later), edge, tails_, none);
    for (std::size_t place = 0; place < side.size(); ++place) {
      const bool word = side[place] > 0;
      const Index slot = word ? -1 : -1 - side[place];
      if (word || with_words_[tails[slot]]) {
        if (!word) tails_[slot] = copy_of(tails[slot], First);
        with_words_[head] = 1;
        add(copy_of(head, First), edge, tails_, word ? place : none);
      }
      if (word || !wordless_[tails[slot]]) return;
      tails_[slot] = copy_of(tails[slot], Wordless);
    }
    wordless_[head] = 1;
    add(copy_of(head, head == forest_.root ? First : Wordless), edge, tails_, none);
  }

  // Number the copies that have edges, in order, and put the edges in the order of their heads. An
  // edge that needs a copy without edges is in no derivation.
  CharacterEdges sorted() const {
    CharacterEdges found;
    std::vector<Index> count(std::size_t{Kinds} * forest_.num_nodes() + 1),
        number(count.size(), -1);
    for (const Index head : rows_.head) ++count[head + 1];
    for (std::size_t at = 1; at < count.size(); ++at) {
      if (count[at] > 0) number[at - 1] = found.num_nodes++;
      count[at] += count[at - 1];
    }
    std::vector<Index> order(rows_.head.size());
    for (std::size_t row = 0; row < order.size(); ++row) {
      order[count[rows_.head[row]]++] = static_cast<Index>(row);
    }
    auto all = [](const std::vector<Index>& column, const std::vector<Index>& offset, Index row) {
      return std::span(column).subspan(offset[row], offset[row + 1] - offset[row]);
    };
    for (const Index row : order) {
      const auto tails = all(rows_.tail, rows_.tail_offset, row);
      bool possible = true;
      for (const Index tail : tails) possible &= number[tail] >= 0;
      if (!possible) continue;
      found.head.push_back(number[rows_.head[row]]);
      for (const Index tail : tails) found.tail.push_back(number[tail]);
      found.tail_offset.push_back(static_cast<Index>(found.tail.size()));
      const auto side = all(rows_.symbol, rows_.symbol_offset, row);
      found.symbol.insert(found.symbol.end(), side.begin(), side.end());
      found.symbol_offset.push_back(static_cast<Index>(found.symbol.size()));
      found.origin.push_back(rows_.origin[row]);
    }
    found.root = number[copy_of(forest_.root, First)];
    return found;
  }

  const Forest& forest_;
  const Spelling& spelling_;
  std::vector<char> wordless_, with_words_;
  std::vector<Index> tails_;
  // edges as they come, between copies that have not been numbered
  CharacterEdges rows_;
};

// What the symbols of a forest of characters say: the words of the forest that it was made of, each
// in the place of one of its characters, 0 in the places of the others, and tails as they are.
inline std::vector<Index> words_said(const Forest& characters, const Forest& words,
                                     std::span<const Index> origin) {
  std::vector<Index> said(characters.symbol.size());
  for (Index edge = 0; edge < characters.num_edges(); ++edge) {
    const auto spoken = words.symbols(origin[edge]);
    auto next = spoken.begin();
    for (Index at = characters.symbol_offset[edge]; at < characters.symbol_offset[edge + 1]; ++at) {
      if (characters.symbol[at] < 0) {
        said[at] = characters.symbol[at];
        ++next;
      } else if (next != spoken.end() && *next > 0) {
        // words have at least one character
        said[at] = *next++;
      }
    }
  }
  return said;
}

}  // namespace lattices
