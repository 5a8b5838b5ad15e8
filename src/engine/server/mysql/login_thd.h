// A THD for one login, or one look at an account, which no process list shows. It is the THD of its
// thread while it lives.
#pragma once

#include "api.h"
#include "sql/derror.h"
#include "sql/protocol_classic.h"

namespace rowsocket::engine::server {

class LoginThd {
 public:
  LoginThd() : thd_(new THD(/*enable_plugins=*/true)) {
    thd_->thread_stack = static_cast<char*>(__builtin_frame_address(0));
    thd_->set_new_thread_id();
    thd_->store_globals();
    thd_->set_time();
    thd_->variables.option_bits &= ~OPTION_BIN_LOG;
    lex_start(thd_);
    // The server waits for the THDs that it knows of before it frees its accounts at a shutdown.
    Global_THD_manager::get_instance()->add_thd(thd_);
  }
  ~LoginThd() {
    if (has_net_) CloseNet();
    Global_THD_manager::get_instance()->remove_thd(thd_);
    thd_->clear_error();
    thd_->cleanup_after_query();
    thd_->release_resources();
    delete thd_;
  }
  LoginThd(const LoginThd&) = delete;
  LoginThd& operator=(const LoginThd&) = delete;

  THD* get() const { return thd_; }

  /// Lets the server speak with a client through the Vio, which outlives this object. False where
  /// memory ran out, also for the Vio.
  bool SpeakThrough(Vio* vio) {
    has_net_ = vio != nullptr && !thd_->get_protocol_classic()->init_net(vio);
    return has_net_;
  }

 private:
  // The server's buffer has held the answers of the client's side.
  void CloseNet() {
    NET& net = *thd_->get_protocol_classic()->get_net();
    explicit_bzero(net.buff, net.max_packet);
    net_end(&net);
    net.vio = nullptr;
  }

  THD* const thd_;
  bool has_net_ = false;
};

}  // namespace rowsocket::engine::server
