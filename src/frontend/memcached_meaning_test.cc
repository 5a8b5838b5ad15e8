// What the order of flags, an expired row and the counters mean.
#include "frontend/memcached_fixture.h"

namespace rowsocket::frontend {
namespace {

TEST_F(MemcachedTest, AnExpiredRowIsMadeAnew) {
  store_.CreateTable({"test.more",
                      {"id", "value", "expires", "unmapped"},
                      {{"PRIMARY", {0}}},
                      false,
                      false,
                      {{"expires", Of(Kind::kInteger, 0, true)}}},
                     {{"e", "1", "1000", "kept"}, {"a", "1", "1000", "kept"}, {"l", "1", "0", "kept"}});
  Define({{"default", "test", "more", "id", "value", "0", "0", "expires", "PRIMARY"}});
  EXPECT_EQ("STORED\r\n", Set("e", "2", "0"));
  EXPECT_EQ("STORED\r\n", Ask("add a 0 0 1\r\n2\r\n"));
  EXPECT_EQ("STORED\r\n", Set("l", "2", "0"));
  EXPECT_EQ("a,2,NULL,NULL;e,2,NULL,NULL;l,2,0,kept;", store_.Dump("test.more"));
}

}  // namespace
}  // namespace rowsocket::frontend
