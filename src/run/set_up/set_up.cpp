#include "run/set_up/set_up.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "core/limits.h"
#include "core/sha256.h"
#include "core/text.h"
#include "run/set_up/data_sets.h"
#include "run/set_up/fact.h"
#include "run/set_up/git_tree.h"
#include "run/set_up/kept_code.h"
#include "run/set_up/noise.h"
#include "run/set_up/packages.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;
using codec::Fact;
using codec::FactKind;

// JSON escapes take some more.
constexpr std::size_t kTextBytes = limits::kFactBytes * 3 / 4;

// At idle priority on a busy machine.
constexpr Nanos kPatience{std::chrono::minutes(1)};

// Returns the output of a program that succeeded; otherwise the error describes its end.
Result<std::string> run_program(std::vector<std::string> argv, const fs::path& directory) {
  const std::string name = argv[0];
  int code = 0;
  std::string text = TRY(sys::capture_output(
      {.argv = std::move(argv), .directory = directory, .limit = kPatience}, &code));
  if (code != 0) return fail(Code::kUnavailable, fmt::format("{} failed", name));
  return text;
}

// Returns a text cut to the size of a fact.
std::string cut_text(const std::string& text) {
  const std::string whole = to_utf8(text);
  std::string cut = whole.substr(0, utf8_prefix(std::string_view(whole).substr(0, kTextBytes)));
  while (Json(cut).dump().size() > limits::kFactBytes - 100)
    cut.resize(utf8_prefix(std::string_view(cut).substr(0, cut.size() / 2)));
  return cut.size() < whole.size() ? cut + "\n…\n" : cut;
}

constexpr std::size_t kHashBytes = 8;

// The recorded diff: the hash is of the original, the text is masked line by line.
class RecordedDiff {
 public:
  RecordedDiff(const Subject& subject, Mask& mask) : subject_(subject), mask_(mask) {}

  // False: it is too large.
  bool add(std::string_view piece) {
    constexpr std::size_t kMost = 64u << 20;
    constexpr std::size_t kLongestLine = 1u << 20;
    hash_.add(piece);
    bytes_ += piece.size();
    for (const char c : piece) {
      if (c == '\n' || open_.size() == kLongestLine) end_line(c == '\n');
      if (c != '\n') open_ += c;
    }
    return bytes_ <= kMost;
  }

  void finish(std::vector<Fact>& facts) {
    if (!open_.empty()) end_line(false);
    facts.push_back(info("git_diff", cut_text(start_)));
    facts.push_back(info("git_diff_hash", hex(hash_.finish(), kHashBytes)));
  }

 private:
  void end_line(bool ended) {
    const std::string line =
        (subject_.mask ? mask_.text(scan_.line(open_)) : open_) + (ended ? "\n" : "");
    open_.clear();
    if (start_.size() <= kTextBytes) start_ += line;
    if (subject_.add_diff) subject_.add_diff(line);
  }

  const Subject& subject_;
  Mask& mask_;
  DiffScan scan_;
  Sha256Stream hash_;
  std::size_t bytes_ = 0;
  std::string open_, start_;
};

void add_diff(const GitTree& tree, const Subject& subject, Mask& mask, std::vector<Fact>& facts) {
  RecordedDiff recorded(subject, mask);
  const auto diff =
      tree.diff(subject.refused, [&](std::string_view piece) { return recorded.add(piece); });
  if (diff) return recorded.finish(facts);
  const std::string reason =
      diff.error().code == Code::kTooLarge ? "the diff is larger than 64 MiB" : "git diff failed";
  facts.push_back(absent("git_diff", reason));
  if (subject.refuse_diff) subject.refuse_diff(reason);
}

