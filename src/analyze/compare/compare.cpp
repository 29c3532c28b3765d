#include "analyze/compare/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/json.h"
#include "core/text.h"
#include "metric/catalogue.h"

namespace corral::analyze {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kMostSetUp = 50;  // differences of a pair
constexpr std::size_t kMostMeans = 10;
constexpr double kMostChance = 0.05;
constexpr double kClearChange = 0.05;  // share of the greater side; smaller changes explain nothing
constexpr std::size_t kMostMentioned = 3;
constexpr double kMentionedPart = 0.2;  // share of the whole difference
constexpr std::size_t kUnevenly = 3;    // times as many values
constexpr double kStall = 10;           // times the median step
constexpr std::string_view kMarginTag = "corral.margin";

constexpr auto kResources = std::to_array<std::string_view>({
    "cgroup.cpu.throttled",
    "cgroup.memory.used",
    "host.cpu.busy",
    "host.cpu.steal",
    "host.disk.busy",
    "host.gpu.busy",
    "host.gpu.dram.active",
    "host.gpu.power",
    "host.gpu.sm.active",
    "run.cpu.used",
    "run.io.read_block_bytes",
    "run.io.write_block_bytes",
    "run.memory.rss",
});

std::vector<double> logs_of(const ComparedGroup& group) {
  std::vector<double> logs;
  for (const UnitValue& unit : group.units)
    if (unit.value) logs.push_back(std::log(*unit.value));
  return logs;
}

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }

// ---- one group

void warn_of_lost(ComparedGroup& group) {
  std::map<std::string, std::size_t> reasons;
  for (const UnitValue& unit : group.units)
    if (!unit.value && !unit.missed_s) ++reasons[unit.reason];
  for (const auto& [reason, count] : reasons)
    group.warnings.push_back(
        fmt::format("{} of {} do not count: {}.", count, group.units.size(), reason));
}

std::set<std::string> hosts_of(const ComparedGroup& group) {
  std::set<std::string> hosts;
  for (const UnitValue& unit : group.units)
    for (const UnitRun& run : unit.runs) hosts.insert(run.host);
  return hosts;
}

void warn_of_runs(ComparedGroup& group) {
  std::size_t unsteady = 0, beside = 0, uncaptured = 0, unknown_ends = 0;
  std::string example;
  double stall = 0;
  for (const UnitValue& unit : group.units) {
    if (!unit.value) continue;
    stall = std::max(stall, unit.stall);
    beside += unit.beside > 0;
    unsteady +=
        std::ranges::any_of(unit.runs, [](const UnitRun& run) { return !run.unsteady.empty(); });
    unknown_ends += std::ranges::any_of(unit.runs, &UnitRun::unknown_end);
    for (const UnitRun& run : unit.runs) {
      if (run.uncaptured.empty()) continue;
      ++uncaptured;
      example = run.uncaptured;
    }
  }
  if (const auto hosts = hosts_of(group); hosts.size() > 1)
    group.warnings.push_back(
        fmt::format("Its runs were on {} hosts: {}.", hosts.size(),
                    printable(join(std::vector<std::string>(hosts.begin(), hosts.end()), ", "))));
  if (unsteady > 0)
    group.warnings.push_back(fmt::format("{} of {} had no steady part: all of their time counts.",
                                         unsteady, group.counted));
  if (unknown_ends > 0)
    group.warnings.push_back(
        fmt::format("{} of {} were imported and their end is unknown: they count as if they had "
                    "finished.",
                    unknown_ends, group.counted));
  if (beside > 0)
    group.warnings.push_back(fmt::format(
        "{} of {} shared the machine with runs of their workload that are not in the group.",
        beside, group.counted));
  if (uncaptured > 0)
    group.warnings.push_back(fmt::format("{} of its runs lack a part of the capture, such as {}.",
                                         uncaptured, printable(example)));
  if (stall >= kStall)
    group.warnings.push_back(fmt::format(
        "Its longest step took {:.3g} × the median one: intervals assume no rare stalls.", stall));
}

