// corral user, team, space, token, whoami and audit: who may use a store that is served to users,
// what they see of it, and what they did.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/resources.h"
#include "cli/table.h"
#include "core/role.h"
#include "core/text.h"
#include "sys/http_client.h"

namespace corral::cli {
namespace {

constexpr std::string_view kUsers = "/api/corral/v1/users";
constexpr std::string_view kSpaces = "/api/corral/v1/spaces";
constexpr std::string_view kTeams = "/api/corral/v1/teams";
constexpr std::string_view kTokens = "/api/corral/v1/tokens";

void own_role(Arguments& arguments, std::string& role, const std::string& help) {
  arguments.choice("role", role, {kRoleNames.begin(), kRoleNames.end()}, help);
  arguments.as_flag_only("role");
}

Cell brief_cell(const Json& object, const char* name) {
  return {plain_member(object, name).value, brief(printable(object.get_string(name)))};
}

// ---- corral user

constexpr const char* kAddUserExamples =
    "  corral user add ada --role admin          the first one\n"
    "  corral user add bob --role writer --display 'Bob Stone'\n";

int user_add(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name, role, display, subject;
  Arguments arguments("user add", "Adds a user. `corral token add` then makes a token for them.",
                      kAddUserExamples);
  arguments.positional("name", name, "name: a-z, 0-9, '.', '-' and '_'", true);
  own_role(arguments, role, "what the user may do (default: reader)");
  own_text(arguments, "display", display, "the name as people write it");
  own_text(arguments, "subject", subject, "who they are at the provider of sign-in");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto add = [&]() -> Result<int> {
    TRY(ask(destination,
            {.method = "POST",
             .path = std::string(kUsers),
             .body = body_of(
                 {{"name", name}, {"role", role}, {"display", display}, {"subject", subject}})}));
    fmt::print("added {}\n", name);
    if (subject.empty()) fmt::print("next: corral token add {}\n", name);
    return kDone;
  };
  return finish("user add", add());
}

int user_ls(std::span<char* const> args) {
  DestinationFlags destination;
  std::string format = "table";
  Arguments arguments("user ls", "Lists users.", "  corral user ls\n");
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const Listing listing{.path = kUsers,
                        .member = "users",
                        .fields = {{"name", "name"},
                                   {"display", "display"},
                                   {"role", "role"},
                                   {"disabled", "disabled"},
                                   {"subject", "signs in as"},
                                   {"created_ns", "created", false, time_cell}},
                        .none = "no users yet; the first: corral user add NAME --role admin"};
  return finish("user ls", print_list(destination, listing, format));
}

int user_set(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name, role, display, subject;
  bool disable = false, enable = false, unlink = false;
  Arguments arguments("user set", "Changes a user. Counts at once, also for their open pages.",
                      "  corral user set bob --role owner\n"
                      "  corral user set bob --disable          none of their tokens counts\n"
                      "  corral user set bob --enable           as before\n"
                      "  corral user set bob --subject 8f2c91   who bob is where users sign in\n");
  arguments.positional("name", name, "name of the user", true);
  own_role(arguments, role, "what the user may do");
  own_text(arguments, "display", display, "the name as people write it");
  own_text(arguments, "subject", subject, "who they are at the provider of sign-in");
  arguments.flag("unlink", unlink, "nobody at that provider signs in as them any more");
  arguments.flag("disable", disable, "refuse all of their tokens");
  arguments.flag("enable", enable, "accept their tokens again");
  for (const char* flag : {"disable", "enable", "unlink"}) arguments.as_flag_only(flag);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const bool link = !subject.empty() || unlink;
  if ((disable && enable) || (!subject.empty() && unlink) ||
      (!disable && !enable && !link && role.empty() && display.empty())) {
    fmt::print(stderr,
               "corral user set: give one or more of --role, --display, either --subject or "
               "--unlink, and either --disable or --enable\n");
    return kMisuse;
  }
  const auto change = [&]() -> Result<int> {
    Json body(Json::Object{{"disabled", disable || enable ? Json(disable) : Json()}});
    if (!role.empty()) body.set("role", role);
    if (!display.empty()) body.set("display", display);
    if (link) body.set("subject", subject);
    const std::string text = body.dump();
    TRY(ask(destination, {.method = "PUT", .path = below(kUsers, name), .body = text}));
    fmt::print("changed {}\n", name);
    return kDone;
  };
  return finish("user set", change());
}

int user_rm(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name;
  bool yes = false;
  Arguments arguments("user rm",
                      "Deletes a user with all of their tokens. Their runs stay. `corral user set "
                      "NAME --disable` can be undone.",
                      "  corral user rm bob\n");
  arguments.positional("name", name, "name of the user", true);
  arguments.flag("yes", yes, "do not ask");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  if (!yes && !at_terminal()) {
    fmt::print(stderr, "corral user rm: not a terminal; pass --yes to confirm\n");
    return kMisuse;
  }
  const auto remove = [&]() -> Result<int> {
    const sys::HttpTarget server = TRY(connect(destination));
    if (!yes) {
      fmt::print("This cannot be undone. Delete {} and their tokens? [y/N] ", name);
      std::fflush(stdout);
      if (!read_yes()) {
        fmt::print("nothing was deleted\n");
        return kFailed;
      }
    }
    TRY(send_json(server, {.method = "DELETE", .path = below(kUsers, name), .body = {}}));
    fmt::print("deleted {}\n", name);
    return kDone;
  };
  return finish("user rm", remove());
}

constexpr std::array kUserVerbs = {
    Verb{"add", "add a user", user_add},
    Verb{"ls", "list users", user_ls},
    Verb{"set", "change a user's role or name, disable or enable them", user_set},
    Verb{"rm", "delete a user with their tokens", user_rm},
};
constexpr std::string_view kUserHead =
    "Manages the users of a store that is served with --auth users (docs/lab.md).\n\n"
    "Usage: corral user VERB [OPTIONS]\n\n";
constexpr std::string_view kUserFoot =
    "\nExamples:\n"
    "  corral user add ada --role admin\n"
    "  corral user set bob --disable\n"
    "\ncorral user VERB --help shows the options.\n";

// ---- corral space

// Users, each given by an option of its own or all of them with commas between.
Json users_of(const std::vector<std::string>& given) {
  Json::Array names;
  for (const std::string& some : given)
    for (const std::string_view name : split(some, ','))
      if (!trim(name).empty()) names.emplace_back(std::string(trim(name)));
  return Json(std::move(names));
}

int space_add(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name;
  std::vector<std::string> members;
  Arguments arguments("space add",
                      "Adds a space: only its members see the experiments whose names begin with "
                      "its name and '/', those of before too.",
                      "  corral space add vision --member ada --member bob\n"
                      "  corral run --experiment vision/resnet python train.py\n");
  arguments.positional("name", name, "name: a-z, 0-9, '-' and '_'", true);
  own_texts(arguments, "member", members, "a user or @team who sees it; may be repeated");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto add = [&]() -> Result<int> {
    TRY(ask(destination, {.method = "POST",
                          .path = std::string(kSpaces),
                          .body = body_of({{"name", name}, {"members", users_of(members)}})}));
    fmt::print("added {0}: its experiments are named {0}/...\n", name);
    if (members.empty()) fmt::print("next: corral space set {} --add USER\n", name);
    return kDone;
  };
  return finish("space add", add());
}

int space_ls(std::span<char* const> args) {
  DestinationFlags destination;
  std::string format = "table";
  Arguments arguments("space ls", "Lists your spaces; for admins all of them.",
                      "  corral space ls\n");
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const Listing listing{.path = kSpaces,
                        .member = "spaces",
                        .fields = {{"name", "name"},
                                   {"members", "members", false, words_cell},
                                   {"created_ns", "created", false, time_cell}},
                        .none = "no spaces yet; one is made by: corral space add NAME"};
  return finish("space ls", print_list(destination, listing, format));
}

int space_set(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name;
  std::vector<std::string> add, remove;
  Arguments arguments("space set",
                      "Lets users into a space, and out of it. Counts at once, also for their open "
                      "pages.",
                      "  corral space set vision --add eve --remove bob\n");
  arguments.positional("name", name, "name of the space", true);
  own_texts(arguments, "add", add, "a user or @team who sees it from now on; may be repeated");
  own_texts(arguments, "remove", remove, "a user or @team who no longer does; may be repeated");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const Json added = users_of(add);
  const Json removed = users_of(remove);
  if (added.as_array()->empty() && removed.as_array()->empty()) {
    fmt::print(stderr, "corral space set: give --add USER, --remove USER or both\n");
    return kMisuse;
  }
  const auto change = [&]() -> Result<int> {
    TRY(ask(destination, {.method = "PUT",
                          .path = below(kSpaces, name),
                          .body = body_of({{"add", added}, {"remove", removed}})}));
    fmt::print("changed {}\n", name);
    return kDone;
  };
  return finish("space set", change());
}

int space_rm(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name;
  bool open = false;
  Arguments arguments("space rm",
                      "Deletes a space. Experiments and their runs stay; while there are any in "
                      "it, --open is needed, because everybody sees them then.",
                      "  corral space rm vision\n"
                      "  corral space rm vision --open     everybody may see what lay in it\n");
  arguments.positional("name", name, "name of the space", true);
  arguments.flag("open", open, "let everybody see what lies in it");
  arguments.as_flag_only("open");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto remove = [&]() -> Result<int> {
    TRY(ask(destination, {.method = "DELETE",
                          .path = below(kSpaces, name) + (open ? "?open=true" : ""),
                          .body = {}}));
    fmt::print("deleted {}\n", name);
    return kDone;
  };
  return finish("space rm", remove());
}

constexpr std::array kSpaceVerbs = {
    Verb{"add", "add a space", space_add},
    Verb{"ls", "list spaces with their members", space_ls},
    Verb{"set", "let users in and out", space_set},
    Verb{"rm", "delete a space", space_rm},
};
constexpr std::string_view kSpaceHead =
    "Manages spaces: experiments that only their members see (docs/lab.md).\n\n"
    "Usage: corral space VERB [OPTIONS]\n\n";
constexpr std::string_view kSpaceFoot =
    "\nExamples:\n"
    "  corral space add vision --member ada --member bob\n"
    "  corral space set vision --add eve\n"
    "\ncorral space VERB --help shows the options.\n";

// ---- corral team

int team_add(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name, group;
  std::vector<std::string> members;
  Arguments arguments("team add", "Adds a team: users who are let into spaces together, as @NAME.",
                      "  corral team add seniors --member ada --member bob\n"
                      "  corral team add interns --group lab-interns    as the provider says\n"
                      "  corral space set vision --add @seniors\n");
  arguments.positional("name", name, "name: a-z, 0-9, '-' and '_'", true);
  own_texts(arguments, "member", members, "a user who is in it; may be repeated");
  own_text(arguments, "group", group,
           "group at the provider of sign-in: who is in it joins at each sign-in");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto add = [&]() -> Result<int> {
    TRY(ask(destination,
            {.method = "POST",
             .path = std::string(kTeams),
             .body = body_of({{"name", name}, {"members", users_of(members)}, {"group", group}})}));
    fmt::print("added {0}\nnext: corral space set SPACE --add @{0}\n", name);
    return kDone;
  };
  return finish("team add", add());
}

int team_ls(std::span<char* const> args) {
  DestinationFlags destination;
  std::string format = "table";
  Arguments arguments("team ls", "Lists your teams; for admins all of them.", "  corral team ls\n");
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const Listing listing{.path = kTeams,
                        .member = "teams",
                        .fields = {{"name", "name"},
                                   {"members", "members", false, words_cell},
                                   {"group", "group"},
                                   {"created_ns", "created", false, time_cell}},
                        .none = "no teams yet; one is made by: corral team add NAME"};
  return finish("team ls", print_list(destination, listing, format));
}

int team_set(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name, group;
  std::vector<std::string> add, remove;
  bool no_group = false;
  Arguments arguments("team set",
                      "Lets users into a team, and out of it. Counts at once, also for their open "
                      "pages.",
                      "  corral team set seniors --add eve --remove bob\n");
  arguments.positional("name", name, "name of the team", true);
  own_texts(arguments, "add", add, "a user who is in it from now on; may be repeated");
  own_texts(arguments, "remove", remove, "a user who no longer is; may be repeated");
  own_text(arguments, "group", group, "group at the provider of sign-in; its members so far leave");
  arguments.flag("no-group", no_group, "no group at the provider; its members leave");
  arguments.as_flag_only("no-group");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  Json body(Json::Object{{"add", users_of(add)}, {"remove", users_of(remove)}});
  const bool members = !add.empty() || !remove.empty();
  if ((!members && group.empty() && !no_group) || (!group.empty() && no_group)) {
    fmt::print(stderr,
               "corral team set: give one or more of --add USER, --remove USER, and either "
               "--group GROUP or --no-group\n");
    return kMisuse;
  }
  if (!group.empty() || no_group) body.set("group", group);
  const auto change = [&]() -> Result<int> {
    const std::string text = body.dump();
    TRY(ask(destination, {.method = "PUT", .path = below(kTeams, name), .body = text}));
    fmt::print("changed {}\n", name);
    return kDone;
  };
  return finish("team set", change());
}

int team_rm(std::span<char* const> args) {
  DestinationFlags destination;
  std::string name;
  Arguments arguments("team rm",
                      "Deletes a team. Its members leave the spaces that it was let into.",
                      "  corral team rm seniors\n");
  arguments.positional("name", name, "name of the team", true);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto remove = [&]() -> Result<int> {
    TRY(ask(destination, {.method = "DELETE", .path = below(kTeams, name), .body = {}}));
    fmt::print("deleted {}\n", name);
    return kDone;
  };
  return finish("team rm", remove());
}

constexpr std::array kTeamVerbs = {
    Verb{"add", "add a team", team_add},
    Verb{"ls", "list teams with their members", team_ls},
    Verb{"set", "let users in and out", team_set},
    Verb{"rm", "delete a team", team_rm},
};
constexpr std::string_view kTeamHead =
    "Manages teams: users who are let into spaces together (docs/lab.md).\n\n"
    "Usage: corral team VERB [OPTIONS]\n\n";
constexpr std::string_view kTeamFoot =
    "\nExamples:\n"
    "  corral team add seniors --member ada --member bob\n"
    "  corral space set vision --add @seniors\n"
    "\ncorral team VERB --help shows the options.\n";

// ---- corral token

int token_add(std::span<char* const> args) {
  DestinationFlags destination;
  std::string user, label, role, days;
  Arguments arguments("token add",
                      "Makes an access token of a user and prints it: the server keeps only its "
                      "hash, so nobody can show it again. Without a name it is your own, and lasts "
                      "no longer than the token in use.",
                      "  corral token add ada > ada.token\n"
                      "  corral token add ci --role writer --days 366 --label 'nightly runs'\n");
  arguments.positional("user", user, "name of the user (default: you)", false);
  own_text(arguments, "label", label, "what the token is for");
  own_role(arguments, role, "the most that it may do (default: what its user may)");
  own_text(arguments, "days", days, "days until it expires, at most 366 (default: 90)");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto number = parse_int(days);
  if (!days.empty() && !number) {
    fmt::print(stderr, "corral token add: --days: expected a number of days, not '{}'\n", days);
    return kMisuse;
  }
  const auto add = [&]() -> Result<int> {
    std::string body = body_of({{"user", user},
                                {"label", label},
                                {"role", role},
                                {"days", number ? Json(*number) : Json()}});
    const Json made = TRY(ask(
        destination, {.method = "POST", .path = std::string(kTokens), .body = std::move(body)}));
    fmt::print("{}\n", made.get_string("token"));
    std::fflush(stdout);
    fmt::print(
        stderr, "token {} of {}, until {}; keep it in a file of mode 0600: --token-file FILE\n",
        made.get_string("id"), made.get_string("user"), time_text(member(made, "expires_ns")));
    return kDone;
  };
  return finish("token add", add());
}

int token_ls(std::span<char* const> args) {
  DestinationFlags destination;
  std::string format = "table";
  Arguments arguments("token ls", "Lists your tokens; for admins those of all users.",
                      "  corral token ls\n");
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const Listing listing{.path = kTokens,
                        .member = "tokens",
                        .fields = {{"id", "id"},
                                   {"user", "user"},
                                   {"label", "label"},
                                   {"role", "role"},
                                   {"created_ns", "created", false, time_cell},
                                   {"expires_ns", "expires", false, time_cell},
                                   {"revoked_ns", "revoked", false, time_cell},
                                   {"parent", "let in by"}},
                        .none = "no tokens yet; one is made by: corral token add USER"};
  return finish("token ls", print_list(destination, listing, format));
}

int token_rm(std::span<char* const> args) {
  DestinationFlags destination;
  std::string id;
  Arguments arguments(
      "token rm",
      "Revokes a token for good, with those of programs that were let in by it. Counts "
      "at once.",
      "  corral token rm 3f2a9c01be\n");
  arguments.positional("id", id, "id of the token, as `corral token ls` shows it", true);
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto revoke = [&]() -> Result<int> {
    TRY(ask(destination, {.method = "DELETE", .path = below(kTokens, id), .body = {}}));
    fmt::print("revoked {}\n", id);
    return kDone;
  };
  return finish("token rm", revoke());
}

constexpr std::array kTokenVerbs = {
    Verb{"add", "make a token and print it", token_add},
    Verb{"ls", "list tokens", token_ls},
    Verb{"rm", "revoke a token", token_rm},
};
constexpr std::string_view kTokenHead =
    "Manages access tokens of users (docs/lab.md).\n\nUsage: corral token VERB [OPTIONS]\n\n";
constexpr std::string_view kTokenFoot =
    "\nExamples:\n"
    "  corral token add ada > ada.token\n"
    "  corral token rm 3f2a9c01be\n"
    "\ncorral token VERB --help shows the options.\n";

}  // namespace

int user_command(std::span<char* const> args) {
  return call_verb(
      {.name = "corral user", .head = kUserHead, .foot = kUserFoot, .verbs = kUserVerbs}, args);
}

int space_command(std::span<char* const> args) {
  return call_verb(
      {.name = "corral space", .head = kSpaceHead, .foot = kSpaceFoot, .verbs = kSpaceVerbs}, args);
}

int team_command(std::span<char* const> args) {
  return call_verb(
      {.name = "corral team", .head = kTeamHead, .foot = kTeamFoot, .verbs = kTeamVerbs}, args);
}

int token_command(std::span<char* const> args) {
  return call_verb(
      {.name = "corral token", .head = kTokenHead, .foot = kTokenFoot, .verbs = kTokenVerbs}, args);
}

int whoami_command(std::span<char* const> args) {
  DestinationFlags destination;
  Arguments arguments("whoami", "Shows whose token a server was given, and what it allows.",
                      "  corral whoami --server http://lab:5000 --token-file ada.token\n");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto tell = [&]() -> Result<int> {
    const Json me = TRY(ask(destination, {.path = "/api/corral/v1/me", .body = {}}));
    if (!me.get_bool("users")) {
      fmt::print("this store has no users: everyone who reaches its server may do everything\n");
      return kDone;
    }
    const std::string user = me.get_string("user");
    fmt::print("{}, {}\n", user.empty() ? "the owner of the server's socket" : printable(user),
               me.get_string("role"));
    return kDone;
  };
  return finish("whoami", tell());
}

int audit_command(std::span<char* const> args) {
  DestinationFlags destination;
  std::string user, limit, before, format = "table";
  Arguments arguments("audit",
                      "Shows who did what in a store that is served with --auth users, the newest "
                      "first: sign-ins, users and tokens, the trash, and what was deleted.",
                      "  corral audit\n"
                      "  corral audit --user bob --limit 1000 --format csv\n");
  own_text(arguments, "user", user, "only what this user did");
  arguments.text("limit", limit, "entries at most, up to 1000 (default: 100)");
  own_text(arguments, "before", before, "only entries with a smaller id: the next page");
  arguments.choice("format", format, {"table", "json", "csv"}, "output format (default: table)");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  std::string path =
      "/api/corral/v1/audit?limit=" + (limit.empty() ? "100" : sys::url_encode(limit));
  if (!before.empty()) path += "&before=" + sys::url_encode(before);
  if (!user.empty()) path += "&user=" + sys::url_encode(user);
  const Listing listing{.path = path,
                        .member = "entries",
                        .fields = {{"id", "id", true},
                                   {"time_ns", "time", false, time_cell},
                                   {"user", "user"},
                                   {"address", "address"},
                                   {"request", "request"},
                                   {"detail", "detail", false, brief_cell},
                                   {"status", "status", true}},
                        .none = "nothing yet"};
  return finish("audit", print_list(destination, listing, format));
}

}  // namespace corral::cli
