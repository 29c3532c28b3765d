#include "run/tensorboard/event_tail.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "compat/mlflow/wire/phases_of_spans.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"
#include "imports/event_file.h"
#include "imports/imported_run.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::run {
namespace {

namespace fs = sys::fs;
using collect::foreign::Trouble;

constexpr Nanos kTick{std::chrono::milliseconds(200)};
constexpr Nanos kBusyTick{std::chrono::milliseconds(20)};
constexpr Nanos kLookPause{std::chrono::seconds(1)};
constexpr std::size_t kBytesPerTick = 1U << 20U;
constexpr std::size_t kPiece = 64U << 10U;
constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostEntries = 20'000;
constexpr int kDeepest = 8;
constexpr std::uint32_t kMostSeries = 10'000;
// An event has one value, or a few.
constexpr std::size_t kRoom = 1024;
constexpr std::size_t kMostNotes = 10'000;
constexpr const char* kLabel = "tensorboard";

std::string json_text(std::string_view text) {
  // A character may take six bytes in JSON.
  return Json(mlflow::phase_text(text, limits::kValueBytes / 6 - 2)).dump();
}

std::string name_of(std::string_view text) { return mlflow::phase_text(text, limits::kNameBytes); }

}  // namespace

struct EventTail::File {
  fs::path path;
  std::string source;
  sys::Fd fd;  // closed: it is not read any more
  bool of_run = false;
  imports::RecordReader records;
  imports::EventReader events;
};

class EventTail::Handler final : public imports::EventHandler {
 public:
  Handler(EventTail& tail, const std::string& source) : tail_(tail), source_(source) {}

  Result<> scalar(std::string_view tag, const imports::EventTime& time, double value) override {
    if (const auto at = time_of(time)) {
      tail_.emitter_.emit({.name = tag, .source = source_, .step = time.step, .value = value}, *at);
    }
    return {};
  }
  Result<> text(std::string_view tag, const imports::EventTime& time,
                std::string_view text) override {
    const auto at = time_of(time);
    if (!at) return {};
    codec::Event event{.time = *at, .name = name_of(tag), .origin = "user", .attributes = {}};
    event.attributes = {{"text", json_text(text)}, {"step", std::to_string(time.step)}};
    if (!source_.empty()) event.attributes.emplace_back("source", json_text(source_));
    const bool kept = tail_.notes_.with([&](Notes& notes) {
      if (notes.texts.size() < kMostNotes) notes.texts.push_back(std::move(event));
      return notes.texts.size() < kMostNotes;
    });
    if (!kept) leave_out("texts");
    if (!tail_.options_.keep_medium) return {};
    return medium(tag, time, {.what = "texts as media", .ending = "txt", .content = text});
  }
  Result<> medium(std::string_view tag, const imports::EventTime& time,
                  const imports::EventMedium& medium) override {
    if (!time_of(time)) return {};
    const auto path = imports::event_media_path(source_, tag, time, medium);
    const auto& keep = tail_.options_.keep_medium;
    if (!path || !keep || !keep(*path, medium.content)) leave_out(medium.what);
    return {};
  }
  Result<> hparam(std::string_view name, std::string_view value) override {
    codec::Fact fact{.kind = codec::FactKind::kParam,
                     .key = name_of(name),
                     .value = mlflow::phase_text(value, limits::kValueBytes)};
    tail_.notes_.with([&](Notes& notes) {
      if (notes.params.size() < kMostNotes) notes.params.push_back(std::move(fact));
    });
    return {};
  }
  void leave_out(std::string_view what) override {
    constexpr std::size_t kKinds = 32;
    const auto known = tail_.left_out_.find(what);
    if (known != tail_.left_out_.end()) {
      ++known->second;
    } else if (tail_.left_out_.size() < kKinds) {
      tail_.left_out_.emplace(what, 1);
    }
  }

 private:
  // Nothing: the event is not to be recorded.
  std::optional<BootTime> time_of(const imports::EventTime& time) {
    const auto at = imports::time_of_seconds(time.wall_time);
    constexpr std::int64_t kLatest = 4'000'000'000'000'000'000;
    if (!at || *at < UtcTime{} || ns_of(*at) > kLatest) {
      leave_out("values without a valid time");
      return std::nullopt;
    }
    if (*at < tail_.options_.from) return std::nullopt;
    return boot_time(ns_of(*at) - tail_.utc_minus_boot_.count());
  }

  EventTail& tail_;
  const std::string& source_;
};

EventTail::EventTail(EventTailOptions options, collect::foreign::PointQueue& queue)
    : options_(std::move(options)),
      queue_(queue),
      emitter_(kLabel, "",
               {.series = kMostSeries, .points_per_s = std::numeric_limits<std::uint32_t>::max()},
               queue, problems_),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

EventTail::~EventTail() { stop(sys::boot_now()); }

Result<> EventTail::start() {
  if (!wake_) return fail_errno("eventfd", EMFILE);
  utc_minus_boot_ = sys::read_anchor().utc_minus_boot;
  thread_ = TRY(sys::start_thread("event files",
                                  [this] { sys::guard_call("event files", [this] { serve(); }); }));
  return {};
}

