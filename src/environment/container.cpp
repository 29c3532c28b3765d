#include "environment/container.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/json.h"
#include "core/text.h"
#include "environment/cache.h"
#include "environment/python.h"
#include "environment/tool.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

// Returns the tool with its global flags, followed by `more`.
std::vector<std::string> tool_words(const Container& container,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> words = container.program;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool is_apptainer(const Container& container) {
  return container.tool == "apptainer" || container.tool == "singularity";
}

// Host namespaces: the run's processes, ports and clocks are this host's, so that listeners, the
// tracking address, MPS and shared memory of data loaders work as without a container. The
// supervisor keeps the output; labels would forbid the mounts on SELinux hosts.
constexpr auto kAlways = std::to_array<std::string_view>(
    {"--network=host", "--pid=host", "--ipc=host", "--log-driver=none",
     "--security-opt=label=disable", "--interactive"});

// Variables whose value is a directory that the command must see.
constexpr std::array<std::string_view, 2> kDirectories = {"CUDA_MPS_PIPE_DIRECTORY",
                                                          "CUDA_MPS_LOG_DIRECTORY"};
// Beginnings of names that mean the same inside.
constexpr auto kPassedPrefixes = std::to_array<std::string_view>({"CORRAL_",
                                                                  "MLFLOW_",
                                                                  "OTEL_",
                                                                  "CUDA_",
                                                                  "NVIDIA_",
                                                                  "NCCL_",
                                                                  "OMP_",
                                                                  "MKL_",
                                                                  "OPENBLAS_",
                                                                  "TF_",
                                                                  "XLA_",
                                                                  "JAX_",
                                                                  "TORCH",
                                                                  "PYTORCH_",
                                                                  "RANK=",
                                                                  "WORLD_SIZE=",
                                                                  "LOCAL_RANK=",
                                                                  "MASTER_ADDR=",
                                                                  "MASTER_PORT=",
                                                                  "SLURM_",
                                                                  "OMPI_",
                                                                  "PMIX_RANK=",
                                                                  "PMI_RANK=",
                                                                  "PALS_RANKID=",
                                                                  "PYTHONPATH=",
                                                                  "PYTHONUNBUFFERED=",
                                                                  "PYTHONHASHSEED=",
                                                                  "HIP_",
                                                                  "ROCR_",
                                                                  "RADT_"});
// Those of the image: this host's would break it.
constexpr auto kOfImage = std::to_array<std::string_view>(
    {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "HOME", "PYTHONHOME"});

// One field of a comma-separated flag.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted += '"';
}

// "/data:/data:ro" -> "/data"
std::string mount_target(const std::string& mount) {
  const std::vector<std::string_view> parts = split(mount, ':');
  return std::string(parts.size() > 1 ? parts[1] : parts[0]);
}

void add_mount(std::vector<std::string>& words, const Container& container, const fs::path& path,
               bool writable) {
  // The root of this host is not that of the image.
  if (path.empty() || path == "/") return;
  if (std::ranges::count(container.targets, path.string()) == 0)
    words.push_back(bind_flag(container, path, writable));
}

// Devices that the run was given by a plan: their UUIDs mean the same inside. Numbers do not.
std::vector<std::string> given_devices(const Inside& inside) {
  constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES=";
  std::vector<std::string> ids = inside.devices;
  for (const std::string& entry : inside.environment) {
    if (!ids.empty() || !entry.starts_with(kVisible)) continue;
    for (const std::string_view id : split(std::string_view(entry).substr(kVisible.size()), ','))
      if (id.starts_with("GPU-") || id.starts_with("MIG-")) ids.emplace_back(id);
  }
  return ids;
}

std::vector<std::string> gpu_flags(const Container& container, const Inside& inside) {
  if (container.gpus == "none") return {};
  std::vector<std::string> ids = given_devices(inside);
  if (ids.empty() && !container.gpus.empty())
    for (const std::string_view id : split(container.gpus, ',')) ids.emplace_back(trim(id));
  if (ids.empty()) return {};
  if (is_apptainer(container)) return {"--nv"};
  if (container.tool == "podman") {
    for (std::string& id : ids) id.insert(0, "--device=nvidia.com/gpu=");
    return ids;
  }
  if (ids.size() == 1 && ids[0] == "all") return {"--gpus=all"};
  return {fmt::format("--gpus=\"device={}\"", join(ids, ","))};
}

