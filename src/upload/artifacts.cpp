#include "upload/artifacts.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/json.h"

namespace corral::upload {
namespace {

// A body has this much time beyond the timeout: 64 KiB/s, as servers want.
constexpr std::int64_t kBytesPerSecond = 64 << 10;
// Statuses that a retry cannot change.
constexpr std::array kForGood = {400, 404, 405, 413, 422, 501};

// Slashes stay: they divide the path.
std::string encoded(std::string_view path) {
  std::string out;
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    out += sys::url_encode(path.substr(0, end));
    if (end == path.size()) return out;
    out += '/';
    path.remove_prefix(end + 1);
  }
}

std::string describe_reply(const sys::HttpReply& reply) {
  const auto json = Json::parse(reply.body);
  if (!json) return fmt::format("the server answered {}", reply.status);
  // The native interface's form, or MLflow's.
  const Json* error = json->find("error");
  return fmt::format("the server answered {}: {}", reply.status,
                     (error != nullptr ? *error : *json).get_string("message"));
}

// An Error: it waits for another try.
enum class Delivery : std::uint8_t { kStored, kRejected };
Result<Delivery> check_delivery(const sys::HttpReply& reply, const std::string& what) {
  if (reply.status >= 200 && reply.status < 300) return Delivery::kStored;
  if (std::ranges::find(kForGood, reply.status) != kForGood.end()) return Delivery::kRejected;
  return fail(Code::kUnavailable, fmt::format("{}: {}", what, describe_reply(reply)));
}

Result<> send_calls(const sys::PrivateDirectory& directory, sys::HttpClient& server,
                    const std::atomic<bool>& cancel, ArtifactReport& report) {
  for (const std::string& name : spool::waiting_calls(directory)) {
    const Result<spool::Call> call = spool::read_call(directory, name);
    if (!call) {
      // A power cut may leave one without its content.
      if (call.error().code != Code::kCorruption) return tl::unexpected(call.error());
      TRY(spool::refuse_call(directory, name));
      report.refused.push_back(call.error().message);
      continue;
    }
    sys::HttpRequest request{.method = "POST", .path = call->path, .body = call->body};
    request.cancel = &cancel;
    const sys::HttpReply reply = TRY(server.send(request));
    if (TRY(check_delivery(reply, call->path)) == Delivery::kStored) {
      spool::delete_call(directory, name);
      ++report.stored;
    } else {
      TRY(spool::refuse_call(directory, name));
      report.refused.push_back(fmt::format("{}: {}", call->path, describe_reply(reply)));
    }
  }
  return {};
}

Result<sys::HttpReply> put(const sys::Fd& file, const spool::WaitingArtifact& artifact,
                           sys::HttpClient& server, const std::atomic<bool>& cancel) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return fail_errno("artifact " + artifact.path, errno);
  sys::HttpRequest request{.method = "PUT",
                           .path = fmt::format("/api/corral/v1/runs/{}/artifacts/{}",
                                               artifact.run.hex(), encoded(artifact.path)),
                           .body = {},
                           .content_type = "application/octet-stream"};
  request.file = file.get();
  request.file_bytes = facts.st_size;
  request.timeout += std::chrono::seconds(facts.st_size / kBytesPerSecond);
  request.cancel = &cancel;
  return server.send(request);
}

}  // namespace

Result<ArtifactReport> send_artifacts(const sys::PrivateDirectory& directory,
                                      sys::HttpClient& server, const std::atomic<bool>& cancel) {
  ArtifactReport report;
  TRY(send_calls(directory, server, cancel, report));
  for (const spool::WaitingArtifact& artifact : spool::waiting_artifacts(directory)) {
    const sys::Fd file = TRY(spool::open_artifact(directory, artifact));
    const sys::HttpReply reply = TRY(put(file, artifact, server, cancel));
    const std::string what = "artifact " + artifact.path;
    if (TRY(check_delivery(reply, what)) == Delivery::kStored) {
      spool::delete_artifact(directory, artifact);
      ++report.stored;
    } else {
      TRY(spool::refuse_artifact(directory, artifact));
      report.refused.push_back(fmt::format("{}: {}", what, describe_reply(reply)));
    }
  }
  return report;
}

}  // namespace corral::upload
