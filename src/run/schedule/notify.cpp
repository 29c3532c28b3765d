#include "run/schedule/notify.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "core/json.h"
#include "sys/file.h"
#include "sys/http_client.h"
#include "sys/process.h"
#include "sys/thread_guard.h"

namespace corral::run::schedule {
namespace {

constexpr Nanos kLimit{std::chrono::seconds(10)};

Result<> post(const std::string& url, const std::string& text, Nanos limit) {
  const std::size_t host = url.find("//") + 2;
  const std::size_t slash = url.find('/', host);
  sys::HttpClient client({.base_url = url.substr(0, slash), .unix_socket = {}, .token = {}});
  const auto reply = TRY(client.send({.method = "POST",
                                      .path = slash == std::string::npos ? "/" : url.substr(slash),
                                      .body = text,
                                      .timeout = limit}));
  if (reply.status >= 400)
    return fail(Code::kUnavailable, fmt::format("it answered {}", reply.status));
  return {};
}

// Returns the text as a file for standard input: a command that does not read it blocks nothing.
Result<sys::Fd> input_file(const std::string& text) {
  sys::Fd file(::memfd_create("corral-notice", MFD_CLOEXEC));
  if (!file) return fail_errno("the text of the notification", errno);
  TRY(sys::write_all(file.get(), text));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Result<> call(const std::string& command, const std::string& text, Nanos limit) {
  const sys::Fd input = TRY(input_file(text));
  const sys::Fd nowhere = TRY(sys::open_file("/dev/null", O_RDWR));
  sys::GatedChild child = TRY(sys::GatedChild::spawn({.argv = {"/bin/sh", "-c", command},
                                                      .environment = sys::own_environment(),
                                                      .directory = {},
                                                      .standard_input = input.get(),
                                                      .standard_output = nowhere.get(),
                                                      .standard_error = nowhere.get()}));
  const sys::Fd process = sys::open_process(child.pid()).value_or(sys::Fd());
  TRY(child.release());
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  const bool late = ::poll(&ended, 1, static_cast<int>(wait)) == 0;
  if (late) ::kill(-child.pid(), SIGKILL);
  int status = 0;
  ::waitpid(child.pid(), &status, 0);
  if (late) return fail(Code::kUnavailable, "it took too long and was ended");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(Code::kUnavailable, WIFEXITED(status)
                                        ? fmt::format("exit status {}", WEXITSTATUS(status))
                                        : fmt::format("signal {}", WTERMSIG(status)));
  return {};
}

}  // namespace

Result<> send_notice(const std::string& target, const std::string& text, Nanos limit) {
  const bool web = target.starts_with("http://") || target.starts_with("https://");
  return web ? post(target, text, limit) : call(target, text, limit);
}

Notifier::Notifier(std::string target, std::function<void(const std::string&)> say)
    : target_(std::move(target)), say_(std::move(say)) {
  if (target_.empty()) return;
  auto thread = sys::start_thread("the sender of notices", [this](const std::stop_token& stop) {
    sys::guard_loop("the sender of notices", stop, [&] { loop(stop); });
  });
  if (thread) {
    thread_ = *std::move(thread);
  } else {
    target_.clear();
    say_("--notify: " + thread.error().message);
  }
}

Notifier::~Notifier() { thread_.request_stop(); }

void Notifier::send(std::string text) {
  if (target_.empty()) return;
  {
    const Lock lock(mutex_);
    waiting_.push_back(std::move(text));
  }
  wake_.notify_all();
}

void Notifier::loop(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-notify");
  Lock lock(mutex_);
  // Notices that wait at the end are sent, too.
  while (wake_.wait(lock, stop, [this]() REQUIRES(mutex_) { return !waiting_.empty(); }) ||
         !waiting_.empty()) {
    const std::string text = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const auto sent = send_notice(target_, text, kLimit);
    if (!sent) say_("--notify: " + sent.error().message);
    lock.lock();
  }
}

namespace {

Json::Object begin(const PlanNotice& notice, const char* event) {
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

std::string failure_notice(const PlanNotice& notice, const plan::Workload& workload,
                           const std::vector<Member>& members) {
  Json::Object object = begin(notice, "failed");
  Json::Array runs;
  std::string text = notice.plan.file + ": ";
  for (const Member& member : members) {
    if (!member.end || standing_after(member.end->outcome) != Standing::kFailed) continue;
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

std::string end_notice(const PlanNotice& notice) {
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
