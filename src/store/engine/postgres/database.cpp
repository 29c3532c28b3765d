#include "store/engine/postgres/database.h"

#include <fmt/core.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "core/text.h"
#include "store/engine/postgres/sqlstate.h"
#include "sys/clock.h"

namespace corral::store::postgres {
namespace {

using sql::Blob;
using std::chrono::milliseconds;

constexpr Oid kBool = 16, kBytea = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25,
              kFloat4 = 700, kFloat8 = 701, kNumeric = 1700;
constexpr int kBinary = 1;
constexpr int kOldestServer = 150000;
constexpr Nanos kConnectTime = std::chrono::seconds(10);
constexpr Nanos kFirstPause = milliseconds(100);
constexpr Nanos kLongestPause = std::chrono::seconds(2);

// ---- numbers in the binary format: big-endian, in what libpq hands out and takes
template <class T>
T from_wire(const char* bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>((value << 8) | static_cast<unsigned char>(bytes[i]));
  return value;
}

std::array<char, 8> to_wire(std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 8; i-- > 0; value >>= 8) bytes.at(i) = static_cast<char>(value & 0xFF);
  return bytes;
}

// numeric: count of base-10000 digits, weight of the first, sign, scale, digits. Sums of integers
// come as such.
double parse_numeric(const char* bytes) {
  const auto digits = from_wire<std::uint16_t>(bytes);
  const auto weight = static_cast<std::int16_t>(from_wire<std::uint16_t>(bytes + 2));
  const auto sign = from_wire<std::uint16_t>(bytes + 4);
  double value = 0;
  for (int i = 0; i < digits; ++i)
    value += from_wire<std::uint16_t>(bytes + 8 + 2 * i) * std::pow(10000.0, weight - i);
  return sign == 0x4000 ? -value : value;
}

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, Clear>;
struct Finish {
  void operator()(PGconn* handle) const { PQfinish(handle); }
};
using Handle = std::unique_ptr<PGconn, Finish>;

// ---- the URL
struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

// libpq's own message would quote the URL, password and all.
Result<Options> parse_url(const std::string& url) {
  const std::size_t start = url.find("://") + 3;
  const std::size_t at = url.substr(0, url.find('?')).rfind('@');
  // A password with a / would be taken for host, port and database, and be shown.
  const bool slash = at != std::string::npos && url.find('/', start) < at;
  const bool scheme = url.starts_with("postgresql://") || url.starts_with("postgres://");
  Options options(scheme && !slash ? PQconninfoParse(url.c_str(), nullptr) : nullptr);
  if (options) return options;
  return fail(Code::kInvalidArgument,
              "not the address of a database: postgresql://user@host:port/database is one "
              "(characters like / @ : % in a name or password are written %2F %40 %3A %25)");
}

std::string option_value(const Options& options, std::string_view keyword) {
  for (const PQconninfoOption* o = options.get(); o != nullptr && o->keyword != nullptr; ++o) {
    if (keyword == o->keyword && o->val != nullptr) return o->val;
  }
  return {};
}

Result<> check_server(PGconn* handle, const std::string& name, Mode mode) {
  if (mode == Mode::kForeign) return {};
  const int version = PQserverVersion(handle);
  if (version < kOldestServer) {
    return fail(Code::kUnsupported,
                fmt::format("{}: PostgreSQL {} is too old, Corral needs 15 or newer", name,
                            version / 10000));
  }
  const char* encoding = PQparameterStatus(handle, "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8") {
    return fail(Code::kUnsupported,
                fmt::format("{}: the database's encoding is {}; make one with ENCODING 'UTF8'",
                            name, encoding == nullptr ? "unknown" : encoding));
  }
  return {};
}

// First line of libpq's message.
std::string_view first_line(std::string_view text) { return trim(text.substr(0, text.find('\n'))); }

std::string_view advice(std::string_view state) {
  if (state == "28P01") return "; the password comes from the URL, PGPASSWORD or ~/.pgpass";
  if (state == "3D000") return "; create it first: createdb NAME";
  if (state == "3F000" || state == "42501")
    return "; the role must own the database or its schema (CREATE SCHEMA corral AUTHORIZATION "
           "role, then ALTER ROLE role SET search_path = corral)";
  if (state == "25006") return "; name the primary server (--read-store takes a replica)";
  if (state == "53300")
    return "; a server of Corral writes through one connection and reads through up to eight";
  if (state == "53100") return "; nothing is lost, make room there and it goes on";
  if (state.starts_with("XX00")) return "; `corral store check` says what is damaged";
  return "";
}

// ---- connecting
// In verbose mode the message of a refusal holds its code: "...FATAL:  28P01: password ...".
Error connect_error(PGconn* handle, const std::string& name) {
  const std::string_view text = first_line(PQerrorMessage(handle));
  for (std::size_t at = text.find(":  "); at != std::string_view::npos;
       at = text.find(":  ", at + 1)) {
    const std::string_view rest = text.substr(at + 3);
    const bool code = rest.size() > 7 && rest.substr(5, 2) == ": " &&
                      std::ranges::all_of(rest.substr(0, 5), [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                      });
    if (!code) continue;
    const std::string_view state = rest.substr(0, 5);
    return {.code = code_of_sqlstate(state),
            .message = fmt::format("{}: {}{}", name, rest.substr(7), advice(state))};
  }
  // "fe_sendauth: no password supplied" is libpq's own.
  const bool password = text.find("no password supplied") != std::string_view::npos;
  return {.code = password ? Code::kUnauthenticated : Code::kUnavailable,
          .message = fmt::format("{}: {}{}", name, text, password ? advice("28P01") : "")};
}

Result<> wait_until_connected(PGconn* handle, const std::string& name) {
  const BootTime until = sys::boot_now() + kConnectTime;
  auto wanted = PGRES_POLLING_WRITING;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - sys::boot_now()).count();
    if (left <= 0) return fail(Code::kUnavailable, name + ": no answer for 10 seconds");
    pollfd descriptor{
        .fd = PQsocket(handle),
        .events = static_cast<short>(wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT),
        .revents = 0};
    const int ready = ::poll(&descriptor, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return fail_errno(name, errno);
    if (ready <= 0) continue;
    wanted = PQconnectPoll(handle);
    if (wanted == PGRES_POLLING_OK) return {};
    if (wanted == PGRES_POLLING_FAILED) return tl::unexpected(connect_error(handle, name));
  }
}

