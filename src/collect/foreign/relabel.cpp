#include "collect/foreign/relabel.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

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
                          const std::vector<std::string>& labels) const {
  std::unordered_set<std::string> seen;
  return std::ranges::all_of(samples, [&](const ExpositionSample& sample) {
    const std::string source = join_labels(sample, labels);
    return seen.insert(std::string(sample.name) + '\0' + source).second;
  });
}

void Relabel::choose(std::span<const ExpositionSample> samples) {
  if (!source_.labels.empty() || tells_apart(samples, labels_)) return;
  std::vector<std::string> all = longest_first(samples);
  if (!tells_apart(samples, all)) return;  // the endpoint says the same series twice
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

}  // namespace corral::collect::foreign
