#include "protocol/handlersocket/parser.h"

#include <algorithm>
#include <limits>

#include "model/client_name.h"
#include "protocol/handlersocket/gtids.h"
#include "protocol/handlersocket/line_words.h"

namespace rowsocket::handlersocket {

using model::CompareOp;
using model::ErrorCode;
using model::Modification;
using model::Value;

namespace {

uint32_t Saturate(uint64_t number) {
  return static_cast<uint32_t>(std::min<uint64_t>(number, std::numeric_limits<uint32_t>::max()));
}

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }

/// The operators of keys; filters also have `!=`.
std::optional<CompareOp> ParseCompareOp(std::string_view word) {
  const bool or_equal = word.size() == 2 && word[1] == '=';
  if (word.empty() || (word.size() != 1 && !or_equal)) return std::nullopt;
  switch (word[0]) {
    case '=':
      return or_equal ? std::nullopt : std::optional(CompareOp::kEq);
    case '>':
      return or_equal ? CompareOp::kGe : CompareOp::kGt;
    case '<':
      return or_equal ? CompareOp::kLe : CompareOp::kLt;
    default:
      return std::nullopt;
  }
}

std::optional<Modification> ParseModification(char byte) {
  switch (byte) {
    case 'U':
      return Modification::kUpdate;
    case 'D':
      return Modification::kDelete;
    case '+':
      return Modification::kIncrement;
    case '-':
      return Modification::kDecrement;
    default:
      return std::nullopt;
  }
}

class LineParser {
 public:
  LineParser(std::string_view line, const model::Limits& limits, base::Arena& arena,
             Command* command)
      : words_(line), limits_(limits), arena_(arena), command_(*command) {}

  void Parse() {
    const std::string_view verb = words_.NextOrEmpty();
    if (verb == "P") {
      ParseOpenIndex();
    } else if (verb == "A") {
      ParseAuth();
    } else if (!verb.empty() && IsDigit(verb.front())) {
      ParseRequest(verb);
    } else if (verb == "H") {
      ParseServerQuestion();
    } else if (verb == "N") {
      ParseName();
    } else {
      AddError(ErrorCode::kCmd);
    }
  }

 private:
  void ParseOpenIndex();
  void ParseAuth();
  void ParseServerQuestion();
  void ParseName();
  void ParseRequest(std::string_view id);
  void ParseInsert();
  void ParseFind();
  void ParseIn();
  void ParseFilters();
  void ParseFilter(model::Filter* filter);
  void ParseModifications();

  void TakeIndexId(std::optional<uint64_t> id);
  std::string_view NextName();
  std::span<const std::string_view> NextNames();
  /// Takes the next word, which is a number; 0 when the line has ended.
  uint64_t NextNumber();
  uint64_t NextCount(ErrorCode if_zero);
  /// Takes `given` values off the line and returns the first `kept_max` of them. Values that the
  /// line counts but does not have are empty strings.
  std::span<const Value> NextValues(uint64_t given, uint64_t kept_max);

  /// Whether a request may hold `count` values; adds the error if not.
  bool WithinLimit(uint64_t count) {
    if (count <= limits_.values_max) return true;
    AddError(ErrorCode::kValuesCount);
    return false;
  }

  void AddError(ErrorCode code) { command_.errors.Add(code); }

