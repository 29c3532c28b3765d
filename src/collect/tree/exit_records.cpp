#include "collect/tree/exit_records.h"

#include <fmt/core.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>

#include "core/text.h"
#include "sys/file.h"

namespace corral::collect::tree {
namespace {

constexpr std::uint16_t kFirstVersion = 12;
constexpr std::size_t kBufferBytes = 64u << 10;
constexpr int kReceiveBytes = 4 << 20;  // some 5,000 records
constexpr int kDatagramsPerDrain = 8192;
constexpr int kAnswerMs = 1000;
constexpr std::size_t kReasonBytes = 200;

constexpr std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

template <class T>
bool load(std::string_view bytes, std::size_t at, T& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof value) return false;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return true;
}

// Calls take(type, payload) for each attribute.
template <class Take>
void each_attribute(std::string_view bytes, Take&& take) {
  nlattr head{};
  while (load(bytes, 0, head) && head.nla_len >= sizeof head && head.nla_len <= bytes.size()) {
    take(head.nla_type & NLA_TYPE_MASK, bytes.substr(sizeof head, head.nla_len - sizeof head));
    bytes.remove_prefix(std::min(aligned(head.nla_len), bytes.size()));
  }
}

// Calls take(type of the message, its bytes behind the header).
template <class Take>
void each_message(std::string_view bytes, Take&& take) {
  nlmsghdr head{};
  while (load(bytes, 0, head) && head.nlmsg_len >= sizeof head && head.nlmsg_len <= bytes.size()) {
    take(head.nlmsg_type, bytes.substr(sizeof head, head.nlmsg_len - sizeof head));
    bytes.remove_prefix(std::min(aligned(head.nlmsg_len), bytes.size()));
  }
}

// The records of one message behind its netlink header; the last that could not be read.
template <class Take>
std::optional<UnreadRecord> read_message(std::string_view bytes, Take&& take) {
  std::optional<UnreadRecord> unread;
  const auto read_thread = [&](std::string_view nested) {
    std::uint32_t thread = 0;
    each_attribute(nested, [&](int type, std::string_view value) {
      if (type == TASKSTATS_TYPE_PID) load(value, 0, thread);
      if (type != TASKSTATS_TYPE_STATS) return;
      std::uint16_t version = 0;
      load(value, 0, version);
      const auto record = parse_taskstats(value, static_cast<pid_t>(thread));
      if (record) take(*record);
      if (!record) unread = {.version = version, .bytes = value.size()};
    });
  };
  if (bytes.size() < sizeof(genlmsghdr)) return unread;
  each_attribute(bytes.substr(sizeof(genlmsghdr)), [&](int kind, std::string_view nested) {
    if (kind == TASKSTATS_TYPE_AGGR_PID) read_thread(nested);
  });
  return unread;
}

// A request of generic netlink with one attribute.
std::string request(std::uint16_t family, std::uint8_t command, std::uint16_t type,
                    std::string_view value) {
  const std::size_t attribute = sizeof(nlattr) + value.size();
  nlmsghdr head{};
  head.nlmsg_len =
      static_cast<std::uint32_t>(sizeof(nlmsghdr) + sizeof(genlmsghdr) + aligned(attribute));
  head.nlmsg_type = family;
  head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  const genlmsghdr generic{.cmd = command, .version = 1, .reserved = 0};
  const nlattr attributes{.nla_len = static_cast<std::uint16_t>(attribute), .nla_type = type};
  std::string out(head.nlmsg_len, '\0');
  std::memcpy(out.data(), &head, sizeof head);
  std::memcpy(out.data() + sizeof head, &generic, sizeof generic);
  std::memcpy(out.data() + sizeof head + sizeof generic, &attributes, sizeof attributes);
  value.copy(out.data() + sizeof head + sizeof generic + sizeof attributes, value.size());
  return out;
}

// Sends it and waits for the kernel's answer; messages before that go to `take`.
template <class Take>
Result<> send_and_wait(const sys::Fd& socket, const std::string& message, Take&& take) {
  if (::send(socket.get(), message.data(), message.size(), 0) < 0)
    return fail_errno("netlink", errno);
  std::array<char, 8192> buffer{};
  std::optional<int> answer;
  while (!answer) {
    pollfd waiting{.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kAnswerMs) != 1)
      return fail(Code::kUnavailable, "the kernel does not answer on netlink");
    const ssize_t n = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n <= 0) return fail_errno("netlink", errno);
    each_message({buffer.data(), static_cast<std::size_t>(n)},
                 [&](std::uint16_t type, std::string_view bytes) {
                   int error = 0;
                   if (type != NLMSG_ERROR) return take(bytes);
                   answer = load(bytes, 0, error) ? -error : EPROTO;
                 });
  }
  if (*answer != 0) return fail_errno("taskstats", *answer);
  return {};
}

