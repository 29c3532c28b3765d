#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/json.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDemoExamples =
    "  corral demo                     watch it at the address that it prints; Ctrl-C ends it\n"
    "  corral demo --keep ./first      keep store and script in a new directory\n";

constexpr Nanos kStarting{std::chrono::seconds(30)};
constexpr Nanos kEnding{std::chrono::seconds(10)};
constexpr Nanos kRound{std::chrono::milliseconds(100)};

struct DemoFlags {
  std::string keep;
  std::string listen;
  Nanos time = std::chrono::seconds(20);
};

// The trainings differ in their learning rate and in the seconds that the loader waits in each
// step.
struct Training {
  const char* name;
  const char* rate;
  const char* wait;
};
constexpr std::array kTrainings = {Training{"quick-loader", "0.2", "0"},
                                   Training{"slow-loader", "0.02", "0.01"}};

// Its directory, the server of the store in it, and the trainings. All ends with it, and the
// directory goes unless it is to be kept.
class Demo {
 public:
  static Result<Demo> open(const DemoFlags& flags);
  Demo(Demo&& other) noexcept = default;
  Demo& operator=(Demo&&) = delete;
  ~Demo();

  // Returns the page's address once the server answers.
  Result<std::string> serve(Interrupts& interrupts);
  // Runs the trainings side by side; false when an interrupt ended them.
  Result<bool> train(Interrupts& interrupts);
  // Prints the runs and what was found about each.
  Result<> sum_up(Interrupts& interrupts);
  // Until an interrupt.
  Result<> stay(Interrupts& interrupts);
  // Stops what still runs, and waits for it.
  void end(Interrupts& interrupts);

 private:
  Demo(const DemoFlags& flags, fs::path directory);
  [[nodiscard]] fs::path file(const char* name) const { return directory_ / name; }
  // The words that call `corral VERB REST` on its own store.
  [[nodiscard]] std::vector<std::string> corral(const char* verb,
                                                const std::vector<std::string>& rest) const;
  Result<std::string> output_of(std::vector<std::string> words, Interrupts& interrupts);

  DemoFlags flags_;
  fs::path directory_;
  std::vector<std::string> environment_ = environment_elsewhere();
  std::optional<Child> server_;
  bool served_ = false;  // there is something to keep
  std::vector<Child> trainings_;
};

