// The fake's state, kept across processes in the file that FAKE_NVML_STATE names: lines "KEY
// VALUE", sorted. The file is locked during a call and replaced atomically: a killed process leaves
// the state before or after its call.
//
// Keys: model (models.h; a100-40), gpus (1); gpuN.mig, gpuN.mig.pending, gpuN.persistence,
// gpuN.compute_mode, gpuN.power (mW), gpuN.lock.gpu and .memory ("1410 1410"); gpuN.gi.ID "PROFILE
// START SIZE"; gpuN.ci.GI.ID "PROFILE"; gpuN.process.PID "-" or "GI.CI"; gpuN.needs_reset: a change
// of MIG mode asks for one; refuse.FUNCTION STATUS (NVML's number); profile_version (2): the newest
// that it knows; profiles_need_mode: profiles are reported only while MIG mode is on.
#pragma once

#include <map>
#include <string>

namespace corral::collocate::nvidia::fake {

using Values = std::map<std::string, std::string, std::less<>>;

class State {
 public:
  // Waits for the lock.
  State();
  // Writes the changes and releases the lock.
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback = "") const;
  [[nodiscard]] long number(const std::string& key, long fallback = 0) const;
  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  // An empty value removes the key.
  void set(const std::string& key, const std::string& value);
  [[nodiscard]] const Values& values() const { return values_; }

 private:
  Values values_;
  bool changed_ = false;
  int lock_ = -1;
};

}  // namespace corral::collocate::nvidia::fake
