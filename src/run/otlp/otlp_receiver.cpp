#include "run/otlp/otlp_receiver.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "codec/protobuf.h"
#include "collect/foreign/statsd_address.h"
#include "core/json.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/socket.h"

namespace corral::run {
namespace {

namespace foreign = collect::foreign;
using http::Method;
using http::Request;
using http::Response;
using mlflow::OtlpNumber;
using mlflow::OtlpNumbers;

constexpr std::string_view kPath = "/v1/metrics";
constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr std::string_view kJson = "application/json";
// Exporters send every minute or so, each process on a connection of its own.
constexpr Nanos kIdleTimeout{std::chrono::minutes(5)};
constexpr Nanos kStopGrace{std::chrono::seconds(1)};
constexpr std::size_t kConnections = 256;
// A point whose timestamp differs more from the clock gets its time of arrival.
constexpr Nanos kClockTrust{std::chrono::minutes(5)};
// Most bytes of a series' name and labels, which are kept as long as the run lasts.
constexpr std::size_t kSeriesBytes = 16u << 10;
// Numbers of google.rpc.Code.
constexpr int kInvalidArgument = 3, kResourceExhausted = 8;

std::string_view type_of(const Request& request) {
  const std::string_view type = request.header("content-type");
  return trim(type.substr(0, type.find(';')));
}

Response answer(std::string_view type, std::string body, int status = 200) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  response.set_header("Content-Type", type);
  return response;
}

// google.rpc.Status, as OTLP asks for.
Response refused(std::string_view type, const Error& error) {
  const bool too_large = error.code == Code::kTooLarge;
  const int code = too_large ? kResourceExhausted : kInvalidArgument;
  std::string body;
  if (type == kProtobuf) {
    codec::ProtoWriter status;
    status.number(1, static_cast<std::uint64_t>(code)).bytes(2, error.message);
    body = status.text();
  } else {
    JsonWriter(body)
        .begin_object()
        .member("code", code)
        .member("message", error.message)
        .end_object();
  }
  return answer(type, std::move(body), too_large ? 413 : 400);
}

// ExportMetricsServiceResponse.
Response taken(std::string_view type, std::uint64_t rejected) {
  constexpr std::string_view kWhy =
      "over this source's limits of series, of points a second or of the length of names and "
      "labels";
  if (rejected == 0) return answer(type, type == kJson ? "{}" : "");
  if (type == kJson) {
    return answer(type, fmt::format("{{\"partialSuccess\":{{\"rejectedDataPoints\":\"{}\","
                                    "\"errorMessage\":\"{}\"}}}}",
                                    rejected, kWhy));
  }
  codec::ProtoWriter partial;
  partial.number(1, rejected).bytes(2, kWhy);
  return answer(type, codec::ProtoWriter().message(1, partial).text());
}

std::optional<Response> gate(const Request& request) {
  if (!request.header("origin").empty())
    return http::text_response("pages of a browser cannot write into a run\n", 403);
  if (request.path != kPath)
    return http::text_response("only metrics are taken here: POST /v1/metrics\n", 404);
  if (request.method != Method::kPost) return http::text_response("expected POST\n", 405);
  const std::string_view type = type_of(request);
  if (type != kProtobuf && type != kJson)
    return http::text_response("expected application/x-protobuf or application/json\n", 415);
  return std::nullopt;
}

std::string text_of(const Json& value) {
  const std::string* text = value.as_string();
  return text != nullptr ? *text : value.dump();
}

bool is_short(const OtlpNumber& number, std::size_t resource_bytes) {
  return number.name.size() + mlflow::memory_of(number.attributes) + resource_bytes <= kSeriesBytes;
}

void add_labels(const mlflow::SpanAttributes& attributes,
                std::vector<std::pair<std::string, std::string>>& labels) {
  for (const auto& [key, value] : attributes) labels.emplace_back(key, text_of(value));
}

std::string key_of(std::string_view name,
                   const std::vector<std::pair<std::string, std::string>>& labels) {
  std::string key(name);
  for (const auto& [label, value] : labels)
    key.append(1, '\0').append(label).append(1, '\0').append(value);
  return key;
}

// The result is valid as long as its parts.
foreign::ExpositionSample sample_of(
    std::string_view name, const std::vector<std::pair<std::string, std::string>>& labels) {
  foreign::ExpositionSample sample;
  sample.name = name;
  for (const auto& [label, value] : labels)
    sample.labels.push_back({.name = label, .value = value});
  return sample;
}

foreign::PrometheusSource relabeling(const foreign::OtlpSource& source) {
  foreign::PrometheusSource names;
  names.keep = source.keep;
  names.drop = source.drop;
  names.rename = source.rename;
  names.prefix = source.prefix;
  names.labels = source.labels;
  return names;
}

}  // namespace

