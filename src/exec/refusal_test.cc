#include "exec/refusal.h"

#include <gtest/gtest.h>

namespace rowsocket::exec {
namespace {

TEST(RefusalTest, OnlyTheProcesssOwnLimitIsToldAsOne) {
  EXPECT_EQ(Refusal::kNoDescriptor, WhyNotAccepted(EMFILE));
  EXPECT_EQ(Refusal::kNoMachineFile, WhyNotAccepted(ENFILE));
  for (const int error : {ENOBUFS, ENOMEM, EBADF, EINVAL}) {
    EXPECT_EQ(Refusal::kNotAccepted, WhyNotAccepted(error)) << error;
  }
}

}  // namespace
}  // namespace rowsocket::exec
