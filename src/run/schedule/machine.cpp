#include "run/schedule/machine.h"

#include <algorithm>
#include <optional>

#include "run/schedule/choose.h"
#include "run/schedule/row_order.h"

namespace corral::run::schedule {
namespace {

class StagedMachine : public Machine {
 public:
  explicit StagedMachine(MachineOptions options) : options_(std::move(options)) {}

  Result<std::vector<std::string>> changes(const plan::Workload& workload) override {
    return TRY(plan_stage(workload)).changes();
  }
  Result<std::vector<collocate::Seat>> set(const plan::Workload& workload) override;
  [[nodiscard]] std::vector<int> housekeeping() const override {
    return stage_ ? stage_->housekeeping() : std::vector<int>();
  }
  Result<> clear() override;

 private:
  Result<collocate::Stage> plan_stage(const plan::Workload& workload) const;
  MachineOptions options_;
  std::optional<collocate::Journal> journal_;
  std::optional<collocate::Stage> stage_;
};

// Returns the data paths of the rows that name one.
std::vector<std::filesystem::path> data_paths(const plan::Workload& workload,
                                              const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> paths;
  for (const plan::Row& row : workload.rows) {
    if (row.share.cache != plan::CacheState::kWarm) continue;
    const std::filesystem::path own = own_directory(directory, row);
    for (const auto& [key, value] : row.params) {
      const std::filesystem::path path = (own.empty() ? directory : own) / value;
      std::error_code error;
      const bool there = key.find("data") != std::string::npos && !value.empty() &&
                         std::filesystem::exists(path, error);
      if (there && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
    }
  }
  return paths;
}

Result<collocate::Stage> StagedMachine::plan_stage(const plan::Workload& workload) const {
  std::vector<plan::Share> shares;
  for (const plan::Row& row : workload.rows) shares.push_back(row.share);
  return collocate::Stage::plan(shares, {.nvml = options_.nvml,
                                         .mps_control = options_.mps_control,
                                         .root = "/",
                                         .state = options_.state,
                                         .locks = {},
                                         .label = workload.recorded_name(),
                                         .holder = options_.holder,
                                         .data = data_paths(workload, options_.directory),
                                         .cancelled = options_.cancelled});
}

Result<std::vector<collocate::Seat>> StagedMachine::set(const plan::Workload& workload) {
  auto planned = plan_stage(workload);
  if (!planned) {
    const bool held = planned.error().code == Code::kUnavailable;
    return fail(held ? Code::kUnavailable : Code::kUnprocessable, planned.error().message);
  }
  collocate::Stage stage = std::move(*planned);
  if (!journal_)
    journal_ = TRY(collocate::Journal::open(options_.state, true,
                                            {.plan = options_.plan, .spool = options_.spool}));
  TRY(stage.set(*journal_));
  stage_ = std::move(stage);
  std::vector<collocate::Seat> seats = stage_->seats();
  // Only the first seat has the notes.
  if (!seats.empty())
    seats[0].notes.insert(seats[0].notes.end(), stage_->notes().begin(), stage_->notes().end());
  return seats;
}

Result<> StagedMachine::clear() {
  if (!stage_) return {};
  auto cleared = stage_->clear(*journal_);
  stage_.reset();
  // If something could not be restored, the file stays for `corral undo`.
  if (journal_->close()) journal_.reset();
  return cleared;
}

}  // namespace

std::unique_ptr<Machine> this_machine(const MachineOptions& options) {
  return std::make_unique<StagedMachine>(options);
}

}  // namespace corral::run::schedule
