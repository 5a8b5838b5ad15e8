// How threads of the library are started.
//
// Threads: any.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace rowsocket::base {

/// Starts `thread`, which runs `main`. False: the system gives no thread (the process may not be
/// allowed any more of them), or memory lacks; errno says which. REQUIRES: `thread` does not run.
template <typename Main>
bool StartThread(std::thread* thread, Main main) {
  try {
    *thread = std::thread(std::move(main));
    return true;
  } catch (const std::system_error& error) {
    errno = error.code().value();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  return false;
}

}  // namespace rowsocket::base
