#include "run/set_up/kept_code.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/sha256.h"
#include "core/text.h"
#include "run/set_up/fact.h"
#include "run/set_up/idle.h"
#include "run/set_up/secrets.h"
#include "spool/outbox.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 5'000;  // most files that are hashed
// Most copies that are artifacts of their own; more go together.
constexpr std::size_t kMostCopies = 100;
constexpr std::size_t kMostAsked = 300;  // most files of other repositories that git is asked about
// Most unchanged files, which git has anyway: a large repository is not sent with each run.
constexpr std::size_t kMostTracked = 2'000;
constexpr std::size_t kMostLeftOut = 1'000;          // most omitted files that are listed
constexpr std::int64_t kMostOfOne = 64ll << 20;      // most bytes read of one file
constexpr std::int64_t kMostOfAll = 256ll << 20;     // most bytes read of all files
constexpr Nanos kPatience{std::chrono::minutes(1)};  // longest time for reading
constexpr const char* kScratch = "code-scratch";
constexpr const char* kTogether = "corral/together";
constexpr const char* kIgnored = "git ignores it";

// Folders of tools, which make them anew; they often have thousands of files.
constexpr auto kFolders = std::to_array<std::string_view>(
    {"site-packages", "dist-packages", "node_modules", "__pycache__", ".git", ".hg", ".tox", ".nox",
     ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"});

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [a, b] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return a == folder.end() && b != path.end();
}

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> some(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
  const std::string more =
      names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "";
  return join(some, ", ") + more;
}

}  // namespace

std::string_view KeptCode::to_string(Why why) {
  switch (why) {
    case Why::kScript:
      return "script";
    case Why::kImport:
      return "import";
    case Why::kChanged:
      return "changed";
    case Why::kUntracked:
      return "untracked";
    case Why::kTracked:
      return "tracked";
  }
  return "";
}

// ---- which files

std::string KeptCode::listed(const fs::path& full) const {
  return is_below(full, root_) ? full.lexically_relative(root_).string() : full.string();
}

// Adds an entry; nullptr: it exists already.
KeptCode::Entry* KeptCode::note(const fs::path& full, Why why) {
  if (!known_.emplace(full, entries_.size()).second) return nullptr;
  Entry& entry = entries_.emplace_back();
  entry.path = listed(full);
  entry.full = full;
  entry.why = why;
  return &entry;
}

void KeptCode::leave_out(const fs::path& full, std::string reason) {
  if (Entry* entry = note(full, Why::kUntracked)) entry->left_out = std::move(reason);
}

// Returns the reason why a file that the command executes is hashed, but not kept.
std::string KeptCode::reason_against(const fs::path& full) {
  if (tree_ && is_below(full, root_)) {
    const std::string path = listed(full);
    if (tracked_.contains(path) || untracked_.contains(path)) return "";
    for (fs::path above = fs::path(path).parent_path(); !above.empty(); above = above.parent_path())
      if (untracked_.contains(above.string() + "/") || known_.contains(root_ / above))
        return "in another git repository";
    return kIgnored;
  }
  return reason_outside(full);
}

// Returns the reason against a file of another repository, which may ignore it; if git does not
// answer, the file is not kept.
std::string KeptCode::reason_outside(const fs::path& full) {
  constexpr const char* kSilent = "git does not say whether it is ignored";
  std::error_code error;
  fs::path top = full.parent_path();
  while (top != top.root_path() && !fs::exists(fs::symlink_status(top / ".git", error)))
    top = top.parent_path();
  if (!fs::exists(fs::symlink_status(top / ".git", error))) return "";
  if (silent_.contains(top) || ++asked_ > kMostAsked) return kSilent;
  const std::string name = full.filename().string();
  const auto ignored = GitTree::ignored(full.parent_path(), {name});
  if (!ignored) silent_.insert(top);
  if (!ignored) return kSilent;
  return ignored->contains(name) ? kIgnored : "";
}

