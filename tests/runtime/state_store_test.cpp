// SPDX-License-Identifier: Apache-2.0
// Versions of states, their derived forms, and executables that keep those from call to call.
#include "runtime/state_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "ir/text.h"
#include "runtime/executable.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

const Type kThree{DType::f32, {3}};

Tensor of(std::vector<float> elements) {
  return Tensor(Literal(std::span<const float>(elements), {int64_t(elements.size())}));
}

std::vector<float> elements_of(const Tensor& tensor) {
  const auto elements = tensor.data<float>();
  return {elements.begin(), elements.end()};
}

/// y = 2 w + x, where 2 w is a form of w that is kept. Where the graph has a `next`, w becomes
/// w + x, unless x begins with a NaN: that is found after one element of w was written.
class Doubling : public Executable {
 public:
  explicit Doubling(const char* text, int64_t key = 2)
      : Executable(signature_of(*parse_graph(text))), key_(key) {}

  int refreshes = 0;

 private:
  void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
               std::span<Tensor> outputs) override {
    StoredState& w = *states[0];
    const auto x = inputs[0].data<float>();
    float* home = reinterpret_cast<float*>(w.home().address());
    form_ = w.form({key_}, w.type().bytes());
    float* doubled = reinterpret_cast<float*>(form_->data());
    if (form_->is_stale(w)) {
      for (size_t i = 0; i < x.size(); ++i) doubled[i] = 2 * home[i];
      form_->made_from = w.version();
      ++refreshes;
    }
    float* y = reinterpret_cast<float*>(outputs[0].address());
    for (size_t i = 0; i < x.size(); ++i) y[i] = doubled[i] + x[i];
    if (!signature().states[0].written) return;
    for (size_t i = 0; i < x.size(); ++i) {
      home[i] += std::isnan(x[i]) ? 1 : x[i];
      if (std::isnan(x[i])) throw input_error({}, "element {} of x is no number", i);
    }
  }

  int64_t key_;
  std::shared_ptr<DerivedForm> form_;  ///< held, so that it is there at the next call
};

constexpr const char* kForward = R"(
  graph @forward(%x: f32[3]) state (%w: f32[3]) { return add(mul(%w, 2.), %x) })";
constexpr const char* kTrain = R"(
  graph @train(%x: f32[3]) state (%w: f32[3]) {
    next %w = add(%w, %x)
    return add(mul(%w, 2.), %x)
  })";

std::vector<float> run(Executable& executable, StoredState& w, std::vector<float> x) {
  StoredState* const states[] = {&w};
  Tensor outputs[] = {Tensor(kThree)};
  executable.run(std::vector{of(std::move(x))}, states, outputs);
  return elements_of(outputs[0]);
}

void set(StoredState& state, std::vector<float> elements) {
  std::ranges::copy(elements, state.change().mutable_data<float>().begin());
}

TEST(StateStore, AStateIsZerosAndItsVersionNobodyElses) {
  StoredState a(kThree), b(kThree);
  EXPECT_THAT(elements_of(a.home()), ElementsAre(0, 0, 0));
  EXPECT_EQ(a.type(), kThree);
  EXPECT_NE(a.version(), 0u);
  EXPECT_NE(a.version(), b.version());
  EXPECT_NE(a.home().address(), b.home().address());
}

TEST(StateStore, WritingMakesANewVersionAndReadingNone) {
  StoredState state(kThree);
  std::set<uint64_t> versions{state.version()};
  const auto is_new = [&] { return versions.insert(state.version()).second; };
  state.change();
  EXPECT_TRUE(is_new());
  state.adopt(of({1, 2, 3}));
  EXPECT_TRUE(is_new());
  EXPECT_THAT(elements_of(state.home()), ElementsAre(1, 2, 3));
  (void)state.home().copy();
  (void)state.form({1}, 4);
  EXPECT_FALSE(is_new());
  state.release();
  EXPECT_TRUE(is_new());
  EXPECT_EQ(*versions.rbegin(), state.version());
}

TEST(StateStore, AdoptsTheBufferAndLetsItGo) {
  StoredState state(kThree);
  Tensor mine = of({1, 2, 3});
  state.adopt(mine);
  EXPECT_EQ(state.home().address(), mine.address());
  EXPECT_FALSE(mine.is_unique());
  state.release();
  EXPECT_TRUE(mine.is_unique());
  EXPECT_THAT(error_of(ErrorKind::internal, [&] { state.adopt(of({1, 2})); }),
              HasSubstr("a state of f32[3] adopts f32[2]"));
}

