#include "frontend/resp/login.h"

#include <utility>

#include "base/secret_text.h"
#include "frontend/resp/command.h"
#include "frontend/resp/info.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/work.h"
#include "model/client_name.h"

namespace rowsocket::frontend {

using exec::Item;
using model::ErrorCode;

namespace {

constexpr std::string_view kWrongLogin =
    "WRONGPASS invalid username-password pair or user is disabled.";

/// Answers AUTH on a port without accounts: as in Redis, the default user has no password, and any
/// password is right.
void AppendAuthWithoutAccounts(RespArguments arguments, base::Buffer& out) {
  if (arguments.size() == 2) {
    return resp::AppendError(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?",
        &out);
  }
  if (arguments[1] != kRespDefaultUser) return resp::AppendError(kWrongLogin, &out);
  resp::AppendSimple("OK", &out);
}

}  // namespace

void RespLogin::AppendAuth(RespArguments arguments, base::Arena& arena, base::Buffer& out,
                           Item* item) {
  if (arguments.size() > 3) return resp::AppendError(kSyntax, &out);
  if (!shared_.accounts) return AppendAuthWithoutAccounts(arguments, out);
  LogIn(arguments.size() == 3 ? arguments[1] : kRespDefaultUser, arguments.back(), arena, item);
}

void RespLogin::LogIn(std::string_view user, std::string_view password, base::Arena& arena,
                      Item* item) {
  item->kind = Item::Kind::kAuthenticate;
  // The name is wiped together with the password, so it is copied into memory that may be written.
  const std::string_view name = arena.Copy(user);
  exec::Credentials& credentials = arena.Allocate<exec::Credentials>(1)[0];
  credentials = {name, password};
  item->credentials = &credentials;
}

// A login that fails leaves protocol and name as they are.
void RespLogin::AppendHello(RespArguments arguments, const model::Account* account,
                            base::Arena& arena, base::Buffer& out, Item* item) {
  Hello hello{state_.version, std::nullopt};
  size_t at = 1;
  if (arguments.size() > 1) {
    if (arguments[1] != "2" && arguments[1] != "3") {
      int64_t number = 0;
      return resp::AppendError(ParsePlainInteger(arguments[1], &number)
                                   ? "NOPROTO unsupported protocol version"
                                   : "ERR Protocol version is not an integer or out of range",
                               &out);
    }
    hello.version = arguments[1] == "3" ? resp::Version::k3 : resp::Version::k2;
    ++at;
  }
  std::string_view user, password;
  bool logs_in = false;
  while (at < arguments.size()) {
    if (IsWord(arguments[at], "auth") && at + 2 < arguments.size()) {
      logs_in = true;
      if (shared_.accounts) base::Wipe(password);  // An AUTH before this one has set it.
      user = arguments[at + 1];
      password = arguments[at + 2];
      at += 3;
    } else if (IsWord(arguments[at], "setname") && at + 1 < arguments.size()) {
      if (!model::IsClientName(arguments[at + 1])) return resp::AppendError(kRespBadName, &out);
      hello.name = arguments[at + 1];
      at += 2;
    } else {
      constexpr size_t kShownMax = 128;
      const std::string shown(arguments[at].substr(0, kShownMax));
      return resp::AppendError("ERR Syntax error in HELLO option '" + shown + "'", &out);
    }
  }
  if (!is_logged_in_ && !logs_in) {
    item->error.code = ErrorCode::kUnauth;
    return resp::AppendError(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time",
        &out);
  }
  if (logs_in && !shared_.accounts && user != kRespDefaultUser) {
    return resp::AppendError(kWrongLogin, &out);
  }
  if (logs_in && shared_.accounts) {
    LogIn(user, password, arena, item);
    hello_ = std::move(hello);
    return;
  }
  Take(hello);
  own_client_.Show(state_, account);
  AppendServer(out);
}

void RespLogin::Take(const Hello& hello) {
  state_.version = hello.version;
  if (hello.name) own_client_.SetName(*hello.name);
}

void RespLogin::AppendServer(base::Buffer& out) const {
  resp::AppendMap(7, state_.version, &out);
  const auto add = [&out](std::string_view name, std::string_view value) {
    resp::AppendBulk(name, &out);
    resp::AppendBulk(value, &out);
  };
  add("server", "redis");
  add("version", kRespRedisVersion);
  resp::AppendBulk("proto", &out);
  resp::AppendInteger(static_cast<int64_t>(state_.version), &out);
  resp::AppendBulk("id", &out);
  resp::AppendInteger(static_cast<int64_t>(own_client_.id()), &out);
  add("mode", "standalone");
  add("role", shared_.takes_writes() ? "master" : "replica");
  resp::AppendBulk("modules", &out);
  resp::AppendArray(0, &out);
}

void RespLogin::Ended(const model::Error& answer, const model::Account* account,
                      base::Buffer& out) {
  const std::optional<Hello> hello = std::exchange(hello_, std::nullopt);
  if (!answer.ok()) {
    const bool needs_tls = answer.code == ErrorCode::kNeedtls;
    return resp::AppendError(
        needs_tls ? "NEEDTLS a password is taken over TLS only: resp_accounts_insecure"
                  : kWrongLogin,
        &out);
  }
  is_logged_in_ = true;
  if (hello) Take(*hello);
  own_client_.Show(state_, account);
  if (hello)
    AppendServer(out);
  else
    resp::AppendSimple("OK", &out);
}

}  // namespace rowsocket::frontend
