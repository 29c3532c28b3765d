#include "collocate/offers.h"

#include <fmt/core.h>

#include "collocate/account.h"
#include "collocate/cpu_sets.h"
#include "collocate/page_cache.h"
#include "collocate/run_group.h"
#include "core/cpu_list.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

// Returns the place for the group, or the reason why there is none.
Offer group_offer(const std::string& what, const Result<GroupTree>& tree,
                  const GroupLimits& limits) {
  const auto plan =
      tree ? plan_group(*tree, "offer", limits) : Result<GroupPlan>(tl::unexpected(tree.error()));
  if (!plan) return {.what = what, .there = false, .detail = plan.error().message};
  const GroupParent& parent = plan->parents.front();
  return {.what = what,
          .there = true,
          .detail =
              fmt::format("{} below {}", parent.unified ? "v2" : "v1", parent.directory.string())};
}

// A group that counts may also be a scope of systemd's.
Offer counting(const Result<GroupTree>& tree) {
  Offer offer = group_offer("control groups that count", tree, {});
  if (offer.there) return offer;
  const auto tool = scope_tool();
  if (!tool)
    return {
        .what = offer.what, .there = false, .detail = offer.detail + "; " + tool.error().message};
  return {
      .what = offer.what, .there = true, .detail = "scopes of this user's systemd, by " + *tool};
}

Offer cpu_sets(const fs::path& root, const Result<GroupTree>& tree) {
  const auto topology = Topology::read(root);
  if (!topology) return {.what = "CPU sets", .there = false, .detail = topology.error().message};
  Offer offer = group_offer("CPU sets", tree, {.cpus = topology->cpus});
  const std::string of =
      fmt::format("CPUs {}, {} cores, NUMA nodes {}", format_cpu_list(topology->cpus),
                  topology->cores.size(), format_cpu_list(topology->nodes));
  offer.detail =
      offer.there ? of + ", " + offer.detail : of + ", by affinity only: " + offer.detail;
  return offer;
}

}  // namespace

std::vector<Offer> offers(const fs::path& root) {
  const auto tree = GroupTree::read(root);
  const bool may_drop = may_drop_page_cache(root);
  return {cpu_sets(root, tree),
          group_offer("CPU quotas", tree, {.cpu_quota = 1.0}),
          group_offer("memory limits", tree, {.memory_bytes = 1 << 30}),
          group_offer("IO weights", tree, {.io_weight = 100}),
          counting(tree),
          {.what = "cold page cache",
           .there = may_drop,
           .detail = may_drop ? "dropped before a workload" : "dropping it needs root"}};
}

}  // namespace corral::collocate
