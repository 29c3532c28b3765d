// Refusal: finds files that are never kept with a run's code because they hold secrets, by their
// names and by their contents (docs/security.md). Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace corral::run::set_up {

// Returns the reason why a file of this path is not even read; empty: none.
std::string_view refused_name(std::string_view path);

// Searches a file that comes in pieces. It always finds private keys and well-known tokens; with
// `literals` also literal values of secrets (`password = "…"`).
class SecretScan {
 public:
  explicit SecretScan(bool literals) : literals_(literals) {}
  void add(std::string_view piece);
  // Call once, at the end. Returns the reason why the file is not kept; empty: nothing was found.
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
  // Takes and returns a line without its end.
  std::string line(std::string_view line);

 private:
  bool in_key_ = false;
};

}  // namespace corral::run::set_up
