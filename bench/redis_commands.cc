#include "bench/redis_commands.h"

#include <algorithm>
#include <vector>

#include "bench/decrement.h"
#include "bench/lines.h"

namespace rowsocket::bench {
namespace {

constexpr char kSeparator = '|';
// "$" or "*", the digits of a number, CR LF.
constexpr size_t kHeadBytesMax = kNumberBytesMax + 3;

char* WriteHead(char* at, char kind, size_t number) {
  *at++ = kind;
  at = WriteNumber(at, number);
  return WriteText(at, "\r\n");
}

char* WriteBulk(char* at, std::string_view text) {
  at = WriteHead(at, '$', text.size());
  at = WriteText(at, text);
  return WriteText(at, "\r\n");
}

size_t BulkBytesMax(size_t text_bytes) { return kHeadBytesMax + text_bytes + 2; }

std::string Bulk(std::string_view text) {
  std::string bulk(BulkBytesMax(text.size()), '\0');
  bulk.resize(static_cast<size_t>(WriteBulk(bulk.data(), text) - bulk.data()));
  return bulk;
}

std::string Head(char kind, size_t number) {
  std::string head(kHeadBytesMax, '\0');
  head.resize(static_cast<size_t>(WriteHead(head.data(), kind, number) - head.data()));
  return head;
}

/// A template's text in memory that the workload owns.
class Buffer {
 public:
  explicit Buffer(size_t bytes_max) : bytes_(bytes_max) {}

  std::string_view Of(const Template& text, uint64_t n) {
    return Until(text.Write(bytes_.data(), n, 0));
  }
  std::string_view Joined(const Templates& texts, uint64_t n, uint64_t serial) {
    return Until(WriteJoined(texts, kSeparator, bytes_.data(), n, serial));
  }

 private:
  std::string_view Until(const char* end) const {
    return {bytes_.data(), static_cast<size_t>(end - bytes_.data())};
  }

  std::vector<char> bytes_;
};

enum class Part : uint8_t { kPresent, kIncomplete, kOther };

/// Takes one bulk string off the front of what was received from *at on.
Part TakeBulk(std::string_view received, size_t* at, std::string_view* text) {
  const CrLfLine line = FirstCrLfLine(received.substr(*at));
  if (line.bytes == 0) return Part::kIncomplete;
  size_t bytes = 0;
  if (!line.text.starts_with("$") || !ParseWholeNumber(line.text.substr(1), &bytes)) {
    return Part::kOther;
  }
  const size_t begin = *at + line.bytes;
  if (received.size() - begin < bytes + 2) return Part::kIncomplete;
  *text = received.substr(begin, bytes);
  *at = begin + bytes + 2;
  return Part::kPresent;
}

Checked Wrong(const CrLfLine& line) {
  const bool is_error = line.text.starts_with("-");
  return {line.bytes, is_error ? Verdict::kError : Verdict::kMismatch, 0, 0, false, line.text};
}

Checked Mismatch(std::string_view received, size_t bytes) {
  return {bytes, Verdict::kMismatch, 0, 0, false, received.substr(0, bytes)};
}

Checked CheckOk(std::string_view received, std::string_view ok) {
  const CrLfLine line = FirstCrLfLine(received);
  if (line.bytes == 0) return {};
  return line.text == ok ? Checked{line.bytes, Verdict::kRight, 1, 0, false, {}} : Wrong(line);
}

class Command : public Workload {
 public:
  Checked CheckHello(std::string_view, size_t) override { return {}; }
};

enum class ReadKind : uint8_t { kGet, kMget, kHmget };

/// redis-get, redis-mget and redis-hmget: one bulk string, or an array of them.
class Read : public Command {
 public:
  Read(const Options& options, uint64_t seed, ReadKind kind)
      : options_(options),
        chooser_(options.keys, options.rows, seed),
        kind_(kind),
        count_(kind == ReadKind::kMget ? options.batch : 1),
        key_(options.key.MaxBytes()),
        expected_(JoinedBytesMax(options.values)) {
    if (kind == ReadKind::kGet) prefix_ = Head('*', 2) + Bulk("GET");
    if (kind == ReadKind::kMget) prefix_ = Head('*', 1 + count_) + Bulk("MGET");
    if (kind == ReadKind::kHmget) {
      prefix_ = Head('*', 2 + options.columns.size()) + Bulk("HMGET");
      for (const std::string& column : options.columns) suffix_ += Bulk(column);
    }
  }

