// Evaluation datasets are answered but not stored, so that scripts that make and fill them
// continue.
//
// A dataset's id is its name in hex digits, so the name is known without being stored. Records are
// counted and dropped. Reading them is rejected, because an empty list would be wrong.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/names.h"
#include "core/sha256.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

constexpr std::string_view kPrefix = "d-";

std::string dataset_id(std::string_view name) {
  std::string id(kPrefix);
  for (const char c : name) id += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return id;
}

std::optional<int> digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

Answer<std::string> parse_dataset_id(const std::string& id) {
  const std::string_view hex = std::string_view(id).substr(std::min(kPrefix.size(), id.size()));
  std::string name;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const auto high = digit(hex[i]), low = digit(hex[i + 1]);
    if (!high || !low) break;
    name += static_cast<char>(*high * 16 + *low);
  }
  if (id.starts_with(kPrefix) && !name.empty() && dataset_id(name) == id && is_utf8(name))
    return name;
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Evaluation dataset with id '{}' not found", to_utf8(id)));
}

Answer<std::string> read_name(Message& in) {
  const std::string id = in.need_text("dataset_id");
  TRY_API(in.check());
  return parse_dataset_id(id);
}

// Clients need one; it would be that of the records.
std::string dataset_digest(std::string_view name) { return hex(sha256(name), 4); }

std::string dataset_answer(const std::string& name, const std::string& tags = {}) {
  return object_with("dataset", [&](JsonWriter& json) {
    json.begin_object().member("dataset_id", dataset_id(name)).member("name", name);
    json.member("digest", dataset_digest(name));
    if (!tags.empty()) json.member("tags", tags);
    write_ms(json, "created_time", sys::utc_now());
    write_ms(json, "last_update_time", sys::utc_now());
    json.end_object();
  });
}

Body create_evaluation_dataset(Message& in, Context&) {
  const std::string name = in.need_text("name");
  const std::string tags = in.text("tags");
  TRY_API(in.check());
  TRY_API(wire::check_length("name", name, wire::kKeyLength));
  return dataset_answer(name, tags);
}

Body get_evaluation_dataset(Message& in, Context&) {
  return dataset_answer(TRY_API(read_name(in)));
}

Body set_evaluation_dataset_tags(Message& in, Context&) {
  const std::string tags = in.text("tags");
  return dataset_answer(TRY_API(read_name(in)), tags);
}

Body find_no_evaluation_datasets(Message&, Context&) { return empty_answer(); }

Body drop_from_evaluation_dataset(Message& in, Context&) {
  TRY_API(read_name(in));
  return empty_answer();
}

Body count_evaluation_records(Message& in, Context&) {
  const auto records = Json::parse(in.need_text("records"));
  TRY_API(read_name(in));
  if (!records || records->as_array() == nullptr) return invalid("`records` is no list in JSON");
  return fmt::format(R"({{"inserted_count":{},"updated_count":0}})", records->as_array()->size());
}

Body refuse_evaluation_records(Message& in, Context&) {
  const std::string name = TRY_API(read_name(in));
  return refuse(ErrorCode::kNotImplemented,
                fmt::format("Corral does not keep evaluation datasets: the records of '{}' cannot "
                            "be read. Pass them to the evaluation as a list or data frame.",
                            name));
}

}  // namespace

std::span<const Rpc> evaluation_dataset_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kPost, "/3.0/mlflow/datasets/create", create_evaluation_dataset},
      needing(Role::kReader,
              Rpc{Method::kPost, "/3.0/mlflow/datasets/search", find_no_evaluation_datasets}),
      Rpc{Method::kGet, "/3.0/mlflow/datasets/search", find_no_evaluation_datasets},
      Rpc{Method::kGet, "/3.0/mlflow/datasets/{dataset_id}", get_evaluation_dataset},
      Rpc{Method::kDelete, "/3.0/mlflow/datasets/{dataset_id}", drop_from_evaluation_dataset},
      Rpc{Method::kPatch, "/3.0/mlflow/datasets/{dataset_id}/tags", set_evaluation_dataset_tags},
      Rpc{Method::kDelete, "/3.0/mlflow/datasets/{dataset_id}/tags/{key}",
          drop_from_evaluation_dataset},
      Rpc{Method::kPost, "/3.0/mlflow/datasets/{dataset_id}/records", count_evaluation_records},
      Rpc{Method::kGet, "/3.0/mlflow/datasets/{dataset_id}/records", refuse_evaluation_records},
      Rpc{Method::kDelete, "/3.0/mlflow/datasets/{dataset_id}/records",
          drop_from_evaluation_dataset},
      Rpc{Method::kGet, "/3.0/mlflow/datasets/{dataset_id}/experiment-ids",
          drop_from_evaluation_dataset},
      Rpc{Method::kPost, "/3.0/mlflow/datasets/{dataset_id}/add-experiments",
          get_evaluation_dataset},
      Rpc{Method::kPost, "/3.0/mlflow/datasets/{dataset_id}/remove-experiments",
          get_evaluation_dataset},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
