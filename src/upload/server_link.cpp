#include "upload/server_link.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.h"
#include "core/text.h"
#include "spool/segment_identity.h"
#include "sys/clock.h"
#include "sys/private_directory.h"
#include "sys/process.h"
#include "sys/store_paths.h"

namespace corral::upload {
namespace {

constexpr Nanos kRestartPause{std::chrono::seconds(10)};
constexpr Nanos kProbePause{std::chrono::milliseconds(20)};
constexpr std::int64_t kLogBytes = 1 << 20;

}  // namespace

sys::HttpTarget target_of(const spool::Destination& destination, const std::string& token) {
  // No socket: every request fails at once.
  if (!destination.withheld.empty())
    return {.base_url = "http://localhost", .unix_socket = "/dev/null", .token = {}};
  if (!destination.server.empty())
    return {.base_url = destination.server,
            .unix_socket = {},
            .token = token,
            .ca_file = destination.ca_file};
  return {.base_url = "http://localhost",
          .unix_socket = sys::socket_path(destination.store).string(),
          .token = token};
}

void start_when_needed(LinkOptions& link, const std::string& program, const std::string& spool) {
  const spool::Destination& destination = link.destination;
  if (!destination.server.empty() || !destination.withheld.empty()) return;
  link.serve_command = {program, "serve", "--idle-exit"};
  if (destination.database.empty())
    link.serve_command.insert(link.serve_command.end(), {"--store", destination.store.string()});
  if (!spool.empty()) link.serve_command.insert(link.serve_command.end(), {"--spool", spool});
  link.environment.clear();
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    if (!entry.starts_with("CORRAL_STORE=") && !entry.starts_with("CORRAL_SERVER="))
      link.environment.emplace_back(entry);
  }
  if (!destination.database.empty())
    link.environment.push_back("CORRAL_STORE=" + destination.database);
}

Result<> ServerLink::probe() {
  cannot_work_ = false;
  const sys::HttpTarget target = target_of(options_.destination, options_.token);
  sys::HttpClient client(target);
  const auto answer =
      client.send({.path = "/api/corral/v1/version", .body = {}, .timeout = options_.answers_in});
  if (!answer)
    return tl::unexpected(client.reached() ? describe_silence(answer.error()) : answer.error());
  const sys::HttpReply& reply = *answer;
  const std::string name = sys::without_passwords(target.base_url);
  if (reply.status == 401)
    return fail(
        Code::kUnauthenticated,
        name + (target.token.empty() ? " requires a token: --token-file FILE, or `corral login` it"
                                     : " refused the token"));
  const auto version = Json::parse(reply.body);
  const Json* error = version ? version->find("error") : nullptr;
  if (error != nullptr && !error->get_string("message").empty()) {
    cannot_work_ = true;
    return fail(Code::kUnavailable, error->get_string("message"));
  }
  if (reply.status > 300 && reply.status < 400)
    return fail(Code::kUnavailable, name + " leads elsewhere: is it reached by https://?");
  if (reply.status != 200 || !version || version->find("api") == nullptr) {
    return fail(Code::kUnavailable, name + " answers, but not as a Corral server");
  }
  url_ = options_.destination.server;
  if (url_.empty()) {
    const auto record = sys::read_server_record(options_.destination.store);
    if (record) url_ = record->url;
  }
  transport_ = http_transport(target);
  return {};
}

// The error of a server that took the connection and did not answer in time.
Error ServerLink::describe_silence(const Error& error) {
  const spool::fs::path& store = options_.destination.store;
  const auto record = store.empty() ? std::nullopt : sys::read_server_record(store);
  const auto pid = record ? record->pid : 0;
  const char state = pid > 0 ? spool::process_start(static_cast<std::uint32_t>(pid)).state : '\0';
  if (state == '\0') return error;
  cannot_work_ = state == 'T' || state == 't';
  return {.code = Code::kUnavailable,
          .message = cannot_work_
                         ? fmt::format("the store's server (pid {}) does not answer: it is "
                                       "suspended; continue it with `kill -CONT {}`",
                                       pid, pid)
                         : fmt::format("the store's server (pid {}) does not answer; if it hangs, "
                                       "end it with `kill -9 {}`: the next command starts another",
                                       pid, pid)};
}

Result<> ServerLink::start() {
  // Without a log the server starts all the same.
  const auto folder = sys::PrivateDirectory::make(options_.server_log.parent_path());
  auto log = folder ? folder->open_file(options_.server_log.filename(), O_RDWR | O_CREAT | O_APPEND)
                    : tl::unexpected(folder.error());
  log_ = log ? *std::move(log) : sys::Fd();
  if (::lseek(log_.get(), 0, SEEK_END) > kLogBytes) [[maybe_unused]]
    const int cut = ::ftruncate(log_.get(), 0);
  log_offset_ = std::max<off_t>(::lseek(log_.get(), 0, SEEK_END), 0);
  started_pid_ = TRY(sys::spawn_detached(options_.serve_command, options_.environment, log_));
  return {};
}

std::string ServerLink::last_words() const {
  std::string text(kLogBytes, '\0');
  const ssize_t n = ::pread(log_.get(), text.data(), text.size(), log_offset_);
  if (n <= 0) return "it printed nothing";
  text.resize(static_cast<std::size_t>(n));
  const std::string_view fresh = trim(text);
  return std::string(fresh.substr(fresh.rfind('\n') + 1));
}

// Waits for the server that was started, or for the one of another supervisor that was quicker.
Result<> ServerLink::await(Nanos patience) {
  const BootTime deadline = sys::boot_now() + patience;
  Result<> probed = probe();
  while (!probed && !cannot_work_ && sys::boot_now() < deadline) {
    int status = 0;
    if (started_pid_ > 0 && ::waitpid(started_pid_, &status, WNOHANG) == started_pid_) {
      started_pid_ = 0;
      probed = probe();
      if (probed) break;
      // It leaves with 0 when the store has a server, which will answer soon.
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(Code::kUnavailable, "the store's server did not start: " + last_words());
    }
    sys::system_clock().sleep_until(sys::boot_now() + kProbePause);
    probed = probe();
  }
  return probed;
}

Result<Transport*> ServerLink::connect(Nanos patience) {
  if (!options_.destination.withheld.empty())
    return fail(Code::kUnavailable, options_.destination.withheld);
  if (transport_ != nullptr) return transport_.get();
  Result<> probed = probe();
  // Another user's server is in the way of one that is started here.
  const bool may_start = options_.destination.server.empty() && !options_.serve_command.empty() &&
                         (probed || probed.error().code != Code::kPermission);
  if (!probed && !cannot_work_ && may_start && sys::boot_now() >= not_before_) {
    probed = start();
    if (probed) probed = await(patience);
    if (!probed) not_before_ = sys::boot_now() + kRestartPause;
  }
  if (!probed) return tl::unexpected(probed.error());
  return transport_.get();
}

}  // namespace corral::upload
