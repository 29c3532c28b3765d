// `corral plot`: the page's drawing code (web/src/plot/), run here. It asks for what it needs by
// one function, with a request as JSON, and begins the message of a caller's mistake with the
// option.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/output_target.h"
#include "cli/page_code.h"
#include "cli/png.h"
#include "core/text.h"
#include "script/script.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

constexpr const char* kPlotExamples =
    "  corral plot @1 --metric loss -o loss.svg\n"
    "  corral plot @1 @2 --metric loss --axis step --style acm1 -o loss.pdf   for one column\n"
    "  corral plot @1 --metric run.cpu.used --metric run.memory.rss -o use.png    two axes\n"
    "  corral plot @1 @2 @3 --metric loss --group param:lr --data loss.csv -o groups.pdf\n";

struct PlotFlags {
  DestinationFlags destination;
  std::vector<std::string> runs, metrics, of;
  std::string axis = "workload", x_metric, from, to, kind = "line", y, right, smooth, group, colour,
              baseline, compare;
  bool singles = false, no_marks = false;
  std::string style = "screen", width, height, text_size, line_width, legend, palette,
              theme = "light", title;
  bool no_axis_titles = false, monochrome = false, markers = false;
  std::string output, format, data;
};

// ---- the options, as web/src/plot/draw.ts reads them

Json words_of(const std::vector<std::string>& words) {
  return Json(Json::Array(words.begin(), words.end()));
}

void set_word(Json& object, const char* name, const std::string& word) {
  if (!word.empty()) object.set(name, word);
}

Result<> set_number(Json& object, const char* name, const char* option, const std::string& text) {
  if (text.empty()) return {};
  const auto number = parse_double(text);
  if (!number || !std::isfinite(*number))
    return fail(Code::kInvalidArgument,
                fmt::format("--{} '{}': expected a number", option, printable(text)));
  object.set(name, *number);
  return {};
}

Result<Json> search_of(const PlotFlags& flags) {
  Json search{Json::Object{}};
  set_word(search, "xmetric", flags.x_metric);
  TRY(set_number(search, "from", "from", flags.from));
  TRY(set_number(search, "to", "to", flags.to));
  set_word(search, "smooth", flags.smooth);
  set_word(search, "group", flags.group);
  set_word(search, "colour", flags.colour);
  if (flags.singles) search.set("singles", true);
  set_word(search, "base", flags.baseline);
  set_word(search, "compare", flags.compare);
  return search;
}

Result<Json> look_of(const PlotFlags& flags) {
  Json look{Json::Object{}};
  TRY(set_number(look, "width", "width", flags.width));
  TRY(set_number(look, "height", "height", flags.height));
  TRY(set_number(look, "textSize", "text-size", flags.text_size));
  TRY(set_number(look, "lineWidth", "line-width", flags.line_width));
  set_word(look, "legend", flags.legend);
  set_word(look, "palette", flags.palette);
  set_word(look, "title", flags.title);
  look.set("dark", flags.theme == "dark");
  look.set("axes", !flags.no_axis_titles);
  look.set("monochrome", flags.monochrome);
  look.set("markers", flags.markers);
  return look;
}

Result<Json> plot_options(const PlotFlags& flags, const std::string& page) {
  Json options{Json::Object{}};
  options.set("runs", words_of(flags.runs));
  options.set("metrics", words_of(flags.metrics));
  options.set("of", words_of(flags.of));
  options.set("kind", flags.kind);
  set_word(options, "y", flags.y);
  set_word(options, "right", flags.right);
  options.set("axis", flags.axis);
  options.set("search", TRY(search_of(flags)));
  options.set("marks", !flags.no_marks);
  options.set("style", flags.style);
  options.set("look", TRY(look_of(flags)));
  options.set("server", page);
  return options;
}

// ---- the code and what it asks for

