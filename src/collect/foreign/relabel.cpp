#include "collect/foreign/relabel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace corral::collect::foreign {
namespace {

// Names that were decided; an endpoint with more is asked about again and again.
constexpr std::size_t kNames = 16384;

bool any_matches(const std::vector<std::unique_ptr<const re2::RE2>>& patterns,
                 std::string_view name) {
  return std::ranges::any_of(patterns,
                             [&](const auto& p) { return re2::RE2::FullMatch(piece(name), *p); });
}

std::string join_labels(const ExpositionSample& sample, const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& wanted : labels) {
    const auto found = std::ranges::find(sample.labels, wanted, &Label::name);
    if (found == sample.labels.end() || found->value.empty()) continue;
    if (!text.empty()) text += ',';
    text.append(found->name).append("=").append(found->value);
  }
  return text;
}

// The same for the same name and labels, in any order; a label without a value is none.
std::string series_identity(const ExpositionSample& sample) {
  std::vector<std::string> parts;
  for (const Label& label : sample.labels) {
    if (!label.value.empty()) parts.push_back(std::string(label.name) + '\0' + label.value);
  }
  std::ranges::sort(parts);
  std::string identity(sample.name);
  for (const std::string& part : parts) identity.append(1, '\0').append(part);
  return identity;
}

// Every label, the one with the longest values first.
std::vector<std::string> longest_first(std::span<const ExpositionSample> samples) {
  std::map<std::string_view, std::size_t> bytes;
  for (const ExpositionSample& sample : samples) {
    for (const Label& label : sample.labels)
      bytes[label.name] = std::max(bytes[label.name], label.value.size());
  }
  std::vector<std::string> labels;
  labels.reserve(bytes.size());
  for (const auto& [name, size] : bytes) labels.emplace_back(name);
  std::ranges::stable_sort(labels, std::greater<>(),
                           [&](const std::string& name) { return bytes.at(name); });
  return labels;
}

}  // namespace

Relabel::Relabel(PrometheusSource source) : source_(std::move(source)), labels_(source_.labels) {}

Result<Relabel> Relabel::create(const PrometheusSource& source) {
  Relabel relabel(source);
  for (const std::string& pattern : source.keep)
    relabel.keep_.push_back(TRY(compile_pattern(pattern)));
  for (const std::string& pattern : source.drop)
    relabel.drop_.push_back(TRY(compile_pattern(pattern)));
  return relabel;
}

std::string Relabel::decide(std::string_view name) const {
  if (!keep_.empty() && !any_matches(keep_, name)) return "";
  if (any_matches(drop_, name)) return "";
  for (const auto& [from, to] : source_.rename) {
    if (from == name) return to;
  }
  return source_.prefix + std::string(name);
}

std::string_view Relabel::name(std::string_view name) {
  std::string key(name);
  if (const auto found = names_.find(key); found != names_.end()) return found->second;
  if (names_.size() >= kNames) names_.clear();
  std::string decided = decide(name);
  return names_.emplace(std::move(key), std::move(decided)).first->second;
}

bool Relabel::tells_apart(std::span<const ExpositionSample> samples,
                          const std::vector<std::string>& labels) {
  std::unordered_map<std::string, std::string> seen;  // identity of the series behind a source
  return std::ranges::all_of(samples, [&](const ExpositionSample& sample) {
    std::string key = std::string(name(sample.name)) + '\0' + join_labels(sample, labels);
    std::string identity = series_identity(sample);
    const auto [known, fresh] = seen.try_emplace(std::move(key), identity);
    return fresh || known->second == identity;
  });
}

void Relabel::choose(std::span<const ExpositionSample> samples) {
  if (!source_.labels.empty() || tells_apart(samples, labels_)) return;
  std::vector<std::string> all = longest_first(samples);
  // Those already in use stay, so that series go on.
  for (std::size_t i = 0; i < all.size();) {
    std::vector<std::string> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const bool used = std::ranges::find(labels_, all[i]) != labels_.end();
    if (!used && tells_apart(samples, fewer)) {
      all = std::move(fewer);
    } else {
      ++i;
    }
  }
  std::ranges::reverse(all);
  labels_ = std::move(all);
}

std::string Relabel::source(const ExpositionSample& sample) const {
  return join_labels(sample, labels_);
}

Repeated Relabel::drop_repeated(std::vector<ExpositionSample>& samples) {
  struct First {
    std::string identity;
    std::set<std::optional<std::int64_t>> times;
  };
  std::unordered_map<std::string, First> series;
  Repeated dropped;
  std::erase_if(samples, [&](const ExpositionSample& sample) {
    std::string identity = series_identity(sample);
    std::string key = std::string(name(sample.name)) + '\0' + source(sample);
    First& first = series.try_emplace(std::move(key), First{identity, {}}).first->second;
    const bool merged = first.identity != identity;
    if (!merged && first.times.insert(sample.time_ms).second) return false;
    auto& [count, example] = merged ? dropped.merged : dropped.twice;
    if (count++ == 0) example = sample.name;
    return true;
  });
  return dropped;
}

}  // namespace corral::collect::foreign
