// Documents of schedulers about the plans that they execute: rows of `plans`, one for each plan.
//
// Free functions over the caller's snapshot or transaction. The newest document of
// a plan counts. Documents are large and alike from one to the next: they are stored as zstd.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::page {

inline constexpr std::int64_t kMostPlans = 1000;
inline constexpr std::size_t kMostPlanBytes = 8u << 20;  // per document

struct PlanDocument {
  std::string id;        // 32 lower-case hex digits
  std::string summary;   // JSON: what a list says of it
  std::string document;  // JSON, at most kMostPlanBytes
};
struct PlanSummary {
  std::string id, summary;
  UtcTime received;
};

// Replaces the plan's earlier document. Above kMostPlans, the plans whose last update is oldest are
// deleted.
Result<> save_plan(Writing& writing, const PlanDocument& plan, UtcTime now);
// The most recently updated plan comes first.
Result<std::vector<PlanSummary>> plans(Reading& reading);
// Nothing: there is none.
Result<std::optional<std::string>> plan_summary(Reading& reading, std::string_view id);
// Ids of those that have a run which the reader does not see, whatever its experiment was named
// then.
Result<std::set<std::string>> plans_of_hidden_runs(Reading& reading);
// The document as it was saved; nothing: there is none. kCorruption: it cannot be unpacked.
Result<std::optional<std::string>> plan_document(Reading& reading, std::string_view id);
// False: there was none.
Result<bool> delete_plan(Writing& writing, std::string_view id);

}  // namespace corral::store::page
