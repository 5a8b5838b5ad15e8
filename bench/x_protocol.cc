#include "bench/x_protocol.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "bench/decrement.h"
#include "bench/x_frames.h"

namespace rowsocket::bench {
namespace {

using x::Message;

constexpr uint64_t kStatement = 1;   // the number that the session has for its statement
constexpr uint64_t kTableModel = 2;  // Mysqlx.Crud.DataModel
constexpr uint64_t kSet = 1;         // Mysqlx.Crud.UpdateOperation.UpdateType
constexpr size_t kDateTimeBytes = 19;
constexpr size_t kHelloReplies = 2;

// --- Expressions: Mysqlx.Expr.Expr ---

Message ColumnName(const std::string& name) { return Message().Text(2, name); }

Message Column(const std::string& name) {
  return Message().Number(1, 1).Inside(2, ColumnName(name));
}

Message Argument(uint64_t position) { return Message().Number(1, 6).Number(7, position); }

Message UnsignedScalar(uint64_t value) { return Message().Number(1, 2).Number(3, value); }

Message Literal(uint64_t value) { return Message().Number(1, 2).Inside(4, UnsignedScalar(value)); }

Message Operator(std::string_view name, const Message& left, const Message& right) {
  return Message().Number(1, 5).Inside(6, Message().Text(1, name).Inside(2, left).Inside(2, right));
}

Message Assignment(const std::string& column, const Message& value) {
  return Message().Inside(1, ColumnName(column)).Number(2, kSet).Inside(3, value);
}

// --- Arguments of Execute: field 2, a Mysqlx.Datatypes.Any with a scalar ---

char* WriteScalarHead(char* at, size_t scalar_bytes) {
  *at++ = 2 << 3 | 2;
  at = x::WriteVarint(at, 3 + x::VarintBytes(scalar_bytes) + scalar_bytes);
  at = x::WriteVarint(x::WriteVarint(at, 1 << 3), 1);
  *at++ = 2 << 3 | 2;
  return x::WriteVarint(at, scalar_bytes);
}

char* WriteNumberArgument(char* at, uint64_t value) {
  at = WriteScalarHead(at, 3 + x::VarintBytes(value));
  at = WriteText(at, "\x08\x02\x18");
  return x::WriteVarint(at, value);
}

char* WriteTextArgument(char* at, std::string_view text) {
  const size_t string_bytes = 1 + x::VarintBytes(text.size()) + text.size();
  at = WriteScalarHead(at, 3 + x::VarintBytes(string_bytes) + string_bytes);
  at = WriteText(at, "\x08\x08\x4a");
  at = x::WriteVarint(at, string_bytes);
  *at++ = 1 << 3 | 2;
  at = x::WriteVarint(at, text.size());
  return WriteText(at, text);
}

constexpr size_t kArgumentHeadBytesMax = 64;

// --- Cells of a row ---

/// The numbers of `2010-02-03 11:22:33`, each a varint; the last ones are left out while they are
/// 0. False: `text` is no such text.
bool AppendDateTime(std::string_view text, std::string* cell) {
  constexpr std::string_view kShape = "0000-00-00 00:00:00";
  if (text.size() != kDateTimeBytes) return false;
  uint64_t numbers[6] = {};
  size_t count = 1;
  for (size_t i = 0; i < kDateTimeBytes; ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (is_digit != (kShape[i] == '0') || (!is_digit && text[i] != kShape[i])) return false;
    if (!is_digit) {
      ++count;
      continue;
    }
    numbers[count - 1] = numbers[count - 1] * 10 + static_cast<uint64_t>(text[i] - '0');
  }
  while (count > 3 && numbers[count - 1] == 0) --count;
  for (size_t i = 0; i < count; ++i) {
    char digits[x::kVarintBytesMax];
    cell->append(digits, static_cast<size_t>(x::WriteVarint(digits, numbers[i]) - digits));
  }
  return true;
}

/// The payload of a row with these texts: a text ends with a byte 0.
std::string RowOf(const Templates& texts, uint64_t row) {
  Message message;
  std::string cell;
  for (const Template& column : texts) {
    const std::string text = column.ToString(row, 0);
    cell.clear();
    if (!AppendDateTime(text, &cell)) cell = text + '\0';
    message.Text(1, cell);
  }
  return message.bytes();
}

/// The number of rows that a change has affected, from a notice of the session's state; -1: the
/// notice is about something else.
int64_t RowsAffected(std::string_view notice) {
  constexpr uint64_t kSessionStateChanged = 3;
  constexpr uint64_t kRowsAffected = 4;
  if (x::FindField(notice, 1).value != kSessionStateChanged) return -1;
  const std::string_view change = x::FindField(notice, 3).text;
  if (x::FindField(change, 1).value != kRowsAffected) return -1;
  return static_cast<int64_t>(x::FindField(x::FindField(change, 2).text, 3).value);
}

/// The common part: a session that has prepared one statement, and the replies up to its end.
class Base : public Workload {
 public:
  Base(const Options& options, uint64_t seed)
      : options_(options), chooser_(options.keys, options.rows, seed) {}

