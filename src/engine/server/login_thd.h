// A THD for one login, or for the end of a connection that had logged in. No process list shows it.
// login_calls.cc of each family defines it.
//
// Threads: only the one that makes it. While it lives, it is the current THD of that thread.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

class LoginThd {
 public:
  /// `id`: the number under which the server's audit plugins know the connection; 0: a new one.
  explicit LoginThd(my_thread_id id = 0);
  ~LoginThd();
  LoginThd(const LoginThd&) = delete;
  LoginThd& operator=(const LoginThd&) = delete;

  THD* get() const { return thd_; }

  /// Lets the server speak with a client through the Vio, which outlives this object. False if
  /// memory ran out, here or for the Vio, which is then null.
  bool SpeakThrough(ServerVio* vio);

 private:
  THD* const thd_;
  bool has_net_ = false;  ///< The THD has a network buffer.
};

}  // namespace rowsocket::engine::server