TEST(StateStore, HoldersOfEqualKeysShareAFormThatGoesWithTheLast) {
  StoredState state(kThree);
  std::shared_ptr<DerivedForm> first = state.form({1, 2}, 64), second = state.form({1, 2}, 64);
  EXPECT_EQ(first, second);
  first->made_from = state.version();
  const std::weak_ptr<DerivedForm> form = first;
  first.reset();
  EXPECT_EQ(state.form({1, 2}, 64), second);
  second.reset();
  EXPECT_TRUE(form.expired());
  // Another one, which nobody has made; its key may have another length by now.
  EXPECT_TRUE(state.form({1, 2}, 128)->is_stale(state));
}

TEST(StateStore, OtherKeysAndOtherStatesHaveMemoryOfTheirOwn) {
  StoredState a(kThree), b(kThree);
  std::vector<std::shared_ptr<DerivedForm>> forms;
  for (const FormKey& key : {FormKey{}, FormKey{1}, FormKey{1, 0}, FormKey{0, 1}}) {
    forms.push_back(a.form(key, 64));
    forms.push_back(b.form(key, 64));
  }
  std::set<const std::byte*> places;
  for (const auto& form : forms) places.insert(form->data());
  EXPECT_EQ(places.size(), forms.size());
  EXPECT_THAT(error_of(ErrorKind::internal, [&] { a.form({1}, 65); }),
              HasSubstr("a form of 64 bytes is asked for with 65"));
}