  LineWords words_;
  const model::Limits& limits_;
  base::Arena& arena_;
  Command& command_;
};

void LineParser::ParseOpenIndex() {
  command_.kind = Command::Kind::kOpenIndex;
  std::string_view id;
  TakeIndexId(words_.Next(&id) ? ParseNumber(id) : 0);
  command_.open_index.database = NextName();
  command_.open_index.table = NextName();
  command_.open_index.index = NextName();
  command_.open_index.columns = NextNames();
  command_.open_index.filter_columns = NextNames();
}

void LineParser::ParseAuth() {
  command_.kind = Command::Kind::kAuth;
  const std::string_view type = words_.NextOrEmpty();
  if (type != "1") AddError(ErrorCode::kAuthtype);
  command_.auth_key = WordValue(words_.NextOrEmpty(), arena_);
  command_.auth_names_user = type == "2";
  if (command_.auth_names_user) command_.auth_password = WordValue(words_.NextOrEmpty(), arena_);
}

void LineParser::ParseServerQuestion() {
  command_.kind = Command::Kind::kServerQuestion;
  ServerQuestion& question = command_.server_question;
  const std::string_view check = words_.NextOrEmpty();
  if (check == "read") {
    question.kind = ServerQuestion::Kind::kTakesReads;
    if (!words_.at_end()) question.lag_max_s = NextNumber();
  } else if (check == "write") {
    question.kind = ServerQuestion::Kind::kTakesWrites;
  } else if (check == "position") {
    question.kind = ServerQuestion::Kind::kPosition;
  } else if (check == "group") {
    question.kind = ServerQuestion::Kind::kServesGroups;
  } else if (check == "name") {
    question.kind = ServerQuestion::Kind::kServesNames;
  } else if (check == "at") {
    question.kind = ServerQuestion::Kind::kHasExecuted;
    const ErrorCode error = ParseGtids(words_.NextOrEmpty(), arena_, &question);
    if (error != ErrorCode::kNone) AddError(error);
  } else if (!check.empty()) {
    AddError(ErrorCode::kOp);
  }
}

void LineParser::ParseName() {
  command_.kind = Command::Kind::kName;
  const Value name = WordValue(words_.NextOrEmpty(), arena_);
  if (name.is_null() || !model::IsClientName(name.text())) {
    return AddError(ErrorCode::kClientName);
  }
  command_.client_name = name.text();
}

void LineParser::ParseRequest(std::string_view id) {
  command_.kind = Command::Kind::kRequest;
  TakeIndexId(ParseNumber(id));
  const std::string_view op = words_.NextOrEmpty();
  if (op == "+") return ParseInsert();
  if (const std::optional<CompareOp> compare = ParseCompareOp(op)) {
    command_.request.find.op = *compare;
  } else {
    AddError(op == "S" ? ErrorCode::kNotimpl : ErrorCode::kOp);
  }
  ParseFind();
}

// Words after the values are ignored: Perl's client sends a limit there.
void LineParser::ParseInsert() {
  command_.wants_write = true;
  command_.request.verb = model::Request::Verb::kInsert;
  const uint64_t count = NextCount(ErrorCode::kKlen);
  // Values above the number of opened columns are not used, and P may name only kColumnsMax
  // columns.
  const uint64_t kept_max = WithinLimit(count) ? model::kColumnsMax : 0;
  command_.request.insert.values = NextValues(count, kept_max);
}

void LineParser::ParseFind() {
  model::Find& find = command_.request.find;
  const uint64_t count = NextCount(ErrorCode::kKlen);
  find.key_parts_given = Saturate(count);
  find.key = NextValues(count, model::kKeyPartsMax);
  // Most finds end here; otherwise the find goes on with offset, IN, filters or a modification.
  if (words_.at_end()) return;
  find.limit = std::max<uint64_t>(NextNumber(), 1);
  find.offset = NextNumber();
  if (words_.PeekByte() == '@') ParseIn();
  ParseFilters();
  ParseModifications();
}

void LineParser::ParseIn() {
  model::Find& find = command_.request.find;
  words_.Skip(1);  // Skips the `@`, and what follows it in the same word.
  const uint64_t part = NextNumber();
  const uint64_t count = NextCount(ErrorCode::kInvalueslen);
  find.has_in = true;
  find.in_part = Saturate(part);
  if (part >= find.key_parts_given) AddError(ErrorCode::kKpnum);
  find.in_values = NextValues(count, WithinLimit(count) ? count : 0);
}

void LineParser::ParseFilters() {
  const auto is_filter = [](char byte) { return byte == 'F' || byte == 'W'; };
  constexpr uint64_t kWords = 4;
  size_t count = 0;
  for (LineWords ahead = words_; is_filter(ahead.PeekByte()); ahead.Skip(kWords)) ++count;
  if (!WithinLimit(count)) return words_.Skip(kWords * count);
  const std::span<model::Filter> filters = arena_.Allocate<model::Filter>(count);
  for (model::Filter& filter : filters) ParseFilter(&filter);
  command_.request.find.filters = filters;
}

void LineParser::ParseFilter(model::Filter* filter) {
  const std::string_view type = words_.NextOrEmpty();
  if (type.size() > 1) AddError(ErrorCode::kFiltertype);
  filter->stops_scan = type.front() == 'W';
  const std::string_view op = words_.NextOrEmpty();
  const std::optional<CompareOp> compare = op == "!=" ? CompareOp::kNe : ParseCompareOp(op);
  if (!compare) AddError(ErrorCode::kOp);
  filter->op = compare.value_or(CompareOp::kEq);
  filter->column = Saturate(NextNumber());
  filter->value = WordValue(words_.NextOrEmpty(), arena_);
}

void LineParser::ParseModifications() {
  // An empty word in the place of the modification means none: the rest is ignored.
  const std::string_view word = words_.NextOrEmpty();
  if (word.empty()) return;
  command_.wants_write = true;
  const std::optional<Modification> modification = ParseModification(word.front());
  if (!modification) return AddError(ErrorCode::kModop);
  model::Find& find = command_.request.find;
  find.modification = *modification;
  find.wants_before_images = word.size() > 1 && word[1] == '?';
  // hs4j sends a value after D, which has no use for one.
  if (*modification == Modification::kDelete) return;
  const size_t count = words_.CountRest();
  find.modifications = NextValues(count, WithinLimit(count) ? count : 0);
}

void LineParser::TakeIndexId(std::optional<uint64_t> id) {
  command_.has_index_id = id.has_value();
  command_.index_id = id.value_or(0);
  if (!id) AddError(ErrorCode::kNumber);
  if (command_.index_id >= limits_.index_ids_max) AddError(ErrorCode::kStmtnum);
}

std::string_view LineParser::NextName() {
  const std::string_view word = words_.NextOrEmpty();
  return IsNullWord(word) ? std::string_view() : word;
}

std::span<const std::string_view> LineParser::NextNames() {
  const std::string_view list = NextName();
  if (list.empty()) return {};
  const size_t count = 1 + static_cast<size_t>(std::count(list.begin(), list.end(), ','));
  if (count > model::kColumnsMax) {
    AddError(ErrorCode::kValuesCount);
    return {};
  }
  const std::span<std::string_view> names = arena_.Allocate<std::string_view>(count);
  size_t begin = 0;
  for (std::string_view& name : names) {
    const size_t end = std::min(list.find(',', begin), list.size());
    name = list.substr(begin, end - begin);
    begin = end + 1;
  }
  return names;
}

uint64_t LineParser::NextNumber() {
  std::string_view word;
  if (!words_.Next(&word)) return 0;
  const std::optional<uint64_t> number = ParseNumber(word);
  if (!number) AddError(ErrorCode::kNumber);
  return number.value_or(0);
}

uint64_t LineParser::NextCount(ErrorCode if_zero) {
  const uint64_t count = NextNumber();
  if (count == 0) AddError(if_zero);
  return count;
}

std::span<const Value> LineParser::NextValues(uint64_t given, uint64_t kept_max) {
  const uint64_t kept = std::min(given, kept_max);
  const std::span<Value> values = arena_.Allocate<Value>(kept);
  for (Value& value : values) value = WordValue(words_.NextOrEmpty(), arena_);
  words_.Skip(given - kept);
  return values;
}

}  // namespace

Command ParseLine(std::string_view line, const model::Limits& limits, base::Arena& arena) {
  Command command;
  LineParser(line, limits, arena, &command).Parse();
  return command;
}

}  // namespace rowsocket::handlersocket
