// SPDX-License-Identifier: Apache-2.0
// One file with graphs and weights: what goes in comes out, and what is no such file is refused.
#include "frontend/model_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "frontend/graphc.h"
#include "ir/text.h"
#include "runtime/files/files.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SessionOptions quiet_reference_session() {
  return {.target = "reference", .announce = [](const std::string&) {}};
}

/// A network with dropout, a loop, an optimizer with slots, and named results.
struct Network {
  Model model{"network"};
  Lstm lstm{model, "lstm", 2, 3};
  Linear out{model, "out", 3, 1};

  Network() {
    const Params params = model.params();
    model.graph("train", Mode::training, [this, params](Inputs& in) {
      Value x = in("x", f32, {"steps", "batch", 2}), y = in("y", f32, {"batch", 1});
      Value loss = mse(out(dropout(at(lstm(x), -1), {.keep = 0.9})), y);
      minimize(loss, params, Adam{.rate = 0.1});
      return loss;
    });
    model.graph("predict", [this](Inputs& in) {
      const Value h = at(lstm(in("x", f32, {"steps", "batch", 2})), -1);
      return Results{{"answer", out(h)}, {"h", h}};
    });
  }
};

const std::vector<float> kX{1, -1, 0.5, 2, 0, 1}, kY{0.25};

TEST(ModelFile, RunsWhereTheProgramThatWroteItIsNot) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.graphc").string();
  Network network;
  Session session(network.model, quiet_reference_session());
  const Data x(kX, {3, 1, 2}), y(kY, {1, 1});
  session("train", x, y);
  save(session, {"predict", "train"}, {{"steps", 3}, {"batch", 1}}, path);

  LoadedModel loaded(path, quiet_reference_session());
  EXPECT_EQ(loaded.model().name(), "network");
  EXPECT_EQ(loaded.model().parameter_count(), network.model.parameter_count());
  const Outputs wanted = session("predict", x), found = loaded("predict", x);
  EXPECT_EQ(found["answer"].literal(), wanted["answer"].literal());
  EXPECT_EQ(found["h"].literal(), wanted["h"].literal());
  // Training goes on too, with what Adam and the masks of dropout remember.
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(loaded("train", x, y).scalar(), session("train", x, y).scalar()) << step;
  EXPECT_EQ(loaded.session().state("lstm.w"), session.state("lstm.w"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { loaded("predict", y); }),
              HasSubstr("input 'x' is f32[3,1,2]: found f32[1,1]"));
}

TEST(ModelFile, HasNoMoreStatesThanItsGraphs) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.graphc").string();
  Network network;
  Session session(network.model, quiet_reference_session());
  session("train", Data(kX, {3, 1, 2}), Data(kY, {1, 1}));
  save(session, {"predict"}, {{"steps", 3}, {"batch", 1}}, path);
  const ModelFile file = read_model_file(path);
  EXPECT_EQ(file.module.graphs.size(), 1u);
  EXPECT_EQ(file.states.size(), 5u);
  EXPECT_THAT(file.parameters, ElementsAre("lstm.w", "lstm.u", "lstm.b", "out.w", "out.b"));
  EXPECT_THAT(file.results.at("predict"), ElementsAre("answer", "h"));
}

TEST(ModelFile, KeepsWhatItsSessionKnewOfLengths) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.graphc").string();
  Model model("lengths");
  Lstm lstm(model, "lstm", 2, 3);
  model.graph("rows", [&](Inputs& in) {
    Value x = in("x", f32, {"steps", "batch", 2}), n = in("n", i32, {"batch"});
    return lstm(x, {.lengths = n});
  });
  model.graph("extent", [&](Inputs& in) {
    Value x = in("x", f32, {"steps", "batch", 2});
    return cast(in.length("steps"), f32) * sum(x);
  });
  Session session(model, quiet_reference_session());
  const Data x(kX, {3, 1, 2}), n(std::vector<int32_t>{2}, {1});
  save(session, {"rows", "extent"}, {{"steps", 3}, {"batch", 1}}, path);

  LoadedModel loaded(path, quiet_reference_session());
  EXPECT_EQ(Tensor(loaded("rows", x, n)).copy(), Tensor(session("rows", x, n)).copy());
  EXPECT_EQ(loaded("extent", x).scalar(), session("extent", x).scalar());
  for (const int32_t wrong : {4, -1}) {
    const Data lengths(std::vector<int32_t>{wrong}, {1});
    EXPECT_THAT(error_of(ErrorKind::input, [&] { loaded("rows", x, lengths); }),
                HasSubstr(fmt::format("lengths 'n': row 0 has {} steps: wanted 0 to 3", wrong)));
  }
  // And where no session stands between.
  const ModelFile file = read_model_file(path);
  const Tensor long_one = Data(std::vector<int32_t>{4}, {1}).tensor();
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] { file.check(*file.module.graphs[0], {x.tensor(), long_one}); }),
              HasSubstr("lengths 'n': row 0 has 4 steps: wanted 0 to 3"));
}

