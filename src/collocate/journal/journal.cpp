#include "collocate/journal/journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/failpoint.h"
#include "core/json.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::collocate {
namespace {

constexpr const char* kFolder = "undo";
constexpr std::string_view kSuffix = ".undo";

std::string owner_line(const JournalOwner& owner) {
  std::string line;
  JsonWriter json(line);
  json.begin_object().member("corral_undo", 1).member("pid", std::int64_t{::getpid()});
  json.member("boot_id", sys::boot_id()).key("started_ns").value_string(ns_of(sys::utc_now()));
  if (!owner.plan.empty()) {
    json.member("plan", owner.plan.string()).key("spool").begin_array();
    for (const fs::path& root : owner.spool) json.value(root.string());
    json.end_array();
  }
  json.end_object();
  return line;
}

std::string note_line(std::uint64_t entry, const Change& change) {
  std::string line;
  JsonWriter json(line);
  json.begin_object().member("entry", static_cast<std::int64_t>(entry));
  json.member("kind", change.kind).member("target", change.target);
  json.member("before", change.before).member("after", change.after);
  json.member("words", change.words).member("outlives_reboot", change.outlives_reboot);
  json.end_object();
  return line;
}

Standing* find_entry(JournalContent& content, std::int64_t entry) {
  const auto found =
      std::ranges::find(content.standing, static_cast<std::uint64_t>(entry), &Standing::entry);
  return found == content.standing.end() ? nullptr : &*found;
}

void forget(JournalContent& content, std::int64_t entry) {
  std::erase_if(content.standing, [&](const Standing& standing) {
    return standing.entry == static_cast<std::uint64_t>(entry);
  });
}

JournalOwner parse_owner(const Json& line) {
  JournalOwner owner{.plan = line.get_string("plan"), .spool = {}};
  const Json* spool = line.find("spool");
  if (spool == nullptr || spool->as_array() == nullptr) return owner;
  for (const Json& root : *spool->as_array()) {
    if (root.as_string() != nullptr) owner.spool.emplace_back(*root.as_string());
  }
  return owner;
}

void parse_note(const Json& line, JournalContent& content) {
  Standing standing;
  standing.entry = static_cast<std::uint64_t>(line.get_int("entry"));
  standing.change = {.kind = line.get_string("kind"),
                     .target = line.get_string("target"),
                     .before = line.get_string("before"),
                     .after = line.get_string("after"),
                     .words = line.get_string("words")};
  if (const Json* outlives = line.find("outlives_reboot")) {
    standing.change.outlives_reboot = outlives->as_bool() != nullptr && *outlives->as_bool();
  }
  content.next = std::max(content.next, standing.entry + 1);
  content.standing.push_back(std::move(standing));
}

// False for a line that this version does not know.
bool parse_line(std::string_view text, JournalContent& content) {
  const auto line = Json::parse(text);
  if (!line || line->as_object() == nullptr) return false;
  if (line->find("corral_undo") != nullptr) {
    content.pid = line->get_int("pid");
    content.boot_id = line->get_string("boot_id");
    content.started = utc_time(line->get_int("started_ns"));
    content.owner = parse_owner(*line);
  } else if (line->find("kind") != nullptr) {
    parse_note(*line, content);
  } else if (line->find("done") != nullptr) {
    Standing* standing = find_entry(content, line->get_int("done"));
    if (standing == nullptr) return false;
    standing->complete = true;
    standing->particulars = line->get_string("particulars");
  } else if (line->find("undone") != nullptr) {
    forget(content, line->get_int("undone"));
  } else {
    return false;
  }
  return true;
}

// Adds all whole lines to `content`.
void parse_lines(std::string_view text, JournalContent& content) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (!parse_line(text.substr(0, end), content)) ++content.unreadable;
    content.readable += static_cast<std::int64_t>(end) + 1;
    text.remove_prefix(end + 1);
  }
}

Result<> sync_directory(const sys::PrivateDirectory& directory) {
  const sys::Fd fd(::openat(directory.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail_errno(directory.path().string(), errno);
  return {};
}

// Returns true if the name still leads to this file: another process may have undone and deleted it
// between our open and our lock.
bool is_at(const sys::Fd& file, const sys::PrivateDirectory& directory, const std::string& name) {
  struct stat open {};
  const auto named = directory.facts(name);
  return ::fstat(file.get(), &open) == 0 && named && open.st_ino == named->st_ino &&
         open.st_dev == named->st_dev;
}

Result<sys::Fd> open_locked(const sys::PrivateDirectory& directory, const std::string& name,
                            int flags) {
  const fs::path path = directory.path() / name;
  sys::Fd file = TRY(directory.open_file(name, flags));
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return fail(Code::kUnavailable, path.string() + ": its owner lives");
    return fail_errno(path.string(), errno);
  }
  if (!is_at(file, directory, name)) return fail(Code::kNotFound, path.string() + ": just undone");
  return file;
}

bool is_race(Code code) {
  return code == Code::kNotFound || code == Code::kUnavailable || code == Code::kAlreadyExists;
}

}  // namespace