  // The server takes PLAIN only over TLS and UNIX sockets.
  Hello MakeHello() override {
    const std::string zero(1, '\0');
    const std::string account = zero + options_.user + zero + options_.password;
    return {Message().Text(1, "PLAIN").Text(2, account).Frame(x::Request::kAuthenticateStart) +
                Message()
                    .Number(1, kStatement)
                    .Inside(2, Message().Number(1, kind_).Inside(kind_ + 2, statement_))
                    .Frame(x::Request::kPrepare),
            kHelloReplies};
  }

  Checked CheckHello(std::string_view received, size_t number) override {
    static constexpr x::Reply kExpected[kHelloReplies] = {x::Reply::kAuthenticateOk, x::Reply::kOk};
    for (size_t at = 0;;) {
      const x::Frame frame = x::FirstFrame(received.substr(at));
      if (frame.bytes == 0) return {};
      at += frame.bytes;
      if (frame.type == x::Reply::kNotice) continue;
      if (number < kHelloReplies && frame.type == kExpected[number]) {
        return {at, Verdict::kRight, 0, 0, false, {}};
      }
      return {at, Verdict::kError, 0, 0, false, ErrorText(frame)};
    }
  }

  size_t RequestBytesMax() const override {
    return x::kFrameHeadBytes + (arguments_max_ + 2) * kArgumentHeadBytesMax + texts_bytes_max_;
  }

  Checked Check(std::string_view received, const Sent&, const uint64_t* keys) override {
    uint32_t rows = 0;
    bool right = true;
    int64_t affected = 0;
    for (size_t at = 0;;) {
      const x::Frame frame = x::FirstFrame(received.substr(at));
      if (frame.bytes == 0) return {};
      at += frame.bytes;
      if (frame.type == x::Reply::kError) {
        return {at, Verdict::kError, 0, 0, false, ErrorText(frame)};
      }
      if (frame.type == x::Reply::kRow) {
        ++rows;
        right = right && frame.payload == RowOf(options_.values, options_.ExpectedRow(keys[0]));
      }
      if (frame.type == x::Reply::kNotice)
        affected = std::max(affected, RowsAffected(frame.payload));
      if (frame.type == x::Reply::kExecuteOk) {
        Checked checked = Judge(rows, right, affected);
        checked.bytes = at;
        if (checked.verdict == Verdict::kMismatch) checked.text = received.substr(0, at);
        return checked;
      }
    }
  }

 protected:
  virtual Checked Judge(uint32_t rows, bool right, int64_t affected) const = 0;

  Message Collection() const { return Message().Text(1, options_.table).Text(2, options_.db); }

  /// Sets what the hello prepares. `kind` is one of Mysqlx.Prepare.Prepare.OneOfMessage.
  void Prepare(uint64_t kind, Message statement, size_t arguments, size_t texts_bytes) {
    kind_ = kind;
    statement_ = std::move(statement);
    arguments_max_ = arguments;
    texts_bytes_max_ = texts_bytes;
    text_.resize(texts_bytes);
  }

  /// Where the arguments of a request begin.
  static char* Arguments(char* at) {
    at += x::kFrameHeadBytes;
    *at++ = 1 << 3;
    *at++ = static_cast<char>(kStatement);
    return at;
  }
  static char* Finish(char* begin, char* at) {
    *at++ = 3 << 3;  // compact_metadata
    *at++ = 1;
    const auto payload = static_cast<size_t>(at - begin) - x::kFrameHeadBytes;
    x::WriteFrameHead(begin, payload, x::Request::kExecute);
    return at;
  }
  char* WriteTexts(char* at, const Templates& texts, uint64_t row, uint64_t serial) {
    for (const Template& text : texts) {
      const char* end = text.Write(text_.data(), row, serial);
      at = WriteTextArgument(at, {text_.data(), static_cast<size_t>(end - text_.data())});
    }
    return at;
  }

  const Options& options_;
  KeyChooser chooser_;

 private:
  static std::string_view ErrorText(const x::Frame& frame) {
    return frame.type == x::Reply::kError ? x::FindField(frame.payload, 3).text
                                          : std::string_view("an unexpected reply");
  }

  uint64_t kind_ = 0;
  Message statement_;
  size_t arguments_max_ = 0;
  size_t texts_bytes_max_ = 0;
  std::vector<char> text_;
};

constexpr uint64_t kFind = 0, kInsert = 1, kUpdate = 2;

class Find : public Base {
 public:
  Find(const Options& options, uint64_t seed) : Base(options, seed) {
    Message find = Message().Inside(2, Collection()).Number(3, kTableModel);
    for (const std::string& name : options.columns) {
      find.Inside(4, Message().Inside(1, Column(name)));
    }
    find.Inside(5, Operator("==", Column(options.key_column), Argument(0)));
    Prepare(kFind, std::move(find), 1, 0);
  }

