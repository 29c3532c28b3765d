#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "cli/arguments.h"
#include "cli/bench_report.h"
#include "cli/bench_stage.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/help.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr const char* kBenchExamples =
    "  corral bench listeners                             what `corral run` costs, 10 minutes\n"
    "  corral bench listeners --listeners off,default --margin 1% -- train.py --epochs 3\n"
    "  corral bench listeners --listeners each --peers all --out overhead --format markdown\n"
    "  corral bench listeners --listeners off --planted 5%    can it find what is there?\n"
    "\nSettings: default is all of `corral run`, none only the recorder, off nothing at all, each "
    "one\nsetting per listener. Exit status: 1 if a setting of Corral or a planted burner is "
    "outside "
    "the\nmargin, 130 after Ctrl-C, else 0.\n";
constexpr Nanos kShortest{std::chrono::milliseconds(50)};
constexpr Nanos kLongest{std::chrono::hours(1)};
constexpr std::size_t kMostPairs = 10'000;

struct BenchFlags {
  std::string listeners = "default";
  std::string peers = "none";
  std::string peer_python;
  std::string planted;
  std::string pairs = "30";
  std::string margin = "1%";
  std::string seed = "1";
  std::string out;
  std::string format = "table";
  Nanos length = kNoDuration;
  TrainingOptions training;
};

void declare_bench(Arguments& a, BenchFlags& f) {
  a.text("listeners", f.listeners,
         "by commas: default, none, capture, off, each, or listeners joined by +");
  a.as_flag_only("listeners");  // the variable and the file choose the listeners of `corral run`
  a.text("peers", f.peers, "other tools to compare, by commas, or all (default: none); see below");
  a.text("peer-python", f.peer_python,
         "Python that has the peers' packages (default: the training's)");
  a.text("planted", f.planted,
         "add a burner of this share of the training's CPU, e.g. 5%, as a control");
  a.text("pairs", f.pairs, "pairs of runs, off and on, per setting (default: 30)");
  a.text("margin", f.margin, "largest slowdown that counts as equal (default: 1%)");
  a.text("seed", f.seed, "seed of the random order (default: 1)");
  a.choice("training", f.training.kind, {"auto", "torch", "numpy", "loop"},
           "built-in training: auto, torch, numpy or loop (default: auto)");
  a.duration("seconds", f.length, "length of a run of the built-in training (default: 10s)");
  a.choice("format", f.format, {"table", "markdown", "json"},
           "table, markdown or json (default: table)");
  a.text("out", f.out, "write OUT.json and OUT.csv with every run");
  a.rest("[-- COMMAND [ARGS]]", f.training.command, nullptr);
}

Result<double> parse_share(const std::string& option, const std::string& text, double most) {
  const bool percent = text.ends_with('%');
  const auto number = parse_double(trim(text.substr(0, text.size() - (percent ? 1 : 0))));
  const double share = number.value_or(NAN) / (percent ? 100 : 1);
  if (share > 0 && share <= most) return share;
  return fail(Code::kInvalidArgument,
              fmt::format("--{} {}: must be greater than 0 and at most {:g} %, e.g. 1%", option,
                          text, most * 100));
}

Result<std::int64_t> parse_count(const std::string& option, const std::string& text,
                                 std::int64_t least, std::int64_t most) {
  const auto number = parse_int(text);
  if (number && *number >= least && *number <= most) return *number;
  return fail(Code::kInvalidArgument, fmt::format("--{} {}: must be a whole number from {} to {}",
                                                  option, text, least, most));
}

Result<> complete_training(BenchFlags& f) {
  if (!f.training.command.empty() && (f.length != kNoDuration || f.training.kind != "auto"))
    return fail(Code::kInvalidArgument,
                "--seconds and --training apply to the built-in training only");
  if (f.length == kNoDuration) f.length = std::chrono::seconds(10);
  if (f.length < kShortest || f.length > kLongest)
    return fail(Code::kInvalidArgument, "--seconds: must be 50ms to 1h");
  f.training.length = f.length;
  return {};
}

