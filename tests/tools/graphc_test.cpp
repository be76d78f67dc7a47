// SPDX-License-Identifier: Apache-2.0
// The command line of graphc: what goes to stdout, what to stderr, and the exit codes.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/op.h"
#include "ir/serialize.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/corpus.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::content;
using graphc::core::testing::graphc;
using graphc::core::testing::Ran;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kGraph = R"(
graph @f(%x: f32[2], %y: f32[2]) state(%count: f32[]) {
  %s = add %x, %y
  %c = add %count, 1
  next %count = %c
  return %s
})";

TEST(GraphcTool, ListsWhatThereIs) {
  const Ran ops = graphc("ops");
  EXPECT_EQ(ops.code, 0);
  EXPECT_THAT(ops.err, IsEmpty());
  for (const Op* op : all_ops()) EXPECT_THAT(ops.out, HasSubstr(std::string(op->name)));
  const auto listed = nlohmann::json::parse(graphc("ops --json").out);
  EXPECT_EQ(listed.size(), all_ops().size());
  EXPECT_THAT(graphc("models").out, AllOf(HasSubstr("lstm-layer"), HasSubstr("ptb-lm"),
                                          HasSubstr("unmerged-norm=false")));
  EXPECT_THAT(graphc("passes").out, HasSubstr("autodiff"));
  EXPECT_THAT(graphc("version").out, StartsWith("graphc "));
}

TEST(GraphcTool, HelpIsDataAndAWrongCommandLineIsTwo) {
  EXPECT_EQ(graphc("--help").code, 0);
  EXPECT_THAT(graphc("train --help").out, HasSubstr("--max-steps"));
  for (const char* wrong :
       {"", "fly", "ops --loud", "train", "opt", "train lstm-layer hiden=3", "train lstn-layer",
        "train lstm-layer --max-steps 0", "train lstm-layer --target=abacus",
        "dump lstm-layer --target=reference --stage=asm", "train lstm-layer --resume",
        "train lstm-layer --checkpoint-every 3", "train char-lm --max-steps 1", "generate"}) {
    const Ran ran = graphc(wrong);
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_THAT(ran.out, IsEmpty()) << wrong;
    EXPECT_THAT(ran.err, HasSubstr("error: ")) << wrong;
  }
  EXPECT_THAT(graphc("train lstm-layer hiden=3").err, HasSubstr("did you mean 'hidden'"));
}

TEST(GraphcTool, AMissingOrMalformedInputIsThree) {
  EXPECT_EQ(graphc("opt nowhere.graph --passes=cse").code, 3);
  EXPECT_EQ(graphc("check -", "graph @f( {").code, 3);
  EXPECT_THAT(graphc("check -", "graph @f(%x: f32[2]) { return sigmod(%x) }").err,
              AllOf(HasSubstr("<stdin>:1:"), HasSubstr("did you mean 'sigmoid'")));
  EXPECT_EQ(graphc("train ptb-lm size=test --data nowhere").code, 3);
}

TEST(GraphcTool, OptReadsTextAndPrintsText) {
  const Ran ran =
      graphc("opt - --passes=cse", "graph @f(%x: f32[2]) {\n  return add(tanh(%x), tanh(%x))\n}\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("graph @f"));
  const size_t first = ran.out.find("= tanh");
  ASSERT_NE(first, std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("= tanh", first + 1), std::string::npos) << ran.out;
  EXPECT_EQ(graphc("opt - --passes=no-op", ran.out).code, 2);
}

TEST(GraphcTool, DumpShowsAModelAsTextThatParses) {
  const Ran ran = graphc("dump lstm-layer hidden=3 steps=2 batch=2");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("graph @train"), HasSubstr("scan"), HasSubstr("grad")));
  EXPECT_EQ(graphc("check - --target=reference", ran.out).code, 0);
  for (const char* stage : {"graph", "optimized"}) {
    const Ran shown = graphc(fmt::format("dump lstm-layer hidden=3 steps=2 --stage={}", stage));
    EXPECT_EQ(graphc("opt -", shown.out).out, shown.out);
  }
  EXPECT_THAT(graphc("dump lstm-layer hidden=3 --graph=forward").out, Not(HasSubstr("grad")));
  EXPECT_THAT(graphc("dump - --stage=dot", kGraph).out, StartsWith("digraph"));
  EXPECT_EQ(from_pbtxt(graphc("dump - --stage=proto", kGraph).out).graphs[0]->name(), "f");
}

