#include "exec/handshake_thread.h"

#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/thread.h"
#include "net/peer.h"
#include "net/tls_stream.h"

namespace rowsocket::exec {

namespace {

/// Events that one wait returns at most.
constexpr size_t kHandshakeEventsMax = 512;
/// How often the thread looks for handshakes that have taken too long.
constexpr int kHandshakeTickMs = 200;
/// How often the log says that handshakes fail.
constexpr int64_t kHandshakeLogMs = 60'000;

constexpr size_t kRecordHeaderBytes = 5;
constexpr size_t kRecordBytesMax = 16 * 1024;

/// Whether OpenSSL can work on the first record: the record is complete, or its header is wrong.
bool CanBegin(std::string_view received) {
  if (received.size() < kRecordHeaderBytes) return false;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(received[i]); };
  const size_t bytes = size_t{byte(3)} << 8 | byte(4);
  return byte(1) != 3 || bytes > kRecordBytesMax || received.size() >= kRecordHeaderBytes + bytes;
}

/// Whether a complete first record holds a whole ClientHello (RFC 8446, section 4). OpenSSL takes
/// memory for the length that a hello claims, and would wait for the rest of a hello that comes in
/// pieces, which no usual client sends. REQUIRES: CanBegin.
bool HoldsHello(std::string_view received) {
  constexpr size_t kHandshakeHeaderBytes = 4;
  constexpr unsigned char kHandshake = 0x16, kClientHello = 1;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(received[i]); };
  const size_t bytes = size_t{byte(3)} << 8 | byte(4);
  // OpenSSL answers a wrong header with an alert at once.
  if (byte(0) != kHandshake || byte(1) != 3 || bytes > kRecordBytesMax) return true;
  if (bytes < kHandshakeHeaderBytes) return false;
  const size_t hello = size_t{byte(6)} << 16 | size_t{byte(7)} << 8 | byte(8);
  return byte(5) == kClientHello && kHandshakeHeaderBytes + hello <= bytes;
}

}  // namespace

HandshakeThread::HandshakeThread(const HandshakeSettings& settings, StatRegistry& stats,
                                 net::BufferBudget& budget,
                                 std::function<void(const std::string&)> log)
    : settings_(settings), log_(std::move(log)), stats_(stats) {
  connection_context_.budget = &budget;
  deadlines_.SetTimeout(int64_t{settings.timeout_s} * 1000);
}

bool HandshakeThread::Start() {
  if (!loop_.Open()) return false;
  return base::StartThread(&thread_, [this] { Main(); });
}

void HandshakeThread::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  loop_.Wake();
  thread_.join();
}

void HandshakeThread::Put(std::unique_ptr<Client> client, HandshakeOwner& owner) {
  client->connection.MoveTo(connection_context_);
  client->handshake_owner = &owner;
  client->booked.SetHandshake(true);
  {
    const base::MutexLock lock(mutex_);
    new_.Push(std::move(client));
  }
  loop_.Wake();
}

void HandshakeThread::Main() {
  std::array<net::Event, kHandshakeEventsMax> events;
  while (!stopping_.load(std::memory_order_relaxed)) {
    for (const net::Event& event :
         loop_.Wait(events, handshakes_.empty() ? -1 : kHandshakeTickMs)) {
      // An earlier event of this round may have ended the handshake.
      const auto found = handshakes_.find(static_cast<Client*>(event.tag()));
      if (found == handshakes_.end()) continue;
      found->second.client->connection.OnEvents(event.ready());
      Advance(found->second);
    }
    TakeNew();
    CloseExpired();
    BeginWaiting();
    if (handshakes_.empty()) connection_context_.buffers.Trim();
  }
  handshakes_.clear();
}

void HandshakeThread::TakeNew() {
  ClientQueue arrived;
  {
    const base::MutexLock lock(mutex_);
    std::swap(arrived, new_);
  }
  while (std::unique_ptr<Client> client = arrived.Pop()) TakeOver(std::move(client));
}

void HandshakeThread::TakeOver(std::unique_ptr<Client> client) {
  Client& arrived = *client;
  Handshake* handshake = nullptr;
  try {
    handshake = &handshakes_[&arrived];
  } catch (const std::bad_alloc&) {
    stats_.Add(Stat::kTlsFailed);
    arrived.connection.Abort();
    arrived.booked.SetHandshake(false);
    return arrived.handshake_owner->Admitted(std::move(client));
  }
  handshake->client = std::move(client);
  deadlines_.InsertInOrder(
      arrived, settings_.counts_from_connection ? arrived.connected_ms : base::CoarseNowMs());
  Advance(*handshake);
}