// OUT, without the suffix that somebody may have given it.
std::string without_suffix(const std::string& out) {
  for (const std::string_view suffix : {".json", ".csv"}) {
    if (out.ends_with(suffix)) return out.substr(0, out.size() - suffix.size());
  }
  return out;
}

Result<Bench> complete_bench(BenchFlags& f) {
  Bench bench;
  TRY(complete_training(f));
  bench.wanted_pairs = static_cast<std::size_t>(
      TRY(parse_count("pairs", f.pairs, 2, static_cast<std::int64_t>(kMostPairs))));
  bench.seed = static_cast<std::uint64_t>(
      TRY(parse_count("seed", f.seed, 0, std::numeric_limits<std::int64_t>::max())));
  bench.margin = TRY(parse_share("margin", f.margin, 0.5));
  bench.settings = TRY(parse_settings(f.listeners));
  if (!f.planted.empty()) {
    const double share = TRY(parse_share("planted", f.planted, 0.9));
    bench.settings.push_back(planted_burner(share));
  }
  const std::string python = f.peer_python.empty() ? python_program() : f.peer_python;
  for (Setting& peer : TRY(parse_peers(f.peers, python))) bench.settings.push_back(std::move(peer));
  if (bench.settings.empty())
    return fail(Code::kInvalidArgument, "--listeners and --peers name nothing to measure");
  f.out = without_suffix(f.out);
  return bench;
}

double load() {
  double one = 0;
  return ::getloadavg(&one, 1) == 1 ? one : 0;
}

// On standard error: a line that is written over on a terminal, one of each tenth elsewhere.
class PairProgress {
 public:
  PairProgress(std::size_t pairs, double expected_s)
      : pairs_(pairs), expected_s_(expected_s), terminal_(::isatty(2) == 1) {}