TEST(GraphcTool, FormsOfProtobufAreWrittenAndReadBack) {
  const TemporaryFolder folder;
  const std::string text = graphc("opt -", kGraph).out;
  for (const auto& [form, ending] :
       {std::pair{"text", "pbtxt"}, std::pair{"binary", "pb"}, std::pair{"json", "json"}}) {
    const Ran written = graphc(fmt::format("dump - --stage=proto --form={}", form), kGraph);
    ASSERT_EQ(written.code, 0) << written.err;
    const auto file = folder.add(fmt::format("m.{}", ending), written.out);
    const Ran read = graphc("dump " + file.string());
    EXPECT_EQ(read.code, 0) << form << read.err;
    EXPECT_EQ(read.out, text) << form;
    EXPECT_EQ(graphc("check --target=reference " + file.string()).code, 0) << form;
    const auto damaged = folder.add(fmt::format("bad.{}", ending), written.out.substr(3));
    const Ran refused = graphc("opt " + damaged.string());
    EXPECT_EQ(refused.code, 3) << form;
    EXPECT_THAT(refused.err, HasSubstr(damaged.string())) << form;
  }
  EXPECT_EQ(graphc("dump - --stage=proto --form=yaml", kGraph).code, 2);
  EXPECT_EQ(graphc("dump - --form=json", kGraph).code, 2);
}

TEST(GraphcTool, WhyNotSaysHowNearALoopIs) {
  const Ran is = graphc("dump lstm-layer hidden=8 batch=3 steps=4 --why-not=lstm");
  EXPECT_EQ(is.code, 0);
  EXPECT_THAT(is.out,
              AllOf(StartsWith("@train: %h.end = scan at "), HasSubstr(": is lstm, in all")));
  const Ran is_not = graphc("dump lstm-layer cell=peephole-lstm hidden=8 batch=3 --why-not=lstm");
  EXPECT_EQ(is_not.code, 0);
  EXPECT_THAT(is_not.out, AllOf(HasSubstr("matches lstm in 14 of 14 nodes; "),
                                HasSubstr("models/cells.cpp:"), HasSubstr(": wanted ")));
  const Ran nothing = graphc("opt - --why-not=lstm", kGraph);
  EXPECT_EQ(nothing.code, 0);
  EXPECT_EQ(nothing.out, "@f: nothing can be lstm: there is no scan\n");
  const Ran unknown = graphc("opt - --why-not=lstn", kGraph);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'lstm'?"));
  EXPECT_EQ(graphc("dump - --why-not=tanh", kGraph).code, 2);
  EXPECT_EQ(graphc("dump lstm-layer hidden=8 --variant=basic --why-not=lstm").code, 2);
  EXPECT_EQ(graphc("dump nowhere.graph --why-not=lstm").code, 3);
}

TEST(GraphcTool, OutlineShowsAnLstmAndExpandTheLoop) {
  const std::string loop = graphc("dump lstm-layer hidden=8 batch=3 steps=4 --graph=forward").out;
  const Ran node = graphc(
      "opt - --passes='simplify,cse,pack-matmuls,simplify,cse,hoist,simplify,cse,outline{lstm}'",
      loop);
  EXPECT_EQ(node.code, 0);
  EXPECT_THAT(node.out, AllOf(HasSubstr(" = lstm %x, "), Not(HasSubstr("scan"))));
  EXPECT_THAT(graphc("opt - --passes=expand", node.out).out, HasSubstr("scan %x.t in %x"));
  const Ran remarks =
      graphc("opt - --passes=simplify,cse,pack-matmuls,hoist,simplify,cse,outline --remarks", loop);
  EXPECT_THAT(remarks.err, HasSubstr("remark: outline: %h.end: is lstm, and stays a loop"));
}

