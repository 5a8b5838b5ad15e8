#include "protocol/handlersocket/test_vectors.h"

#include "protocol/test_vector_files.h"

namespace rowsocket::handlersocket {

namespace {

using protocol::BytesOf;

Vector ParseVector(std::string name, const nlohmann::json& json) {
  Vector vector{std::move(name), {}};
  for (const nlohmann::json& step : json.at("steps")) {
    vector.steps.push_back({BytesOf(step.at("send").get<std::string>()),
                            step.at("parse").get<std::vector<std::string>>(),
                            BytesOf(step.at("recv").get<std::string>())});
  }
  return vector;
}

}  // namespace

std::string Vector::AllSent() const {
  std::string all;
  for (const VectorStep& step : steps) all += step.send;
  return all;
}

std::vector<std::string> Vector::AllParsed() const {
  std::vector<std::string> all;
  for (const VectorStep& step : steps) all.insert(all.end(), step.parse.begin(), step.parse.end());
  return all;
}

std::vector<Vector> LoadVectors() {
  return protocol::LoadVectorFiles(ROWSOCKET_VECTORS_DIR, ParseVector);
}

}  // namespace rowsocket::handlersocket