/// The line with which a model file is refused.
std::string refusal(const std::string& bytes) {
  std::string text = error_of(ErrorKind::input, [&] { parse_model_file(bytes, "m.graphc"); });
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  return text;
}

TEST(ModelFile, ThatIsDamagedIsNoticed) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.graphc").string();
  Network network;
  Session session(network.model, quiet_reference_session());
  save(session, {"predict"}, {{"steps", 3}, {"batch", 1}}, path);
  const std::string whole = read_file(path);
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  for (size_t at = sizeof header + header; at < whole.size(); at += 7) {
    std::string flipped = whole;
    flipped[at] = char(flipped[at] ^ (1 << (at % 8)));
    EXPECT_EQ(refusal(flipped),
              "m.graphc: it is damaged: its checksum is not that of what it holds");
  }
  // Files of before have no checksum.
  Safetensors content = parse_safetensors(whole, "m.graphc");
  content.metadata.erase("checksum");
  write_safetensors(path, content);
  EXPECT_EQ(read_model_file(path).states.size(), parse_model_file(whole, path).states.size());
}

TEST(ModelFile, WhatIsNoModelFileIsRefusedInALine) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.graphc").string();
  Network network;
  Session session(network.model, quiet_reference_session());
  save(session, {"predict"}, {{"steps", 3}, {"batch", 1}}, path);
  const std::string whole = read_file(path);
  for (size_t size = 0; size < whole.size(); size += 97) refusal(whole.substr(0, size));
  EXPECT_THAT(refusal("\x89PNG\r\n\x1a\n and more"), HasSubstr("'m.graphc' is not a valid "));
  session.save(path);
  EXPECT_EQ(refusal(read_file(path)),
            "m.graphc: arrays without graphs: wanted a file that save(session, graphs, extents, "
            "path) wrote");

  Safetensors content = parse_safetensors(whole, "m.graphc");
  content.metadata.erase("checksum");
  const auto changed = [&](const std::function<void(Safetensors&)>& change) {
    Safetensors other = content;
    change(other);
    write_safetensors(path, other);
    return refusal(read_file(path));
  };
  EXPECT_EQ(changed([](Safetensors& c) { c.metadata["format"] = "graphc model 2"; }),
            "m.graphc: a model file is 'graphc model 1': found 'graphc model 2'");
  EXPECT_EQ(changed([](Safetensors& c) { c.metadata.erase("graphs"); }),
            "m.graphc: a model file has 'graphs' in its metadata: found none");
  EXPECT_EQ(changed([](Safetensors& c) { c.arrays.erase("out.w"); }),
            "m.graphc: state 'out.w' of its graphs is f32[3,1]: found no such array");
  EXPECT_EQ(changed([](Safetensors& c) { c.arrays["out.w"] = Literal::of(1.0f); }),
            "m.graphc: state 'out.w' of its graphs is f32[3,1]: found f32[]");
  EXPECT_EQ(changed([](Safetensors& c) { c.metadata["results"] = "predict: one\n"; }),
            "m.graphc: no graph has these results: 'predict: one'");
  EXPECT_EQ(changed([](Safetensors& c) { c.metadata["results"] += c.metadata["results"]; }),
            "m.graphc: graph 'predict' has its results named twice");
  EXPECT_EQ(changed([](Safetensors& c) { c.metadata["parameters"] += "nothing\n"; }),
            "m.graphc: its graphs have no state 'nothing', which it calls a parameter");
  EXPECT_EQ(changed([](Safetensors& c) { c.metadata["parameters"] += "out.w\n"; }),
            "m.graphc: it calls 'out.w' a parameter twice");
  for (const char* line :
       {"predict", "predict: ", "predict: x", "predict: x -1", "predict: x 3abc", "other: x 1"}) {
    EXPECT_EQ(changed([&](Safetensors& c) { c.metadata["bounds"] = std::string(line) + "\n"; }),
              fmt::format("m.graphc: no graph has these lengths: '{}'", line));
  }
}

}  // namespace
}  // namespace graphc::core
