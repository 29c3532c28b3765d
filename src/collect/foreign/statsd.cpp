#include "collect/foreign/statsd.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "collect/foreign/text.h"
#include "collect/scan.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::collect::foreign {
namespace {

struct Fields {
  std::string_view type;
  std::string_view tags;
  double rate = 1;
};

// Reads the part after the values: "c|@0.1|#a:b".
bool read_fields(std::string_view text, Fields& fields) {
  bool first = true;
  for (const std::string_view part : split(text, '|')) {
    if (first) {
      fields.type = part;
    } else if (part.starts_with('@')) {
      const auto rate = read_number(part.substr(1));
      if (!rate || !(*rate > 0 && *rate <= 1)) return false;
      fields.rate = *rate;
    } else if (part.starts_with('#')) {
      fields.tags = part.substr(1);
    }
    first = false;
  }
  return true;
}

bool parse_kind(std::string_view type, StatsdKind& kind) {
  if (type == "g") {
    kind = StatsdKind::kGauge;
  } else if (type == "c" || type == "m") {
    kind = StatsdKind::kCount;
  } else if (type == "ms") {
    kind = StatsdKind::kTime;
  } else if (type == "h" || type == "d") {
    kind = StatsdKind::kValue;
  } else {
    return false;
  }
  return true;
}

bool read_line(std::string_view line, const std::function<void(const StatsdMetric&)>& take) {
  const std::size_t colon = line.find(':');
  const std::size_t bar = line.find('|');
  if (colon == 0 || bar == std::string_view::npos || colon > bar) return false;
  Fields fields;
  StatsdMetric metric{.name = trim(line.substr(0, colon)), .tags = {}};
  if (metric.name.empty() || !read_fields(line.substr(bar + 1), fields) ||
      !parse_kind(fields.type, metric.kind))
    return false;
  metric.tags = fields.tags;
  for (const std::string_view text : split(line.substr(colon + 1, bar - colon - 1), ':')) {
    const auto value = read_number(text);
    if (!value) return false;
    metric.value = *value;
    const bool sign = text.front() == '+' || text.front() == '-';
    StatsdMetric one = metric;
    if (one.kind == StatsdKind::kGauge && sign) one.kind = StatsdKind::kGaugeChange;
    if (one.kind == StatsdKind::kCount) one.value /= fields.rate;
    if (one.kind == StatsdKind::kTime) one.value /= 1000;
    take(one);
  }
  return true;
}

constexpr Nanos kBelieved{std::chrono::seconds(1)};
constexpr std::size_t kTableBytes = 4u << 20;

constexpr Nanos kFlush{std::chrono::milliseconds(100)};
// So many at once, then nothing for a while: 25,000 a second. Faster datagrams wait in the socket,
// then are lost, and the kernel reports how many.
constexpr int kDatagramsPerCall = 256;
constexpr Nanos kReadPause{std::chrono::milliseconds(10)};
constexpr std::size_t kDatagramBytes = 64u << 10;

// "gpu:0,phase:eval" -> "gpu=0,phase=eval"
void tags_to_source(std::string_view tags, std::string& out) {
  out = tags;
  bool key = true;
  for (char& c : out) {
    if (c == ',') key = true;
    if (c == ':' && key) {
      c = '=';
      key = false;
    }
  }
}

// Returns the number of datagrams that the kernel has dropped on this socket; nothing if it does
// not report that.
std::optional<std::uint32_t> read_overflow(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL) continue;
    std::uint32_t lost = 0;
    std::memcpy(&lost, CMSG_DATA(c), sizeof lost);
    return lost;
  }
  return std::nullopt;
}

}  // namespace

std::size_t read_statsd(std::string_view datagram,
                        const std::function<void(const StatsdMetric&)>& take) {
  std::size_t bad = 0;
  for (const std::string_view part : split(datagram, '\n')) {
    const std::string_view line = trim(part);
    if (!line.empty() && !read_line(line, take)) ++bad;
  }
  return bad;
}

// "  sl  local_address rem_address st queues tr:when retrnsmt uid ...", a line per socket; an
// address is in hexadecimal digits, "0100007F:1F90".
void read_udp_table(std::string_view text, PortUsers& users) {
  for (const std::string_view line : split(text, '\n')) {
    Scanner scan(line);
    scan.word();
    const std::string_view local = scan.word();
    const std::size_t colon = local.rfind(':');
    if (colon == std::string_view::npos) continue;
    std::uint16_t port = 0;
    const char* end = local.data() + local.size();
    if (std::from_chars(local.data() + colon + 1, end, port, 16).ptr != end) continue;
    for (int skipped = 0; skipped < 5; ++skipped) scan.word();
    std::uint64_t user = 0;
    if (scan.number(user)) users[port].push_back(static_cast<uid_t>(user));
  }
}

void UdpSenders::read(BootTime now) {
  users_.clear();
  for (const char* file : {"/proc/self/net/udp", "/proc/self/net/udp6"}) {
    const auto text = sys::read_file(file, kTableBytes);
    if (text) read_udp_table(*text, users_);
  }
  read_at_ = now;
}

std::optional<bool> UdpSenders::is_stranger(std::uint16_t port, BootTime now) {
  if (now - read_at_ > kBelieved || (!users_.contains(port) && now != read_at_)) read(now);
  const auto found = users_.find(port);
  if (found == users_.end()) return std::nullopt;
  return std::ranges::none_of(found->second,
                              [this](uid_t user) { return user == user_ || user == 0; });
}