// A link is an entry of its own; the executed file is the one that it leads to.
void KeptCode::find_program(const fs::path& path, Why why) {
  std::error_code error;
  const fs::path named = fs::canonical(path.parent_path(), error) / path.filename();
  const fs::path full = error ? fs::path() : fs::canonical(path, error);
  if (error) return leave_out(path.lexically_normal(), "not found: " + error.message());
  if (named != full && !is_installed(named)) {
    if (Entry* link = note(named, why)) link->left_out = reason_against(named);
  }
  if (is_installed(full)) {
    if (named != full) leave_out(full, "part of the system or of a package");
    return;
  }
  Entry* entry = note(full, why);
  if (entry == nullptr) return;
  entry->left_out = reason_against(full);
  // Imports are found by reading the source: a line that never runs must not add a file from
  // outside.
  entry->leads_out = why == Why::kImport && is_below(path.lexically_normal(), root_) &&
                     !is_below(full, root_) && deadline_ == BootTime{};
  if (entry->leads_out && entry->left_out.empty())
    entry->left_out = "a link leads out of the project to it";
}

void KeptCode::find_imports(const Script& script) {
  find_program(script.path, Why::kScript);
  if (!script.path.string().ends_with(".py")) return;
  const std::string first = subject_.words.empty() ? "" : subject_.words[0];
  std::string interpreter = subject_.interpreter;
  if (interpreter.empty())
    interpreter = fs::path(first).filename().string().starts_with("python") ? first : "python3";
  if (interpreter.find('/') != std::string::npos)
    interpreter = (subject_.directory / interpreter).string();
  const auto imports = list_imports({.script = script,
                                     .interpreter = interpreter,
                                     .python_path = subject_.python_path,
                                     .directory = subject_.directory});
  if (!imports) return problems_.push_back(imports.error().message);
  for (const fs::path& file : *imports) find_program(file, Why::kImport);
}

// Returns the folder of `path` that is omitted as a whole; empty: none.
std::string KeptCode::folder_against(const std::string& path) {
  if (path.ends_with('/')) {
    leave_out(root_ / path.substr(0, path.size() - 1), "another git repository");
    return path;
  }
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    std::string folder = path.substr(0, at);
    const std::string name = fs::path(folder).filename().string();
    const fs::path full = root_ / folder;
    const bool tool = std::ranges::find(kFolders, name) != kFolders.end();
    const bool venv = untracked_.contains(folder + "/pyvenv.cfg");
    const bool own = std::ranges::find(subject_.own, full) != subject_.own.end();
    if (!tool && !venv && !own) continue;
    leave_out(full, own ? "Corral's own" : venv ? "a virtual environment" : "made by tools");
    return folder;
  }
  return "";
}

void KeptCode::find_in_tree() {
  const bool asks = !tree_->runs_filters() && !tree_->commit().empty();
  const auto changes = asks ? tree_->changes() : Result<GitTree::Changes>();
  if (!changes) problems_.push_back("git diff: " + changes.error().message);
  std::set<std::string> changed;
  if (changes) {
    changed.insert(changes->changed.begin(), changes->changed.end());
    deleted_.insert(changes->deleted.begin(), changes->deleted.end());
  }
  std::error_code error;
  for (const std::string& path : tracked_) {
    // Without an answer from git every file counts as changed.
    const bool gone = !asks && !fs::exists(fs::symlink_status(root_ / path, error));
    if (gone) deleted_.insert(path);
    const bool unseen =
        unseen_.contains(path) && fs::exists(fs::symlink_status(root_ / path, error));
    if (!gone && (!asks || unseen || changed.contains(path))) note(root_ / path, Why::kChanged);
  }
  for (const std::string& path : untracked_) {
    if (entries_.size() > kMostFiles) {
      problems_.push_back(fmt::format("more than {} files", kMostFiles));
      return;
    }
    if (folder_against(path).empty()) note(root_ / path, Why::kUntracked);
  }
}

// Adds all tracked files, or none if there are too many.
void KeptCode::find_tracked() {
  std::vector<fs::path> files;
  std::int64_t bytes = 0;
  for (const std::string& path : tracked_) {
    const fs::path full = root_ / path;
    if (known_.contains(full) || deleted_.contains(path)) continue;
    const auto file = CodeFile::open(full);
    if (file) bytes += file->state().bytes;
    files.push_back(full);
    if (!file || files.size() > kMostTracked || entries_.size() + files.size() > kMostFiles ||
        kept_bytes_ + bytes > subject_.limit) {
      tracked_kept_ = false;
      return;
    }
  }
  for (const fs::path& full : files) note(full, Why::kTracked);
}

