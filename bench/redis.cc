#include "bench/redis.h"

#include <vector>

#include "bench/decrement.h"
#include "bench/lines.h"
#include "bench/redis_commands.h"

namespace rowsocket::bench {
namespace {

// Returns the value before the change, -1 when the condition does not hold, -2 without the key.
constexpr std::string_view kScript =
    "local stock = tonumber(redis.call('GET', KEYS[1])) "
    "if not stock then return -2 end "
    "if stock <= tonumber(ARGV[1]) then return -1 end "
    "redis.call('DECR', KEYS[1]) return stock";
// Does what kScript does, and appends the order after the decrement.
constexpr std::string_view kPurchaseScript =
    "local stock = tonumber(redis.call('GET', KEYS[1])) "
    "if not stock then return -2 end "
    "if stock <= tonumber(ARGV[1]) then return -1 end "
    "redis.call('DECR', KEYS[1]) redis.call('RPUSH', KEYS[2], ARGV[2]) return stock";
constexpr size_t kDigestBytes = 40;

std::string Bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

/// The hello loads the script, whose digest the requests name; on the first connection the hello
/// also writes the stock to begin with.
class Decrement : public Workload {
 public:
  Decrement(const Options& options, Shared* shared, uint64_t seed)
      : options_(options),
        shared_(shared),
        purchases_(options.workload == "redis-purchase"),
        random_(seed),
        suffix_(Bulk(std::to_string(options.guard))),
        key_(options.key.MaxBytes()),
        fill_(options.redis_stock != 0) {}

  Hello MakeHello() override {
    Hello hello;
    hello.bytes =
        "*3\r\n" + Bulk("SCRIPT") + Bulk("LOAD") + Bulk(purchases_ ? kPurchaseScript : kScript);
    hello.replies = 1;
    if (!fill_) return hello;
    fill_ = false;
    const uint64_t last = options_.cold_percent > 0 ? options_.rows : options_.hot_rows;
    for (uint64_t row = 1; row <= last; ++row) {
      hello.bytes += "*3\r\n" + Bulk("SET") + Bulk(options_.key.ToString(row, 0)) +
                     Bulk(std::to_string(options_.redis_stock));
      ++hello.replies;
    }
    return hello;
  }

  Checked CheckHello(std::string_view received, size_t number) override {
    const CrLfLine line = FirstCrLfLine(received);
    if (line.bytes == 0) return {};
    if (number != 0) {
      return {line.bytes, line.text == "+OK" ? Verdict::kRight : Verdict::kError, 0, 0, false,
              line.text};
    }
    if (line.text != "$" + std::to_string(kDigestBytes)) {
      return {line.bytes, Verdict::kError, 0, 0, false, line.text};
    }
    const size_t bytes = line.bytes + kDigestBytes + 2;
    if (received.size() < bytes) return {};
    prefix_ = (purchases_ ? "*7\r\n" : "*5\r\n") + Bulk("EVALSHA") +
              Bulk(received.substr(line.bytes, kDigestBytes)) + Bulk(purchases_ ? "2" : "1") + "$";
    return {bytes, Verdict::kRight, 0, 0, false, {}};
  }

  size_t RequestBytesMax() const override {
    return 128 + kNumberBytesMax + options_.key.MaxBytes() + suffix_.size() + kOrderBytesMax +
           options_.orders_table.size();
  }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = ChooseDecremented(options_, &random_);
    sent->key = keys[0];
    const char* end = options_.key.Write(key_.data(), keys[0], 0);
    const std::string_view key(key_.data(), static_cast<size_t>(end - key_.data()));
    at = WriteText(at, prefix_);
    at = WriteNumber(at, key.size());
    at = WriteText(at, "\r\n");
    at = WriteText(at, key);
    at = WriteText(at, "\r\n");
    if (!purchases_) return WriteText(at, suffix_);
    at = WriteText(at, Bulk(options_.orders_table));
    at = WriteText(at, suffix_);
    const uint64_t serial = shared_->next_serial.fetch_add(1, std::memory_order_relaxed);
    return WriteText(at, Bulk(std::to_string(serial % 100'000) + " " + std::to_string(keys[0]) +
                              " t" + std::to_string(serial)));
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const CrLfLine line = FirstCrLfLine(received);
    if (line.bytes == 0) return {};
    if (line.text.starts_with("-")) {
      return {line.bytes, Verdict::kError, 0, 0, false, line.text};
    }
    int64_t before = 0;
    if (!line.text.starts_with(":") || !ParseWholeNumber(line.text.substr(1), &before)) {
      return {line.bytes, Verdict::kMismatch, 0, 0, false, line.text};
    }
    if (before == -1) return {line.bytes, Verdict::kNotApplied, 1, 0, false, {}};
    if (before <= static_cast<int64_t>(options_.guard)) {
      return {line.bytes, Verdict::kMismatch, 0, 0, false, line.text};
    }
    return {line.bytes, Verdict::kApplied, 1, static_cast<uint64_t>(before), true, {}};
  }

 private:
  static constexpr size_t kOrderBytesMax = 96;

  const Options& options_;
  Shared* shared_;
  const bool purchases_;
  Random random_;
  std::string prefix_;
  const std::string suffix_;
  std::vector<char> key_;
  bool fill_;
};

}  // namespace

std::unique_ptr<Workload> MakeRedis(const Options& options, Shared* shared, uint64_t seed) {
  std::unique_ptr<Workload> command = MakeRedisCommand(options, shared, seed);
  if (command) return command;
  return std::make_unique<Decrement>(options, shared, seed);
}

}  // namespace rowsocket::bench
