// KeptCode: the files that a run executed, their hash, and copies of them as artifacts:
// `corral/code/…`, `corral/together` for most of many, and a list, `corral/code.json`
// (docs/format-code.md).
//
//   KeptCode code(subject, place);
//   code.keep();                  // script, imports, files that git lists; reads and copies
//   … facts(), refused() go into the run's facts, add_diff() gets the diff …
//   code.list();                  // code.json; nothing comes after it until …
//   code.add(modules); code.list();   // … the end of the run, for further imports
//
// Everything is read at most twice and copied at most once, while the run goes on. Files that git
// ignores or that look like secrets are never kept (secrets.h); links are recorded as links. One
// thread.
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

// The reason why a command without code of the user has no `code.hash`.
inline constexpr std::string_view kNoCode = "neither a script nor a git repository";

struct CodeSubject {
  std::vector<std::string> words = {};          // words of the command, as typed
  std::string interpreter = {};                 // interpreter of a .py file; empty: looked for
  std::filesystem::path directory = {};         // absolute; the command's folder
  std::string python_path = {};                 // its PYTHONPATH
  std::vector<std::filesystem::path> own = {};  // Corral's stores and spools
  std::int64_t limit = 0;                       // most bytes of all copies; 0: only hashes are made
  bool mask = true;                             // files with passwords in them are omitted
  std::int64_t started_ns = 0;                  // when the command started, since 1970
};

class KeptCode {
 public:
  // Artifacts of `run` are written to its `directory` in the spool.
  KeptCode(CodeSubject subject, sys::PrivateDirectory directory, RunId run)
      : subject_(std::move(subject)), directory_(std::move(directory)), run_(run) {}

  void keep();
  // Adds files that the command reported as imported (absolute paths). True if one of them was not
  // known.
  bool add(const std::vector<std::filesystem::path>& modules);
  // Returns the facts "code.…".
  [[nodiscard]] std::vector<codec::Fact> facts() const;
  // Returns the changed files that must not be shown in the diff, relative to the tree's root.
  [[nodiscard]] std::vector<std::string> refused() const;  // asks git
  // Takes the masked diff piece by piece; list() writes it as `corral/changes.diff`.
  void add_diff(std::string_view piece);
  // Notes that the diff is incomplete, and discards it.
  void refuse_diff(const std::string& reason);
  // Writes `corral/code.json`. Without a limit nothing is written.
  void list();
  // Returns one line for the user about files that were too large to keep, or that changed
  // meanwhile. Empty: there are none.
  [[nodiscard]] std::string notice() const;

 private:
  enum class Why { kScript, kImport, kChanged, kUntracked, kTracked };
  struct Entry {
    std::string path;            // path in the list
    std::filesystem::path full;  // absolute, without links on the way
    Why why = Why::kTracked;
    std::string left_out = {};  // the reason; empty: kept
    std::string sha256 = {}, link = {};
    FileState state = {};
    std::int64_t at = -1;  // offset in the shared copy; < 0: it has a copy of its own
    bool changed_meanwhile = false, over_limit = false;
    bool unread = false;     // it belongs to the code, but its hash is missing
    bool leads_out = false;  // a link leads to it, and only the source names it
    bool examined = false;   // by read_new()
  };
  static std::string_view to_string(Why why);
  static Json to_json(const Entry& entry);

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
  Result<int> copy_target(const Entry& entry, sys::Fd& own);
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
  std::vector<std::string> problems_;  // reasons why there is no hash
  bool tracked_kept_ = true;           // every unchanged tracked file is kept
  std::vector<Entry> entries_;
  std::map<std::filesystem::path, std::size_t> known_;
  std::set<std::string> folders_;  // folders that were omitted as a whole
  BootTime deadline_{};
  std::int64_t kept_bytes_ = 0, read_bytes_ = 0;
  std::size_t copies_ = 0;  // copies that are artifacts of their own
  sys::Fd together_;        // the other copies, one after the other, until list()
  std::int64_t together_bytes_ = 0;
  bool together_sent_ = false;
  std::set<std::filesystem::path> silent_;  // repositories for which git does not answer
  std::size_t asked_ = 0;                   // number of files that git was asked about
  sys::Fd diff_;
  std::string diff_refused_, list_failed_;
};

}  // namespace corral::run::set_up
