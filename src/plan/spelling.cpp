#include "plan/spelling.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::plan {
namespace {

// Longer words are not a misspelling of a known one, and the distance is quadratic.
constexpr std::size_t kLongest = 40;

// Letters in another order, as in "gird", are one mistake and not two.
std::size_t misspelling_distance(const std::string& a, const std::string& b) {
  const std::size_t distance = edit_distance(a, b);
  return distance == 2 && std::ranges::is_permutation(a, b) ? 1 : distance;
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongest) return {};
  const std::string low = lower_ascii(word);
  std::string_view best;
  std::size_t least = word.size() > 4 ? 3 : 2;
  for (const std::string_view candidate : known) {
    const std::size_t distance = misspelling_distance(lower_ascii(candidate), low);
    if (distance >= least || distance >= candidate.size()) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

std::string suggest(std::string_view word, std::span<const std::string_view> known,
                    std::string_view otherwise) {
  const std::string_view near = nearest_word(word, known);
  return near.empty() ? std::string(otherwise) : fmt::format("did you mean {}?", near);
}

std::string suggest(std::string_view word, std::span<const std::string_view> known) {
  std::string all = "there are ";
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i > 0) all += ", ";
    all += known[i];
  }
  return suggest(word, known, all);
}

}  // namespace corral::plan
