// Journal: what was changed on this machine outside of our own processes, written down and synced
// before each change, so that whoever comes next can put it back.
//
//   <state>/undo/<owner>.undo   one JSON line per change and per "done"; flock: held while its
//   owner
//                               lives
//
// One file per owner (a scheduler or a `corral run`). An entry says what is to be put back and how
// to recognise that it is still ours: replay goes backwards, is idempotent, touches nothing that
// the file does not name, and skips what a reboot has undone already. Kill -9 between any two steps
// leaves a file from which the former state is reached.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

// One change outside the process. `kind` is one of constexpr kKinds (undo.cpp): "cgroup", "mps",
// "mig-instance", "compute-instance", "mig-mode", "compute-mode", "clocks", "power", "cpuset", …
struct Change {
  std::string kind;
  std::string target;  // path of a cgroup, UUID of a device, pipe directory …
  std::string before;  // what it is put back to, as the kind writes it; JSON or plain; may be empty
  std::string
      after;  // what we make of it: put back only while it is still this (where that can be seen)
  std::string words;             // for people: "MIG mode of GPU 0: off -> on"
  bool outlives_reboot = false;  // else the entry is void when boot_id changed
};

class Journal {
 public:
  // Makes the owner's file under `state` (sys::state_directory()/undo) and locks it.
  static Result<Journal> open(const fs::path& state);
  // Durable before it returns: only then may the change be made. Gives the entry's number.
  Result<std::uint64_t> note(const Change& change);
  // The change was made in full and these are its particulars (ids the driver gave); durable.
  Result<> complete(std::uint64_t entry, const std::string& particulars);
  // The entry is put back (or was never made).
  Result<> undone(std::uint64_t entry);
  // Nothing is left: deletes the file.
  Result<> close();

 private:
  explicit Journal(fs::path path, sys::Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  fs::path path_;
  sys::Fd file_;
  std::uint64_t next_ = 1;
};

}  // namespace corral::collocate