std::vector<std::string> engine_flags(const Inside& inside) {
  std::vector<std::string> words(kAlways.begin(), kAlways.end());
  words.push_back("--name=" + (inside.name.empty() ? container_name(inside.spool) : inside.name));
  if (inside.terminal) words.emplace_back("--tty");
  if (!inside.cgroup_parent.empty())
    words.push_back("--cgroup-parent=" + group_name(inside.cgroup_parent));
  if (!inside.cpus.empty()) words.push_back("--cpuset-cpus=" + inside.cpus);
  for (const std::string& entry : inside.environment) {
    const std::string name = entry.substr(0, entry.find('='));
    if (std::ranges::count(kOfImage, name) == 0) words.push_back("--env=" + name);
  }
  return words;
}

Result<> pull(const Container& container, const std::string& image, const PrepareOptions& options) {
  report_progress(options, "pulling image " + image);
  const auto pulled = run_checked(
      {.argv = tool_words(container, {"pull", image}), .reports_output = true}, options);
  if (!pulled)
    return tl::unexpected(pulled.error().with_context(
        fmt::format("image {} is not present and cannot be pulled", image)));
  return {};
}

// The image as the tool has it, pulled where it is missing or where pull= says so.
Result<ImageFacts> find_image(const Container& container, const Spec& spec,
                              const PrepareOptions& options) {
  const std::string policy = option_value(spec, "pull", "missing");
  if (policy == "always") TRY(pull(container, spec.target, options));
  const Tool inspect{.argv = tool_words(container, {"image", "inspect", spec.target})};
  ToolOutput output = TRY(run_tool(inspect, options));
  if (output.code != 0) {
    // A tool that cannot work at all says so here; a missing image is the ordinary case.
    const std::string said = last_lines(output.err, 2);
    const bool missing = lower_ascii(said).find("no such") != std::string::npos ||
                         lower_ascii(said).find("not known") != std::string::npos ||
                         lower_ascii(said).find("not found") != std::string::npos;
    if (!missing)
      return fail(Code::kUnprocessable,
                  fmt::format("image {}: {}: {}", spec.target, container.tool, said));
    if (policy == "never")
      return fail(Code::kNotFound,
                  fmt::format("image {} is not present, and pull=never", spec.target));
    TRY(pull(container, spec.target, options));
    output = TRY(run_checked(inspect, options));
  }
  auto facts = parse_image(output.out);
  if (!facts) return tl::unexpected(facts.error().with_context(container.tool));
  return facts;
}

Result<> pull_file(const Container& container, const std::string& image, const fs::path& place,
                   const PrepareOptions& options) {
  TRY(sys::make_directories(place, 0700));
  const auto pulled =
      run_checked({.argv = tool_words(container, {"pull", (place / "image.sif").string(), image}),
                   .reports_output = true},
                  options);
  if (!pulled) return tl::unexpected(pulled.error().with_context("image " + image));
  return {};
}

// A file, a directory (sandbox), or an address that is pulled into the cache.
Result<std::string> apptainer_image(const Container& container, const Spec& spec,
                                    const PrepareOptions& options) {
  if (spec.target.find("://") != std::string::npos) {
    const fs::path place = TRY(build_once(
        {.key = content_hash(container.tool + "\n" + spec.target),
         .words = "image " + spec.target,
         .made_from = without_credentials(spec.target),
         .make = [&](const fs::path& p) { return pull_file(container, spec.target, p, options); }},
        options));
    return (place / "image.sif").string();
  }
  const fs::path image = resolved(spec.target, options);
  std::error_code error;
  if (fs::exists(image, error)) return image.string();
  return fail(Code::kNotFound, fmt::format("image {}: no such file; an address has a scheme, e.g. "
                                           "docker://{}",
                                           image.string(), spec.target));
}

std::string file_digest(const std::string& file, const PrepareOptions& options) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return "";
  const auto sum = run_tool({.argv = {"sha256sum", "--binary", file}}, options);
  return sum && sum->code == 0 && sum->out.size() > 64 ? "sha256:" + sum->out.substr(0, 64) : "";
}

