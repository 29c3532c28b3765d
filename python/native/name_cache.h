// NameCache: str object -> series, by identity: what makes a log call with a constant name cheap.
//
// Holds a reference to every name in it, so that an address cannot come to mean another name. Void
// as soon as the session changes (a fork). Names that only the call itself refers to (f-strings)
// are not kept. Under the GIL.
#pragma once

#include "values.h"

namespace corral::python {

class NameCache {
 public:
  // The series of `name`, from the cache or from the writer. Null with an exception set: no str,
  // empty, too long; null without one: refused and counted.
  spool::Series* find(spool::SegmentWriter& writer, PyObject* name) {
    const std::uint64_t session = writer.session_key();
    const std::size_t at = slot_of(name);
    if (session == session_ && session != 0) {
      for (std::size_t i = 0; i < kProbes; ++i) {
        const Entry& entry = entries_[(at + i) & (kEntries - 1)];
        if (entry.name == name) return entry.series;
        if (entry.name == nullptr) break;
      }
    }
    return look_up(writer, name, at);
  }
  // Lets go of every name.
  void clear();

 private:
  static constexpr std::size_t kEntries = 2048;
  static constexpr std::size_t kProbes = 8;
  struct Entry {
    PyObject* name = nullptr;
    spool::Series* series = nullptr;
  };

  static std::size_t slot_of(const PyObject* name) {
    const auto address = reinterpret_cast<std::uintptr_t>(name);
    return (address >> 4 ^ address >> 15) & (kEntries - 1);
  }
  spool::Series* look_up(spool::SegmentWriter& writer, PyObject* name, std::size_t at);

  Entry entries_[kEntries] = {};
  std::uint64_t session_ = 0;
};

}  // namespace corral::python
