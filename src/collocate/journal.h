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
  std::string target;  // path of a cgroup, UUID of a device, pipe directory …
  std::string before;  // the value to restore, as the kind writes it; JSON or plain; may be empty
  std::string after;   // our value: undone only while it is still this (if that can be read)
  std::string words;   // for people: "MIG mode of GPU 0: off -> on"
  bool outlives_reboot = false;  // else the entry is void when boot_id changed
};

// A change that is not put back yet.
struct Standing {
  std::uint64_t entry = 0;
  Change change;
  bool complete = false;  // complete() was called; else it may be made in full, in part or not
  std::string particulars;
};

// The owner of the runs that the changes are for: while one of their commands lives nothing is
// undone, even if no control group shows it. A `corral run` of one command leaves it empty: its
// group is all that it notes.
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
  int unreadable = 0;         // lines in the middle; a torn last one is no damage
  std::int64_t readable = 0;  // bytes up to the end of the last whole line
};
JournalContent parse_journal(std::string_view text);

class Journal {
 public:
  // Makes the owner's file in <state>/undo and locks it. Without `sync` nothing waits for the disk:
  // for changes that a restart of the machine undoes by itself. A kill loses nothing either way.
  static Result<Journal> open(const fs::path& state, bool sync = true,
                              const JournalOwner& owner = {});
  // Takes over the file of an owner that is gone: kUnavailable while it lives, kNotFound when
  // another has put it back and deleted it.
  static Result<Journal> adopt(const fs::path& path);
  // Reads the file of a living owner.
  static Result<JournalContent> read(const fs::path& path);
  // The files below <state>/undo, whether their owners live or not, oldest name first. The
  // directory must be this user's alone; kNotFound when it is missing.
  static Result<std::vector<fs::path>> files(const fs::path& state);
  // Keeps the file under another name, for a person to look at; gives that name's path.
  fs::path set_aside();

  Journal(Journal&&) noexcept = default;
  Journal& operator=(Journal&&) noexcept = default;
  // Leaves the file for `corral undo`, unless it is its owner's and stands for nothing.
  ~Journal();

  // Durable before it returns: only then may the change be made. Gives the entry's number.
  Result<std::uint64_t> note(const Change& change);
  // Several at once, for one wait; the number of the first, the others follow.
  Result<std::uint64_t> note_all(const std::vector<Change>& changes);
  // The change was made in full and these are its particulars (ids the driver gave); durable.
  Result<> complete(std::uint64_t entry, const std::string& particulars);
  // The entry is put back (or was never made). Not synced: a process that finds the entry after a
  // power cut looks and finds nothing of ours.
  Result<> undone(std::uint64_t entry);
  // Nothing is left: deletes the file. kConflict when something is: the file stays for `corral
  // undo`.
  Result<> close();

  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] const std::vector<Standing>& standing() const { return content_.standing; }
  [[nodiscard]] const JournalContent& content() const { return content_; }
  // The number that the next entry gets.
  [[nodiscard]] std::uint64_t next() const { return content_.next; }

 private:
  Journal(sys::PrivateDirectory directory, std::string name, sys::Fd file)
      : directory_(std::move(directory)),
        name_(std::move(name)),
        path_(directory_.path() / name_),
        file_(std::move(file)) {}
  // Whole lines, each with its end.
  Result<> append(const std::string& lines, bool sync);

  sys::PrivateDirectory directory_;
  std::string name_;
  fs::path path_;
  sys::Fd file_;
  bool sync_ = true;
  bool owner_ = false;  // made it
  JournalContent content_;
};

}  // namespace corral::collocate
