#include "store/tables/device_codes.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/ids.h"
#include "store/engine/database.h"

namespace corral::store::accounts {
namespace {

using sql::Statement;

constexpr std::string_view kLetters = "BCDFGHJKLMNPQRSTVWXZ";
constexpr std::size_t kLength = 8;

Device device_from_row(const Statement& row) {
  return {
      .code = row.text(0), .client = row.text(1), .address = row.text(2), .expires = row.utc(3)};
}

std::string with_hyphen(std::string letters) { return letters.insert(kLength / 2, 1, '-'); }

}  // namespace

bool valid_client_name(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return !name.empty() && name.size() <= kMost && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

std::string new_device_code() {
  // A byte from 240 on would make the first letters likelier.
  constexpr unsigned kEven = 256 / kLetters.size() * kLetters.size();
  std::string letters;
  while (letters.size() < kLength) {
    for (const std::uint8_t byte : RunId::random().bytes) {
      if (byte < kEven && letters.size() < kLength) letters += kLetters[byte % kLetters.size()];
    }
  }
  return with_hyphen(std::move(letters));
}

std::string read_device_code(std::string_view typed) {
  std::string letters;
  for (char c : typed) {
    if (c == ' ' || c == '-') continue;
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (kLetters.find(c) == std::string_view::npos || letters.size() == kLength) return {};
    letters += c;
  }
  return letters.size() == kLength ? with_hyphen(std::move(letters)) : std::string();
}

Result<> add_device(Writing& writing, const Device& device, UtcTime now) {
  TRY(writing->exec("DELETE FROM device_codes WHERE expires <= ?1", now));
  const auto waiting =
      TRY(writing->number("SELECT count(*) FROM device_codes WHERE token IS NULL"));
  if (waiting.value_or(0) >= kMostDevices)
    return fail(Code::kUnavailable,
                "too many programs ask for a sign-in: try again in ten minutes");
  const auto added = TRY(writing->number(
      "INSERT INTO device_codes (secret, code, client, address, expires) VALUES (?1, ?2, ?3, ?4, "
      "?5) ON CONFLICT DO NOTHING RETURNING 1",
      sql::Blob(device.secret), device.code, device.client, device.address, device.expires));
  if (!added) return fail(Code::kAlreadyExists, "this code is in use");
  return {};
}

Result<std::optional<Device>> device(Reading& reading, std::string_view code, UtcTime now) {
  return sql::read_first(
      reading->query("SELECT code, client, address, expires FROM device_codes WHERE code = ?1 AND "
                     "token IS NULL AND expires > ?2",
                     code, now),
      device_from_row);
}

Result<bool> answer_device(Writing& writing, std::string_view code, const DeviceAnswer& answer,
                           UtcTime now) {
  return TRY(writing->number("UPDATE device_codes SET token = ?2, role = ?3 WHERE code = ?1 AND "
                             "token IS NULL AND expires > ?4 RETURNING 1",
                             code, answer.token, static_cast<std::int64_t>(answer.role), now))
      .has_value();
}

Result<std::optional<DeviceAnswer>> device_answer(Reading& reading, const Sha256& secret,
                                                  UtcTime now) {
  auto found = TRY(sql::read_first(
      reading->query("SELECT code, client, address, expires, token, role FROM device_codes WHERE "
                     "secret = ?1 AND expires > ?2",
                     sql::Blob(secret), now),
      [](const Statement& row) -> std::optional<DeviceAnswer> {
        if (row.is_null(4)) return std::nullopt;
        return DeviceAnswer{.token = row.text(4),
                            .role = static_cast<Role>(row.integer(5)),
                            .asked = device_from_row(row)};
      }));
  if (!found)
    return fail(Code::kNotFound, "this sign-in is over: it expired, or its token was handed out");
  return *std::move(found);
}

Result<bool> take_device(Writing& writing, const Sha256& secret) {
  return TRY(writing->number("DELETE FROM device_codes WHERE secret = ?1 RETURNING 1",
                             sql::Blob(secret)))
      .has_value();
}

}  // namespace corral::store::accounts
