// Lists of sentences made of the paths of a lattice: words, scores and features, in columns.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "lattices/native/owned.hpp"
#include "lattices/native/paths.hpp"
#include "lattices/native/spaces.hpp"

namespace lattices {

// Entry i has the words label[offset[i]] up to label[offset[i + 1]].
struct PathList {
  std::vector<Index> label, offset{0};
  std::vector<double> score;
  OwnedRows features;
  bool finite = true;  // whether all scores and features are numbers

  std::size_t size() const { return score.size(); }
};

// Adds complete paths of a lattice to a list, one after the other. `arcs` and `ends` are the rows
// of its features, null without features.
class PathLister {
 public:
  PathLister(const Lattice& lattice, const FeatureRows* arcs, const FeatureRows* ends,
             std::size_t width)
      : lattice_(lattice), arcs_(arcs), ends_(ends), sums_(width) {}

  // Scores are added up from the end, as everywhere; sums of features that are zero are left out.
  void add(std::span<const Index> path, PathList& list) {
    for (const Index arc : path) {
      if (lattice_.label[arc] != 0) list.label.push_back(lattice_.label[arc]);
    }
    const Index last = path.empty() ? lattice_.start : lattice_.dst[path.back()];
    double score = lattice_.final[last];
    for (std::size_t at = path.size(); at-- > 0;) score += lattice_.score[path[at]];
    list.finite &= std::isfinite(score);
    list.score.push_back(score);
    list.offset.push_back(static_cast<Index>(list.label.size()));
    if (arcs_ == nullptr) return;
    for (const Index arc : path) sums_.add(*arcs_, arc);
    if (ends_->num_rows() > 0) sums_.add(*ends_, last);
    OwnedRows& rows = list.features;
    sums_.take([&](Index column, double sum) {
      list.finite &= std::isfinite(sum);
      rows.columns.push_back(column);
      rows.values.push_back(sum);
    });
    rows.bounds.push_back(static_cast<Index>(rows.values.size()));
  }

 private:
  const Lattice& lattice_;
  const FeatureRows *arcs_, *ends_;
  FeatureSums sums_;
};

}  // namespace lattices
