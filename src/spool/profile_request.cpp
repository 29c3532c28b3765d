#include "spool/profile_request.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace corral::spool {
namespace {

constexpr std::size_t kMostAnswer = 1u << 20;

}  // namespace

Result<> ProfileRequest::ask(std::int64_t steps) const {
  const auto folder = run_.directory(kFolder);
  if (!folder)
    return fail(Code::kUnsupported, "it was started with --no-capture: its steps are unknown");
  const std::string draft = id_ + ".request";
  const Json wanted = Json::Object{{"id", id_}, {"tool", "torch"}, {"steps", steps}};
  TRY(folder->replace_file(draft, wanted.dump(), false));
  // Leaves a request alone that waits already.
  const int at = folder->descriptor();
  const int failed =
      ::renameat2(at, draft.c_str(), at, "request", RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (failed != 0) folder->remove(draft);
  if (failed == EEXIST) return fail(Code::kConflict, "another profile of this run is pending");
  if (failed != 0) return fail_errno(folder->path().string(), failed);
  return {};
}

bool ProfileRequest::withdraw() const {
  const auto text = run_.read_file(place("request"), kMostAnswer);
  const auto request = text ? Json::parse(*text) : Result<Json>();
  const bool own = text && request && request->get_string("id") == id_;
  return own && run_.remove(place("request"));
}

Result<std::optional<Json>> ProfileRequest::next() {
  const auto text = run_.read_file(place(id_ + ".answer"), kMostAnswer);
  const std::string_view rest = text ? std::string_view(*text).substr(read_) : "";
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  read_ += end + 1;
  return TRY(Json::parse(rest.substr(0, end)));
}

}  // namespace corral::spool
