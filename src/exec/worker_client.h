// A connection, and a batch, as their worker sees them; for the worker's own files only.
#pragma once

#include <memory>
#include <utility>

#include "exec/worker.h"

namespace rowsocket::exec {

/// For the log: what `error` of the event loop means, and what helps.
std::string WhyNotWatched(int error);

struct Worker::Client : net::IdleLink {
  Client(net::UniqueFd fd, net::ConnectionContext& context, std::unique_ptr<Frontend> made)
      : connection(std::move(fd), context), frontend(std::move(made)) {}

  net::Connection connection;
  std::unique_ptr<Frontend> frontend;
  TurnClient turn;
  size_t parsed = 0;      ///< Bytes of input that this turn's items and skipped bytes take.
  size_t place = 0;       ///< In clients_.
  bool is_ready = false;  ///< Is in ready_.
  bool can_receive = false;
  bool has_more = false;         ///< The input may hold further complete requests.
  bool has_requests = false;     ///< Requests of this connection are in the turn.
  bool writes = false;           ///< What it sent last did: its next requests go into a batch.
  bool closes = false;           ///< The last item of this turn ends the connection.
  bool waits = false;            ///< Away: the lane has its request.
  bool was_handed_back = false;  ///< By the lane, without an outcome, when it was there last.
  bool in_batch = false;         ///< Away: its items are in a batch, or it waits for one, or held.
  uint32_t active_in = 0;        ///< The last period in which it asked for something (Crew).
  WaitJob* job = nullptr;        ///< While it waits; the lane's, or in the inbox.
  bool retired = false;

  bool is_away() const { return waits || in_batch; }
  /// Of a turn that was full nothing of it was executed.
  bool is_left() const { return turn.stopped() && turn.stopped_at->input_begin == 0; }
};

struct Worker::ClientBatch : Batch {
  using Batch::Batch;

  std::vector<Client*> clients;
  uint32_t largest = 0;  ///< Requests of the client that has most.
};

}  // namespace rowsocket::exec
