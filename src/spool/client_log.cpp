#include "spool/client_log.h"

#include <unistd.h>

#include "core/limits.h"

namespace corral::spool {
namespace {

constexpr const char* kFolder = "mlflow";
constexpr const char* kDescription = "session";
constexpr const char* kClosed = "closed";
constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateDirectory = 0700;

Result<codec::SessionBody> read_description(const fs::path& path) {
  const std::string text = TRY(sys::read_file(path / kDescription, limits::kFrameBytes));
  const auto bytes = std::as_bytes(std::span(text));
  const codec::Frame frame =
      TRY(codec::decode_frame({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
  return codec::decode_session(frame);
}

}  // namespace

Result<ClientLog> ClientLog::create(const fs::path& run_directory,
                                    const codec::SessionBody& session, std::int64_t limit) {
  const SessionId id = SessionId::random();
  fs::path path = run_directory / kFolder / id.hex();
  TRY(sys::make_directories(path, kPrivateDirectory));
  const codec::Bytes frame =
      codec::encode({.kind = {}, .session = id, .first = 1, .last = 1}, session);
  // The description comes first: frames without one would be nobody's.
  TRY(sys::replace_file(path / kDescription,
                        {reinterpret_cast<const char*>(frame.data()), frame.size()}, kPrivateFile,
                        false));
  Journal journal = TRY(Journal::open(path, id, limit));
  journal.describe(session);
  return ClientLog(std::move(path), id, std::move(journal));
}

void ClientLog::close() {
  // When this fails the log stays open until the run ends: it is sent all the same.
  [[maybe_unused]] const auto closed = sys::replace_file(path_ / kClosed, "", kPrivateFile, false);
}

std::vector<SessionId> client_logs(const fs::path& run_directory) {
  std::vector<SessionId> sessions;
  for (const std::string& name : sys::list_directory(run_directory / kFolder)) {
    if (const auto session = SessionId::parse(name)) sessions.push_back(*session);
  }
  return sessions;
}

Result<ClientLogPlace> find_client_log(const fs::path& run_directory, SessionId session) {
  fs::path path = run_directory / kFolder / session.hex();
  codec::SessionBody description = TRY(read_description(path));
  return ClientLogPlace{
      .path = std::move(path), .session = session, .description = std::move(description)};
}

bool is_closed(const ClientLogPlace& log) {
  return ::access((log.path / kClosed).c_str(), F_OK) == 0;
}

std::int64_t client_log_bytes(const fs::path& run_directory) {
  std::int64_t total = 0;
  std::error_code error;
  for (const SessionId session : client_logs(run_directory)) {
    const fs::path path = run_directory / kFolder / session.hex();
    for (const std::uint64_t first : frame_files(path)) {
      const std::uintmax_t size = fs::file_size(frame_file(path, first), error);
      if (!error) total += static_cast<std::int64_t>(size);
    }
  }
  return total;
}

void repair_client_logs(const fs::path& run_directory) {
  for (const SessionId session : client_logs(run_directory)) {
    // Opening repairs; what cannot be repaired is named when it is read.
    [[maybe_unused]] const auto opened =
        FrameLogWriter::open(run_directory / kFolder / session.hex(), session, limits::kSpoolBytes);
  }
}

}  // namespace corral::spool
