#include "frontend/resp/own_client.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "exec/connection_book.h"
#include "frontend/resp/command.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/help.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/work.h"
#include "model/client_name.h"

namespace rowsocket::frontend {

using exec::ConnectionBook;
using exec::Item;

namespace {

bool IsServed(std::string_view subcommand) {
  constexpr std::string_view kServed[] = {
      "id",   "getname", "setname", "setinfo",  "info",     "unblock",  "getredir",
      "list", "kill",    "reply",   "no-evict", "no-touch", "tracking", "trackinginfo"};
  return std::any_of(std::begin(kServed), std::end(kServed),
                     [=](std::string_view name) { return IsWord(subcommand, name); });
}

bool IsType(std::string_view text) {
  constexpr std::string_view kTypes[] = {"normal", "master", "replica", "slave", "pubsub"};
  return std::any_of(std::begin(kTypes), std::end(kTypes),
                     [=](std::string_view type) { return IsWord(text, type); });
}

std::string UnknownType(std::string_view text) {
  return "ERR Unknown client type '" + std::string(text.substr(0, 64)) + "'";
}

/// The letters by which Redis shows the state of a client. x: it is between MULTI and EXEC; b: its
/// request waits.
std::string FlagsOf(const RespClient& client) {
  const std::string flags = std::string(client.queued >= 0 ? "x" : "") + (client.waits ? "b" : "");
  return flags.empty() ? "N" : flags;
}

/// The name of a user without bytes at which tools split lines (blanks, line feeds), which SQL
/// allows in a name.
std::string ShownUser(std::string user) {
  std::replace_if(
      user.begin(), user.end(), [](char byte) { return byte < '!' || byte > '~'; }, '_');
  return user;
}

/// A line of CLIENT LIST. The address comes from the socket, which a connection that ends meanwhile
/// no longer has. The sizes of buffers, which only the connections' own workers know, are 0:
/// libraries convert them to numbers, and fail if a line lacks them.
std::string LineOf(const RespClient& client) {
  const RespFacts& facts = client.facts;
  const int64_t now_ms = base::CoarseNowMs();
  const auto seconds_since = [now_ms](int64_t ms) { return std::to_string((now_ms - ms) / 1000); };
  return "id=" + std::to_string(client.id) +
         " addr=" + ConnectionBook::Shared().AddressOf(client.id) +
         " laddr=" + ConnectionBook::Shared().OwnAddressOf(client.id) + " name=" + facts.name +
         " age=" + seconds_since(facts.since_ms) + " idle=" + seconds_since(client.active_ms) +
         " flags=" + FlagsOf(client) + " db=" + facts.database +
         " sub=0 psub=0 ssub=0 multi=" + std::to_string(client.queued) +
         " qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=" + std::to_string(client.multi_bytes) +
         " obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=" + std::string(RespCommandName(client.verb)) +
         " user=" + ShownUser(facts.user) + " redir=-1 resp=" + std::to_string(facts.version) +
         " lib-name=" + facts.library + " lib-ver=" + facts.library_version + "\n";
}

bool ParseId(std::string_view text, uint64_t* id) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *id);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && *id > 0;
}

/// The reply to CLIENT TRACKINGINFO of a connection that has not asked for client-side caching.
void AppendNoTracking(resp::Version version, base::Buffer& out) {
  resp::AppendMap(3, version, &out);
  resp::AppendBulk("flags", &out);
  resp::AppendSet(1, version, &out);
  resp::AppendBulk("off", &out);
  resp::AppendBulk("redirect", &out);
  resp::AppendInteger(-1, &out);
  resp::AppendBulk("prefixes", &out);
  resp::AppendArray(0, &out);
}

/// Which connections CLIENT KILL is to end.
struct KillFilter {
  std::optional<uint64_t> id, age_s_min;
  std::optional<std::string_view> user, address, own_address;
  bool is_normal = true;  ///< TYPE: all connections here are normal ones.
  bool skips_me = true;

  bool TakesIn(const RespClient& client) const {
    const int64_t age_ms = base::CoarseNowMs() - client.facts.since_ms;
    return is_normal && (!id || *id == client.id) && (!user || *user == client.facts.user) &&
           (!age_s_min || age_ms >= static_cast<int64_t>(*age_s_min) * 1000) &&
           (!address || *address == ConnectionBook::Shared().AddressOf(client.id)) &&
           (!own_address || *own_address == ConnectionBook::Shared().OwnAddressOf(client.id));
  }
};

