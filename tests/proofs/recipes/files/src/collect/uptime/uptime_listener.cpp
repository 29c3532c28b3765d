#include "collect/uptime/uptime_listener.h"

#include <utility>

#include "collect/proc_file.h"
#include "collect/scan.h"

namespace corral::collect {
namespace {

class UptimeListener final : public Listener {
 public:
  UptimeListener(ProcFile file, SeriesTable& table)
      : file_(std::move(file)), column_(table.add("host.uptime")) {}

  void sample_fast(Row&) override {}
  void sample_slow(Row& row) override {
    Scanner text(file_.read());
    double seconds = 0;
    if (text.decimal(seconds)) row.set(column_, seconds);
  }

 private:
  ProcFile file_;
  Column column_;
};

}  // namespace

std::unique_ptr<Listener> open_uptime_listener(const ListenerContext& context, SeriesTable& table) {
  auto file = ProcFile::open(context.root / "proc/uptime");
  if (!file) {
    table.unavailable("host.uptime", file.error().message);
    return nullptr;
  }
  return std::make_unique<UptimeListener>(*std::move(file), table);
}

}  // namespace corral::collect