Result<Handle> connect(const std::string& url, const std::string& name, Mode mode) {
  // Parameters before the URL are defaults that the URL may change.
  constexpr const char* kKeywords[] = {"keepalives_idle",           "keepalives_interval",
                                       "keepalives_count",          "tcp_user_timeout",
                                       "fallback_application_name", "dbname",
                                       "client_encoding",           nullptr};
  const char* values[] = {"30", "10", "3", "30000", "corral", url.c_str(), "UTF8", nullptr};
  Handle handle(PQconnectStartParams(kKeywords, values, 1));
  if (!handle) return fail(Code::kInternal, "out of memory");
  if (PQstatus(handle.get()) == CONNECTION_BAD)
    return tl::unexpected(connect_error(handle.get(), name));
  PQsetErrorVerbosity(handle.get(), PQERRORS_VERBOSE);
  TRY(wait_until_connected(handle.get(), name));
  PQsetErrorVerbosity(handle.get(), PQERRORS_DEFAULT);
  PQsetNoticeReceiver(
      handle.get(), [](void*, const PGresult*) {}, nullptr);
  TRY(check_server(handle.get(), name, mode));
  return handle;
}

constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {"INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
    {"INTEGER", "BIGINT"},
    {"BLOB", "BYTEA"},
    {"REAL", "DOUBLE PRECISION"},
    {"TEXT", "TEXT COLLATE \"C\""},
    {"WITHOUT ROWID", ""},
};

