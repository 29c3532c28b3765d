#include "collect/foreign/foreign_sources.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <limits>
#include <thread>

#include "collect/foreign/endpoint.h"
#include "collect/foreign/exec_part.h"
#include "collect/foreign/output_scanner.h"
#include "collect/foreign/part.h"
#include "collect/foreign/problems.h"
#include "collect/foreign/statsd.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::collect::foreign {
namespace {

int milliseconds_until(BootTime due) {
  if (due == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - sys::boot_now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

struct ForeignSources::Parts {
  ForeignContext context;
  ProblemBox problems;
  std::vector<ExecSource> commands;  // until they are parts
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::unique_ptr<OutputScanner> scanner;
  std::optional<std::string> statsd_address;
  sys::Fd wake;  // eventfd: readable from stop() on
  std::atomic<bool> stopping{false};
  std::atomic<BootTime> deadline{kNever};
  std::jthread server;
  std::jthread scraper;

  Result<> open(const Sources& sources);
  void add_commands(pid_t run_pid);
  void serve();
  void scrape();
};

Result<> ForeignSources::Parts::open(const Sources& sources) {
  PointQueue& queue = *context.queue;
  commands = sources.exec;
  for (const PrometheusSource& source : sources.prometheus)
    endpoints.push_back(TRY(Endpoint::create(source, queue, problems)));
  std::vector<std::unique_ptr<OutputPattern>> patterns;
  for (const RegexSource& source : sources.regex)
    patterns.push_back(TRY(OutputPattern::create(source, queue, problems)));
  scanner = std::make_unique<OutputScanner>(std::move(patterns));
  for (const StatsdSource& source : sources.statsd) {
    auto opened = StatsdPart::open(source, queue, problems);
    if (opened) {
      statsd_address = (*opened)->address();
      parts.push_back(std::move(*opened));
    } else {
      problems.report("statsd", Trouble::kGone, "not available: " + opened.error().message);
    }
  }
  wake = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno("eventfd", errno);
  return {};
}

void ForeignSources::Parts::add_commands(pid_t run_pid) {
  ExecContext exec{.directory = context.directory, .environment = context.environment};
  if (run_pid != 0) exec.environment.push_back("CORRAL_RUN_PID=" + std::to_string(run_pid));
  for (ExecSource& source : commands) {
    parts.push_back(std::make_unique<ExecPart>(std::move(source), exec, *context.queue, problems));
  }
  commands.clear();
}

void ForeignSources::Parts::serve() {
  ::pthread_setname_np(::pthread_self(), "corral-sources");
  std::vector<pollfd> descriptors;
  bool stopped = false;
  for (;;) {
    const BootTime now = sys::boot_now();
    const bool ends = stopping && !std::exchange(stopped, true);
    // One that throws is given up: it would throw again.
    std::erase_if(parts, [&](const auto& part) {
      return !sys::guard_call("a source", [&] {
        if (ends) part->stop(now, deadline);
        part->serve(now);
      });
    });
    if (stopped && std::ranges::all_of(parts, [](const auto& part) { return part->done(); }))
      return;
    descriptors.clear();
    // It stays readable: looked at until then only.
    descriptors.push_back({.fd = stopped ? -1 : wake.get(), .events = POLLIN, .revents = 0});
    BootTime due = kNever;
    for (const auto& part : parts) {
      part->wait_for(descriptors);
      due = std::min(due, part->due());
    }
    ::poll(descriptors.data(), descriptors.size(), milliseconds_until(due));
  }
}

void ForeignSources::Parts::scrape() {
  ::pthread_setname_np(::pthread_self(), "corral-scrape");
  while (!stopping) {
    BootTime due = kNever;
    std::erase_if(endpoints, [&](const auto& endpoint) {
      return !sys::guard_call("a source", [&] {
        if (!stopping && endpoint->due() <= sys::boot_now()) endpoint->scrape(stopping);
        due = std::min(due, endpoint->due());
      });
    });
    pollfd waiting{.fd = wake.get(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, milliseconds_until(due));
  }
}

ForeignSources::ForeignSources(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ForeignSources::~ForeignSources() { stop(sys::boot_now()); }

Result<std::unique_ptr<ForeignSources>> ForeignSources::open(const Sources& sources,
                                                             ForeignContext context) {
  CORRAL_ASSERT(context.queue != nullptr);
  TRY(check(sources));
  auto parts = std::make_unique<Parts>();
  parts->context = std::move(context);
  TRY(parts->open(sources));
  return std::unique_ptr<ForeignSources>(new ForeignSources(std::move(parts)));
}

std::optional<std::string> ForeignSources::statsd_address() const { return parts_->statsd_address; }

Result<> ForeignSources::start(pid_t run_pid) {
  Parts& parts = *parts_;
  parts.add_commands(run_pid);
  if (!parts.parts.empty()) {
    parts.server = TRY(sys::start_thread(
        "sources", [&parts] { sys::guard_call("sources", [&] { parts.serve(); }); }));
  }
  if (!parts.endpoints.empty()) {
    parts.scraper = TRY(sys::start_thread(
        "endpoints", [&parts] { sys::guard_call("endpoints", [&] { parts.scrape(); }); }));
  }
  return {};
}

void ForeignSources::stop(BootTime deadline) {
  Parts& parts = *parts_;
  parts.deadline = deadline;
  parts.stopping = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(parts.wake.get(), &one, sizeof one);
  if (parts.server.joinable()) parts.server.join();
  if (parts.scraper.joinable()) parts.scraper.join();
}

void ForeignSources::feed_output(Stream stream, std::string_view bytes, BootTime time) {
  parts_->scanner->feed(stream, bytes, time);
}

void ForeignSources::end_output(BootTime time) { parts_->scanner->finish(time); }

std::vector<Problem> ForeignSources::problems() { return parts_->problems.take(); }

std::vector<metric::Health> ForeignSources::health() { return parts_->problems.take_health(); }

}  // namespace corral::collect::foreign
