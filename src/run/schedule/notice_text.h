// Notice text: the JSON for --notify, with a readable line in `text`. Pure.
#pragma once

#include <string>
#include <vector>

#include "run/schedule/member.h"
#include "run/schedule/plan_document.h"
#include "run/schedule/row_order.h"

namespace corral::run::schedule {

struct NoticeOf {
  const PlanFacts& plan;
  std::string url;  // URL of the server; empty: not known
  const PlanDocument& document;
};
// {"event": "failed", "plan", "file", "workload", "runs": [{"name", "run", "outcome", "reason",
// "tail"}], "url", "text"}
std::string failure_notice(const NoticeOf& notice, const plan::Workload& workload,
                           const std::vector<Member>& members);
// {"event": "end", "plan", "file", "finished", "failed", "waiting", "message", "url", "text"}
std::string end_notice(const NoticeOf& notice);

}  // namespace corral::run::schedule
