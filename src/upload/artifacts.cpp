#include "upload/artifacts.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/json.h"

namespace corral::upload {
namespace {

// A body has this much time beyond the timeout: 64 KiB/s, as servers want.
constexpr std::int64_t kBytesPerSecond = 64 << 10;
constexpr int kNotFound = 404;
// Statuses that a retry cannot change.
constexpr std::array kForGood = {400, kNotFound, 405, 413, 422, 501};

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

class Sender {
 public:
  Sender(const sys::PrivateDirectory& directory, sys::HttpClient& server,
         const std::atomic<bool>& cancel, Knowledge knowledge)
      : directory_(directory), server_(server), cancel_(cancel), knowledge_(knowledge) {}

  Result<> send_calls();
  Result<> send_files();
  ArtifactReport report;

 private:
  enum class Delivery : std::uint8_t { kStored, kRejected, kUnknown };
  // An Error: it waits for another try.
  Result<Delivery> deliver(sys::HttpRequest request, const std::string& name);
  Result<> refuse_damaged(const std::string& call, const Error& error);

  const sys::PrivateDirectory& directory_;
  sys::HttpClient& server_;
  const std::atomic<bool>& cancel_;
  Knowledge knowledge_;
};

Result<Sender::Delivery> Sender::deliver(sys::HttpRequest request, const std::string& name) {
  request.cancel = &cancel_;
  const sys::HttpReply reply = TRY(server_.send(request));
  if (reply.status >= 200 && reply.status < 300) {
    ++report.stored;
    return Delivery::kStored;
  }
  if (reply.status == kNotFound && knowledge_ == Knowledge::kAssumed) {
    report.unknown = true;
    return Delivery::kUnknown;
  }
  const std::string answer = fmt::format("{}: {}", name, describe_reply(reply));
  if (std::ranges::find(kForGood, reply.status) == kForGood.end())
    return fail(Code::kUnavailable, answer);
  report.refused.push_back(answer);
  return Delivery::kRejected;
}

// A power cut may leave one without its content.
Result<> Sender::refuse_damaged(const std::string& call, const Error& error) {
  if (error.code != Code::kCorruption) return tl::unexpected(error);
  TRY(spool::refuse_call(directory_, call));
  report.refused.push_back(error.message);
  return {};
}

Result<> Sender::send_calls() {
  for (const std::string& name : spool::waiting_calls(directory_)) {
    const Result<spool::Call> call = spool::read_call(directory_, name);
    if (!call) {
      TRY(refuse_damaged(name, call.error()));
      continue;
    }
    const Delivery delivery =
        TRY(deliver({.method = "POST", .path = call->path, .body = call->body}, call->path));
    if (delivery == Delivery::kUnknown) return {};
    if (delivery == Delivery::kStored) {
      spool::delete_call(directory_, name);
    } else {
      TRY(spool::refuse_call(directory_, name));
    }
  }
  return {};
}

Result<> Sender::send_files() {
  for (const spool::WaitingArtifact& artifact : spool::waiting_artifacts(directory_)) {
    const sys::Fd file = TRY(spool::open_artifact(directory_, artifact));
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
    const Delivery delivery = TRY(deliver(std::move(request), "artifact " + artifact.path));
    if (delivery == Delivery::kUnknown) return {};
    if (delivery == Delivery::kStored) {
      spool::delete_artifact(directory_, artifact);
    } else {
      TRY(spool::refuse_artifact(directory_, artifact));
    }
  }
  return {};
}

}  // namespace

Result<ArtifactReport> send_artifacts(const sys::PrivateDirectory& directory,
                                      sys::HttpClient& server, const std::atomic<bool>& cancel,
                                      Knowledge knowledge) {
  Sender sender(directory, server, cancel, knowledge);
  TRY(sender.send_calls());
  if (!sender.report.unknown) TRY(sender.send_files());
  return std::move(sender.report);
}

}  // namespace corral::upload