/// Takes one option with its value. False: the error is in `*error`.
bool TakeOption(std::string_view name, std::string_view value, KillFilter* filter,
                std::string* error) {
  *error = kSyntax;
  uint64_t number = 0;
  if (IsWord(name, "id")) {
    *error = "ERR client-id should be greater than 0";
    if (!ParseId(value, &number)) return false;
    filter->id = number;
  } else if (IsWord(name, "maxage")) {
    *error = "ERR maxage should be greater than 0";
    if (!ParseId(value, &number)) return false;
    filter->age_s_min = std::min<uint64_t>(number, UINT32_MAX);
  } else if (IsWord(name, "user")) {
    filter->user = value;
  } else if (IsWord(name, "addr")) {
    filter->address = value;
  } else if (IsWord(name, "laddr")) {
    filter->own_address = value;
  } else if (IsWord(name, "type")) {
    *error = UnknownType(value);
    if (!IsType(value)) return false;
    filter->is_normal = IsWord(value, "normal");
  } else if (IsWord(name, "skipme")) {
    filter->skips_me = IsWord(value, "yes");
    if (!filter->skips_me && !IsWord(value, "no")) return false;
  } else {
    return false;
  }
  return true;
}

}  // namespace

void RespOwnClient::Show(const RespState& state, const model::Account* account) {
  facts_.database = state.database;
  facts_.version = static_cast<int>(state.version);
  facts_.account = account != nullptr ? account->user() + "@" + account->host() : std::string();
  facts_.user = account != nullptr ? account->user() : std::string(kRespDefaultUser);
  if (id_ != 0) shared_.clients->Show(id_, facts_, activity_);
}

RespClient RespOwnClient::Shown() const { return RespClientOf(id_, facts_, activity_); }

// A client with an account sees only the connections of this account, like SHOW PROCESSLIST without
// the privilege PROCESS.
std::vector<RespClient> RespOwnClient::VisibleClients() const {
  std::vector<RespClient> clients = shared_.clients->All();
  if (!shared_.accounts) return clients;
  std::erase_if(
      clients, [this](const RespClient& client) { return client.facts.account != facts_.account; });
  return clients;
}

void RespOwnClient::AppendClient(RespArguments arguments, const RespState& state,
                                 const model::Account* account, base::Buffer& out, Item* item) {
  const std::string_view what = arguments[1];
  const size_t count = arguments.size();
  if (IsWord(what, "id") && count == 2) {
    resp::AppendInteger(static_cast<int64_t>(id_), &out);
  } else if (IsWord(what, "getname") && count == 2) {
    if (facts_.name.empty())
      resp::AppendNil(state.version, &out);
    else
      resp::AppendBulk(facts_.name, &out);
  } else if (IsWord(what, "setname") && count == 3) {
    if (!model::IsClientName(arguments[2])) return resp::AppendError(kRespBadName, &out);
    SetName(arguments[2]);
    Show(state, account);
    resp::AppendSimple("OK", &out);
  } else if (IsWord(what, "setinfo") && count == 4) {
    if (!SetLibrary(arguments[2], arguments[3], out)) return;
    Show(state, account);
    resp::AppendSimple("OK", &out);
  } else if (IsWord(what, "info") && count == 2) {
    resp::AppendVerbatim(LineOf(Shown()), state.version, &out);
  } else if (IsWord(what, "list")) {
    ListClients(arguments.subspan(2), state.version, out);
  } else if (IsWord(what, "kill") && count > 2) {
    KillClients(arguments.subspan(2), out, item);
  } else if (IsWord(what, "reply") && count == 3) {
    SetReply(arguments[2], out, item);
  } else if ((IsWord(what, "no-evict") || IsWord(what, "no-touch")) && count == 3) {
    if (!IsWord(arguments[2], "on") && !IsWord(arguments[2], "off"))
      return resp::AppendError(kSyntax, &out);
    resp::AppendSimple("OK", &out);
  } else if (IsWord(what, "unblock") && (count == 3 || count == 4)) {
    // CLIENT UNBLOCK finds no client, because no command waits for another client here.
    int64_t id = 0;
    if (!ParsePlainInteger(arguments[2], &id)) return resp::AppendError(kNoInteger, &out);
    const bool has_reason =
        count == 3 || IsWord(arguments[3], "timeout") || IsWord(arguments[3], "error");
    if (!has_reason)
      return resp::AppendError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR", &out);
    resp::AppendInteger(0, &out);
  } else if (IsWord(what, "getredir") && count == 2) {
    resp::AppendInteger(-1, &out);  // Client-side caching is never tracked.
  } else if (IsWord(what, "trackinginfo") && count == 2) {
    AppendNoTracking(state.version, out);
  } else if (IsWord(what, "pause") || IsWord(what, "unpause")) {
    resp::AppendError("NOTSERVED clients are not paused: use SET GLOBAL read_only in SQL", &out);
  } else if (IsWord(what, "tracking") && count == 3 && IsWord(arguments[2], "off")) {
    resp::AppendSimple("OK", &out);
  } else if ((IsWord(what, "tracking") && count > 2) || IsWord(what, "caching")) {
    shared_.info->AddRefused(*FindRespCommand(arguments[0]));
    // Clients that were told OK would keep values that nobody tells them are old.
    resp::AppendError("ERR CLIENT TRACKING is not served: switch client-side caching off", &out);
  } else if (IsServed(what)) {
    resp::AppendError(RespWrongCount("client", what), &out);
  } else {
    AppendHelp(arguments, &out);
  }
}