// Determines the interpreter for a .py file, and its packages. An image without Python is asked
// once.
void ask_image(Prepared& prepared, Container& container, const std::string& content,
               const PrepareOptions& options) {
  std::vector<std::string> prefix = container.program;
  prefix.emplace_back(is_apptainer(container) ? "exec" : "run");
  if (!is_apptainer(container))
    prefix.insert(prefix.end(), {"--rm", "--network=none", "--log-driver=none"});
  prefix.insert(prefix.end(), container.flags.begin(), container.flags.end());
  prefix.insert(prefix.end(), container.arguments.begin(), container.arguments.end());
  prefix.push_back(container.image);
  // The mounts are part of the answer's key.
  const std::string key = content + "\n" + join(prefix, "\n");
  const auto answers = open_answers(options);
  const std::string none = content_hash(key) + ".none";
  std::vector<std::string> candidates{container.python};
  if (container.python == "python3") candidates.emplace_back("python");
  for (const std::string& python : candidates) {
    if ((answers && answers->exists(none)) || is_cancelled(options)) return;
    const auto facts = ask_python({.python = python, .prefix = prefix, .content = key}, options);
    if (!facts) continue;
    container.python = python;
    note_python(prepared, facts->executable.empty() ? python : facts->executable, *facts);
    return;
  }
  // One that was interrupted has not said that there is none.
  if (is_cancelled(options)) return;
  // Kept for speed alone.
  if (answers) [[maybe_unused]]
    const auto kept = answers->replace_file(none, "", false);
}

Result<> check_mounts(const Spec& spec, const PrepareOptions& options) {
  std::error_code error;
  for (const std::string& mount : option_values(spec, "mount")) {
    const std::string source = mount.substr(0, mount.find(':'));
    if (source.find('/') != std::string::npos && !fs::exists(resolved(source, options), error))
      return fail(Code::kNotFound, fmt::format("mount={}: {} does not exist", mount,
                                               resolved(source, options).string()));
  }
  return {};
}

bool is_rootless(const Container& container) {
  if (::geteuid() == 0) return false;
  return container.tool == "podman" ||
         own_variable("DOCKER_HOST").find("/run/user/") != std::string::npos;
}

// Sets the image to start; returns the key of its content.
Result<std::string> choose_file(Prepared& prepared, Container& container, const Spec& spec,
                                const PrepareOptions& options) {
  container.image = TRY(apptainer_image(container, spec, options));
  std::string digest = file_digest(container.image, options);
  if (!digest.empty()) note(prepared, "image_digest", digest);
  return digest.empty() ? container.image : digest;
}

Result<std::string> choose_image(Prepared& prepared, Container& container, const Spec& spec,
                                 const PrepareOptions& options) {
  const ImageFacts image = TRY(find_image(container, spec, options));
  // The id is recorded, so that the recorded image is the one that runs, even if the name moves.
  container.image = image.id;
  note(prepared, "image_id", image.id);
  if (!image.digest.empty()) note(prepared, "image_digest", image.digest);
  note(prepared, "image_platform", image.platform);
  if (option_value(spec, "user").empty()) {
    const Person person{.uid = ::geteuid(), .gid = ::getegid(), .rootless = is_rootless(container)};
    const auto flags = user_flags(container, image.user, person);
    container.flags.insert(container.flags.begin(), flags.begin(), flags.end());
  }
  return image.id;
}

// Checks the tool's own store; a daemon that does not answer proves nothing about the image.
Result<> check_image(const Container& container, const Spec& spec, const PrepareOptions& options) {
  constexpr Nanos kAnswerLimit{std::chrono::seconds(30)};
  const auto seen = run_tool(
      {.argv = tool_words(container, {"image", "inspect", spec.target}), .limit = kAnswerLimit},
      options);
  if (!seen)
    return fail(Code::kUnavailable, fmt::format("{}: {}", container.tool, seen.error().message));
  if (seen->code == 0) return {};
  if (option_value(spec, "pull") == "never")
    return fail(Code::kNotFound,
                fmt::format("image {} is not present, and pull=never", spec.target));
  return fail(Code::kUnavailable,
              fmt::format("image {} is not present: it will be pulled before the "
                          "run, if possible",
                          spec.target));
}