TEST(GraphcTool, RunReadsAndWritesNpy) {
  const TemporaryFolder folder;
  const float x[] = {1, 2};
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  write_npy(file("x.npy"), Literal(std::span<const float>(x), {2}));
  const std::string given = fmt::format(
      "run - --target=reference --input x=@{} --input y=0.5 --input count=7", file("x.npy"));
  const Ran shown = graphc(given, kGraph);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.out, "%s: f32[2] = [1.5, 2.5]\n");
  const Ran written =
      graphc(given + fmt::format(" --output s={} --output count={}", file("s.npy"), file("c.npy")),
             kGraph);
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(read_npy(file("s.npy")).element(1), 2.5);
  EXPECT_EQ(read_npy(file("c.npy")).element(0), 8);
  EXPECT_EQ(parse_npy(graphc(given + " --output s=-", kGraph).out, "stdout").element(0), 1.5);
  EXPECT_EQ(graphc("run - --input x=1", kGraph).code, 2);
  EXPECT_EQ(graphc(given + " --input z=1", kGraph).code, 2);
  EXPECT_EQ(graphc(given + " --output z=-", kGraph).code, 2);
  EXPECT_EQ(graphc("run - --input x=@nowhere.npy --input y=1 --input count=1", kGraph).code, 3);
}

/// Where a state is a result too, its name means what it becomes: what it was has just been given.
TEST(GraphcTool, RunWritesTheNewValueOfAStateThatIsAlsoAResult) {
  const char* graph = R"(graph @f(%x: f32[1]) state (%s: f32[1], %kept: f32[1]) {
    next %s = add(%s, %x)
    return %s, %kept
  })";
  for (const char* target : {"reference", "cpu"}) {
    const std::string given =
        fmt::format("run - --target={} --input x=1 --input s=5 --input kept=3", target);
    EXPECT_EQ(parse_npy(graphc(given + " --output s=-", graph).out, "stdout").element(0), 6);
    EXPECT_EQ(parse_npy(graphc(given + " --output kept=-", graph).out, "stdout").element(0), 3);
    EXPECT_EQ(graphc(given, graph).out, "%s: f32[1] = [5]\n%kept: f32[1] = [3]\n");
  }
}

TEST(GraphcTool, ResultsHaveTheirNamesOnEveryTarget) {
  const char* graph = R"(graph @f(%x: f32[2]) {
    %l = sum(square(%x)) {axes = [0]}
    %d = grad %l, %x
    %a = tanh %x
    %b = tanh %x
    return %d, %a, watch(%b)
  })";
  const std::string run = "run - --input x=0 --target=";
  EXPECT_EQ(graphc(run + "cpu", graph).out,
            "%d: f32[2] = [0, 0]\n%a: f32[2] = [0, 0]\n%watch: f32[2] = [0, 0]\n");
  EXPECT_EQ(graphc(run + "reference", graph).out, graphc(run + "cpu", graph).out);
  EXPECT_EQ(graphc(run + "reference --output d=-", graph).code, 0);
}

TEST(GraphcTool, RunsHowItIsTold) {
  const std::string graph = "graph (%x: f32[2,3]) { return tanh(sum(%x) {axes = [1]}) }";
  const std::string run = "run - --input x=0.5 ", wanted = graphc(run, graph).out;
  EXPECT_THAT(wanted, HasSubstr("[0.905148"));
  EXPECT_EQ(graphc(run + "--variant=basic --threads=1 --unroll=full", graph).out, wanted);
  EXPECT_EQ(graphc(run + "--variant=nowhere", graph).code, 2);
  EXPECT_THAT(graphc(run + "--target=reference --threads=2", graph).err,
              HasSubstr("target 'reference' has no such option"));
}