constexpr sql::Dialect kDialect = {
    .shared = true,
    .begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    .begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    .lock_row = " FOR NO KEY UPDATE",
    .lock_schema =
        "SET LOCAL lock_timeout = '10s'; SELECT "
        "pg_advisory_xact_lock(hashtextextended(CAST(current_schema() AS text), 1129468492))",
    .elsewhere = "name another database or schema (?options=-csearch_path%3Dcorral)",
    .words = kWords,
    .own_lines = "--postgresql",
    .hurry = "SET LOCAL lock_timeout = '50ms'",
    .last_key =
        "SELECT pg_sequence_last_value(CAST(pg_get_serial_sequence('{0}', '{1}') AS regclass))",
    .skip_keys = "SELECT setval(pg_get_serial_sequence('{0}', '{1}'), {2})",
    .vacuum = "VACUUM ANALYZE ",
    .own = "",
    // Without hide(), everything is hidden.
    .in_hidden_space =
        "(current_setting('corral.hidden') = '' OR EXISTS (SELECT 1 FROM "
        "unnest(string_to_array(current_setting('corral.hidden'), ',')) s (name) WHERE "
        "starts_with({0}, s.name || '{1}')))",
    .clock = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS bigint)",
};

class PgConnection;

// ---- Cursor
class PgCursor final : public sql::Cursor {
 public:
  PgCursor(PgConnection& connection, std::string sql)
      : connection_(connection), sql_(std::move(sql)) {}

  void bind_integer(int index, std::int64_t value) override {
    const auto wire = to_wire(static_cast<std::uint64_t>(value));
    bind(index, kInt8, {wire.data(), wire.size()});
  }
  void bind_real(int index, double value) override {
    const auto wire = to_wire(std::bit_cast<std::uint64_t>(value));
    bind(index, kFloat8, {wire.data(), wire.size()});
  }
  void bind_text(int index, std::string_view value) override { bind(index, kText, value); }
  void bind_blob(int index, Blob value) override {
    bind(index, kBytea, {reinterpret_cast<const char*>(value.data()), value.size()});
  }
  void bind_null(int index, sql::Type type) override {
    static constexpr Oid kTypes[] = {kInt8, kFloat8, kText, kBytea};
    bind(index, kTypes[static_cast<std::size_t>(type)], {});
    parameters_.at(static_cast<std::size_t>(index) - 1).null = true;
  }

  Result<bool> step() override;
  Result<> defer() override;
  void reset() override {
    result_.reset();
    row_ = -1;
    parameters_.clear();
  }

  [[nodiscard]] bool is_null(int column) const override {
    return PQgetisnull(result_.get(), row_, column) != 0;
  }
  [[nodiscard]] std::int64_t integer(int column) const override;
  [[nodiscard]] double real(int column) const override;
  [[nodiscard]] std::string text(int column) const override {
    const Blob bytes = blob(column);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] Blob blob(int column) const override {
    return {reinterpret_cast<const std::uint8_t*>(bytes(column)),
            static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
  }

 private:
  friend class PgConnection;
  struct Parameter {
    Oid type = kInt8;
    bool null = false;
    std::string bytes;
  };
  struct Prepared {
    std::vector<Oid> types;
    std::string name;
  };
  // Parameters as libpq takes them.
  struct Wire {
    std::vector<Oid> types;
    std::vector<const char*> values;
    std::vector<int> lengths, formats;
    [[nodiscard]] int count() const { return static_cast<int>(types.size()); }
  };

  void bind(int index, Oid type, std::string_view bytes) {
    const auto at = static_cast<std::size_t>(index) - 1;
    if (parameters_.size() <= at) parameters_.resize(at + 1);
    parameters_[at] = {.type = type, .null = false, .bytes = std::string(bytes)};
  }
  [[nodiscard]] const char* bytes(int column) const {
    return PQgetvalue(result_.get(), row_, column);
  }
  [[nodiscard]] Wire wire() const;

  PgConnection& connection_;
  const std::string sql_;  // with $1, $2...
  std::vector<Parameter> parameters_;
  std::vector<Prepared> prepared_;
  std::uint64_t generation_ = 0;  // the connection on which prepared_ is valid
  ResultPtr result_;
  int row_ = -1;
};

// ---- Connection
class PgConnection final : public sql::Connection {
 public:
  PgConnection(std::string url, std::string name, Mode mode)
      : url_(std::move(url)), name_(std::move(name)), mode_(mode) {}