// If git does not answer, the hash is unknown; the script and its imports are still kept.
void KeptCode::open_tree() {
  auto tree = GitTree::open(subject_.directory);
  if (!tree) return;
  const auto tracked = tree->tracked();
  const auto untracked = tree->untracked();
  if (!tracked || !untracked) {
    problems_.push_back("git ls-files: " + (tracked ? untracked.error() : tracked.error()).message);
    return;
  }
  tree_ = *std::move(tree);
  root_ = tree_->root();
  untracked_.insert(untracked->begin(), untracked->end());
  for (const GitTree::Tracked& file : *tracked) {
    if (file.submodule) {
      leave_out(root_ / file.path, "a submodule: another git repository");
      tracked_kept_ = false;
    } else {
      tracked_.insert(file.path);
      if (file.unseen) unseen_.insert(file.path);
    }
  }
}

void KeptCode::find() {
  std::error_code error;
  const fs::path here = fs::canonical(subject_.directory, error);
  if (!error) subject_.directory = here;
  for (fs::path& own : subject_.own) own = fs::weakly_canonical(own, error);
  const auto script = find_script(subject_.words, subject_.directory);
  root_ = script ? fs::weakly_canonical(script->path.parent_path(), error) : subject_.directory;
  open_tree();
  if (script) find_imports(*script);
  if (tree_) find_in_tree();
  if (!tree_ && entries_.empty()) problems_.emplace_back(kNoCode);
}

// ---- reading

Result<sys::Fd> KeptCode::scratch() {
  directory_.remove(kScratch);
  sys::Fd file = TRY(directory_.open_file(kScratch, O_RDWR | O_CREAT | O_EXCL));
  directory_.remove(kScratch);
  return file;
}

// True for unchanged files and those beyond the first ones: they share one copy, because each
// artifact has a cost of its own.
bool KeptCode::goes_together(const Entry& entry) const {
  return !together_sent_ && (entry.why == Why::kTracked || copies_ >= kMostCopies);
}

Result<int> KeptCode::copy_target(const Entry& entry, sys::Fd& own) {
  const bool together = goes_together(entry);
  sys::Fd& file = together ? together_ : own;
  if (!file) file = TRY(scratch());
  // Writes behind the last complete copy.
  if (together && (::ftruncate(file.get(), together_bytes_) != 0 ||
                   ::lseek(file.get(), together_bytes_, SEEK_SET) < 0))
    return fail_errno(kTogether, errno);
  return file.get();
}

Result<> KeptCode::store(Entry& entry, int file) {
  if (goes_together(entry)) {
    entry.at = together_bytes_;
    together_bytes_ += entry.state.bytes;
    return {};
  }
  ++copies_;
  const std::string below = entry.path.starts_with('/') ? "outside" + entry.path : entry.path;
  return spool::keep_artifact(directory_, run_, "corral/code/" + below, file);
}

Result<> KeptCode::store_together() {
  together_sent_ = true;
  const sys::Fd file = std::move(together_);
  if (!file) return {};
  if (::ftruncate(file.get(), together_bytes_) != 0) return fail_errno(kTogether, errno);
  return spool::keep_artifact(directory_, run_, kTogether, file.get());
}

