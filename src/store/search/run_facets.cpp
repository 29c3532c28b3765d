#include "store/search/run_facets.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace corral::store::tracking {
namespace {

using Kind = RunField::Kind;
using Counts = std::unordered_map<std::string_view, std::int64_t>;

// The choices of the field itself.
Misses own_of(const RunQuestion& question, const RunField& field) {
  Misses own = 0;
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    if (question.choices[i].field == field) own |= miss_of(i);
  }
  return own;
}

Facet facet_of(RunField field, const Counts& counts, std::size_t most) {
  Facet facet{.field = std::move(field), .values = {}, .distinct = 0};
  facet.distinct = static_cast<std::int64_t>(counts.size());
  std::vector<std::pair<std::string_view, std::int64_t>> all(counts.begin(), counts.end());
  const auto before = [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  const std::size_t kept = std::min(most, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), before);
  for (std::size_t i = 0; i < kept; ++i)
    facet.values.push_back({std::string(all[i].first), all[i].second});
  return facet;
}

class FacetCount {
 public:
  FacetCount(RunTable& table, const RunQuestion& question, const std::vector<Misses>& misses)
      : table_(table), question_(question), misses_(misses) {}

  Result<Facet> field(const RunField& field) {
    const auto& texts = *TRY(table_.texts(field));
    const Misses own = own_of(question_, field);
    Counts counts;
    for (std::size_t row = 0; row < texts.size(); ++row) {
      if ((misses_[row] & ~own) == 0) ++counts[texts[row]];
    }
    return facet_of(field, counts, kMostFacetValues);
  }

  Result<std::vector<Facet>> keys(Fact kind) {
    struct Counted {
      Facet facet;
      std::int64_t runs = 0;  // runs that have the key
    };
    std::vector<Counted> all;
    for (const auto& [name, column] : *TRY(table_.facts())) {
      if (name.first != kind) continue;
      RunField field{.kind = kind == Fact::kTag ? Kind::kTag : Kind::kParam, .key = name.second};
      Counted one;
      const Counts counts = counts_of(field, column, one.runs);
      if (one.runs == 0) continue;
      one.facet = facet_of(std::move(field), counts, kMostFacetValuesOfKey);
      all.push_back(std::move(one));
    }
    std::ranges::stable_sort(all, std::greater{}, &Counted::runs);
    std::vector<Facet> facets;
    facets.reserve(all.size());
    for (Counted& one : all) facets.push_back(std::move(one.facet));
    return facets;
  }

 private:
  Counts counts_of(const RunField& field, const RunTable::FactColumn& column, std::int64_t& runs) {
    const Misses own = own_of(question_, field);
    Counts counts;
    for (const auto& [row, value] : column) {
      if ((misses_[row] & ~own) != 0) continue;
      ++counts[value];
      ++runs;
    }
    if (counts.empty()) return counts;
    const auto unset =
        std::ranges::count_if(misses_, [&](Misses m) { return (m & ~own) == 0; }) - runs;
    if (unset > 0) counts[""] += unset;
    return counts;
  }

  RunTable& table_;
  const RunQuestion& question_;
  const std::vector<Misses>& misses_;
};

bool cut(const std::vector<Facet>& facets) {
  return std::ranges::any_of(facets, [](const Facet& facet) {
    return facet.distinct > static_cast<std::int64_t>(facet.values.size());
  });
}

}  // namespace

Result<> count_facets(RunTable& table, const RunQuestion& question,
                      const std::vector<Misses>& misses, FoundRuns& found) {
  FacetCount count(table, question, misses);
  for (const RunField& field : question.facets) found.facets.push_back(TRY(count.field(field)));
  if (question.param_facets) found.params = TRY(count.keys(Fact::kParam));
  if (question.tag_facets) found.tags = TRY(count.keys(Fact::kTag));
  for (auto* keys : {&found.params, &found.tags}) {
    if (keys->size() <= kMostFacetKeys) continue;
    keys->resize(kMostFacetKeys);
    found.facets_cut = true;
  }
  found.facets_cut = found.facets_cut || cut(found.facets) || cut(found.params) || cut(found.tags);
  return {};
}

}  // namespace corral::store::tracking
