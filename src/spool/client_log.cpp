#include "spool/client_log.h"

#include "core/limits.h"

namespace corral::spool {
namespace {

constexpr const char* kFolder = "mlflow";
constexpr const char* kDescription = "session";
constexpr const char* kClosed = "closed";

fs::path place_of(SessionId session) { return fs::path(kFolder) / session.hex(); }

Result<codec::SessionBody> read_description(const sys::PrivateDirectory& files) {
  const std::string text = TRY(files.read_file(kDescription, limits::kFrameBytes));
  const auto bytes = std::as_bytes(std::span(text));
  const codec::Frame frame =
      TRY(codec::decode_frame({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
  return codec::decode_session(frame);
}

}  // namespace

Result<ClientLog> ClientLog::create(const sys::PrivateDirectory& run,
                                    const codec::SessionBody& session, std::int64_t limit) {
  const SessionId id = SessionId::random();
  sys::PrivateDirectory files = TRY(run.make_directory(place_of(id)));
  const codec::Bytes frame =
      codec::encode({.kind = {}, .session = id, .first = 1, .last = 1}, session);
  // The description comes first: frames without one would belong to no session.
  TRY(files.replace_file(kDescription, {reinterpret_cast<const char*>(frame.data()), frame.size()},
                         false));
  Journal journal = TRY(Journal::open(files, id, limit));
  journal.describe(session);
  return ClientLog(std::move(files), id, std::move(journal));
}

void ClientLog::close() {
  // When this fails the log stays open until the run ends: it is sent all the same.
  [[maybe_unused]] const auto closed = files_.replace_file(kClosed, "", false);
}

std::vector<SessionId> client_logs(const sys::PrivateDirectory& run) {
  std::vector<SessionId> sessions;
  for (const std::string& name : run.list(kFolder)) {
    if (const auto session = SessionId::parse(name)) sessions.push_back(*session);
  }
  return sessions;
}

Result<StoredClientLog> find_client_log(const sys::PrivateDirectory& run, SessionId session) {
  sys::PrivateDirectory files = TRY(run.directory(place_of(session)));
  codec::SessionBody description = TRY(read_description(files));
  return StoredClientLog{
      .files = std::move(files), .session = session, .description = std::move(description)};
}

bool is_closed(const StoredClientLog& log) { return log.files.exists(kClosed); }

std::int64_t client_log_bytes(const sys::PrivateDirectory& run) {
  std::int64_t total = 0;
  for (const SessionId session : client_logs(run)) {
    if (const auto files = run.directory(place_of(session))) total += frame_bytes(*files);
  }
  return total;
}

void repair_client_logs(const sys::PrivateDirectory& run) {
  for (const SessionId session : client_logs(run)) {
    auto files = run.directory(place_of(session));
    if (!files) continue;
    // Opening repairs; a log that cannot be repaired is named when it is read.
    [[maybe_unused]] const auto opened =
        FrameLogWriter::open(*std::move(files), session, limits::kSpoolBytes);
  }
}

bool delete_client_log(const sys::PrivateDirectory& run, SessionId session) {
  return run.remove_all(place_of(session));
}

}  // namespace corral::spool
