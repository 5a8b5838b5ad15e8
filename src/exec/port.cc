#include "exec/port.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

namespace rowsocket::exec {

namespace {

/// Why a thread cannot be started: `begin`, the reason, and what helps. `workers_variable`: the
/// variable that says how many such threads there are; empty: there is one.
std::string CannotStart(const std::string& begin, int error, const std::string& workers_variable) {
  std::string advice = error == EMFILE   ? "raise open_files_limit"
                       : error == EAGAIN ? "allow the server more threads"
                                         : "";
  if (!workers_variable.empty()) {
    advice += (advice.empty() ? "lower " : ", or lower ") + workers_variable;
  }
  return begin + std::generic_category().message(error) + ")" + (advice.empty() ? "" : ": ") +
         advice;
}

}  // namespace

Port::Port(const PortSettings& settings, engine::SessionFactory& sessions, WaitLane& lane,
           StatRegistry& stats, CommitBoard& commits,
           std::function<std::unique_ptr<Frontend>()> make_frontend,
           std::function<void(const std::string&)> log)
    : settings_(settings) {
  context_.settings = &settings_;
  context_.sessions = &sessions;
  context_.stats = &stats;
  context_.lane = &lane;
  context_.commits = &commits;
  context_.make_frontend = std::move(make_frontend);
  context_.listeners = &listeners_;
  context_.assign = [this](net::UniqueFd fd) { return Assign(std::move(fd)); };
  context_.log = std::move(log);
  budget_.SetMax(settings.limits.memory_bytes_max);
  context_.budget = &budget_;
  if (settings.handshakes.tls.mode != net::TlsMode::kOff) {
    handshake_thread_ =
        std::make_unique<HandshakeThread>(settings.handshakes, stats, budget_, context_.log);
    context_.handshake_thread = handshake_thread_.get();
  }
}

bool Port::Start(std::string* error) {
  std::vector<std::string> notes;
  auto listeners = net::OpenListeners(settings_.addresses, settings_.listen, &notes, error);
  for (const std::string& note : notes) context_.log(note);
  if (!listeners) return false;
  listeners_ = std::move(*listeners);
  if (handshake_thread_ != nullptr && !handshake_thread_->Start()) {
    *error = CannotStart("cannot start a thread for TLS handshakes (", errno, "");
    return false;
  }
  MakeWorkers();
  for (auto& worker : workers_) {
    if (!worker->Start()) {
      *error = CannotStart("cannot start a worker thread (", errno, settings_.workers_variable);
      return false;
    }
  }
  return true;
}

// If memory runs out, the port has no workers, so that whoever stops it meets none that is null.
void Port::MakeWorkers() {
  workers_.resize(settings_.workers);
  try {
    worker_pool_ = std::make_unique<WorkerPool>(workers_, settings_.elastic, settings_.writes);
    context_.worker_pool = worker_pool_.get();
    for (auto& worker : workers_) worker = std::make_unique<Worker>(context_);
  } catch (const std::bad_alloc&) {
    workers_.clear();
    throw;
  }
}

void Port::AskToStop() {
  for (auto& worker : workers_) worker->AskToStop();
}

void Port::StopListening() {
  for (const net::Listener& listener : listeners_) listener.FreeAddress();
}

void Port::Stop() {
  AskToStop();
  for (auto& worker : workers_) worker->Stop();
  if (handshake_thread_ != nullptr) handshake_thread_->Stop();
  for (auto& worker : workers_) worker->DropMail();
  listeners_.clear();
}

void Port::AccountsHaveEnded() {
  for (auto& worker : workers_) worker->AccountsHaveEnded();
}

void Port::List(const std::shared_ptr<ConnectionList>& list) {
  for (auto& worker : workers_) worker->List(list);
}

// The worker that accepts has a session, so that Emptiest finds one. If it ever found none, the
// connection would be closed.
bool Port::Assign(net::UniqueFd fd) {
  const base::MutexLock lock(assign_mutex_);
  uint64_t connections = 0;
  for (const auto& worker : workers_) connections += worker->connections();
  if (connections >= settings_.limits.connections_max) return false;  // Closed with `fd`.
  Worker* const worker = worker_pool_->Emptiest();
  if (worker != nullptr) worker->Adopt(std::move(fd));
  return worker != nullptr;
}

}  // namespace rowsocket::exec
