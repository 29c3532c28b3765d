// The supervisors that record one run together, each a rank or a host of a job
// (ingest/members.h). Free functions over the caller's snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store::page {

struct RunMember {
  std::int64_t no = 0;       // within the run, in the order in which they came
  std::int64_t session = 0;  // key of its session
  std::int64_t attempt = 0;
  std::optional<std::int64_t> rank;
  std::string host;
  UtcTime start;
  std::optional<UtcTime> end;
  RunStatus status = RunStatus::kRunning;
  std::optional<std::int32_t> exit_code, exit_signal;
  std::string outcome, reason;  // as tags of runs tell it; empty: not known
};

// The newest attempt first, then by rank and host. Empty: one supervisor recorded the run.
Result<std::vector<RunMember>> run_members(Reading& reading, RunId run);

// A rank of the run, and a host on which it logged.
struct RankPlace {
  std::int64_t rank = 0;
  std::string host;
};
// By rank, each once: one that started again elsewhere has several hosts.
Result<std::vector<RankPlace>> rank_places(Reading& reading, RunId run);

}  // namespace corral::store::page