  void before(std::size_t done, const std::string& setting) {
    const double passed = seconds(sys::boot_now() - began_);
    const double each = done == 0 ? expected_s_ : passed / static_cast<double>(done);
    const auto left =
        Nanos(static_cast<std::int64_t>(each * static_cast<double>(pairs_ - done) * 1e9));
    const std::string line = fmt::format("corral bench: pair {} of {} ({}), about {} left",
                                         done + 1, pairs_, setting, human_duration(left));
    if (terminal_) {
      fmt::print(stderr, "\r\x1b[K{}", line);
    } else if (tenths_ != done * 10 / pairs_) {
      tenths_ = done * 10 / pairs_;
      fmt::print(stderr, "{}\n", line);
    }
    std::fflush(stderr);
  }
  void end() const {
    if (terminal_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  std::size_t pairs_;
  double expected_s_;
  bool terminal_;
  std::size_t tenths_ = 10;  // those done when a line was last written; 10: none yet
  BootTime began_ = sys::boot_now();
};

Result<> write_raw(const Bench& bench, const std::string& out) {
  if (out.empty()) return {};
  TRY(sys::replace_file(out + ".json", bench_json(bench) + "\n"));
  return sys::replace_file(out + ".csv", bench_csv(bench));
}

// A tool that does not start here is named and left out; earlier measurements of it stay.
bool skip_peer(Setting& setting, const Error& error) {
  if (!setting.is_peer() || error.code == Code::kUnavailable) return false;
  setting.missing = error.message;
  return true;
}

Result<> make_pair(Bench& bench, Pair& pair, Stage& stage, Interrupts& interrupts) {
  const Setting& setting = bench.settings[pair.setting];
  for (const bool on : {pair.on_first, !pair.on_first}) {
    auto& side = on ? pair.on : pair.off;
    side = TRY(stage.run(setting, on, bench.command, interrupts));
  }
  return {};
}

std::vector<std::size_t> present(const Bench& bench) {
  std::vector<std::size_t> settings;
  for (std::size_t i = 0; i < bench.settings.size(); ++i) {
    if (bench.settings[i].missing.empty()) settings.push_back(i);
  }
  return settings;
}

Result<> make_pairs(Bench& bench, Stage& stage, Interrupts& interrupts, const BenchFlags& flags,
                    double expected_s) {
  const std::vector<Pair> plan = plan_pairs(present(bench), bench.wanted_pairs, bench.seed);
  PairProgress progress(plan.size(), 2 * expected_s);
  for (std::size_t done = 0; done < plan.size(); ++done) {
    Setting& setting = bench.settings[plan[done].setting];
    if (!setting.missing.empty()) continue;
    progress.before(done, setting.name);
    Pair& pair = bench.pairs.emplace_back(plan[done]);
    auto made = make_pair(bench, pair, stage, interrupts);
    if (!made && !skip_peer(setting, made.error())) {
      progress.end();
      return made;
    }
    TRY(write_raw(bench, flags.out));
  }
  progress.end();
  return {};
}

bool any_outside_margin(const Bench& bench) {
  for (std::size_t i = 0; i < bench.settings.size(); ++i) {
    if (!bench.settings[i].is_peer() &&
        summarize(bench, i).verdict == analyze::Equivalence::kNotWithin)
      return true;
  }
  return false;
}

Result<int> measure(Bench& bench, BenchFlags& flags) {
  Interrupts interrupts;
  Stage stage = TRY(Stage::open());
  flags.training.directory = stage.directory();
  flags.training.environment = stage.environment();
  fmt::print(stderr, "corral bench: warm-up run, to measure how long a run takes\n");
  const Training training = TRY(prepare_training(flags.training, interrupts));
  bench.training = training.about;
  bench.command = training.command;
  for (const Setting& setting : bench.settings) {
    if (setting.kind == Setting::Kind::kCorral) TRY(stage.serve(interrupts));
  }
  bench.load_before = load();
  bench.began = sys::utc_now();
  const auto made = make_pairs(bench, stage, interrupts, flags, training.expected_s);
  bench.load_after = load();
  TRY(write_raw(bench, flags.out));
  if (!made && !interrupts.asked()) return tl::unexpected(made.error());
  fmt::print("{}", print_bench(bench, flags.format));
  if (!made) return kInterrupted;
  return any_outside_margin(bench) ? kFailed : kDone;
}

int bench_listeners(std::span<char* const> args) {
  BenchFlags flags;
  Arguments arguments(
      "bench listeners",
      "Measures what recording costs a training: runs it in pairs, with and without recording, and "
      "reports the slowdown with its interval, the cost of collecting, and whether the slowdown is "
      "within a margin. Without COMMAND it runs a small built-in training.",
      std::string(kBenchExamples) + wrapped("Peers: " + join(peer_names(), ", ") + ".") + "\n");
  declare_bench(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  auto bench = complete_bench(flags);
  const auto status = bench ? measure(*bench, flags) : Result<int>(tl::unexpected(bench.error()));
  if (status) return *status;
  fmt::print(stderr, "corral bench listeners: {}\n", status.error().message);
  return status.error().code == Code::kInvalidArgument ? kMisuse : kFailed;
}

constexpr std::array kBenchVerbs = {
    Verb{"listeners", "measure how much recording slows a training down", bench_listeners},
    // Processes that `listeners` starts.
    Verb{"measure", "", bench_measure},
    Verb{"loop", "", bench_loop},
    Verb{"burn", "", bench_burn},
};

constexpr std::string_view kBenchHead =
    "Measures the overhead of recording on this machine (docs/overhead.md).\n\n"
    "Usage: corral bench listeners [OPTIONS] [-- COMMAND]\n\n";
constexpr std::string_view kBenchFoot = "\ncorral bench listeners --help shows the options.\n";

}  // namespace

int bench_command(std::span<char* const> args) {
  return call_verb(
      {.name = "corral bench", .head = kBenchHead, .foot = kBenchFoot, .verbs = kBenchVerbs}, args);
}

}  // namespace corral::cli
