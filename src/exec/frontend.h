// What a protocol is to a worker: bytes in, items of work out, replies back.
//
// Flow for one connection: { Parse }, then for each item
//
//   kReply         Reply -> Finished
//   kOpen          Opened -> Reply -> Finished
//   kSilentOpen    Opened
//   kRefresh       (nothing)
//   kRequest       Execute -> Finished
//   kAuthenticate  LoginEnded, when the login has been checked
//
// Before any of these, Refuse may make a kRequest or kOpen item a kReply item.
// For a kSilentOpen or kRefresh item Parse consumes no input. The worker gets what the frontend
// lacks, answers nothing and parses the input again. The worker refreshes before its next turn,
// once for all connections that have asked in the present turn. Parse must then give another item,
// even if the worker could not get what was lacking: otherwise the worker would parse for ever.
//
// Threads: the worker's; Execute, MayShareRow, Reply, ReplyError and Finished run on the turn's
// thread, which is the worker's, its batch executor's or a lane's. VisitRows runs on the turn's
// thread, and afterwards on the worker's; AddWrites on any thread, while the turn commits. While
// the connection is away the worker calls name(), account(), answers(), errors(), held_bytes(),
// input_bytes_max, authenticated and ShowWaits alone: what runs on the turn's thread changes
// nothing that those functions look at, except atomic members.
// Lifetime: items hold views of the input and of the arena (invariant I2).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "base/buffer.h"
#include "engine/session.h"
#include "exec/row_name.h"
#include "model/account.h"
#include "model/error.h"
#include "model/request.h"

namespace rowsocket::exec {

class WriteSet;
struct Unit;

/// The frontend's own part of an item, from Parse to its reply. Requests that are more than one
/// request of the engine have one, such as a get of several keys. It lies in the arena of Parse.
struct ItemDetail {};

/// What a client has sent to log in with an account of the server. The memory behind the views may
/// be written: it is wiped as soon as the login is under way.
struct Credentials {
  std::string_view user;
  std::string_view password;
  /// The login is refused without a look at user and password, after the delay of its source.
  bool refuse_unchecked = false;
};

/// A request of a client, or an object that its frontend needs first.
struct Item {
  enum class Kind : uint8_t {
    kReply,         ///< Answered without the engine: `error`, or success when `error` is empty.
    kOpen,          ///< `names` are to be looked up and get the connection's `index_id`.
    kSilentOpen,    ///< `names` are to be looked up for the frontend; the client gets no answer.
    kRefresh,       ///< What the port's frontends share may be out of date (PortSettings::prepare).
    kAuthenticate,  ///< `credentials` are to be checked; no item of the client is before it.
    kRequest,       ///< `request` on `index`.
  };
  Kind kind = Kind::kReply;
  /// The number of one of the protocol's verbs, by which latencies are counted, below
  /// LatencyRegistry::verbs(). 0: no verb.
  uint16_t verb = 0;
  model::Error error;
  uint32_t index_id = 0;
  bool is_auth_reply = false;                 ///< A kReply to a request for access.
  const engine::IndexNames* names = nullptr;  ///< The names to open. The frontend owns them, until
                                              ///< its next Parse.
  const Credentials* credentials = nullptr;   ///< kAuthenticate; in the arena of Parse.
  engine::Index* index = nullptr;             ///< kRequest. The connection's ids keep the index
                                              ///< open.
  /// kRequest. In an item that opens, refreshes or is charged, only the account counts.
  model::Request request;
  /// The frontend's own note; may be null. Unless it is composite, a kRequest item that writes is
  /// `request` on `index`, once, and nothing else.
  ItemDetail* detail = nullptr;
  /// kRequest: several requests with one outcome; the item is composite, and `request` is the first
  /// write among them, or else the first find. kReply: the requests that are refused together.
  Unit* unit = nullptr;
  uint32_t weight = 1;  ///< How many requests the item counts as, against the limits of its
                        ///< account.
  /// A kReply that counts as a request, against the limits of the account in `request`.
  bool is_charged = false;
  /// Executing the item is more than executing `request`: a turn must not make it part of a row
  /// (S7).
  bool is_composite = false;
  /// A kReply whose reply may be large. The item has changed nothing yet, and waits for room in the
  /// output as a request does.
  bool is_large = false;
  /// A kReply whose Parse looks at all connections, or at all latencies: no further request of its
  /// connection is parsed in this turn.
  bool is_costly = false;
  /// A kReply whose input may hold a password that nobody has checked: the input is wiped. It is
  /// never parsed again, because no item of the client at which the turn may stop is before it.
  bool wipes_input = false;
  /// The connection ends after the answer of the item; the input after the item is dropped.
  bool closes = false;
  /// kSilentOpen: if a DDL statement has locked the names, the item does not wait. Opened gets
  /// that as the outcome, because the frontend has an answer without the names.
  bool takes_busy = false;

