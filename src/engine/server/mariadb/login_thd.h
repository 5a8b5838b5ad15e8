// A THD for one login or the end of one connection, which no process list shows. It is the THD of
// its thread while it lives.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

class LoginThd {
 public:
  explicit LoginThd(my_thread_id id = next_thread_id());
  ~LoginThd();
  LoginThd(const LoginThd&) = delete;
  LoginThd& operator=(const LoginThd&) = delete;

  THD* get() const { return thd_; }

  /// Lets the server speak with a client through the Vio, which outlives this object. False where
  /// memory ran out.
  bool SpeakThrough(st_vio* vio);

 private:
  THD* const thd_;
};

}  // namespace rowsocket::engine::server
