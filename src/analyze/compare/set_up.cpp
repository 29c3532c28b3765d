#include "analyze/compare/set_up.h"

#include <algorithm>
#include <optional>

#include "analyze/repetition.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

constexpr std::string_view kSetUp = "set_up.", kAtStart = "at_start.",
                           kEnvironment = "environment.";
constexpr std::string_view kMissing = "–";
constexpr std::string_view kCpusTag = "corral.cpus";

std::size_t part_index(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kSetUpParts, name) - kSetUpParts.begin());
}

// Tags that describe the result of a run or what it is compared with, not its set-up.
bool is_no_set_up(std::string_view tag) {
  return tag.starts_with("corral.outcome") || tag == "corral.start_skew_ms" ||
         tag == "corral.baseline" || tag == kCpusTag || tag == "mlflow.parentRunId";
}

// A text as it is, a list of words with blanks between them, all else as JSON.
std::string plain_text(const std::string& json) {
  const auto value = Json::parse(json);
  if (!value) return json;
  if (value->is_null()) return "";
  const auto plain = [](const Json& one) {
    return one.as_string() != nullptr ? *one.as_string() : one.dump();
  };
  if (value->as_array() == nullptr) return plain(*value);
  std::vector<std::string> words;
  for (const Json& word : *value->as_array()) words.push_back(plain(word));
  return join(words, " ");
}

class SetUpReader {
 public:
  SetUp read(const store::Run& run) {
    put("run", "experiment", run.experiment_name);
    put("run", "workload", run.workload_name);
    put("run", "host", run.host);
    for (const auto& [key, value] : run.params) put("param", key, value);
    for (const auto& [key, value] : run.tags)
      if (!is_no_set_up(key)) put("tag", key, value);
    for (const auto& [key, value] : run.info) add_info(key, plain_text(value));
    put("set-up", "cpus_allowed", tag_text(run, kCpusTag));
    for (const auto& [source, reason] : run.unavailable) add_missing(source, reason);
    return std::move(found_);
  }

 private:
  void put(std::string_view part, std::string_view key, std::string text) {
    if (!text.empty()) found_[{part_index(part), std::string(key)}] = std::move(text);
  }

  // A list of lines: "numpy==1.26.4" (`sign` "==") or "OMP_NUM_THREADS=4" ("=").
  void put_lines(std::string_view part, std::string_view sign, const std::string& lines) {
    for (const std::string_view line : split(lines, '\n')) {
      const std::size_t at = line.find(sign);
      const bool bare = at == std::string_view::npos;
      if (!line.empty())
        put(part, line.substr(0, at), std::string(bare ? "there" : line.substr(at + sign.size())));
    }
  }

  void add_info(std::string_view key, std::string text) {
    // The hash is that of all the others.
    if (key.starts_with("collecting_") || key == "set_up.hash") return;
    if (key == "command") {
      put("run", key, std::move(text));
    } else if (key == "environment.packages" || key == "environment.conda") {
      put_lines("package", "==", text);
    } else if (key == "environment.variables") {
      put_lines("variable", "=", text);
    } else if (key.starts_with("git_") || key == "code.hash") {
      put("code", key, std::move(text));
    } else if (key.starts_with("code.") || key.starts_with("given.")) {
      return;  // counts; params and tags are there themselves
    } else if (key.starts_with(kSetUp)) {
      put("set-up", key.substr(kSetUp.size()), std::move(text));
    } else if (key.starts_with(kAtStart)) {
      put("at start", key.substr(kAtStart.size()), std::move(text));
    } else {
      put("environment", key.starts_with(kEnvironment) ? key.substr(kEnvironment.size()) : key,
          std::move(text));
    }
  }

  void add_missing(std::string_view source, const std::string& reason) {
    if (source == "environment.packages" || source == "environment.variables") return;
    add_info(source == "git" ? "git_commit" : source, "not available: " + reason);
  }

  SetUp found_;
};

// The text that all of them have; nullopt: they have different ones.
std::optional<std::string> common_text(std::span<const SetUp> all, const SetUp::key_type& key) {
  std::optional<std::string> common;
  for (const SetUp& one : all) {
    const auto found = one.find(key);
    const std::string text = found != one.end() ? found->second : std::string(kMissing);
    if (common && *common != text) return std::nullopt;
    common = text;
  }
  return common;
}

}  // namespace

std::string fact_text(const store::Run& run, std::string_view key) {
  const auto fact = std::ranges::find(run.info, key, [](const auto& one) { return one.first; });
  return fact != run.info.end() ? plain_text(fact->second) : "";
}

std::string tag_text(const store::Run& run, std::string_view key) {
  const auto found = std::ranges::find(run.tags, key, [](const auto& tag) { return tag.first; });
  return found != run.tags.end() ? found->second : "";
}

SetUp read_set_up(const store::Run& run) { return SetUpReader().read(run); }

std::vector<SetUp> read_set_ups(std::span<const store::Run> runs) {
  std::vector<SetUp> set_ups;
  for (const store::Run& run : runs) {
    SetUp& one = set_ups.emplace_back(read_set_up(run));
    for (const auto& [key, value] : run.info)
      if (key == "command") one[{part_index("run"), key}] = plain_text(without_seeds(value));
    std::erase_if(one, [](const auto& entry) {
      const std::string_view part = kSetUpParts.at(entry.first.first);
      const std::string& key = entry.first.second;
      return part == "at start" || (part == "param" && names_seed(key)) ||
             (part == "tag" && key == "corral.plan.row");
    });
  }
  return set_ups;
}

std::vector<CommonSetUp> find_common_set_up(std::span<const SetUp> all) {
  std::vector<CommonSetUp> found;
  if (all.empty()) return found;
  for (const auto& [key, text] : all.front())
    if (common_text(all, key))
      found.push_back({.part = kSetUpParts.at(key.first), .key = key.second, .text = text});
  return found;
}

std::vector<SetUpDifference> find_set_up_differences(std::span<const SetUp> a,
                                                     std::span<const SetUp> b) {
  SetUp keys;
  for (const auto& side : {a, b})
    for (const SetUp& one : side) keys.insert(one.begin(), one.end());
  std::vector<SetUpDifference> differences;
  for (const auto& [key, unused] : keys) {
    std::optional<std::string> text_a = common_text(a, key), text_b = common_text(b, key);
    if (text_a && text_b && *text_a != *text_b)
      differences.push_back({.part = kSetUpParts.at(key.first),
                             .key = key.second,
                             .a = *std::move(text_a),
                             .b = *std::move(text_b)});
  }
  return differences;
}

}  // namespace corral::analyze
