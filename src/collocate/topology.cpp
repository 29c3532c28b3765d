#include "collocate/topology.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "collocate/cpu_list.h"
#include "collocate/group_files.h"
#include "collocate/group_tree.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

std::vector<int> list_in(const fs::path& file) {
  return parse_cpus(read_control(file)).value_or(std::vector<int>());
}

// Returns the CPUs that the cpuset of this process allows; empty if it names none.
std::vector<int> allowed_cpus(const fs::path& root) {
  const auto tree = GroupTree::read(root);
  if (!tree) return {};
  const fs::path own = tree->own("cpuset");
  for (const char* name : {"cpuset.effective_cpus", "cpuset.cpus.effective", "cpuset.cpus"}) {
    if (auto cpus = list_in(own / name); !cpus.empty()) return cpus;
  }
  return {};
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

std::map<int, int> nodes_of_cpus(const fs::path& nodes, std::vector<int>& found) {
  std::map<int, int> of_cpu;
  for (const std::string& name : sys::list_directory(nodes)) {
    const auto node = name.starts_with("node") ? parse_int(name.substr(4)) : std::nullopt;
    if (!node) continue;
    found.push_back(static_cast<int>(*node));
    for (const int cpu : list_in(nodes / name / "cpulist")) of_cpu[cpu] = static_cast<int>(*node);
  }
  std::ranges::sort(found);
  return of_cpu;
}

}  // namespace

Result<Topology> Topology::read(const fs::path& root) {
  const fs::path cpus = root / "sys/devices/system/cpu";
  Topology topology;
  const std::string online = TRY(sys::read_file(cpus / "online"));
  topology.cpus = TRY(parse_cpus(online));
  if (const auto allowed = allowed_cpus(root); !allowed.empty())
    topology.cpus = common(topology.cpus, allowed);
  if (topology.cpus.empty()) return fail(Code::kUnsupported, "no CPU is allowed here");
  const auto node_of = nodes_of_cpus(root / "sys/devices/system/node", topology.nodes);
  if (topology.nodes.empty()) topology.nodes.push_back(0);
  std::vector<bool> seen(static_cast<std::size_t>(topology.cpus.back()) + 1);
  for (const int cpu : topology.cpus) {
    if (seen[static_cast<std::size_t>(cpu)]) continue;
    const fs::path own = cpus / ("cpu" + std::to_string(cpu)) / "topology";
    auto siblings = common(list_in(own / "thread_siblings_list"), topology.cpus);
    // A virtual machine may give no siblings, or wrong ones.
    if (std::ranges::find(siblings, cpu) == siblings.end()) siblings = {cpu};
    for (const int sibling : siblings) seen[static_cast<std::size_t>(sibling)] = true;
    const auto node = node_of.find(cpu);
    topology.cores.push_back(
        {.node = node == node_of.end() ? 0 : node->second, .cpus = std::move(siblings)});
  }
  return topology;
}

bool Topology::has(int cpu) const { return std::ranges::binary_search(cpus, cpu); }
bool Topology::has_node(int node) const { return std::ranges::binary_search(nodes, node); }

std::vector<int> cpus_near(const fs::path& root, const std::string& address) {
  if (address.empty() || address.find('/') != std::string::npos) return {};
  return list_in(root / "sys/bus/pci/devices" / lower_ascii(address) / "local_cpulist");
}

}  // namespace corral::collocate