// The tool of a container whose mounts can be made.
Result<Container> make_container(const Spec& spec, const PrepareOptions& options) {
  Container container;
  container.tool = spec.tool;
  container.program = {
      TRY(find_tool(spec.tool, "install it, or use another of docker=, podman=, apptainer="))};
  for (std::string& flag : option_values(spec, "global"))
    container.program.push_back(std::move(flag));
  TRY(check_mounts(spec, options));
  return container;
}

constexpr int kPollMs = 50;
constexpr int kGroupTries = 400;
constexpr int kGroupPauseMs = 5;
constexpr const char* kGroups = "/sys/fs/cgroup";
constexpr const char* kMaker = "corral.supervisor";
constexpr const char* kSpool = "corral.spool";
constexpr Nanos kAnswerLimit{std::chrono::seconds(30)};

Result<const Container*> container_engine(const Prepared& prepared) {
  const Container* const container = prepared.container.get();
  if (container == nullptr || is_apptainer(*container))
    return fail(Code::kUnsupported, "its command is a child like any other");
  return container;
}

// The first process of a container that has one, 0 while it has none.
Result<std::int64_t> container_pid(const Container& container, const std::string& name) {
  const ToolOutput output =
      TRY(run_tool({.argv = tool_words(container, {"inspect", "--type=container",
                                                   "--format={{.State.Pid}}", name}),
                    .limit = std::chrono::seconds(30)},
                   {}));
  return output.code == 0 ? parse_int(trim(output.out)).value_or(0) : 0;
}

Result<ContainerPlace> read_place(std::int64_t pid) {
  const auto groups = sys::read_file(fmt::format("/proc/{}/cgroup", pid), 1u << 20);
  if (!groups)
    return fail(Code::kUnsupported,
                fmt::format("the container's process {} is not on this host", pid));
  ContainerPlace place{.pid = pid, .cgroups = {}};
  for (const std::string_view line : split(*groups, '\n'))
    if (!line.empty()) place.cgroups.emplace_back(line);
  return place;
}

// Podman's monitor may still be about to leave it.
void remove_empty(const std::string& group) {
  for (int i = 0; i < kGroupTries && ::rmdir(group.c_str()) != 0 && errno == EBUSY; ++i)
    ::poll(nullptr, 0, kGroupPauseMs);
}

// Podman makes the parent in every hierarchy, and a group for its monitor in it. Those go when they
// are empty; the directories that `cgroup_parent` names are their maker's.
void remove_groups(const std::string& cgroup_parent) {
  const std::string group = group_name(cgroup_parent);
  if (group.size() < 2) return;
  const std::vector<std::string_view> kept = split(cgroup_parent, ':');
  for (const std::string& hierarchy : sys::list_directory(kGroups)) {
    const std::string parent = fmt::format("{}/{}{}", kGroups, hierarchy, group);
    remove_empty(parent + "/conmon");
    if (std::ranges::count(kept, parent) == 0) remove_empty(parent);
  }
  remove_empty(kGroups + group + "/conmon");
}

Result<Staged> staged(const Container& container, const std::string& name) {
  Staged made;
  made.argv = tool_words(container, {"start", "--attach", "--interactive", name});
  if (container.tool != "podman") return made;
  TRY(run_checked({.argv = tool_words(container, {"init", name})}, {}));
  const std::int64_t pid = TRY(container_pid(container, name));
  if (pid > 0) made.place = TRY(read_place(pid));
  return made;
}

// "NAME|MAKER|STATE|SPOOL", where podman prints "Exited (0) 2 hours ago": the container is no
// longer needed. One that has ended is kept until its run is finished: the finishing process asks
// for its exit status.
bool is_left(std::string_view line) {
  const std::vector<std::string_view> words = split(line, '|');
  if (words.size() < 4 || !is_gone(words[1])) return false;
  const std::string state = lower_ascii(words[2]);
  if (state.starts_with("created") || state.starts_with("initialized")) return true;
  const std::string_view spool =
      line.substr(static_cast<std::size_t>(words[3].data() - line.data()));
  std::error_code error;
  return !fs::exists(fs::path(spool) / "manifest.json", error);
}
}  // namespace

