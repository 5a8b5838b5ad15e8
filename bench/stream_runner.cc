#include "bench/stream_runner.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/connect.h"
#include "bench/sockets.h"

namespace rowsocket::bench {

StreamRunner::StreamRunner(const Options& options, Shared* shared, Share share)
    : Runner(options, share),
      workload_(MakeWorkload(options, shared, options.seed * 1000 + share.number)),
      keys_per_request_(workload_->KeysPerRequest()),
      connections_(share.connections),
      input_(kReceiveBytes),
      output_(std::max(kReceiveBytes, workload_->RequestBytesMax())) {}

StreamRunner::~StreamRunner() = default;

bool StreamRunner::Connect(std::string* error) {
  if (!OpenEpoll(error)) return false;
  std::vector<Stream> opened;
  if (!OpenConnections(options_, workload_.get(), connections_.size(), true, &opened, error)) {
    return false;
  }
  for (size_t i = 0; i < connections_.size(); ++i) {
    Connection* connection = &connections_[i];
    connection->number = i;
    connection->stream = std::move(opened[i]);
    connection->sent.resize(options_.depth);
    connection->keys.resize(options_.depth * keys_per_request_);
    epoll_event event = {EPOLLIN, {connection}};
    if (!SetNonBlocking(connection->stream.fd()) ||
        epoll_ctl(epoll(), EPOLL_CTL_ADD, connection->stream.fd(), &event) != 0) {
      *error = std::string("epoll_ctl: ") + strerror(errno);
      return false;
    }
  }
  return true;
}

void StreamRunner::Fill(size_t number, int64_t now) { FillConnection(&connections_[number], now); }

void StreamRunner::OnReady(void* tag, uint32_t events) {
  auto* connection = static_cast<Connection*>(tag);
  if ((events & EPOLLOUT) != 0) SendUnsent(connection);
  if ((events & ~EPOLLOUT) == 0) return;
  while (Receive(connection) && connection->stream.has_pending()) {
  }
}

void StreamRunner::FillConnection(Connection* connection, int64_t now) {
  if (!connection->stream.valid()) return;
  const size_t request_bytes_max = workload_->RequestBytesMax();
  char* const begin = output_.data();
  char* at = begin;
  int64_t since = 0;
  while (connection->in_flight < options_.depth &&
         MayBuild(connection->number, connection->built, now, &since)) {
    if (at + request_bytes_max > begin + output_.size()) {
      Send(connection, begin, static_cast<size_t>(at - begin));
      at = begin;
      if (!connection->stream.valid()) return;
      continue;
    }
    size_t slot = connection->first + connection->in_flight;
    if (slot >= options_.depth) slot -= options_.depth;
    Sent* sent = &connection->sent[slot];
    sent->since_ns = since;
    at = workload_->Build(at, sent, &connection->keys[slot * keys_per_request_]);
    ++connection->in_flight;
    ++connection->built;
    CountBuilt();
  }
  if (at != begin) Send(connection, begin, static_cast<size_t>(at - begin));
}

void StreamRunner::Send(Connection* connection, const char* bytes, size_t count) {
  if (!connection->unsent.empty()) {
    connection->unsent.append(bytes, count);
    return;
  }
  const ssize_t sent = connection->stream.Send(bytes, count);
  if (sent < 0 && errno != EAGAIN) {
    Lose(connection);
    return;
  }
  const size_t taken = sent < 0 ? 0 : static_cast<size_t>(sent);
  if (taken == count) return;
  connection->unsent.assign(bytes + taken, count - taken);
  connection->waits_to_send = true;
  epoll_event event = {EPOLLIN | EPOLLOUT, {connection}};
  epoll_ctl(epoll(), EPOLL_CTL_MOD, connection->stream.fd(), &event);
}

void StreamRunner::SendUnsent(Connection* connection) {
  if (!connection->waits_to_send) return;
  const ssize_t sent =
      connection->stream.Send(connection->unsent.data(), connection->unsent.size());
  if (sent < 0 && errno != EAGAIN) {
    Lose(connection);
    return;
  }
  connection->unsent.erase(0, sent < 0 ? 0 : static_cast<size_t>(sent));
  if (!connection->unsent.empty()) return;
  connection->waits_to_send = false;
  epoll_event event = {EPOLLIN, {connection}};
  epoll_ctl(epoll(), EPOLL_CTL_MOD, connection->stream.fd(), &event);
}

bool StreamRunner::Receive(Connection* connection) {
  if (!connection->stream.valid()) return false;
  const ssize_t count = connection->stream.Receive(input_.data(), input_.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    Lose(connection);
    return false;
  }
  const int64_t now = NowNs();
  std::string_view received(input_.data(), static_cast<size_t>(count));
  if (connection->received.empty()) {
    received.remove_prefix(JudgeAll(connection, received, now));
    connection->received.assign(received);
  } else {
    connection->received.append(received);
    connection->received.erase(0, JudgeAll(connection, connection->received, now));
  }
  FillConnection(connection, now);
  return true;
}

size_t StreamRunner::JudgeAll(Connection* connection, std::string_view received, int64_t now) {
  size_t judged = 0;
  while (judged < received.size() && connection->in_flight > 0) {
    const Checked checked =
        workload_->Check(received.substr(judged), connection->sent[connection->first],
                         &connection->keys[connection->first * keys_per_request_]);
    if (checked.bytes == 0) return judged;
    judged += checked.bytes;
    Judge(connection, checked, now);
  }
  if (judged == received.size()) return judged;
  tally().CountMismatch(0, received.substr(judged));  // bytes that belong to no request
  Lose(connection);
  return received.size();
}

void StreamRunner::Judge(Connection* connection, const Checked& checked, int64_t now) {
  const Sent& sent = connection->sent[connection->first];
  if (checked.verdict == Verdict::kError) tally().CountError(checked.text);
  if (checked.verdict == Verdict::kMismatch) tally().CountMismatch(sent.key, checked.text);
  if (checked.has_before && options_.verify_conservation) {
    result_.before_images.Add(sent.key, checked.before);
  }
  CountReply(connection->number, checked.verdict, checked.rows, sent.since_ns, now);
  if (++connection->first == options_.depth) connection->first = 0;
  --connection->in_flight;
}

void StreamRunner::Lose(Connection* connection) {
  if (!connection->stream.valid()) return;
  connection->stream.Close();
  CountLost(connection->in_flight);
  connection->in_flight = 0;
}

std::unique_ptr<Runner> MakeStreamRunner(const Options& options, Shared* shared, Share share) {
  return std::make_unique<StreamRunner>(options, shared, share);
}

}  // namespace rowsocket::bench
