#include "plan/cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "core/text.h"
#include "plan/mig.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

constexpr int kMostRepeats = 10'000;

// "a=1;b=2" -> each part to `take`; the first refusal ends it.
using TakePair = std::function<Verdict(std::string_view key, std::string_view value)>;
Verdict each_pair(std::string_view text, const TakePair& take) {
  for (const std::string_view part : split(text, ';')) {
    if (trim(part).empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view key = trim(part.substr(0, equals));
    if (equals == std::string_view::npos || key.empty())
      return Refusal{fmt::format("'{}' is not key=value", trim(part)),
                     "join pairs by semicolons: a=1;b=2"};
    if (auto refused = take(key, trim(part.substr(equals + 1)))) return refused;
  }
  return std::nullopt;
}

template <std::size_t N>
Refusal unknown_key(std::string_view key, const std::array<std::string_view, N>& known) {
  return {fmt::format("unknown key '{}'", key), suggest(key, known)};
}

std::optional<std::int64_t> positive(std::string_view text) {
  const auto number = parse_int(text);
  return number && *number > 0 ? number : std::nullopt;
}
// Bytes above 0.
std::optional<std::int64_t> some_bytes(std::string_view text) {
  const auto bytes = parse_bytes(text);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}
Refusal no_bytes() { return {"not an amount of memory", "such as 512M or 16G"}; }

Verdict take_mps(std::string_view key, std::string_view value, Share& share) {
  constexpr std::array<std::string_view, 3> kKeys = {"threads", "memory", "priority"};
  if (key == "threads") {
    const auto percent =
        parse_int(value.ends_with('%') ? value.substr(0, value.size() - 1) : value);
    if (!percent || *percent < 1 || *percent > 100)
      return Refusal{"the share of threads is a percentage, 1 to 100"};
    share.mps_threads_percent = static_cast<int>(*percent);
    return std::nullopt;
  }
  if (key == "memory") {
    share.mps_memory_bytes = some_bytes(value);
    return share.mps_memory_bytes ? Verdict() : no_bytes();
  }
  if (key == "priority") {
    if (value != "0" && value != "1")
      return Refusal{"the priority is 0 (normal) or 1 (below normal)"};
    share.mps_priority = value == "1" ? 1 : 0;
    return std::nullopt;
  }
  return unknown_key(key, kKeys);
}

Verdict read_mps(std::string_view rest, Share& share) {
  share.sharing = Sharing::kMps;
  if (rest.empty()) return std::nullopt;
  if (rest.front() == '=') return take_mps("threads", trim(rest.substr(1)), share);
  return each_pair(rest.substr(1), [&](std::string_view key, std::string_view value) {
    return take_mps(key, value, share);
  });
}

Refusal no_collocation(std::string_view word) {
  std::vector<std::string_view> known = {"naive", "timeslicing", "mps"};
  for (const MigTable& table : published_tables()) {
    for (const MigProfile& profile : table.profiles) known.push_back(profile.name);
  }
  std::string advice = suggest(word, known, "");
  if (advice.empty()) advice = "expected -, naive, timeslicing, mps or MIG profiles, e.g. 3g.20gb";
  return {"unknown way of sharing", std::move(advice)};
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}
bool is_device(std::string_view word) {
  if (is_digits(word)) return word.size() <= 4;
  const std::string low = lower_ascii(word);
  if (low.starts_with("gpu-") || low.starts_with("mig-")) return word.size() > 8;
  // PCI: [domain:]bus:device.function
  return low.find(':') != std::string::npos &&
         low.find_first_not_of("0123456789abcdef:.") == std::string::npos;
}

// "0-3" or "5" to the list; false: neither.
bool take_range(std::string_view text, std::vector<int>& cpus) {
  constexpr std::int64_t kMostCpus = 8192;
  const std::size_t dash = text.find('-');
  const auto from = parse_int(trim(text.substr(0, dash)));
  const auto to = dash == std::string_view::npos ? from : parse_int(trim(text.substr(dash + 1)));
  if (!from || !to || *from < 0 || *to < *from || *to >= kMostCpus) return false;
  for (std::int64_t cpu = *from; cpu <= *to; ++cpu) cpus.push_back(static_cast<int>(cpu));
  return true;
}
Verdict take_cpu_set(std::string_view text, Share& share) {
  std::string joined(text);
  std::ranges::replace(joined, ',', '+');
  for (const std::string_view part : split(joined, '+')) {
    if (!take_range(trim(part), share.cpus))
      return Refusal{fmt::format("'{}' is neither a CPU nor a range of CPUs", trim(part)),
                     "such as 0-3 or 0-3+8-11"};
  }
  std::ranges::sort(share.cpus);
  share.cpus.erase(std::unique(share.cpus.begin(), share.cpus.end()), share.cpus.end());
  return std::nullopt;
}
Verdict take_cpu_option(std::string_view key, std::string_view value, Share& share) {
  constexpr std::array<std::string_view, 4> kKeys = {"cpus", "count", "node", "smt"};
  if (key == "cpus") return take_cpu_set(value, share);
  if (key == "count" || key == "node") {
    const auto number = parse_int(value);
    if (!number || *number < (key == "count" ? 1 : 0) || *number > 8192)
      return Refusal{fmt::format("'{}' is not a number of {}", value,
                                 key == "count" ? "CPUs" : "a NUMA node")};
    (key == "count" ? share.cpu_count : share.numa_node) = static_cast<int>(*number);
    return std::nullopt;
  }
  if (key == "smt") {
    if (value != "split" && value != "together")
      return Refusal{"smt is 'split' (one thread of each core) or 'together'"};
    share.split_siblings = value == "split";
    return std::nullopt;
  }
  return unknown_key(key, kKeys);
}

Verdict take_limit(std::string_view key, std::string_view value, Row& row) {
  constexpr std::array<std::string_view, 5> kKeys = {"time", "epochs", "steps", "cpu", "io"};
  if (key == "time") {
    const Nanos time = parse_duration(value);
    if (time <= Nanos(0))
      return Refusal{fmt::format("'{}' is not a duration", value), "such as 90m or 2h"};
    row.limits.max_time = time;
  } else if (key == "epochs" || key == "steps") {
    const auto count = positive(value);
    if (!count) return Refusal{fmt::format("'{}' is not a count of {}", value, key)};
    (key == "epochs" ? row.limits.max_epochs : row.limits.max_steps) = count;
  } else if (key == "cpu") {
    const auto cpus = parse_double(value);
    if (!cpus || !(*cpus > 0) || *cpus > 8192)
      return Refusal{fmt::format("'{}' is not a number of CPUs", value), "such as 1.5"};
    row.share.cpu_quota = *cpus;
  } else if (key == "io") {
    const auto weight = positive(value);
    if (!weight || *weight > 1000) return Refusal{"the weight of I/O is 1 to 1000"};
    row.share.io_weight = static_cast<int>(*weight);
  } else {
    return unknown_key(key, kKeys);
  }
  return std::nullopt;
}

Verdict take_clock(std::string_view key, std::string_view value, Share& share) {
  constexpr std::array<std::string_view, 2> kKeys = {"sm", "memory"};
  if (key != "sm" && key != "memory") return unknown_key(key, kKeys);
  const auto mhz = positive(value);
  if (!mhz || *mhz > 100'000) return Refusal{fmt::format("'{}' is not a clock in MHz", value)};
  (key == "sm" ? share.sm_clock_mhz : share.memory_clock_mhz) = static_cast<int>(*mhz);
  return std::nullopt;
}

}  // namespace

Verdict read_collocation(std::string_view text, Share& share) {
  const std::string word = lower_ascii(text);
  // radT writes a cell that was empty back as "nan".
  if (word.empty() || word == "-" || word == "nan") return std::nullopt;
  if (word == "naive" || word == "timeslicing" || word == "time-slicing") {
    share.sharing = Sharing::kTimeSlicing;
    return std::nullopt;
  }
  const std::string_view view = word;
  if (view.starts_with("mps") && (view.size() == 3 || view[3] == '=' || view[3] == ':')) {
    // Sizes are read as they were written: 8G.
    return read_mps(trim(text.substr(3)), share);
  }
  if (!looks_like_profile(word)) return no_collocation(word);
  share.sharing = Sharing::kMig;
  share.profile = word;
  return std::nullopt;
}

Verdict read_devices(std::string_view text, Share& share) {
  const std::string low = lower_ascii(text);
  if (low.empty() || low == "-" || low == "cpu" || low == "none") return std::nullopt;
  for (const std::string_view part : split(text, '+')) {
    const std::string_view word = trim(part);
    if (!is_device(word))
      return Refusal{fmt::format("'{}' is not a device", word),
                     "an index, a UUID (GPU-…, MIG-…) or a PCI address; several as 0+1"};
    if (std::ranges::find(share.devices, word) != share.devices.end())
      return Refusal{fmt::format("device {} is given twice", word)};
    share.devices.emplace_back(word);
  }
  return std::nullopt;
}

Verdict read_cpus(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  const std::size_t semicolon = text.find(';');
  const std::string_view first = trim(text.substr(0, semicolon));
  std::string_view rest = semicolon == std::string_view::npos ? "" : text.substr(semicolon + 1);
  if (first.find('=') != std::string_view::npos) {
    rest = text;
  } else if (is_digits(first)) {
    if (auto refused = take_cpu_option("count", first, share)) return refused;
  } else if (auto refused = take_cpu_set(first, share)) {
    return refused;
  }
  auto refused = each_pair(rest, [&](std::string_view key, std::string_view value) {
    return take_cpu_option(key, value, share);
  });
  if (refused) return refused;
  if (!share.cpus.empty() && (share.cpu_count || share.split_siblings))
    return Refusal{"a set of CPUs already says which and how many",
                   "smt and count require a number of CPUs"};
  if (share.cpus.empty() && !share.cpu_count && share.split_siblings)
    return Refusal{"smt needs a number of CPUs", "such as 4;smt=split"};
  return std::nullopt;
}

Verdict read_memory(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  share.memory_bytes = some_bytes(text);
  return share.memory_bytes ? Verdict() : no_bytes();
}

Verdict read_limits(std::string_view text, Row& row) {
  if (text == "-") return std::nullopt;
  return each_pair(text, [&](std::string_view key, std::string_view value) {
    return take_limit(key, value, row);
  });
}

Verdict read_clocks(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  if (text.find('=') == std::string_view::npos) return take_clock("sm", text, share);
  return each_pair(text, [&](std::string_view key, std::string_view value) {
    return take_clock(key, value, share);
  });
}

Verdict read_power(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  const bool unit = text.back() == 'W' || text.back() == 'w';
  const auto watts = parse_double(trim(unit ? text.substr(0, text.size() - 1) : text));
  if (!watts || !(*watts > 0) || *watts > 1e5)
    return Refusal{"not a power in watts", "such as 250W"};
  share.power_watts = *watts;
  return std::nullopt;
}

Verdict read_cache(std::string_view text, Share& share) {
  constexpr std::array<std::string_view, 3> kWords = {"as-is", "cold", "warm"};
  const std::string word = lower_ascii(text);
  if (word.empty() || word == "-" || word == "as-is") return std::nullopt;
  if (word != "cold" && word != "warm")
    return Refusal{"not a state of the page cache", suggest(word, kWords)};
  share.cache = word == "cold" ? CacheState::kCold : CacheState::kWarm;
  return std::nullopt;
}

Verdict read_repeat(std::string_view text, int& repeat) {
  if (text.empty() || text == "-") return std::nullopt;
  const auto count = positive(text);
  if (!count || *count > kMostRepeats)
    return Refusal{fmt::format("not a number of repetitions, 1 to {}", kMostRepeats)};
  repeat = static_cast<int>(*count);
  return std::nullopt;
}

Verdict read_flag(std::string_view text, bool& flag) {
  constexpr std::array<std::string_view, 5> kYes = {"yes", "true", "1", "x", "y"};
  constexpr std::array<std::string_view, 6> kNo = {"", "-", "no", "false", "0", "n"};
  const std::string word = lower_ascii(text);
  flag = std::ranges::find(kYes, word) != kYes.end();
  if (flag || std::ranges::find(kNo, word) != kNo.end()) return std::nullopt;
  return Refusal{"neither yes nor no"};
}

Verdict read_end(std::string_view text, WorkloadEnd& end) {
  constexpr std::array<std::string_view, 3> kWords = {"all", "first", "this"};
  const std::string word = lower_ascii(text);
  if (word.empty() || word == "-" || word == "all") return std::nullopt;
  if (word != "first" && word != "this")
    return Refusal{
        "not an end of a workload; expected all (with its last "
        "run), first (with the first that ends) or this (with this "
        "run)",
        suggest(word, kWords, "")};
  end = word == "first" ? WorkloadEnd::kFirst : WorkloadEnd::kNamed;
  return std::nullopt;
}

Verdict read_pairs(std::string_view text, Pairs& pairs) {
  if (text == "-") return std::nullopt;
  return each_pair(text, [&](std::string_view key, std::string_view value) -> Verdict {
    const auto same = std::ranges::find(pairs, key, &Pairs::value_type::first);
    if (same != pairs.end()) return Refusal{fmt::format("'{}' is given twice", key)};
    pairs.emplace_back(key, value);
    return std::nullopt;
  });
}

Verdict read_env(std::string_view text, Pairs& env) {
  if (auto refused = read_pairs(text, env)) return refused;
  for (const auto& [name, value] : env) {
    const bool plain = std::ranges::all_of(name, [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!plain || is_digits(std::string_view(name).substr(0, 1)))
      return Refusal{fmt::format("'{}' is not a name of a variable", name)};
  }
  return std::nullopt;
}

std::vector<std::string> read_after(std::string_view text) {
  std::vector<std::string> names;
  if (text == "-") return names;
  for (const std::string_view part : split(text, '+')) {
    if (!trim(part).empty()) names.emplace_back(trim(part));
  }
  return names;
}

}  // namespace corral::plan
