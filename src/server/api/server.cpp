// The server itself: liveness, version, figures for Prometheus, events, its routes and its end.
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <optional>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/accounts.h"
#include "server/core/events.h"
#include "server/core/figures.h"
#include "server/core/gate.h"
#include "server/core/router.h"
#include "server/core/unseen.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/thread_guard.h"

namespace corral::server::api {
namespace {

constexpr int kApiVersion = 1;
constexpr Nanos kReadyWithin = std::chrono::seconds(5);  // the store's answer
constexpr Nanos kReadyFor = std::chrono::seconds(1);     // that it counts for others

// ---- resources of this process, as the kernel counts them; nullopt if /proc does not say
// Second field of /proc/self/statm is resident pages.
std::optional<std::int64_t> resident_bytes() {
  const Result<std::string> statm = sys::read_file("/proc/self/statm");
  if (!statm) return std::nullopt;
  const std::vector<std::string_view> fields = split(trim(*statm), ' ');
  const std::optional<std::int64_t> pages = fields.size() > 1 ? parse_int(fields[1]) : std::nullopt;
  if (!pages) return std::nullopt;
  return *pages * ::sysconf(_SC_PAGESIZE);
}

std::optional<std::int64_t> open_files() {
  std::error_code error;
  std::int64_t count = -1;  // the one that the listing itself has open
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    count += 1;
  }
  if (error) return std::nullopt;
  return count;
}

}  // namespace

Answer version(const Request&, Context& context) {
  const store::StoreInfo info = TRY(context.store.info());
  return object_response([&](JsonWriter& json) {
    json.member("version", context.facts.version).member("api", kApiVersion);
    json.member("store", info.location).member("schema_version", info.schema_version);
    json.member("pid", std::int64_t{::getpid()});
    write_time(json, "started_ns", context.facts.started);
    json.member("cpu_seconds", seconds(sys::process_cpu_time()));
    write_optional(json, "rss_bytes", resident_bytes());
  });
}

Answer alive(const Request&, Context&) {
  Response response = text_response("OK");
  response.set_header("Cache-Control", "no-store");
  return response;
}

// Anyone may ask, so one question at a time reaches the store, and not more than one a second.
Answer ready(const Request&, Context& context) {
  Readiness& last = *context.readiness;
  const auto fresh = [&](Nanos limit) {
    const std::int64_t at = last.ready_ns;
    return at != 0 && sys::boot_now() - boot_time(at) < limit;
  };
  const auto refused = [](std::string_view why) {
    Response response = text_response(fmt::format("not ready: {}", why), 503);
    response.set_header("Retry-After", "1");
    return response;
  };
  const std::unique_lock asking(last.asking, std::try_to_lock);
  if (fresh(asking.owns_lock() ? kReadyFor : kReadyWithin)) return text_response("OK");
  if (!asking.owns_lock()) return refused("the store has not answered yet");
  const BootTime began = sys::boot_now();
  const auto nothing = [](store::Writing&) -> Result<> { return {}; };
  if (!context.store.change(nothing)) return refused("the store takes no changes");
  if (sys::boot_now() - began > kReadyWithin)
    return refused("the store took too long for a change");
  last.ready_ns = ns_of(sys::boot_now());
  return text_response("OK");
}

Answer openapi_page(const Request&, Context& context) {
  return json_response(openapi(routes(), context.facts.version));
}

Answer stop(const Request& request, Context& context) {
  if (!request.over_unix)
    return fail(Code::kPermission,
                "the server is stopped through its Unix socket only: corral serve --stop");
  context.request_stop();
  return json_response(R"({"stopping":true})");
}

namespace {

// Tells of nothing while the store cannot be read.
std::optional<EventHub::Sees> seen_by(const store::Reader& reader) {
  if (reader.access().sees_all()) return std::nullopt;
  return EventHub::Sees{
      .run = [reader](const RunId& run) { return sees_id(reader, run.hex()).value_or(false); },
      .plan = [reader](const std::string& id) { return sees_plan(reader, id); },
      .experiment = [access = reader.access()](
                        const std::string& name) { return check_name(access, name).has_value(); }};
}

bool same(const store::Access& a, const store::Access& b) {
  if (a.sees_all() || b.sees_all()) return a.sees_all() == b.sees_all();
  return a.hidden() == b.hidden();
}

}  // namespace

Answer stream(const Request& request, Context& context) {
  Response response;
  response.events = context.events.subscribe(seen_by(context.reader));
  if (!response.events) return fail(Code::kUnavailable, "too many event streams are open");
  // A token that was revoked while the request waited: the streams of that time are closed already.
  if (context.accounts->required() && !principal_of(request, *context.accounts)) {
    response.events->close();
    return fail(Code::kUnauthenticated, "this token does not count any more");
  }
  // So are those of a person who has left a space meanwhile, or come into one.
  if (context.accounts->required() && !context.who.user.empty() &&
      !same(context.accounts->access_of(context.who.user), context.reader.access())) {
    response.events->close();
    return fail(Code::kUnavailable, "what you see has changed just now: ask again");
  }
  response.headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}};
  return response;
}

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
  const auto gauge = [&](std::string_view name, std::string_view help, double value) {
    write_figure(out, {name, "gauge", help}, value);
  };
  if (const auto bytes = resident_bytes())
    gauge("process_resident_memory_bytes", "Resident memory of the server.",
          static_cast<double>(*bytes));
  if (const auto files = open_files())
    gauge("process_open_fds", "Open file descriptors of the server.", static_cast<double>(*files));
  write_figure(
      out, {"process_cpu_seconds_total", "counter", "Processor time of the server, all threads."},
      seconds(sys::process_cpu_time()));
  gauge("process_start_time_seconds", "When the server started, UTC.",
        seconds(context.facts.started.time_since_epoch()));
  gauge("corral_uptime_seconds", "How long the server has been running.",
        seconds(sys::utc_now() - context.facts.started));
  write_figure(out,
               {"corral_thread_failures_total", "counter",
                "Unexpected exceptions that ended one piece of work: a request, a round of a job."},
               static_cast<double>(sys::thread_failures()));
  if (context.tls != nullptr)
    gauge("corral_tls_not_after_seconds", "When the server's certificate expires, UTC.",
          seconds(context.tls->not_after().time_since_epoch()));
  gauge("corral_event_streams", "Open streams of server-sent events.",
        static_cast<double>(context.events.open_streams()));
}

}  // namespace

Answer prometheus(const Request&, Context& context) {
  std::string out;
  if (context.figures != nullptr) context.figures->write(out);
  write_store(out, context.store.activity());
  write_process(out, context);
  Response response = text_response(std::move(out));
  response.set_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  return response;
}

}  // namespace corral::server::api