  Result<> open();
  [[nodiscard]] const sql::Dialect& dialect() const override { return kDialect; }
  [[nodiscard]] std::string name() const override { return name_; }
  Result<> script(const std::string& sql) override;
  [[nodiscard]] bool in_transaction() const override {
    if (!handle_) return false;
    const auto status = PQtransactionStatus(handle_.get());
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
  }
  Result<> revive() override;
  [[nodiscard]] bool alive() const override { return handle_ != nullptr; }
  [[nodiscard]] bool lock_refused() const override { return lock_refused_; }
  Result<> flush() override;
  Result<> make_ready(const std::string& script) override;
  [[nodiscard]] bool was_made_ready() const override { return !ready_.empty(); }
  Result<> hide(const std::vector<std::string>& spaces) override;
  Result<bool> has_table(std::string_view table) override {
    return TRY(number("SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND "
                      "tablename = ?1",
                      table))
        .has_value();
  }
  Result<bool> empty() override {
    return !TRY(number("SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() "
                       "LIMIT 1"))
                .has_value();
  }
  Result<std::vector<std::string>> columns(std::string_view table) override {
    return sql::read_all(
        query("SELECT CAST(column_name AS text) FROM information_schema.columns WHERE table_schema "
              "= current_schema() AND table_name = ?1 ORDER BY ordinal_position",
              table),
        [](const sql::Statement& row) { return row.text(0); });
  }
  Result<std::int64_t> bytes() override {
    return TRY(number("SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT) FROM "
                      "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
                      "c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'"))
        .value_or(0);
  }

 protected:
  Result<sql::Cursor*> prepare(std::string_view sql) override;

 private:
  friend class PgCursor;
  Result<const std::string*> name_of(PgCursor& cursor, const PgCursor::Wire& wire);
  Result<ResultPtr> take(PGresult* result);
  Result<ResultPtr> execute(PgCursor& cursor);
  Result<> send(PgCursor& cursor);
  tl::unexpected<Error> lost();
  tl::unexpected<Error> failed(const PGresult* result);