Result<std::unique_ptr<StatsdPart>> StatsdPart::open(const StatsdSource& source, PointQueue& queue,
                                                     ProblemBox& problems) {
  StatsdAddress address = TRY(StatsdAddress::parse(source.listen));
  sys::Fd socket = TRY(address.bind());
  return std::unique_ptr<StatsdPart>(
      new StatsdPart(source, std::move(address), std::move(socket), queue, problems));
}

StatsdPart::StatsdPart(const StatsdSource& source, StatsdAddress address, sys::Fd socket,
                       PointQueue& queue, ProblemBox& problems)
    : address_(std::move(address)),
      socket_(std::move(socket)),
      emitter_("statsd", source.prefix,
               {.series = source.max_series, .points_per_s = source.max_points_per_s}, queue,
               problems),
      max_series_(source.max_series),
      buffer_(kDatagramBytes),
      senders_(::geteuid()) {}

StatsdPart::~StatsdPart() {
  if (!address_.path.empty()) ::unlink(address_.path.c_str());
}

void StatsdPart::wait_for(std::vector<pollfd>& descriptors) const {
  if (read_at_ == BootTime{})
    descriptors.push_back({.fd = socket_.get(), .events = POLLIN, .revents = 0});
}

BootTime StatsdPart::due() const {
  return std::min(changed_ ? next_flush_ : kNever, read_at_ == BootTime{} ? kNever : read_at_);
}

void StatsdPart::serve(BootTime now) {
  if (now >= read_at_) {
    int read = 0;
    while (read < kDatagramsPerCall && receive(now)) ++read;
    read_at_ = read == kDatagramsPerCall ? now + kReadPause : BootTime{};
  }
  if (changed_ && now >= next_flush_) {
    flush();
    next_flush_ = now + kFlush;
  }
}

bool StatsdPart::receive(BootTime now) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> control{};
  iovec data{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  msghdr message{};
  sockaddr_storage from{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t bytes = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  if (bytes < 0) return false;
  if (const auto lost = read_overflow(message); lost && *lost != lost_) {
    emitter_.trouble(Trouble::kDatagram,
                     fmt::format("{} datagrams came faster than they could be read and are lost",
                                 *lost - lost_));
    lost_ = *lost;
  }
  if (is_of_stranger(from, now)) return true;
  // Datagrams that were read at once keep the order in which they came.
  newest_ = std::max(now, newest_ + Nanos(1));
  const std::string_view text(buffer_.data(), static_cast<std::size_t>(bytes));
  if (read_statsd(text, [&](const StatsdMetric& metric) { take(metric, newest_); }) > 0)
    emitter_.trouble(Trouble::kUnread, "sends a datagram that cannot be parsed: " + excerpt(text));
  return true;
}

// A Unix socket is its owner's by the mode of its file.
bool StatsdPart::is_of_stranger(const sockaddr_storage& from, BootTime now) {
  if (from.ss_family != AF_INET && from.ss_family != AF_INET6) return false;
  // The port is at the same place for both families.
  const auto port = ntohs(reinterpret_cast<const sockaddr_in&>(from).sin_port);
  if (!senders_.is_stranger(port, now).value_or(false)) return false;
  emitter_.count_dropped(1);
  emitter_.trouble(Trouble::kStranger,
                   "receives datagrams from another user: they are dropped "
                   "and counted; a Unix socket keeps other users out");
  return true;
}

// Null when there are too many series.
StatsdPart::Kept* StatsdPart::keep(const StatsdMetric& metric, metric::Kind kind) {
  std::string key(kind == metric::Kind::kCounter ? "c" : "g");
  key.append(metric.name).append(1, '\0').append(source_);
  if (const auto found = kept_.find(key); found != kept_.end()) return &found->second;
  if (kept_.size() >= max_series_) return nullptr;
  Kept fresh{.name = std::string(metric.name), .source = source_, .kind = kind};
  return &kept_.emplace(std::move(key), std::move(fresh)).first->second;
}

void StatsdPart::take(const StatsdMetric& metric, BootTime now) {
  tags_to_source(metric.tags, source_);
  const bool time = metric.kind == StatsdKind::kTime;
  if (time || metric.kind == StatsdKind::kValue) {
    emitter_.emit(
        {.name = metric.name, .source = source_, .unit = time ? "s" : "", .value = metric.value},
        now);
    return;
  }
  const bool counts = metric.kind == StatsdKind::kCount;
  Kept* kept = keep(metric, counts ? metric::Kind::kCounter : metric::Kind::kGauge);
  if (kept == nullptr) {
    emitter_.refuse_series(metric.name);
    return;
  }
  const bool adds = counts || metric.kind == StatsdKind::kGaugeChange;
  kept->value = adds ? kept->value + metric.value : metric.value;
  kept->time = now;
  kept->changed = true;
  if (!changed_) next_flush_ = std::max(next_flush_, now);
  changed_ = true;
}

void StatsdPart::flush() {
  for (auto& [key, kept] : kept_) {
    if (!std::exchange(kept.changed, false)) continue;
    emitter_.emit(
        {.name = kept.name, .source = kept.source, .kind = kept.kind, .value = kept.value},
        kept.time);
  }
  changed_ = false;
}

void StatsdPart::stop(BootTime now, BootTime) {
  read_at_ = {};
  serve(now);
  flush();
  done_ = true;
}

}  // namespace corral::collect::foreign
