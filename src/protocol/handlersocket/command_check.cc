#include "protocol/handlersocket/command_check.h"

#include <algorithm>
#include <functional>

#include "model/client_name.h"
#include "protocol/handlersocket/escape.h"

namespace rowsocket::handlersocket {

namespace {

using model::ErrorCode;
using model::Find;
using model::Value;

bool IsInside(std::string_view text, std::string_view line) {
  const std::less_equal<const char*> not_after;
  return not_after(line.data(), text.data()) &&
         not_after(text.data() + text.size(), line.data() + line.size());
}

/// The escaped form of `text`.
std::string Escaped(std::string_view text) {
  base::Buffer buffer;
  AppendEscaped(text, &buffer);
  return std::string(buffer.view());
}

class Checker {
 public:
  Checker(std::string_view line, const model::Limits& limits, const Command& command)
      : line_(line), limits_(limits), command_(command) {}

  std::string Run() {
    const bool invalid = command_.kind == Command::Kind::kInvalid;
    Expect(invalid == command_.errors.Has(ErrorCode::kCmd), "cmd and kInvalid are one");
    Expect(!command_.has_index_id || command_.index_id < limits_.index_ids_max ||
               command_.errors.Has(ErrorCode::kStmtnum),
           "an id over the limit is stmtnum");
    Expect(command_.has_index_id || invalid || command_.kind == Command::Kind::kAuth ||
               command_.kind == Command::Kind::kServerQuestion ||
               command_.kind == Command::Kind::kName || command_.errors.Has(ErrorCode::kNumber),
           "an id that is no number is an error");
    CheckNames();
    CheckValue(command_.auth_key);
    Expect(model::IsClientName(command_.client_name), "a client's name is printable, and short");
    CheckRequest();
    return broken_;
  }

 private:
  void CheckNames() {
    const OpenIndex& open = command_.open_index;
    for (const std::string_view name : {open.database, open.table, open.index}) CheckView(name);
    for (const auto& names : {open.columns, open.filter_columns}) {
      Expect(names.size() <= model::kColumnsMax, "no more names than the limit");
      for (const std::string_view name : names) {
        CheckView(name);
        Expect(name.find(',') == std::string_view::npos, "names are split");
      }
    }
  }

  void CheckRequest() {
    const Find& find = command_.request.find;
    Expect(find.op != model::CompareOp::kNe, "a key's operator is not !=");
    Expect(find.key.size() == std::min(find.key_parts_given, model::kKeyPartsMax),
           "a key holds what was given, up to the limit");
    Expect(find.limit >= 1, "limit 0 is 1");
    Expect(find.has_in || find.in_values.empty(), "values of @ need @");
    Expect(find.filters.size() <= limits_.values_max, "no more filters than the limit");
    Expect(!command_.request.is_write() || command_.wants_write, "a write wants to write");
    for (const auto& values :
         {find.key, find.in_values, find.modifications, command_.request.insert.values}) {
      Expect(values.size() <= std::max(limits_.values_max, model::kKeyPartsMax),
             "no more values than the limit");
      for (const Value& value : values) CheckValue(value);
    }
    for (const model::Filter& filter : find.filters) CheckValue(filter.value);
    if (!command_.errors.empty() || command_.kind != Command::Kind::kRequest) return;
    Expect(command_.request.verb == model::Request::Verb::kInsert || !find.key.empty(),
           "a find has a key");
    Expect(!find.has_in || (find.in_part < find.key_parts_given && !find.in_values.empty()),
           "@ replaces a key part that was given, by something");
  }

  void CheckView(std::string_view text) {
    Expect(text.empty() || IsInside(text, line_), "a name is a view of the line");
  }

  void CheckValue(const Value& value) {
    if (value.is_null()) return;
    const std::string_view text = value.text();
    Expect(text.empty() || IsInside(text, line_) || line_.find(kEscape) != std::string_view::npos,
           "a value without escapes is a view of the line");
    Expect(text.size() <= line_.size(), "unescaping makes nothing longer");
    base::Arena arena;
    const std::string escaped = Escaped(text);
    Expect(escaped.size() == text.size() + EscapeCount(text), "escapes are counted");
    Expect(Unescape(escaped, arena) == text, "escaping is undone by unescaping");
  }

  void Expect(bool condition, const char* promise) {
    if (!condition && broken_.empty()) broken_ = promise;
  }

