#include "spool/profile_request.h"

#include <unistd.h>

#include <cerrno>

#include "sys/file.h"

namespace corral::spool {
namespace {

constexpr std::size_t kMostAnswer = 1u << 20;

}  // namespace

Result<> ProfileRequest::ask(std::int64_t steps) const {
  std::error_code error;
  if (!fs::is_directory(folder_, error))
    return fail(Code::kUnsupported, "it was started with --no-capture: its steps are not seen");
  const fs::path draft = folder_ / (id_ + ".request");
  const Json wanted = Json::Object{{"id", id_}, {"tool", "torch"}, {"steps", steps}};
  TRY(sys::replace_file(draft, wanted.dump(), 0600, false));
  // A link, not a rename: it leaves alone what somebody else has asked for.
  const int failed = ::link(draft.c_str(), (folder_ / "request").c_str()) == 0 ? 0 : errno;
  fs::remove(draft, error);
  if (failed == EEXIST)
    return fail(Code::kConflict, "another profile of this run has been asked for and waits");
  if (failed != 0) return fail_errno(folder_.string(), failed);
  return {};
}

bool ProfileRequest::take_back() const {
  const fs::path waiting = folder_ / "request";
  const auto text = sys::read_file(waiting, kMostAnswer);
  const auto request = text ? Json::parse(*text) : Result<Json>();
  const bool own = text && request && request->get_string("id") == id_;
  return own && ::unlink(waiting.c_str()) == 0;
}

Result<std::optional<Json>> ProfileRequest::next() {
  const auto text = sys::read_file(folder_ / (id_ + ".answer"), kMostAnswer);
  const std::string_view rest = text ? std::string_view(*text).substr(read_) : "";
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  read_ += end + 1;
  return TRY(Json::parse(rest.substr(0, end)));
}

}  // namespace corral::spool