Result<fs::path> make_directory(const std::string& keep) {
  std::error_code error;
  if (keep.empty()) {
    const fs::path folder = fs::temp_directory_path(error);
    if (error) return fail_errno("TMPDIR", error.value());
    std::string name = (folder / "corral-demo-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return fail_errno(name, errno);
    return name;
  }
  if (fs::exists(keep, error))
    return fail(Code::kAlreadyExists, "--keep " + keep + ": exists; name a new directory");
  if (!fs::create_directories(keep, error)) return fail_errno(keep, error.value());
  return fs::absolute(keep, error);
}

Demo::Demo(const DemoFlags& flags, fs::path directory)
    : flags_(flags), directory_(std::move(directory)) {}

Result<Demo> Demo::open(const DemoFlags& flags) {
  const auto python = sys::find_in_path(python_program());
  if (!python)
    return fail(Code::kNotFound,
                python.error().message + "; the demo's trainings need Python 3.10");
  const fs::path package = python_path(program_path());
  if (package.empty())
    return fail(Code::kNotFound, "the Python package is not where it was installed");
  Demo demo(flags, TRY(make_directory(flags.keep)));
  // The user's own configuration is for their own runs.
  const fs::path configuration = demo.file("corral.toml");
  TRY(sys::replace_file(configuration, "", 0644, false));
  std::erase_if(demo.environment_,
                [](const std::string& entry) { return entry.starts_with("CORRAL_CONFIG="); });
  demo.environment_.push_back("CORRAL_CONFIG=" + configuration.string());
  const std::string script = TRY(sys::read_file(package / "corral" / "_demo.py"));
  TRY(sys::replace_file(demo.file("train.py"), script, 0644, false));
  return demo;
}

Demo::~Demo() {
  trainings_.clear();
  server_.reset();
  std::error_code error;
  if ((flags_.keep.empty() || !served_) && !directory_.empty()) fs::remove_all(directory_, error);
}

std::vector<std::string> Demo::corral(const char* verb,
                                      const std::vector<std::string>& rest) const {
  std::vector<std::string> words = {program_path().string(), verb,      "--store",
                                    file("store"),           "--spool", file("spool")};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

Result<std::string> Demo::serve(Interrupts& interrupts) {
  std::vector<std::string> options = {"--idle-exit", "--idle-after", "365d"};
  if (!flags_.listen.empty()) options.insert(options.end(), {"--listen", flags_.listen});
  const fs::path log = file("server.log");
  server_.emplace(TRY(Child::start({.argv = corral("serve", options),
                                    .environment = environment_,
                                    .output = log,
                                    .error_output = log})));
  const BootTime deadline = sys::boot_now() + kStarting;
  while (sys::boot_now() < deadline && !server_->ended()) {
    if (const auto record = sys::read_server_record(file("store"))) {
      served_ = true;
      return record->url;
    }
    if (interrupts.wait(kRound)) return fail(Code::kUnavailable, "interrupted");
  }
  return fail(Code::kUnavailable,
              "the server did not start: " + std::string(trim(sys::read_file(log).value_or(""))));
}

Result<bool> Demo::train(Interrupts& interrupts) {
  const std::string seconds_text = fmt::format("{:g}", seconds(flags_.time));
  for (const Training& training : kTrainings) {
    const fs::path log = file("trainings.log");
    trainings_.push_back(TRY(Child::start(
        {.argv = corral("run", {"--quiet", "--experiment", "demo", "--workload", "demo", "--name",
                                training.name, file("train.py"), "--seconds", seconds_text, "--lr",
                                training.rate, "--wait", training.wait}),
         .environment = environment_,
         .output = log,
         .error_output = log})));
  }
  const bool shows = ::isatty(STDERR_FILENO) == 1;
  const BootTime began = sys::boot_now();
  const auto all_ended = [this] { return std::ranges::all_of(trainings_, &Child::ended); };
  while (!interrupts.asked() && !all_ended()) {
    // The trainings start after this clock, and store the rest of their data after it.
    const double passed = seconds(sys::boot_now() - began);
    if (shows && passed < seconds(flags_.time))
      fmt::print(stderr, "\rtraining: {:.0f} s of {} s ", passed, seconds_text);
    else if (shows)
      fmt::print(stderr, "\rtraining: finishing \033[K");
    interrupts.wait(kRound);
  }
  if (shows) fmt::print(stderr, "\r\033[K");
  if (interrupts.asked()) return false;
  bool failed = false;
  for (Child& training : trainings_) failed |= TRY(training.wait(interrupts)).status != 0;
  trainings_.clear();
  if (failed)
    return fail(Code::kUnavailable,
                "a training failed: " +
                    std::string(trim(sys::read_file(file("trainings.log")).value_or(""))));
  return true;
}

Result<std::string> Demo::output_of(std::vector<std::string> words, Interrupts& interrupts) {
  const fs::path out = file("answer");
  Child child = TRY(Child::start(
      {.argv = std::move(words), .environment = environment_, .output = out, .error_output = out}));
  const ChildEnd end = TRY(child.wait(interrupts));
  std::string text = TRY(sys::read_file(out));
  std::error_code error;
  fs::remove(out, error);
  if (end.status != 0) return fail(Code::kUnavailable, std::string(trim(text)));
  return text;
}

Result<> Demo::sum_up(Interrupts& interrupts) {
  fmt::print("{}\n", TRY(output_of(corral("ls", {"runs"}), interrupts)));
  for (const Training& training : kTrainings) {
    const std::string found =
        TRY(output_of(corral("explain", {training.name, "--format", "json"}), interrupts));
    fmt::print("{}: {}\n", training.name, TRY(Json::parse(found)).get_string("summary"));
  }
  return {};
}

Result<> Demo::stay(Interrupts& interrupts) {
  while (!interrupts.wait(std::chrono::hours(1)))
    if (server_->ended()) return fail(Code::kUnavailable, "the server has ended");
  return {};
}

void Demo::end(Interrupts& interrupts) {
  for (Child& training : trainings_) (void)training.stop(interrupts, kEnding);
  if (server_) (void)server_->stop(interrupts, kEnding);
  trainings_.clear();
  server_.reset();
}

Result<> demonstrate(Demo& demo, const DemoFlags& flags, Interrupts& interrupts) {
  const std::string url = TRY(demo.serve(interrupts));
  fmt::print("Two trainings share this machine for {:g} s. Watch them at\n\n  {}\n\n",
             seconds(flags.time), url);
  std::fflush(stdout);
  if (!TRY(demo.train(interrupts))) return {};
  TRY(demo.sum_up(interrupts));
  fmt::print("\nThe page stays at {} until Ctrl-C.\n", url);
  std::fflush(stdout);
  TRY(demo.stay(interrupts));
  return {};
}

}  // namespace

int demo_command(std::span<char* const> args) {
  DemoFlags flags;
  Arguments arguments(
      "demo",
      "Trains two small networks side by side, which differ in their loader and "
      "learning rate, and shows them. Needs Python 3.10 or newer, and nothing else. "
      "Ctrl-C ends it and removes what it recorded.",
      kDemoExamples);
  arguments.text("keep", flags.keep, "keep store and script in this new directory");
  arguments.duration("time", flags.time, "how long the trainings take (default: 20s)");
  arguments.text("listen", flags.listen,
                 "ADDR:PORT of the page (default: a free port from 5000 on)");
  for (const char* name : {"keep", "time", "listen"}) arguments.as_flag_only(name);
  if (const auto status = arguments.parse(args)) return *status;
  // A reader of the output that leaves must not leave the demo's directory behind.
  ::signal(SIGPIPE, SIG_IGN);
  Interrupts interrupts;
  auto demo = Demo::open(flags);
  if (!demo) return report("demo", demo.error());
  const auto done = demonstrate(*demo, flags, interrupts);
  {
    Demo ended = std::move(*demo);  // its end deletes what is not kept
    ended.end(interrupts);
  }
  if (!done && !interrupts.asked()) return report("demo", done.error());
  if (!flags.keep.empty())
    fmt::print("kept: corral serve --store '{}/store'\n", flags.keep);
  else
    fmt::print("\nThe demo and its runs are deleted. Next, record your own: corral run train.py\n");
  return kDone;
}

}  // namespace corral::cli
