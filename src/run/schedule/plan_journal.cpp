#include "run/schedule/plan_journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/failpoint.h"
#include "core/json.h"
#include "core/text.h"
#include "sys/socket.h"

namespace corral::run::schedule {
namespace {

constexpr const char* kJournalName = "journal";
constexpr std::size_t kJournalBytes = 1u << 30;

Json to_json(const Attempt& attempt) {
  return Json::Object{{"key", attempt.key},
                      {"repetition", attempt.repetition},
                      {"run", attempt.run},
                      {"name", attempt.name}};
}

Book replay(std::string_view text) {
  Book book;
  for (const std::string_view line : split(text, '\n')) {
    const auto parsed = Json::parse(line);
    if (parsed) book.apply(*parsed);
  }
  return book;
}

}  // namespace

Result<Book> PlanJournal::read(const fs::path& directory) {
  const auto files = sys::PrivateDirectory::open(directory);
  const auto text =
      files ? files->read_file(kJournalName, kJournalBytes) : tl::unexpected(files.error());
  if (!text && text.error().code != Code::kNotFound) return tl::unexpected(text.error());
  return text ? replay(*text) : Book();
}

Result<PlanJournal> PlanJournal::open(const fs::path& directory) {
  const auto files = TRY(sys::PrivateDirectory::make(directory));
  PlanJournal journal(TRY(files.open_file(kJournalName, O_RDWR | O_CREAT | O_APPEND)));
  const std::string text = TRY(files.read_file(kJournalName, kJournalBytes));
  journal.book_ = replay(text);
  journal.book_.go_live();
  // The line after a torn one starts on a line of its own.
  if (!text.empty() && text.back() != '\n') TRY(sys::write_all(journal.file_.get(), {"\n", 1}));
  return journal;
}

Result<> PlanJournal::append(std::span<const Json> lines, bool sync) {
  std::string text;
  for (const Json& line : lines) text += line.dump() + "\n";
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (const auto written = sys::write_all(file_.get(), text); !written) {
    // Half a line would make the next one unreadable.
    [[maybe_unused]] const int cut = end >= 0 ? ::ftruncate(file_.get(), end) : 0;
    return tl::unexpected(written.error().with_context("the plan's journal"));
  }
  failpoint::reach("plan_journal.before_sync");
  if (sync && ::fdatasync(file_.get()) != 0) return fail_errno("the plan's journal", errno);
  for (const Json& line : lines) book_.apply(line);
  return {};
}

Result<> PlanJournal::begin(const std::vector<Attempt>& attempts) {
  Json::Array runs;
  for (const Attempt& attempt : attempts) runs.push_back(to_json(attempt));
  const Json line = Json::Object{{"begin", std::move(runs)}};
  return append({&line, 1}, true);
}

Result<> PlanJournal::started(const std::string& run) {
  const Json line = Json::Object{{"started", run}};
  return append({&line, 1}, false);
}

Result<> PlanJournal::ended(const std::string& run, const End& end) {
  Json::Object object{{"end", run}, {"outcome", end.outcome}};
  if (!end.reason.empty()) object.emplace_back("reason", end.reason);
  if (!end.tail.empty()) {
    Json::Array tail(end.tail.begin(), end.tail.end());
    object.emplace_back("tail", std::move(tail));
  }
  const Json line(std::move(object));
  return append({&line, 1}, true);
}

Result<> PlanJournal::forget(const std::string& key) {
  const Json line = Json::Object{{"forget", key}};
  return append({&line, 1}, true);
}

Result<> PlanJournal::writing(
    const std::vector<std::pair<std::string, std::string>>& key_and_status) {
  std::vector<Json> lines;
  lines.reserve(key_and_status.size());
  for (const auto& [key, status] : key_and_status)
    lines.emplace_back(Json::Object{{"write", key}, {"status", status}});
  return append(lines, true);
}

Result<> PlanJournal::written(const std::vector<std::string>& keys) {
  std::vector<Json> lines;
  lines.reserve(keys.size());
  for (const std::string& key : keys) lines.emplace_back(Json::Object{{"written", key}});
  return append(lines, false);
}

namespace {

constexpr const char* kLockName = "lock";

std::string describe_holder(const sys::PrivateDirectory& files) {
  const auto text = files.read_file(kLockName, 4096);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || json->as_object() == nullptr) return "another scheduler";
  return fmt::format("process {} on {}, since {}", json->get_int("pid"), json->get_string("host"),
                     json->get_string("since"));
}

// True if the process that wrote the file was on this host and has ended.
bool holder_is_gone(const sys::PrivateDirectory& files) {
  const auto text = files.read_file(kLockName, 4096);
  const auto json = text ? Json::parse(*text) : Result<Json>(Json());
  if (!json || json->get_string("host") != sys::host_name()) return false;
  const auto pid = static_cast<pid_t>(json->get_int("pid"));
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

// A killed scheduler's lock lives on for a moment in a child that had not executed its program yet.
Result<sys::Fd> lock_file(const sys::PrivateDirectory& files) {
  constexpr int kTries = 200;
  constexpr auto kPause = std::chrono::milliseconds(10);
  auto file = files.try_lock_file(kLockName);
  for (int i = 0; i < kTries; ++i) {
    if (file || file.error().code != Code::kUnavailable || !holder_is_gone(files)) break;
    std::this_thread::sleep_for(kPause);
    file = files.try_lock_file(kLockName);
  }
  return file;
}

}  // namespace

Result<PlanLock> PlanLock::acquire(const std::filesystem::path& directory, UtcTime now) {
  const auto files = TRY(sys::PrivateDirectory::make(directory));
  auto file = lock_file(files);
  if (!file && file.error().code == Code::kUnavailable)
    return fail(Code::kUnavailable, "the plan is being run by " + describe_holder(files));
  if (!file) return tl::unexpected(file.error());
  const Json holder = Json::Object{
      {"pid", std::int64_t{::getpid()}}, {"host", sys::host_name()}, {"since", iso_utc(now)}};
  const std::string text = holder.dump() + "\n";
  if (::ftruncate(file->get(), 0) == 0) TRY(sys::write_all(file->get(), text));
  return PlanLock(std::move(*file));
}

std::vector<std::string> PlanLock::others(const std::filesystem::path& directory) {
  std::vector<std::string> found;
  const auto plans = sys::PrivateDirectory::open(directory.parent_path());
  for (const std::string& name : plans ? plans->list() : std::vector<std::string>()) {
    if (name == directory.filename()) continue;
    std::string words = holder(directory.parent_path() / name);
    // Hosts may share a home; schedulers of other hosts are not listed.
    if (words.find(fmt::format(" on {},", sys::host_name())) != std::string::npos)
      found.push_back(std::move(words));
  }
  return found;
}

std::string PlanLock::holder(const std::filesystem::path& directory) {
  const auto files = sys::PrivateDirectory::open(directory);
  if (!files || !files->exists(kLockName)) return {};
  const auto file = files->try_lock_file(kLockName);
  const bool held = !file && file.error().code == Code::kUnavailable;
  return held ? describe_holder(*files) : std::string();
}

}  // namespace corral::run::schedule
