#include "compat/mlflow/relay/tracking_relay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "compat/mlflow/wire/message.h"
#include "compat/mlflow/wire/names.h"
#include "core/json.h"
#include "core/text.h"
#include "spool/outbox.h"
#include "sys/socket.h"

namespace corral::run {
namespace {

using http::Method;
using http::Request;
using http::Response;
using mlflow::Answer;
using mlflow::LogBatch;
using mlflow::Message;

// Most requests are answered at once; those that go on to the server may take long, so the others
// keep some threads for themselves.
constexpr int kThreads = 16;
constexpr int kForwarding = 12;
constexpr int kUploads = 4;  // bodies of artifacts at the same time
// An epoch may be long; a client that finds its connection closed tries again, but why make it.
constexpr Nanos kIdleTimeout{std::chrono::hours(24)};
constexpr Nanos kStopGrace{std::chrono::seconds(2)};
constexpr std::size_t kRememberedClients = 4096;
// Limit of names in a JSON fact: with its escapes the fact still fits (limits::kFactBytes).
constexpr std::size_t kNameLength = 1000;

// Keys of facts are names of frames, which count bytes.
Answer<> check_fact_key(std::string_view key, std::string_view path) {
  TRY_API(mlflow::check_key(key, path));
  if (key.size() <= limits::kNameBytes) return {};
  return mlflow::invalid(fmt::format("'{}' exceeds the maximum length of {} bytes of UTF-8", path,
                                     limits::kNameBytes));
}

std::string read_run_id(Message& in) {
  std::string id = in.text("run_id");
  return id.empty() ? in.text("run_uuid") : id;
}

constexpr std::string_view kArtifacts = "/mlflow-artifacts/artifacts/";

bool is_artifact(const Request& request) {
  return request.method == Method::kPut && request.path.find(kArtifacts) != std::string::npos;
}

Answer<NewRun> parse_new_run(const Json& json) {
  Message in(json);
  NewRun run;
  run.experiment = in.text("experiment_id");
  if (run.experiment.empty()) run.experiment = "0";
  run.name = mlflow::cut(in.text("run_name"), kNameLength);
  run.user = mlflow::cut(in.text("user_id"), kNameLength);
  run.start_ms = in.maybe_integer("start_time").value_or(0);
  for (Message& tag : in.messages("tags")) {
    const std::string key = tag.need_text("key");
    if (const auto checked = check_fact_key(key, tag.path_of("key")); !checked)
      in.wrong(checked.error());
    run.tags.emplace_back(key, mlflow::cut(tag.text("value"), mlflow::kTagLength));
  }
  TRY_API(in.check());
  return run;
}

}  // namespace

struct TrackingRelay::Call {
  Method method;
  std::string_view path;  // behind ".../2.0/mlflow/"
  Handler handler;
};

const TrackingRelay::Call* TrackingRelay::find_call(const Request& request) {
  static constexpr std::array<Call, 16> kCalls = {{
      {Method::kPost, "runs/log-metric", &TrackingRelay::log_metric},
      {Method::kPost, "runs/log-batch", &TrackingRelay::log_batch},
      {Method::kPost, "runs/log-parameter", &TrackingRelay::log_parameter},
      {Method::kPost, "runs/set-tag", &TrackingRelay::set_tag},
      {Method::kPost, "runs/delete-tag", &TrackingRelay::delete_tag},
      {Method::kPost, "runs/log-inputs", &TrackingRelay::forward_or_keep},
      {Method::kPost, "runs/outputs", &TrackingRelay::forward_or_keep},
      {Method::kPost, "runs/log-model", &TrackingRelay::forward_or_keep},
      {Method::kPost, "runs/create", &TrackingRelay::create_run},
      {Method::kPost, "runs/update", &TrackingRelay::update_run},
      {Method::kGet, "runs/get", &TrackingRelay::get_run},
      {Method::kPost, "experiments/create", &TrackingRelay::create_experiment},
      {Method::kGet, "experiments/get", &TrackingRelay::get_experiment},
      {Method::kGet, "experiments/get-by-name", &TrackingRelay::get_experiment_by_name},
      {Method::kPost, "runs/search", &TrackingRelay::search},
      {Method::kPost, "logged-models/search", &TrackingRelay::search},
  }};
  std::string_view path = request.path;
  for (const std::string_view prefix : {"/api/2.0/mlflow/", "/ajax-api/2.0/mlflow/"}) {
    if (!path.starts_with(prefix)) continue;
    path.remove_prefix(prefix.size());
    const auto found = std::ranges::find_if(kCalls, [&](const Call& call) {
      return call.method == request.method && call.path == path;
    });
    return found != kCalls.end() ? &*found : nullptr;
  }
  return nullptr;
}

// ---- life

TrackingRelay::TrackingRelay(RelayOptions options, Delivery& delivery, sys::Fd socket,
                             std::uint16_t port)
    : options_(std::move(options)),
      delivery_(delivery),
      book_(options_.book),
      upstream_(delivery, options_.upstream),
      secret_(options_.address ? options_.address->secret : SessionId::random().hex()),
      prefix_(fmt::format("/{}/{}", options_.book.manifest.run.hex(), secret_)),
      url_(fmt::format("http://127.0.0.1:{}{}", port, prefix_)),
      port_(port),
      socket_(std::move(socket)) {}

TrackingRelay::~TrackingRelay() { stop(); }

Result<std::unique_ptr<TrackingRelay>> TrackingRelay::open(RelayOptions options,
                                                           Delivery& delivery) {
  const std::uint16_t wanted = options.address ? options.address->port : std::uint16_t{0};
  sys::Fd socket = TRY(sys::listen_tcp({.host = "127.0.0.1", .port = wanted}));
  const std::uint16_t port = TRY(sys::bound_port(socket));
  return std::unique_ptr<TrackingRelay>(
      new TrackingRelay(std::move(options), delivery, std::move(socket), port));
}

spool::TrackingAddress TrackingRelay::address() const {
  return {.port = port_,
          .secret = secret_,
          .room = options_.book.room.limit,
          .experiment_chosen = options_.book.experiment_chosen,
          .name_chosen = options_.book.name_chosen};
}

Result<> TrackingRelay::start(pid_t command) {
  command_ = command;
  http::HttpOptions options{.io_threads = 1,
                            .handler_threads = kThreads,
                            .stream_threads = 2,
                            .upload_threads = kUploads};
  options.max_connections_per_peer = options.max_connections;
  options.idle_timeout = kIdleTimeout;
  options.body_memory = 2 * options.body_limit;
  http::HttpHandlers handlers{
      .gate = [this](const Request& request) { return gate(request); },
      .handle = [this](Request request) { return handle(std::move(request)); },
      .error = [](const Request&, const Error& error) { return refused(error); }};
  handlers.streams_body = is_artifact;
  handlers.reads_json = [](const Request& request) { return !is_artifact(request); };
  std::vector<http::Listener> listeners;
  listeners.push_back({.socket = std::move(socket_), .is_unix = false});
  server_ = TRY(http::HttpServer::start(std::move(listeners), options, std::move(handlers)));
  return {};
}

void TrackingRelay::stop() {
  if (server_ == nullptr) return;
  upstream_.cancel();
  server_->stop(kStopGrace);
  server_.reset();
}

void TrackingRelay::end() {
  stop();
  book_.abandon_children();
}

// ---- requests

// Only the secret proves that a request is the command's: other users of the machine and pages in a
// browser reach the port, too.
std::optional<Response> TrackingRelay::gate(const Request& request) const {
  const std::string_view path = request.path;
  if (path.starts_with(prefix_) && (path.size() == prefix_.size() || path[prefix_.size()] == '/'))
    return std::nullopt;
  return refused({mlflow::ErrorCode::kPermissionDenied,
                  "this address takes requests of one run of Corral's only"});
}

Response TrackingRelay::handle(Request request) {
  request.path.erase(0, prefix_.size());
  if (request.path.empty() || request.path == "/") return home();
  if (is_artifact(request)) return put_artifact(request);
  if (const Call* call = find_call(request)) {
    Reply answer = (this->*call->handler)(request);
    return answer ? *std::move(answer) : refused(answer.error());
  }
  if (request.method == Method::kPost && options_.not_kept &&
      request.path.find("/3.0/mlflow/datasets/") != std::string::npos &&
      !datasets_reported_.exchange(true))
    options_.not_kept("mlflow.evaluation-datasets", "evaluation datasets are not kept");
  find_artifact(request);
  return forward(request);
}

// Clients print their tracking URI as a link to the run.
Response TrackingRelay::home() const {
  const std::string page = options_.page();
  if (page.empty()) return http::text_response("the server of this run does not answer yet\n");
  Response response = http::text_response(page + "\n", 302);
  response.set_header("Location", page);
  return response;
}

Response TrackingRelay::forward(const Request& request) {
  struct Permit {
    std::atomic<int>& used;
    const bool granted = used.fetch_add(1) < kForwarding;
    ~Permit() { --used; }
  } const permit{forwarding_};
  if (!permit.granted) {
    // 429: clients wait and come again.
    Response busy = refused(
        {mlflow::ErrorCode::kTemporarilyUnavailable, "too many requests wait for the server"});
    busy.status = 429;
    return busy;
  }
  Result<Response> answer = upstream_.forward(request);
  return answer ? *std::move(answer) : no_server(answer.error());
}

// For requests whose answer the client does not use: without a server they wait in the spool.
Reply TrackingRelay::forward_or_keep(const Request& request) {
  Response answer = forward(request);
  if (answer.status != kNoServer) return answer;
  const Json json = TRY_API(mlflow::parse_body(request.body));
  Message in(json);
  const auto id = RunId::parse(read_run_id(in));
  if (!id || book_.find(*id) == nullptr) return answer;
  const auto kept =
      spool::keep_call(options_.upstream.directory, {.path = request.path, .body = request.body});
  return kept ? empty_answer() : no_server(kept.error());
}

// Returns the location of the run's artifacts, or "" if the server does not answer.
std::string TrackingRelay::artifact_uri(TrackedRun& run) {
  if (std::string known = run.view().artifact_uri; !known.empty()) return known;
  const auto reply = upstream_.get("/api/2.0/mlflow/runs/get?run_id=" + run.id().hex());
  if (!reply || reply->status != 200) return {};
  std::string uri = parse_artifact_uri(reply->body);
  run.set_artifact_uri(uri);
  return uri;
}

// Programs may have got another place earlier: before there was a server, or before the run moved.
void TrackingRelay::find_artifact(Request& request) {
  const auto place = artifact_place(request);
  const RunBook::Shared run = place ? book_.find(place->run) : nullptr;
  if (run != nullptr) move_artifact(request, artifact_uri(*run));
}

Response TrackingRelay::put_artifact(const Request& request) {
  auto made = upstream_.body_file();
  if (!made) return refused(made.error());
  const auto file = std::make_shared<sys::Fd>(*std::move(made));
  return http::take_body(
      request,
      {.take = [file](std::string_view piece) { return sys::write_all(file->get(), piece); },
       .end =
           [this, file, request](const Result<>& taken) {
             return taken ? send_artifact(request, *file) : refused(taken.error());
           }});
}

// Without a server the file waits in the spool, as corral.artifact()'s do.
Response TrackingRelay::send_artifact(Request request, const sys::Fd& body) {
  const auto place = artifact_place(request);
  find_artifact(request);
  auto answer = upstream_.forward(request, body);
  if (answer) return *std::move(answer);
  if (!place || place->inside.empty() || book_.find(place->run) == nullptr)
    return no_server(answer.error());
  const auto kept =
      spool::keep_artifact(options_.upstream.directory, place->run, place->inside, body.get());
  return kept ? empty_answer() : no_server(kept.error());
}

// The run, asked of the server when nothing is known of it here.
TrackingRelay::Found TrackingRelay::find_run(const std::string& id) {
  const auto run = RunId::parse(id);
  if (!run)
    return tl::unexpected(refused(
        {mlflow::ErrorCode::kResourceDoesNotExist, fmt::format("Run with id={} not found", id)}));
  const RunBook::Shared known = book_.find(*run);
  if (known != nullptr && !known->is_recalled()) return known;
  const auto reply = upstream_.get("/api/2.0/mlflow/runs/get?run_id=" + run->hex());
  if (known != nullptr && (!reply || reply->status != 200)) return known;
  if (!reply) return tl::unexpected(no_server(reply.error()));
  const auto json = Json::parse(reply->body);
  const Json* found = json ? json->find("run") : nullptr;
  if (reply->status != 200 || found == nullptr)
    return tl::unexpected(http::json_response(reply->body, reply->status));
  return book_.adopt(*run, *found);
}

std::optional<RankedClient> TrackingRelay::find_client(const Request& request) {
  using Client = std::optional<RankedClient>;
  using Clients = std::map<std::uint64_t, Client>;
  std::optional<Client> known;
  clients_.with([&](const Clients& clients) {
    if (const auto at = clients.find(request.connection); at != clients.end())
      known.emplace(at->second);
  });
  if (known) return *known;
  const auto client = ranked_client(request.peer_port, port_, command_);
  clients_.with([&](Clients& clients) {
    if (clients.size() >= kRememberedClients) clients.erase(clients.begin());
    clients[request.connection] = client;
  });
  return client;
}

// Rank 0 speaks for the run, as it does in trainings that log from one rank only.
std::string TrackingRelay::source_name(const Request& request) {
  const auto client = find_client(request);
  return client && client->rank > 0 ? fmt::format("rank{}", client->rank) : std::string();
}

Reply TrackingRelay::log(const Request& request, const LogBatch& batch) {
  const Found run = find_run(batch.run_id);
  if (!run) return run.error();
  // Points of a logged model also need the server; without one they are spooled for the run alone.
  if (!batch.model_metrics.empty()) {
    Response answer = forward(request);
    if (answer.status != kNoServer) return answer;
  }
  const bool is_own = *run == book_.own();
  TRY_API((*run)->log(batch, is_own ? source_name(request) : std::string()));
  delivery_.note_written();
  return empty_answer();
}

Reply TrackingRelay::log_metric(const Request& request) {
  return log(request, TRY_API(mlflow::parse_log_metric(request.body)));
}

Reply TrackingRelay::log_batch(const Request& request) {
  return log(request, TRY_API(mlflow::parse_log_batch(request.body)));
}

Reply TrackingRelay::log_pair(const Request& request, bool param) {
  const Json json = TRY_API(mlflow::parse_body(request.body));
  Message in(json);
  LogBatch batch;
  batch.run_id = read_run_id(in);
  if (batch.run_id.empty()) in.missing("run_id");
  const std::string key = in.need_text("key");
  if (const auto checked = check_fact_key(key, "key"); !checked) in.wrong(checked.error());
  const std::string value = in.text("value");
  TRY_API(in.check());
  if (param) {
    batch.params.emplace_back(key, mlflow::cut(value, mlflow::kParamLength));
  } else {
    batch.tags.emplace_back(key, mlflow::cut(value, mlflow::kTagLength));
  }
  return log(request, batch);
}

Reply TrackingRelay::log_parameter(const Request& request) { return log_pair(request, true); }
Reply TrackingRelay::set_tag(const Request& request) { return log_pair(request, false); }

Reply TrackingRelay::delete_tag(const Request& request) {
  Response answer = forward(request);
  const auto json = mlflow::parse_body(request.body);
  if (!json || (answer.status != 200 && answer.status != kNoServer)) return answer;
  Message in(*json);
  const auto id = RunId::parse(read_run_id(in));
  const RunBook::Shared run = id ? book_.find(*id) : nullptr;
  if (run == nullptr) return answer;
  if (answer.status == 200) {
    run->forget_tag(in.text("key"));
    return answer;
  }
  run->delete_tag(in.text("key"));
  delivery_.note_written();
  return empty_answer();
}

Reply TrackingRelay::create_run(const Request& request) {
  const Json json = TRY_API(mlflow::parse_body(request.body));
  NewRun asked = TRY_API(parse_new_run(json));
  asked.client = find_client(request);
  if (asked.experiment != "0") asked.experiment_name = experiment_name(asked.experiment);
  const RunBook::Shared run = book_.create(asked);
  delivery_.note_written();
  const auto reply = upstream_.get("/api/2.0/mlflow/runs/get?run_id=" + run->id().hex());
  if (reply && reply->status == 200) {
    run->set_artifact_uri(parse_artifact_uri(reply->body));
    return with_experiment(reply->body, book_.believed_experiment(run->id()));
  }
  return http::json_response("{\"run\":" + run_json(run->view()) + "}");
}

Reply TrackingRelay::update_run(const Request& request) {
  const Json json = TRY_API(mlflow::parse_body(request.body));
  Message in(json);
  const std::string id = read_run_id(in);
  if (id.empty()) in.missing("run_id");
  RunUpdate update;
  if (const auto status = in.maybe_enum("status", mlflow::kRunStatuses))
    update.status = static_cast<ClientStatus>(*status);
  update.end_ms = in.maybe_integer("end_time");
  update.name = mlflow::cut(in.text("run_name"), kNameLength);
  TRY_API(in.check());
  const Found run = find_run(id);
  if (!run) return run.error();
  book_.update(*run, update);
  if (update.status && *update.status >= ClientStatus::kFinished && *run != book_.own())
    (*run)->rest();
  delivery_.note_written();
  return http::json_response("{\"run_info\":" + info_json((*run)->view()) + "}");
}

Reply TrackingRelay::get_run(const Request& request) {
  const Json query = mlflow::query_object(request.query);
  Message in(query);
  const auto id = RunId::parse(read_run_id(in));
  Response answer = forward(request);
  const RunBook::Shared run = id ? book_.find(*id) : nullptr;
  if (run == nullptr) return answer;
  if (answer.status == kNoServer)
    return http::json_response("{\"run\":" + run_json(run->view()) + "}");
  const std::string believed = book_.believed_experiment(*id);
  if (answer.status != 200 || believed.empty() || answer.stream) return answer;
  return with_experiment(answer.body, believed);
}

// ---- experiments

std::string TrackingRelay::experiment_name(const std::string& id) {
  if (std::string known = book_.experiment_called(id); !known.empty()) return known;
  const auto reply =
      upstream_.get("/api/2.0/mlflow/experiments/get?experiment_id=" + sys::url_encode(id));
  const auto json =
      reply && reply->status == 200 ? Json::parse(reply->body) : tl::unexpected(Error{});
  const Json* experiment = json ? json->find("experiment") : nullptr;
  return experiment != nullptr ? experiment->get_string("name") : std::string();
}

// Without a server an experiment has a made-up id that this relay understands; the server gives it
// its own when the run arrives there.
Reply TrackingRelay::get_experiment_by_name(const Request& request) {
  Response answer = forward(request);
  if (answer.status != kNoServer) return answer;
  const std::string name(request.query_value("experiment_name").value_or(""));
  const std::string id = provisional_id(name);
  book_.name_experiment(id, name);
  return experiment_answer(id, name);
}

Reply TrackingRelay::create_experiment(const Request& request) {
  Response answer = forward(request);
  if (answer.status != kNoServer) return answer;
  const auto json = mlflow::parse_body(request.body);
  const std::string name = json ? json->get_string("name") : std::string();
  TRY_API(mlflow::check_experiment_name(name));
  const std::string id = provisional_id(name);
  book_.name_experiment(id, name);
  return http::json_response(fmt::format("{{\"experiment_id\":\"{}\"}}", id));
}

Reply TrackingRelay::get_experiment(const Request& request) {
  const std::string id(request.query_value("experiment_id").value_or(""));
  if (const std::string made_up = book_.experiment_called(id); !made_up.empty())
    return experiment_answer(id, made_up);
  Response answer = forward(request);
  return answer.status == kNoServer && id == "0" ? experiment_answer("0", "Default") : answer;
}

// A program that names no experiment searches in MLflow's "Default", and with --experiment in the
// one that it chose itself. The experiment in which the run is recorded belongs to that search.
// (Variables such as MLFLOW_EXPERIMENT_NAME would also reach clients of other servers.)
Reply TrackingRelay::search(const Request& request) {
  constexpr const char* kIds = "experiment_ids";
  auto json = Json::parse(request.body);
  const Json* given = json ? json->find(kIds) : nullptr;
  if (given == nullptr || given->as_array() == nullptr) return forward(request);
  Json::Array ids = *given->as_array();
  const auto contains = [&](const std::string& id) {
    return std::ranges::any_of(
        ids, [&](const Json& one) { return one.as_string() != nullptr && *one.as_string() == id; });
  };
  const RunBook::Place own = book_.own_experiment();
  if (!contains(own.requested)) return forward(request);
  const auto reply = upstream_.get("/api/2.0/mlflow/experiments/get-by-name?experiment_name=" +
                                   sys::url_encode(own.name));
  const auto answer =
      reply && reply->status == 200 ? Json::parse(reply->body) : tl::unexpected(Error{});
  const Json* experiment = answer ? answer->find("experiment") : nullptr;
  const std::string id = experiment != nullptr ? experiment->get_string("experiment_id") : "";
  if (id.empty() || contains(id)) return forward(request);
  ids.emplace_back(id);
  json->set(kIds, std::move(ids));
  Request wider = request;
  wider.body = json->dump();
  return forward(wider);
}

}  // namespace corral::run