void add_git(const Subject& subject, Mask& mask, std::vector<Fact>& facts) {
  const auto tree = GitTree::open(subject.directory);
  if (!tree) {
    const bool there = tree.error().message == "git failed";
    facts.push_back(absent("git", there ? "not in a git repository" : tree.error().message));
    return;
  }
  if (tree->commit().empty()) {
    facts.push_back(absent("git", "no commit yet"));
    return;
  }
  facts.push_back(info("git_commit", tree->commit()));
  if (tree->runs_filters()) {
    facts.push_back(absent("git_dirty",
                           "the repository's own configuration names filters, which are programs: "
                           "git status is not asked"));
    return;
  }
  const auto dirty = tree->is_dirty();
  facts.push_back(dirty ? info("git_dirty", *dirty) : absent("git_dirty", "git status failed"));
  if (dirty && *dirty) add_diff(*tree, subject, mask, facts);
}

bool packages_known(const Subject& subject) {
  const auto is_list = [](const auto& entry) { return entry.first == "environment.packages"; };
  return std::ranges::any_of(subject.prepared, is_list);
}

void add_interpreter(const Subject& subject, Mask& mask, std::vector<Fact>& facts) {
  if (subject.interpreter.empty()) return;
  const auto known = ask_interpreter(
      subject.interpreter, {.argv = {}, .directory = subject.directory, .limit = kPatience});
  if (!known) {
    const auto version = run_program({subject.interpreter, "--version"}, subject.directory);
    if (version) facts.push_back(info("interpreter_version", std::string(trim(*version))));
    if (!packages_known(subject))
      facts.push_back(absent("environment.packages", "the interpreter did not say its path"));
    return;
  }
  facts.push_back(info("interpreter_version", known->version));
  if (packages_known(subject)) return;
  const std::string packages = cut_lines(mask.text(python_packages(known->path)), kTextBytes);
  facts.push_back(packages.empty() ? absent("environment.packages", "none are installed")
                                   : info("environment.packages", cut_text(packages)));
}

void add_conda(std::vector<Fact>& facts) {
  const char* prefix = std::getenv("CONDA_PREFIX");
  if (prefix == nullptr || *prefix == '\0') return;
  const std::string packages = cut_lines(conda_packages(prefix), kTextBytes);
  facts.push_back(packages.empty()
                      ? absent("environment.conda", "no packages in $CONDA_PREFIX/conda-meta")
                      : info("environment.conda", cut_text(packages)));
}

bool describes(const Fact& fact) {
  constexpr std::array kPrefixes = std::to_array<std::string_view>(
      {"set_up.", "environment.", "interpreter", "git_", "data.", "code.hash"});
  const auto starts = [&](std::string_view prefix) { return fact.key.starts_with(prefix); };
  return (fact.kind == FactKind::kInfo || fact.kind == FactKind::kUnavailable) &&
         std::ranges::any_of(kPrefixes, starts);
}

// Returns the hash of facts that have no hash yet.
Fact hash_fact(std::vector<Fact> facts, const Subject& subject) {
  // Equal hashes mean equal code: if a part is unknown, there is no hash.
  const auto unknown = std::ranges::find_if(facts, [](const Fact& fact) {
    return fact.key == "code.hash" && fact.kind == FactKind::kUnavailable && fact.value != kNoCode;
  });
  if (unknown != facts.end()) return absent("set_up.hash", "code.hash: " + unknown->value);
  for (const auto& [key, value] : subject.prepared) facts.push_back(info(key, to_utf8(value)));
  return info("set_up.hash", set_up_hash(facts));
}

}  // namespace

std::vector<Fact> facts(const Subject& subject) {
  std::vector<Fact> all;
  Mask code(subject.mask), packages(subject.mask), variables_mask(subject.mask);
  add_git(subject, code, all);
  add_interpreter(subject, packages, all);
  if (!packages_known(subject)) add_conda(all);
  const std::string variables =
      cut_lines(recorded_variables(sys::own_environment(), variables_mask), kTextBytes);
  all.push_back(variables.empty() ? absent("environment.variables", "none that are recorded")
                                  : info("environment.variables", cut_text(variables)));
  std::error_code error;
  const fs::path here = subject.directory.empty() ? fs::current_path(error) : subject.directory;
  for (Fact& fact : noise(subject.root, read_outside(here))) {
    const bool own_cpus = fact.key == "set_up.cpus_allowed" && !subject.cpus.empty();
    all.push_back(own_cpus ? info(fact.key, subject.cpus) : std::move(fact));
  }
  for (Fact& fact : data_sets(data_options(subject.command), here, {}))
    all.push_back(std::move(fact));
  all.insert(all.end(), subject.code.begin(), subject.code.end());
  all.push_back(hash_fact(all, subject));
  add_masked("git_diff", code, all);
  add_masked("environment.packages", packages, all);
  add_masked("environment.variables", variables_mask, all);
  return all;
}

