#include <cstdlib>

#include "core/ids.h"
#include "store/faults/engine.h"
#include "store/faults/power_cut_vfs.h"
#include "store/faults/raw_sqlite.h"
#include "store/open/sqlite_store.h"

namespace corral::store::faults {
namespace {

namespace fs = std::filesystem;

class SqliteEngine final : public Engine {
 public:
  Result<std::unique_ptr<Store>> open() override {
    return open_sqlite_store({.directory = workspace_.path()});
  }
  void stop_after(std::uint64_t calls) override { vfs_.stop_after(calls); }
  void restart() override { vfs_.clear(); }
  std::string damage() override { return integrity_problem(workspace_.path() / "corral.db"); }

 private:
  Workspace workspace_;
  PowerCutVfs vfs_;
};

}  // namespace

std::unique_ptr<Engine> sqlite_engine() { return std::make_unique<SqliteEngine>(); }

Workspace::Workspace()
    : path_(fs::temp_directory_path() / ("corral-faults-" + SessionId::random().hex())) {
  fs::create_directory(path_);
}
Workspace::~Workspace() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace corral::store::faults
