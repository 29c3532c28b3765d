// ProfileRequest: asks the Python package of a run, through the run's spool, for a profile of the
// next steps, and reads how far it is (python/corral/_profile.py, docs/spool.md).
//
// One request is pending at a time, from any caller: the first process that ends a step takes it.
// One thread.
#pragma once

#include <optional>
#include <string>

#include "core/json.h"
#include "spool/run_directory.h"

namespace corral::spool {

class ProfileRequest {
 public:
  // `id`: is_profile_id(), never used before.
  ProfileRequest(sys::PrivateDirectory run, std::string id)
      : run_(std::move(run)), id_(std::move(id)) {}

  [[nodiscard]] const std::string& id() const { return id_; }
  // kUnsupported: the run's steps are not seen. kConflict: another request waits.
  [[nodiscard]] Result<> ask(std::int64_t steps) const;
  // Returns true if no process had taken it; none will.
  [[nodiscard]] bool withdraw() const;
  // The next line of the answer: {"state": "begun" | "saving" | "done" | "failed", "pid", "first",
  // "last"}, with "artifact" or "reason" at its end. Nothing: not yet.
  Result<std::optional<Json>> next();

 private:
  [[nodiscard]] static fs::path place(const std::string& name) { return fs::path(kFolder) / name; }
  static constexpr const char* kFolder = "profile";
  sys::PrivateDirectory run_;
  std::string id_;
  std::size_t read_ = 0;
};

}  // namespace corral::spool
