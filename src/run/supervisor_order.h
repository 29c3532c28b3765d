// SupervisorOrder: all instructions of a scheduler for the supervisor of one run, as one JSON
// document on an inherited descriptor (`corral run --order-fd N`).
//
// The scheduler writes the document into an unnamed file before it starts the supervisor, so
// neither waits for the other. Keys that this version does not know are ignored; a change that an
// older reader would misunderstand raises `version`. Text that is not UTF-8 (file names, commands)
// travels as an array of bytes. Plain data; no threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "run/gate.h"
#include "run/placement.h"
#include "sys/file.h"

namespace corral::run {

// Settings of the recording. An absent setting is taken from the supervisor's own environment and
// configuration file, which are the scheduler's, plus the row's variables.
struct RunSettings {
  std::optional<Nanos> interval{};
  std::optional<Nanos> grace{};
  std::optional<Nanos> max_time{};
  std::optional<std::string> leftovers{};
  std::optional<std::string> spool{};
  std::optional<std::int64_t> spool_limit{};
  std::optional<std::string> listeners{};
  std::optional<std::string> profile{};
  std::optional<std::string> dcgm_address{};
  std::optional<std::int64_t> keep_code{};
  std::optional<std::string> tensorboard{};
  std::optional<std::string> max_epochs{};
  std::optional<std::string> max_steps{};
  std::optional<bool> no_listeners{};
  std::optional<bool> capture_mlflow{};
  std::optional<bool> no_mlflow{};
  std::optional<bool> hash_data{};
  std::optional<bool> no_capture{};
  std::optional<bool> no_mask{};
};

// Calls visit(key in the document, variable with the same meaning, field) for every setting.
template <class Settings, class Visit>
void for_each_setting(Settings& settings, Visit visit) {
  visit("interval_ns", "CORRAL_INTERVAL", settings.interval);
  visit("grace_ns", "CORRAL_GRACE", settings.grace);
  visit("max_time_ns", "CORRAL_MAX_TIME", settings.max_time);
  visit("leftovers", "CORRAL_LEFTOVERS", settings.leftovers);
  visit("spool", "CORRAL_SPOOL", settings.spool);
  visit("spool_limit", "CORRAL_SPOOL_LIMIT", settings.spool_limit);
  visit("listeners", "CORRAL_LISTENERS", settings.listeners);
  visit("profile", "CORRAL_PROFILE", settings.profile);
  visit("dcgm_address", "CORRAL_DCGM_ADDRESS", settings.dcgm_address);
  visit("keep_code", "CORRAL_KEEP_CODE", settings.keep_code);
  visit("tensorboard", "CORRAL_TENSORBOARD", settings.tensorboard);
  visit("max_epochs", "CORRAL_MAX_EPOCHS", settings.max_epochs);
  visit("max_steps", "CORRAL_MAX_STEPS", settings.max_steps);
  visit("no_listeners", "CORRAL_NO_LISTENERS", settings.no_listeners);
  visit("capture_mlflow", "CORRAL_CAPTURE_MLFLOW", settings.capture_mlflow);
  visit("no_mlflow", "CORRAL_NO_MLFLOW", settings.no_mlflow);
  visit("hash_data", "CORRAL_HASH_DATA", settings.hash_data);
  visit("no_capture", "CORRAL_NO_CAPTURE", settings.no_capture);
  visit("no_mask", "CORRAL_NO_MASK", settings.no_mask);
}

struct SupervisorOrder {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string run;     // id of the run
  bool adopt = false;  // take over this run, whose supervisor is gone; nothing is started
  GateOptions gate{};
  std::string experiment{};
  std::string workload{};
  std::string name{};
  std::string directory{};            // the command's folder; empty: the supervisor's
  std::string environment{};          // environment::parse; empty: as configured
  std::vector<std::string> passed{};  // names of variables that are passed into a container
  Pairs params{};
  Pairs tags{};
  Placement placement{};
  RunSettings settings{};
  std::vector<std::string> command{};
};

std::string dump_order(const SupervisorOrder& order);
// kInvalidArgument: the document is malformed; kUnsupported: its version is newer.
Result<SupervisorOrder> parse_order(std::string_view text);
// Reads the document up to its end and closes the descriptor.
Result<SupervisorOrder> read_order(int descriptor);

}  // namespace corral::run