Result<std::string> ask_server(sys::HttpClient& server, const Json& request) {
  const bool post = request.find("post") != nullptr;
  const std::string body = request.get_string("body");
  const std::string path = "/api/corral/v1" + request.get_string(post ? "post" : "get");
  const std::string accept = request.get_string("accept", "application/json");
  sys::HttpReply reply = TRY(server.send({.method = post ? "POST" : "GET",
                                          .path = path,
                                          .body = body,
                                          .timeout = kLongestPlot,
                                          .headers = {{"Accept", accept}}}));
  if (reply.status != 200) return tl::unexpected(reply_error(reply.status, reply.body));
  return std::move(reply.body);
}

Result<std::string> answer_request(sys::HttpClient& server, const Json& request) {
  if (request.find("near") == nullptr) return ask_server(server, request);
  std::vector<std::string_view> known;
  for (const Json& name : items(request, "known"))
    if (name.as_string() != nullptr) known.emplace_back(*name.as_string());
  return did_you_mean(request.get_string("near"), known);
}

// ---- files

// The format that --format names, else the one of the file's name.
Result<std::string> format_of(const PlotFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  if (flags.output.empty() || flags.output == "-") return "svg";
  const std::string name = lower_ascii(flags.output);
  for (const char* format : {"svg", "pdf", "png"})
    if (name.ends_with(std::string(".") + format)) return format;
  return fail(Code::kInvalidArgument,
              fmt::format("--output '{}': expected a name that ends in .svg, .pdf or .png, or "
                          "--format",
                          printable(flags.output)));
}

Result<> write_file(const std::string& path, std::string_view bytes) {
  OutputTarget target = TRY(OutputTarget::open(path == "-" ? "" : path));
  TRY(target.write(bytes));
  return target.finish();
}

// As large as the page's PNG.
Result<std::string> png_file(script::Script& code, const Json& drawn) {
  constexpr double kPixelsPerPoint = 300.0 / 72;
  const auto pixels = [&](const char* name) {
    return static_cast<int>(std::lround(member(drawn, name).as_double(1) * kPixelsPerPoint));
  };
  const std::string svg = TRY(code.call(kPageCode, "plainSvg"));
  const std::vector<std::string_view> fonts = {TRY(page_file("Inter_400Regular")),
                                               TRY(page_file("Inter_600SemiBold"))};
  return png_of(svg, {.width = pixels("width"), .height = pixels("height")}, fonts);
}

Result<int> plot(const PlotFlags& flags) {
  if (flags.metrics.empty() || flags.metrics.size() > 2)
    return fail(Code::kInvalidArgument,
                "expected --metric once, or twice for a second axis on the right");
  if (flags.data == "-" && (flags.output.empty() || flags.output == "-"))
    return fail(Code::kInvalidArgument,
                "--data -: the figure goes to standard output; name a file with --output");
  if (!flags.data.empty() && flags.data == flags.output)
    return fail(Code::kInvalidArgument, "--data and --output name the same file");
  const std::string format = TRY(format_of(flags));
  if (const auto code = page_file(kPageFile); !code) return tl::unexpected(code.error());
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const Json options =
      TRY(plot_options(flags, page_address(flags.destination, server).value_or("")));
  sys::HttpClient client(server);
  script::Script code =
      TRY(load_page_code([&](const Json& request) { return answer_request(client, request); }));
  auto told = code.call(kPageCode, "draw", options.dump());
  if (!told) {
    if (told.error().message.starts_with("--")) told.error().code = Code::kInvalidArgument;
    return tl::unexpected(std::move(told).error());
  }
  const Json drawn = TRY(Json::parse(*told));
  const std::string figure =
      TRY(format == "png" ? png_file(code, drawn) : code.call(kPageCode, format.c_str()));
  if (!flags.data.empty()) {
    const std::string numbers = TRY(code.call(kPageCode, "csv"));
    TRY(write_file(flags.data, numbers));
  }
  TRY(write_file(flags.output, figure));
  for (const Json& note : items(drawn, "notes")) complain("plot", plain(note).text);
  return kDone;
}

