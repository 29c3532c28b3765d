#include "run/job.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/sha256.h"
#include "core/text.h"
#include "spool/segment_identity.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/private_directory.h"
#include "sys/socket.h"

namespace corral::run {
namespace {

constexpr const char* kSecret = "job-secret";
constexpr std::size_t kSecretBytes = 64;
constexpr Nanos kSecretPatience{std::chrono::seconds(2)};
constexpr Nanos kSecretPause{std::chrono::milliseconds(5)};
constexpr std::string_view kNote = "job-";
constexpr auto kNotesKept = std::chrono::days(60);
// Runs that one member of a job may have.
constexpr int kMostRuns = 10'000;

// Commands that start ranks themselves, on their host.
constexpr std::array<std::string_view, 4> kLaunchers = {"torchrun", "accelerate", "deepspeed",
                                                        "horovodrun"};
constexpr std::array<std::string_view, 2> kModules = {"torch.distributed.run",
                                                      "torch.distributed.launch"};

bool starts_ranks(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  const std::string name = spool::fs::path(command[0]).filename().string();
  return std::ranges::find(kLaunchers, name) != kLaunchers.end() ||
         std::ranges::any_of(command, [](const std::string& word) {
           return std::ranges::find(kModules, word) != kModules.end();
         });
}

// A name of one part, for a file.
std::string host_label() {
  std::string name = sys::host_name();
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  return name.empty() ? "unknown" : name;
}

std::int64_t number_of(const Variable& variable, const char* name) {
  return parse_int(variable(name)).value_or(-1);
}

struct Launch {
  std::string key;  // no other job has it
  std::int64_t processes = 1;
  std::optional<std::int64_t> rank{};  // this process's
  std::int64_t on_host = 0;            // its number among those on this host
};

std::optional<std::int64_t> rank_in(const Variable& variable, const char* name) {
  const std::int64_t rank = number_of(variable, name);
  return rank >= 0 ? std::optional(rank) : std::nullopt;
}

// Open MPI, alone or in a job of Slurm. (srun with PMIx names the step, which Slurm's own variables
// do as well.) The name comes again after a time; the address of its mpirun tells such jobs apart.
// Open MPI 5 does not say it.
std::optional<Launch> launch_of_mpi(const Variable& variable) {
  const std::string name = variable("PMIX_NAMESPACE");
  const std::string address = variable("OMPI_MCA_orte_hnp_uri");
  const std::int64_t processes = number_of(variable, "OMPI_COMM_WORLD_SIZE");
  if (name.empty() || name.starts_with("slurm.pmix.") || address.empty() || processes < 1)
    return std::nullopt;
  return Launch{.key = fmt::format("mpi {} {}", name, address),
                .processes = processes,
                .rank = rank_in(variable, "OMPI_COMM_WORLD_RANK"),
                .on_host = number_of(variable, "OMPI_COMM_WORLD_LOCAL_RANK")};
}

// A step of srun's, or a batch script, which is started again when its job is requeued.
std::optional<Launch> launch_of_slurm(const Variable& variable) {
  std::string job = variable("SLURM_HET_JOB_ID");  // the components of one job share it
  if (job.empty()) job = variable("SLURM_JOB_ID");
  if (job.empty()) return std::nullopt;
  const std::string name = fmt::format("slurm {} {}", variable("SLURM_CLUSTER_NAME"), job);
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 31;  // those above are no steps
  for (const char* variable_name : {"SLURM_STEP_ID", "SLURM_STEPID"}) {
    const std::int64_t step = number_of(variable, variable_name);
    if (step < 0 || step >= kMostSteps) continue;
    const std::int64_t tasks = number_of(variable, "SLURM_STEP_NUM_TASKS");
    return Launch{.key = fmt::format("{}.{}", name, step),
                  .processes = tasks > 0 ? tasks : number_of(variable, "SLURM_NTASKS"),
                  .rank = rank_in(variable, "SLURM_PROCID"),
                  .on_host = number_of(variable, "SLURM_LOCALID")};
  }
  if (variable("ENVIRONMENT") != "BATCH") return std::nullopt;
  return Launch{.key = name + " batch", .processes = 1};
}

// The rank that any launcher tells.
std::optional<std::int64_t> any_rank(const Variable& variable) {
  std::string text;
  const std::int64_t rank = spool::rank_of([&](const char* name) {
    text = variable(name);
    return text.c_str();
  });
  return rank >= 0 ? std::optional(rank) : std::nullopt;
}

// Ranks of a launcher that does not say which job they belong to (Open MPI 5, MPICH, Intel MPI),
// perhaps inside a job of Slurm, whose numbers are then those of the launcher's own processes.
bool of_unnamed_launcher(const Variable& variable) {
  const std::string pmix = variable("PMIX_NAMESPACE");
  if (pmix.starts_with("slurm.pmix.")) return false;
  const bool step = number_of(variable, "SLURM_STEP_ID") >= 0;
  return !pmix.empty() || !variable("OMPI_COMM_WORLD_SIZE").empty() ||
         !variable("MPI_LOCALRANKID").empty() || (!variable("PMI_SIZE").empty() && !step);
}

Result<std::string> make_secret(const sys::PrivateDirectory& config) {
  const std::string secret = RunId::random().hex() + RunId::random().hex();
  const auto file = config.open_file(kSecret, O_WRONLY | O_CREAT | O_EXCL);
  if (!file && file.error().code == Code::kAlreadyExists) return std::string();  // another makes it
  if (!file) return tl::unexpected(file.error());
  if (const auto written = sys::write_all(file->get(), secret); !written) {
    config.remove(kSecret);
    return tl::unexpected(written.error());
  }
  return secret;
}

// Processes on many hosts may make it at once: the one whose file it is writes it.
Result<std::string> read_secret(const spool::fs::path& path) {
  const sys::PrivateDirectory config = TRY(sys::PrivateDirectory::make(path));
  for (const BootTime until = sys::boot_now() + kSecretPatience; sys::boot_now() < until;) {
    if (!config.exists(kSecret)) {
      if (std::string made = TRY(make_secret(config)); !made.empty()) return made;
    }
    const auto text = config.read_file(kSecret, kSecretBytes + 2);
    if (text && trim(*text).size() == kSecretBytes) return std::string(trim(*text));
    if (!text && text.error().code == Code::kPermission) return tl::unexpected(text.error());
    sys::system_clock().sleep_until(sys::boot_now() + kSecretPause);
  }
  return fail(Code::kUnavailable, fmt::format("{} has not {} characters; delete it",
                                              (path / kSecret).string(), kSecretBytes));
}

void forget_old_notes(const sys::PrivateDirectory& spool) {
  const UtcTime now = sys::utc_now();
  for (const std::string& name : spool.list()) {
    if (!name.starts_with(kNote)) continue;
    const auto facts = spool.facts(name);
    if (facts && now - UtcTime(std::chrono::seconds(facts->st_mtim.tv_sec)) > kNotesKept)
      spool.remove(name);
  }
}

// The number of runs that this member had, with this one.
Result<int> count_run(const sys::PrivateDirectory& spool, std::string_view secret, const Job& job) {
  forget_old_notes(spool);
  const std::string member = hex(
      hmac_sha256(secret,
                  fmt::format("member\n{}\n{}\n{}", job.key, job.member.label, job.member.attempt)),
      16);
  for (int run = 1; run <= kMostRuns; ++run) {
    const auto note =
        spool.open_file(fmt::format("{}{}-{}", kNote, member, run), O_WRONLY | O_CREAT | O_EXCL);
    if (note) return run;
    if (!spool.exists(fmt::format("{}{}-{}", kNote, member, run)))
      return tl::unexpected(note.error());
  }
  return fail(Code::kUnavailable, fmt::format("this job has had {} runs", kMostRuns));
}

}  // namespace

std::optional<Job> find_job(const std::string& chosen, const std::vector<std::string>& command,
                            const Variable& variable) {
  if (chosen == "none") return std::nullopt;
  const auto mpi = launch_of_mpi(variable);
  auto launch = mpi || of_unnamed_launcher(variable) ? mpi : launch_of_slurm(variable);
  if (!chosen.empty())
    launch = Launch{.key = "chosen " + chosen, .processes = 2, .rank = any_rank(variable)};
  if (!launch) return std::nullopt;
  Job job{.key = launch->key, .member = {}, .leads = true};
  if (!mpi)
    job.member.attempt = static_cast<std::uint32_t>(
        std::max<std::int64_t>(number_of(variable, "SLURM_RESTART_COUNT"), 0));
  if (launch->processes < 2) {
    // The commands of a script differ, as far as they are not meant to be the same.
    for (const std::string& word : command) job.key += "\n" + word;
    return job;
  }
  job.leads = launch->rank.value_or(0) == 0;
  if (!starts_ranks(command) || launch->on_host > 0) job.member.rank = launch->rank;
  job.member.label = job.member.rank ? fmt::format("rank{}", *job.member.rank) : host_label();
  return job;
}

bool is_task(const Variable& variable) {
  return of_unnamed_launcher(variable) || launch_of_slurm(variable).has_value();
}

Result<RunId> run_of(const Job& job, const spool::fs::path& config, const spool::fs::path& spool) {
  const std::string secret = TRY(read_secret(config));
  const sys::PrivateDirectory notes = TRY(sys::PrivateDirectory::make(spool));
  const int count = TRY(count_run(notes, secret, job));
  const Sha256 hash = hmac_sha256(secret, fmt::format("run {}\n{}", count, job.key));
  RunId run;
  std::copy_n(hash.begin(), run.bytes.size(), run.bytes.begin());
  return run;
}

}  // namespace corral::run