  char* Build(char* begin, Sent* sent, uint64_t* keys) override {
    sent->key = keys[0] = chooser_.Next();
    return Finish(begin, WriteNumberArgument(Arguments(begin), keys[0]));
  }

 private:
  Checked Judge(uint32_t rows, bool right, int64_t) const override {
    return {0, rows == 1 && right ? Verdict::kRight : Verdict::kMismatch, rows, 0, false, {}};
  }
};

class Update : public Base {
 public:
  Update(const Options& options, Shared* shared, uint64_t seed)
      : Base(options, seed), shared_(shared) {
    const uint64_t count = options.update_columns.size();
    Message update = Message().Inside(2, Collection()).Number(3, kTableModel);
    update.Inside(4, Operator("==", Column(options.key_column), Argument(count)));
    for (uint64_t i = 0; i < count; ++i) {
      update.Inside(7, Assignment(options.update_columns[i], Argument(i)));
    }
    Prepare(kUpdate, std::move(update), count + 1, JoinedBytesMax(options.set));
  }

  char* Build(char* begin, Sent* sent, uint64_t* keys) override {
    sent->key = keys[0] = chooser_.Next();
    const uint64_t serial = shared_->next_serial.fetch_add(1, std::memory_order_relaxed);
    char* at = WriteTexts(Arguments(begin), options_.set, keys[0], serial);
    return Finish(begin, WriteNumberArgument(at, keys[0]));
  }

 private:
  Checked Judge(uint32_t, bool, int64_t affected) const override {
    return {0, affected == 1 ? Verdict::kRight : Verdict::kMismatch, 1, 0, false, {}};
  }

  Shared* shared_;
};

class Insert : public Base {
 public:
  Insert(const Options& options, Shared* shared, uint64_t seed)
      : Base(options, seed), shared_(shared) {
    Message insert = Message().Inside(1, Collection()).Number(2, kTableModel);
    insert.Inside(3, Message().Text(1, options.key_column));
    Message row = Message().Inside(1, Argument(0));
    for (uint64_t i = 0; i < options.columns.size(); ++i) {
      insert.Inside(3, Message().Text(1, options.columns[i]));
      row.Inside(1, Argument(i + 1));
    }
    insert.Inside(4, row);
    Prepare(kInsert, std::move(insert), options.columns.size() + 1, JoinedBytesMax(options.values));
  }

  char* Build(char* begin, Sent* sent, uint64_t* keys) override {
    sent->key = keys[0] = shared_->next_insert_id.fetch_add(1, std::memory_order_relaxed);
    char* at = WriteNumberArgument(Arguments(begin), keys[0]);
    return Finish(begin, WriteTexts(at, options_.values, keys[0], 0));
  }

 private:
  Checked Judge(uint32_t, bool, int64_t affected) const override {
    return {0, affected == 1 ? Verdict::kRight : Verdict::kMismatch, 1, 0, false, {}};
  }

  Shared* shared_;
};

/// UPDATE ... SET stock = stock - 1 WHERE id = KEY AND stock > GUARD.
class Decrement : public Base {
 public:
  Decrement(const Options& options, uint64_t seed) : Base(options, seed) {
    const Message stock = Column(options.stock_column);
    Message update = Message().Inside(2, Collection()).Number(3, kTableModel);
    update.Inside(4, Operator("&&", Operator("==", Column(options.key_column), Argument(0)),
                              Operator(">", stock, Literal(options.guard))));
    update.Inside(7, Assignment(options.stock_column, Operator("-", stock, Literal(1))));
    Prepare(kUpdate, std::move(update), 1, 0);
  }

  char* Build(char* begin, Sent* sent, uint64_t* keys) override {
    sent->key = keys[0] = ChooseDecremented(options_, chooser_.random());
    return Finish(begin, WriteNumberArgument(Arguments(begin), keys[0]));
  }

 private:
  Checked Judge(uint32_t, bool, int64_t affected) const override {
    const Verdict verdict = affected == 1   ? Verdict::kApplied
                            : affected == 0 ? Verdict::kNotApplied
                                            : Verdict::kMismatch;
    return {0, verdict, 1, 0, false, {}};
  }
};

}  // namespace

std::unique_ptr<Workload> MakeXProtocol(const Options& options, Shared* shared, uint64_t seed) {
  if (options.workload == "x-update") return std::make_unique<Update>(options, shared, seed);
  if (options.workload == "x-insert") return std::make_unique<Insert>(options, shared, seed);
  if (options.workload == "x-decrement") return std::make_unique<Decrement>(options, seed);
  return std::make_unique<Find>(options, seed);
}

}  // namespace rowsocket::bench
