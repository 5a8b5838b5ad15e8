#include "protocol/handlersocket/vectors.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace rowsocket::handlersocket {

namespace {

/// One byte a character, from U+0000 to U+00FF.
std::string Bytes(const nlohmann::json& text) {
  const std::string utf8 = text.get<std::string>();
  std::string bytes;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      bytes += utf8[i];
    } else if (lead == 0xc2 || lead == 0xc3) {
      bytes += static_cast<char>((lead << 6) | (static_cast<unsigned char>(utf8[++i]) & 0x3f));
    } else {
      throw std::runtime_error("a character above U+00FF is not a byte: " + utf8);
    }
  }
  return bytes;
}

Vector ParseVector(const std::string& file, const nlohmann::json& json) {
  Vector vector{file + ": " + json.at("name").get<std::string>(), {}};
  for (const nlohmann::json& step : json.at("steps")) {
    vector.steps.push_back({Bytes(step.at("send")),
                            step.at("parse").get<std::vector<std::string>>(),
                            Bytes(step.at("recv"))});
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
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ROWSOCKET_VECTORS_DIR)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Vector> vectors;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file);
    const nlohmann::json json = nlohmann::json::parse(stream);
    for (const nlohmann::json& vector : json.at("vectors")) {
      vectors.push_back(ParseVector(file.stem().string(), vector));
    }
  }
  return vectors;
}

}  // namespace rowsocket::handlersocket
