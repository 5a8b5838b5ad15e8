// The golden vectors of spec/vectors/handlersocket, for tests; spec/vectors/README.md says what
// they are made of.
#pragma once

#include <string>
#include <vector>

namespace rowsocket::handlersocket {

struct VectorStep {
  std::string send;
  std::vector<std::string> parse;  ///< Dump of each command that the step completes.
  std::string recv;
};

struct Vector {
  std::string name;  ///< With its file's name before it.
  std::vector<VectorStep> steps;

  std::string AllSent() const;
  std::vector<std::string> AllParsed() const;
};

/// All vectors of the folder. Throws when it is not there or a file in it is not as it should be.
std::vector<Vector> LoadVectors();

}  // namespace rowsocket::handlersocket