// Reads the file once to hash it, search it for secrets and copy it. The copy has exactly the
// hashed bytes.
void KeptCode::read_content(Entry& entry, const CodeFile& file) {
  const bool room = subject_.limit > 0 && kept_bytes_ + entry.state.bytes <= subject_.limit;
  entry.over_limit = entry.left_out.empty() && !room;
  if (entry.over_limit && subject_.limit == 0)
    entry.left_out = "no code is kept";
  else if (entry.over_limit)
    entry.left_out = "over the limit of " + human_bytes(static_cast<double>(subject_.limit));
  sys::Fd own;
  int copy = -1;
  if (entry.left_out.empty()) {
    const auto made = copy_target(entry, own);
    if (made)
      copy = *made;
    else
      entry.left_out = made.error().message;
  }
  Sha256Stream hash;
  SecretScan scan(subject_.mask);
  Result<> copied;
  std::int64_t bytes = 0;
  const auto read =
      file.read(std::min(kMostOfOne, entry.state.bytes + (1 << 20)), [&](std::string_view piece) {
        hash.add(piece);
        scan.add(piece);
        bytes += static_cast<std::int64_t>(piece.size());
        if (copy >= 0 && copied) copied = sys::write_all(copy, piece);
        return true;
      });
  read_bytes_ += bytes;
  if (!read) {
    entry.left_out = read.error().message;
    entry.unread = entry.why <= Why::kChanged;
    return;
  }
  entry.sha256 = hex(hash.finish());
  if (bytes != entry.state.bytes) entry.changed_meanwhile = true;
  entry.state.bytes = bytes;
  if (const std::string_view secret = scan.finish(); !secret.empty()) {
    entry.left_out = secret;
    entry.over_limit = false;
    // Untracked files are not known to have been executed.
    if (entry.why >= Why::kUntracked) entry.sha256.clear();
  }
  if (entry.left_out.empty() && copied) copied = store(entry, copy);
  if (!copied) entry.left_out = "could not be copied: " + copied.error().message;
  if (entry.left_out.empty()) kept_bytes_ += bytes;
}

void KeptCode::read(Entry& entry) {
  const bool executed = entry.why <= Why::kChanged;  // or tracked, and different from the commit
  const auto refuse = [&](std::string reason, bool counts) {
    entry.left_out = std::move(reason);
    entry.unread = counts;
  };
  const std::string_view named = refused_name(entry.path);
  if (!named.empty()) entry.left_out = named;
  if (!named.empty() && !executed) return;
  // Artifacts cannot have such a name.
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!is_utf8(entry.path) || std::ranges::any_of(entry.path, is_control))
    entry.left_out = "its name holds characters that nothing is kept under";
  auto file = CodeFile::open(entry.full);
  if (!file) return refuse(file.error().message, executed);
  entry.state = file->state();
  entry.changed_meanwhile = entry.state.changed_ns > subject_.started_ns;
  if (entry.state.kind == FileState::Kind::kLink) {
    entry.link = file->target().value_or("");
    entry.sha256 = hex(sha256(entry.link));
    return;
  }
  if (entry.state.kind != FileState::Kind::kFile) {
    entry.left_out = "no regular file";
    return;
  }
  if (entry.why == Why::kUntracked && entry.state.made_ns > subject_.started_ns) {
    entry.changed_meanwhile = false;
    entry.left_out = "made after the command had started";
    return;
  }
  if (entry.state.bytes > kMostOfOne || read_bytes_ + entry.state.bytes > kMostOfAll ||
      sys::boot_now() > deadline_) {
    entry.over_limit = subject_.limit > 0 && entry.left_out.empty();
    return refuse(sys::boot_now() > deadline_ ? "not read in time" : "too large to be read",
                  entry.why != Why::kTracked);
  }
  read_content(entry, *file);
}

// Git's processes are started by this thread: a fork takes a lock that others wait for.
void KeptCode::read_new() {
  deadline_ = sys::boot_now() + kPatience;
  const auto work = [&] {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      // Files in a folder that is omitted as a whole are not read.
      if (std::exchange(entry.examined, true) ||
          (entry.why == Why::kUntracked && !entry.left_out.empty()))
        continue;
      if (i < kMostFiles) {
        read(entry);
      } else {
        entry.left_out = fmt::format("one of more than {} files", kMostFiles);
        entry.over_limit = refused_name(entry.path).empty();
        entry.unread = entry.why != Why::kTracked;
      }
    }
    for (Entry& entry : entries_) {
      if (entry.sha256.empty()) continue;
      const auto again = CodeFile::open(entry.full);
      if (!again || !(again->state() == entry.state)) entry.changed_meanwhile = true;
    }
  };
  if (const auto done = do_idly("corral-code", "reading the code", work); !done)
    problems_.push_back(done.error().message);
}

