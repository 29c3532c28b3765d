#include "analyze/phase_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace corral::analyze {
namespace {

using store::page::PhaseSpan;
using store::page::PhaseWindow;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The paths of a run's phases as a tree: a node is a lane, the node of the parent, and a name.
class Paths {
 public:
  explicit Paths(std::span<const PhaseSpan> phases)
      : phases_(phases), nodes_of_(phases.size(), kNone) {
    places_.reserve(phases.size());
    for (std::size_t i = 0; i < phases.size(); ++i)
      places_.emplace(Key{phases[i].session, phases[i].id}, i);
  }

  // The node of a phase; walks up to the first parent whose node is known.
  std::size_t node_of(std::size_t phase) {
    std::vector<std::size_t> chain;
    std::size_t at = phase;
    while (at != kNone && nodes_of_[at] == kNone && chain.size() < kMostPathNames) {
      chain.push_back(at);
      at = parent_of(at);
    }
    std::size_t node = at == kNone ? kNone : nodes_of_[at];
    for (auto next = chain.rbegin(); next != chain.rend(); ++next) {
      if (nodes_of_[*next] == kNone) nodes_of_[*next] = child_of(node, phases_[*next]);
      node = nodes_of_[*next];
    }
    return node;
  }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::string lane_of(std::size_t node) const {
    return std::string(nodes_[node].lane);
  }
  [[nodiscard]] std::vector<std::string> path_of(std::size_t node) const {
    std::vector<std::string> path;
    for (std::size_t at = node; at != kNone; at = nodes_[at].parent)
      path.emplace_back(nodes_[at].name);
    std::ranges::reverse(path);
    return path;
  }

 private:
  struct Key {
    std::int64_t session;
    std::uint64_t id;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.id * 0x9E3779B97F4A7C15U +
                                        static_cast<std::uint64_t>(key.session));
    }
  };
  struct Node {
    std::string_view lane;
    std::size_t parent;
    std::string_view name;
    std::size_t depth;
  };

  [[nodiscard]] std::size_t parent_of(std::size_t phase) const {
    const PhaseSpan& span = phases_[phase];
    if (span.parent == 0) return kNone;
    const auto found = places_.find(Key{span.session, span.parent});
    return found == places_.end() ? kNone : found->second;
  }
  std::size_t child_of(std::size_t parent, const PhaseSpan& phase) {
    if (parent != kNone && nodes_[parent].depth >= kMostPathNames) parent = kNone;
    const auto [found, fresh] = children_.try_emplace(
        std::tuple(std::string_view(phase.lane), parent, std::string_view(phase.name)),
        nodes_.size());
    if (fresh) {
      const std::size_t depth = parent == kNone ? 1 : nodes_[parent].depth + 1;
      nodes_.push_back({.lane = phase.lane, .parent = parent, .name = phase.name, .depth = depth});
    }
    return found->second;
  }

  const std::span<const PhaseSpan> phases_;
  std::vector<std::size_t> nodes_of_;  // by phase
  std::unordered_map<Key, std::size_t, KeyHash> places_;
  std::vector<Node> nodes_;
  std::map<std::tuple<std::string_view, std::size_t, std::string_view>, std::size_t> children_;
};

bool lies_in(const PhaseSpan& phase, const PhaseWindow& window) {
  if (phase.start >= window.to) return false;
  return !phase.end || *phase.end > window.from || phase.start >= window.from;
}

// Welford's mean and sum of squared differences, kept in the fields of the answer until the end.
class Figures {
 public:
  void add(const PhaseSpan& phase, const PhaseWindow& window) {
    ++figures_.count;
    const UtcTime end = phase.end.value_or(window.to);
    figures_.total +=
        std::max(Nanos(0), std::min(end, window.to) - std::max(phase.start, window.from));
    if (!phase.end) {
      ++figures_.open;
      return;
    }
    const double length = seconds(*phase.end - phase.start);
    const bool first = figures_.ended++ == 0;
    figures_.min_s = first ? length : std::min(figures_.min_s, length);
    figures_.max_s = first ? length : std::max(figures_.max_s, length);
    const double before = length - figures_.mean_s;
    figures_.mean_s += before / static_cast<double>(figures_.ended);
    squares_ += before * (length - figures_.mean_s);
  }
  PathStatistics finish() {
    if (figures_.ended > 1)
      figures_.deviation_s = std::sqrt(squares_ / static_cast<double>(figures_.ended - 1));
    return std::move(figures_);
  }
  [[nodiscard]] bool empty() const { return figures_.count == 0; }

 private:
  PathStatistics figures_;
  double squares_ = 0;
};

}  // namespace

std::vector<PathStatistics> phase_statistics(std::span<const PhaseSpan> phases,
                                             const PhaseWindow& window) {
  Paths paths(phases);
  std::vector<Figures> figures;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (!lies_in(phases[i], window)) continue;
    const std::size_t node = paths.node_of(i);
    if (figures.size() < paths.size()) figures.resize(paths.size());
    figures[node].add(phases[i], window);
  }
  std::vector<PathStatistics> all;
  for (std::size_t node = 0; node < figures.size(); ++node) {
    if (figures[node].empty()) continue;  // a parent whose time lies elsewhere
    PathStatistics one = figures[node].finish();
    one.lane = paths.lane_of(node);
    one.path = paths.path_of(node);
    all.push_back(std::move(one));
  }
  std::ranges::sort(all, [](const PathStatistics& a, const PathStatistics& b) {
    return std::tie(b.total, a.lane, a.path) < std::tie(a.total, b.lane, b.path);
  });
  return all;
}

}  // namespace corral::analyze
