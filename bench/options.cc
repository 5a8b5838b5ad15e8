#include "bench/options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "bench/tally.h"

namespace rowsocket::bench {
namespace {

struct KnownWorkload {
  const char* name;
  Protocol protocol;
  size_t batch;  ///< Keys or rows per request.
  const char* what;
};

constexpr std::array kWorkloads = {
    KnownWorkload{"hs-get", Protocol::kHandlerSocket, 1, "find one row by its key"},
    KnownWorkload{"hs-in", Protocol::kHandlerSocket, 16, "find --batch rows by one IN list"},
    KnownWorkload{"hs-range", Protocol::kHandlerSocket, 1, "find --limit rows, >="},
    KnownWorkload{"hs-find-group", Protocol::kHandlerSocket, 3, "find --batch rows, in a group"},
    KnownWorkload{"hs-secondary", Protocol::kHandlerSocket, 1, "find one row by --key in --index"},
    KnownWorkload{"hs-update", Protocol::kHandlerSocket, 1, "set --update-columns of one row"},
    KnownWorkload{"hs-insert", Protocol::kHandlerSocket, 1, "insert rows from --first-id on"},
    KnownWorkload{"hs-decrement", Protocol::kHandlerSocket, 1, "take 1 where above --guard"},
    KnownWorkload{"hs-purchase", Protocol::kHandlerSocket, 1, "a group: take 1, write an order"},
    KnownWorkload{"hs-mixed", Protocol::kHandlerSocket, 1, "hs-get and hs-update"},
    KnownWorkload{"mc-get", Protocol::kMemcached, 1, "get one key"},
    KnownWorkload{"mc-binary-get", Protocol::kMemcached, 1, "get one key, binary protocol"},
    KnownWorkload{"mc-multiget", Protocol::kMemcached, 16, "get --batch keys"},
    KnownWorkload{"mc-set", Protocol::kMemcached, 1, "set one key to --set"},
    KnownWorkload{"mc-mixed", Protocol::kMemcached, 1, "mc-get and mc-set"},
    KnownWorkload{"mc-ma", Protocol::kMemcached, 1, "meta arithmetic with --ma-flags"},
    KnownWorkload{"mc-fill", Protocol::kMemcached, 1, "set rows 1 to --rows to --values, then end"},
    KnownWorkload{"redis-decr", Protocol::kRedis, 1, "take 1 where above --guard, by a script"},
    KnownWorkload{"redis-purchase", Protocol::kRedis, 1, "redis-decr and RPUSH of the order"},
    KnownWorkload{"redis-get", Protocol::kRedis, 1, "GET one key"},
    KnownWorkload{"redis-mget", Protocol::kRedis, 16, "MGET --batch keys"},
    KnownWorkload{"redis-set", Protocol::kRedis, 1, "SET one key to --set"},
    KnownWorkload{"redis-hmget", Protocol::kRedis, 1, "HMGET --columns of one key"},
    KnownWorkload{"redis-hincrby", Protocol::kRedis, 1, "HINCRBY --stock-column by -1"},
    KnownWorkload{"redis-fill-texts", Protocol::kRedis, 1, "SET rows 1 to --rows, then end"},
    KnownWorkload{"redis-fill-hashes", Protocol::kRedis, 1, "HSET rows 1 to --rows, then end"},
    KnownWorkload{"sql-get", Protocol::kSql, 1, "SELECT one row, text protocol"},
    KnownWorkload{"sql-get-prepared", Protocol::kSql, 1, "SELECT one row, prepared statement"},
    KnownWorkload{"sql-in", Protocol::kSql, 16, "SELECT --batch rows by IN"},
    KnownWorkload{"sql-range", Protocol::kSql, 1, "SELECT --limit rows, >="},
    KnownWorkload{"sql-update", Protocol::kSql, 1, "UPDATE --update-columns of one row"},
    KnownWorkload{"sql-insert", Protocol::kSql, 1, "INSERT --batch rows from --first-id on"},
    KnownWorkload{"sql-decrement", Protocol::kSql, 1, "UPDATE - 1 WHERE above --guard"},
    KnownWorkload{"sql-purchase", Protocol::kSql, 1, "CALL purchase(user, item, token)"},
    KnownWorkload{"sql-purchase-4", Protocol::kSql, 1, "BEGIN, UPDATE, INSERT, COMMIT"},
    KnownWorkload{"sql-replace", Protocol::kSql, 1, "REPLACE one row"},
    KnownWorkload{"handler-read", Protocol::kSql, 1, "HANDLER ... READ one row"},
    KnownWorkload{"x-get", Protocol::kX, 1, "find one row, X Protocol, prepared"},
    KnownWorkload{"x-update", Protocol::kX, 1, "set --update-columns of one row"},
    KnownWorkload{"x-insert", Protocol::kX, 1, "insert rows from --first-id on"},
    KnownWorkload{"x-decrement", Protocol::kX, 1, "take 1 where above --guard"},
};

constexpr double kFillSecondsMax = 3600;

const KnownWorkload* FindWorkload(const std::string& name) {
  for (const KnownWorkload& known : kWorkloads) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

std::string WorkloadHelp() {
  std::string help = "Workloads:\n";
  for (const KnownWorkload& known : kWorkloads) {
    std::string name = known.name;
    name.resize(19, ' ');
    help += "  " + name + known.what + "\n";
  }
  return help + "Texts may hold {n} {n:8} {n%5} {v} {x*40}: see bench/README.md.";
}

void AddRunOptions(CLI::App* app, Options* o) {
  app->add_option("--workload", o->workload, "what to send; see below")->required();
  app->add_option("--host", o->host, "IPv4 or IPv6 address");
  app->add_option("--port", o->port, "TCP port");
  app->add_option("--socket", o->socket_path, "path of a UNIX socket, instead of host and port");
  app->add_flag("--tls", o->tls, "TLS; the server's certificate is not checked");
  app->add_option("--auth", o->auth, "HandlerSocket's secret");
  app->add_option("--user", o->user, "SQL");
  app->add_option("--password", o->password, "SQL");
  app->add_option("-C,--connections", o->connections, "connections of all threads together")
      ->check(CLI::Range(1, 100'000));
  app->add_option("-D,--depth", o->depth, "requests in flight per connection")
      ->check(CLI::Range(1, 100'000));
  app->add_option("-T,--threads", o->threads, "threads of the generator")->check(CLI::Range(1, 64));
  app->add_option("--idle", o->idle, "connections opened first that do nothing more")
      ->check(CLI::Range(0, 1'000'000));
  app->add_flag("--idle-hello", o->idle_hello, "idle connections open their indexes, too");
  app->add_option("--rate", o->rate, "requests per second by schedule; 0: as fast as replies come")
      ->check(CLI::Range(0.0, 1e9));
  app->add_option("--seconds", o->seconds, "measured time")->check(CLI::Range(0.01, 1e6));
  app->add_option("--warmup", o->warmup, "seconds before --seconds")->check(CLI::Range(0.0, 1e6));
  app->add_option("--requests", o->requests, "end when so many requests were sent");
  app->add_option("--seed", o->seed, "seed of the choice of keys");
  app->add_flag("--progress", o->progress, "a line each second, also without a terminal");
  app->add_option("--pid", o->server_pid, "server process whose CPU time is measured, too");
}

void AddDataOptions(CLI::App* app, Options* o) {
  app->add_option("--db", o->db, "schema");
  app->add_option("--table", o->table, "table");
  app->add_option("--index", o->index, "index that HandlerSocket uses");
  app->add_option("--key-column", o->key_column, "column that SQL compares and inserts set");
  app->add_option("--key", o->key_text, "text of row n's key");
  app->add_option("--columns", o->columns_text, "columns read or inserted, with commas");
  app->add_option("--values", o->values_text, "texts that row n has in --columns");
  app->add_option("--update-columns", o->update_columns_text, "columns that updates set");
  app->add_option("--set", o->set_text, "texts for --update-columns; memcached: the value");
  app->add_option("--rows", o->rows, "rows 1 to N are there")
      ->check(CLI::Range(uint64_t{1}, uint64_t{4'000'000'000}));
  app->add_option("--keys", o->keys_text, "uniform | zipf | zipf:THETA | hot:K");
  app->add_option("--batch", o->batch, "keys of IN lists and multi-gets, rows of sql-insert")
      ->check(CLI::Range(1, 10'000));
  app->add_option("--limit", o->limit, "rows of a range")->check(CLI::Range(1, 1'000'000));
  app->add_option("--first-id", o->first_id, "first id of inserts; by default rows + 1");
  app->add_option("--read-percent", o->read_percent, "percent of reads in mixed workloads")
      ->check(CLI::Range(0.0, 100.0));
  app->add_option("--expect-offset", o->expect_offset,
                  "expect the content of row n + offset: proves that replies are checked");
  app->add_option("--expect-reply", o->expect_reply,
                  "every reply is this text (\\t \\r \\n) and LF, as of rowsocket-null");
  app->add_option("--stock-column", o->stock_column, "column that is decremented");
  app->add_option("--orders-table", o->orders_table, "table of orders: user, item, token");
  app->add_flag("--with-tokens", o->with_tokens, "hs-purchase: a token in front of each group");
  app->add_option("--guard", o->guard, "decrement only above this value");
  app->add_option("--hot-rows", o->hot_rows, "rows 1 to K are decremented");
  app->add_option("--cold-percent", o->cold_percent, "percent of decrements that go to other rows")
      ->check(CLI::Range(0.0, 100.0));
  app->add_flag("--before-images", o->before_images, "ask for the value before the change");
  app->add_flag("--verify-conservation", o->verify_conservation,
                "no before-image may come twice; implies --before-images");
  app->add_option("--ma-flags", o->ma_flags, "meta flags after `ma KEY`");
  app->add_option("--redis-stock", o->redis_stock, "stock to begin with in each row; 0: as it is");
}

bool NeedsNoEscape(const Options& o) {
  return (o.key_text + o.values_text + o.set_text).find_first_of("'\\") == std::string::npos;
}

bool HasOneLinePerRequest(const Options& o) {
  return o.protocol == Protocol::kHandlerSocket || o.workload == "mc-get" ||
         o.workload == "mc-multiget" || o.workload == "mc-ma";
}

bool CompleteTexts(Options* o, std::string* error) {
  o->columns = SplitList(o->columns_text);
  o->update_columns = SplitList(o->update_columns_text);
  auto values = ParseTemplates(o->values_text, error);
  auto set = ParseTemplates(o->set_text, error);
  auto key = Template::Parse(o->key_text, error);
  auto keys = ParseKeys(o->keys_text);
  if (!values || !set || !key) return false;
  if (!keys) {
    *error = "--keys is uniform, zipf, zipf:THETA (between 0 and 1) or hot:K";
    return false;
  }
  o->values = std::move(*values);
  o->set = std::move(*set);
  o->key = std::move(*key);
  o->keys = *keys;
  return true;
}

bool NeedsValuePerColumn(const Options& o, std::string* error) {
  const bool has_hashes = o.workload == "redis-hmget" || o.workload == "redis-fill-hashes";
  if (o.protocol == Protocol::kMemcached) return true;
  if (o.protocol == Protocol::kRedis && !has_hashes) return true;
  if (o.values.size() != o.columns.size()) {
    *error = "--values has " + std::to_string(o.values.size()) + " texts for " +
             std::to_string(o.columns.size()) + " --columns";
    return false;
  }
  if (o.set.size() != o.update_columns.size()) {
    *error = "--set has " + std::to_string(o.set.size()) + " texts for " +
             std::to_string(o.update_columns.size()) + " --update-columns";
    return false;
  }
  return true;
}

}  // namespace

bool Complete(Options* o, std::string* error) {
  const KnownWorkload* known = FindWorkload(o->workload);
  if (known == nullptr) {
    *error = "there is no workload " + o->workload;
    return false;
  }
  o->protocol = known->protocol;
  if (o->batch == 0) o->batch = known->batch;
  if (o->first_id == 0) o->first_id = o->rows + 1;
  o->before_images = o->before_images || o->verify_conservation;
  if (!CompleteTexts(o, error) || !NeedsValuePerColumn(*o, error)) return false;
  if (o->workload.find("-fill") != std::string::npos) {
    o->requests = o->rows;
    o->warmup = 0;
    o->seconds = kFillSecondsMax;
  }
  if (o->port == 0 && o->socket_path.empty()) {
    *error = "--port or --socket is missing";
  } else if (o->threads > o->connections) {
    *error = "more --threads than --connections";
  } else if (o->protocol == Protocol::kSql && o->depth != 1) {
    *error = "SQL has one request in flight per connection: --depth 1";
  } else if (!o->expect_reply.empty() && !HasOneLinePerRequest(*o)) {
    *error = "--expect-reply is for requests of one line: hs-* and mc-get, mc-multiget, mc-ma";
  } else if (o->protocol == Protocol::kSql && o->idle != 0) {
    *error = "--idle is not for SQL";
  } else if (o->protocol == Protocol::kSql && !NeedsNoEscape(*o)) {
    *error = "texts of SQL hold no quotes and no backslashes";
  } else if (o->requests != 0 && o->requests < o->threads) {
    *error = "fewer --requests than --threads";
  } else if (o->hot_rows == 0 || o->hot_rows > o->rows) {
    *error = "--hot-rows is 1 to --rows";
  } else if (o->cold_percent > 0 && o->hot_rows == o->rows) {
    *error = "--cold-percent needs more --rows than --hot-rows";
  } else if (o->limit > o->rows && o->workload.ends_with("-range")) {
    *error = "--limit is more than --rows";
  } else if (o->verify_conservation &&
             (o->rows > BeforeImages::kRowMax ||
              (o->workload != "hs-decrement" && o->workload != "mc-ma"))) {
    *error = "--verify-conservation is for hs-decrement and mc-ma with less than 2^24 --rows";
  } else {
    return true;
  }
  return false;
}

std::optional<Options> ParseOptions(int argc, char** argv, int* exit_status) {
  Options options;
  CLI::App app("Sends one workload to a server, checks every reply, prints one JSON object.");
  app.option_defaults()->always_capture_default();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.footer(WorkloadHelp());
  AddRunOptions(&app, &options);
  AddDataOptions(&app, &options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  std::string error;
  if (!Complete(&options, &error)) {
    std::fprintf(stderr, "rowsocket-load: %s\n", error.c_str());
    *exit_status = 2;
    return std::nullopt;
  }
  return options;
}

}  // namespace rowsocket::bench