void KeptCode::keep() {
  find();
  read_new();
  if (!tree_ || subject_.limit == 0) return;
  find_tracked();
  read_new();
}

// True if the entry of the module has changed.
bool KeptCode::add_module(const fs::path& module) {
  if (module == "/") {  // python/corral/_code.py writes this for "too many"
    problems_.emplace_back("not all modules that the command imported are known");
    return true;
  }
  std::error_code error;
  fs::path full = fs::canonical(module, error);
  if (error && module.is_absolute()) {
    // A module in an archive stands for the archive.
    fs::path above = module;
    while (above.has_relative_path() && !fs::exists(above, error)) above = above.parent_path();
    if (fs::is_regular_file(above, error)) return add_module(above);
    return false;
  }
  if (error || is_installed(module) || is_installed(full)) return false;
  const auto known = known_.find(full);
  if (known == known_.end()) {
    find_program(module, Why::kImport);
    return true;
  }
  Entry& entry = entries_[known->second];
  if (entry.why <= Why::kChanged && !entry.leads_out) return false;
  entry.why = Why::kImport;
  entry.leads_out = false;
  if (!entry.left_out.empty()) {
    entry.left_out = reason_against(full);
    entry.examined = entry.over_limit = false;
  }
  return true;
}

bool KeptCode::add(const std::vector<fs::path>& modules) {
  bool news = false;
  for (const fs::path& module : modules) news = add_module(module) || news;
  if (news) read_new();
  return news;
}

// ---- facts, diff and list

std::string KeptCode::hash() const {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    if (entry.why == Why::kTracked || entry.sha256.empty()) continue;
    lines.push_back(entry.path + '\0' + (entry.state.executable ? "755" : "644") + '\0' +
                    entry.sha256);
  }
  std::ranges::sort(lines);
  return hex(sha256(join(lines, "\n")), 8);
}

std::vector<codec::Fact> KeptCode::facts() const {
  std::int64_t kept = 0, left_out = 0;
  std::vector<std::string> problems = problems_;
  for (const Entry& entry : entries_) {
    ++(entry.left_out.empty() ? kept : left_out);
    if (entry.unread) problems.push_back(entry.path + ": " + entry.left_out);
  }
  std::vector<codec::Fact> facts;
  facts.push_back(problems.empty() ? info("code.hash", hash())
                                   : absent("code.hash", to_utf8(problems.front())));
  facts.push_back(info("code.files", subject_.limit > 0 ? kept : 0));
  facts.push_back(info("code.bytes", kept_bytes_));
  facts.push_back(info("code.left_out", left_out));
  return facts;
}

std::vector<std::string> KeptCode::refused() const {
  std::vector<std::string> paths, gone(deleted_.begin(), deleted_.end());
  // Files that are gone from the index have no entry, but the diff would show their content.
  const auto ignored =
      tree_ && !gone.empty() ? GitTree::ignored(root_, gone) : Result<std::set<std::string>>();
  for (const std::string& path : gone)
    if (!refused_name(path).empty() || !ignored || ignored->contains(path)) paths.push_back(path);
  for (const Entry& entry : entries_)
    if (!entry.left_out.empty() && !entry.over_limit && tracked_.contains(entry.path))
      paths.push_back(entry.path);
  return paths;
}

void KeptCode::add_diff(std::string_view piece) {
  if (subject_.limit == 0 || !diff_refused_.empty()) return;
  if (!diff_) {
    auto made = scratch();
    if (!made) return refuse_diff(made.error().message);
    diff_ = *std::move(made);
  }
  if (const auto written = sys::write_all(diff_.get(), piece); !written)
    refuse_diff(written.error().message);
}

void KeptCode::refuse_diff(const std::string& reason) { diff_refused_ = reason; }

bool KeptCode::whole() const {
  if (!tracked_kept_ || !problems_.empty()) return false;
  return std::ranges::none_of(entries_, [&](const Entry& entry) {
    return !entry.left_out.empty() && (entry.why != Why::kUntracked || entry.over_limit ||
                                       !entry.sha256.empty() || tracked_.contains(entry.path));
  });
}

