#include "base/thread.h"

#include <gtest/gtest.h>

namespace rowsocket::base {
namespace {

/// What a thread is to run, and what is thrown as soon as the thread is given it.
template <typename Error>
struct Thrower {
  explicit Thrower(Error error) : error(std::move(error)) {}
  Thrower(Thrower&& other) : error(other.error) { throw error; }
  void operator()() const {}

  Error error;
};

TEST(StartThreadTest, RunsWhatItIsGiven) {
  std::thread thread;
  int ran = 0;
  ASSERT_TRUE(StartThread(&thread, [&ran] { ran = 1; }));
  thread.join();
  EXPECT_EQ(ran, 1);
}

TEST(StartThreadTest, ErrnoSaysWhyThereIsNone) {
  std::thread thread;
  errno = 0;
  EXPECT_FALSE(StartThread(&thread, Thrower(std::bad_alloc())));
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_FALSE(thread.joinable());

  const std::system_error none(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_FALSE(StartThread(&thread, Thrower(none)));
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(thread.joinable());
}

}  // namespace
}  // namespace rowsocket::base
