// SPDX-License-Identifier: Apache-2.0
// A step that another process has compiled is read and walked here. This program links neither a
// code generator nor LLVM: its nests are functions of its own. The files are
//
//     graphc dump lstm-layer hidden=6 steps=3 batch=5 --graph=train --stage=optimized >lstm.txt
//     graphc dump lstm.txt --stage=step --cpu=x86-64-v3 --threads=3 >lstm.step.json
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "codegen/step/serialize.h"
#include "codegen/walk/walker.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "runtime/thread_team.h"
#include "tests/codegen/walk/nest_functions.h"

namespace graphc::core {
namespace {

std::string file(const std::string& name) {
  std::ifstream stream(GRAPHC_WALK_FOLDER "/" + name);
  EXPECT_TRUE(stream) << name;
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Numbers in (-1, 1), none of which is another's.
Literal input_of(const Type& type, size_t number) {
  Literal literal = Literal::zeros(type);
  const std::span<float> elements = literal.mutable_data<float>();
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = float(std::sin(double(i + 1) * (0.7 + 0.1 * double(number))));
  return literal;
}

/// The buffers of a step, in memory of this process.
class Memory {
 public:
  Memory(Plan& plan, std::vector<Literal>& inputs, std::vector<Literal>& states)
      : arena_(size_t(plan.arena_bytes), 0x5a) {
    for (Buffer& buffer : plan.buffers) bases_.push_back(address_of(buffer, inputs, states));
  }

  const std::vector<char*>& bases() const { return bases_; }

 private:
  char* address_of(Buffer& buffer, std::vector<Literal>& inputs, std::vector<Literal>& states) {
    const auto index = size_t(buffer.index);
    switch (buffer.place) {
      case Place::arena:
        return arena_.data() + buffer.offset;
      case Place::input:
        return reinterpret_cast<char*>(inputs.at(index).mutable_bytes().data());
      case Place::state:
        return reinterpret_cast<char*>(states.at(index).mutable_bytes().data());
      case Place::constant:
        return buffer.data.data();
      case Place::output:
      case Place::form:
        return own_.emplace_back(new char[size_t(buffer.bytes)]).get();
    }
    return nullptr;
  }

  std::vector<char> arena_;
  std::vector<std::unique_ptr<char[]>> own_;
  std::vector<char*> bases_;
};

void expect_near(const char* found, const Literal& wanted, const std::string& name) {
  const std::vector<float> elements = wanted.to_vector();
  std::vector<float> values(elements.size());
  std::memcpy(values.data(), found, values.size() * sizeof(float));
  for (size_t i = 0; i < elements.size(); ++i)
    EXPECT_NEAR(values[i], elements[i], 1e-5 * (1 + std::abs(elements[i])))
        << name << ", element " << i;
}

TEST(WalkedStep, OfAnotherProcessHasTheValuesOfItsGraph) {
  const GraphPtr graph = parse_graph(file("lstm.txt"));
  Plan plan = parse_step(file("lstm.step.json"));
  std::vector<Literal> inputs, states;
  std::map<std::string, Literal> given;
  for (const Value input : graph->inputs()) inputs.push_back(input_of(input.type(), inputs.size()));
  for (const Value state : graph->states()) {
    states.push_back(input_of(state.type(), 10 + states.size()));
    given.emplace(state.name(), states.back());
  }
  const Evaluation expected = evaluate(*graph, inputs, given);

  Memory memory(plan, inputs, states);
  ThreadTeam team(plan.workers);
  cpu::Walker walker(plan, testing::interpreted_nests(plan), team);
  std::vector<size_t> forms(plan.forms.size());
  std::iota(forms.begin(), forms.end(), size_t{0});
  walker.make_forms(memory.bases(), forms);
  walker.run(memory.bases());

  ASSERT_EQ(plan.results.size(), expected.results.size());
  for (size_t i = 0; i < plan.results.size(); ++i) {
    const Address& address = plan.results[i].address;
    expect_near(memory.bases()[size_t(address.buffer)] + address.offset, expected.results[i],
                "result");
  }
  ASSERT_EQ(expected.next.size(), states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    const std::string& name = graph->states()[i].name();
    EXPECT_NE(states[i], given.at(name)) << name;
    expect_near(reinterpret_cast<const char*>(states[i].bytes().data()), expected.next.at(name),
                name);
  }
}

}  // namespace
}  // namespace graphc::core
