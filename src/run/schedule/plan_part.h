// Part: a workload of a plan that runs in a job of a cluster, by a scheduler of its own; and the
// directory through which that one and the plan's scheduler (plan_jobs.h) tell each other of it:
//
//   <state>/plans/<plan id>/jobs/<number>/
//     part.json    what the job runs; written before it is submitted
//     script       what the job executes; `output` is what it prints
//     id           of the job: from sbatch's answer, or noted by the job itself
//     journal...   of the job's scheduler (plan_journal.h)
//     status       the exit status of that scheduler, its last word
//     settled      the plan's scheduler has taken in everything
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "run/schedule/book.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {

struct Part {
  std::string plan;      // its id
  std::string workload;  // as workload_label() names it
  int repetition = 1;
  std::vector<std::string> keys;  // its rows, as they were when the job was submitted
  std::optional<UtcTime> until{};
};

class PartFolder {
 public:
  static Result<PartFolder> open(const std::filesystem::path& directory);
  // Makes it, below `jobs`.
  static Result<PartFolder> make(const sys::PrivateDirectory& jobs, const std::string& number,
                                 const Part& part);

  [[nodiscard]] const std::filesystem::path& path() const { return files_.path(); }
  [[nodiscard]] Result<Part> part() const;
  [[nodiscard]] Result<> write_script(std::string_view text) const;
  // Empty: not known.
  [[nodiscard]] std::string id() const;
  [[nodiscard]] Result<> note_id(std::string_view id) const;
  // True: its job has begun at some time.
  [[nodiscard]] bool begun() const;
  [[nodiscard]] Result<Book> book() const;
  // The last word of the job's scheduler.
  [[nodiscard]] std::optional<int> status() const;
  [[nodiscard]] Result<> note_status(int status) const;
  [[nodiscard]] bool is_settled() const;
  [[nodiscard]] Result<> settle() const;

 private:
  explicit PartFolder(sys::PrivateDirectory files) : files_(std::move(files)) {}
  sys::PrivateDirectory files_;
};

// The directory of a plan's parts.
std::filesystem::path parts_of(const std::filesystem::path& state);
// True if jobs of the plan may be under way.
bool has_open_parts(const std::filesystem::path& state);

}  // namespace corral::run::schedule
