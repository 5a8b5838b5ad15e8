// What a Redis without messages, modules, replicas and snapshots answers.
#include "frontend/resp/empty_answers.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "keyspace/time.h"

namespace rowsocket::frontend {
namespace {

std::string Ask(const std::vector<std::string_view>& words,
                resp::Version version = resp::Version::k2) {
  base::Buffer out;
  const RespVerb verb = FindRespCommand(words[0])->verb;
  return AppendEmptyAnswer(verb, words, version, out) ? std::string(out.view()) : "none";
}

TEST(RespEmptyAnswersTest, OnlyWhatIsNotThereIsAnswered) {
  for (const std::string_view command : {"get", "publish", "subscribe", "save"}) {
    EXPECT_EQ("none", Ask({command, "a", "b"})) << command;
  }
}

TEST(RespEmptyAnswersTest, TheLastSaveIsNow) {
  const int64_t before_s = keyspace::WallClockMs() / 1000;
  const int64_t saved_s = std::stoll(Ask({"lastsave"}).substr(1));
  EXPECT_LE(before_s, saved_s);
  EXPECT_LE(saved_s, keyspace::WallClockMs() / 1000);
}

TEST(RespEmptyAnswersTest, ThereAreNoModules) {
  EXPECT_EQ("*0\r\n", Ask({"module", "List"}));
  EXPECT_EQ("-ERR wrong number of arguments for 'module|list' command\r\n",
            Ask({"module", "LIST", "x"}));
  EXPECT_TRUE(Ask({"module", "LOAD", "x.so"}).starts_with("-NOTSERVED "));
  EXPECT_EQ("-ERR unknown subcommand 'x'. Try MODULE HELP.\r\n", Ask({"module", "x"}));
}

TEST(RespEmptyAnswersTest, NoChannelHasASubscriber) {
  EXPECT_EQ("*0\r\n", Ask({"pubsub", "channels"}));
  EXPECT_EQ("*0\r\n", Ask({"pubsub", "SHARDCHANNELS", "a*"}));
  EXPECT_TRUE(Ask({"pubsub", "channels", "a", "b"}).starts_with("-ERR unknown subcommand or "));
  EXPECT_EQ(":0\r\n", Ask({"pubsub", "numpat"}));
  EXPECT_EQ("*0\r\n", Ask({"pubsub", "numsub"}));
  EXPECT_EQ("*4\r\n$1\r\na\r\n:0\r\n$1\r\nb\r\n:0\r\n", Ask({"pubsub", "numsub", "a", "b"}));
}

TEST(RespEmptyAnswersTest, UnsubscribeConfirmsEachChannel) {
  EXPECT_EQ("*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n", Ask({"UNSUBSCRIBE"}));
  EXPECT_EQ(
      ">3\r\n$12\r\npunsubscribe\r\n$1\r\na\r\n:0\r\n"
      ">3\r\n$12\r\npunsubscribe\r\n$1\r\nb\r\n:0\r\n",
      Ask({"punsubscribe", "a", "b"}, resp::Version::k3));
}

TEST(RespEmptyAnswersTest, NoReplicaIsWaitedFor) {
  EXPECT_EQ(":0\r\n", Ask({"wait", "2", "0"}));
  EXPECT_EQ("-ERR value is not an integer or out of range\r\n", Ask({"wait", "x", "0"}));
  EXPECT_EQ("-ERR timeout is not an integer or out of range\r\n", Ask({"wait", "1", "x"}));
  EXPECT_EQ("-ERR timeout is negative\r\n", Ask({"wait", "1", "-1"}));
}

}  // namespace
}  // namespace rowsocket::frontend
