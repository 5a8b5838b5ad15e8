#include <gtest/gtest.h>

#include <string>

#include "protocol/memcached/base64.h"
#include "protocol/memcached/test_line.h"

namespace rowsocket::memcached {
namespace {

TEST(Meta, Get) {
  const LineCase kCases[] = {
      {"mg a", "meta get \"a\""},
      {"mg a v", "meta get \"a\" value?"},
      {"mg a t s Oab c q v k f h l u",
       "meta get \"a\" quiet cas? key? value? returns=\"tsOckfhl\" opaque=\"ab\" no_update"},
      {"mg a T30 t", "meta gat \"a\" exptime=30 returns=\"t\" has_exptime"},
      {"mg a T4294967295", "meta gat \"a\" exptime=-1 has_exptime"},
      {"mg a N0 R-5 E7", "meta get \"a\" create=0 new_cas=7 recache=-5"},
      {"mg a C5 v", "meta get \"a\" value? cas=5"},
      {"mg a P L Lx", "meta get \"a\" !\"CLIENT_ERROR duplicate flag\""},
      {"mg a Pfoo Lx", "meta get \"a\""},
      {"mg YWJj b k", "meta get \"abc\" key? key_text=\"YWJj\" returns=\"k\" base64"},
      {"mg a O", "meta get \"a\" returns=\"O\""},
  };
  for (const LineCase& test : kCases) EXPECT_EQ(ParsedLine(test.line), test.command) << test.line;
}

TEST(Meta, Set) {
  const std::string kData = "\r\nhi";
  const LineCase kCases[] = {
      {"ms a 2", "meta set \"a\" value=\"hi\""},
      {"ms a 2 T0 F5 c k O1 s q I",
       "meta set \"a\" quiet cas? key? value=\"hi\" flags=5 returns=\"ckOs\" opaque=\"1\" "
       "invalidates has_exptime"},
      {"ms a 2 C0", "meta set \"a\" value=\"hi\" cas=0"},
      {"ms a 2 MS", "meta set \"a\" value=\"hi\""},
      {"ms a 2 ME", "meta add \"a\" value=\"hi\""},
      {"ms a 2 ME C5", "meta add \"a\" value=\"hi\""},
      {"ms a 2 MR", "meta replace \"a\" value=\"hi\""},
      {"ms a 2 MR C5", "meta set \"a\" value=\"hi\" cas=5"},
      {"ms a 2 MA N30", "meta append \"a\" value=\"hi\" create=30"},
      {"ms a 2 MP C5", "meta prepend \"a\" value=\"hi\" cas=5"},
      {"ms a 2 MP C0", "meta prepend \"a\" value=\"hi\""},
      {"ms a 2 E9 t f", "meta set \"a\" value=\"hi\" new_cas=9"},
      {"ms YQ== 2 b", "meta set \"a\" key_text=\"YQ==\" value=\"hi\" base64"},
  };
  for (const LineCase& test : kCases) {
    EXPECT_EQ(ParsedLine(test.line + kData), test.command) << test.line;
  }
}

TEST(Meta, DeleteAndArithmetic) {
  const LineCase kCases[] = {
      {"md a", "meta delete \"a\""},
      {"md a q k O1 C3 E4 x I T30 F2",
       "meta delete \"a\" quiet key? flags=2 exptime=30 cas=3 returns=\"kO\" opaque=\"1\" "
       "invalidates removes_value has_exptime new_cas=4"},
      {"ma a", "meta increment \"a\" delta=1"},
      {"ma a MI D0", "meta increment \"a\""},
      {"ma a M+ v t c k O9 T1 q",
       "meta increment \"a\" quiet cas? key? value? exptime=1 delta=1 returns=\"tckO\" "
       "opaque=\"9\" has_exptime"},
      {"ma a M- D5", "meta decrement \"a\" delta=5"},
      {"ma a MD N60 J13", "meta decrement \"a\" create=60 delta=1 initial=13"},
      {"ma a C5 E6", "meta increment \"a\" cas=5 delta=1 new_cas=6"},
      {"ma a C0", "meta increment \"a\" delta=1"},
      {"ma a MD G3", "meta decrement \"a\" delta=1 guard=3"},
  };
  for (const LineCase& test : kCases) EXPECT_EQ(ParsedLine(test.line), test.command) << test.line;
}

TEST(Meta, WrongFlags) {
  const std::string key_251(251, 'k');
  const std::string opaque_31(31, 'o');
  const LineCase kCases[] = {
      {"mg", "CLIENT_ERROR bad command line format"},
      {"ms a", "CLIENT_ERROR bad command line format"},
      {"ms a x", "CLIENT_ERROR bad command line format"},
      {"ms a -1", "CLIENT_ERROR bad command line format"},
      {"ms a S2", "CLIENT_ERROR bad command line format"},
      {"mg " + key_251, "CLIENT_ERROR bad command line format"},
      {"me YW! b", "CLIENT_ERROR bad command line format"},
      {"mg a s s", "CLIENT_ERROR duplicate flag"},
      {"mg a \xff", "CLIENT_ERROR duplicate flag"},
      {"mg a z", "CLIENT_ERROR invalid flag"},
      {"mg a G3", "CLIENT_ERROR invalid flag"},
      {"md a z", "CLIENT_ERROR invalid flag"},
      {"ma a z", "CLIENT_ERROR invalid or duplicate flag"},
      {"ma a s s", "CLIENT_ERROR invalid or duplicate flag"},
      {"ma a Dx", "CLIENT_ERROR invalid or duplicate flag"},
      {"ma a G", "CLIENT_ERROR invalid or duplicate flag"},
      {"ma a G-1", "CLIENT_ERROR invalid or duplicate flag"},
      {"ma a MX", "CLIENT_ERROR invalid mode for ma M token"},
      {"ma a M", "CLIENT_ERROR invalid mode for ma M token"},
      {"mg a T", "CLIENT_ERROR bad token in command line format"},
      {"mg a Nx", "CLIENT_ERROR bad token in command line format"},
      {"mg a Rx", "CLIENT_ERROR bad token in command line format"},
      {"mg a C-1", "CLIENT_ERROR bad token in command line format"},
      {"mg a E18446744073709551616", "CLIENT_ERROR bad token in command line format"},
      {"mg a Dx", "CLIENT_ERROR invalid numeric delta value"},
      {"mg a Jx", "CLIENT_ERROR invalid numeric initial value"},
      {"mg a F18446744073709551616", "CLIENT_ERROR bad command line format"},
      {"mg a Tx z", "CLIENT_ERROR invalid flag"},
      {"mg YW! b", "CLIENT_ERROR error decoding key"},
      {"mg a O" + opaque_31 + "o", "CLIENT_ERROR opaque token too long"},
      {"mg a b c f h k l q s t u v I x O1 M N1 T1 R1 F1",
       "CLIENT_ERROR options flags are too long"},
  };
  for (const LineCase& test : kCases) {
    const std::string command = ParsedLine(test.line);
    EXPECT_TRUE(command.ends_with(" !\"" + test.command + "\"")) << test.line << ": " << command;
  }
  EXPECT_EQ(ParsedLine("mg a O" + opaque_31).find('!'), std::string::npos);
}

TEST(Base64, Keys) {
  base::Arena arena;
  EXPECT_EQ(DecodeBase64("44OG44K544OI", arena), "\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88");
  EXPECT_EQ(DecodeBase64("AP8Q+/8=", arena), std::string_view("\0\xff\x10\xfb\xff", 5));
  EXPECT_EQ(DecodeBase64("YQ==", arena), "a");
  for (const std::string_view wrong : {"", "Y", "YQ", "YQ=", "=", "====", "Y===", "YQ==YQ==",
                                       "Y Q=", "YQ=a", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(DecodeBase64(wrong, arena), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace rowsocket::memcached