std::vector<Fact> changed_code_facts(std::vector<Fact> facts, const Subject& subject) {
  std::erase_if(facts, [](const Fact& fact) {
    return fact.key == "set_up.hash" || fact.key.starts_with("code.");
  });
  facts.insert(facts.end(), subject.code.begin(), subject.code.end());
  std::vector<Fact> newer = subject.code;
  newer.push_back(hash_fact(std::move(facts), subject));
  return newer;
}

std::string set_up_hash(const std::vector<Fact>& facts) {
  utsname kernel{};
  ::uname(&kernel);
  std::vector<std::string> lines;
  for (const Fact& fact : facts)
    if (describes(fact)) lines.push_back(fact.key + '\x1f' + fact.value);
  std::ranges::sort(lines);
  return hex(sha256(join(lines, "\x1e") + '\x1e' + kernel.release), kHashBytes);
}

namespace {

constexpr auto kPrefixes = std::to_array<std::string_view>(
    {"CUDA_",   "CUBLAS_", "CUDNN_",    "NCCL_",    "NVIDIA_",      "TORCH_",        "PYTORCH_",
     "TF_",     "XLA_",    "JAX_",      "KERAS_",   "OMP_",         "GOMP_",         "KMP_",
     "MKL_",    "DNNL_",   "OPENBLAS_", "NUMEXPR_", "MALLOC_",      "HIP_",          "ROCR_",
     "MIOPEN_", "ZE_",     "GLOO_",     "UCX_",     "TORCHDYNAMO_", "TORCHINDUCTOR_"});
constexpr auto kNames =
    std::to_array<std::string_view>({"PYTHONHASHSEED",     "PYTHONPATH",
                                     "PYTHONOPTIMIZE",     "LD_PRELOAD",
                                     "LD_LIBRARY_PATH",    "VIRTUAL_ENV",
                                     "CONDA_PREFIX",       "CONDA_DEFAULT_ENV",
                                     "WORLD_SIZE",         "RANK",
                                     "LOCAL_RANK",         "LOCAL_WORLD_SIZE",
                                     "SLURM_JOB_ID",       "SLURM_JOB_PARTITION",
                                     "SLURM_JOB_NODELIST", "SLURM_NNODES",
                                     "SLURM_NTASKS",       "SLURM_PROCID",
                                     "SLURM_LOCALID",      "SLURM_CPUS_PER_TASK",
                                     "SLURM_GPUS",         "SLURM_ARRAY_TASK_ID"});

constexpr std::size_t kValueBytes = 1000;

}  // namespace

bool is_recorded(std::string_view variable) {
  if (hints_at_secret(variable)) return false;  // overrides the lists above
  const auto starts = [&](std::string_view prefix) { return variable.starts_with(prefix); };
  return std::ranges::any_of(kPrefixes, starts) ||
         std::ranges::find(kNames, variable) != kNames.end();
}

std::string recorded_variables(const std::vector<std::string>& environment, Mask& mask) {
  std::map<std::string, std::string> chosen;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || !is_recorded(std::string_view(entry).substr(0, equals)))
      continue;
    std::string value = mask.text(to_utf8(std::string_view(entry).substr(equals + 1)));
    if (value.size() > kValueBytes)
      value = value.substr(0, utf8_prefix(std::string_view(value).substr(0, kValueBytes))) + "…";
    std::ranges::replace(value, '\n', ' ');
    chosen[to_utf8(entry.substr(0, equals))] = std::move(value);
  }
  std::string lines;
  for (const auto& [name, value] : chosen) lines += fmt::format("{}={}\n", name, value);
  return lines;
}

}  // namespace corral::run::set_up