std::string group_name(const std::string& group) {
  constexpr std::string_view kRoot = "/sys/fs/cgroup/";
  constexpr std::array<std::string_view, 14> kHierarchies{
      "cpu",     "cpuacct", "cpu,cpuacct", "cpuset",  "memory",  "blkio",      "pids",
      "freezer", "devices", "systemd",     "unified", "net_cls", "perf_event", "hugetlb"};
  std::string_view first = split(group, ':')[0];
  if (!first.starts_with(kRoot)) return std::string(first);
  first.remove_prefix(kRoot.size());
  const std::size_t slash = first.find('/');
  if (slash != std::string_view::npos &&
      std::ranges::count(kHierarchies, first.substr(0, slash)) > 0)
    first.remove_prefix(slash + 1);
  return "/" + std::string(first);
}

Result<ImageFacts> parse_image(std::string_view json) {
  const auto answer = Json::parse(json);
  const auto* list = answer ? answer->as_array() : nullptr;
  if (list == nullptr || list->empty())
    return fail(Code::kUnprocessable, "cannot parse its description of the image");
  const Json& image = list->front();
  ImageFacts facts{.id = image.get_string("Id"),
                   .digest = image.get_string("Digest"),
                   .platform = image.get_string("Os") + "/" + image.get_string("Architecture"),
                   .user = image.get_string("User")};
  if (facts.id.empty()) return fail(Code::kUnprocessable, "its description of the image has no id");
  const Json* digests = image.find("RepoDigests");
  if (facts.digest.empty() && digests != nullptr && digests->as_array() != nullptr &&
      !digests->as_array()->empty() && digests->as_array()->front().as_string() != nullptr) {
    const std::string& full = *digests->as_array()->front().as_string();
    facts.digest = full.substr(full.find('@') + 1);
  }
  if (const Json* config = image.find("Config"); config != nullptr && facts.user.empty())
    facts.user = config->get_string("User");
  return facts;
}

std::vector<std::string> user_flags(const Container& container, const std::string& image_user,
                                    const Person& person) {
  if (is_apptainer(container)) return {};  // always this user
  const std::string name = image_user.substr(0, image_user.find(':'));
  const bool root_inside = name.empty() || name == "root" || name == "0";
  if (root_inside && (person.rootless || person.uid == 0)) return {};
  if (person.rootless && container.tool == "podman") return {"--userns=keep-id"};
  if (person.rootless) return {"--user=0:0"};
  // The image knows no home of that user.
  return {fmt::format("--user={}:{}", person.uid, person.gid), "--env=HOME=/tmp"};
}

std::string bind_flag(const Container& container, const fs::path& path, bool writable) {
  const std::string p = path.string();
  if (is_apptainer(container)) return fmt::format("--bind={0}:{0}{1}", p, writable ? "" : ":ro");
  return fmt::format("--mount=type=bind,{},{}{}", csv_field("source=" + p),
                     csv_field("target=" + p), writable ? "" : ",readonly");
}

void add_option_flags(Container& container, const Spec& spec, const PrepareOptions& options) {
  const bool apptainer = is_apptainer(container);
  std::vector<std::string>& flags = container.flags;
  for (const auto& [name, value] : spec.options) {
    if (name == "mount") {
      // "./data:/data" starts at the plan's folder; a bare name is a volume of the tool's.
      std::string mount = value;
      if (value.starts_with("./") || value.starts_with("../") || value.starts_with("~/"))
        mount = resolved(value.substr(0, value.find(':')), options).string() +
                value.substr(std::min(value.find(':'), value.size()));
      if (mount.find(':') == std::string::npos && mount.starts_with('/')) mount += ":" + mount;
      container.targets.push_back(mount_target(mount));
      flags.push_back((apptainer ? "--bind=" : "--volume=") + mount);
    } else if (name == "device" && !apptainer) {
      flags.push_back("--device=" + value);
    } else if (name == "env") {
      // Apptainer passes everything in.
      if (!apptainer || value.find('=') != std::string::npos) flags.push_back("--env=" + value);
    } else if (name == "user" && !apptainer) {
      flags.push_back("--user=" + value);
    } else if (name == "entrypoint" && !apptainer) {
      flags.push_back("--entrypoint=" + value);
    }
  }
  container.arguments = option_values(spec, "arg");
  container.gpus = option_value(spec, "gpus");
  std::ranges::replace(container.gpus, '+', ',');
  container.workdir = option_value(spec, "workdir");
  container.python = option_value(spec, "python", "python3");
}