  const std::string url_, name_;
  const Mode mode_;
  Handle handle_;  // null: lost
  std::uint64_t generation_ = 0, statement_count_ = 0;
  std::map<std::string, std::unique_ptr<PgCursor>, std::less<>> cursors_;
  std::size_t unanswered_ = 0;  // deferred statements in the pipeline
  bool lock_refused_ = false;
  std::optional<BootTime> next_attempt_;
  Nanos pause_ = kFirstPause;
  Error last_error_;
  std::string ready_;  // the script given to make_ready(); or empty
};

// ---- Cursor, continued
PgCursor::Wire PgCursor::wire() const {
  Wire wire;
  for (const Parameter& p : parameters_) {
    wire.types.push_back(p.type);
    wire.values.push_back(p.null ? nullptr : p.bytes.data());
    wire.lengths.push_back(static_cast<int>(p.bytes.size()));
    wire.formats.push_back(kBinary);
  }
  return wire;
}

Result<bool> PgCursor::step() {
  if (!result_) {
    result_ = TRY(connection_.execute(*this));
    row_ = -1;
  }
  if (row_ + 1 >= PQntuples(result_.get())) return false;
  ++row_;
  return true;
}

Result<> PgCursor::defer() { return connection_.send(*this); }

std::int64_t PgCursor::integer(int column) const {
  if (is_null(column)) return 0;
  const char* at = bytes(column);
  switch (PQftype(result_.get(), column)) {
    case kInt8:
      return static_cast<std::int64_t>(from_wire<std::uint64_t>(at));
    case kInt4:
      return static_cast<std::int32_t>(from_wire<std::uint32_t>(at));
    case kInt2:
      return static_cast<std::int16_t>(from_wire<std::uint16_t>(at));
    case kBool:
      return *at;
    case kFloat4:
    case kFloat8:
    case kNumeric:
      return static_cast<std::int64_t>(real(column));
    default:
      return 0;
  }
}

double PgCursor::real(int column) const {
  if (is_null(column)) return 0;
  const char* at = bytes(column);
  switch (PQftype(result_.get(), column)) {
    case kFloat8:
      return std::bit_cast<double>(from_wire<std::uint64_t>(at));
    case kFloat4:
      return std::bit_cast<float>(from_wire<std::uint32_t>(at));
    case kNumeric:
      return parse_numeric(at);
    default:
      return static_cast<double>(integer(column));
  }
}

// ---- Connection, continued
Result<> PgConnection::open() {
  handle_ = TRY(connect(url_, name_, mode_));
  ++generation_;
  unanswered_ = 0;
  // The server's and the role's defaults may be anything; acknowledged means on the disk.
  std::string settings =
      "SET client_min_messages = warning; SET statement_timeout = 0; SET lock_timeout = '1s'; ";
  // A writer that hangs or disappears within a transaction must not keep its locks.
  settings +=
      mode_ == Mode::kReadOnly || mode_ == Mode::kForeign
          ? "SET idle_in_transaction_session_timeout = 0; "
          : "SET idle_in_transaction_session_timeout = '15s'; SET tcp_keepalives_idle = 10; "
            "SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; ";
  if (mode_ == Mode::kRelaxed) settings += "SET synchronous_commit = off; ";
  if (mode_ == Mode::kReadWrite) {
    settings +=
        "SELECT set_config('synchronous_commit', 'on', false) WHERE "
        "current_setting('synchronous_commit') NOT IN ('on', 'remote_apply'); ";
  }
  return script(settings);
}

Result<> PgConnection::revive() {
  if (handle_ && PQstatus(handle_.get()) == CONNECTION_OK) return {};
  handle_.reset();
  const BootTime now = sys::boot_now();
  if (next_attempt_ && now < *next_attempt_) return tl::unexpected(last_error_);
  auto opened = open();
  if (opened && !ready_.empty()) opened = script(ready_);
  if (opened) {
    next_attempt_.reset();
    pause_ = kFirstPause;
    return opened;
  }
  handle_.reset();
  // Every failure (a changed password, a server that is starting) may be temporary.
  last_error_ = {.code = Code::kUnavailable, .message = opened.error().message};
  next_attempt_ = sys::boot_now() + pause_;
  pause_ = std::min(pause_ * 2, kLongestPause);
  return tl::unexpected(last_error_);
}

Result<> PgConnection::make_ready(const std::string& script) {
  ready_ = "BEGIN READ WRITE; " + script + " COMMIT";
  return this->script(ready_);
}

// A search path that names pg_temp behind the tables' schema finds these first.
Result<> PgConnection::hide(const std::vector<std::string>& spaces) {
  const auto in_force = TRY(number(
      "SELECT CASE WHEN to_regclass('runs') = to_regclass('pg_temp.runs') THEN 1 ELSE 0 END + 0 * "
      "CAST(length(set_config('corral.hidden', ?1, true)) AS BIGINT)",
      join(spaces, ",")));
  if (in_force == 1) return {};
  return fail(Code::kInternal,
              name_ +
                  ": tables are found before temporary views: the search_path of the role or "
                  "of the address must not name pg_temp");
}

tl::unexpected<Error> PgConnection::lost() {
  lock_refused_ = false;
  std::string why = handle_ ? std::string(first_line(PQerrorMessage(handle_.get()))) : "";
  handle_.reset();
  unanswered_ = 0;
  return fail(Code::kUnavailable,
              fmt::format("{}: the connection is lost{}{}", name_, why.empty() ? "" : ": ", why));
}

tl::unexpected<Error> PgConnection::failed(const PGresult* result) {
  if (!handle_ || PQstatus(handle_.get()) == CONNECTION_BAD) return lost();
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* what = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr) return lost();
  const std::string code = state;
  lock_refused_ = code == "55P03";
  auto error = fail(code_of_sqlstate(code),
                    fmt::format("{}: {}{}", name_, what == nullptr ? code : what, advice(code)));
  if (ends_connection(code)) handle_.reset();
  return error;
}

Result<ResultPtr> PgConnection::take(PGresult* raw) {
  ResultPtr result(raw);
  if (!result) return lost();
  switch (PQresultStatus(result.get())) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
      return result;
    default:
      return failed(result.get());
  }
}

Result<> PgConnection::script(const std::string& sql) {
  if (!handle_) return lost();
  if (sql.empty()) return {};
  lock_refused_ = false;
  // A deferred statement that failed is undone by a rollback, too.
  const bool rollback = sql.starts_with("ROLLBACK");
  if (auto flushed = flush(); !flushed && (!handle_ || !rollback)) return flushed;
  const ResultPtr result = TRY(take(PQexec(handle_.get(), sql.c_str())));
  // The answer to the COMMIT of a transaction in which something failed.
  if (sql == "COMMIT" && std::string_view(PQcmdStatus(result.get())) == "ROLLBACK")
    return fail(Code::kUnavailable, name_ + ": the transaction was rolled back");
  return {};
}