  bool opens() const { return kind == Kind::kOpen || kind == Kind::kSilentOpen; }
  /// Whether the item is no request of the client, and has neither input nor a reply.
  bool is_silent() const { return kind == Kind::kSilentOpen || kind == Kind::kRefresh; }
  /// The name of the row that a kRequest item concerns.
  RowName row_name() const { return {*index, request}; }
};

class Frontend {
 public:
  enum class Parsed : uint8_t {
    kItem,
    kNeedMore,  ///< No complete request in the input.
    kLater,     ///< The request changes the connection's state (as an open or a login does) while
                ///< requests before it may yet run again: it is parsed anew, after Rewind, once
                ///< they are answered.
  };
  struct Step {
    Parsed parsed = Parsed::kNeedMore;
    size_t consumed = 0;  ///< Bytes at the front of the input that Parse has used up.
  };

  virtual ~Frontend() = default;

  /// The account of the connection, whose rights its requests have; null: all rights.
  const model::Account* account() const { return account_.get(); }
  /// Counts an answer. An item may be answered on any thread, one item of a connection at a time.
  void CountAnswer(bool is_error) {
    Add(answers_, 1);
    if (is_error) Add(errors_, 1);
  }
  uint64_t answers() const { return answers_.load(std::memory_order_relaxed); }
  uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }

  /// The bytes of its client that the frontend holds from one turn to the next: they count as those
  /// of the connection's buffers do.
  size_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }

  /// The connection's number in the ConnectionBook; 0: it has none.
  uint64_t connection_id() const { return connection_id_; }
  virtual void SetConnectionId(uint64_t id) { connection_id_ = id; }
  /// The number under which the server tells audit plugins of the connection; 0: the server does
  /// not tell them.
  uint64_t server_thread_id() const { return server_thread_id_; }
  void SetServerThreadId(uint64_t id) { server_thread_id_ = id; }
  /// Whether audit plugins are told of the tables that requests reach: a variable of the plugin.
  bool tells_accesses() const { return tells_accesses_ != nullptr && tells_accesses_(); }
  void SetTellsAccesses(bool (*tells)()) { tells_accesses_ = tells; }
  /// The name that the client has given its connection, for operators; may be empty.
  virtual std::string name() const { return {}; }

  /// Notes that the connection's request begins or ends to wait for a lock, for protocols that show
  /// the state of their clients. Called by the worker.
  virtual void ShowWaits(bool /*waits*/) {}

  /// Gives the connection another account. Called while no item of the connection is under way.
  void SetAccount(std::shared_ptr<const model::Account> account) { account_ = std::move(account); }

  /// Takes the next request off the front of `input`. `after_requests`: the turn already has items
  /// of this connection at which it may stop, so that their input is parsed again.
  virtual Step Parse(std::string_view input, bool after_requests, base::Arena& arena,
                     Item* item) = 0;
  /// Parses an item again that has met a lock in its turn and waits for it elsewhere. What the
  /// frontend had found when the turn parsed the item still counts, however long ago that was. If
  /// the item is a kReply now, the caller throws it away and parses its input anew, as if this call
  /// had not been made.
  virtual Step ParseForLane(std::string_view input, base::Arena& arena, Item* item) {
    return Parse(input, /*after_requests=*/false, arena, item);
  }
  /// Forgets what Parse has noted of the last input, which was not executed, and will be given
  /// again from its first byte.
  virtual void Rewind() = 0;
  /// How many bytes of input Parse may need to see at once; a connection holds no more.
  virtual size_t input_bytes_max() const = 0;
  /// Whether the client may send requests yet.
  virtual bool authenticated() const = 0;

  /// Appends the answer to the login that a kAuthenticate item asked for, and that has ended. When
  /// nothing is wrong, the connection has its account by now.
  virtual void LoginEnded(const model::Error&, base::Buffer& /*out*/) {}
  /// Appends what tells the client that its account has ended, and that the connection ends, as far
  /// as the protocol has something for it.
  virtual void AccountEnded(base::Buffer& /*out*/) {}

  /// Takes the outcome of a kOpen or kSilentOpen item; turns a kOpen item into a kReply item.
  virtual void Opened(Item& item, const engine::Outcome& outcome,
                      std::shared_ptr<engine::Index> index) = 0;

  /// Executes a kRequest item on `session`, and appends its reply if Outcome::is_answer(),
  /// otherwise nothing.
  virtual engine::Outcome Execute(const Item& item, engine::Session& session,
                                  base::Buffer& out) const = 0;
  /// Whether a kRequest item that is not composite may be executed on one copy of its row with
  /// others that name the row. False: Execute answers the item without the engine, so that it must
  /// not lock a row: the key `007` is no row's key to this protocol, and the server would take it
  /// for that of row 7.
  virtual bool MayShareRow(const Item&, engine::Session&) const { return true; }
  /// Whether a kRequest item that finds may have seen a row in `writes`.
  virtual bool MayConcern(const Item& item, const WriteSet& writes) const = 0;
  /// Adds what a composite kRequest item changes beyond its `request`. Called on any thread, while
  /// the turn of the item commits.
  virtual void AddWrites(const Item&, WriteSet&) const {}
  /// Calls `visit` with the rows that a kRequest item names if its `request` names none.
  virtual void VisitRows(const Item&, const std::function<void(const RowName&)>& /*visit*/) const {}
  /// Appends the reply of a kReply item.
  virtual void Reply(const Item& item, base::Buffer& out) const = 0;
  /// Makes a kRequest or kOpen item, which its account may not have executed now, a kReply item
  /// that answers the error.
  virtual void Refuse(Item& item, const model::Error& error, base::Arena&) const {
    item.kind = Item::Kind::kReply;
    item.error = error;
  }
  /// Appends an error as the reply of any item.
  virtual void ReplyError(const Item& item, model::Error error, base::Buffer& out) const = 0;
  /// Appends the answer to a client that does not use TLS, which is required. `begin`: the bytes
  /// that the client has sent first, kFirstBytesMax of them at most.
  virtual void RefusePlain(std::string_view /*begin*/, base::Buffer&) const {}
  /// Tells the frontend, which may count answers, that the answer of an item is final. Called once
  /// for each item.
  virtual void Finished(const Item&, const model::Error& /*answer*/) {}

 protected:
  /// Sets what held_bytes() returns.
  void SetHeldBytes(size_t bytes) { held_bytes_.store(bytes, std::memory_order_relaxed); }
  /// Counts an answer of a command that its protocol has refused and for which the engine has no
  /// error. Call it from Finished.
  void CountRefusal() { Add(errors_, 1); }

 private:
  static void Add(std::atomic<uint64_t>& counter, uint64_t count) {
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }

  std::shared_ptr<const model::Account> account_;
  uint64_t connection_id_ = 0;
  uint64_t server_thread_id_ = 0;
  bool (*tells_accesses_)() = nullptr;
  std::atomic<uint64_t> answers_{0};
  std::atomic<uint64_t> errors_{0};
  std::atomic<size_t> held_bytes_{0};
};

}  // namespace rowsocket::exec