std::string first_unit(const std::vector<ComparedGroup>& groups) {
  for (const ComparedGroup& group : groups)
    for (const UnitValue& one : group.units)
      if (one.value) return one.unit;
  return "";
}

void summarize_group(ComparedGroup& group) {
  double sum = 0;
  for (const UnitValue& unit : group.units) {
    group.missed += unit.missed_s.has_value();
    if (!unit.value) continue;
    ++group.counted;
    sum += std::log(*unit.value);
    group.least = std::min(group.least.value_or(*unit.value), *unit.value);
    group.most = std::max(group.most.value_or(*unit.value), *unit.value);
    if (group.unit.empty()) group.unit = unit.unit;
  }
  if (group.counted > 0) group.mean = std::exp(sum / static_cast<double>(group.counted));
  warn_of_lost(group);
  warn_of_runs(group);
}

// ---- why

using PartsByType = std::map<std::string, PartDifference>;

// Adds the means of the units that count. False: a unit has no parts, or none counts.
bool add_parts(const ComparedGroup& group, double PartDifference::*side, PartsByType& parts) {
  for (const UnitValue& unit : group.units) {
    if (!unit.value) continue;
    if (unit.parts.empty()) return false;
    for (const TimePerStep& part : unit.parts) {
      PartDifference& sum = parts[part.type];
      sum.name = part.name;
      sum.type = part.type;
      sum.apart = part.apart;
      sum.*side += part.seconds / static_cast<double>(group.counted);
    }
  }
  return group.counted > 0;
}

std::vector<PartDifference> find_parts(const ComparedGroup& a, const ComparedGroup& b) {
  PartsByType all;
  if (!add_parts(a, &PartDifference::a_s, all) || !add_parts(b, &PartDifference::b_s, all))
    return {};
  std::vector<PartDifference> parts;
  for (auto& [type, part] : all) parts.push_back(std::move(part));
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const PartDifference& part) { return std::abs(part.difference()); });
  return parts;
}

using MeanKey = std::pair<std::string, std::string>;  // metric, source

struct MeanOfUnits {
  std::string unit;
  double sum = 0, least = 0, most = 0;
  std::size_t count = 0;
  void add(double mean) {
    least = count == 0 ? mean : std::min(least, mean);
    most = count == 0 ? mean : std::max(most, mean);
    sum += mean;
    ++count;
  }
};

std::map<MeanKey, MeanOfUnits> add_means(const ComparedGroup& group) {
  std::map<MeanKey, MeanOfUnits> means;
  for (const UnitValue& unit : group.units) {
    if (!unit.value) continue;
    for (const std::string_view metric : kResources)
      for (const MetricMean& mean : unit.means.all_of(metric)) {
        MeanOfUnits& of_units = means[{mean.metric, mean.source}];
        of_units.unit = mean.unit;
        of_units.add(mean.mean);
      }
  }
  std::erase_if(means, [&](const auto& entry) { return entry.second.count < group.counted; });
  return means;
}

double change(const MeanDifference& mean) {
  const double most = std::max(std::abs(mean.a), std::abs(mean.b));
  return most > 0 ? std::abs(mean.b - mean.a) / most : 0;
}

