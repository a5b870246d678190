// Kaldi's binary archives: the bindings.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>

#include "lattices/native/bindings.hpp"
#include "lattices/native/columns.hpp"
#include "lattices/native/kaldi_binary.hpp"

namespace lattices {

namespace {

std::span<const std::uint8_t> bytes_of(const nb::bytes& data) {
  return {static_cast<const std::uint8_t*>(data.data()), data.size()};
}

// The numbers of labels in a vocabulary, asked of Python once for each.
struct Labels {
  // False if `number` has none for one of these labels.
  bool learn(const std::vector<Index>& labels, const nb::callable& number) {
    if (labels.empty()) return true;
    // one entry a label: a wild number must not ask for all the memory there is
    if (labels.back() > kHighest) return false;
    const nb::object found = number(labels);
    if (found.is_none()) return false;
    const auto numbers = nb::cast<std::vector<Index>>(found);
    if (numbers.size() != labels.size()) throw nb::value_error("not as many numbers as labels");
    if (const auto most = static_cast<std::size_t>(labels.back()); most >= known.size()) {
      known.resize(most + 1, -1);
    }
    for (std::size_t at = 0; at < labels.size(); ++at) known[labels[at]] = numbers[at];
    return true;
  }

  static constexpr Index kHighest = 1 << 24;

  LabelNumbers known;
};

auto kaldi_lattice(const nb::bytes& record, Labels& labels, const nb::callable& number,
                   const nb::list& strings, const FeatureColumns::Names& names, double lm_scale,
                   double acoustic_scale, double frame_shift) {
  using Found = std::tuple<nb::str, nb::object, nb::object, std::optional<Array<double>>>;
  KaldiRecord reader(bytes_of(record));
  const bool sound = unlocked([&](Poll& poll) { return reader.read(poll); });
  if (!sound || !labels.learn(reader.unknown(labels.known), number)) return std::optional<Found>();
  const auto words = static_cast<Index>(strings.size());
  auto made = unlocked(
      [&] { return reader.make(labels.known, words, lm_scale, acoustic_scale, frame_shift); });
  if (!made) return std::optional<Found>();
  const nb::object key = decode_text(made->key);
  if (!key.is_valid()) return std::optional<Found>();
  const auto called = nb::cast<std::string>(nb::str("lattice {!r}").format(key));
  std::optional<Array<double>> times;
  if (!made->times.empty()) times = give(std::move(made->times));
  // without a policy, a pointer is taken for somebody else's, and never freed
  constexpr auto owned = nb::rv_policy::take_ownership;
  auto* features =
      new FeatureColumns(names, std::move(made->features), std::move(made->final_features));
  return std::optional<Found>(
      Found(nb::borrow<nb::str>(key),
            nb::cast(new LatticeColumns(std::move(made->lattice), called), owned),
            nb::cast(features, owned), std::move(times)));
}

}  // namespace

void bind_kaldi(nb::module_& module) {
  nb::class_<Labels>(module, "Labels", "The numbers of labels in a vocabulary.").def(nb::init<>());
  module.def(
      "kaldi_ends",
      [](const nb::bytes& data) {
        return unlocked([&](Poll& poll) { return kaldi_ends(bytes_of(data), poll); });
      },
      "data"_a,
      "Return the places behind the lattices of an archive, as far as they are complete.");
  module.def(
      "kaldi_lattice", kaldi_lattice, "record"_a, "labels"_a, "number"_a, "strings"_a, "names"_a,
      "lm_scale"_a, "acoustic_scale"_a, "frame_shift"_a,
      nb::sig("def kaldi_lattice(record: bytes, labels: Labels, number: "
              "collections.abc.Callable[[list[int]], list[int] | None], strings: list[str], "
              "names: tuple[str, ...], lm_scale: float, acoustic_scale: float, frame_shift: float) "
              "-> tuple[str, LatticeColumns, FeatureColumns, Annotated[NDArray[numpy."
              "float64], dict(shape=(None,), writable=False)] | None] | None"),
      "Return key, columns, features and times of a lattice; None if anything is unusual.\n"
      "`number` gives the numbers of labels not met before, or None if one has none.");
}

}  // namespace lattices
