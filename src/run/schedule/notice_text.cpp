#include "run/schedule/notice_text.h"

#include "core/json.h"

namespace corral::run::schedule {
namespace {

Json::Object begin(const NoticeOf& notice, const char* event) {
  Json::Object object{{"event", event}, {"plan", notice.plan.id}, {"file", notice.plan.file}};
  if (!notice.url.empty()) object.emplace_back("url", notice.url + "/plans/" + notice.plan.id);
  return object;
}

Json run_json(const Member& member) {
  Json::Array tail(member.end->tail.begin(), member.end->tail.end());
  return Json::Object{{"name", member.name},
                      {"run", member.run},
                      {"outcome", member.end->outcome},
                      {"reason", member.end->reason},
                      {"tail", std::move(tail)}};
}

}  // namespace

std::string failure_notice(const NoticeOf& notice, const plan::Workload& workload,
                           const std::vector<Member>& members) {
  Json::Object object = begin(notice, "failed");
  Json::Array runs;
  std::string text = notice.plan.file + ": ";
  for (const Member& member : members) {
    if (!member.end || standing_of(member.end->outcome) != Standing::kFailed) continue;
    if (!runs.empty()) text += "; ";
    text += member.name + ": " + member.end->outcome;
    if (!member.end->reason.empty()) text += " (" + member.end->reason + ")";
    runs.push_back(run_json(member));
  }
  object.emplace_back("workload", workload_label(workload));
  object.emplace_back("runs", std::move(runs));
  object.emplace_back("text", text);
  return Json(std::move(object)).dump();
}

std::string end_notice(const NoticeOf& notice) {
  Json::Object object = begin(notice, "end");
  const auto counts = notice.document.counts();
  object.emplace_back("finished", counts.finished);
  object.emplace_back("failed", counts.failed);
  object.emplace_back("waiting", counts.waiting);
  object.emplace_back("message", notice.document.message());
  object.emplace_back("text", notice.plan.file + ": " + notice.document.message());
  return Json(std::move(object)).dump();
}

}  // namespace corral::run::schedule
