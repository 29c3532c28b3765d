#include "store/tables/plans.h"

#include <fmt/core.h>
#include <zstd.h>

#include "codec/frame.h"
#include "store/engine/database.h"

namespace corral::store::page {
namespace {

using sql::Blob;
using sql::Statement;

constexpr int kLevel = 1;  // packs a plan of 10,000 runs from 4 MB to 0.2 MB in 10 ms

Result<std::string> pack(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size) != 0) return fail(Code::kInternal, ZSTD_getErrorName(size));
  packed.resize(size);
  return packed;
}

Result<std::string> unpack(Blob packed, std::string_view id) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size <= kMostPlanBytes) {
    std::string text(static_cast<std::size_t>(size), '\0');
    if (ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size()) == text.size())
      return text;
  }
  return fail(Code::kCorruption, fmt::format("the document of plan {} cannot be unpacked", id));
}

}  // namespace

Result<> save_plan(Writing& writing, const PlanDocument& plan, UtcTime now) {
  const std::string packed = TRY(pack(plan.document));
  const Blob blob = sql::to_blob(packed);
  const auto known = TRY(writing->number(
      "UPDATE plans SET updated = ?2, summary = ?3, document = ?4 WHERE id = ?1 RETURNING 1",
      plan.id, now, plan.summary, blob));
  if (known) return {};
  TRY(
      writing->exec("INSERT INTO plans (id, updated, summary, document) VALUES (?1, ?2, ?3, ?4) ON "
                    "CONFLICT (id) DO UPDATE SET updated = ?2, summary = ?3, document = ?4",
                    plan.id, now, plan.summary, blob));
  return writing->exec(
      "DELETE FROM plans WHERE id IN (SELECT id FROM plans ORDER BY updated DESC, id LIMIT ?2 "
      "OFFSET ?1)",
      kMostPlans, kMostPlans);
}

Result<std::vector<PlanSummary>> plans(Reading& reading) {
  return sql::read_all(
      reading->query("SELECT id, summary, updated FROM plans ORDER BY updated DESC, id"),
      [](const Statement& row) {
        return PlanSummary{.id = row.text(0), .summary = row.text(1), .received = row.utc(2)};
      });
}

Result<std::optional<std::string>> plan_summary(Reading& reading, std::string_view id) {
  return sql::read_first(reading->query("SELECT summary FROM plans WHERE id = ?1", id),
                         [](const Statement& row) { return row.text(0); });
}

Result<std::set<std::string>> plans_of_hidden_runs(Reading& reading) {
  if (reading.access().sees_all()) return std::set<std::string>();
  const auto all = TRY(sql::read_all(
      reading->query("SELECT DISTINCT f.value FROM hidden_runs r JOIN hidden_facts f ON f.run = "
                     "r.key AND f.kind = ?1 AND f.key = 'corral.plan'",
                     codec::FactKind::kTag),
      [](const Statement& row) { return row.text(0); }));
  return std::set<std::string>(all.begin(), all.end());
}

Result<std::optional<std::string>> plan_document(Reading& reading, std::string_view id) {
  Statement row = TRY(reading->query("SELECT document FROM plans WHERE id = ?1", id));
  if (!TRY(row.step())) return std::nullopt;
  return TRY(unpack(row.blob(0), id));
}

Result<bool> delete_plan(Writing& writing, std::string_view id) {
  return TRY(writing->number("DELETE FROM plans WHERE id = ?1 RETURNING 1", id)).has_value();
}

}  // namespace corral::store::page