std::vector<std::string> run_words(const Container& container,
                                   const std::vector<std::string>& command, const Inside& inside) {
  std::vector<std::string> words;
  if (!is_apptainer(container)) words = engine_flags(inside);
  add_mount(words, container, inside.spool, true);
  add_mount(words, container, inside.python_package, false);
  add_mount(words, container, inside.working_directory, true);
  for (const std::string& entry : inside.environment) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos && equals + 1 < entry.size() &&
        std::ranges::count(kDirectories, entry.substr(0, equals)) > 0)
      add_mount(words, container, entry.substr(equals + 1), true);
  }
  const fs::path directory =
      container.workdir.empty() ? inside.working_directory : fs::path(container.workdir);
  if (!directory.empty() && directory != "/")
    words.push_back((is_apptainer(container) ? "--pwd=" : "--workdir=") + directory.string());
  const std::vector<std::string> gpus = gpu_flags(container, inside);
  for (const auto* more : {&container.flags, &gpus, &container.arguments})
    words.insert(words.end(), more->begin(), more->end());
  words.push_back(container.image);
  if (!command.empty() && command[0].ends_with(".py")) words.push_back(container.python);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> wrap(const Prepared& prepared, const std::vector<std::string>& command,
                              const Inside& inside) {
  std::vector<std::string> words = prepared.prefix;
  const Container* const container = prepared.container.get();
  if (container == nullptr) {
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  words = container->program;
  words.emplace_back(is_apptainer(*container) ? "exec" : "run");
  if (!is_apptainer(*container)) words.emplace_back("--rm");
  const std::vector<std::string> rest = run_words(*container, command, inside);
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

std::vector<std::string> passed_in(const std::vector<std::string>& environment,
                                   const std::vector<std::string>& chosen) {
  std::vector<std::string> passed;
  std::ranges::copy_if(environment, std::back_inserter(passed), [&](const std::string& entry) {
    return std::ranges::any_of(kPassedPrefixes,
                               [&](auto start) { return entry.starts_with(start); }) ||
           std::ranges::count(chosen, entry.substr(0, entry.find('='))) > 0;
  });
  return passed;
}

bool is_apart(const Prepared& prepared) {
  return prepared.container != nullptr && !is_apptainer(*prepared.container);
}

std::string container_name(const fs::path& spool) { return "corral-" + spool.filename().string(); }

Result<> check_container(const Spec& spec, const PrepareOptions& options) {
  Container container = TRY(make_container(spec, options));
  if (!is_apptainer(container)) return check_image(container, spec, options);
  if (spec.target.find("://") == std::string::npos) TRY(apptainer_image(container, spec, options));
  return {};
}

Result<Prepared> prepare_container(const Spec& spec, const PrepareOptions& options) {
  Container container = TRY(make_container(spec, options));
  add_option_flags(container, spec, options);
  Prepared prepared;
  prepared.in_container = true;
  const auto version = run_tool({.argv = tool_words(container, {"--version"})}, options);
  if (version && version->code == 0) note(prepared, "tool", std::string(trim(version->out)));
  note(prepared, "image", without_credentials(spec.target));
  const std::string content =
      TRY(is_apptainer(container) ? choose_file(prepared, container, spec, options)
                                  : choose_image(prepared, container, spec, options));
  if (!is_apptainer(container)) sweep(container);
  ask_image(prepared, container, content, options);
  prepared.python = container.python;
  prepared.container = std::make_shared<const Container>(std::move(container));
  prepared.prefix = wrap(prepared, {}, {});
  return prepared;
}

Result<ContainerPlace> locate(const Prepared& prepared, const std::string& name, Nanos limit) {
  const Container& container = *TRY(container_engine(prepared));
  const BootTime deadline = sys::boot_now() + limit;
  for (;;) {
    const std::int64_t pid = TRY(container_pid(container, name));
    if (pid > 0) return read_place(pid);
    if (sys::boot_now() >= deadline)
      return fail(Code::kNotFound,
                  fmt::format("{} has no running container {}", container.tool, name));
    ::poll(nullptr, 0, kPollMs);
  }
}

Result<Staged> stage(const Prepared& prepared, const std::vector<std::string>& command,
                     const Inside& inside) {
  const Container& container = *TRY(container_engine(prepared));
  const std::string name = inside.name.empty() ? container_name(inside.spool) : inside.name;
  Tool create{
      .argv = tool_words(container, {"create", "--label=" + maker_label(),
                                     fmt::format("--label={}={}", kSpool, inside.spool.string())}),
      .environment = inside.environment};
  const std::vector<std::string> rest = run_words(container, command, inside);
  create.argv.insert(create.argv.end(), rest.begin(), rest.end());
  TRY(run_checked(create, {}));
  auto made = staged(container, name);
  if (!made) [[maybe_unused]]
    const auto gone = discard(prepared, name, inside.cgroup_parent);
  return made;
}

std::string maker_label() {
  const auto self = sys::identity_of(::getpid());
  if (!self) return std::string(kMaker) + "=";
  return fmt::format("{}={}.{}.{}", kMaker, self->pid, self->start_ticks, self->boot_id);
}

bool is_gone(std::string_view maker) {
  const std::vector<std::string_view> parts = split(maker, '.');
  if (parts.size() != 3) return false;
  const auto pid = parse_int(parts[0]);
  const auto ticks = parse_int(parts[1]);
  if (!pid || !ticks) return false;
  return !sys::is_alive({.pid = static_cast<pid_t>(*pid),
                         .start_ticks = static_cast<std::uint64_t>(*ticks),
                         .boot_id = std::string(parts[2])});
}

void sweep(const Container& container) {
  const bool podman = container.tool == "podman";
  std::vector<std::string> words =
      tool_words(container, {"ps", "--all", "--filter=status=created", "--filter=status=exited"});
  if (podman) words.insert(words.end(), {"--filter=status=initialized", "--filter=status=stopped"});
  words.push_back(std::string("--filter=label=") + kMaker);
  const char* const label = podman ? "{{{{index .Labels \"{}\"}}}}" : "{{{{.Label \"{}\"}}}}";
  words.push_back("--format={{.Names}}|" + fmt::format(fmt::runtime(label), kMaker) +
                  "|{{.State}}|" + fmt::format(fmt::runtime(label), kSpool));
  const auto listed = run_tool({.argv = words, .limit = kAnswerLimit}, {});
  if (!listed || listed->code != 0) return;
  for (const std::string_view line : split(listed->out, '\n')) {
    if (!is_left(line)) continue;
    // Someone else's sweep may have been faster.
    [[maybe_unused]] const auto removed =
        run_tool({.argv = tool_words(
                      container, {"rm", "--force", std::string(line.substr(0, line.find('|')))}),
                  .limit = kAnswerLimit},
                 {});
  }
}

Prepared of_container(std::vector<std::string> program) {
  Container container;
  container.tool = fs::path(program.at(0)).filename().string();
  container.program = std::move(program);
  Prepared prepared;
  prepared.in_container = true;
  prepared.container = std::make_shared<const Container>(std::move(container));
  return prepared;
}

std::vector<std::string> program_of(const Prepared& prepared) {
  return prepared.container != nullptr ? prepared.container->program : std::vector<std::string>();
}

Result<int> exit_status_of(const Prepared& prepared, const std::string& name) {
  const Container& container = *TRY(container_engine(prepared));
  const ToolOutput output =
      TRY(run_checked({.argv = tool_words(container, {"wait", name}), .limit = kAnswerLimit}, {}));
  const auto status = parse_int(trim(output.out));
  if (!status || *status < 0 || *status > 255)
    return fail(Code::kUnprocessable,
                fmt::format("{} reports no exit status of {}", container.tool, name));
  return static_cast<int>(*status);
}

Result<> discard(const Prepared& prepared, const std::string& name,
                 const std::string& cgroup_parent) {
  const auto engine = container_engine(prepared);
  if (!engine) return {};
  std::vector<std::string> words = tool_words(**engine, {"rm", "--force"});
  if ((*engine)->tool == "podman") words.insert(words.end(), {"--ignore", "--time=0"});
  words.push_back(name);
  const ToolOutput output = TRY(run_tool({.argv = words, .limit = std::chrono::minutes(1)}, {}));
  if (output.code != 0 && lower_ascii(output.err).find("no such container") == std::string::npos)
    return fail(Code::kUnavailable,
                fmt::format("container {} cannot be removed: {}", name, last_lines(output.err, 1)));
  remove_groups(cgroup_parent);
  return {};
}

}  // namespace corral::environment
