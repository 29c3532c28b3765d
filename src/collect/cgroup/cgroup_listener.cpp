#include "collect/cgroup/cgroup_listener.h"

#include "collect/cgroup/readers.h"

namespace corral::collect {
namespace {

class CgroupListener final : public Listener {
 public:
  CgroupListener(const ListenerContext& context, SeriesTable& table)
      : CgroupListener(context, cgroup::Finder(context.root, context.run_pid), table) {}

  void sample_fast(Row& row) override {
    cpu_.sample_fast(row);
    memory_.sample_fast(row);
    pressure_.sample_fast(row);
  }
  void sample_slow(Row& row) override {
    cpu_.sample_slow(row);
    memory_.sample_slow(row);
    io_.sample_slow(row);
    tasks_.sample_slow(row);
  }

 private:
  CgroupListener(const ListenerContext& context, const cgroup::Finder& finder, SeriesTable& table)
      : cpu_(finder, table),
        memory_(finder, table),
        io_(context.root, finder, table),
        tasks_(finder, table),
        pressure_(finder, table) {}

  cgroup::CpuReader cpu_;
  cgroup::MemoryReader memory_;
  cgroup::IoReader io_;
  cgroup::TaskReader tasks_;
  cgroup::PressureReader pressure_;
};

}  // namespace

std::unique_ptr<Listener> open_cgroup_listener(const ListenerContext& context, SeriesTable& table) {
  if (context.run_pid == 0) {
    table.unavailable("cgroup.*", "there is no run");
    return nullptr;
  }
  const auto declared = [&] {
    return table.series(kFastGroup).size() + table.series(kSlowGroup).size();
  };
  const std::size_t before = declared();
  auto listener = std::make_unique<CgroupListener>(context, table);
  if (declared() == before) return nullptr;
  return listener;
}

}  // namespace corral::collect
