// A port that speaks HandlerSocket, over a table of the in-memory engine.
#pragma once

#include <memory>

#include "exec/test_port.h"
#include "frontend/handlersocket/frontend.h"

namespace rowsocket::exec {

inline constexpr const char kServedTable[] = "test.t";
inline constexpr const char kOpenIdV[] = "P\t0\ttest\tt\t\tid,v\n";
inline constexpr const char kFind1[] = "0\t=\t1\t1\n";
inline constexpr const char kRow1[] = "0\t2\t1\t10";

class TestPort : public PortOnFake {
 public:
  TestPort() {
    store.CreateTable({kServedTable, {"id", "v"}, {{"PRIMARY", {0}}}},
                      {{"1", "10"}, {"2", "20"}, {"3", "30"}});
    frontend.writable = true;
    make_frontend = [this] { return std::make_unique<frontend::HandlerSocketFrontend>(frontend); };
  }
  // Connections use members of this class.
  ~TestPort() { Stop(); }

  /// Starts the port. Public members must be changed before.
  void Start() {
    frontend.limits = settings.limits;
    PortOnFake::Start();
  }
  /// A client that has opened id 0: (id; id, v).
  LineClient ConnectAndOpen() const {
    LineClient client = Connect();
    EXPECT_EQ("0\t1", client.Ask(kOpenIdV));
    return client;
  }

  frontend::HandlerSocketSettings frontend;
};

}  // namespace rowsocket::exec
