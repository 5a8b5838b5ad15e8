#include "plugin/daemon.h"

#include <dlfcn.h>

#include <cerrno>
#include <exception>
#include <iterator>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/server/cluster_node.h"
#include "engine/server/login.h"
#include "engine/server/server_log.h"
#include "engine/server/thread_data.h"
#include "exec/commit_board.h"
#include "exec/connection_book.h"
#include "plugin/host.h"
#include "plugin/tls.h"

namespace rowsocket::plugin {

namespace {

/// What all plugins share, because a row may be written through one plugin while it is read through
/// another.
struct SharedByPlugins {
  engine::IndexRegistry indexes;
  exec::CommitBoard commits;
};

SharedByPlugins& Shared() {
  static SharedByPlugins shared;
  return shared;
}

thread_local ShownCounters shown;

/// Keeps the library in memory for good, even after the server has closed it.
bool PinLibrary() {
  Dl_info self;
  return dladdr(reinterpret_cast<void*>(&PinLibrary), &self) != 0 && self.dli_fname != nullptr &&
         dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

/// How long the table of connections waits for a worker that is in a turn.
constexpr std::chrono::milliseconds kListWait{100};

}  // namespace

class Daemon::Running {
 public:
  Running(const Descriptor& descriptor, unsigned long* latency_since)
      : name_(descriptor.name),
        audits_(descriptor.audits),
        latency_(descriptor.verbs.count, latency_since),
        slow_log_(descriptor.name, descriptor.verbs.name, descriptor.shows_values),
        protocol_(descriptor.make_protocol()) {}
  ~Running() { Stop(); }

  bool Start(std::string* error) {
    DaemonSettings settings;
    if (!protocol_->Configure({stats_, latency_, slow_log_, hot_rows_}, &settings, error))
      return false;
    sessions_ =
        std::make_unique<engine::server::ServerSessionFactory>(settings.sessions, Shared().indexes);
    lane_ = std::make_unique<exec::WaitLane>(*sessions_, stats_, Shared().commits,
                                             settings.lock_wait_threads);
    if (audits_() && !engine::server::kHasTableAudit) {
      LogPrintableWarning(std::string(name_) +
                          "_audit has no effect: this server tells no plugin of its tables");
    }
    if (settings.auth_threads != 0 && !StartLogins(settings, error)) return false;
    if (!settings.ports.empty())
      account_limits_ = std::make_unique<exec::AccountLimits>(*settings.account_limits);
    for (const PortPlan& plan : settings.ports) {
      if (!StartPort(plan, error)) return false;
    }
    const auto end_connections = [this] {
      for (auto& port : ports_) port->AccountsHaveEnded();
    };
    if (settings.checks_accounts && !checker_.Watch(end_connections)) {
      *error = "cannot start the thread that watches accounts (" +
               std::generic_category().message(errno) + "): allow the server more threads";
      return false;
    }
    return protocol_->StartHousekeeper(*sessions_, error);
  }

  /// Frees the ports; connections and threads end later.
  void BeginStop() {
    for (auto& port : ports_) {
      port->AskToStop();
      port->StopListening();
    }
    if (sessions_ != nullptr) sessions_->Stop();
  }

  void Stop() {
    // Workers are told first: a worker that does not know that it is to stop would answer requests
    // that fail only for lack of a session.
    for (auto& port : ports_) port->AskToStop();
    if (sessions_ != nullptr) sessions_->Stop();
    protocol_->StopHousekeeper();
    if (lane_ != nullptr) lane_->Stop();
    if (desk_ != nullptr) desk_->CloseLogins();
    for (auto& port : ports_) port->Stop();
    checker_.StopWatching();
    ports_.clear();
    desk_.reset();
    lane_.reset();
  }

