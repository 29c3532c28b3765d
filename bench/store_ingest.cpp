// ingest, captured, shapes, dump: what goes into a store, and its size.
#include <fcntl.h>
#include <fmt/core.h>
#include <zstd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "bench_store.h"
#include "codec/crc32c.h"
#include "frame_file.h"
#include "measure.h"
#include "sys/clock.h"

namespace corral::bench {
namespace {

struct Writer {
  std::filesystem::path file;
  std::vector<double> acks_ms;
};

// One run's requests, one after another; `period` apart when it is not zero, as a run that lives.
void send(store::Store& store, Writer& writer, Nanos period) {
  FrameFileReader frames(writer.file);
  BootTime due = sys::boot_now();
  for (;;) {
    const auto& record = frames.next();
    if (record.empty()) return;
    if (period.count() > 0) sys::system_clock().sleep_until(due += period);
    const Stopwatch watch;
    append(store, record);
    writer.acks_ms.push_back(watch.ms());
  }
}

void send_all(store::Store& store, std::vector<Writer>& writers, Nanos period) {
  std::vector<std::jthread> threads;
  for (Writer& writer : writers)
    threads.emplace_back([&store, &writer, period] { send(store, writer, period); });
}

void report_acks(Bench& bench, const std::vector<Writer>& writers) {
  std::vector<double> all;
  for (const Writer& w : writers) all.insert(all.end(), w.acks_ms.begin(), w.acks_ms.end());
  bench.report("ack_p50_ms", percentile(all, 0.5));
  bench.report("ack_p99_ms", percentile(all, 0.99));
  bench.report("ack_max_ms", percentile(all, 1));
}

void report_rates(Bench& bench, double points, double wall, double cpu) {
  bench.report("points", points);
  bench.report("wall_s", wall);
  bench.report("cpu_s", cpu);
  bench.report("points_per_s", points / wall);
  bench.report("points_per_cpu_s", points / cpu);
}

// Recorded frames as a session of a run of its own: who, the series and their points; the rest is
// left out.
class Copy {
 public:
  Copy(RunId run, SessionId session) : run_(run), session_(session) {}

  std::vector<codec::Bytes> of(const std::vector<codec::ByteView>& frames) {
    std::vector<codec::Bytes> out;
    for (const codec::ByteView bytes : frames) {
      const codec::Frame frame = must(codec::decode_frame(bytes), "decode_frame");
      if (frame.header.kind == codec::FrameKind::kSession) {
        out.push_back(codec::encode(next(), description(frame)));
      } else if (const codec::Bundle bundle = series_and_points(frame); !bundle.empty()) {
        out.push_back(bundle.finish(next()));
      }
    }
    return out;
  }
  [[nodiscard]] std::size_t points() const { return points_; }

 private:
  codec::FrameHeader next() {
    ++sequence_;
    return {.kind = {}, .session = session_, .first = sequence_, .last = sequence_};
  }
  [[nodiscard]] codec::SessionBody description(const codec::Frame& frame) const {
    codec::SessionBody body = must(codec::decode_session(frame), "decode_session");
    body.run = run_;
    body.workload = own_workload_of(run_);
    body.host = "captured";
    body.boot_id = "captured";
    body.pid = 1;
    return body;
  }
  codec::Bundle series_and_points(const codec::Frame& frame) {
    codec::Bundle bundle;
    for (const codec::Frame& part : must(codec::sections(frame), "sections")) {
      if (part.header.kind == codec::FrameKind::kSchema)
        bundle.add(must(codec::decode_schema(part), "decode_schema"));
      if (part.header.kind != codec::FrameKind::kSamples) continue;
      const codec::SamplesBody body = must(codec::decode_samples(part), "decode_samples");
      for (const codec::SampleGroup& group : body.groups) {
        for (const codec::Column& column : group.columns) points_ += column.values.size();
      }
      bundle.add(body);
    }
    return bundle;
  }

  RunId run_;
  SessionId session_;
  std::uint64_t sequence_ = 0;
  std::size_t points_ = 0;
};

codec::Bytes read_all(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) give_up("cannot open " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

codec::Bytes read_fixture(const std::filesystem::path& file) {
  const codec::Bytes packed = read_all(file);
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    give_up(file.string() + " is not one zstd frame");
  codec::Bytes out(size);
  if (ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) != size)
    give_up(file.string() + " is damaged");
  return out;
}

double zstd_bytes_per_value(std::span<const double> values) {
  constexpr std::size_t kBlock = 4096;
  std::vector<char> out(ZSTD_compressBound(kBlock * sizeof(double)));
  std::size_t total = 0;
  for (std::size_t at = 0; at + kBlock <= values.size(); at += kBlock)
    total += ZSTD_compress(out.data(), out.size(), &values[at], kBlock * sizeof(double), 1);
  return static_cast<double>(total) / static_cast<double>(values.size());
}

void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!out) give_up("cannot write " + path.string());
}

// Charts of whole series that were just written, the store opened again.
void report_charts(Bench& bench, std::size_t rounds) {
  if (rounds == 0) return;
  const auto store = open_store(bench.store);
  const auto ids = series_of(*store, run_named(*store, run_name(0)));
  std::vector<double> times;
  ChartAsk ask;
  for (std::size_t i = 0; i < rounds; ++i) {
    ask.series = {ids[i % ids.size()]};
    const Stopwatch watch;
    chart(*store, ask);
    times.push_back(watch.ms());
  }
  bench.report("chart_p50_ms", percentile(times, 0.5));
}

}  // namespace

