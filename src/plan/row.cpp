#include "plan/row.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>

#include "core/cpu_list.h"
#include "core/limits.h"
#include "core/text.h"
#include "plan/mig.h"
#include "plan/params.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

// ---- cells: what each column's text means

constexpr int kMostRepeats = 10'000;

// "a=1;b=2" -> each part to `parse`; the first refusal ends it.
using ParsePair = std::function<Verdict(std::string_view key, std::string_view value)>;
Verdict each_pair(std::string_view text, const ParsePair& parse) {
  for (const std::string_view part : split(text, ';')) {
    if (trim(part).empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view key = trim(part.substr(0, equals));
    if (equals == std::string_view::npos || key.empty())
      return Refusal{fmt::format("'{}' is not key=value", trim(part)),
                     "join pairs by semicolons: a=1;b=2"};
    if (auto refused = parse(key, trim(part.substr(equals + 1)))) return refused;
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

Verdict parse_mps_option(std::string_view key, std::string_view value, Share& share) {
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
  if (rest.front() == '=') return parse_mps_option("threads", trim(rest.substr(1)), share);
  return each_pair(rest.substr(1), [&](std::string_view key, std::string_view value) {
    return parse_mps_option(key, value, share);
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

Verdict parse_cpu_set(std::string_view text, Share& share) {
  std::string joined(text);
  std::ranges::replace(joined, ',', '+');
  for (const std::string_view part : split(joined, '+')) {
    const auto cpus = parse_cpu_list(part);
    if (!cpus || cpus->empty())
      return Refusal{fmt::format("'{}' is neither a CPU nor a range of CPUs", trim(part)),
                     "such as 0-3 or 0-3+8-11"};
    share.cpus.insert(share.cpus.end(), cpus->begin(), cpus->end());
  }
  std::ranges::sort(share.cpus);
  share.cpus.erase(std::unique(share.cpus.begin(), share.cpus.end()), share.cpus.end());
  return std::nullopt;
}
Verdict parse_cpu_option(std::string_view key, std::string_view value, Share& share) {
  constexpr std::array<std::string_view, 4> kKeys = {"cpus", "count", "node", "smt"};
  if (key == "cpus") return parse_cpu_set(value, share);
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

Verdict parse_limit(std::string_view key, std::string_view value, Row& row) {
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

Verdict parse_clock(std::string_view key, std::string_view value, Share& share) {
  constexpr std::array<std::string_view, 2> kKeys = {"sm", "memory"};
  if (key != "sm" && key != "memory") return unknown_key(key, kKeys);
  const auto mhz = positive(value);
  if (!mhz || *mhz > 100'000) return Refusal{fmt::format("'{}' is not a clock in MHz", value)};
  (key == "sm" ? share.sm_clock_mhz : share.memory_clock_mhz) = static_cast<int>(*mhz);
  return std::nullopt;
}

// "-", "naive", "timeslicing", "mps", "mps=50", "mps:threads=50;memory=8G;priority=1", "3g.20gb".
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

// "0", "0+1", "GPU-…", "MIG-…", "00000000:65:00.0"; "", "-", "cpu", "none": no device.
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

// "4" (so many), "0-3", "0-3+8", "cpus=5"; behind it ";node=0", ";smt=split".
Verdict read_cpus(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  const std::size_t semicolon = text.find(';');
  const std::string_view first = trim(text.substr(0, semicolon));
  std::string_view rest = semicolon == std::string_view::npos ? "" : text.substr(semicolon + 1);
  if (first.find('=') != std::string_view::npos) {
    rest = text;
  } else if (is_digits(first)) {
    if (auto refused = parse_cpu_option("count", first, share)) return refused;
  } else if (auto refused = parse_cpu_set(first, share)) {
    return refused;
  }
  auto refused = each_pair(rest, [&](std::string_view key, std::string_view value) {
    return parse_cpu_option(key, value, share);
  });
  if (refused) return refused;
  if (!share.cpus.empty() && (share.cpu_count || share.split_siblings))
    return Refusal{"a set of CPUs already says which and how many",
                   "smt and count require a number of CPUs"};
  if (share.cpus.empty() && !share.cpu_count && share.split_siblings)
    return Refusal{"smt needs a number of CPUs", "such as 4;smt=split"};
  return std::nullopt;
}

// "16G".
Verdict read_memory(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  share.memory_bytes = some_bytes(text);
  return share.memory_bytes ? Verdict() : no_bytes();
}

// "time=2h;epochs=5;steps=100;cpu=1.5;io=500".
Verdict read_limits(std::string_view text, Row& row) {
  if (text == "-") return std::nullopt;
  return each_pair(text, [&](std::string_view key, std::string_view value) {
    return parse_limit(key, value, row);
  });
}

// "1410", "sm=1410;memory=1215": MHz.
Verdict read_clocks(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  if (text.find('=') == std::string_view::npos) return parse_clock("sm", text, share);
  return each_pair(text, [&](std::string_view key, std::string_view value) {
    return parse_clock(key, value, share);
  });
}

// "250", "250W".
Verdict read_power(std::string_view text, Share& share) {
  if (text.empty() || text == "-") return std::nullopt;
  const bool unit = text.back() == 'W' || text.back() == 'w';
  const auto watts = parse_double(trim(unit ? text.substr(0, text.size() - 1) : text));
  if (!watts || !(*watts > 0) || *watts > 1e5)
    return Refusal{"not a power in watts", "such as 250W"};
  share.power_watts = *watts;
  return std::nullopt;
}

// "as-is", "cold", "warm".
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

// "yes", "true", "1", "x"; "", "no", "false", "0", "-".
Verdict read_flag(std::string_view text, bool& flag) {
  constexpr std::array<std::string_view, 5> kYes = {"yes", "true", "1", "x", "y"};
  constexpr std::array<std::string_view, 6> kNo = {"", "-", "no", "false", "0", "n"};
  const std::string word = lower_ascii(text);
  flag = std::ranges::find(kYes, word) != kYes.end();
  if (flag || std::ranges::find(kNo, word) != kNo.end()) return std::nullopt;
  return Refusal{"neither yes nor no"};
}

// "all", "first", "this".
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

// "key=value;other=value".
Verdict read_pairs(std::string_view text, Pairs& pairs) {
  if (text == "-") return std::nullopt;
  return each_pair(text, [&](std::string_view key, std::string_view value) -> Verdict {
    const auto same = std::ranges::find(pairs, key, &Pairs::value_type::first);
    if (same != pairs.end()) return Refusal{fmt::format("'{}' is given twice", key)};
    pairs.emplace_back(key, value);
    return std::nullopt;
  });
}

// The same for variables: names of letters, digits and _.
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

// "1+2".
std::vector<std::string> read_after(std::string_view text) {
  std::vector<std::string> names;
  if (text == "-") return names;
  for (const std::string_view part : split(text, '+')) {
    if (!trim(part).empty()) names.emplace_back(trim(part));
  }
  return names;
}

// ---- rows

// Variables that a container takes from its image, even if they are set outside.
constexpr auto kOfImage = std::to_array<std::string_view>(
    {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "HOME", "PYTHONHOME"});

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void add_param(Pairs& params, std::string_view key, std::string_view value) {
  const bool there = std::ranges::find(params, key, &Pairs::value_type::first) != params.end();
  if (!there && !value.empty()) params.emplace_back(key, value);
}

class RowReader {
 public:
  RowReader(const RowContext& context, ProblemList& problems)
      : directory_(context.directory),
        known_(context.known),
        missing_(context.missing),
        problems_(problems) {}

  Row read(const RawRow& raw) {
    Row row;
    row.line = raw.line;
    read_names(raw, row);
    read_environment(raw, row);
    read_command(raw, row);
    read_listeners(raw, row);
    read_share(raw, row);
    read_course(raw, row);
    return row;
  }

 private:
  void note(const RawRow& raw, Field field, const Verdict& verdict) {
    if (verdict) problems_.add(raw, field, *verdict);
  }

  void read_names(const RawRow& raw, Row& row) {
    row.experiment = raw[Field::kExperiment];
    row.workload = raw[Field::kWorkload];
    row.name = raw[Field::kName];
    row.status = raw[Field::kStatus];
    row.run = raw[Field::kRun];
    for (const auto& [field, missing] : {std::pair{Field::kExperiment, missing_.experiment},
                                         {Field::kWorkload, missing_.workload}}) {
      if (raw[field].empty() && !missing)
        problems_.add(raw, field,
                      {"is empty", "rows of one experiment and workload start together"});
    }
    for (const Field field : {Field::kExperiment, Field::kWorkload, Field::kName}) {
      if (raw[field].size() > limits::kNameBytes)
        problems_.add(raw, field, {fmt::format("longer than {} bytes", limits::kNameBytes)});
      if (has_control(raw[field])) problems_.add(raw, field, {"contains a control character"});
    }
  }

  void read_environment(const RawRow& raw, Row& row) {
    const std::string_view text = raw[Field::kEnvironment];
    row.environment = text;
    if (text.empty() || !known_.environment_problem) return;
    auto known = environments_.find(text);
    if (known == environments_.end())
      known = environments_.emplace(text, known_.environment_problem(text)).first;
    if (!known->second.empty()) {
      problems_.add_once(raw, Field::kEnvironment, {known->second});
    } else if (known_.environment_lack) {
      check_environment(raw);
    }
  }

  void check_environment(const RawRow& raw) {
    const std::string_view text = raw[Field::kEnvironment];
    auto lack = lacks_.find(text);
    if (lack == lacks_.end())
      lack = lacks_.emplace(text, known_.environment_lack(text, directory_)).first;
    if (lack->second)
      problems_.add_once(raw, Field::kEnvironment, {lack->second->reason},
                         lack->second->certain ? Severity::kError : Severity::kWarning);
  }

  void read_command(const RawRow& raw, Row& row) {
    const bool model = !raw[Field::kModel].empty();
    const bool has_file = raw.offsets[static_cast<std::size_t>(Field::kFile)] != RawRow::kNowhere;
    const Field field = model || !has_file ? Field::kModel : Field::kFile;
    if (model && !raw[Field::kFile].empty())
      problems_.add(raw, Field::kFile, {"Model already names a script", "empty one of them"});
    const std::string script(raw[field]);
    if (script.empty() || script == "-") {
      if (missing_.script) return;
      problems_.add(raw, field, {"names no script", "Model or File: a script, program or project"});
      return;
    }
    // A name with spaces, where there is such a file, is one word.
    const bool whole = script.find(' ') == std::string::npos || exists(script);
    auto words = whole ? std::vector{script} : shell_words(script);
    if (!words || words->empty()) {
      problems_.add(raw, field, {"a quote is not closed"});
      return;
    }
    row.command = *std::move(words);
    check_program(raw, field, row);
    if (exists(row.command.front() + "/MLproject")) {
      if (row.environment.empty()) row.environment = "mlproject=" + row.command.front();
      row.command.front() = "main";  // its entry point
    }
    read_params(raw, row);
    add_param(row.params, model ? "model" : "file", script);
  }

  void check_program(const RawRow& raw, Field field, const Row& row) {
    const std::string& word = row.command.front();
    if (!known_.exists || in_container(row.environment) || exists(word + "/MLproject")) return;
    const bool path = word.find('/') != std::string::npos || fs::path(word).has_extension();
    // A program of PATH may be called as a folder here is.
    if (exists(word) && (path || !exists(word + "/."))) return check_executable(raw, field, word);
    if (!path) {
      const bool local = row.environment.empty() || row.environment == "-" ||
                         row.environment == "local" || row.environment == "none";
      if (!local || known_.path.empty()) return;
      for (const std::string_view directory : split(known_.path, ':')) {
        const std::string program = fmt::format("{}/{}", directory, word);
        if (!directory.empty() && exists(program) && executable(program)) return;
      }
    }
    problems_.add_once(raw, field,
                       {path ? "no such file in the plan's folder"
                             : "neither a file in the plan's folder nor a program in PATH",
                        nearest_file(word)});
  }

  // A .py file is its interpreter's to read.
  void check_executable(const RawRow& raw, Field field, const std::string& word) {
    if (word.ends_with(".py") || executable(word)) return;
    if (exists(word + "/.")) {
      problems_.add_once(
          raw, field,
          {"is a folder without an MLproject file", "name a script or a program in it"});
      return;
    }
    problems_.add_once(raw, field,
                       {"is a file that may not be executed",
                        fmt::format("chmod +x {}, or an interpreter before it: {} {}", word,
                                    word.ends_with(".sh") ? "sh" : "INTERPRETER", word)});
  }

  [[nodiscard]] bool executable(const std::string& name) const {
    return !known_.executable || known_.executable(directory_ / name);
  }

  bool exists(const std::string& name) {
    if (!known_.exists) return false;
    const auto [entry, first] = exists_.try_emplace(name, false);
    if (first) entry->second = known_.exists(directory_ / name);
    return entry->second;
  }

  [[nodiscard]] std::string nearest_file(const std::string& word) const {
    if (!known_.names_in) return "";
    const fs::path given(word);
    const auto names = known_.names_in(directory_ / given.parent_path());
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view near = nearest_word(given.filename().string(), views);
    return near.empty() ? ""
                        : fmt::format("did you mean {}?", (given.parent_path() / near).string());
  }

  void read_params(const RawRow& raw, Row& row) {
    const std::string_view text = raw[Field::kParams];
    std::vector<std::string> words;
    if (!text.empty() && text != "-") {
      // The paper's form goes with the paper's column: elsewhere a=b goes to the script.
      const bool paper = !raw[Field::kModel].empty() && raw[Field::kFile].empty();
      auto read = paper ? paper_words(text) : std::nullopt;
      if (!read) read = shell_words(text);
      if (!read) {
        problems_.add(raw, Field::kParams, {"a quote is not closed"});
        return;
      }
      words = *std::move(read);
    }
    const std::string_view data = raw[Field::kData];
    if (!data.empty() && data != "-") {
      if (std::ranges::find(words, "--data") != words.end())
        problems_.add(raw, Field::kData, {"Params contain --data, too", "empty one of them"});
      words.insert(words.begin(), {"--data", std::string(data)});
    }
    row.params = parse_params(words);
    add_param(row.params, "params", text == "-" ? "" : text);
    row.command.insert(row.command.end(), words.begin(), words.end());
  }

  void read_listeners(const RawRow& raw, Row& row) {
    const std::string_view text = raw[Field::kListeners];
    if (text.empty() || text == "-") return;
    std::string joined = lower_ascii(text);
    std::ranges::replace(joined, ',', '+');
    std::string reason;
    for (const std::string_view part : split(joined, '+')) {
      const std::string_view word = trim(part);
      if (word.empty()) continue;
      if (!row.listeners.empty()) row.listeners += '+';
      row.listeners += word;
      if (!known_.listener_problem || joined == kNoListeners) continue;
      auto known = listeners_.find(word);
      if (known == listeners_.end())
        known = listeners_.emplace(word, known_.listener_problem(word)).first;
      if (!known->second.empty()) problems_.add_once(raw, Field::kListeners, {known->second});
    }
    add_param(row.params, "listeners", row.listeners);
  }

  void read_share(const RawRow& raw, Row& row) {
    Share& share = row.share;
    row.collocation = raw[Field::kCollocation];
    const Verdict devices = read_devices(raw[Field::kDevices], share);
    note(raw, Field::kDevices, devices);
    note(raw, Field::kCollocation, read_collocation(raw[Field::kCollocation], share));
    note(raw, Field::kCpus, read_cpus(raw[Field::kCpus], share));
    note(raw, Field::kMemory, read_memory(raw[Field::kMemory], share));
    note(raw, Field::kClocks, read_clocks(raw[Field::kClocks], share));
    note(raw, Field::kPower, read_power(raw[Field::kPower], share));
    note(raw, Field::kCache, read_cache(raw[Field::kCache], share));
    if (devices || !share.devices.empty()) return;
    const auto needs_device = [&](Field field, bool asked) {
      if (asked) problems_.add(raw, field, {"needs a device", "name one in Devices"});
    };
    needs_device(Field::kCollocation,
                 share.sharing == Sharing::kMps || share.sharing == Sharing::kMig);
    needs_device(Field::kClocks, share.sm_clock_mhz || share.memory_clock_mhz);
    needs_device(Field::kPower, share.power_watts.has_value());
  }

  void read_course(const RawRow& raw, Row& row) {
    note(raw, Field::kLimits, read_limits(raw[Field::kLimits], row));
    note(raw, Field::kRepeat, read_repeat(raw[Field::kRepeat], row.repeat));
    note(raw, Field::kBaseline, read_flag(raw[Field::kBaseline], row.baseline));
    note(raw, Field::kTags, read_pairs(raw[Field::kTags], row.tags));
    note(raw, Field::kEnv, read_env(raw[Field::kEnv], row.env));
    check_variables(raw, row);
    if (in_container(row.environment)) check_reach(raw, row);
    note(raw, Field::kEnd, read_end(raw[Field::kEnd], row.end));
    note(raw, Field::kLoop, read_flag(raw[Field::kLoop], row.loop));
    row.ends_workload = row.end == WorkloadEnd::kNamed;
    row.after = read_after(raw[Field::kAfter]);
    if (row.loop && row.end != WorkloadEnd::kAll)
      problems_.add(raw, Field::kLoop,
                    {"restarts until the workload ends, so it cannot end the workload"});
  }

  // Reports variables that the run's supervisor would refuse.
  void check_variables(const RawRow& raw, const Row& row) {
    if (!known_.variable_problem) return;
    for (const auto& [name, value] : row.env) {
      if (name == "CORRAL_LISTENERS" && !row.listeners.empty()) continue;  // the column wins
      const auto [entry, first] = variables_.try_emplace({name, value});
      if (first) entry->second = known_.variable_problem(name, value);
      if (!entry->second.empty())
        problems_.add_once(raw, Field::kEnv,
                           {fmt::format("{}: {}", name, entry->second), "correct or remove it"});
    }
  }

  // Reports values that this column cannot bring into a container.
  void check_reach(const RawRow& raw, const Row& row) {
    for (const auto& [name, value] : row.env) {
      if (std::ranges::find(kOfImage, name) == kOfImage.end()) continue;
      problems_.add_once(
          raw, Field::kEnv,
          {fmt::format("a container has {} of its image: this value does not reach it", name),
           fmt::format("env={}=... in Environment sets it there", name)},
          Severity::kWarning);
    }
  }

  const fs::path& directory_;
  const Known& known_;
  const MissingColumns& missing_;
  ProblemList& problems_;
  // Cached answers.
  std::map<std::string, std::string, std::less<>> listeners_, environments_;
  std::map<std::string, std::optional<Lack>, std::less<>> lacks_;
  std::map<std::string, bool> exists_;
  std::map<std::pair<std::string, std::string>, std::string> variables_;
};

}  // namespace

std::vector<Row> read_rows(const std::vector<RawRow>& raws, const RowContext& context,
                           ProblemList& problems) {
  RowReader reader(context, problems);
  std::vector<Row> rows;
  rows.reserve(raws.size());
  for (const RawRow& raw : raws) rows.push_back(reader.read(raw));
  return rows;
}

}  // namespace corral::plan