// The probability that no value of one side lies among those of the other if both are alike: two of
// all ways to choose the values of A.
double chance_of_no_overlap(std::size_t a, std::size_t b) {
  double ways = 1;
  for (std::size_t i = 1; i <= a; ++i) ways *= static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

// Those that all units have, where each of one side is above each of the other.
std::vector<MeanDifference> find_means(const ComparedGroup& a, const ComparedGroup& b) {
  if (chance_of_no_overlap(a.counted, b.counted) > kMostChance) return {};
  const auto of_a = add_means(a);
  std::vector<MeanDifference> means;
  for (const auto& [key, mean_b] : add_means(b)) {
    const auto found = of_a.find(key);
    if (found == of_a.end()) continue;
    const MeanOfUnits& mean_a = found->second;
    if (mean_a.least <= mean_b.most && mean_b.least <= mean_a.most) continue;
    means.push_back({.metric = key.first,
                     .source = key.second,
                     .unit = mean_b.unit,
                     .a = mean_a.sum / static_cast<double>(mean_a.count),
                     .b = mean_b.sum / static_cast<double>(mean_b.count)});
    if (change(means.back()) < kClearChange) means.pop_back();
  }
  std::ranges::stable_sort(means, std::ranges::greater(), change);
  means.resize(std::min(means.size(), kMostMeans));
  return means;
}

// ---- the sentence

// Near 1 with four decimals.
std::string factor(double ratio) {
  const int digits = ratio >= 1.1 || ratio <= 0.9 ? 3 : ratio >= 1 ? 5 : 4;
  return fmt::format("{:.{}g}", ratio, digits);
}

// "n = 5 and 5"
std::string count_words(const LogRatio& ratio) {
  return ratio.paired ? fmt::format("{} pair{}", ratio.a, ratio.a == 1 ? "" : "s")
                      : fmt::format("n = {} and {}", ratio.a, ratio.b);
}

// "1.27 to 1.35, n = 5 and 5"
std::string interval_words(const RatioInterval& interval, const LogRatio& ratio, bool inverse) {
  const std::string n = count_words(ratio);
  if (std::isnan(interval.low)) return n;
  return inverse
             ? fmt::format("{} to {}, {}", factor(1 / interval.high), factor(1 / interval.low), n)
             : fmt::format("{} to {}, {}", factor(interval.low), factor(interval.high), n);
}

std::string more_or_less(double seconds) {
  return (seconds < 0 ? "-" : "+") + precise_duration(std::abs(seconds));
}

// "Of +19 s per epoch, +18 s are data wait."
std::string parts_words(const GroupDifference& found, std::string_view unit) {
  double whole = 0;
  for (const PartDifference& part : found.parts) whole += part.apart ? 0 : part.difference();
  // The means of the parts add up to arithmetic means, the ratio is of geometric ones.
  if (!unit.starts_with("s/") || (whole > 0) != (found.ratio.log > 0)) return "";
  std::vector<std::string> words;
  for (const PartDifference& part : found.parts) {
    if (part.apart || words.size() == kMostMentioned) continue;
    if (std::abs(part.difference() / whole) < kMentionedPart) continue;
    words.push_back(
        fmt::format("{} are {}", more_or_less(part.difference()), printable(part.name)));
  }
  if (words.empty()) return "";
  return fmt::format(" Of {} per {}, {}.", more_or_less(whole), unit.substr(2), join(words, ", "));
}

std::string more_words(const GroupDifference& found, double margin) {
  if (!found.more || *found.more == 0) return "";
  return fmt::format(" About {} more {} would make the interval ±{}.", *found.more,
                     found.ratio.paired ? "pairs" : "on each side", percent(margin));
}

// "B is 1.31 × slower than A", "B is 1.31 × A"
std::string relation(const Comparison& all, const GroupDifference& found) {
  const std::string a = printable(all.groups.front().name), b = printable(all.groups[found.b].name);
  const double ratio = found.interval.mean;
  if (!all.less_is_better) return fmt::format("{} is {} × {}", b, factor(ratio), a);
  if (ratio == 1) return fmt::format("{} takes as long as {}", b, a);
  return ratio < 1 ? fmt::format("{} is {} × faster than {}", b, factor(1 / ratio), a)
                   : fmt::format("{} is {} × slower than {}", b, factor(ratio), a);
}

std::string sentence(const Comparison& all, const GroupDifference& found) {
  const ComparedGroup &a = all.groups.front(), &b = all.groups[found.b];
  const std::string name_a = printable(a.name), name_b = printable(b.name);
  if (a.counted == 0 || b.counted == 0)
    return fmt::format("{} and {} cannot be compared: {} has no value that counts.", name_a, name_b,
                       a.counted == 0 ? name_a : name_b);
  const bool faster =
      all.less_is_better && found.ratio.log < 0 && found.verdict != RatioVerdict::kEquivalent;
  const bool within =
      found.verdict == RatioVerdict::kEquivalent || found.verdict == RatioVerdict::kWithinMargin;
  // Two one-sided tests are an interval of twice their level.
  const double level = within ? 2 * all.confidence - 1 : all.confidence;
  const std::string inside =
      fmt::format("{:.3g} %: {}", 100 * level,
                  interval_words(interval_of(found.ratio, level), found.ratio, faster));
  const std::string says = relation(all, found);
  switch (found.verdict) {
    case RatioVerdict::kTooFew:
      return fmt::format("{} ({}), but one {} says nothing about chance.", says,
                         count_words(found.ratio), found.ratio.paired ? "pair" : "value on a side");
    case RatioVerdict::kEquivalent:
      return fmt::format("{} and {} are equivalent within {} ({}).", name_a, name_b,
                         percent(all.margin), inside);
    case RatioVerdict::kWithinMargin:
      return fmt::format("{} ({}), which is within the margin of {}.", says, inside,
                         percent(all.margin));
    case RatioVerdict::kInconclusive:
      return fmt::format("Inconclusive: {} ({}), which may be chance.{}", says, inside,
                         more_words(found, all.margin));
    case RatioVerdict::kLess:
    case RatioVerdict::kGreater:
    case RatioVerdict::kUnequal:
      break;
  }
  return fmt::format("{} ({}).{}", says, inside, parts_words(found, a.unit));
}

// ---- pairs

struct BlockPair {
  const UnitValue *a = nullptr, *b = nullptr;  // null: none with a value
};

// By block. Empty: the two were not planned as pairs, for a unit is in no block, all are in one, or
// a block has two of a side.
std::map<std::string, BlockPair> find_pairs(const ComparedGroup& a, const ComparedGroup& b) {
  std::map<std::string, BlockPair> pairs;
  for (const auto& [group, side] : {std::pair(&a, &BlockPair::a), std::pair(&b, &BlockPair::b)})
    for (const UnitValue& unit : group->units) {
      if (unit.block.empty() && !unit.value) continue;
      if (unit.block.empty()) return {};
      BlockPair& pair = pairs[unit.block];
      if (!unit.value) continue;
      if (pair.*side != nullptr) return {};
      pair.*side = &unit;
    }
  if (pairs.size() == 1) pairs.clear();
  return pairs;
}

// Some of the units that count are in blocks, others are not.
bool is_partly_in_blocks(const ComparedGroup& a, const ComparedGroup& b) {
  std::size_t inside = 0, all = 0;
  for (const ComparedGroup* group : {&a, &b})
    for (const UnitValue& unit : group->units) {
      all += unit.value.has_value();
      inside += unit.value && !unit.block.empty();
    }
  return inside > 0 && inside < all;
}

// Nothing if no block has both.
std::vector<double> logs_of_pairs(const std::map<std::string, BlockPair>& pairs) {
  std::vector<double> logs;
  for (const auto& [block, pair] : pairs)
    if (pair.a != nullptr && pair.b != nullptr)
      logs.push_back(std::log(*pair.b->value) - std::log(*pair.a->value));
  return logs;
}

// ---- times to a target

std::vector<TargetTime> target_times_of(const ComparedGroup& group) {
  std::vector<TargetTime> times;
  for (const UnitValue& unit : group.units)
    if (unit.value || unit.missed_s)
      times.push_back({.seconds = unit.value ? *unit.value : *unit.missed_s,
                       .reached = unit.value.has_value(),
                       .name = unit.name});
  return times;
}

// By ranks alone: means follow a few times that are far from the others.
RatioVerdict judge_times(const TargetDifference& found, double p, std::size_t family) {
  if (!found.problem.empty()) return RatioVerdict::kUnequal;
  if (found.reached_a + found.reached_b == 0) return RatioVerdict::kInconclusive;
  if (found.least_p * static_cast<double>(family) >= kSignificant) return RatioVerdict::kTooFew;
  if (p >= kSignificant) return RatioVerdict::kInconclusive;
  return found.later < 0 ? RatioVerdict::kLess : RatioVerdict::kGreater;
}

// "b: 5 of 5 in 5.2 min; a: 4 of 5 in 6.1 min on average, misses counted as 6.7 min"
std::string times_words(const Comparison& all, const GroupDifference& found) {
  const TargetDifference& times = *found.target;
  std::string words =
      fmt::format("{}: {} of {} in {}; {}: {} of {} in {} on average",
                  printable(all.groups[found.b].name), times.reached_b, times.b,
                  precise_duration(times.mean_b_s), printable(all.groups.front().name),
                  times.reached_a, times.a, precise_duration(times.mean_a_s));
  if (times.reached_a < times.a || times.reached_b < times.b)
    words += fmt::format(", misses counted as {}", precise_duration(times.budget_s));
  return words;
}

std::string target_sentence(const Comparison& all, const GroupDifference& found) {
  const std::string a = printable(all.groups.front().name), b = printable(all.groups[found.b].name);
  if (!found.target) return fmt::format("{} and {} cannot be compared: a side has no times.", a, b);
  const TargetDifference& times = *found.target;
  if (times.reached_a + times.reached_b == 0)
    return fmt::format("No run of {} or {} reached the target.", a, b);
  const std::string p = fmt::format("p = {:.2g}", found.adjusted.different);
  const std::string words = times_words(all, found);
  switch (found.verdict) {
    case RatioVerdict::kUnequal:
      return "No verdict: " + times.problem;
    case RatioVerdict::kTooFew:
      return fmt::format(
          "{} against {} runs cannot show a difference at 5 %{}, whatever their times are. {}.",
          times.b, times.a, all.family > 1 ? fmt::format(" among {} comparisons", all.family) : "",
          words);
    case RatioVerdict::kLess:
    case RatioVerdict::kGreater: {
      const bool sooner = found.verdict == RatioVerdict::kLess;
      const bool opposed = sooner != (times.mean_b_s < times.mean_a_s);
      return fmt::format("{} reaches it {} than {} ({}){}. {}.", b, sooner ? "sooner" : "later", a,
                         p, opposed ? ", although not on average" : "", words);
    }
    default:
      break;
  }
  return fmt::format("Inconclusive: the difference may be chance ({}). {}.", p, words);
}

// ---- all of it

GroupDifference compare_times_with_first(const std::vector<ComparedGroup>& groups, std::size_t b) {
  GroupDifference found;
  found.b = b;
  found.interval = interval_of(found.ratio, kConfidence);
  const auto times_a = target_times_of(groups.front()), times_b = target_times_of(groups[b]);
  if (times_a.empty() || times_b.empty()) return found;
  found.target = compare_times(times_a, times_b);
  found.tests.different = found.adjusted.different = found.target->p;
  return found;
}

GroupDifference compare_with_first(const std::vector<ComparedGroup>& groups, std::size_t b,
                                   double margin) {
  GroupDifference found;
  found.b = b;
  const auto pairs = find_pairs(groups.front(), groups[b]);
  const std::vector<double> logs = logs_of_pairs(pairs);
  found.ratio = logs.empty() ? log_ratio_of_groups(logs_of(groups.front()), logs_of(groups[b]))
                             : log_ratio_of_pairs(logs);
  if (is_partly_in_blocks(groups.front(), groups[b]))
    found.warnings.emplace_back("Some runs are in no block of a plan: no pairs are compared.");
  if (!logs.empty() && logs.size() < pairs.size())
    found.warnings.push_back(
        fmt::format("{} of {} blocks have a value of both: the others do not count.", logs.size(),
                    pairs.size()));
  found.tests = found.adjusted = test_ratio(found.ratio, margin);
  found.parts = find_parts(groups.front(), groups[b]);
  found.means = find_means(groups.front(), groups[b]);
  return found;
}

// The units of each side that an interval as wide as the margin still lacks.
std::optional<std::size_t> units_lacking(const LogRatio& ratio, const Comparison& all) {
  const auto wanted = values_for_width(ratio, all.margin, all.confidence);
  if (!wanted) return std::nullopt;
  return *wanted - std::min(*wanted, std::min(ratio.a, ratio.b));
}

void warn_of_difference(const std::vector<ComparedGroup>& groups, GroupDifference& found) {
  const ComparedGroup &a = groups.front(), &b = groups[found.b];
  if (hosts_of(a) != hosts_of(b))
    found.warnings.emplace_back("The two did not run on the same hosts.");
  const auto [few, many] = std::minmax(a.counted, b.counted);
  if (!found.ratio.paired && few >= 2 && many >= kUnevenly * few)
    found.warnings.emplace_back(
        "One side has many more values than the other: the interval is then too narrow.");
}

// The family are the comparisons that can be judged.
void judge_all_ratios(Comparison& all) {
  std::vector<RatioTests> family;
  std::vector<std::size_t> judged;
  for (std::size_t b = 1; b < all.groups.size(); ++b) {
    all.differences.push_back(compare_with_first(all.groups, b, all.margin));
    if (!(all.differences.back().ratio.error >= 0)) continue;
    family.push_back(all.differences.back().tests);
    judged.push_back(b - 1);
  }
  const std::vector<RatioTests> adjusted = adjust_family(family);
  for (std::size_t i = 0; i < judged.size(); ++i) all.differences[judged[i]].adjusted = adjusted[i];
  all.family = family.size();
  all.confidence =
      1 - (1 - kConfidence) / static_cast<double>(std::max<std::size_t>(1, family.size()));
  for (GroupDifference& found : all.differences) {
    found.interval = interval_of(found.ratio, all.confidence);
    found.more = units_lacking(found.ratio, all);
    found.verdict = judge_ratio(found.ratio, found.adjusted);
    found.text = sentence(all, found);
  }
  for (ComparedGroup& group : all.groups)
    if (group.counted == 2)
      group.warnings.emplace_back("Two values make a very uncertain interval.");
}

void judge_all_times(Comparison& all) {
  std::vector<double> family;
  std::vector<std::size_t> judged;
  for (ComparedGroup& group : all.groups) group.mean.reset();
  for (std::size_t b = 1; b < all.groups.size(); ++b) {
    all.differences.push_back(compare_times_with_first(all.groups, b));
    const auto& target = all.differences.back().target;
    if (!target || !target->problem.empty()) continue;
    family.push_back(target->p);
    judged.push_back(b - 1);
  }
  const std::vector<double> adjusted = adjust_by_holm(family);
  for (std::size_t i = 0; i < judged.size(); ++i)
    all.differences[judged[i]].adjusted.different = adjusted[i];
  all.family = family.size();
  for (GroupDifference& found : all.differences) {
    if (found.target)
      found.verdict = judge_times(*found.target, found.adjusted.different, all.family);
    found.text = target_sentence(all, found);
  }
}

Result<> check_groups(std::span<const GroupRuns> groups) {
  if (groups.size() < 2)
    return fail(Code::kInvalidArgument, "a comparison needs two groups or more");
  std::set<RunId> seen;
  for (const GroupRuns& group : groups) {
    if (group.runs.empty())
      return fail(Code::kInvalidArgument,
                  fmt::format("the group '{}' has no runs", printable(group.name)));
    for (const store::Run& run : group.runs)
      if (!seen.insert(run.id).second)
        return fail(Code::kInvalidArgument, fmt::format("run {} ('{}') is in two groups",
                                                        run.id.hex(), printable(run.name)));
  }
  return {};
}

// The margin of a tag that the run was started with: "2%" or "0.02".
std::optional<double> planned_margin(const store::Run& run) {
  const auto given = std::ranges::find(run.info, std::string("given.tags"),
                                       [](const auto& fact) { return fact.first; });
  const auto names = given != run.info.end() ? Json::parse(given->second) : Json();
  const std::string* lines = names ? names->as_string() : nullptr;
  if (lines == nullptr) return std::nullopt;
  const auto tags = split(*lines, '\n');
  if (std::ranges::find(tags, kMarginTag) == tags.end()) return std::nullopt;
  for (const auto& [key, value] : run.tags) {
    if (key == kMarginTag) return parse_share(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> planned_margin_of_all(std::span<const GroupRuns> groups) {
  std::optional<double> common;
  for (const GroupRuns& group : groups)
    for (const store::Run& run : group.runs) {
      const auto planned = planned_margin(run);
      const bool possible = planned && *planned > 0 && *planned < 1;
      if (!possible || (common && !(std::abs(*planned - *common) <= 1e-9))) return std::nullopt;
      common = planned;
    }
  return common;
}

std::span<const std::string_view> compared_metrics() { return kResources; }

Comparison judge_groups(std::vector<ComparedGroup> groups, const CompareOptions& options) {
  Comparison all;
  all.value = describe(options.value);
  all.less_is_better = options.value.kind != ComparedValue::Kind::kMetric;
  const bool to_target = options.value.kind == ComparedValue::Kind::kTarget;
  all.margin = to_target ? LogRatio::kNone : options.margin.value_or(kUsualMargin);
  const std::string unit = first_unit(groups);
  for (ComparedGroup& group : groups) {
    for (UnitValue& one : group.units) drop_other_unit(one, unit);
    summarize_group(group);
  }
  if (unit == "s/epoch") all.value = "time per epoch";
  all.groups = std::move(groups);
  to_target ? judge_all_times(all) : judge_all_ratios(all);
  for (GroupDifference& found : all.differences) warn_of_difference(all.groups, found);
  return all;
}

Result<Comparison> compare_groups(const store::Reader& store, std::span<const GroupRuns> groups,
                                  const CompareOptions& options) {
  TRY(check_groups(groups));
  std::vector<ComparedGroup> compared;
  const UnitOptions reading{.value = options.value, .means = kResources, .left = options.left};
  for (const GroupRuns& group : groups) {
    ComparedGroup one;
    one.name = group.name;
    one.units = TRY(read_units(store, group.runs, reading));
    compared.push_back(std::move(one));
  }
  const std::optional<double> planned = planned_margin_of_all(groups);
  CompareOptions judging = options;
  if (!judging.margin) judging.margin = planned;
  Comparison all = judge_groups(std::move(compared), judging);
  all.planned = planned && std::abs(*planned - all.margin) <= 1e-9;
  std::vector<SetUp> of_all = read_set_ups(groups.front().runs);
  const std::vector<SetUp> of_first = of_all;
  for (GroupDifference& found : all.differences) {
    TRY(check_waiting(options.left));
    const std::vector<SetUp> of_b = read_set_ups(groups[found.b].runs);
    found.set_up = find_set_up_differences(of_first, of_b);
    of_all.insert(of_all.end(), of_b.begin(), of_b.end());
    if (found.set_up.size() > kMostSetUp) {
      found.set_up_left_out = found.set_up.size() - kMostSetUp;
      found.set_up.resize(kMostSetUp);
    }
  }
  all.set_up = find_common_set_up(of_all);
  return all;
}

}  // namespace corral::analyze