void bench_ingest(Bench& bench) {
  const Workload workload = bench.workload({});
  const double seconds = bench.flags.number("seconds", 600);  // simulated
  const auto flush_rows =
      static_cast<std::size_t>(bench.flags.number("flush", 1) * workload.hz);  // s
  const double speed = bench.flags.number("speed", 0);  // times real time; 0: as fast as it goes
  const std::size_t charts = bench.flags.count("charts", 0);
  const std::string vacuum = bench.flags.text("vacuum", "");  // a command, before sizes are taken
  bench.flags.finish();
  const auto rows = static_cast<std::size_t>(seconds * workload.hz);
  const double points = static_cast<double>(rows * workload.series * workload.runs);
  std::vector<Writer> writers;
  for (auto& file : generate_files(workload, rows, flush_rows, bench.work / "frames"))
    writers.push_back({.file = std::move(file), .acks_ms = {}});
  const Nanos period(speed > 0 ? static_cast<std::int64_t>(static_cast<double>(flush_rows) * 1e9 /
                                                           workload.hz / speed)
                               : 0);
  reset_peak_rss();
  const double cpu_before = process_cpu() + tree_cpu(bench.store.database);
  auto store = open_store(bench.store);
  const Stopwatch watch;
  send_all(*store, writers, period);
  const double acknowledged = watch.seconds();
  settle(*store);
  bench.report("settle_s", watch.seconds() - acknowledged);
  if (!vacuum.empty() && std::system(vacuum.c_str()) != 0) give_up("failed: " + vacuum);
  report_sizes(bench, store.get(), points);
  store.reset();
  const double cpu = process_cpu() + tree_cpu(bench.store.database) - cpu_before;
  report_rates(bench, points, acknowledged, cpu);
  report_acks(bench, writers);
  bench.report("peak_rss_mib", static_cast<double>(peak_rss()) / (1 << 20));
  report_sizes(bench, nullptr, points);
  report_charts(bench, charts);
}

void bench_captured(Bench& bench) {
  const codec::Bytes bytes =
      read_fixture(bench.flags.text("fixture", "tests/fixtures/listeners-10min.frames.zst"));
  const std::size_t copies = bench.flags.count("copies", 1);  // as so many runs
  bench.flags.finish();
  const std::vector<codec::ByteView> frames = split_frames(bytes);
  auto store = open_store(bench.store);
  std::size_t points = 0;
  for (std::size_t c = 0; c < copies; ++c) {
    Copy copy(RunId::random(), SessionId::random());
    for (const codec::Bytes& frame : copy.of(frames)) append(*store, {codec::ByteView(frame)});
    points += copy.points();
  }
  settle(*store);
  report_sizes(bench, store.get(), static_cast<double>(points));
  store.reset();
  report_sizes(bench, nullptr, static_cast<double>(points));
  bench.report("points", static_cast<std::int64_t>(points));
  bench.report("frames_bytes_per_point",
               static_cast<double>(bytes.size() * copies) / static_cast<double>(points));
}

// Makes a fixture of a spool file: --spool FILE --out FILE.
void bench_pack(Bench& bench) {
  const codec::Bytes bytes = read_all(bench.flags.text("spool", ""));
  const std::filesystem::path out = bench.flags.text("out", "");
  bench.flags.finish();
  Copy copy(RunId{{1}}, SessionId{{1}});
  codec::Bytes frames;
  for (const codec::Bytes& frame : copy.of(split_frames(bytes)))
    frames.insert(frames.end(), frame.begin(), frame.end());
  codec::Bytes packed(ZSTD_compressBound(frames.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), frames.data(), frames.size(), 19));
  std::filesystem::remove(out);
  write_file(out, packed.data(), packed.size());
  bench.report("points", static_cast<std::int64_t>(copy.points()));
  bench.report("bytes", static_cast<std::int64_t>(packed.size()));
}

void bench_shapes(Bench& bench) {
  bench.flags.finish();
  std::vector<double> values(1u << 20);
  Json::Array rows;
  for (std::size_t s = 0; s < kShapes; ++s) {
    const auto shape = static_cast<Shape>(s);
    fill(shape, 1, values);
    const std::uint32_t crc = codec::crc32c(values.data(), values.size() * sizeof(double));
    rows.emplace_back(Json::Object{{"shape", shape_name(shape)},
                                   {"crc32c", fmt::format("{:08x}", crc)},
                                   {"zstd1_bytes_per_value", zstd_bytes_per_value(values)}});
  }
  bench.report("shapes", std::move(rows));
}

// For peers in other languages: names.json; times.bin (i64 ns, UTC) and values.bin (f64, one series
// after another) of one run whose series share their times.
void bench_dump(Bench& bench) {
  const Workload workload = bench.workload({.runs = 1, .series = 200, .mix = Mix::kHardware});
  const std::size_t rows = bench.flags.count("points", 4e6) / workload.series;
  const std::filesystem::path out = bench.flags.text("out", "");
  bench.flags.finish();
  if (out.empty()) give_up("dump needs --out DIR");
  std::filesystem::create_directories(out);
  Json::Array names;
  std::vector<double> values(rows);
  for (std::size_t s = 0; s < workload.series; ++s) {
    names.emplace_back(series_name(workload, s));
    fill(shape_of(workload, s), series_seed(workload.seed, 0, s), values);
    write_file(out / "values.bin", values.data(), values.size() * sizeof(double));
  }
  std::vector<std::int64_t> times(rows);
  Times(workload.seed, workload.hz).next(times);
  for (std::int64_t& t : times) t += kRunBegin;
  write_file(out / "times.bin", times.data(), times.size() * sizeof(std::int64_t));
  const std::string text = Json(std::move(names)).dump();
  write_file(out / "names.json", text.data(), text.size());
  bench.report("points", static_cast<std::int64_t>(rows * workload.series));
}

}  // namespace corral::bench
