#include "run/gate.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <tuple>

#include "sys/private_directory.h"

namespace corral::run {
namespace {

// The descriptors of a process that ends are closed one after the other, and others may have the
// CPU in between. One that opens the gate writes a byte for each that waits, so that this is
// waited for after its end alone.
constexpr Nanos kConfirm{std::chrono::seconds(1)};

// The longest line, in bytes.
constexpr std::size_t kMostUnread = 1u << 20;

SchedulerRequest parse_request(const Json& line) {
  SchedulerRequest request;
  if (const Json* stop = line.find("stop"); stop != nullptr && stop->as_string() != nullptr)
    request.stop = *stop->as_string();
  if (const Json* tags = line.find("tags"); tags != nullptr && tags->as_object() != nullptr) {
    for (const auto& [key, value] : *tags->as_object()) {
      if (value.as_string() != nullptr) request.tags.emplace_back(key, *value.as_string());
    }
  }
  if (line.find("status") != nullptr) request.status = static_cast<int>(line.get_int("status"));
  return request;
}

sys::Fd own(int descriptor) {
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return sys::Fd(descriptor);
}

}  // namespace

Gate::Gate(const GateOptions& options)
    : release_(own(options.release)),
      reports_(own(options.reports)),
      last_word_(options.last_word) {
  // Supervisors share the pipe's reading end. Each polls before it reads; one that comes too late
  // for a byte must not wait for it.
  if (release_) ::fcntl(release_.get(), F_SETFL, O_NONBLOCK);
}

bool Gate::scheduler_gone() const {
  if (!reports_) return false;
  pollfd end{.fd = reports_.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&end, 1, 0) == 1 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

Gate::Release Gate::poll_release(BootTime now) {
  if (!release_) return Release::kOpen;
  char byte = 0;
  const ssize_t n = ::read(release_.get(), &byte, 1);
  if (n == 1) return Release::kOpen;
  if (scheduler_gone()) return Release::kNever;
  if (n < 0) return Release::kPending;
  if (!confirm_at_) confirm_at_ = now + kConfirm;
  return now >= *confirm_at_ ? Release::kOpen : Release::kPending;
}

std::vector<SchedulerRequest> Gate::read_requests() {
  std::array<char, 4096> piece;
  ssize_t n = 0;
  while (reports_ && (n = ::recv(reports_.get(), piece.data(), piece.size(), MSG_DONTWAIT)) > 0)
    unread_.append(piece.data(), static_cast<std::size_t>(n));
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) reports_.reset();  // it is gone
  std::vector<SchedulerRequest> requests;
  for (std::size_t end = 0; (end = unread_.find('\n')) != std::string::npos;) {
    if (const auto line = Json::parse(std::string_view(unread_).substr(0, end)))
      requests.push_back(parse_request(*line));
    unread_.erase(0, end + 1);
  }
  if (unread_.size() > kMostUnread) reports_.reset();  // the peer is no scheduler
  return requests;
}

void Gate::report(const Json& line) {
  if (!reports_) return;
  const std::string text = line.dump() + "\n";
  // A scheduler that does not read loses the line; its socket holds far more than a run reports.
  // One that is gone is seen by poll_release() and read_requests(), which need the descriptor for
  // that.
  std::ignore = ::send(reports_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Gate::ready() { report(Json::Object{{"ready", true}}); }

void Gate::started(BootTime at, pid_t command) {
  report(Json::Object{{"started_ns", ns_of(at)}, {"pid", std::int64_t{command}}});
}

bool Gate::progress(const Progress& progress) {
  // The report of the end must find room even if the scheduler reads nothing.
  int unread = 0;
  if (!reports_ || ::ioctl(reports_.get(), SIOCOUTQ, &unread) != 0 || unread > 0) return false;
  Json known;
  if (!progress.phase.empty()) known.set("phase", progress.phase);
  if (progress.step) known.set("step", *progress.step);
  if (progress.loss) known.set("loss", *progress.loss);
  if (progress.cores) known.set("cores", *progress.cores);
  Json::Object gpus;
  for (const auto& [device, busy] : progress.gpus) gpus.emplace_back(device, busy);
  if (!gpus.empty()) known.set("gpus", std::move(gpus));
  report(Json::Object{{"progress", std::move(known)}});
  return true;
}

void Gate::ended(const Outcome& outcome, const std::vector<std::string>& tail,
                 std::optional<BootTime> at) {
  Json line;
  line.set("outcome", std::string(outcome_name(outcome.kind)));
  line.set("reason", outcome.reason);
  if (outcome.exit_code) line.set("exit_code", *outcome.exit_code);
  if (outcome.exit_signal) line.set("exit_signal", *outcome.exit_signal);
  if (at) line.set("ended_ns", ns_of(*at));
  line.set("tail", Json::Array(tail.begin(), tail.end()));
  // The file is written before the report: a scheduler that no longer hears this process reads it.
  const auto words = last_word_.empty() ? tl::unexpected(Error())
                                        : sys::PrivateDirectory::open(last_word_.parent_path());
  if (words) [[maybe_unused]]
    const auto kept = words->replace_file(last_word_.filename(), line.dump() + "\n");
  report(line);
}

}  // namespace corral::run
