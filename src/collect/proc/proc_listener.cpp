#include "collect/proc/proc_listener.h"

#include "collect/proc/readers.h"

namespace corral::collect {
namespace {

class ProcListener final : public Listener {
 public:
  ProcListener(const std::filesystem::path& root, SeriesTable& table)
      : stat_(root, table),
        load_(root, table),
        memory_(proc::memory_reader(root, table)),
        paging_(proc::paging_reader(root, table)),
        disks_(root, table),
        net_(root, table),
        pressure_(root, table) {}

  void sample_fast(Row& row) override {
    stat_.sample(row);
    load_.sample(row);
    memory_.sample(row);
    paging_.sample(row);
    disks_.sample(row);
    net_.sample(row);
    pressure_.sample(row);
  }

 private:
  proc::StatReader stat_;
  proc::LoadReader load_;
  proc::KeyValueReader memory_;
  proc::KeyValueReader paging_;
  proc::DiskReader disks_;
  proc::NetReader net_;
  proc::PressureReader pressure_;
};

}  // namespace

std::unique_ptr<Listener> open_proc_listener(const ListenerContext& context, SeriesTable& table) {
  return std::make_unique<ProcListener>(context.root, table);
}

}  // namespace corral::collect
