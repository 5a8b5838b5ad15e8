#include "frontend/resp/key.h"

#include <string>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

class RespEscapedKeyTest : public RespTest {
 protected:
  RespEscapedKeyTest() { store_.CreateTable({"shop.word", {"k", "v"}, {{"PRIMARY", {0}}}}); }
};

TEST_F(RespEscapedKeyTest, ABackslashStandsBeforeAColonOrABackslash) {
  EXPECT_EQ(":1\r\n", Ask(R"(HSET "word:a\\:b\\\\c" v 1)"));
  EXPECT_EQ("a:b\\c,1;", store_.Dump("shop.word"));
  EXPECT_EQ("$1\r\n1\r\n", Ask(R"(HGET "word:a\\:b\\\\c" v)"));
}

// Without its backslash such a key would be another row's.
TEST_F(RespEscapedKeyTest, AKeyWithABackslashThatEscapesNothingIsRefused) {
  EXPECT_EQ(":1\r\n", Ask("HSET word:Cdir v 1"));
  for (const char* key : {R"("word:C\\dir")", R"("word:Cdir\\")", R"("word:\\\\\\x:1")"}) {
    for (const char* command :
         {"HSET KEY v 2", "HGET KEY v", "HGETALL KEY", "HINCRBY KEY v 1", "HDEL KEY v", "DEL KEY",
          "EXISTS KEY", "TYPE KEY", "TTL KEY", "WATCH KEY", "OBJECT ENCODING KEY"}) {
      std::string line = command;
      line.replace(line.find("KEY"), 3, key);
      EXPECT_EQ("-NOROW a backslash in a key stands before a colon or a backslash\r\n", Ask(line))
          << line;
    }
  }
  EXPECT_EQ("Cdir,1;", store_.Dump("shop.word"));
}

TEST_F(RespEscapedKeyTest, TheKeyOfAStringHasAnyBackslashes) {
  for (const char* key : {R"("Books::C\\dir")", R"("word\\:1")", R"("nothing:\\")"}) {
    EXPECT_EQ("+OK\r\n", Ask("SET " + std::string(key) + " 1")) << key;
    EXPECT_EQ("$1\r\n1\r\n", Ask("GET " + std::string(key))) << key;
  }
  EXPECT_EQ("*1\r\n$-1\r\n", Ask(R"(MGET "word:C\\dir")")) << "MGET never fails";
}

}  // namespace
}  // namespace rowsocket::frontend
