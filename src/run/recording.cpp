#include "run/recording.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

#include "core/json.h"
#include "run/facts.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

constexpr Nanos kStorePause{
    std::chrono::milliseconds(100)};  // output is stored with this resolution in time
constexpr Nanos kSamplePause{std::chrono::milliseconds(500)};  // rows per frame: this much
constexpr int kIdlePollMs = 100;
constexpr int kBusyPollMs = 10;  // after a wake: a chatty command costs at most 100 wakes a second

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// Two words that tell runs apart in a list; not unique.
std::string make_name(RunId run) {
  constexpr std::array kFirst = {"amber",  "brisk", "calm",  "dusty", "eager", "fleet",
                                 "gentle", "hardy", "ivory", "jolly", "keen",  "lively",
                                 "mellow", "noble", "proud", "quiet"};
  constexpr std::array kSecond = {"alder",  "bronco", "colt",    "dapple", "elm",  "filly",
                                  "gallop", "hazel",  "juniper", "lasso",  "mare", "mustang",
                                  "oak",    "pinto",  "roan",    "willow"};
  return fmt::format("{}-{}-{:02}", kFirst[run.bytes[0] % kFirst.size()],
                     kSecond[run.bytes[1] % kSecond.size()], run.bytes[2] % 100);
}

spool::Manifest make_manifest(const Options& options) {
  spool::Manifest m;
  m.run = RunId::random();
  m.session = SessionId::random();
  m.workload = options.workload.empty() ? own_workload_of(m.run)
                                        : workload_id_of(options.experiment, options.workload);
  m.experiment = options.experiment;
  m.workload_name = options.workload;
  m.run_name = options.name.empty() ? make_name(m.run) : options.name;
  m.host = host_name();
  m.destination = options.destination;
  m.anchor = sys::read_anchor();
  m.started = sys::boot_now();
  m.supervisor =
      sys::identity_of(::getpid())
          .value_or(sys::ProcessIdentity{.pid = ::getpid(), .start_ticks = 0, .boot_id = {}});
  return m;
}

}  // namespace

Recording::Recording(const Options& options, Notices& notices, spool::RunDirectory directory,
                     spool::Journal journal, Relay relay)
    : options_(options),
      notices_(notices),
      directory_(std::move(directory)),
      journal_(std::move(journal)),
      relay_(std::move(relay)),
      workload_lock_(directory_.path().parent_path(), directory_.manifest().workload),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Recording::~Recording() = default;

Result<std::unique_ptr<Recording>> Recording::open(const Options& options, Notices& notices) {
  const auto root = TRY(spool::usable_root(spool::spool_roots(options.spool)));
  spool::RunDirectory directory = TRY(spool::RunDirectory::create(root, make_manifest(options)));
  auto opened = [&]() -> Result<std::unique_ptr<Recording>> {
    // A quarter of the limit for the supervisor's own frames; the rest is the segments'.
    spool::Journal journal = TRY(spool::Journal::open(directory, options.spool_limit / 4));
    Relay relay = TRY(Relay::open(directory));
    journal.describe(spool::session_body(directory.manifest()));
    return std::unique_ptr<Recording>(new Recording(options, notices, std::move(directory),
                                                    std::move(journal), std::move(relay)));
  }();
  if (!opened) directory.remove();
  return opened;
}

Result<> Recording::watch(pid_t child, collect::PerfCounters perf) {
  // Before its exec: whoever finds the spool of a killed supervisor must see that the training
  // lives.
  const sys::ProcessIdentity identity = TRY(sys::identity_of(child));
  TRY(directory_.set_child(identity));
  sampler_ = TRY(collect::Sampler::open({.listeners = options_.listeners,
                                         .interval = options_.interval,
                                         .run_pid = child,
                                         .perf = std::move(perf)}));
  feed_.emplace(*sampler_);
  return {};
}

void Recording::start(const Command& command) {
  std::vector<codec::Fact> facts = quick_facts(options_, command);
  const sys::ProcessIdentity nobody;
  if (sampler_ != nullptr) {
    for (const auto& missing : sampler_->unavailable()) {
      facts.push_back(
          {.kind = codec::FactKind::kUnavailable, .key = missing.source, .value = missing.reason});
    }
    sampler_->set_workload_sampling(workload_lock_.hold());
    const auto started = sampler_->start();
    if (!started) notices_.warn("no metrics are sampled: " + started.error().message);
  }
  journal_.facts(std::move(facts));
  spooler_ = std::jthread([this](const std::stop_token& stop) { spool_loop(stop); });
  uploader_ =
      std::jthread([this, command](const std::stop_token& stop) { upload_loop(stop, command); });
}

void Recording::note_leftovers(std::size_t count) {
  journal_.event("processes outlived the command", {{"count", std::to_string(count)}});
}

void Recording::discard() { directory_.remove(); }

void Recording::sample_duties() {
  if (sampler_ == nullptr) return;
  sampler_->set_workload_sampling(workload_lock_.hold());
  sampler_->set_bytes_written(journal_.bytes_written());
  feed_->flush(journal_);
  report_losses();
}

void Recording::report_losses() {
  const std::uint64_t drops = directory_.drops();
  if (drops != std::exchange(told_drops_, drops)) {
    journal_.facts(
        {{.kind = codec::FactKind::kDrop, .key = "points", .value = std::to_string(drops)}});
    notices_.warn(
        "log calls are being dropped: the spool is full or has reached --spool-limit; the run's "
        "page counts them");
  }
  if (const std::uint64_t ticks = sampler_->dropped_rows();
      ticks != std::exchange(told_ticks_, ticks)) {
    journal_.facts(
        {{.kind = codec::FactKind::kDrop, .key = "ticks", .value = std::to_string(ticks)}});
  }
  if (journal_.dropped() > 0) {
    notices_.warn("metrics and output are being dropped: " + journal_.drop_reason() + " (" +
                  directory_.path().string() + ")");
  }
}

void Recording::spool_loop(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-spooler");
  BootTime next_store = sys::boot_now();
  BootTime next_sample = next_store + kSamplePause;
  bool woken = false;
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> waiting{
        pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = woken ? -1 : relay_.wake_descriptor(), .events = POLLIN, .revents = 0}};
    ::poll(waiting.data(), waiting.size(), woken ? kBusyPollMs : kIdlePollMs);
    woken = (waiting[1].revents & POLLIN) != 0;
    if (woken) relay_.consume_wakes();
    relay_.pass_on();
    const BootTime now = sys::boot_now();
    if (now >= next_store) {
      relay_.store(journal_);
      relay_.tidy();
      next_store = now + kStorePause;
    }
    if (now >= next_sample) {
      sample_duties();
      next_sample = now + kSamplePause;
    }
  }
}

void Recording::stop_sampling() {
  if (sampler_ != nullptr) sampler_->stop();
}

void Recording::finish(const codec::RunEndBody& end) {
  stop_sampling();
  spooler_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
  if (spooler_.joinable()) spooler_.join();
  while (!relay_.store(journal_)) {
  }
  sample_duties();
  if (sampler_ == nullptr) {
    if (const std::uint64_t drops = directory_.drops(); drops > 0) {
      journal_.facts(
          {{.kind = codec::FactKind::kDrop, .key = "points", .value = std::to_string(drops)}});
    }
  }
  journal_.run_end(end);
  journal_open_ = false;
}

}  // namespace corral::run