JournalContent parse_journal(std::string_view text) {
  JournalContent content;
  parse_lines(text, content);
  return content;
}

Result<Journal> Journal::open(const fs::path& state, bool sync, const JournalOwner& owner) {
  const auto directory = TRY(sys::PrivateDirectory::make(state / kFolder));
  // The name sorts by age. A file that was deleted before it was locked is made again.
  for (int attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{:020}-{}{}", ns_of(sys::utc_now()), ::getpid(), kSuffix);
    auto file = open_locked(directory, name, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
    if (!file && attempt < 100 && is_race(file.error().code)) continue;
    Journal journal(directory, name, TRY(std::move(file)));
    journal.sync_ = sync;
    journal.owner_ = true;
    // The line reaches the disk with the first change; the file's name must be there before.
    TRY(journal.append(owner_line(owner) + "\n", false));
    if (sync) TRY(sync_directory(directory));
    return journal;
  }
}

Result<JournalContent> Journal::read(const fs::path& path) {
  const auto directory = TRY(sys::PrivateDirectory::open(path.parent_path()));
  return parse_journal(TRY(directory.read_file(path.filename())));
}

Result<Journal> Journal::adopt(const fs::path& path) {
  const auto directory = TRY(sys::PrivateDirectory::open(path.parent_path()));
  const std::string name = path.filename();
  Journal journal(directory, name, TRY(open_locked(directory, name, O_RDWR | O_APPEND)));
  journal.content_ = parse_journal(TRY(directory.read_file(name)));
  // A torn last line would swallow the next one.
  if (::ftruncate(journal.file_.get(), journal.content_.readable) != 0)
    return fail_errno(path.string(), errno);
  return journal;
}

Result<std::vector<fs::path>> Journal::files(const fs::path& state) {
  std::vector<fs::path> found;
  const auto directory = TRY(sys::PrivateDirectory::open(state / kFolder));
  for (const std::string& name : directory.list()) {
    if (name.ends_with(kSuffix)) found.push_back(state / kFolder / name);
  }
  return found;
}

fs::path Journal::set_aside() {
  const std::string aside = name_ + ".damaged";
  const auto renamed = directory_.rename(name_, aside);
  return renamed ? directory_.path() / aside : path_;
}

Journal::~Journal() {
  if (owner_ && file_ && content_.standing.empty()) directory_.remove(name_);
}

Result<> Journal::append(const std::string& lines, bool sync) {
  Result<> written = sys::write_all(file_.get(), lines);
  failpoint::reach("journal.written");
  if (written && sync && sync_ && ::fdatasync(file_.get()) != 0)
    written = fail_errno(path_.string(), errno);
  if (!written) {
    // An incomplete line would swallow the next one.
    if (::ftruncate(file_.get(), content_.readable) != 0)
      return fail_errno("cut " + path_.string(), errno);
    return written;
  }
  // The content is kept as a reader of the file would get it.
  parse_lines(lines, content_);
  failpoint::reach("journal.durable");
  return {};
}

Result<std::uint64_t> Journal::note(const Change& change) { return note_all({change}); }

Result<std::uint64_t> Journal::note_all(const std::vector<Change>& changes) {
  const std::uint64_t first = content_.next;
  std::string lines;
  for (std::size_t i = 0; i < changes.size(); ++i) lines += note_line(first + i, changes[i]) + "\n";
  const Result<> written = append(lines, true);
  if (!written)
    return tl::unexpected(written.error().with_context("changes require a journal entry first"));
  return first;
}

Result<> Journal::complete(std::uint64_t entry, const std::string& particulars) {
  std::string line;
  JsonWriter json(line);
  json.begin_object().member("done", static_cast<std::int64_t>(entry));
  json.member("particulars", particulars).end_object();
  return append(line + "\n", true);
}

Result<> Journal::undone(std::uint64_t entry) {
  std::string line;
  JsonWriter(line).begin_object().member("undone", static_cast<std::int64_t>(entry)).end_object();
  return append(line + "\n", false);
}

Result<> Journal::close() {
  if (!content_.standing.empty()) {
    return fail(Code::kConflict, fmt::format("{}: {} change(s) not undone", path_.string(),
                                             content_.standing.size()));
  }
  if (!directory_.remove(name_) && directory_.exists(name_))
    return fail(Code::kIo, path_.string() + ": cannot be deleted");
  file_.reset();
  return {};
}

}  // namespace corral::collocate
