// The store's clock, and how far those of a run's hosts were from it.
#include <map>
#include <string>
#include <vector>

#include "analyze/explain/host_clocks.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/write.h"
#include "store/tables/members.h"
#include "sys/process.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kMostPoints = 1024;  // for each host: more are thinned out evenly

using analyze::ClockPoint;

std::vector<ClockPoint> thinned(const std::vector<ClockPoint>& all) {
  if (all.size() <= kMostPoints) return all;
  std::vector<ClockPoint> some;
  for (std::size_t i = 0; i < kMostPoints; ++i)
    some.push_back(all[i * (all.size() - 1) / (kMostPoints - 1)]);
  return some;
}

void write_point(JsonWriter& json, const ClockPoint& point) {
  json.begin_object();
  write_time(json, "time_ns", point.at);
  json.member("offset_s", seconds(point.offset)).member("error_s", seconds(point.error));
  json.end_object();
}

}  // namespace

Answer clock(const Request&, Context& context) {
  const store::StoreTime now = TRY(context.store.now());
  return object_response([&](JsonWriter& json) {
    write_time(json, "now_ns", now.time);
    write_text(json, "boot", now.of_this_machine ? sys::boot_id() : std::string());
  });
}

Answer clocks(const Request& request, Context& context) {
  const RunId id = TRY(requested_run(request, context));
  const auto make = [&context, id](const Left& left) -> Answer {
    const store::Run run = TRY(read_run(context.reader, id));
    const auto found = TRY(analyze::HostClocks::read(context.reader, run, left));
    const auto places = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
      return store::page::rank_places(reading, id);
    }));
    std::map<std::string, std::vector<std::int64_t>> ranks;
    for (const auto& [rank, host] : places) ranks[host].push_back(rank);
    return object_response([&](JsonWriter& json) {
      write_text(json, "first", found.first());
      write_array(json, "clocks", found.by_host(), [&](JsonWriter& out, const auto& one) {
        const auto& [host, clock] = one;
        out.begin_object().member("host", host);
        write_array(out, "ranks", ranks[host],
                    [](JsonWriter& each, std::int64_t rank) { each.value(rank); });
        write_array(out, "points", thinned(clock.points()), write_point);
        out.end_object();
      });
    });
  };
  return late_answer(request, context, id, make);
}

}  // namespace corral::server::api