void declare_data(Arguments& arguments, PlotFlags& flags) {
  arguments.positionals("run", flags.runs, kRunHelp);
  arguments.group("Data");
  arguments.texts("metric", flags.metrics,
                  "metric to draw; a second one has its axis on the right");
  arguments.texts("of", flags.of, "only this source, e.g. gpu0 (may be repeated)");
  arguments.choice("axis", flags.axis,
                   {"workload", "run", "wall", "step", "epoch", "condensed", "metric"},
                   "workload, run (since its start), wall, step, epoch, condensed or metric");
  arguments.text("x-metric", flags.x_metric,
                 "the metric or expression on the x axis, with --axis metric");
  arguments.text("from", flags.from, "where the x axis begins: seconds, steps, epochs or values");
  arguments.text("to", flags.to, "where it ends");
  arguments.text("smooth", flags.smooth, "ema:WEIGHT, gaussian:WIDTH or mean:WIDTH");
  arguments.text("group", flags.group, "mean of workload, experiment, param:NAME or tag:NAME");
  arguments.text("colour", flags.colour,
                 "by value of workload, experiment, param:NAME or tag:NAME");
  arguments.flag("singles", flags.singles, "single runs beneath their groups");
  arguments.text("baseline", flags.baseline, "compare with this run or group");
  arguments.choice("compare", flags.compare, {"ratio", "difference"},
                   "ratio to the baseline, or difference (default: ratio)");
  arguments.flag("no-marks", flags.no_marks, "without events, notes, jumps and profiled windows");
}

void declare_look(Arguments& arguments, PlotFlags& flags) {
  arguments.group("Look");
  arguments.choice("kind", flags.kind, {"line", "step", "band", "scatter", "heat", "multiples"},
                   "line, step, band, scatter, heat or multiples (default: line)");
  arguments.text("y", flags.y, "auto, zero, log, clip, clip:LOW..HIGH or FROM..TO");
  arguments.text("right", flags.right, "the same for the axis on the right");
  arguments.text("style", flags.style, "screen, acm1, acm2, ieee1, ieee2, usenix1, usenix2, slide");
  arguments.text("width", flags.width, "points of 1/72 inch (default: the style's)");
  arguments.text("height", flags.height, "likewise");
  arguments.text("text-size", flags.text_size, "likewise");
  arguments.text("line-width", flags.line_width, "likewise");
  arguments.choice("legend", flags.legend, {"ends", "top", "none"}, "where the lines' names are");
  arguments.choice("palette", flags.palette, {"corral", "okabe-ito", "tol"},
                   "corral, okabe-ito or tol (default: corral)");
  arguments.choice("theme", flags.theme, {"light", "dark"}, "background (default: light)");
  arguments.text("title", flags.title, "above the plot (default: none)");
  arguments.flag("no-axis-titles", flags.no_axis_titles, "without names and units at the axes");
  arguments.flag("monochrome", flags.monochrome, "greys, dashes and signs instead of colours");
  arguments.flag("markers", flags.markers, "signs on the lines");
}

}  // namespace

int plot_command(std::span<char* const> args) {
  PlotFlags flags;
  Arguments arguments(
      "plot",
      "Draws a metric of runs as the page does: the export of a chart as SVG and PDF "
      "has the same bytes (docs/plot.md).",
      kPlotExamples);
  declare_data(arguments, flags);
  declare_look(arguments, flags);
  arguments.group("Output");
  arguments.text("output", flags.output, "file to write, also -o (default: standard output)", 'o');
  arguments.choice("format", flags.format, {"svg", "pdf", "png"},
                   "format (default: by the file's name, else svg)");
  arguments.text("data", flags.data, "write the numbers drawn to this CSV file");
  for (const char* name :
       {"metric",         "of",         "axis",    "x-metric", "from",    "to",    "smooth",
        "group",          "colour",     "singles", "baseline", "compare", "y",     "right",
        "no-marks",       "kind",       "style",   "width",    "height",  "title", "legend",
        "text-size",      "line-width", "palette", "theme",    "markers", "data",  "output",
        "no-axis-titles", "monochrome", "format"})
    arguments.as_flag_only(name);
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("plot", plot(flags));
}

}  // namespace corral::cli