TEST(GraphcTool, AFusedGraphIsCompiledAsTheOneItWas) {
  const char* text = "graph @f(%x: f32[3,4]) { return tanh(add(%x, 1.)) }";
  const Ran fused = graphc("opt - --passes=fuse", text);
  EXPECT_THAT(fused.out, HasSubstr("kernel"));
  EXPECT_EQ(graphc("check -", fused.out).code, 0);
  EXPECT_EQ(graphc("dump - --stage=kernels", fused.out).out,
            graphc("dump - --stage=kernels", text).out);
}

TEST(GraphcTool, CheckComparesGradientsWithDifferences) {
  const char* right = "graph @f(%x: f32[3]) { return sum(tanh(%x)) {axes = [0]} }";
  const Ran ran = graphc("check - --gradient --target=reference", right);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("by differences"));
  // The derivative of stop_gradient is none, whatever the difference says.
  const char* wrong = "graph @f(%x: f32[3]) { return sum(stop_gradient(square(%x))) {axes = [0]} }";
  const Ran differs = graphc("check - --gradient --target=reference", wrong);
  EXPECT_EQ(differs.code, 4) << differs.out << differs.err;
  EXPECT_THAT(differs.out, HasSubstr("they differ"));
}

TEST(GraphcTool, CheckTakesInputsAsRunDoes) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "i.npy").string();
  write_npy(path, Literal(std::vector<int32_t>{0, 4}, {2}));
  const char* graph =
      "graph @f(%t: f32[5], %i: i32[2]) { return gather(%t, add(%i, 0)) }"
      "graph @g(%x: f32[2]) { return tanh(%x) }";
  const std::string check = "check - --target=reference --input i=@" + path;
  EXPECT_EQ(graphc(check + " --input x=0.5 --input t=2", graph).code, 0);
  const Ran unknown = graphc(check + " --input y=0.5", graph);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("error: --input: there is no input or state 'y'"));
  const Ran wrong = graphc("check - --target=reference --input t=@" + path, graph);
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("i.npy: 't' is f32[5]: found i32[2]"));
  EXPECT_EQ(graphc("check - --scale=-1", graph).code, 2);
}

TEST(GraphcTool, TrainWritesALogAndReadsParameters) {
  const TemporaryFolder folder;
  const std::string log = (folder.path() / "log.jsonl").string();
  const std::string model = "train lstm-layer hidden=3 steps=2 batch=2 --target=reference ";
  const Ran ran = graphc(model + "--max-steps 3 --log " + log);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(ran.err, HasSubstr("loss"));
  std::ifstream lines(log);
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["event"], "step");
  EXPECT_EQ(events[2]["step"], 3);
  EXPECT_TRUE(events[0]["loss"].is_number());
  EXPECT_EQ(events[3]["event"], "end");
  EXPECT_EQ(graphc(model + "--max-steps 3 --log -").out, content(log));
  EXPECT_NE(graphc(model + "--max-steps 3 --seed 9 --log -").out, content(log));
  EXPECT_EQ(graphc(model + "--max-steps 1 --log /nowhere/log").code, 5);

  const auto init = folder.path() / "init.safetensors";
  write_safetensors(init, {{{"w", Literal::of(1.0f)}}, {}});
  const Ran refused = graphc(model + "--max-steps 1 --init " + init.string());
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("missing in the file (2): u, b"));
}

TEST(GraphcTool, ALossThatIsNotFiniteIsFour) {
  const TemporaryFolder folder;
  const auto init = folder.path() / "init.safetensors";
  Safetensors content{{{"w", Literal({DType::f32, {3, 3}})},
                       {"u", Literal({DType::f32, {3, 3}})},
                       {"b", Literal::filled({DType::f32, {3}}, NAN)}},
                      {}};
  write_safetensors(init, content);
  for (const char* target : {"reference", "cpu"}) {
    const Ran ran = graphc(
        fmt::format("train lstm-layer hidden=3 steps=2 batch=2 cell=rnn --target={} --max-steps 3 "
                    "--init {}",
                    target, init.string()));
    EXPECT_EQ(ran.code, 4) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("the loss is nan at step 1"));
    const Ran overflow = graphc(
        fmt::format("train ptb-lm size=test batch=1 learning-rate=3e38 --target={} --data {}",
                    target, testing::tiny_ptb().string()));
    EXPECT_EQ(overflow.code, 4) << overflow.err;
    EXPECT_THAT(overflow.err, HasSubstr("the loss is inf at step 2"));
  }
}

