#include "frontend/handlersocket/frontend.h"

#include <algorithm>
#include <optional>

#include "base/secret_text.h"
#include "exec/unit.h"
#include "exec/write_set.h"
#include "frontend/handlersocket/verbs.h"
#include "protocol/handlersocket/encoder.h"
#include "protocol/handlersocket/line_words.h"
#include "protocol/handlersocket/token_line.h"

namespace rowsocket::frontend {

using exec::Credentials;
using exec::Item;
using handlersocket::Command;
using handlersocket::TokenLine;
using model::ErrorCode;

namespace {
/// Limits for a connection without access: its requests are refused whatever their values, so no
/// values are kept.
constexpr model::Limits kNoValues = [] {
  model::Limits limits;
  limits.values_max = 0;
  return limits;
}();

/// What an input may hold after the longest line: CR, LF, and one byte that shows that a line is
/// longer.
constexpr size_t kAfterLineBytes = 3;

using Question = handlersocket::ServerQuestion::Kind;

/// An answer of `H` that is more than ok: the health, or the position.
struct HealthReply : exec::ItemDetail {
  model::Health health;
  std::optional<std::string_view> position;  ///< Answered instead of `health`.
};

/// Wipes what the parser has copied of an A that is parsed again later.
void WipeCopies(const Command& command, std::string_view line) {
  for (const model::Value& value : {command.auth_key, command.auth_password}) {
    const std::string_view text = value.is_null() ? std::string_view() : value.text();
    const bool is_copy = text.data() < line.data() || text.data() >= line.data() + line.size();
    if (is_copy) base::Wipe(text);
  }
}

}  // namespace

HandlerSocketFrontend::HandlerSocketFrontend(const HandlerSocketSettings& settings)
    : settings_(settings), authenticated_(settings.secret.empty() && !settings.accounts) {
  SetAccount(settings.account);
}

size_t HandlerSocketFrontend::input_bytes_max() const {
  const size_t line_bytes_max =
      authenticated_ ? settings_.limits.line_bytes_max : model::kUnauthenticatedLineBytesMax;
  return line_bytes_max + kAfterLineBytes;
}

const model::Limits& HandlerSocketFrontend::parse_limits() const {
  return authenticated_ ? settings_.limits : kNoValues;
}

// Any web page can make a browser send a POST here, whose body would be taken for lines of
// requests.
bool HandlerSocketFrontend::IsHttp(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t blank = line.rfind(' ');
  return blank != std::string_view::npos && line.substr(blank + 1).starts_with("HTTP/1.");
}

exec::Frontend::Step HandlerSocketFrontend::Parse(std::string_view input, bool after_requests,
                                                  base::Arena& arena, Item* item) {
  const size_t line_bytes_max = input_bytes_max() - kAfterLineBytes;
  const handlersocket::Framer::Step line = framer_.Next(input, line_bytes_max);
  if (line.result == handlersocket::Framer::Result::kNeedMore) {
    return {Parsed::kNeedMore, line.consumed};
  }
  item->kind = Item::Kind::kReply;
  if (refused_lines_ != 0) {
    --refused_lines_;
    item->error.code = ErrorCode::kGroup;
    return {Parsed::kItem, line.consumed};
  }
  if (line.result == handlersocket::Framer::Result::kTooLong) {
    item->error.code = ErrorCode::kLineLength;
    return {Parsed::kItem, line.consumed};
  }
  if (handlersocket::IsGroup(line.line)) {
    return ParseGroup({line.line, line.consumed}, input, arena, item);
  }
  if (settings_.serves_tokens && handlersocket::IsTokenLine(line.line)) {
    return ParseTokenLine(handlersocket::SplitTokenLine(line.line), line.consumed, input, arena,
                          item);
  }
  Command command = handlersocket::ParseLine(line.line, parse_limits(), arena);
  switch (command.kind) {
    case Command::Kind::kOpenIndex:
      if (after_requests) return {Parsed::kLater, 0};
      PrepareOpen(command, item);
      break;
    case Command::Kind::kAuth:
      if (after_requests) {
        WipeCopies(command, line.line);
        return {Parsed::kLater, 0};
      }
      Authenticate(command, arena, item);
      break;
    case Command::Kind::kServerQuestion:
      // The position has the writes before it.
      if (after_requests && (command.server_question.kind == Question::kPosition ||
                             command.server_question.kind == Question::kHasExecuted)) {
        return {Parsed::kLater, 0};
      }
      PrepareServerQuestion(command, arena, item);
      break;
    case Command::Kind::kName:
      // The requests before the name keep the name under which they were sent.
      if (after_requests) return {Parsed::kLater, 0};
      TakeName(command, item);
      break;
    case Command::Kind::kRequest:
      PrepareRequest(command, item);
      break;
    case Command::Kind::kInvalid:
      item->error.code = command.errors.First();
      item->closes = IsHttp(line.line);
      break;
  }
  return {Parsed::kItem, line.consumed};
}

exec::Frontend::Step HandlerSocketFrontend::ParseTokenLine(const TokenLine& line, size_t size,
                                                           std::string_view input,
                                                           base::Arena& arena, Item* item) {
  if (handlersocket::IsGroup(line.request)) {
    // The line is parsed again until the group is whole, so a text that is no token is not copied
    // each time. NULL is no token, either.
    const bool may_be_token = line.token.size() <= 2 * model::kTokenBytesMax;
    const model::Value token =
        may_be_token ? handlersocket::WordValue(line.token, arena) : model::Value();
    return ParseGroup({line.request, size, &token}, input, arena, item);
  }
  const std::string_view verb = line.request.substr(0, line.request.find('\t'));
  if (verb == "?" || verb == "!") {
    const model::Value token = handlersocket::WordValue(line.token, arena);
    const bool is_ready = PrepareTokenQuestion(token, /*fences=*/verb == "!", arena, item);
    return {Parsed::kItem, is_ready ? size : 0};
  }
  const bool opens = !PrepareOnceRequest(line, arena, item);
  return {Parsed::kItem, opens ? 0 : size};
}

bool HandlerSocketFrontend::IsSecret(const Command& command) const {
  if (command.auth_key.is_null() || command.auth_names_user) return false;
  const std::string_view key = command.auth_key.text();
  if (!settings_.secret.empty()) return settings_.secret.Matches(key);
  // Without a secret only the empty key is right, but a wrong key takes no access away from the
  // connection.
  return key.empty() && !settings_.accounts;
}

// The first colon ends the name, so that old clients, which send only one key, can log in.
bool HandlerSocketFrontend::PrepareLogin(const Command& command, base::Arena& arena,
                                         Item* item) const {
  if (command.auth_key.is_null()) return false;
  Credentials credentials;
  const std::string_view key = command.auth_key.text();
  if (command.auth_names_user) {
    if (command.auth_password.is_null()) return false;
    credentials = {key, command.auth_password.text()};
  } else {
    const size_t colon = key.find(':');
    if (colon == std::string_view::npos) return false;
    credentials = {key.substr(0, colon), key.substr(colon + 1)};
  }
  Credentials& kept = arena.Allocate<Credentials>(1)[0];
  kept = credentials;
  item->kind = Item::Kind::kAuthenticate;
  item->credentials = &kept;
  return true;
}

// The login threads refuse the login unchecked, after the delay of its source.
void HandlerSocketFrontend::RefuseLater(base::Arena& arena, Item* item) {
  Credentials& credentials = arena.Allocate<Credentials>(1)[0];
  credentials.refuse_unchecked = true;
  item->kind = Item::Kind::kAuthenticate;
  item->credentials = &credentials;
}

void HandlerSocketFrontend::LoginEnded(const model::Error& answer, base::Buffer& out) {
  authenticated_ = answer.ok();
  if (answer.ok())
    handlersocket::AppendOk(&out);
  else
    handlersocket::AppendError(answer, &out);
}

void HandlerSocketFrontend::AccountEnded(base::Buffer& out) {
  handlersocket::AppendError({ErrorCode::kUnauth}, &out);
}

void HandlerSocketFrontend::Authenticate(Command& command, base::Arena& arena, Item* item) {
  item->verb = VerbNumber(HandlerSocketVerb::kAuth);
  item->is_auth_reply = true;
  const bool matches = IsSecret(command);
  const bool has_type = command.auth_names_user || !command.errors.Has(ErrorCode::kAuthtype);
  if (settings_.accounts && has_type && !matches) {
    if (PrepareLogin(command, arena, item)) return;
    item->error.code = ErrorCode::kUnauth;
    authenticated_ = false;
    if (settings_.delays_refusals) RefuseLater(arena, item);
    return;
  }
  if (!matches) command.errors.Add(ErrorCode::kUnauth);
  // A wrong type neither ends nor restores the authorization (spec/handlersocket.md, "A:
  // authenticate").
  const bool wrong_type = command.errors.Has(ErrorCode::kAuthtype);
  item->error.code = wrong_type ? ErrorCode::kAuthtype : command.errors.First();
  if (wrong_type || settings_.secret.empty()) return;
  authenticated_ = item->error.ok();
  if (!authenticated_ && settings_.delays_refusals) return RefuseLater(arena, item);
  // An earlier login of the connection no longer counts.
  if (authenticated_) SetAccount(settings_.account);
}

size_t HandlerSocketFrontend::ColumnsOf(uint64_t id) const {
  const engine::Index* const index = FindIndex(id);
  return index != nullptr ? index->columns() + index->filter_columns() : 0;
}

bool HandlerSocketFrontend::HasRoomFor(const handlersocket::OpenIndex& open, uint64_t id) const {
  const size_t wanted = open.columns.size() + open.filter_columns.size();
  return open_columns_ - ColumnsOf(id) + wanted <= model::OpenColumnsMax(settings_.limits);
}

// Refuses names that are longer than any table's or column's. The limit matters because several
// copies of the names of an open index are kept.
void HandlerSocketFrontend::CheckNames(const handlersocket::OpenIndex& open,
                                       handlersocket::ErrorSet* errors) {
  const auto is_long = [](std::string_view name) { return name.size() > model::kNameBytesMax; };
  if (is_long(open.database) || is_long(open.table)) errors->Add(ErrorCode::kOpenTable);
  if (is_long(open.index)) errors->Add(ErrorCode::kIdxnum);
  if (std::any_of(open.columns.begin(), open.columns.end(), is_long) ||
      std::any_of(open.filter_columns.begin(), open.filter_columns.end(), is_long)) {
    errors->Add(ErrorCode::kFld);
  }
}

void HandlerSocketFrontend::PrepareOpen(const Command& command, Item* item) {
  item->verb = VerbNumber(HandlerSocketVerb::kOpen);
  handlersocket::ErrorSet errors = command.errors;
  CheckNames(command.open_index, &errors);
  if (!authenticated_) errors.Add(ErrorCode::kUnauth);
  if (!HasRoomFor(command.open_index, command.index_id)) errors.Add(ErrorCode::kValuesCount);
  item->error.code = errors.First();
  if (!item->error.ok()) return;
  const handlersocket::OpenIndex& open = command.open_index;
  names_ = std::make_unique<engine::IndexNames>();
  names_->db = open.database;
  names_->table = open.table;
  names_->index = open.index;
  names_->columns.assign(open.columns.begin(), open.columns.end());
  names_->filter_columns.assign(open.filter_columns.begin(), open.filter_columns.end());
  item->kind = Item::Kind::kOpen;
  item->names = names_.get();
  item->request.account = account();
  item->index_id = static_cast<uint32_t>(command.index_id);
}

void HandlerSocketFrontend::Opened(Item& item, const engine::Outcome& outcome,
                                   std::shared_ptr<engine::Index> index) {
  if (item.kind == Item::Kind::kSilentOpen) {
    tokens_->Opened(outcome, std::move(index));
    return;
  }
  item.kind = Item::Kind::kReply;
  item.error = outcome.error;
  if (!outcome.ok()) return;
  if (indexes_.size() <= item.index_id) indexes_.resize(item.index_id + 1);
  open_columns_ -= ColumnsOf(item.index_id);
  indexes_[item.index_id] = std::move(index);
  open_columns_ += ColumnsOf(item.index_id);
}

// A load balancer has no secret: without one it learns whether the server takes finds or writes,
// and no more.
void HandlerSocketFrontend::PrepareServerQuestion(const Command& command, base::Arena& arena,
                                                  Item* item) const {
  const handlersocket::ServerQuestion& question = command.server_question;
  handlersocket::ErrorSet errors = command.errors;
  if (!authenticated_ && question.kind != Question::kTakesReads &&
      question.kind != Question::kTakesWrites) {
    errors.Add(ErrorCode::kUnauth);
  }
  item->error.code = errors.First();
  if (!item->error.ok()) return;
  if (question.kind != Question::kHealth && question.kind != Question::kPosition) {
    if (!Holds(question)) item->error.code = ErrorCode::kUnavailable;
    return;
  }
  HealthReply& reply = arena.Allocate<HealthReply>(1)[0];
  item->detail = &reply;
  if (question.kind == Question::kHealth) {
    if (settings_.health) reply.health = settings_.health();
    return;
  }
  reply.position = arena.Copy(settings_.position ? settings_.position() : std::string());
}

bool HandlerSocketFrontend::Holds(const handlersocket::ServerQuestion& question) const {
  if (question.kind == Question::kServesGroups || question.kind == Question::kServesNames)
    return true;
  if (question.kind == Question::kHasExecuted) {
    const auto all = [](const auto& items, const auto& has_executed) {
      return items.empty() ||
             (has_executed && std::all_of(items.begin(), items.end(), has_executed));
    };
    return all(question.gtids, settings_.has_executed) &&
           all(question.gtid_ranges, settings_.has_executed_range);
  }
  const model::Health health = settings_.health ? settings_.health() : model::Health();
  if (question.kind == Question::kTakesWrites) return health.writes;
  return health.reads && (!question.lag_max_s || health.LagIsWithin(*question.lag_max_s));
}

void HandlerSocketFrontend::TakeName(const Command& command, Item* item) {
  handlersocket::ErrorSet errors = command.errors;
  if (!authenticated_) errors.Add(ErrorCode::kUnauth);
  item->error.code = errors.First();
  if (item->error.ok()) name_ = command.client_name;
}

engine::Index* HandlerSocketFrontend::FindIndex(uint64_t id) const {
  return id < indexes_.size() ? indexes_[id].get() : nullptr;
}

void HandlerSocketFrontend::PrepareRequest(Command& command, Item* item) {
  item->verb = VerbNumber(VerbOf(command.request));
  handlersocket::ErrorSet& errors = command.errors;
  if (!authenticated_) errors.Add(ErrorCode::kUnauth);
  engine::Index* index = nullptr;
  if (command.has_index_id) {
    index = FindIndex(command.index_id);
    if (index == nullptr) errors.Add(ErrorCode::kStmtnum);
  }
  if (index != nullptr) {
    for (const model::Filter& filter : command.request.find.filters) {
      if (filter.column >= index->filter_columns()) errors.Add(ErrorCode::kFilterfld);
    }
  }
  if (command.wants_write && !settings_.writable) errors.Add(ErrorCode::kReadonly);
  item->error.code = errors.First();
  if (!item->error.ok()) return;
  item->kind = Item::Kind::kRequest;
  item->index = index;
  item->request = command.request;
  item->request.account = account();
}

engine::Outcome HandlerSocketFrontend::Execute(const Item& item, engine::Session& session,
                                               base::Buffer& out) const {
  const model::Limits& limits = settings_.limits;
  if (item.unit != nullptr) return ExecuteGroup(item, session, out);
  if (item.detail == nullptr) {
    return ExecuteRequest(*item.index, item.request, limits.reply_bytes_max, session, out);
  }
  const size_t begin = out.size();
  const auto& tokened = *static_cast<const exec::TokenedRequest*>(item.detail);
  if (tokened.asks != exec::TokenedRequest::Asks::kRequest) return Ask(tokened, session, out);
  // The answer that is kept with a token is only for accounts that may have the request executed.
  engine::Outcome outcome = session.MayExecute(*item.index, item.request);
  if (outcome.ok()) {
    outcome = tokens_->Execute(tokened, session, out, [&] {
      return ExecuteRequest(*item.index, item.request,
                            std::min(limits.reply_bytes_max, model::kTokenAnswerBytesMax), session,
                            out);
    });
  }
  const bool is_refusal = !outcome.ok() && outcome.is_answer();
  if (is_refusal && out.size() == begin) handlersocket::AppendError(outcome.error, &out);
  return outcome;
}

bool HandlerSocketFrontend::MayConcern(const Item& item, const exec::WriteSet& writes) const {
  if (item.unit != nullptr && item.detail == nullptr) {
    const auto& requests = item.unit->requests;
    return std::any_of(requests.begin(), requests.end(), [&](const exec::UnitRequest& one) {
      return writes.MayConcern({*one.index, one.request});
    });
  }
  // A find with a token concerns the table of tokens as well.
  return item.detail != nullptr || writes.MayConcern(item.row_name());
}

void HandlerSocketFrontend::AddWrites(const Item& item, exec::WriteSet& writes) const {
  if (item.detail != nullptr) tokens_->AddWrites(writes);
}

engine::Outcome HandlerSocketFrontend::ExecuteRequest(engine::Index& index,
                                                      const model::Request& request,
                                                      size_t reply_bytes_max,
                                                      engine::Session& session,
                                                      base::Buffer& out) const {
  const bool answers_rows = request.verb == model::Request::Verb::kFind &&
                            (!request.is_write() || request.find.wants_before_images);
  const uint32_t columns = answers_rows ? index.columns() : 0;
  handlersocket::RowEncoder rows(columns, reply_bytes_max, &out);
  const engine::Outcome outcome = session.Execute(index, request, rows);
  if (outcome.ok() && answers_rows) {
    rows.Finish();
    return outcome;
  }
  rows.Cancel();
  if (!outcome.is_answer()) return outcome;
  if (!outcome.ok()) {
    handlersocket::AppendError(outcome.error, &out);
  } else if (request.verb == model::Request::Verb::kFind) {
    handlersocket::AppendCount(outcome.rows, &out);
  } else if (outcome.has_insert_id) {
    handlersocket::AppendCount(outcome.insert_id, &out);
  } else {
    handlersocket::AppendOk(&out);
  }
  return outcome;
}

void HandlerSocketFrontend::Reply(const Item& item, base::Buffer& out) const {
  if (item.unit != nullptr) return AppendGroupError(*item.unit, item.error, out);
  if (!item.error.ok()) return handlersocket::AppendError(item.error, &out);
  if (item.detail == nullptr) return handlersocket::AppendOk(&out);
  const auto& reply = *static_cast<const HealthReply*>(item.detail);
  if (reply.position)
    handlersocket::AppendText(*reply.position, &out);
  else
    handlersocket::AppendHealth(reply.health, &out);
}

void HandlerSocketFrontend::ReplyError(const Item& item, model::Error error,
                                       base::Buffer& out) const {
  // An error reply must never look like success.
  if (error.ok()) error.code = ErrorCode::kInternal;
  if (item.unit != nullptr) return AppendGroupError(*item.unit, error, out);
  handlersocket::AppendError(error, &out);
}

void HandlerSocketFrontend::RefusePlain(std::string_view, base::Buffer& out) const {
  handlersocket::AppendError({ErrorCode::kNeedtls}, &out);
}

}  // namespace rowsocket::frontend
