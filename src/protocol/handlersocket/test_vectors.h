// The golden vectors of spec/vectors/handlersocket, for tests; spec/vectors/README.md describes
// them.
#pragma once

#include <string>
#include <vector>

namespace rowsocket::handlersocket {

struct VectorStep {
  std::string send;
  std::vector<std::string> parse;  ///< The dump of each command that the step completes.
  std::string recv;
};

struct Vector {
  std::string name;  ///< The name, after the name of its file.
  std::vector<VectorStep> steps;

  std::string AllSent() const;
  std::vector<std::string> AllParsed() const;
};

/// All vectors of the folder. Throws when the folder is missing or a file in it is not well-formed.
std::vector<Vector> LoadVectors();

}  // namespace rowsocket::handlersocket
