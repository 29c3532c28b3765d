// Code tree: files of a run put into a new directory, whatever lies there already.
//
// Every access walks from the root, one name at a time, and never through a symbolic link: a
// repository that was checked out before may hold some. Paths are those that
// check_restored_path() takes. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "cli/kept_code.h"
#include "core/result.h"
#include "sys/fd.h"

namespace corral::cli {

class CodeTree {
 public:
  static Result<CodeTree> open(const std::filesystem::path& root);

  // Hands the file's bytes to the function that it is given, which takes no more when it is false.
  using Send = std::function<Result<>(const std::function<bool(std::string_view)>& take)>;
  // Writes the file in place of another one. kCorruption unless the bytes are those of its SHA-256.
  Result<> write(const KeptFile& file, const Send& send);
  // Makes a symbolic link in place of a file.
  Result<> link(const KeptFile& file);
  // With those that it lies in; "" is the root.
  Result<> make_directory(std::string_view path);
  // An absent file is fine; directories stay.
  Result<> remove(std::string_view path);

 private:
  explicit CodeTree(sys::Fd root) : root_(std::move(root)) {}
  [[nodiscard]] Result<sys::Fd> parent_of(std::string_view path, bool make) const;
  sys::Fd root_;
};

}  // namespace corral::cli
