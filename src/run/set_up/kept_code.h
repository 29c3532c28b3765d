// The code that a run executed: which files those are, their hash, and copies of them as artifacts:
// `corral/code/…`, `corral/together` for most of many, and a list, `corral/code.json`
// (docs/format-code.md).
//
//   KeptCode code(subject, place);
//   code.keep();                  // script, imports, what git tells; reads and copies
//   … facts(), refused() go into the run's facts, take_diff() gets the diff …
//   code.list();                  // code.json; nothing comes after it until …
//   code.add(modules); code.list();   // … the end of the run, for what was imported beside that
//
// Everything is read at most twice and copied at most once, beside the run. What git ignores and
// what looks like a secret is never kept (refusal.h); links are recorded as links. One thread.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/json.h"
#include "core/result.h"
#include "core/time.h"
#include "run/set_up/code_file.h"
#include "run/set_up/git_tree.h"
#include "run/set_up/script.h"
#include "sys/private_directory.h"

namespace corral::run::set_up {

// Why there is no `code.hash` of a command that has no code of the user's.
inline constexpr std::string_view kNoCode = "neither a script nor a git repository";

struct CodeSubject {
  std::vector<std::string> words = {};          // of the command, as typed
  std::string interpreter = {};                 // of a .py file; empty: looked for
  std::filesystem::path directory = {};         // absolute: where the command works
  std::string python_path = {};                 // its PYTHONPATH
  std::vector<std::filesystem::path> own = {};  // Corral's stores and spools
  std::int64_t limit = 0;                       // of all copies; 0: only hashes are made
  bool mask = true;                             // files with passwords in them are left out
  std::int64_t started_ns = 0;                  // when the command started, since 1970
};

class KeptCode {
 public:
  // Artifacts of `run` are put into its `directory` of the spool.
  KeptCode(CodeSubject subject, sys::PrivateDirectory directory, RunId run)
      : subject_(std::move(subject)), directory_(std::move(directory)), run_(run) {}

  void keep();
  // Files that the command says it has imported, absolute. True: one of them was not known.
  bool add(const std::vector<std::filesystem::path>& modules);
  // Facts "code.…".
  [[nodiscard]] std::vector<codec::Fact> facts() const;
  // Changed files that must not be seen in the diff, from the tree's root.
  [[nodiscard]] std::vector<std::string> refused() const;  // asks git
  // The diff, masked, piece by piece; becomes `corral/changes.diff` with list().
  void take_diff(std::string_view piece);
  // It is not whole, and not kept.
  void refuse_diff(const std::string& reason);
  // Writes `corral/code.json`. Without a limit nothing is written.
  void list();
  // One line for a person: what was not kept for its size, or changed meanwhile. Empty: nothing.
  [[nodiscard]] std::string notice() const;

 private:
  enum class Why { kScript, kImport, kChanged, kUntracked, kTracked };
  struct Entry {
    std::string path;            // as it is listed
    std::filesystem::path full;  // absolute, without links on the way
    Why why = Why::kTracked;
    std::string left_out = {};  // the reason; empty: kept
    std::string sha256 = {}, link = {};
    FileLook look = {};
    std::int64_t at = -1;  // where it begins in the copy of many; < 0: it has its own
    bool changed_meanwhile = false, over_limit = false;
    bool unread = false;     // its hash is missing although it belongs to the code
    bool leads_out = false;  // by a link, and only the source names it
    bool looked_at = false;  // by read_new()
  };
  static std::string_view name_of(Why why);
  static Json json_of(const Entry& entry);

  void find();
  void find_in_tree();
  void open_tree();
  void find_imports(const Script& script);
  void find_program(const std::filesystem::path& path, Why why);
  void find_tracked();
  Entry* note(const std::filesystem::path& full, Why why);
  void leave_out(const std::filesystem::path& full, std::string reason);
  [[nodiscard]] std::string listed(const std::filesystem::path& full) const;
  [[nodiscard]] std::string reason_against(const std::filesystem::path& full);
  [[nodiscard]] std::string reason_outside(const std::filesystem::path& full);
  [[nodiscard]] std::string folder_against(const std::string& path);
  bool add_module(const std::filesystem::path& module);
  void read_new();
  void read(Entry& entry);
  void read_content(Entry& entry, const CodeFile& file);
  [[nodiscard]] bool goes_together(const Entry& entry) const;
  Result<int> copy_of(const Entry& entry, sys::Fd& own);
  Result<> store(Entry& entry, int file);
  Result<> store_together();
  Result<sys::Fd> scratch();
  [[nodiscard]] bool whole() const;
  [[nodiscard]] std::string hash() const;
  [[nodiscard]] Json git() const;

  CodeSubject subject_;
  sys::PrivateDirectory directory_;
  RunId run_;
  std::optional<GitTree> tree_;
  std::filesystem::path root_;
  std::set<std::string> tracked_, untracked_;  // below the tree's root
  std::set<std::string> deleted_, unseen_;
  std::vector<std::string> problems_;  // why there is no hash
  bool tracked_kept_ = true;           // every unchanged file that git tracks
  std::vector<Entry> entries_;
  std::map<std::filesystem::path, std::size_t> known_;
  std::set<std::string> folders_;  // that were left out as a whole
  BootTime deadline_{};
  std::int64_t kept_bytes_ = 0, read_bytes_ = 0;
  std::size_t copies_ = 0;  // of their own
  sys::Fd together_;        // the other ones, one behind the other, until list()
  std::int64_t together_bytes_ = 0;
  bool together_sent_ = false;
  std::set<std::filesystem::path> silent_;  // repositories that git does not answer for
  std::size_t asked_ = 0;                   // whether git ignores a file
  sys::Fd diff_;
  std::string diff_refused_, list_failed_;
};

}  // namespace corral::run::set_up
