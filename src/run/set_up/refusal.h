// Files that are never kept with a run's code, because they hold what nobody else may read: by
// their names, and by what is in them (docs/security.md). Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace corral::run::set_up {

// Why a file of this path is not even read; empty: nothing against it.
std::string_view refused_name(std::string_view path);

// Reads a file that comes in pieces. Private keys and well-known tokens are found always, values of
// secrets that are written out (`password = "…"`) with `literals`.
class SecretScan {
 public:
  explicit SecretScan(bool literals) : literals_(literals) {}
  void add(std::string_view piece);
  // Once, at the end. Why the file is not kept; empty: nothing was found.
  std::string_view finish();

 private:
  void line(std::string_view line);

  bool literals_;
  std::string open_;  // the last line so far
  std::string_view reason_;
};

// A diff, line by line, without secrets: lines that hold a well-known token or belong to a private
// key are replaced, but for their first character.
class DiffScan {
 public:
  // A line without its end.
  std::string line(std::string_view line);

 private:
  bool in_key_ = false;
};

}  // namespace corral::run::set_up
