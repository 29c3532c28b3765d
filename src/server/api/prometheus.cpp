// GET /metrics: figures for Prometheus.
#include <optional>

#include "server/api/handlers.h"
#include "server/core/figures.h"
#include "server/core/process_facts.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::server::api {
namespace {

void write_store(std::string& out, const store::StoreActivity& store) {
  write_figure(out, {"corral_points_total", "counter", "Points that this server stored."},
               static_cast<double>(store.points));
  write_figure(out,
               {"corral_batch_rows", "gauge",
                "Batch rows that this server stored and that wait to become row groups."},
               static_cast<double>(store.waiting_rows));
  write_figure(out, {"corral_batch_bytes", "gauge", "Bytes of those batch rows."},
               static_cast<double>(store.waiting_bytes));
}

void write_process(std::string& out, const Context& context) {
  const auto gauge = [&](std::string_view name, std::string_view help,
                         std::optional<std::int64_t> value) {
    if (value) write_figure(out, {name, "gauge", help}, static_cast<double>(*value));
  };
  gauge("process_resident_memory_bytes", "Resident memory of the server.", resident_bytes());
  gauge("process_open_fds", "Open file descriptors of the server.", open_files());
  write_figure(
      out, {"process_cpu_seconds_total", "counter", "Processor time of the server, all threads."},
      seconds(sys::process_cpu_time()));
  write_figure(out, {"process_start_time_seconds", "gauge", "When the server started, UTC."},
               seconds(context.facts.started.time_since_epoch()));
  write_figure(out, {"corral_uptime_seconds", "gauge", "How long the server has been running."},
               seconds(sys::utc_now() - context.facts.started));
  write_figure(out,
               {"corral_thread_failures_total", "counter",
                "Unexpected exceptions that ended one piece of work: a request, a round of a job."},
               static_cast<double>(sys::thread_failures()));
  write_figure(out, {"corral_event_streams", "gauge", "Open streams of server-sent events."},
               static_cast<double>(context.events.open_streams()));
}

}  // namespace

Response prometheus(const Request&, Context& context) {
  std::string out;
  if (context.figures != nullptr) context.figures->write(out);
  write_store(out, context.store.activity());
  write_process(out, context);
  Response response = text_response(std::move(out));
  response.set_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  return response;
}

}  // namespace corral::server::api
