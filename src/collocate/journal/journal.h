// Journal: changes on this machine outside of our own processes, written down and synced before
// each change, so that a later process can undo them.
//
//   <state>/undo/<owner>.undo   one JSON line for the owner, then one for each change and for each
//                               "done" and "undone"; flock: held while its owner lives
//
// One file per owner (a scheduler or a `corral run`). An entry records the former state and how to
// recognise that the change is still ours: replay (undo.h) goes backwards, is idempotent, touches
// only things that the file names, and skips changes that a reboot has undone already. Kill -9
// between any two steps leaves a file from which the former state is reached.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/private_directory.h"

namespace corral::collocate {

namespace fs = std::filesystem;

// One change outside the process. `kind` is one that undo.cpp or nvidia/ has a handler for:
// "cgroup", "mps", "mig-instance", "compute-instance", "mig-mode", "compute-mode", "clocks",
// "power", …
struct Change {
  std::string kind;
  std::string target;    // path of a cgroup, UUID of a device, pipe directory …
  std::string before{};  // the value to restore, in the kind's format, JSON or plain; may be empty
  std::string after{};   // our value; undone only if it is still set (if it can be read)
  std::string words{};   // for the user: "MIG mode of GPU 0: off -> on"
  bool outlives_reboot = false;  // false: the entry is void when boot_id has changed
};

// A change that is not undone yet.
struct Standing {
  std::uint64_t entry = 0;
  Change change;
  bool complete = false;  // complete() was called; false: made in full, in part or not at all
  std::string particulars;
};

// The owner of the runs that the changes are for: while one of their commands lives nothing is
// undone, even if no control group shows it. A `corral run` of one command leaves it empty: it
// notes only its group.
struct JournalOwner {
  fs::path plan;                // directory of the plan's state
  std::vector<fs::path> spool;  // directories that hold its runs' directories
};

// The content of a file, by any writer.
struct JournalContent {
  std::int64_t pid = 0;  // pid of the owner
  std::string boot_id;
  UtcTime started;
  JournalOwner owner;
  std::vector<Standing> standing;  // in the order they were noted
  std::uint64_t next = 1;
  int unreadable = 0;         // lines in the middle; a torn last line is no damage
  std::int64_t readable = 0;  // bytes up to the end of the last whole line
};
JournalContent parse_journal(std::string_view text);

class Journal {
 public:
  // Makes the owner's file in <state>/undo and locks it. Without `sync`, writes do not wait for the
  // disk: this is for changes that a reboot undoes by itself. A kill loses no line in either case.
  static Result<Journal> open(const fs::path& state, bool sync = true,
                              const JournalOwner& owner = {});
  // Takes over the file of an owner that is gone. kUnavailable: the owner lives; kNotFound: another
  // process has undone and deleted it.
  static Result<Journal> adopt(const fs::path& path);
  // Reads the file of a living owner.
  static Result<JournalContent> read(const fs::path& path);
  // Returns the files below <state>/undo, of living and dead owners, oldest name first. Only this
  // user may have access to the directory; kNotFound if it is missing.
  static Result<std::vector<fs::path>> files(const fs::path& state);
  // Keeps the file under another name, for the user to look at; returns the new path.
  fs::path set_aside();

  Journal(Journal&&) noexcept = default;
  Journal& operator=(Journal&&) noexcept = default;
  // Leaves the file for `corral undo`; the owner removes it if it has no entry.
  ~Journal();

  // Notes a change, durably; only after this may the change be made. Returns the entry's number.
  Result<std::uint64_t> note(const Change& change);
  // Notes several changes with one wait for the disk. Returns the number of the first; the others
  // follow.
  Result<std::uint64_t> note_all(const std::vector<Change>& changes);
  // Notes, durably, that the change was made in full, with its particulars (ids from the driver).
  Result<> complete(std::uint64_t entry, const std::string& particulars);
  // Notes that the entry is undone (or was never made). Not synced: a process that finds the entry
  // after a power cut checks it and finds no change of ours.
  Result<> undone(std::uint64_t entry);
  // Deletes the file if no entry is left. kConflict: entries are left, and the file stays for
  // `corral undo`.
  Result<> close();

  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] const std::vector<Standing>& standing() const { return content_.standing; }
  [[nodiscard]] const JournalContent& content() const { return content_; }
  // Returns the number of the next entry.
  [[nodiscard]] std::uint64_t next() const { return content_.next; }

 private:
  Journal(sys::PrivateDirectory directory, std::string name, sys::Fd file)
      : directory_(std::move(directory)),
        name_(std::move(name)),
        path_(directory_.path() / name_),
        file_(std::move(file)) {}
  // Appends whole lines, each with its end.
  Result<> append(const std::string& lines, bool sync);

  sys::PrivateDirectory directory_;
  std::string name_;
  fs::path path_;
  sys::Fd file_;
  bool sync_ = true;
  bool owner_ = false;  // this process made the file
  JournalContent content_;
};

}  // namespace corral::collocate