void HandshakeThread::Advance(Handshake& handshake) {
  try {
    if (handshake.stage == Stage::kHello)
      ReadHello(handshake);
    else if (handshake.stage == Stage::kUnderWay)
      AskOpenSsl(handshake);
  } catch (const std::bad_alloc&) {
    Fail(handshake, "out of memory");
  }
}

// OpenSSL keeps 20 KiB for a handshake that has begun. So a handshake begins only when the client
// has sent all that the first step needs.
void HandshakeThread::ReadHello(Handshake& handshake) {
  net::Connection& connection = handshake.client->connection;
  net::Connection::Received received{};
  do {
    received = connection.Receive(kRecordHeaderBytes + kRecordBytesMax);
  } while (received.may_have_more && !CanBegin(connection.in().view()));
  if (connection.state() != net::Connection::State::kServing) {
    return Fail(handshake, "the client has gone");
  }
  if (CanBegin(connection.in().view())) {
    if (!HoldsHello(connection.in().view())) return Fail(handshake, "no ClientHello came first");
    handshake.address = LoginSource::FromPeer(net::PeerOf(connection.fd()), {}).Address();
    queue_.Put(handshake.address, handshake.client.get());
    handshake.stage = Stage::kWaits;
  }
  if (!connection.CountBuffers()) return Fail(handshake, "out of memory for buffers");
  if (!connection.UpdateInterest(loop_, handshake.client.get())) {
    Fail(handshake, "cannot watch a socket");
  }
}

void HandshakeThread::BeginWaiting() {
  while (Client* const client = queue_.Take()) {
    Handshake& handshake = handshakes_.at(client);
    handshake.stage = Stage::kUnderWay;
    try {
      Begin(handshake);
    } catch (const std::bad_alloc&) {
      Fail(handshake, "out of memory");
    }
  }
}

void HandshakeThread::Begin(Handshake& handshake) {
  auto stream = net::TlsStream::Make(settings_.tls);
  if (stream == nullptr)
    return Fail(handshake, "the server has no certificate (ssl_cert, ssl_key)");
  handshake.client->connection.StartTls(std::move(stream));
  AskOpenSsl(handshake);
}

void HandshakeThread::AskOpenSsl(Handshake& handshake) {
  net::Connection& connection = handshake.client->connection;
  switch (connection.Handshake()) {
    case net::TlsStream::Status::kDone:
      stats_.Add(Stat::kTlsHandshakes);
      return GiveBack(handshake);
    case net::TlsStream::Status::kNeedsInput:
      if (!connection.CountBuffers()) return Fail(handshake, "out of memory for buffers");
      if (connection.UpdateInterest(loop_, handshake.client.get())) return;
      return Fail(handshake, "cannot watch a socket");
    case net::TlsStream::Status::kEnd:
    case net::TlsStream::Status::kFailed:
      return Fail(handshake, connection.tls()->WhyFailed());
  }
}

void HandshakeThread::CloseExpired() {
  const int64_t now_ms = base::CoarseNowMs();
  while (Client* const client = deadlines_.Expired(now_ms)) {
    stats_.Add(Stat::kConnectionsTimedOut);
    Fail(handshakes_.at(client), "the handshake took too long");
  }
}

void HandshakeThread::Fail(Handshake& handshake, std::string_view why) {
  stats_.Add(Stat::kTlsFailed);
  const int64_t now_ms = base::CoarseNowMs();
  if (now_ms - logged_ms_ >= kHandshakeLogMs) {
    logged_ms_ = now_ms;
    try {
      log_("a TLS handshake has failed: " + std::string(why));
    } catch (const std::bad_alloc&) {  // The log lacks a line; the connection ends all the same.
    }
  }
  handshake.client->connection.AbortAfterSent();
  GiveBack(handshake);
}

void HandshakeThread::GiveBack(Handshake& handshake) {
  Client* const client = handshake.client.get();
  if (handshake.stage == Stage::kUnderWay) queue_.End(handshake.address);
  if (handshake.stage == Stage::kWaits) queue_.Drop(handshake.address, client);
  client->Unlink();
  client->connection.Suspend(loop_);
  std::unique_ptr<Client> given = std::move(handshake.client);
  handshakes_.erase(client);
  client->booked.SetHandshake(false);
  client->handshake_owner->Admitted(std::move(given));
}

}  // namespace rowsocket::exec