Result<sql::Cursor*> PgConnection::prepare(std::string_view sql) {
  auto known = cursors_.find(sql);
  if (known == cursors_.end()) {
    known = cursors_.emplace(std::string(sql), std::make_unique<PgCursor>(*this, with_dollars(sql)))
                .first;
  }
  CORRAL_ASSERT(!known->second->result_);
  return known->second.get();
}

// The name under which the server knows the statement with parameters of these types.
Result<const std::string*> PgConnection::name_of(PgCursor& cursor, const PgCursor::Wire& wire) {
  if (cursor.generation_ != generation_) cursor.prepared_.clear();
  cursor.generation_ = generation_;
  for (const auto& prepared : cursor.prepared_) {
    if (prepared.types == wire.types) return &prepared.name;
  }
  TRY(flush());
  const std::string name = fmt::format("c{}", ++statement_count_);
  TRY(take(PQprepare(handle_.get(), name.c_str(), cursor.sql_.c_str(), wire.count(),
                     wire.types.data())));
  cursor.prepared_.push_back({.types = wire.types, .name = name});
  return &cursor.prepared_.back().name;
}

Result<ResultPtr> PgConnection::execute(PgCursor& cursor) {
  if (!handle_) return lost();
  const PgCursor::Wire wire = cursor.wire();
  const std::string* name = TRY(name_of(cursor, wire));
  TRY(flush());
  return take(PQexecPrepared(handle_.get(), name->c_str(), wire.count(), wire.values.data(),
                             wire.lengths.data(), wire.formats.data(), kBinary));
}

// Statements without an answer travel together; the server works through them meanwhile.
Result<> PgConnection::send(PgCursor& cursor) {
  constexpr std::size_t kMostUnanswered = 1024;
  if (!handle_) return lost();
  const PgCursor::Wire wire = cursor.wire();
  const std::string* name = TRY(name_of(cursor, wire));
  if (unanswered_ == 0 && PQenterPipelineMode(handle_.get()) == 0) return lost();
  if (PQsendQueryPrepared(handle_.get(), name->c_str(), wire.count(), wire.values.data(),
                          wire.lengths.data(), wire.formats.data(), kBinary) == 0)
    return lost();
  if (++unanswered_ >= kMostUnanswered) return flush();
  return {};
}

Result<> PgConnection::flush() {
  if (unanswered_ == 0) return {};
  if (!handle_ || PQpipelineSync(handle_.get()) == 0) return lost();
  Result<> done;
  // Each statement answers with results and a null; the sync point comes last. After a failure the
  // rest is marked as left out.
  for (bool synced = false; !synced;) {
    ResultPtr result(PQgetResult(handle_.get()));
    if (!result) {
      if (PQstatus(handle_.get()) == CONNECTION_BAD) return done ? lost() : done;
      continue;
    }
    const auto status = PQresultStatus(result.get());
    synced = status == PGRES_PIPELINE_SYNC;
    if (synced || status == PGRES_PIPELINE_ABORTED || !done) continue;
    if (const auto taken = take(result.release()); !taken) {
      done = tl::unexpected(taken.error());
      if (!handle_) break;
    }
  }
  unanswered_ = 0;
  if (handle_ && PQexitPipelineMode(handle_.get()) == 0) return lost();
  return done;
}

}  // namespace

Result<std::string> name_of(const std::string& url) {
  const Options options = TRY(parse_url(url));
  std::string name = "postgresql://";
  const std::string user = option_value(options, "user");
  const std::string port = option_value(options, "port");
  std::string host = option_value(options, "host");
  if (host.starts_with('/')) host = "[" + host + "]";
  if (!user.empty()) name += user + "@";
  name += host.empty() ? "localhost" : host;
  if (!port.empty()) name += ":" + port;
  return name + "/" + option_value(options, "dbname");
}

Result<std::unique_ptr<sql::Connection>> open_database(const std::string& url, Mode mode) {
  auto connection = std::make_unique<PgConnection>(url, TRY(name_of(url)), mode);
  TRY(connection->open());
  return connection;
}

}  // namespace corral::store::postgres
