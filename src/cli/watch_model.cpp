#include "cli/watch_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "cli/answers.h"
#include "collect/foreign/output_scanner.h"
#include "core/cpu_list.h"
#include "core/text.h"
#include "core/time.h"
#include "run/schedule/book.h"

namespace corral::cli {
namespace {

constexpr double kNanos = 1e-9;
// The newest epochs and workloads give the pace: older ones may have gone on otherwise.
constexpr std::size_t kPaceOver = 20;
// A run without a step for so long, and for so many times that of one, may hang.
constexpr double kSilentS = 20, kSilentSteps = 3;

// Names of parameters and arguments that hold a total; a minus counts as an underscore.
constexpr auto kEpochNames = std::to_array<std::string_view>(
    {"epochs", "max_epochs", "num_epochs", "n_epochs", "num_train_epochs"});
constexpr auto kStepNames = std::to_array<std::string_view>(
    {"steps", "max_steps", "num_steps", "train_steps", "total_steps", "max_iters"});

constexpr const char* kReason = "tags.corral.outcome.reason";

bool is_open(std::string_view state) {
  return state == "waiting" || state == "preparing" || state == "running";
}

// "3" and "3.0", as frameworks write it.
std::optional<std::int64_t> whole_number(std::string_view text) {
  constexpr double kMost = 1e15;
  if (const auto number = parse_double(text);
      number && std::abs(*number) < kMost && std::trunc(*number) == *number)
    return static_cast<std::int64_t>(*number);
  return std::nullopt;
}

// A total, if `name` is that of one and `text` a count.
std::optional<WatchTotal> total_in(std::string_view name, std::string_view text, std::string from) {
  std::string plain = lower_ascii(name);
  std::ranges::replace(plain, '-', '_');
  const bool epochs = std::ranges::find(kEpochNames, plain) != kEpochNames.end();
  const bool steps = std::ranges::find(kStepNames, plain) != kStepNames.end();
  const auto count = whole_number(text);
  if ((!epochs && !steps) || !count || *count <= 0) return std::nullopt;
  return WatchTotal{.count = *count, .epochs = epochs, .from = std::move(from)};
}

// From an argument "--epochs 20" or "--epochs=20" of the command; the last one counts.
std::optional<WatchTotal> total_of_command(const Json::Array& command) {
  std::optional<WatchTotal> total;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string* word = command[i].as_string();
    if (word == nullptr || !word->starts_with("--")) continue;
    const std::size_t equals = std::min(word->find('='), word->size());
    const std::string* next = i + 1 < command.size() ? command[i + 1].as_string() : nullptr;
    const std::string value = equals < word->size() ? word->substr(equals + 1)
                              : next != nullptr     ? *next
                                                    : std::string();
    const std::string option = word->substr(0, equals);
    if (auto found = total_in(option.substr(2), value, option)) total = std::move(found);
  }
  return total;
}

// The newest time that the server knows of a run.
std::int64_t newest_of(const Json& run) {
  const double elapsed_s = number_of(member(run, "duration_s")).value_or(0);
  return run.get_int("start_ns") + static_cast<std::int64_t>(elapsed_s / kNanos);
}

std::optional<WatchTotal> total_of(const Json& run) {
  constexpr std::string_view kParam = "params.";
  for (const auto& [member_name, prefix] :
       {std::pair("params", std::string_view()), std::pair("values", kParam)}) {
    const auto* pairs = member(run, member_name).as_object();
    if (pairs == nullptr) continue;
    for (const auto& [key, value] : *pairs) {
      const std::string* text = value.as_string();
      if (text == nullptr || !key.starts_with(prefix)) continue;
      const std::string name = key.substr(prefix.size());
      if (auto total = total_in(name, *text, "param " + name)) return total;
    }
  }
  return total_of_command(items(run, "command"));
}

}  // namespace