  /// Asks all workers for their connections; they add them to the list in their own time.
  std::shared_ptr<exec::ConnectionList> ListConnections(bool has_addresses) {
    size_t workers = 0;
    for (const auto& port : ports_) workers += port->workers();
    auto list = std::make_shared<exec::ConnectionList>(workers, has_addresses);
    for (const auto& port : ports_) port->List(list);
    return list;
  }

  const exec::StatRegistry& stats() const { return stats_; }
  const exec::LatencyRegistry& latency() const { return latency_; }
  exec::HotRows& hot_rows() { return hot_rows_; }
  const exec::Usage& usage() const { return usage_; }
  bool uses_tls() const { return uses_tls_; }
  const Protocol& protocol() const { return *protocol_; }

 private:
  bool StartLogins(const DaemonSettings& settings, std::string* error) {
    desk_ = std::make_unique<exec::LoginDesk>(checker_, settings.auth_threads);
    return desk_->Start() || FailForLackOfLoginThread(error);
  }

  bool FailForLackOfLoginThread(std::string* error) const {
    *error = "cannot start a thread for logins (" + std::generic_category().message(errno) +
             "): lower " + name_ + "_auth_threads";
    return false;
  }

  std::function<std::unique_ptr<exec::Frontend>()> MakerOf(const PortPlan& plan) const {
    return [make = plan.make_frontend, audits = audits_] {
      auto frontend = make();
      frontend->SetTellsAccesses(audits);
      return frontend;
    };
  }

  bool StartPort(const PortPlan& plan, std::string* error) {
    exec::PortSettings settings = plan.settings;
    settings.account_limits = account_limits_.get();
    settings.latency = &latency_;
    settings.hot_rows = &hot_rows_;
    settings.usage = &usage_;
    settings.slow_log = &slow_log_;
    settings.plugin = name_;
    settings.limits.descriptors_max = DescriptorsForConnections();
    settings.login_desk = desk_.get();
    uses_tls_ = uses_tls_ || settings.handshakes.tls.mode != net::TlsMode::kOff;
    // The port is kept before it starts. When its start fails, some of its workers run and wait
    // for the server's start, which comes after the plugin's: Stop ends them.
    ports_.push_back(std::make_unique<exec::Port>(settings, *sessions_, *lane_, stats_,
                                                  Shared().commits, MakerOf(plan),
                                                  LogPrintableWarning));
    if (!ports_.back()->Start(error)) return false;
    for (const net::Address& address : settings.addresses) {
      engine::server::LogNote("%s listens on %s%s, %u threads", name_, net::ToText(address).c_str(),
                              plan.note.c_str(), settings.workers);
    }
    return true;
  }

