// docker=IMAGE, podman=IMAGE, apptainer=IMAGE: the image is fetched and known before the start.
#include <fmt/core.h>
#include <unistd.h>

#include "core/text.h"
#include "environment/cache.h"
#include "environment/container.h"
#include "environment/parts.h"
#include "environment/python.h"
#include "environment/tool.h"

namespace corral::environment {
namespace {

Result<> pull(const Container& container, const std::string& image, const PrepareOptions& options) {
  tell(options, "pulling image " + image);
  const auto pulled =
      run_checked({.argv = tool_words(container, {"pull", image}), .told = true}, options);
  if (!pulled)
    return tl::unexpected(pulled.error().with_context(
        fmt::format("image {} is not present and cannot be pulled", image)));
  return {};
}

// The image as the tool has it, pulled where it is missing or where pull= says so.
Result<ImageFacts> image_of(const Container& container, const Spec& spec,
                            const PrepareOptions& options) {
  const std::string policy = option_of(spec, "pull", "missing");
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
                   .told = true},
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
  const auto answers = answers_of(options);
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
  for (const std::string& mount : options_of(spec, "mount")) {
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
  const ImageFacts image = TRY(image_of(container, spec, options));
  // The id is recorded, so that the recorded image is the one that runs, even if the name moves.
  container.image = image.id;
  note(prepared, "image_id", image.id);
  if (!image.digest.empty()) note(prepared, "image_digest", image.digest);
  note(prepared, "image_platform", image.platform);
  if (option_of(spec, "user").empty()) {
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
  if (option_of(spec, "pull") == "never")
    return fail(Code::kNotFound,
                fmt::format("image {} is not present, and pull=never", spec.target));
  return fail(Code::kUnavailable,
              fmt::format("image {} is not present: it will be pulled before the "
                          "run, if possible",
                          spec.target));
}

// The tool of a container whose mounts can be made.
Result<Container> container_of(const Spec& spec, const PrepareOptions& options) {
  Container container;
  container.tool = spec.tool;
  container.program = {
      TRY(find_tool(spec.tool, "install it, or use another of docker=, podman=, apptainer="))};
  for (std::string& flag : options_of(spec, "global")) container.program.push_back(std::move(flag));
  TRY(check_mounts(spec, options));
  return container;
}

}  // namespace

Result<> check_container(const Spec& spec, const PrepareOptions& options) {
  Container container = TRY(container_of(spec, options));
  if (!is_apptainer(container)) return check_image(container, spec, options);
  if (spec.target.find("://") == std::string::npos) TRY(apptainer_image(container, spec, options));
  return {};
}

Result<Prepared> prepare_container(const Spec& spec, const PrepareOptions& options) {
  Container container = TRY(container_of(spec, options));
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

}  // namespace corral::environment
