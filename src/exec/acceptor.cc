#include "exec/acceptor.h"

#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace rowsocket::exec {

namespace {

/// Connections that one event brings at most: a flood of them must not keep the others waiting.
constexpr unsigned kAcceptsPerEventMax = 64;
/// How long a listener rests when no connection can be taken.
constexpr int64_t kAcceptPauseMs = 100;

}  // namespace

void Acceptor::Listen() {
  for (net::Listener& each : *core_.context.listeners) {
    if (core_.loop.AddShared(each.fd(), &each)) continue;
    clients_.CountRefused(Refusal::kNotWatched, errno);
    return Pause();
  }
}

void Acceptor::StopListening() {
  for (net::Listener& each : *core_.context.listeners) core_.loop.Remove(each.fd());
}

void Acceptor::Resume() {
  if (accepts_ || is_shut_ || base::CoarseNowMs() < accept_again_ms_) return;
  accepts_ = true;
  Listen();
}

void Acceptor::Accept(net::Listener& listener) {
  using Status = net::Listener::AcceptStatus;
  for (unsigned i = 0; i < kAcceptsPerEventMax; ++i) {
    net::Listener::Accepted accepted = listener.Accept();
    if (accepted.status == Status::kTransient) continue;
    if (accepted.status == Status::kNone) return;
    if (accepted.status == Status::kBroken) {
      is_shut_ = true;
      return StopListening();
    }
    if (accepted.status != Status::kAccepted) {
      clients_.CountRefused(WhyNotAccepted(accepted.error), accepted.error);
      return Pause();
    }
    // The kernel gives the lowest free number, so a number this high means that all lower ones are
    // in use.
    if (accepted.fd.get() >= core_.settings.limits.descriptors_max) {
      clients_.CountRefused(Refusal::kDescriptorsMax);
    } else if (!core_.context.assign(std::move(accepted.fd))) {
      clients_.CountRefused(Refusal::kConnectionsMax);
    }
  }
}

// The listeners stay readable while no connection can be taken: watching them would only make the
// loop spin.
void Acceptor::Pause() {
  if (!accepts_) return;
  StopListening();
  accepts_ = false;
  accept_again_ms_ = base::CoarseNowMs() + kAcceptPauseMs;
}

}  // namespace rowsocket::exec
