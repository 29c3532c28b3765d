#include "run/schedule/plan_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/failpoint.h"
#include "core/text.h"

namespace corral::run::schedule {
namespace {

constexpr const char* kJournalName = "journal";
constexpr std::size_t kJournalBytes = 1u << 30;

Json line_of(const Attempt& attempt) {
  return Json::Object{{"key", attempt.key},
                      {"repetition", attempt.repetition},
                      {"run", attempt.run},
                      {"name", attempt.name}};
}

Book book_of(std::string_view text) {
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
  return text ? book_of(*text) : Book();
}

Result<PlanJournal> PlanJournal::open(const fs::path& directory) {
  const auto files = TRY(sys::PrivateDirectory::make(directory));
  PlanJournal journal(TRY(files.open_file(kJournalName, O_RDWR | O_CREAT | O_APPEND)));
  const std::string text = TRY(files.read_file(kJournalName, kJournalBytes));
  journal.book_ = book_of(text);
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
  for (const Attempt& attempt : attempts) runs.push_back(line_of(attempt));
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

}  // namespace corral::run::schedule