Json KeptCode::git() const {
  if (!tree_) return {};
  const auto text = [](const std::string& value) {
    return value.empty() ? Json() : Json(to_utf8(value));
  };
  Json::Array deleted;
  for (const std::string& path : deleted_) deleted.emplace_back(to_utf8(path));
  return Json::Object{{"commit", text(tree_->commit())},
                      {"remote", text(tree_->remote())},
                      {"branch", text(tree_->branch())},
                      {"deleted", std::move(deleted)}};
}

Json KeptCode::to_json(const Entry& entry) {
  Json json = Json::Object{{"path", to_utf8(entry.path)}};
  if (!entry.left_out.empty()) {
    json.set("reason", to_utf8(entry.left_out));
    json.set("why", std::string(to_string(entry.why)));
    if (!entry.sha256.empty()) json.set("sha256", entry.sha256);
    return json;
  }
  json.set("sha256", entry.sha256);
  json.set("bytes", entry.state.bytes);
  json.set("mode", entry.state.executable ? "755" : "644");
  json.set("why", std::string(to_string(entry.why)));
  if (!entry.link.empty()) json.set("link", to_utf8(entry.link));
  if (entry.at >= 0) json.set("at", entry.at);
  if (entry.changed_meanwhile) json.set("changed_meanwhile", true);
  return json;
}

void KeptCode::list() {
  if (subject_.limit == 0) return;
  if (diff_ && diff_refused_.empty()) {
    ::lseek(diff_.get(), 0, SEEK_SET);
    if (const auto kept =
            spool::keep_artifact(directory_, run_, "corral/changes.diff", diff_.get());
        !kept)
      refuse_diff(kept.error().message);
    diff_.reset();
  }
  Json::Array files, left_out;
  std::size_t more = 0;
  for (const Entry& entry : entries_) {
    if (entry.left_out.empty())
      files.push_back(to_json(entry));
    else if (left_out.size() < kMostLeftOut)
      left_out.push_back(to_json(entry));
    else
      ++more;
  }
  if (!diff_refused_.empty())
    left_out.push_back(
        Json::Object{{"path", "corral/changes.diff"}, {"reason", to_utf8(diff_refused_)}});
  if (more > 0)
    left_out.push_back(
        Json::Object{{"path", fmt::format("{} more", more)}, {"reason", "as above"}});
  const fs::path& here = subject_.directory;
  const std::string directory = here == root_ ? "" : listed(here);
  const codec::Fact hash = facts().front();
  const Json json =
      Json::Object{{"format", 1},
                   {"root", to_utf8(root_.string())},
                   {"directory", to_utf8(directory)},
                   {"git", git()},
                   {"hash", hash.kind == codec::FactKind::kInfo ? Json(this->hash()) : Json()},
                   {"whole", whole()},
                   {"files", std::move(files)},
                   {"left_out", std::move(left_out)}};
  const auto write = [&]() -> Result<> {
    TRY(store_together());
    const sys::Fd file = TRY(scratch());
    TRY(sys::write_all(file.get(), json.dump() + "\n"));
    ::lseek(file.get(), 0, SEEK_SET);
    return spool::keep_artifact(directory_, run_, "corral/code.json", file.get());
  };
  if (const auto written = write(); !written) list_failed_ = written.error().message;
}

std::string KeptCode::notice() const {
  std::vector<std::string> over, changed;
  for (const Entry& entry : entries_) {
    if (entry.over_limit && subject_.limit > 0) over.push_back(to_utf8(entry.path));
    if (entry.changed_meanwhile) changed.push_back(to_utf8(entry.path));
  }
  std::vector<std::string> said;
  if (!over.empty())
    said.push_back(fmt::format("not kept, over the limit of {} (--keep-code): {}",
                               human_bytes(static_cast<double>(subject_.limit)), list_names(over)));
  if (!changed.empty())
    said.push_back("changed after the command had started: " + list_names(changed));
  if (!list_failed_.empty()) said.push_back("the list of files is not kept: " + list_failed_);
  return said.empty() ? "" : "code: " + join(said, "; ");
}

}  // namespace corral::run::set_up