TEST(GraphcToolCpu, TrainTakesWhatTheTargetHasAndRefusesTheRest) {
  const std::string model = "train lstm-layer hidden=6 steps=4 batch=3 --log - ";
  const Ran one = graphc(model + "--target=cpu --threads=1");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(graphc(model + "--target=cpu --threads 2 --unroll=full").out, one.out);
  EXPECT_EQ(graphc(model + "--target=cpu --cpu=x86-64 --max-steps 1").code, 0);
  // The sums of weight gradients are formed in another order: bits differ after some steps.
  const Ran basic = graphc(model + "--target=cpu --variant=basic");
  EXPECT_EQ(basic.code, 0) << basic.err;
  EXPECT_NE(basic.out, one.out);
  const auto refused = [&](const std::string& options) {
    const Ran ran = graphc(model + options);
    EXPECT_EQ(ran.code, 2) << options;
    EXPECT_THAT(ran.out, IsEmpty()) << options;
    return ran.err;
  };
  EXPECT_THAT(refused("--threads=0"), HasSubstr("--threads"));
  EXPECT_THAT(refused("--target=cpu --variant=fusd"), HasSubstr("no variant 'fusd'; there are"));
  EXPECT_THAT(refused("--target=cpu --unroll=none"), HasSubstr("found 'none'"));
  EXPECT_THAT(refused("--target=cpu --cpu=z80"), HasSubstr("unknown cpu 'z80': wanted one of"));
  for (const char* option : {"threads=1", "variant=fused", "unroll=auto", "cpu=x86-64"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    EXPECT_EQ(refused(fmt::format("--target=reference --{}", option)),
              fmt::format("error: --{}: target 'reference' has no such option\n", name));
  }
}

TEST(GraphcTool, DumpRefusesOptionsThatTheTargetLacks) {
  for (const char* option : {"variant=fused", "unroll=auto", "cpu=x86-64"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    const std::string command = fmt::format("dump lstm-layer hidden=3 steps=2 --{}", option);
    const Ran ran = graphc(command + " --target=reference");
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_THAT(ran.out, IsEmpty()) << option;
    EXPECT_EQ(ran.err, fmt::format("error: --{}: target 'reference' has no such option\n", name));
    EXPECT_EQ(graphc(command + " --target=cpu").code, 0) << option;
  }
  EXPECT_EQ(graphc("dump lstm-layer hidden=3 steps=2 --target=reference").code, 0);
  EXPECT_EQ(graphc("dump lstm-layer hidden=3 steps=2 --target=abacus").code, 2);
}

TEST(GraphcToolCpu, RunDrawsNormalNumbers) {
  const char* graph = "graph @f(%key: i64[]) { return normal(%key) {shape = [3,5]} }";
  const Ran cpu = graphc("run - --target=cpu --input key=7", graph);
  EXPECT_EQ(cpu.code, 0) << cpu.err;
  EXPECT_THAT(cpu.out, HasSubstr("f32[3,5]"));
  EXPECT_EQ(graphc("check - --target=cpu", graph).code, 0);
}

TEST(GraphcToolCpu, AnIndexOutsideItsTableIsThree) {
  const Ran ran = graphc("run - --target=cpu --input t=1 --input i=7",
                         "graph @f(%t: f32[2,1], %i: i32[2]) { return gather(%t, %i) }");
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("index 7 at position 0"));
}

}  // namespace
}  // namespace graphc::core