void EventTail::stop(BootTime deadline) {
  deadline_ = deadline;
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

EventTail::Notes EventTail::notes() {
  return notes_.with([](Notes& notes) { return std::exchange(notes, {}); });
}

void EventTail::serve() {
  ::pthread_setname_np(::pthread_self(), "corral-events");
  while (!stopping_) {
    look(sys::boot_now(), false);
    const bool more = read(kBytesPerTick);
    pollfd waiting{.fd = wake_.get(), .events = POLLIN, .revents = 0};
    const Nanos pause = more ? kBusyTick : kTick;
    ::poll(&waiting, 1, static_cast<int>(pause / std::chrono::milliseconds(1)));
  }
  look(sys::boot_now(), true);
  bool more = read(kBytesPerTick);
  while (more && sys::boot_now() < deadline_.load()) {
    ::poll(nullptr, 0, 1);  // the queue may be full; it is drained twice a second
    more = read(kBytesPerTick);
  }
  if (more)
    emitter_.trouble(Trouble::kUnread,
                     "the last events are missing: they were not read in time after the end");
  if (left_out_.empty()) return;
  Json json{Json::Object{}};
  for (const auto& [what, count] : left_out_) json.set(what, static_cast<std::int64_t>(count));
  notes_.with([&](Notes& notes) {
    notes.params.push_back(
        {.kind = codec::FactKind::kInfo, .key = "tensorboard.left_out", .value = json.dump()});
  });
}

void EventTail::look(BootTime now, bool at_once) {
  if (now < look_due_ && !at_once) return;
  look_due_ = now + kLookPause;
  std::error_code error;
  fs::recursive_directory_iterator entry(options_.directory,
                                         fs::directory_options::skip_permission_denied, error);
  std::size_t entries = 0;
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++entries > kMostEntries)
      return emitter_.trouble(
          Trouble::kGone,
          fmt::format("{} has over {} entries: new event files may not be found; name a directory "
                      "of this run",
                      options_.directory.string(), kMostEntries));
    if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
    const fs::path& path = entry->path();
    std::error_code ignored;
    if (!imports::is_event_file_name(path.filename().string()) || known_.contains(path) ||
        !entry->is_regular_file(ignored))
      continue;
    const fs::path below = path.lexically_relative(options_.directory).parent_path();
    add(path, below.generic_string());
  }
}

void EventTail::add(const fs::path& path, const std::string& source) {
  if (files_.size() >= kMostFiles)
    return emitter_.trouble(Trouble::kSeries,
                            fmt::format("more than {} event files: the rest, from "
                                        "{} on, is not recorded",
                                        kMostFiles, path.string()));
  known_.insert(path);
  auto opened = sys::open_file(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!opened) return emitter_.trouble(Trouble::kUnread, opened.error().message);
  auto file = std::make_unique<File>();
  file->path = path;
  file->source = source;
  file->fd = std::move(*opened);
  files_.push_back(std::move(file));
}

// Files take turns, so that one that grows fast does not keep the others waiting.
bool EventTail::read(std::size_t budget) {
  bool more = false;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (budget == 0) return true;
    File& file = *files_[(next_ + i) % files_.size()];
    more = read(file, budget) || more;
  }
  if (!files_.empty()) next_ = (next_ + 1) % files_.size();
  std::erase_if(files_, [](const auto& file) { return !file->fd; });
  return more;
}

bool EventTail::read(File& file, std::size_t& budget) {
  while (file.fd) {
    // The records of the piece before come first: without room in the queue nothing is read.
    if (!give_records(file)) return true;
    if (!file.fd) return false;
    if (budget == 0) return true;
    buffer_.resize(std::min(kPiece, budget));
    const ssize_t count = ::read(file.fd.get(), buffer_.data(), buffer_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) give_up(file, fail_errno("not read any further", errno).value().message);
    if (count <= 0) return false;
    budget -= static_cast<std::size_t>(count);
    file.records.add(std::string_view(buffer_).substr(0, static_cast<std::size_t>(count)));
  }
  return false;
}

bool EventTail::give_records(File& file) {
  Handler handler(*this, file.source);
  for (;;) {
    if (queue_.room() < kRoom) return false;
    const auto record = file.records.next();
    if (!record) {
      give_up(file, record.error().message + "; it is not read any further");
      return true;
    }
    if (!*record) return true;
    if (!file.of_run && !is_of_run(file, **record)) return true;
    // The handler has no errors.
    [[maybe_unused]] const auto read = file.events.read(**record, handler);
  }
}

bool EventTail::is_of_run(File& file, std::string_view first_record) {
  const auto at = imports::time_of_seconds(imports::wall_time_of(first_record));
  file.of_run = at && *at >= options_.begun;
  if (!file.of_run) file.fd.reset();
  return file.of_run;
}

void EventTail::give_up(File& file, const std::string& reason) {
  file.fd.reset();
  emitter_.trouble(Trouble::kUnread, fmt::format("{}: {}", file.path.string(), reason));
}

}  // namespace corral::run
