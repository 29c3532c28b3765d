#include "collect/node/node_listener.h"

#include "collect/node/readers.h"

namespace corral::collect {
namespace {

class NodeListener final : public Listener {
 public:
  NodeListener(const std::filesystem::path& root, SeriesTable& table)
      : reclaim_(node::reclaim_reader(root, table)),
        numa_(root, table),
        huge_pages_(root, table),
        nfs_(root, table) {}

  void sample_fast(Row&) override {}
  void sample_slow(Row& row) override {
    reclaim_.sample(row);
    numa_.sample(row);
    huge_pages_.sample(row);
    nfs_.sample(row);
  }

 private:
  proc::KeyValueReader reclaim_;
  node::NumaReader numa_;
  node::HugePageReader huge_pages_;
  node::NfsReader nfs_;
};

}  // namespace

std::unique_ptr<Listener> open_node_listener(const ListenerContext& context, SeriesTable& table) {
  const std::size_t before = table.series(kSlowGroup).size();
  auto listener = std::make_unique<NodeListener>(context.root, table);
  if (table.series(kSlowGroup).size() == before) return nullptr;
  return listener;
}

}  // namespace corral::collect
