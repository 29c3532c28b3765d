#include "environment/container.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "environment/parts.h"

namespace corral::environment {
namespace {

// Host namespaces: the run's processes, ports and clocks are this host's, so that listeners, the
// tracking address, MPS and shared memory of data loaders work as without a container. The
// supervisor keeps the output; labels would forbid the mounts on SELinux hosts.
constexpr std::array<std::string_view, 6> kAlways{"--network=host",
                                                  "--pid=host",
                                                  "--ipc=host",
                                                  "--log-driver=none",
                                                  "--security-opt=label=disable",
                                                  "--interactive"};

// Variables whose value is a directory that the command must see.
constexpr std::array<std::string_view, 2> kDirectories{"CUDA_MPS_PIPE_DIRECTORY",
                                                       "CUDA_MPS_LOG_DIRECTORY"};
// Beginnings of names that mean the same inside.
constexpr std::array<std::string_view, 30> kPassed{"CORRAL_",
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
                                                   "RADT_"};
// Those of the image: this host's would break it.
constexpr std::array<std::string_view, 5> kOfImage{"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "HOME",
                                                   "PYTHONHOME"};

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

std::vector<std::string> tool_words(const Container& container,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> words = container.program;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool is_apptainer(const Container& container) {
  return container.tool == "apptainer" || container.tool == "singularity";
}

Result<ImageFacts> parse_image(std::string_view json) {
  const auto answer = Json::parse(json);
  const auto* list = answer ? answer->as_array() : nullptr;
  if (list == nullptr || list->empty())
    return fail(Code::kUnprocessable, "its description of the image cannot be read");
  const Json& image = list->front();
  ImageFacts facts{.id = image.get_string("Id"),
                   .digest = image.get_string("Digest"),
                   .platform = image.get_string("Os") + "/" + image.get_string("Architecture"),
                   .user = image.get_string("User")};
  if (facts.id.empty()) return fail(Code::kUnprocessable, "it gives the image no id");
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
  container.arguments = options_of(spec, "arg");
  container.gpus = option_of(spec, "gpus");
  std::ranges::replace(container.gpus, '+', ',');
  container.workdir = option_of(spec, "workdir");
  container.python = option_of(spec, "python", "python3");
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
    return std::ranges::any_of(kPassed, [&](auto start) { return entry.starts_with(start); }) ||
           std::ranges::count(chosen, entry.substr(0, entry.find('='))) > 0;
  });
  return passed;
}

bool is_apart(const Prepared& prepared) {
  return prepared.container != nullptr && !is_apptainer(*prepared.container);
}

std::string container_name(const fs::path& spool) { return "corral-" + spool.filename().string(); }

}  // namespace corral::environment