Result<std::uint16_t> find_family(const sys::Fd& socket) {
  std::uint16_t family = 0;
  constexpr std::string_view kName(TASKSTATS_GENL_NAME, sizeof TASKSTATS_GENL_NAME);  // with its 0
  const auto read_family = [&](int type, std::string_view value) {
    if (type == CTRL_ATTR_FAMILY_ID) load(value, 0, family);
  };
  const auto read_answer = [&](std::string_view bytes) {
    if (bytes.size() >= sizeof(genlmsghdr))
      each_attribute(bytes.substr(sizeof(genlmsghdr)), read_family);
  };
  const std::string message =
      request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, kName);
  const auto found = send_and_wait(socket, message, read_answer);
  if (!found || family == 0)
    return fail(Code::kUnsupported, "this kernel has no taskstats (CONFIG_TASKSTATS)");
  return family;
}

Result<> subscribe(const sys::Fd& socket, std::uint16_t family) {
  const auto cpus = sys::read_file("/sys/devices/system/cpu/possible");
  const std::string mask = std::string(cpus ? trim(*cpus) : "0") + '\0';
  const std::string message =
      request(family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, mask);
  auto done = send_and_wait(socket, message, [](std::string_view) {});
  if (done) return {};
  if (done.error().code == Code::kPermission)
    return fail(Code::kPermission, "the kernel requires CAP_NET_ADMIN for exit records");
  return fail(Code::kUnsupported,
              "exit records are not available in a container with its own PID or user namespace (" +
                  done.error().message + ")");
}

// A kernel's answers about a thread have the layout of its exit records. A layout that fails here
// fails at subscribe(), which says why.
std::optional<UnreadRecord> read_own_record(const sys::Fd& socket, std::uint16_t family) {
  const auto thread = static_cast<std::uint32_t>(::gettid());
  const std::string message = request(family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID,
                                      {reinterpret_cast<const char*>(&thread), sizeof thread});
  std::optional<UnreadRecord> unread;
  std::ignore = send_and_wait(socket, message, [&](std::string_view bytes) {
    if (const auto one = read_message(bytes, [](const ExitRecord&) {})) unread = one;
  });
  return unread;
}

struct CpuTime {
  std::uint64_t user_us = 0, system_us = 0;
};

// User and system time are what ticks of the clock happened to see: their shares. Their sum is the
// scheduler's own measurement, if available (as in wait4(): cputime_adjust() in the kernel).
CpuTime cpu_time(const taskstats& stats) {
  const std::uint64_t measured = stats.cpu_run_virtual_total / 1000;
  const std::uint64_t seen = stats.ac_utime + stats.ac_stime;
  if (measured == 0) return {.user_us = stats.ac_utime, .system_us = stats.ac_stime};
  if (stats.ac_stime == 0 || seen == 0) return {.user_us = measured};
  const auto share = static_cast<double>(stats.ac_stime) / static_cast<double>(seen);
  const auto system = static_cast<std::uint64_t>(share * static_cast<double>(measured));
  return {.user_us = measured - system, .system_us = system};
}

constexpr int kDeepest = 256;  // processes below one another that all lived for less than a walk

}  // namespace