OtlpReceiver::OtlpReceiver(const foreign::OtlpSource& source, foreign::Relabel relabel,
                           foreign::PointQueue& queue, foreign::ProblemBox& problems)
    : relabel_(std::move(relabel)),
      emitter_("otlp." + source.name, "",
               {.series = source.max_series, .points_per_s = source.max_points_per_s}, queue,
               problems),
      max_series_(source.max_series) {}

OtlpReceiver::~OtlpReceiver() {
  stop();
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<std::unique_ptr<OtlpReceiver>> OtlpReceiver::open(const foreign::OtlpSource& source,
                                                         foreign::PointQueue& queue,
                                                         foreign::ProblemBox& problems) {
  auto relabel = TRY(foreign::Relabel::create(relabeling(source)));
  std::unique_ptr<OtlpReceiver> receiver(
      new OtlpReceiver(source, std::move(relabel), queue, problems));
  TRY(receiver->bind(source.listen));
  return receiver;
}

Result<> OtlpReceiver::bind(const std::string& listen) {
  auto address = TRY(foreign::StatsdAddress::parse(listen));
  if (address.path.empty()) {
    listener_.socket = TRY(sys::listen_tcp(address.udp));
    address.udp.port = TRY(sys::bound_port(listener_.socket));
    url_ = fmt::format("http://{}{}", address.udp.text(), kPath);
    return {};
  }
  if (sys::connect_unix(address.path))
    return fail(Code::kUnavailable, address.path.string() + ": another process listens there");
  listener_ = {.socket = TRY(sys::listen_unix(address.path)), .is_unix = true};
  path_ = address.path.string();
  url_ = address.text();
  return {};
}

Result<> OtlpReceiver::start() {
  http::HttpOptions options;
  options.io_threads = 1;
  options.handler_threads = 1;  // only one thread calls record()
  options.stream_threads = 1;
  options.upload_threads = 1;
  options.max_connections = kConnections;
  options.max_connections_per_peer = kConnections;
  options.body_limit = kBodyBytes;
  options.body_memory = 2 * kBodyBytes;
  options.json_memory = 8 * kBodyBytes;
  options.idle_timeout = kIdleTimeout;
  std::vector<http::Listener> listeners;
  listeners.push_back(std::move(listener_));
  server_ = TRY(http::HttpServer::start(
      std::move(listeners), options,
      {.gate = gate,
       .handle = [this](const Request& request) { return handle(request); },
       .reads_json = [](const Request& request) { return type_of(request) == kJson; }}));
  return {};
}

void OtlpReceiver::stop() {
  if (server_ == nullptr) return;
  server_->stop(kStopGrace);
  server_.reset();
}

Response OtlpReceiver::handle(const Request& request) {
  const std::string_view type = type_of(request);
  const auto numbers = type == kJson ? mlflow::parse_otlp_metrics_json(request.body)
                                     : mlflow::parse_otlp_metrics_protobuf(request.body);
  if (!numbers) {
    emitter_.trouble(foreign::Trouble::kUnread,
                     "was sent what is not understood: " + numbers.error().message);
    return refused(type, numbers.error());
  }
  return taken(type, record(*numbers));
}

// Learns which labels distinguish the series of all clients.
void OtlpReceiver::learn(const std::vector<OtlpNumbers>& groups) {
  const std::size_t before = sent_.size();
  for (const OtlpNumbers& group : groups) {
    const std::size_t resource = mlflow::memory_of(group.resource);
    for (const OtlpNumber& number : group.numbers) {
      // Twice the limit: series over it are reported, and memory stays bounded.
      if (sent_.size() >= 2 * max_series_) break;
      if (!is_short(number, resource) || relabel_.name(number.name).empty()) continue;
      SentSeries sent{.name = number.name, .labels = {}};
      add_labels(group.resource, sent.labels);
      add_labels(number.attributes, sent.labels);
      if (known_.emplace(key_of(sent.name, sent.labels), true).second)
        sent_.push_back(std::move(sent));
    }
  }
  if (sent_.size() == before) return;
  std::vector<foreign::ExpositionSample> samples;
  samples.reserve(sent_.size());
  for (const SentSeries& sent : sent_) samples.push_back(sample_of(sent.name, sent.labels));
  relabel_.choose(samples);
}

// Returns the number of points that should have been recorded and were not.
std::uint64_t OtlpReceiver::record(const std::vector<OtlpNumbers>& groups) {
  learn(groups);
  utc_minus_boot_ = sys::read_anchor().utc_minus_boot;
  std::uint64_t rejected = 0;
  for (const OtlpNumbers& group : groups) {
    const std::size_t resource = mlflow::memory_of(group.resource);
    for (const OtlpNumber& number : group.numbers)
      rejected += is_short(number, resource) && record(number, group.resource) ? 0 : 1;
  }
  return rejected;
}

bool OtlpReceiver::record(const OtlpNumber& number, const mlflow::SpanAttributes& resource) {
  const std::string name(relabel_.name(number.name));
  // The configuration drops a metric by an empty name; a name that was sent empty is an error.
  if (name.empty() && !number.name.empty()) return true;
  Labels labels;
  add_labels(resource, labels);
  add_labels(number.attributes, labels);
  const std::string source = relabel_.source(sample_of(number.name, labels));
  const std::string key = name + '\0' + source;
  auto kept = kept_.find(key);
  if (kept == kept_.end()) {
    if (kept_.size() >= max_series_) {
      emitter_.refuse_series(name);
      return false;
    }
    kept = kept_.emplace(key, RecordedSeries{}).first;
  }
  // A repeated time: the client sent the point again, because the answer was lost.
  if (number.time_ns != 0 && std::exchange(kept->second.time_ns, number.time_ns) == number.time_ns)
    return true;
  kept->second.total += number.value;
  const BootTime now = sys::boot_now();
  const BootTime sent_at = boot_time(number.time_ns - utc_minus_boot_.count());
  const bool trusted = number.time_ns != 0 && std::chrono::abs(sent_at - now) <= kClockTrust;
  return emitter_.emit({.name = name,
                        .source = source,
                        .unit = number.unit,
                        .kind = number.kind,
                        .value = number.delta ? kept->second.total : number.value},
                       trusted ? sent_at : now);
}

namespace foreign = collect::foreign;

OtlpSources::OtlpSources(std::span<const foreign::OtlpSource> sources, foreign::PointQueue& queue) {
  for (const foreign::OtlpSource& source : sources) {
    auto opened = OtlpReceiver::open(source, queue, problems_);
    if (opened) {
      receivers_.push_back(*std::move(opened));
    } else {
      problems_.report("otlp." + source.name, foreign::Trouble::kGone,
                       "not available: " + opened.error().message);
    }
  }
}

void OtlpSources::start() {
  std::erase_if(receivers_, [&](const auto& receiver) {
    const auto started = receiver->start();
    if (!started)
      problems_.report("otlp", foreign::Trouble::kGone,
                       "not available: " + started.error().message);
    return !started;
  });
}

void OtlpSources::stop() {
  for (const auto& receiver : receivers_) receiver->stop();
}

}  // namespace corral::run