  size_t RequestBytesMax() const override {
    return prefix_.size() + suffix_.size() + count_ * BulkBytesMax(options_.key.MaxBytes());
  }
  size_t KeysPerRequest() const override { return count_; }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    at = WriteText(at, prefix_);
    for (size_t i = 0; i < count_; ++i) {
      keys[i] = chooser_.Next();
      at = WriteBulk(at, key_.Of(options_.key, keys[i]));
    }
    sent->key = keys[0];
    return WriteText(at, suffix_);
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t* keys) override {
    size_t at = 0;
    const size_t texts = kind_ == ReadKind::kHmget ? options_.values.size() : count_;
    if (kind_ != ReadKind::kGet) {
      const CrLfLine line = FirstCrLfLine(received);
      if (line.bytes == 0) return {};
      size_t count = 0;
      if (!line.text.starts_with("*") || !ParseWholeNumber(line.text.substr(1), &count) ||
          count != texts) {
        return Wrong(line);
      }
      at = line.bytes;
    }
    bool right = true;
    for (size_t i = 0; i < texts; ++i) {
      std::string_view text;
      const Part part = TakeBulk(received, &at, &text);
      if (part == Part::kIncomplete) return {};
      if (part == Part::kOther) return Wrong(FirstCrLfLine(received.substr(at)));
      right = right && text == Expected(i, keys);
    }
    if (!right) return Mismatch(received, at);
    return {at, Verdict::kRight, static_cast<uint32_t>(count_), 0, false, {}};
  }

 private:
  std::string_view Expected(size_t i, const uint64_t* keys) {
    if (kind_ == ReadKind::kHmget) {
      return expected_.Of(options_.values[i], options_.ExpectedRow(keys[0]));
    }
    return expected_.Joined(options_.values, options_.ExpectedRow(keys[i]), 0);
  }

  const Options& options_;
  KeyChooser chooser_;
  const ReadKind kind_;
  const size_t count_;
  std::string prefix_;
  std::string suffix_;
  Buffer key_;
  Buffer expected_;
};

/// redis-set and redis-fill-texts: SET of a text.
class Set : public Command {
 public:
  Set(const Options& options, Shared* shared, uint64_t seed, bool fill)
      : options_(options),
        shared_(shared),
        chooser_(options.keys, options.rows, seed),
        fill_(fill),
        key_(options.key.MaxBytes()),
        value_(JoinedBytesMax(Values())) {}

  size_t RequestBytesMax() const override {
    return prefix_.size() + BulkBytesMax(options_.key.MaxBytes()) +
           BulkBytesMax(JoinedBytesMax(Values()));
  }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = fill_ ? NextToFill(options_, shared_) : chooser_.Next();
    sent->key = keys[0];
    const uint64_t serial = shared_->next_serial.fetch_add(1, std::memory_order_relaxed);
    at = WriteText(at, prefix_);
    at = WriteBulk(at, key_.Of(options_.key, keys[0]));
    return WriteBulk(at, value_.Joined(Values(), keys[0], serial));
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    return CheckOk(received, "+OK");
  }

 private:
  const Templates& Values() const { return fill_ ? options_.values : options_.set; }

  const Options& options_;
  Shared* shared_;
  KeyChooser chooser_;
  const bool fill_;
  const std::string prefix_ = Head('*', 3) + Bulk("SET");
  Buffer key_;
  Buffer value_;
};