std::optional<double> number_of(const Json& value) {
  const double number = value.as_double(std::numeric_limits<double>::quiet_NaN());
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string remaining_text(double seconds) {
  constexpr double kDay = 86400, kHour = 3600;
  if (seconds < kDay) return precise_duration(std::round(seconds));
  return fmt::format("{:.0f} d {:.0f} h", std::floor(seconds / kDay),
                     std::floor(std::fmod(seconds, kDay) / kHour));
}

Json::Array search_columns() {
  Json::Array columns = {kReason};
  for (const std::string_view name : kEpochNames)
    columns.emplace_back("params." + std::string(name));
  for (const std::string_view name : kStepNames)
    columns.emplace_back("params." + std::string(name));
  return columns;
}

bool WatchRun::failed() const {
  using namespace run::schedule;
  return !is_open(state) && standing_after(state) == Standing::kFailed;
}

void take_run(WatchRun& run, const Json& answer) {
  run.id = answer.get_string("id");
  if (run.name.empty()) run.name = answer.get_string("name");
  // The row of a plan is as far as its scheduler reported it.
  if (run.state.empty() || run.runs()) run.state = outcome_text(answer);
  run.elapsed_s = number_of(member(answer, "duration_s"));
  run.newest_ns = newest_of(answer);
  const Json& loss = member(answer, "loss");
  run.loss_name = loss.get_string("metric");
  run.loss = number_of(member(loss, "value"));
  if (!member(loss, "step").is_null()) run.step = loss.get_int("step");
  run.total = total_of(answer);
  if (run.reason.empty()) run.reason = member(answer, "values").get_string(kReason);
}

// ---- plans

namespace {

using PlannedWorkload = std::tuple<std::string, std::string, std::int64_t>;

PlannedWorkload workload_of(const Json& planned) {
  return {planned.get_string("experiment"), planned.get_string("workload"),
          planned.get_int("repetition", 1)};
}

// One with a reason will not run.
bool waits_for_its_turn(const Json& planned) {
  return planned.get_string("state") == "waiting" && planned.get_string("reason").empty();
}

// The places of the workloads that wait, from 1 on; those of one turn in the order of the file.
std::map<PlannedWorkload, std::size_t> places_in_queue(const Json& plan) {
  std::vector<std::pair<std::int64_t, PlannedWorkload>> waiting;
  for (const Json& one : items(plan, "runs"))
    if (waits_for_its_turn(one)) waiting.emplace_back(one.get_int("turn"), workload_of(one));
  std::ranges::stable_sort(waiting, {}, [](const auto& one) { return one.first; });
  std::map<PlannedWorkload, std::size_t> places;
  for (const auto& [turn, workload] : waiting) places.try_emplace(workload, places.size() + 1);
  return places;
}

}  // namespace

std::vector<WatchRun> plan_rows(const Json& plan) {
  const std::map<PlannedWorkload, std::size_t> places = places_in_queue(plan);
  std::vector<WatchRun> rows;
  for (const Json& one : items(plan, "runs")) {
    WatchRun row{.id = one.get_string("run"),
                 .name = one.get_string("name"),
                 .state = one.get_string("state"),
                 .reason = one.get_string("reason")};
    if (row.name.empty()) row.name = one.get_string("workload");
    const std::string devices = one.get_string("devices");
    for (const std::string_view device : split(devices, '+'))
      if (!device.empty()) row.devices.emplace_back(device);
    if (waits_for_its_turn(one)) row.queue = places.at(workload_of(one));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::size_t open_workloads(const Json& plan) {
  std::set<PlannedWorkload> open;
  for (const Json& one : items(plan, "runs")) {
    const std::string state = one.get_string("state");
    if (waits_for_its_turn(one) || (is_open(state) && state != "waiting"))
      open.insert(workload_of(one));
  }
  return open.size();
}

std::optional<double> plan_left_s(std::size_t open_workloads, const Json::Array& newest) {
  std::set<std::string> running;
  std::int64_t now = 0;
  for (const Json& run : newest) {
    if (!member(run, "end_ns").is_null()) continue;
    running.insert(run.get_string("workload_id"));
    now = std::max(now, newest_of(run));
  }
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> ended;  // start and end
  for (const Json& run : newest) {
    const std::string id = run.get_string("workload_id");
    if (running.contains(id)) continue;
    if (!ended.contains(id) && ended.size() == kPaceOver) break;
    const auto [known, is_new] =
        ended.try_emplace(id, run.get_int("start_ns"), run.get_int("end_ns"));
    auto& [start, end] = known->second;
    start = std::min(start, run.get_int("start_ns"));
    end = std::max(end, run.get_int("end_ns"));
  }
  if (ended.empty()) return std::nullopt;
  std::int64_t start = std::numeric_limits<std::int64_t>::max(), end = 0;
  for (const auto& [id, times] : ended) {
    start = std::min(start, times.first);
    end = std::max(end, times.second);
  }
  const double pace = static_cast<double>(end - start) * kNanos / static_cast<double>(ended.size());
  const double since = static_cast<double>(std::max(now, end) - end) * kNanos;
  if (since > pace * static_cast<double>(std::max<std::size_t>(1, running.size())))
    return std::nullopt;
  return std::max(0.0, pace * static_cast<double>(open_workloads) - since);
}

std::string count_words(std::span<const WatchRun> rows) {
  const auto open = std::ranges::count_if(rows, [](const auto& row) { return is_open(row.state); });
  const auto failed = std::ranges::count_if(rows, &WatchRun::failed);
  std::string words = fmt::format("{} of {} ended", rows.size() - static_cast<std::size_t>(open),
                                  counted(rows.size(), "run"));
  if (failed > 0) words += fmt::format(", {} failed", failed);
  return words;
}

// ---- figures of one run

WatchSeries find_series(const Json::Array& metrics, const WatchRun& run) {
  WatchSeries found;
  std::vector<std::int64_t> own_gpus;
  bool is_loss = false;
  for (const Json& metric : metrics) {
    const std::string name = metric.get_string("name"), source = metric.get_string("source");
    const std::int64_t id = metric.get_int("series");
    const bool steps =
        metric.get_string("owner") == "run" && !member(metric, "last_step").is_null();
    if (steps && !is_loss && (!found.steps || name == run.loss_name)) {
      is_loss = name == run.loss_name;
      found.steps = id;
      const auto of = [&](const char* key) { return static_cast<double>(metric.get_int(key)); };
      const double count = of("last_step") - of("first_step");
      found.step_s = count > 0 ? std::optional((of("last_ns") - of("first_ns")) * kNanos / count)
                               : std::nullopt;
      found.last_ns = metric.get_int("last_ns");
      found.nan = is_loss ? metric.get_int("nan") : 0;
    }
    if (name == "run.cpu.used") found.cpus.push_back(id);
    if (name == "run.gpu.busy") own_gpus.push_back(id);
    const auto has = [&](const std::string& device) { return source == "gpu" + device; };
    if (name == "host.gpu.busy" && std::ranges::any_of(run.devices, has)) found.gpus.push_back(id);
  }
  if (!own_gpus.empty()) found.gpus = std::move(own_gpus);
  return found;
}

namespace {

void take_step_window(WatchRun& run, WatchSeries& series, const Json& window) {
  const Json& first = member(window, "first");
  const Json& last = member(window, "last");
  // Values that are not a number have no place: the newest one came then at the latest.
  if (window.get_int("not_finite") > 0) series.last_ns = run.newest_ns;
  if (member(last, "step").is_null()) return;
  run.step = last.get_int("step");
  const std::int64_t steps = *run.step - first.get_int("step");
  series.last_ns = std::max(series.last_ns, last.get_int("time_ns"));
  if (steps > 0)
    run.step_s = static_cast<double>(last.get_int("time_ns") - first.get_int("time_ns")) * kNanos /
                 static_cast<double>(steps);
}

}  // namespace

void take_windows(WatchRun& run, WatchSeries& series, const Json::Array& windows) {
  run.step_s = series.step_s;
  run.nan = series.nan;
  for (auto* figure : {&run.left_s, &run.cores, &run.gpu, &run.silent_s}) figure->reset();
  double busy = 0;
  std::size_t gpus = 0;
  for (const Json& window : windows) {
    const std::int64_t id = window.get_int("series");
    if (id == series.steps) take_step_window(run, series, window);
    const auto mean = number_of(member(window, "mean"));
    if (!mean) continue;
    if (std::ranges::find(series.cpus, id) != series.cpus.end())
      run.cores = run.cores.value_or(0) + *mean;
    if (std::ranges::find(series.gpus, id) != series.gpus.end()) {
      busy += *mean;
      ++gpus;
    }
  }
  if (gpus > 0) run.gpu = busy / static_cast<double>(gpus);
  if (!run.step_s) return;
  const double silent_s = static_cast<double>(run.newest_ns - series.last_ns) * kNanos;
  if (silent_s <= std::max(kSilentS, kSilentSteps * *run.step_s)) return;
  run.silent_s = silent_s;
  run.step_s.reset();
}

void take_epochs(WatchRun& run, const Json& epochs) {
  const Json::Array& all = items(epochs, "epochs");
  run.epoch.reset();
  // The newest of very many are not in the answer.
  if (all.empty() || epochs.get_bool("more")) return;
  // Those of a training that was resumed go on where it stopped.
  const std::int64_t first = all.front().get_int("index");
  const std::int64_t base = first > 1 ? 0 : first;
  const bool open = member(all.back(), "end_ns").is_null();
  run.epoch = all.back().get_int("index") - base + 1;
  const std::int64_t done = *run.epoch - (open ? 1 : 0);
  const auto ended = std::span(all).first(all.size() - (open ? 1 : 0));
  if (run.silent_s || ended.empty() || !run.total || !run.total->epochs || run.total->count < done)
    return;
  const auto newest = ended.last(std::min(ended.size(), kPaceOver));
  const auto spent = newest.back().get_int("end_ns") - newest.front().get_int("start_ns");
  const double pace = static_cast<double>(spent) * kNanos / static_cast<double>(newest.size());
  const std::int64_t since = open ? run.newest_ns - all.back().get_int("start_ns") : 0;
  run.left_s = std::max(0.0, pace * static_cast<double>(run.total->count - done) -
                                 static_cast<double>(since) * kNanos);
}

void take_steps_left(WatchRun& run) {
  if (!run.total || run.total->epochs || !run.step || !run.step_s) return;
  if (*run.step <= run.total->count)
    run.left_s = *run.step_s * static_cast<double>(run.total->count - *run.step);
}

// ---- one run as a whole

namespace {

std::string nan_note(std::int64_t count) {
  return count > 0 ? fmt::format(" ({} NaN)", count) : std::string();
}

}  // namespace

std::vector<WatchMetric> own_metrics(const Json::Array& metrics, const WatchRun& run) {
  std::vector<WatchMetric> own;
  for (const Json& metric : metrics) {
    const std::string name = metric.get_string("name");
    const bool is_own = metric.get_string("owner") == "run" &&
                        metric.get_string("group") == "software" &&
                        metric.get_string("alias_of").empty();
    // The first one of several ranks.
    if (!is_own || std::ranges::find(own, name, &WatchMetric::name) != own.end()) continue;
    const std::int64_t nan = metric.get_int("nan");
    const std::string last = statistic(metric, "last").text;
    own.push_back({.name = name, .value = last + nan_note(nan), .bad = nan > 0});
  }
  std::stable_partition(own.begin(), own.end(),
                        [&](const auto& one) { return one.name == run.loss_name; });
  return own;
}

namespace {

// The newest value of a metric; empty: it has none.
std::optional<double> last_of(const Json::Array& metrics, std::string_view name,
                              std::string_view source = "") {
  for (const Json& metric : metrics)
    if (metric.get_string("name") == name && metric.get_string("source") == source)
      return number_of(member(metric, "last"));
  return std::nullopt;
}

// Why there is no metric whose name begins so.
std::string why_absent(const Json& run, std::string_view beginning) {
  for (const Json& one : items(run, "unavailable"))
    if (one.get_string("source").starts_with(beginning)) return "n/a: " + one.get_string("reason");
  return "n/a: no value yet";
}

// "1.2 GiB of 16 GiB"
WatchUse::Figure figure(const std::optional<double>& used, const std::optional<double>& all,
                        const std::string& unit) {
  if (!used) return {.text = "n/a"};
  const std::string text = with_unit(*used, unit);
  if (!all || *all <= 0) return {.text = text};
  return {.share = *used / *all, .text = text + " of " + with_unit(*all, unit)};
}

WatchUse cpu_use(const WatchRun& run, const Json& answer) {
  const Json& info = member(answer, "info");
  const auto allowed = parse_cpu_list(info.get_string("set_up.cpus_allowed"));
  const double cpus = allowed && !allowed->empty() ? static_cast<double>(allowed->size())
                                                   : member(info, "cpus").as_double(0);
  if (!run.cores) return {.name = "CPU", .figures = {{.text = why_absent(answer, "run.cpu")}}};
  WatchUse::Figure cores{.text = fmt::format("{:.2f} CPUs", *run.cores)};
  // Those of one host are known.
  if (cpus > 0 && items(answer, "members").size() < 2)
    cores = {.share = *run.cores / cpus,
             .text = fmt::format("{:.2f} of {:g} CPUs", *run.cores, cpus)};
  return {.name = "CPU", .figures = {cores}};
}

WatchUse memory_use(const Json& answer, const Json::Array& metrics) {
  const auto used = last_of(metrics, "run.memory.rss");
  auto all = number_of(member(member(answer, "info"), "memory_bytes"));
  if (const auto limit = last_of(metrics, "cgroup.memory.limit"); limit && (!all || *limit < *all))
    all = limit;
  if (!used) return {.name = "memory", .figures = {{.text = why_absent(answer, "run.memory")}}};
  return {.name = "memory", .figures = {figure(used, all, "B")}};
}

}  // namespace

std::vector<WatchUse> uses_of(const WatchRun& run, const Json& answer, const Json::Array& metrics) {
  std::vector<WatchUse> uses = {cpu_use(run, answer), memory_use(answer, metrics)};
  for (const Json& metric : metrics) {
    if (metric.get_string("name") != "host.gpu.memory.used") continue;
    const std::string source = metric.get_string("source");
    const auto last = [&](std::string_view name) { return last_of(metrics, name, source); };
    WatchUse gpu{.name = source};
    const auto busy = last("host.gpu.busy");
    gpu.figures.push_back(
        busy ? WatchUse::Figure{.share = busy, .text = fmt::format("{:.0f} %", *busy * 100)}
             : WatchUse::Figure{.text = "n/a"});
    gpu.figures.push_back(figure(last("host.gpu.memory.used"), last("host.gpu.memory.total"), "B"));
    gpu.figures.push_back(figure(last("host.gpu.power"), last("host.gpu.power.limit"), "W"));
    uses.push_back(std::move(gpu));
  }
  if (uses.size() == 2)
    uses.push_back({.name = "GPU", .figures = {{.text = why_absent(answer, "host.gpu")}}});
  return uses;
}

std::vector<std::string> last_lines(const Json::Array& chunks, std::size_t most) {
  std::string text;
  for (const Json& chunk : chunks) text += chunk.get_string("text");
  std::vector<std::string> lines;
  const std::vector<std::string_view> all = split(text, '\n');
  for (auto line = all.rbegin(); line != all.rend() && lines.size() < most; ++line) {
    std::string_view shown = *line;
    while (shown.ends_with('\r')) shown.remove_suffix(1);
    shown.remove_prefix(shown.rfind('\r') + 1);  // npos + 1 is 0
    std::string plain;
    collect::foreign::strip_terminal(shown, plain);
    if (!trim(plain).empty()) lines.insert(lines.begin(), plain);
  }
  return lines;
}

std::vector<std::string> run_words(const WatchRun& run, bool all) {
  std::vector<std::string> words;
  if (run.epoch) {
    const bool known = run.total && run.total->epochs;
    words.push_back(known ? fmt::format("epoch {} of {}", *run.epoch, run.total->count)
                          : fmt::format("epoch {}", *run.epoch));
  }
  if (run.step) words.push_back(fmt::format("step {}", *run.step));
  if (all && run.loss) words.push_back(fmt::format("loss {:.4g}{}", *run.loss, nan_note(run.nan)));
  if (!run.runs()) return words;
  if (run.step_s) words.push_back(precise_duration(*run.step_s) + " a step");
  if (run.silent_s) words.push_back("no step for " + precise_duration(std::round(*run.silent_s)));
  if (all && run.cores) words.push_back(fmt::format("{:.2f} CPUs", *run.cores));
  if (all && run.gpu) words.push_back(fmt::format("GPU {:.0f} %", *run.gpu * 100));
  if (run.left_s)
    words.push_back(
        fmt::format("about {} left ({})", remaining_text(*run.left_s), run.total->from));
  return words;
}

std::size_t first_running(const WatchList& list) {
  const auto found = std::ranges::find_if(list.rows, &WatchRun::runs);
  return found != list.rows.end() ? static_cast<std::size_t>(found - list.rows.begin()) : 0;
}

bool WatchState::over() const {
  if (gone) return true;
  if (list) return list->over;
  return detail && !detail->run.runs();
}

}  // namespace corral::cli