// ON is always answered; OFF and SKIP never are.
void RespOwnClient::SetReply(std::string_view mode, base::Buffer& out, Item* item) {
  const bool is_on = IsWord(mode, "on"), is_off = IsWord(mode, "off");
  if (!is_on && !is_off && !IsWord(mode, "skip")) {
    return resp::AppendError(kSyntax, &out);
  }
  if (is_on)
    replies_.TurnOn();
  else if (is_off)
    replies_.TurnOff();
  else
    replies_.SkipNext();
  RespWork& work = RespWorkOf(*item);
  work.is_silent = !is_on;
  work.is_skipped = false;
  resp::AppendSimple("OK", &out);
}

bool RespOwnClient::SetLibrary(std::string_view what, std::string_view text, base::Buffer& out) {
  const bool is_name = IsWord(what, "lib-name");
  if (!is_name && !IsWord(what, "lib-ver")) {
    resp::AppendError("ERR Unrecognized option", &out);
    return false;
  }
  const std::string_view kept = text.substr(0, model::kNameBytesMax);
  if (!model::IsClientName(kept)) {
    resp::AppendError(
        "ERR " + std::string(what) + " cannot contain spaces, newlines or special characters.",
        &out);
    return false;
  }
  (is_name ? facts_.library : facts_.library_version) = kept;
  return true;
}

void RespOwnClient::ListClients(RespArguments options, resp::Version version,
                                base::Buffer& out) const {
  std::vector<RespClient> clients = VisibleClients();
  if (!options.empty()) {
    const bool has_type = options.size() == 2 && IsWord(options[0], "type");
    if (!has_type && !(IsWord(options[0], "id") && options.size() > 1))
      return resp::AppendError(kSyntax, &out);
    if (has_type && !IsType(options[1])) return resp::AppendError(UnknownType(options[1]), &out);
    std::vector<int64_t> ids;
    for (const std::string_view text : options.subspan(has_type ? 2 : 1)) {
      if (!ParsePlainInteger(text, &ids.emplace_back()))
        return resp::AppendError("ERR Invalid client ID", &out);
    }
    std::sort(ids.begin(), ids.end());  // There may be thousands of both.
    std::erase_if(clients, [&](const RespClient& client) {
      return has_type
                 ? !IsWord(options[1], "normal")
                 : !std::binary_search(ids.begin(), ids.end(), static_cast<int64_t>(client.id));
    });
  }
  std::string lines;
  for (const RespClient& client : clients) lines += LineOf(client);
  resp::AppendVerbatim(lines, version, &out);
}

// A connection that ends itself gets its reply first.
void RespOwnClient::KillClients(RespArguments options, base::Buffer& out, Item* item) const {
  KillFilter filter;
  const bool is_old = options.size() == 1;  // CLIENT KILL address:port
  if (is_old) {
    filter.address = options[0];
    filter.skips_me = false;
  }
  if (!is_old && options.size() % 2 != 0) return resp::AppendError(kSyntax, &out);
  for (size_t i = 0; !is_old && i < options.size(); i += 2) {
    std::string error;
    if (!TakeOption(options[i], options[i + 1], &filter, &error))
      return resp::AppendError(error, &out);
  }
  // On a port with accounts, the answer must not show which accounts exist.
  if (filter.user && !shared_.accounts && *filter.user != facts_.user) {
    return resp::AppendError("ERR No such user '" + std::string(filter.user->substr(0, 64)) + "'",
                             &out);
  }
  int64_t ended = 0;
  for (const RespClient& client : VisibleClients()) {
    const bool is_me = client.id == id_;
    if (!filter.TakesIn(client) || (is_me && filter.skips_me)) continue;
    if (is_me) {
      item->closes = true;
    } else {
      if (!ConnectionBook::Shared().End(shared_.plugin, client.id)) continue;
      shared_.clients->NoteEnded(client.id);
    }
    ++ended;
  }
  if (!is_old) return resp::AppendInteger(ended, &out);
  if (ended == 0) return resp::AppendError("ERR No such client", &out);
  resp::AppendSimple("OK", &out);
}

}  // namespace rowsocket::frontend