std::optional<ExitRecord> parse_taskstats(std::string_view bytes, pid_t thread) {
  // All fields that are read lie before those that later versions added.
  constexpr std::size_t kNeeded = offsetof(taskstats, ac_tgid) + sizeof(taskstats::ac_tgid);
  if (bytes.size() < kNeeded) return std::nullopt;
  taskstats stats{};
  std::memcpy(&stats, bytes.data(), std::min(bytes.size(), sizeof stats));
  if (stats.version < kFirstVersion || stats.ac_pid != static_cast<std::uint32_t>(thread))
    return std::nullopt;
  const CpuTime cpu = cpu_time(stats);
  return ExitRecord{.process = static_cast<pid_t>(stats.ac_tgid),
                    .parent = static_cast<pid_t>(stats.ac_ppid),
                    .counters = {cpu.user_us, cpu.system_us, stats.ac_minflt, stats.ac_majflt,
                                 stats.read_char, stats.write_char, stats.read_syscalls,
                                 stats.write_syscalls, stats.read_bytes, stats.write_bytes},
                    .peak_resident_kib = stats.hiwater_rss};
}

std::optional<UnreadRecord> read_exit_records(std::string_view datagram,
                                              const std::function<void(const ExitRecord&)>& take) {
  std::optional<UnreadRecord> unread;
  each_message(datagram, [&](std::uint16_t type, std::string_view bytes) {
    if (type < NLMSG_MIN_TYPE) return;
    if (const auto one = read_message(bytes, take)) unread = one;
  });
  return unread;
}

std::string_view describe_unread(const UnreadRecord& record, std::span<char> room) {
  const auto end = fmt::format_to_n(
      room.data(), room.size(),
      "the kernel's exit records are of taskstats version {} ({} bytes); {}", record.version,
      record.bytes,
      record.version < kFirstVersion ? "version 12 (Linux 5.19) is the first that names the process"
                                     : "its layout is not supported");
  return {room.data(), std::min(end.size, room.size())};
}

ExitRecords::ExitRecords(sys::Fd socket)
    : socket_(std::move(socket)),
      room_(std::make_unique_for_overwrite<char[]>(kBufferBytes)),
      buffer_(room_.get(), kBufferBytes) {}

Result<ExitRecords> ExitRecords::open() {
  sys::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  if (!socket) return fail_errno("netlink", errno);
  // More than the limit for all, where this process may.
  const int bytes = kReceiveBytes;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  const std::uint16_t family = TRY(find_family(socket));
  if (const auto unread = read_own_record(socket, family)) {
    std::array<char, kReasonBytes> room;
    return fail(Code::kUnsupported, std::string(describe_unread(*unread, room)));
  }
  TRY(subscribe(socket, family));
  return ExitRecords(std::move(socket));
}

void ExitRecords::drain(const std::function<void(const ExitRecord&)>& take) {
  for (int i = 0; i < kDatagramsPerDrain; ++i) {
    const ssize_t n = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n < 0 && errno == ENOBUFS) {
      lost_ = true;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    const auto unread = read_exit_records({buffer_.data(), static_cast<std::size_t>(n)}, take);
    if (unread) unread_ = unread;
  }
}

const ExitRecord* ShortLived::find(pid_t process) const {
  const auto at = std::ranges::lower_bound(records_, process, {}, &ExitRecord::process);
  return at != records_.end() && at->process == process ? &*at : nullptr;
}

// A process of the run is counted elsewhere unless it is lost.
ShortLived::Fate ShortLived::find_fate(const ExitRecord& record, Family& family) const {
  const ExitRecord* top = &record;
  for (int i = 0; i < kDeepest; ++i) {
    if (family.is_known(top->process)) return Fate::kCounted;
    if (family.is_supervisor(top->parent))
      return family.is_helper(top->process) ? Fate::kForeign : Fate::kCounted;
    if (family.is_known(top->parent))
      return family.ignores_children(top->parent) ? Fate::kLost : Fate::kCounted;
    const ExitRecord* above = find(top->parent);
    if (above == nullptr || above == top) return Fate::kForeign;
    top = above;
  }
  return Fate::kForeign;
}

void ShortLived::resolve(Family& family) {
  std::ranges::sort(records_, {}, &ExitRecord::process);
  // Threads of one process come one by one, and belong or do not belong together.
  pid_t last = 0;
  Fate fate = Fate::kForeign;
  for (const ExitRecord& record : records_) {
    if (record.process != last) fate = find_fate(record, family);
    last = record.process;
    if (fate == Fate::kForeign) continue;
    totals_.peak_resident_kib = std::max(totals_.peak_resident_kib, record.peak_resident_kib);
    if (fate == Fate::kLost) add_to(totals_.counters, record.counters);
  }
  records_.clear();
}

}  // namespace corral::collect::tree
