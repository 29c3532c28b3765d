#include "server/api/profile_json.h"

#include "server/api/write.h"

namespace corral::server::api {

void write_profile(JsonWriter& json, const ProfileAsk& ask) {
  const ProfileNews& news = ask.news;
  json.begin_object().member("run", ask.run.hex()).member("id", ask.id);
  json.member("tool", ask.tool).member("steps", ask.steps).key("asked_ns");
  write_time(json, ask.asked);
  json.member("state", profile_state_name(news.state));
  if (news.first && news.last) json.member("first", *news.first).member("last", *news.last);
  if (!news.artifact.empty()) json.member("artifact", news.artifact);
  if (!news.reason.empty()) json.member("reason", news.reason);
  json.end_object();
}

}  // namespace corral::server::api