/// redis-fill-hashes: HSET of --columns. The number of fields that were new is not judged.
class FillHashes : public Command {
 public:
  FillHashes(const Options& options, Shared* shared)
      : options_(options),
        shared_(shared),
        prefix_(Head('*', 2 + 2 * options.columns.size()) + Bulk("HSET")),
        text_(std::max(options.key.MaxBytes(), JoinedBytesMax(options.values))) {
    for (const std::string& column : options.columns) columns_.push_back(Bulk(column));
  }

  size_t RequestBytesMax() const override {
    size_t bytes = prefix_.size() + BulkBytesMax(options_.key.MaxBytes());
    for (size_t i = 0; i < columns_.size(); ++i) {
      bytes += columns_[i].size() + BulkBytesMax(options_.values[i].MaxBytes());
    }
    return bytes;
  }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = NextToFill(options_, shared_);
    sent->key = keys[0];
    at = WriteText(at, prefix_);
    at = WriteBulk(at, text_.Of(options_.key, keys[0]));
    for (size_t i = 0; i < columns_.size(); ++i) {
      at = WriteText(at, columns_[i]);
      at = WriteBulk(at, text_.Of(options_.values[i], keys[0]));
    }
    return at;
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const CrLfLine line = FirstCrLfLine(received);
    if (line.bytes == 0) return {};
    if (!line.text.starts_with(":")) return Wrong(line);
    return {line.bytes, Verdict::kRight, 1, 0, false, {}};
  }

 private:
  const Options& options_;
  Shared* shared_;
  const std::string prefix_;
  std::vector<std::string> columns_;
  Buffer text_;
};

/// redis-hincrby: each reply is the number after the change.
class Hincrby : public Command {
 public:
  Hincrby(const Options& options, uint64_t seed)
      : options_(options),
        random_(seed),
        suffix_(Bulk(options.stock_column) + Bulk("-1")),
        key_(options.key.MaxBytes()) {}

  size_t RequestBytesMax() const override {
    return prefix_.size() + suffix_.size() + BulkBytesMax(options_.key.MaxBytes());
  }

  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    keys[0] = ChooseDecremented(options_, &random_);
    sent->key = keys[0];
    at = WriteText(at, prefix_);
    at = WriteBulk(at, key_.Of(options_.key, keys[0]));
    return WriteText(at, suffix_);
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    const CrLfLine line = FirstCrLfLine(received);
    if (line.bytes == 0) return {};
    int64_t after = 0;
    if (!line.text.starts_with(":") || !ParseWholeNumber(line.text.substr(1), &after)) {
      return Wrong(line);
    }
    if (after < 0) return Mismatch(received, line.bytes);
    return {line.bytes, Verdict::kApplied, 1, static_cast<uint64_t>(after) + 1, true, {}};
  }

 private:
  const Options& options_;
  Random random_;
  const std::string prefix_ = Head('*', 4) + Bulk("HINCRBY");
  const std::string suffix_;
  Buffer key_;
};

}  // namespace

std::unique_ptr<Workload> MakeRedisCommand(const Options& options, Shared* shared, uint64_t seed) {
  const std::string& name = options.workload;
  if (name == "redis-get") return std::make_unique<Read>(options, seed, ReadKind::kGet);
  if (name == "redis-mget") return std::make_unique<Read>(options, seed, ReadKind::kMget);
  if (name == "redis-hmget") return std::make_unique<Read>(options, seed, ReadKind::kHmget);
  if (name == "redis-set") return std::make_unique<Set>(options, shared, seed, false);
  if (name == "redis-fill-texts") return std::make_unique<Set>(options, shared, seed, true);
  if (name == "redis-fill-hashes") return std::make_unique<FillHashes>(options, shared);
  if (name == "redis-hincrby") return std::make_unique<Hincrby>(options, seed);
  return nullptr;
}

}  // namespace rowsocket::bench