  const char* const name_;
  bool (*const audits_)();
  exec::StatRegistry stats_;
  exec::LatencyRegistry latency_;
  exec::HotRows hot_rows_;
  exec::Usage usage_;
  exec::SlowLog slow_log_;
  const std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<engine::server::ServerSessionFactory> sessions_;
  std::unique_ptr<exec::WaitLane> lane_;
  engine::server::ServerLogins checker_;
  std::unique_ptr<exec::LoginDesk> desk_;
  std::unique_ptr<exec::AccountLimits> account_limits_;
  std::vector<std::unique_ptr<exec::Port>> ports_;
  bool uses_tls_ = false;
};

Daemon::Daemon(const Descriptor& descriptor) : descriptor_(descriptor) {}
Daemon::~Daemon() = default;

int Daemon::Init() {
  try {
    return Begin();
  } catch (const std::bad_alloc&) {
    engine::server::LogError("%s does not start: out of memory", descriptor_.name);
    return 1;
  }
}

int Daemon::Begin() {
  std::string error = WhyItDoesNotFit();
  if (error.empty() && engine::server::IsBootstrap()) return 0;
  std::unique_ptr<Running> starting;
  if (error.empty()) {
    starting = std::make_unique<Running>(descriptor_, &latency_since_);
    if (!starting->Start(&error)) starting.reset();
  }
  if (starting == nullptr) {
    ReportFailure(descriptor_.name, error);
    return 1;
  }
  const base::MutexLock lock(mutex_);
  running_ = std::move(starting);
  return 0;
}

int Daemon::Deinit() {
  std::unique_ptr<Running> stopping;
  {
    const base::MutexLock lock(mutex_);
    stopping = std::move(running_);
  }
  if (stopping == nullptr) return 0;
  if (engine::server::HoldsClusterOrder() && PinLibrary()) {
    StopLater(std::move(stopping));
  } else {
    stopping.reset();
    engine::server::LogNote("%s has stopped", descriptor_.name);
  }
  return 0;
}

// UNINSTALL is a statement in the order of a Galera cluster. A worker whose commit is ordered after
// it ends only when UNINSTALL has ended, so UNINSTALL must not wait for the worker.
void Daemon::StopLater(std::unique_ptr<Running> stopping) {
  stopping->BeginStop();
  const char* const name = descriptor_.name;
  // Without a thread to end it, `running` stays as long as the server: its destructor waits.
  Running* const running = stopping.release();
  try {
    std::thread([name, running] {
      // The sessions for SQL end with `running`, and call functions of the server.
      const engine::server::ThreadData thread_data;
      std::unique_ptr<Running>(running).reset();
      engine::server::LogNote("%s has stopped", name);
    }).detach();
  } catch (const std::exception&) {  // std::system_error, or std::bad_alloc.
    engine::server::LogWarning(
        "no thread can be had to stop %s: some of its threads are left until the server ends",
        name);
  }
}

std::vector<exec::ConnectionInfo> Daemon::Connections(bool has_addresses) {
  std::shared_ptr<exec::ConnectionList> list;
  {
    const base::MutexLock lock(mutex_);
    if (running_ == nullptr) return {};
    list = running_->ListConnections(has_addresses);
  }
  std::vector<exec::ConnectionInfo> known = list->Await(kListWait);
  std::vector<exec::ConnectionInfo> others =
      exec::ConnectionBook::Shared().Others(descriptor_.name, known, has_addresses);
  std::move(others.begin(), others.end(), std::back_inserter(known));
  return known;
}

std::vector<exec::LatencyRow> Daemon::Latency() {
  const base::MutexLock lock(mutex_);
  return running_ != nullptr ? running_->latency().Read() : std::vector<exec::LatencyRow>();
}

exec::HotRows::Rows Daemon::HotRows(int64_t seconds) {
  const base::MutexLock lock(mutex_);
  return running_ != nullptr ? running_->hot_rows().Top(seconds, base::CoarseNowMs())
                             : exec::HotRows::Rows();
}

exec::Usage::Indexes Daemon::UsageOfIndexes() {
  const base::MutexLock lock(mutex_);
  return running_ != nullptr ? running_->usage().indexes() : exec::Usage::Indexes();
}

exec::Usage::Accounts Daemon::UsageOfAccounts() {
  const base::MutexLock lock(mutex_);
  return running_ != nullptr ? running_->usage().accounts() : exec::Usage::Accounts();
}

// Without memory to read the counters, all are shown as 0, because an exception would end the
// server.
void Daemon::Show(StatusVariable* var) {
  const base::MutexLock lock(mutex_);
  try {
    FillShownCounters(running_.get());
  } catch (const std::bad_alloc&) {
    FillShownCounters(nullptr);
  }
  shown.ShowIn(var);
}

void Daemon::FillShownCounters(const Running* running) const {
  shown.Clear(descriptor_.name);
  shown.AddExec(running != nullptr ? &running->stats() : nullptr);
  shown.AddLatency(running != nullptr ? &running->latency() : nullptr);
  const bool uses_tls = running != nullptr && running->uses_tls();
  shown.AddCertificateEnds(uses_tls ? CertificateEnds() : 0);
  if (descriptor_.show_own != nullptr) {
    descriptor_.show_own(running != nullptr ? &running->protocol() : nullptr, &shown);
  }
}

}  // namespace rowsocket::plugin
