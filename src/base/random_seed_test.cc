#include "base/random_seed.h"

#include <gtest/gtest.h>

namespace rowsocket::base {
namespace {

TEST(RandomSeedTest, SeedsDiffer) { EXPECT_NE(RandomSeed(), RandomSeed()); }

static_assert(noexcept(RandomSeed()));

}  // namespace
}  // namespace rowsocket::base
