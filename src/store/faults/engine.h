// Engine: a database that the fault tests run a store on.
//
// It outlives the stores opened on it and can make them crash. A test is parameterised by a factory
// and skips what an engine cannot do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/result.h"
#include "store/store.h"

namespace corral::store::faults {

class Engine {
 public:
  virtual ~Engine() = default;
  // At most one store at a time.
  virtual Result<std::unique_ptr<Store>> open() = 0;
  // The open store reaches the disk `calls` times more, then never again: when it is dropped, its
  // files are as after a kill -9. open() works again after restart().
  virtual void stop_after(std::uint64_t calls) = 0;
  virtual void restart() = 0;
  // Faults that the engine's own check finds; empty: none. No store may be open.
  virtual std::string damage() = 0;
};

using EngineFactory = std::unique_ptr<Engine> (*)();
std::unique_ptr<Engine> sqlite_engine();

// A directory for one test, removed with the object.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The number in an environment variable, else `otherwise`: seeds and rounds.
std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise);

}  // namespace corral::store::faults
