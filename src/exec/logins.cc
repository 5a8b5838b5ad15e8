#include "exec/logins.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/printable.h"
#include "base/secret_text.h"
#include "net/peer.h"

namespace rowsocket::exec {

namespace {

/// Whether an account can have such a name: only then is the server asked, because names go into
/// logs.
bool MayBeUser(std::string_view user) {
  return !user.empty() && user.size() <= model::kUserBytesMax &&
         std::none_of(user.begin(), user.end(), base::IsControl);
}

}  // namespace

// A password that everybody on the way could read is not even looked at.
bool Logins::MayTakePassword(const Client& client, const net::Peer& peer) const {
  return peer.is_local || client.tls() != nullptr || core_.settings.takes_passwords_in_clear;
}

void Logins::Start(Client& client, const TurnItem& item) {
  const net::Peer peer = net::PeerOf(client.connection.fd());
  const bool may_take = item.item.credentials->refuse_unchecked || MayTakePassword(client, peer);
  bool is_full = false;
  try {
    is_full = may_take && !Submit(client, item, peer);
  } catch (const std::bad_alloc&) {
    clients_.Lose(client, Loss::kMemory);
  }
  const Credentials& credentials = *item.item.credentials;
  base::Wipe(credentials.user);
  base::Wipe(credentials.password);
  base::Buffer& input = client.connection.in();
  const size_t bytes = item.input_end - item.input_begin;
  base::Wipe(input.view().substr(0, bytes));
  client.wipes_unused = true;
  client.Consume(bytes);
  if (!may_take) Answer(client, {model::ErrorCode::kNeedtls}, /*closes=*/true);
  if (is_full) Answer(client, {model::ErrorCode::kUnauth}, /*closes=*/true);
}

bool Logins::Submit(Client& client, const TurnItem& item, const net::Peer& peer) {
  auto job = std::make_unique<LoginJob>();
  const Credentials& credentials = *item.item.credentials;
  job->owner = &owner_;
  job->client = &client;
  job->source = LoginSource::FromPeer(peer, credentials.user);
  engine::LoginAttempt& attempt = job->attempt;
  attempt.fd = client.connection.fd();
  attempt.tls = client.tls();
  attempt.is_unix = peer.is_unix;
  attempt.address = peer.address;
  attempt.port = peer.port;
  const bool fits = !credentials.refuse_unchecked && MayBeUser(credentials.user) &&
                    attempt.password.Set(credentials.password);
  job->refuse_unchecked = !fits;
  if (fits) attempt.user = credentials.user;
  if (!core_.settings.login_desk->Submit(std::move(job))) return false;
  client.SetAway(Away::kLoggingIn);
  client.connection.SetInputWanted(false);
  return true;
}

void Logins::Finish(LoginJob& job) {
  Client& client = *job.client;
  client.SetAway(Away::kNo);
  if (client.is_retired()) {
    // A client that has gone counts as well, because its password was checked: a guesser need not
    // wait for the answer.
    if (job.login.account == nullptr) Count({model::ErrorCode::kUnauth});
    if (job.login.ticket != nullptr) core_.settings.login_desk->End(std::move(job.login.ticket));
    return clients_.FreeOrphan(client);
  }
  client.connection.SetInputWanted(true);
  const bool is_accepted = job.login.account != nullptr;
  if (is_accepted) {
    EndTicket(client);
    client.ticket = std::move(job.login.ticket);
    client.ticket_account = job.login.account->id();
    if (client.ticket != nullptr)
      client.frontend->SetServerThreadId(client.ticket->server_thread_id);
    client.frontend->SetAccount(std::move(job.login.account));
    // The next bytes of the client may end the login: its time to authenticate then begins anew.
    clients_.Touch(client);
  }
  LookAt(client);
  client.login_failures = is_accepted ? 0 : client.login_failures + 1;
  const model::ErrorCode error = is_accepted ? model::ErrorCode::kNone : model::ErrorCode::kUnauth;
  Answer(client, {error}, client.login_failures == model::kLoginFailuresMax);
  // In some protocols, a refused login ends the one before it.
  LookForOtherAccount(client);
}

void Logins::EndTicket(Client& client) {
  if (client.ticket != nullptr) core_.settings.login_desk->End(std::move(client.ticket));
  client.frontend->SetServerThreadId(0);
}

void Logins::LeaveAccount(Client& client) {
  const Frontend& frontend = *client.frontend;
  const bool is_in = frontend.authenticated();
  if (is_in && IdOf(frontend.account()) == client.ticket_account) return;
  EndTicket(client);
  if (!client.is_retired()) clients_.Touch(client);
}

void Logins::Count(model::Error answer) {
  core_.stats.Add(Stat::kAuthsTried);
  core_.stats.Add(answer.ok() ? Stat::kAuths : Stat::kAuthsFailed);
  if (!answer.ok()) core_.stats.Add(ErrorStat(answer.code));
}

void Logins::Answer(Client& client, model::Error answer, bool closes) {
  client.frontend->CountAnswer(!answer.ok());
  Count(answer);
  try {
    net::GatedOutput& out = client.connection.out();
    client.frontend->LoginEnded(answer, out.bytes());
    out.OpenGate();
  } catch (const std::bad_alloc&) {
    return clients_.Lose(client, Loss::kMemory);
  }
  client.has_more = !closes;
  if (closes) client.connection.Finish();
  clients_.ComeBack(client);
}

// A request may wait for a lock for as long as a server has been told to wait, and all connections
// must not be looked at in each round meanwhile: LookAt is called when the connection is back.
void Logins::EndAccounts() {
  if (!may_have_ended_) return;
  may_have_ended_ = false;
  // From the back: a connection that is closed leaves its place to the last one, which has been
  // looked at.
  for (size_t i = clients_.size(); i-- > 0;) {
    Client& client = *clients_.all()[i];
    if (!HasEnded(client)) continue;
    if (!client.is_away())
      End(client);
    else if (!client.is_elsewhere())
      may_have_ended_ = true;
  }
}

// Requests that were received and not executed yet get no answer but this one.
void Logins::End(Client& client) {
  try {
    net::GatedOutput& out = client.connection.out();
    client.frontend->AccountEnded(out.bytes());
    out.OpenGate();
  } catch (const std::bad_alloc&) {
    return clients_.Lose(client, Loss::kMemory);
  }
  core_.settings.login_desk->End(std::move(client.ticket));
  client.has_more = false;
  client.connection.Finish();
  clients_.Send(client);
}

}  // namespace rowsocket::exec
