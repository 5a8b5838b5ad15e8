// The thread that does the TLS handshakes of a port, so that a handshake, which takes as long as a
// hundred finds, keeps no other connection of a worker waiting.
//
// Flow: a worker sees the first byte of TLS: Put -> the handshake on this thread
//       -> HandshakeOwner::Admitted, with a connection that speaks TLS, or that is kBroken
//
//   kHello     the first record is not complete: the connection costs no more than its bytes
//   kWaits     kHandshakesMax others are being done, or kHandshakesOfAddressMax of its address
//   kUnderWay  OpenSSL has the handshake
//
// Threads: Put from any; Start and Stop from the port's; all else on the handshake thread.
// Lifetime: outlives no worker that it may give connections to.
// Limits: HandshakeSettings says how long a handshake may take; HandshakeQueue says which is next.
// Errors: a handshake that fails is counted, and told to the log once a minute.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/mutex.h"
#include "exec/client.h"
#include "exec/handshake_queue.h"
#include "exec/login_sources.h"
#include "exec/stats.h"
#include "model/limits.h"
#include "net/buffer_budget.h"
#include "net/connection.h"
#include "net/event_loop.h"
#include "net/idle_list.h"
#include "net/tls.h"

namespace rowsocket::exec {

/// Gets connections back when their handshakes have ended.
class HandshakeOwner {
 public:
  /// Called on the handshake thread. The connection is suspended, and still refers to that thread's
  /// net::ConnectionContext. Does not throw.
  virtual void Admitted(std::unique_ptr<Client> client) = 0;

 protected:
  ~HandshakeOwner() = default;
};

struct HandshakeSettings {
  net::TlsSettings tls;
  uint32_t timeout_s = model::kHandshakeTimeoutS;
  /// The timeout counts from the connection, and not from the client's first byte: a client of this
  /// port must have authenticated when it is over.
  bool counts_from_connection = false;
};

class HandshakeThread {
 public:
  HandshakeThread(const HandshakeSettings& settings, StatRegistry& stats, net::BufferBudget& budget,
                  std::function<void(const std::string&)> log);
  ~HandshakeThread() { Stop(); }
  HandshakeThread(const HandshakeThread&) = delete;
  HandshakeThread& operator=(const HandshakeThread&) = delete;

  /// Starts the thread. False when the system gives no thread or no file descriptor: errno says
  /// which.
  bool Start();
  void Stop();

  /// Takes over a suspended connection that has received nothing yet. Needs no memory.
  void Put(std::unique_ptr<Client> client, HandshakeOwner& owner);

  net::TlsMode mode() const { return settings_.tls.mode; }

 private:
  enum class Stage : uint8_t { kHello, kWaits, kUnderWay };
  struct Handshake {
    std::unique_ptr<Client> client;
    Stage stage = Stage::kHello;
    LoginSource address;  ///< The client's address; known from kWaits on.
  };

  void Main();
  void TakeNew();
  void TakeOver(std::unique_ptr<Client> client);
  /// Does what can be done now; `handshake` may be gone afterwards.
  void Advance(Handshake& handshake);
  void ReadHello(Handshake& handshake);
  void AskOpenSsl(Handshake& handshake);
  void BeginWaiting();
  void Begin(Handshake& handshake);
  void CloseExpired();
  void Fail(Handshake& handshake, std::string_view why);
  void GiveBack(Handshake& handshake);

  const HandshakeSettings settings_;
  const std::function<void(const std::string&)> log_;
  StatBlock stats_;
  net::ConnectionContext connection_context_;
  net::EventLoop loop_;
  std::atomic<bool> stopping_{false};

  base::Mutex mutex_;
  ClientQueue new_ GUARDED_BY(mutex_);

  std::unordered_map<Client*, Handshake> handshakes_;
  HandshakeQueue queue_;  ///< Connections in kWaits and kUnderWay.
  net::IdleList<Client> deadlines_{0};
  int64_t logged_ms_ = -3'600'000;
  std::thread thread_;
};

}  // namespace rowsocket::exec
