// The server's version and features, as clients ask for them.
#include "compat/mlflow/api/handlers.h"

namespace corral::server::mlflow {
namespace {

// The MLflow release of the emulated interface. Clients compare it: from 3.4 they send OTLP spans.
constexpr std::string_view kMlflowVersion = "3.17.2";

}  // namespace

Response mlflow_version(const Request&, Context&) {
  Response response = text_response(std::string(kMlflowVersion));
  response.set_header("Cache-Control", "no-store");
  return response;
}

Body server_info(Message&, Context&) {
  return std::string(R"({"store_type":"SqlStore","workspaces_enabled":false,)"
                     R"("trace_archival_enabled":false,"multipart_uploads_enabled":false,)"
                     R"("multipart_downloads_enabled":false})");
}

// That there is an answer tells radT's client to send its spans in batches (radt.cpp).
Body radt_config(Message&, Context&) { return std::string("{}"); }

}  // namespace corral::server::mlflow
