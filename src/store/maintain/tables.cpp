#include "store/maintain/tables.h"

#include <fmt/core.h>

#include <array>

#include "core/text.h"

namespace corral::store::maintain {
namespace {

constexpr std::array kTables = {
    Table{"experiments", "id name$ created lifecycle updated artifact_location$ kept", 1, true,
          1000},
    Table{"workloads", "key id# experiment name$ created", 1, true, 1000},
    Table{"hosts", "key name$ machine_id$ feeder until idle_since", 1, true, 1000},
    Table{"runs",
          "key id# name$ experiment workload status supervised started ended newest end_reason "
          "exit_code exit_signal host$ lifecycle user_id$ artifact_uri$ client_status client_end "
          "machine trashed creator$",
          1, true, 1000},
    Table{"facts", "run kind key$ value$", 3, false, 500},
    Table{"sessions",
          "key id# run workload removed durable_seq utc_minus_boot clock_error started role$ host$ "
          "pid rank boot_id$ machine",
          1, true, 1000},
    Table{"members",
          "run no session attempt rank host$ machine started ended end_reason exit_code "
          "exit_signal outcome$ reason$",
          2, false, 1000},
    Table{"series", "id owner_kind owner name$ source$ unit$ kind aggregation blocks", 1, true,
          2000},
    Table{"session_series", "session local series slice", 2, false, 5000},
    Table{"batches", "id session first_seq last_seq t0 t1 damaged frame#", 1, true, 16},
    Table{"slices", "session slice statistics#", 2, false, 200},
    Table{"row_groups", "id session slice state t0 t1 points data#", 1, true, 16},
    Table{"block_times", "id session data#", 1, true, 64},
    Table{"blocks", "series no session times data#", 2, false, 64},
    Table{"pyramid", "series channel tier no data#", 4, false, 128},
    Table{"phases", "session id run parent kind started ended name$ type$ lane$ links$ attributes$",
          2, false, 1000},
    Table{"events", "id run session time name$ origin$ attributes$", 1, true, 1000},
    Table{"logs", "id run stream start length time bytes#", 1, true, 32},
    Table{"log_streams", "run stream length", 2, false, 1000},
    Table{"removed_runs", "id# key workload removed", 1, false, 1000},
    Table{"removals", "owner_kind owner workload", 2, false, 1000},
    Table{"removed_artifacts", "id location$", 1, true, 1000},
    Table{"experiment_tags", "experiment key$ value$", 2, false, 500},
    Table{"datasets", "id experiment name$ digest$ source_type$ source$ dataset_schema$ profile$",
          1, true, 16},
    Table{"run_inputs", "run dataset context$ tags$", 2, false, 500},
    Table{"logged_models",
          "id$ experiment name$ model_type$ source_run$ status status_message$ artifact_uri$ "
          "created updated lifecycle",
          1, false, 500},
    Table{"logged_model_facts", "model$ kind key$ value$", 3, false, 500},
    Table{"logged_model_metrics",
          "model$ run$ key$ time step dataset_digest$ dataset_name$ value~ is_nan", 6, false, 1000},
    Table{"run_models", "run direction model$ step", 3, false, 1000},
    Table{"registered_models", "name$ created updated description$ last_version", 1, false, 500},
    Table{"registered_model_tags", "model$ key$ value$", 2, false, 100},
    Table{"registered_model_aliases", "model$ alias$ version", 2, false, 1000},
    Table{"model_versions",
          "model$ version created updated description$ user_id$ stage$ source$ storage_location$ "
          "source_run$ run_link$ model_id$ status status_message$",
          2, false, 500},
    Table{"model_version_tags", "model$ version key$ value$", 3, false, 100},
    Table{"traces",
          "id$ experiment source_run$ client_request_id$ started duration state request_preview$ "
          "response_preview$",
          1, false, 200},
    Table{"trace_facts", "trace$ kind key$ value$", 3, false, 200},
    Table{"spans", "trace$ id$ content#", 2, false, 64},
    Table{"views", "id$ created state$", 1, false, 16},
    Table{"boards", "kind name$ updated state$", 2, false, 16},
    Table{"plans", "id$ updated summary$ document#", 1, false, 16},
    Table{"users", "id name$ display$ role disabled created issuer$ subject$", 1, true, 500},
    Table{"tokens", "id$ hash# owner label$ role created expires revoked parent$ origin", 1, false,
          500},
    Table{"account_state", "id required version", 1, false, 1},
    Table{"audit", "id time person$ address$ request$ detail$ status", 1, true, 200},
    Table{"device_codes", "secret# code$ client$ address$ expires role token$", 1, false, 500},
    Table{"spaces", "id name$ created", 1, true, 500},
    Table{"space_members", "space member", 2, false, 1000},
    Table{"teams", "id name$ issuer$ provider_group$ created", 1, true, 500},
    Table{"team_members", "team member given", 2, false, 1000},
    Table{"space_teams", "space team", 2, false, 1000},
    Table{"alerts",
          "id owner kinds experiment$ metric$ above~ below~ form target$ secret$ created due "
          "claimed claims failures left_out delivered problem$",
          1, true, 500},
    Table{"alert_states", "alert run kind told", 3, false, 1000},
    Table{"alert_outbox", "id alert created tries body$", 1, true, 200},
    Table{"notes", "id run time created text$ finding$ mark ended author$", 1, true, 200},
};

// A removed run leaves its sessions for good, the rest until it is cleaned (remove/remove.h).
constexpr std::string_view kTombstone = "removed <> 0";
constexpr std::string_view kOfTombstone =
    "session IN (SELECT key FROM sessions WHERE removed <> 0)";
constexpr std::string_view kRunGoes = "run IN (SELECT owner FROM removals WHERE owner_kind = 0)";

constexpr std::array kReferences = {
    Reference{"workloads", "experiment", "experiments", "id"},
    Reference{"runs", "experiment", "experiments", "id"},
    Reference{"runs", "workload", "workloads", "key"},
    Reference{"runs", "machine", "hosts", "key"},
    Reference{"facts", "run", "runs", "key", kRunGoes},
    Reference{"sessions", "run", "runs", "key", kTombstone},
    Reference{"sessions", "workload", "workloads", "key", kTombstone},
    Reference{"sessions", "machine", "hosts", "key", kTombstone},
    Reference{"members", "run", "runs", "key", kRunGoes},
    Reference{"members", "session", "sessions", "key"},
    Reference{"members", "machine", "hosts", "key", kRunGoes},
    Reference{"session_series", "session", "sessions", "key"},
    Reference{"session_series", "series", "series", "id"},
    Reference{"batches", "session", "sessions", "key"},
    Reference{"slices", "session", "sessions", "key"},
    Reference{"row_groups", "session", "sessions", "key"},
    Reference{"block_times", "session", "sessions", "key"},
    Reference{"blocks", "series", "series", "id"},
    Reference{"blocks", "session", "sessions", "key"},
    Reference{"blocks", "times", "block_times", "id", kOfTombstone},
    Reference{"pyramid", "series", "series", "id"},
    Reference{"phases", "session", "sessions", "key"},
    Reference{"phases", "run", "runs", "key", kRunGoes},
    Reference{"events", "run", "runs", "key", kRunGoes},
    Reference{"events", "session", "sessions", "key"},
    Reference{"logs", "run", "runs", "key", kRunGoes},
    Reference{"log_streams", "run", "runs", "key", kRunGoes},
    Reference{"experiment_tags", "experiment", "experiments", "id"},
    Reference{"datasets", "experiment", "experiments", "id"},
    Reference{"run_inputs", "run", "runs", "key", kRunGoes},
    Reference{"run_inputs", "dataset", "datasets", "id"},
    Reference{"run_models", "run", "runs", "key", kRunGoes},
    Reference{"logged_models", "experiment", "experiments", "id"},
    Reference{"logged_model_facts", "model", "logged_models", "id"},
    Reference{"logged_model_metrics", "model", "logged_models", "id"},
    Reference{"registered_model_tags", "model", "registered_models", "name"},
    Reference{"registered_model_aliases", "model", "registered_models", "name"},
    Reference{"model_versions", "model", "registered_models", "name"},
    Reference{"traces", "experiment", "experiments", "id"},
    Reference{"trace_facts", "trace", "traces", "id"},
    Reference{"spans", "trace", "traces", "id"},
    Reference{"notes", "run", "runs", "key", kRunGoes},
    Reference{"tokens", "owner", "users", "id"},
    Reference{"space_members", "space", "spaces", "id"},
    Reference{"space_members", "member", "users", "id"},
    Reference{"team_members", "team", "teams", "id"},
    Reference{"team_members", "member", "users", "id"},
    Reference{"space_teams", "space", "spaces", "id"},
    Reference{"space_teams", "team", "teams", "id"},
    Reference{"alerts", "owner", "users", "id"},
    Reference{"alert_states", "alert", "alerts", "id"},
    Reference{"alert_outbox", "alert", "alerts", "id"},
};

}  // namespace

std::span<const Table> tables() { return kTables; }
std::span<const Reference> references() { return kReferences; }

std::string orphan_condition(const Reference& reference) {
  std::string condition =
      fmt::format("{0}.{1} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {2} WHERE {2}.{3} = {0}.{1})",
                  reference.table, reference.column, reference.to, reference.key);
  if (!reference.unless.empty()) condition += fmt::format(" AND NOT ({})", reference.unless);
  return condition;
}

std::vector<Column> parse_columns(const Table& table) {
  std::vector<Column> columns;
  for (std::string_view word : split(table.columns, ' ')) {
    Column column;
    if (word.ends_with('$')) column.type = sql::Type::kText;
    if (word.ends_with('#')) column.type = sql::Type::kBlob;
    if (word.ends_with('~')) column.type = sql::Type::kReal;
    if (column.type != sql::Type::kInteger) word.remove_suffix(1);
    column.name = word;
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace corral::store::maintain