  std::string_view line_;
  const model::Limits& limits_;
  const Command& command_;
  std::string broken_;
};

void AppendWord(std::string_view word, std::string* line) { line->append("\t").append(word); }

void AppendNumber(uint64_t number, std::string* line) { AppendWord(std::to_string(number), line); }

void AppendValue(const Value& value, std::string* line) {
  AppendWord(value.is_null() ? std::string(1, '\0') : Escaped(value.text()), line);
}

void AppendValues(std::span<const Value> values, std::string* line) {
  for (const Value& value : values) AppendValue(value, line);
}

void AppendNames(std::span<const std::string_view> names, std::string* line) {
  line->append("\t");
  for (size_t i = 0; i < names.size(); ++i) line->append(i == 0 ? "" : ",").append(names[i]);
}

constexpr std::string_view kSigns[] = {"=", ">", ">=", "<", "<=", "!="};
static_assert(std::size(kSigns) == model::kCompareOps);
constexpr std::string_view kModificationSigns[] = {"", "U", "D", "+", "-"};
static_assert(std::size(kModificationSigns) == model::kModifications);

std::string FindToLine(const Find& find) {
  std::string line;
  AppendWord(kSigns[static_cast<size_t>(find.op)], &line);
  AppendNumber(find.key_parts_given, &line);
  AppendValues(find.key, &line);
  AppendNumber(find.limit, &line);
  AppendNumber(find.offset, &line);
  if (find.has_in) {
    AppendWord("@", &line);
    AppendNumber(find.in_part, &line);
    AppendNumber(find.in_values.size(), &line);
    AppendValues(find.in_values, &line);
  }
  for (const model::Filter& filter : find.filters) {
    AppendWord(filter.stops_scan ? "W" : "F", &line);
    AppendWord(kSigns[static_cast<size_t>(filter.op)], &line);
    AppendNumber(filter.column, &line);
    AppendValue(filter.value, &line);
  }
  if (find.modification != model::Modification::kNone) {
    AppendWord(kModificationSigns[static_cast<size_t>(find.modification)], &line);
    if (find.wants_before_images) line += '?';
    AppendValues(find.modifications, &line);
  }
  return line;
}

std::string OpenToLine(const OpenIndex& open) {
  std::string line;
  for (const std::string_view name : {open.database, open.table, open.index}) {
    AppendWord(name, &line);
  }
  AppendNames(open.columns, &line);
  AppendNames(open.filter_columns, &line);
  return line;
}

std::string ServerQuestionToLine(const ServerQuestion& question) {
  std::string line;
  if (question.kind == ServerQuestion::Kind::kTakesWrites) AppendWord("write", &line);
  if (question.kind == ServerQuestion::Kind::kTakesReads) AppendWord("read", &line);
  if (question.lag_max_s) AppendNumber(*question.lag_max_s, &line);
  if (question.kind == ServerQuestion::Kind::kServesGroups) AppendWord("group", &line);
  if (question.kind == ServerQuestion::Kind::kServesNames) AppendWord("name", &line);
  if (question.kind == ServerQuestion::Kind::kPosition) AppendWord("position", &line);
  if (question.kind == ServerQuestion::Kind::kHasExecuted) AppendWord("at", &line);
  for (size_t i = 0; i < question.gtids.size(); ++i) {
    const model::Gtid& gtid = question.gtids[i];
    line.append(i == 0 ? "\t" : ",");
    line += std::to_string(gtid.domain) + '-' + std::to_string(gtid.server) + '-' +
            std::to_string(gtid.number);
  }
  for (size_t i = 0; i < question.gtid_ranges.size(); ++i) {
    const model::GtidRange& range = question.gtid_ranges[i];
    line.append(i == 0 ? "\t" : ",").append(range.uuid);
    if (!range.tag.empty()) line.append(":").append(range.tag);
    line += ':' + std::to_string(range.first) + '-' + std::to_string(range.last);
  }
  return line;
}

}  // namespace

std::string CheckCommand(std::string_view line, const model::Limits& limits,
                         const Command& command) {
  return Checker(line, limits, command).Run();
}

std::string ToLine(const Command& command) {
  std::string line;
  switch (command.kind) {
    case Command::Kind::kInvalid:
      break;
    case Command::Kind::kOpenIndex:
      line = "P\t" + std::to_string(command.index_id) + OpenToLine(command.open_index);
      break;
    case Command::Kind::kAuth:
      line = "A\t1";
      AppendValue(command.auth_key, &line);
      break;
    case Command::Kind::kServerQuestion:
      line = "H" + ServerQuestionToLine(command.server_question);
      break;
    case Command::Kind::kName:
      line = "N\t" + std::string(command.client_name);
      break;
    case Command::Kind::kRequest:
      line = std::to_string(command.index_id);
      if (command.request.verb == model::Request::Verb::kInsert) {
        line += "\t+\t" + std::to_string(command.request.insert.values.size());
        AppendValues(command.request.insert.values, &line);
      } else {
        line += FindToLine(command.request.find);
      }
      break;
  }
  return line;
}

}  // namespace rowsocket::handlersocket