TEST(StateStore, FormsAreAlignedZerosOfTheirLength) {
  StoredState state(kThree);
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{64}, Arena::kAlignment - 1,
                        Arena::kAlignment, 2 * Arena::kAlignment + 1}) {
    const auto form = state.form({bytes}, bytes);
    const int64_t alignment = bytes < Arena::kAlignment ? 64 : Arena::kAlignment;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(form->data()) % uint64_t(alignment), 0u) << bytes;
    EXPECT_EQ(form->bytes(), bytes);
    EXPECT_TRUE(std::all_of(form->data(), form->data() + bytes,
                            [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

TEST(StateStore, AFormWithoutMemoryIsAnErrorAndNoForm) {
  StoredState state(kThree);
  for (int64_t bytes : {int64_t{1} << 60, std::numeric_limits<int64_t>::max()})
    EXPECT_THAT(error_of(ErrorKind::resource, [&] { state.form({1}, bytes); }),
                HasSubstr("no memory for an arena"));
  EXPECT_EQ(state.form({1}, 64)->bytes(), 64);
}

TEST(StateStore, AFormIsStaleForAStateThatTakesThePlaceOfItsOwn) {
  std::optional<StoredState> state(std::in_place, kThree);
  const StoredState* place = &*state;
  const auto form = state->form({1}, 64);
  EXPECT_TRUE(form->is_stale(*state));
  form->made_from = state->version();
  EXPECT_FALSE(form->is_stale(*state));
  state.emplace(kThree);
  ASSERT_EQ(&*state, place);
  EXPECT_TRUE(form->is_stale(*state));
}

TEST(StateStore, StatesStayAtTheirAddresses) {
  StateStore store;
  const StoredState* first = &store.try_emplace("m", kThree).first->second;
  for (int i = 0; i < 100; ++i) store.try_emplace("n" + std::to_string(i), kThree);
  EXPECT_EQ(&store.at("m"), first);
}

TEST(StateStore, AnExecutableMakesAFormOnceForEveryVersion) {
  Doubling forward(kForward);
  StoredState w(kThree);
  EXPECT_THAT(run(forward, w, {1, 2, 3}), ElementsAre(1, 2, 3));
  run(forward, w, {1, 2, 3});
  EXPECT_EQ(forward.refreshes, 1);
  set(w, {10, 20, 30});
  EXPECT_THAT(run(forward, w, {1, 2, 3}), ElementsAre(21, 42, 63));
  run(forward, w, {1, 2, 3});
  EXPECT_EQ(forward.refreshes, 2);
  w.adopt(of({5, 5, 5}));
  EXPECT_THAT(run(forward, w, {1, 2, 3}), ElementsAre(11, 12, 13));
  EXPECT_EQ(forward.refreshes, 3);
}

TEST(StateStore, ExecutablesThatAskForOneFormMakeItOnce) {
  Doubling first(kForward), second(kForward), other(kForward, 3);
  StoredState w(kThree);
  set(w, {1, 1, 1});
  for (int i = 0; i < 2; ++i) {
    for (Doubling* executable : {&first, &second, &other})
      EXPECT_THAT(run(*executable, w, {0, 0, 1}), ElementsAre(2, 2, 3));
  }
  EXPECT_EQ(first.refreshes, 1);
  EXPECT_EQ(second.refreshes, 0);
  EXPECT_EQ(other.refreshes, 1);
}

TEST(StateStore, AGraphThatWritesAStateMakesItsFormsStale) {
  Doubling train(kTrain), forward(kForward);
  EXPECT_TRUE(train.signature().states[0].written);
  EXPECT_FALSE(forward.signature().states[0].written);
  StoredState w(kThree);
  EXPECT_THAT(run(train, w, {1, 2, 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(run(forward, w, {0, 0, 0}), ElementsAre(2, 4, 6));
  EXPECT_THAT(run(train, w, {1, 2, 3}), ElementsAre(3, 6, 9));
  EXPECT_THAT(run(train, w, {0, 0, 0}), ElementsAre(4, 8, 12));
  EXPECT_THAT(run(forward, w, {0, 0, 0}), ElementsAre(4, 8, 12));
  EXPECT_EQ(train.refreshes, 2);
  EXPECT_EQ(forward.refreshes, 2);
  EXPECT_THAT(elements_of(w.home()), ElementsAre(2, 4, 6));
}

TEST(StateStore, ARunThatThrowsMakesFormsStaleToo) {
  Doubling train(kTrain), forward(kForward);
  StoredState w(kThree);
  EXPECT_THAT(run(forward, w, {0, 0, 0}), ElementsAre(0, 0, 0));
  const uint64_t before = w.version();
  EXPECT_EQ(error_of(ErrorKind::input, [&] { run(train, w, {NAN, 0, 0}); }),
            "element 0 of x is no number");
  EXPECT_GT(w.version(), before);
  EXPECT_THAT(run(forward, w, {0, 0, 0}), ElementsAre(2, 0, 0));
}

TEST(StateStore, ACallThatIsRefusedChangesNoVersion) {
  Doubling train(kTrain);
  StoredState w(kThree), wide({DType::f32, {4}});
  const uint64_t before = w.version(), wide_before = wide.version();
  EXPECT_EQ(error_of(ErrorKind::input, [&] { run(train, wide, {1, 2, 3}); }),
            "graph 'train': state 'w' is f32[3]: found f32[4]");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { run(train, w, {1, 2}); }),
            "graph 'train': input 'x' is f32[3]: found f32[2]");
  Tensor outputs[] = {Tensor(kThree)};
  EXPECT_EQ(error_of(ErrorKind::input, [&] { train.run(std::vector{of({1, 2, 3})}, outputs); }),
            "graph 'train' has 1 state: found 0");
  EXPECT_EQ(w.version(), before);
  EXPECT_EQ(wide.version(), wide_before);
}

TEST(StateStore, PlainTensorsMayBeWrittenBetweenCalls) {
  Doubling train(kTrain);
  const std::vector inputs{of({1, 2, 3})};
  std::vector<Tensor> states{Tensor(kThree)};
  Tensor outputs[] = {Tensor(kThree)};
  train.run(inputs, states, outputs);
  EXPECT_THAT(elements_of(states[0]), ElementsAre(1, 2, 3));
  // Nobody keeps a view: this writes where it is.
  EXPECT_TRUE(states[0].is_unique());
  states[0].mutable_data<float>()[0] = 10;
  train.run(inputs, states, outputs);
  EXPECT_THAT(elements_of(outputs[0]), ElementsAre(21, 6, 9));
  EXPECT_THAT(elements_of(states[0]), ElementsAre(11, 4, 6));
  EXPECT_EQ(train.refreshes, 2);
  error_of(ErrorKind::input, [&] { train.run(std::vector{of({NAN, 0, 0})}, states, outputs); });
  EXPECT_TRUE(states[0].is_unique());
  EXPECT_THAT(elements_of(states[0]), ElementsAre(12, 4, 6));
}

}  // namespace
}  // namespace graphc::core
