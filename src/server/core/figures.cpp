#include "server/core/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

namespace corral::server {
namespace {

// Seconds. Answers of a few KB take a tenth of a millisecond, exports minutes.
constexpr std::array<double, 14> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                            0.025,  0.05,    0.1,    0.25,  1,      5,     30};

constexpr auto kRelaxed = std::memory_order_relaxed;

// In a label's value; patterns and methods need it for nothing, and it costs nothing.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out.push_back('\\');
    if (c == '\n') {
      out += "\\n";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

void head(std::string& out, const Figure& figure) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", figure.name, figure.help, figure.name,
                     figure.type);
}

double number(const std::atomic<std::uint64_t>& value) {
  return static_cast<double>(value.load(kRelaxed));
}

}  // namespace

void write_figure(std::string& out, const Figure& figure, double value) {
  head(out, figure);
  out += fmt::format("{} {}\n", figure.name, value);
}

void Figures::note(const http::Exchange& exchange) {
  static_assert(kBounds.size() == kBuckets);
  Route& route = find_route(exchange.route, exchange.method);
  const auto status_class = static_cast<std::size_t>(std::clamp(exchange.status / 100, 1, 5));
  route.answers.at(status_class - 1).fetch_add(1, kRelaxed);
  const auto* const bound = std::ranges::lower_bound(kBounds, seconds(exchange.took));
  route.buckets.at(static_cast<std::size_t>(bound - kBounds.begin())).fetch_add(1, kRelaxed);
  route.took_ns.fetch_add(static_cast<std::uint64_t>(exchange.took.count()), kRelaxed);
  if (!exchange.whole) broken_.fetch_add(1, kRelaxed);
}

Figures::Route& Figures::find_route(std::string_view pattern, Method method) {
  if (pattern.empty()) return unrouted_;
  const auto is_it = [&](const Route& route) {
    return route.method == method && route.pattern == pattern;
  };
  std::size_t at =
      (std::hash<std::string_view>()(pattern) + static_cast<std::size_t>(method)) % kSlots;
  Route* found = slots_.at(at).load(std::memory_order_acquire);
  for (; found != nullptr; found = slots_.at(at).load(std::memory_order_acquire)) {
    if (is_it(*found)) return *found;
    at = (at + 1) % kSlots;
  }
  const Lock lock(mutex_);
  for (; (found = slots_.at(at).load(std::memory_order_acquire)) != nullptr;
       at = (at + 1) % kSlots) {
    if (is_it(*found)) return *found;  // another thread was first
  }
  if (routes_.size() + 1 >= kMostRoutes) return unrouted_;
  Route& made = *routes_.emplace_back(std::make_unique<Route>());
  made.pattern = pattern;
  made.method = method;
  slots_.at(at).store(&made, std::memory_order_release);
  return made;
}

std::vector<const Figures::Route*> Figures::routes() const {
  const Lock lock(mutex_);
  std::vector<const Route*> all{&unrouted_};
  for (const auto& route : routes_) all.push_back(route.get());
  return all;
}

void Figures::write_latencies(std::string& out, const Route& route) {
  const std::string labels =
      fmt::format("route=\"{}\",method=\"{}\"", escaped(route.pattern), method_name(route.method));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    sum += route.buckets.at(i).load(kRelaxed);
    out += fmt::format("corral_http_request_seconds_bucket{{{},le=\"{}\"}} {}\n", labels,
                       kBounds.at(i), sum);
  }
  sum += route.buckets.back().load(kRelaxed);
  out += fmt::format("corral_http_request_seconds_bucket{{{},le=\"+Inf\"}} {}\n", labels, sum);
  out += fmt::format("corral_http_request_seconds_sum{{{}}} {}\n", labels,
                     number(route.took_ns) / 1e9);
  out += fmt::format("corral_http_request_seconds_count{{{}}} {}\n", labels, sum);
}

void Figures::write_traffic(std::string& out) const {
  const http::Traffic& t = *traffic_;
  const auto write = [&](const Figure& figure, const auto& value) {
    write_figure(out, figure, static_cast<double>(value.load(kRelaxed)));
  };
  write({"corral_http_connections", "gauge", "Connections that are open."}, t.open);
  write({"corral_http_connections_total", "counter", "Connections that were opened."}, t.accepted);
  write({"corral_http_connections_refused_total", "counter",
         "Connections that were closed at once because there were too many."},
        t.turned_away);
  write({"corral_http_received_bytes_total", "counter",
         "Bytes of requests as they came, before they were unpacked."},
        t.bytes_in);
  write({"corral_http_sent_bytes_total", "counter", "Bytes of answers."}, t.bytes_out);
  write({"corral_http_body_bytes", "gauge",
         "Memory that request bodies take; --max-memory is the most."},
        t.body_bytes);
  write({"corral_http_most_body_bytes", "gauge",
         "The most that request bodies have taken since the start."},
        t.most_body_bytes);
  write({"corral_http_unfinished_total", "counter", "Answers whose client left before their end."},
        broken_);
}

void Figures::write(std::string& out) const {
  const std::vector<const Route*> all = routes();
  head(out, {"corral_http_requests_total", "counter",
             "Answers by route, method and class of the status; route \"\" is what had none."});
  for (const Route* route : all) {
    for (std::size_t i = 0; i < kClasses; ++i) {
      const std::uint64_t count = route->answers.at(i).load(kRelaxed);
      if (count == 0) continue;
      out += fmt::format(
          "corral_http_requests_total{{route=\"{}\",method=\"{}\",status=\"{}xx\"}} {}\n",
          escaped(route->pattern), method_name(route->method), i + 1, count);
    }
  }
  head(out, {"corral_http_request_seconds", "histogram",
             "From the whole head of a request to the last byte of its answer; of event streams to "
             "the first."});
  for (const Route* route : all) write_latencies(out, *route);
  write_traffic(out);
}

}  // namespace corral::server
