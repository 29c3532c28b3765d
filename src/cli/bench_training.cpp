#include "cli/bench_training.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "cli/bench_measure.h"
#include "cli/destination.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTrialSteps = 300;
constexpr Nanos kProbing{std::chrono::seconds(60)};  // the first import of PyTorch can take long

// A classifier of the size of handwritten digits, one thread, seeded: the same work each time.
constexpr std::string_view kScript = R"python(
import os, sys, time
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
kind, steps = sys.argv[1], int(sys.argv[2])
times = []


def torch_steps():
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    torch.set_num_threads(1)
    images, labels = torch.rand(1440, 64), torch.randint(0, 10, (1440,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    loss_of = nn.CrossEntropyLoss()
    while True:
        for batch, wanted in loader:
            optimizer.zero_grad()
            loss_of(model(batch), wanted).backward()
            optimizer.step()
            yield


def numpy_steps():
    import numpy

    random = numpy.random.default_rng(0)
    images, labels = random.random((1440, 64)), random.integers(0, 10, 1440)
    first, second = random.normal(0, 0.1, (64, 256)), random.normal(0, 0.1, (256, 10))
    while True:
        chosen = random.integers(0, 1440, 32)
        batch = images[chosen]
        hidden = numpy.maximum(batch @ first, 0)
        scores = hidden @ second
        parts = numpy.exp(scores - scores.max(1, keepdims=True))
        error = parts / parts.sum(1, keepdims=True)
        error[numpy.arange(32), labels[chosen]] -= 1
        back = error @ second.T * (hidden > 0)
        second -= 0.002 * hidden.T @ error
        first -= 0.002 * batch.T @ back
        yield


running = torch_steps() if kind == "torch" else numpy_steps()
for _ in range(steps):
    began = time.perf_counter_ns()
    next(running)
    times.append(time.perf_counter_ns() - began)
file = os.environ.get("CORRAL_BENCH_STEPS")
if file:
    with open(file, "w") as out:
        out.writelines(f"{time / 1e9:.9f}\n" for time in times)
)python";

struct Kind {
  std::string_view name, modules, about;
};
constexpr std::array kKinds = {
    Kind{"torch", "torch", "a small PyTorch network, one thread"},
    Kind{"numpy", "numpy", "a small network in NumPy, one thread"},
    Kind{"loop", "", "a loop of fixed work, one thread (no training)"},
};

Result<Kind> choose(const std::string& wanted, const std::string& python) {
  std::string why;
  for (const Kind& kind : kKinds) {
    if (wanted != "auto" && wanted != kind.name) continue;
    const auto there =
        kind.modules.empty() ? Result<>() : can_import(python, std::string(kind.modules));
    if (there) return kind;
    if (wanted != "auto")
      return fail(Code::kInvalidArgument,
                  fmt::format("--training {}: {}", wanted, there.error().message));
  }
  return kKinds.back();
}

std::vector<std::string> command_of(const Kind& kind, const TrainingOptions& options,
                                    std::int64_t steps) {
  if (kind.name == "loop") return {program_path().string(), "bench", "loop", std::to_string(steps)};
  return {python_program(), (options.directory / "training.py").string(), std::string(kind.name),
          std::to_string(steps)};
}

Result<Measurement> try_once(const std::vector<std::string>& command,
                             const TrainingOptions& options, Interrupts& interrupts) {
  const fs::path file = options.directory / "trial.json";
  const fs::path errors = options.directory / "trial.err";
  Child child = TRY(Child::start({.argv = measured(file, command),
                                  .environment = options.environment,
                                  .output = {},
                                  .error_output = errors}));
  const ChildEnd end = TRY(child.wait(interrupts));
  if (end.status != 0) return tl::unexpected(ended_badly(end.status, errors));
  return read_measurement(file);
}

// So many steps that a run takes `length`, its start included; a tenth of it at least is steps.
std::int64_t steps_for(Nanos length, const Measurement& trial) {
  const double stepping = std::accumulate(trial.steps_s.begin(), trial.steps_s.end(), 0.0);
  const double start = std::max(0.0, trial.wall_s - stepping);
  const double each =
      stepping / static_cast<double>(std::max<std::size_t>(1, trial.steps_s.size()));
  const double left = std::max(seconds(length) - start, seconds(length) / 10);
  return std::max(std::int64_t{1},
                  static_cast<std::int64_t>(std::llround(left / std::max(each, 1e-6))));
}

Result<> find_program(const std::string& program) {
  const char* path = std::getenv("PATH");
  const auto found = sys::find_in_path(program, path != nullptr ? path : "/usr/bin:/bin");
  return found ? Result<>() : fail(Code::kInvalidArgument, found.error().message);
}

Result<Training> prepare_ours(const TrainingOptions& options, Interrupts& interrupts) {
  TRY(sys::replace_file(options.directory / "training.py", kScript, 0600, false));
  const Kind kind = TRY(choose(options.kind, python_program()));
  const Measurement trial =
      TRY(try_once(command_of(kind, options, kTrialSteps), options, interrupts));
  const std::int64_t steps = steps_for(options.length, trial);
  const double start =
      trial.wall_s - std::accumulate(trial.steps_s.begin(), trial.steps_s.end(), 0.0);
  return Training{.about = fmt::format("{}, {} steps", kind.about, steps),
                  .command = command_of(kind, options, steps),
                  .expected_s = std::max(seconds(options.length), start)};
}

}  // namespace

std::string python_program() {
  const char* chosen = std::getenv("CORRAL_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

Result<> can_import(const std::string& python, const std::string& modules) {
  int status = 0;
  const auto said = sys::capture_output(
      {.argv = {python, "-c", "import " + modules}, .directory = {}, .limit = kProbing}, &status);
  if (said && status == 0) return {};
  return fail(Code::kNotFound, fmt::format("{} cannot import {}", python, modules));
}

std::vector<std::string> measured(const fs::path& file, const std::vector<std::string>& command) {
  std::vector<std::string> words = {program_path().string(), "bench", "measure", file.string()};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Error ended_badly(int wait_status, const fs::path& errors) {
  const std::string text = sys::read_file(errors).value_or("");
  const std::string_view all = trim(text);
  const std::string_view line = all.substr(all.rfind('\n') + 1);
  const std::string how = WIFSIGNALED(wait_status)
                              ? fmt::format("by signal {}", WTERMSIG(wait_status))
                              : fmt::format("with status {}", WEXITSTATUS(wait_status));
  return {Code::kInvalidArgument,
          fmt::format("the training ended {}{}{}", how, line.empty() ? "" : ": ", line)};
}

Result<Training> prepare_training(const TrainingOptions& options, Interrupts& interrupts) {
  if (options.command.empty()) return prepare_ours(options, interrupts);
  std::vector<std::string> command = options.command;
  if (command[0].ends_with(".py")) command.insert(command.begin(), python_program());
  TRY(find_program(command[0]));
  const Measurement trial = TRY(try_once(command, options, interrupts));
  return Training{
      .about = join(options.command, " "), .command = command, .expected_s = trial.wall_s};
}

}  // namespace corral::cli
