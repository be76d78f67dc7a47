// SPDX-License-Identifier: Apache-2.0
// MpiRanks over a module whose ranks are threads: sums, pieces of long messages, errors.
#include "runtime/ranks/mpi_ranks.h"

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/ranks/agree.h"
#include "runtime/ranks/one_rank.h"
#include "runtime/ranks/tree.h"
#include "tests/runtime/ranks/fake_mpi.h"
#include "tests/runtime/ranks/serial_tree.h"

namespace graphc::core {
namespace {

using graphc::core::testing::fake_module;
using graphc::core::testing::FakeMpi;
using graphc::core::testing::on_ranks;
using graphc::core::testing::sums_of;
using graphc::core::testing::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

/// Limits that make many messages of few bytes.
constexpr MpiSizes kTiny{.most = 24, .gathered = 48, .shared = 0};
/// Shared memory for a line of each of eight ranks.
constexpr MpiSizes kTinyShared{.most = 24, .gathered = 48, .shared = 512};
constexpr MpiSizes kMessages{.shared = 0};

template <typename Number>
void expect_tree_sums(int count, size_t size, MpiSizes sizes) {
  FakeMpi fake(count);
  on_ranks(fake, [&](int rank) {
    MpiRanks ranks(fake_module, sizes);
    std::vector<Number> values = values_of<Number>(rank, size);
    ranks.all_reduce(std::span(values));
    EXPECT_EQ(values, sums_of<Number>(count, size))
        << "rank " << rank << " of " << count << ", " << size << " values";
  });
  EXPECT_LE(fake.longest, sizes.most);
}

TEST(MpiRanks, AgreeOnTheBytesThatASumTakesToBegin) {
  for (const int count : {1, 2, 3}) {
    FakeMpi fake(count);
    std::vector<int64_t> found(size_t(count), -1);
    on_ranks(fake, [&](int rank) {
      MpiRanks ranks(fake_module);
      EXPECT_EQ(ranks.bucket_bytes(), 0);
      ranks.measure();
      found[size_t(rank)] = ranks.bucket_bytes();
      EXPECT_EQ(ranks.seconds(), 0) << "it is no work that waits";
    });
    for (const int64_t bytes : found) {
      EXPECT_EQ(bytes, found[0]) << count;
      if (count == 1) {
        EXPECT_EQ(bytes, 0);
      } else {
        EXPECT_TRUE(std::has_single_bit(uint64_t(bytes))) << bytes;
        EXPECT_THAT(bytes, AllOf(Ge(1 << 16), Le(1 << 23)));
      }
    }
  }
}

TEST(MpiRanks, SumInTheTreeOfTheirNumberWhateverTheSize) {
  for (const int count : {1, 2, 3, 4, 5, 7, 8}) {
    for (const size_t size : {0, 1, 2, 3, 4, 7, 31, 64, 100, 1537}) {
      for (const MpiSizes sizes : {kTiny, kTinyShared}) {
        expect_tree_sums<float>(count, size, sizes);
        expect_tree_sums<double>(count, size, sizes);
        expect_tree_sums<BFloat16>(count, size, sizes);
      }
    }
    for (const MpiSizes sizes : {kMessages, MpiSizes()}) {
      expect_tree_sums<float>(count, 20011, sizes);
      expect_tree_sums<double>(count, 20011, sizes);
      expect_tree_sums<BFloat16>(count, 20011, sizes);
    }
  }
}

/// Halves of shared memory are written again at once, by the next exchange, of any kind and size.
void expect_exchanges_in_any_order(int late) {
  FakeMpi fake(3);
  fake.late = late;
  on_ranks(fake, [&](int rank) {
    MpiRanks ranks(fake_module, {.gathered = 192, .shared = 512});
    uint64_t draw = 1;
    for (int exchange = 0; exchange < 100; ++exchange) {
      draw = draw * 6364136223846793005u + 1442695040888963407u;
      const auto size = size_t(draw >> 40) % 500;
      if ((draw >> 50) % 3 == 0) {
        const std::vector<float> mine = values_of<float>(rank + exchange, size);
        std::vector<float> all(3 * size), wanted;
        ranks.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
        for (int from = 0; from < 3; ++from) {
          const std::vector<float> theirs = values_of<float>(from + exchange, size);
          wanted.insert(wanted.end(), theirs.begin(), theirs.end());
        }
        EXPECT_EQ(all, wanted) << exchange;
      } else {
        std::vector<float> values = values_of<float>(rank, size), wanted(size);
        std::vector<std::vector<float>> terms{values_of<float>(0, size), values_of<float>(1, size),
                                              values_of<float>(2, size)};
        for (auto* each : {&values, &terms[0], &terms[1], &terms[2]}) {
          for (float& value : *each) value += float(exchange);
        }
        ranks.all_reduce(std::span(values));
        const std::array<const float*, 3> parts{terms[0].data(), terms[1].data(), terms[2].data()};
        sum_parts(parts, std::span(wanted));
        EXPECT_EQ(values, wanted) << exchange;
      }
    }
  });
  EXPECT_EQ(fake.calls, 0);
}

TEST(MpiRanks, OfOneMachineExchangeInAnyOrder) {
  for (int late = -1; late < 3; ++late) expect_exchanges_in_any_order(late);
}

/// One meeting for few values; otherwise one for each piece, and one more.
TEST(MpiRanks, OfOneMachineMeetForEachPiece) {
  for (const auto& [size, meetings] :
       {std::pair<size_t, int>{24, 1}, {25, 2}, {128, 2}, {129, 3}, {1280, 11}}) {
    FakeMpi fake(2);
    on_ranks(fake, [&, n = size](int) {
      MpiRanks ranks(fake_module, {.gathered = 192, .shared = 512});
      std::vector<float> values(n);
      ranks.all_reduce(std::span(values));
    });
    EXPECT_EQ(fake.meetings, meetings) << size;
    EXPECT_EQ(fake.calls, 0);
  }
}

TEST(MpiRanks, ExchangeByMessagesWhereThereIsNoSharedMemory) {
  FakeMpi fake(2);
  fake.fails = "share";
  ::testing::internal::CaptureStderr();
  on_ranks(fake, [&](int rank) {
    MpiRanks ranks(fake_module);
    std::vector<float> values = values_of<float>(rank, 100);
    ranks.all_reduce(std::span(values));
    EXPECT_EQ(values, sums_of<float>(2, 100));
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "note: ranks exchange by messages, which is slower: no shared memory: MPI_ERR_NO_MEM: "
            "as the test wants\n");
  EXPECT_GT(fake.calls, 0);
  EXPECT_EQ(fake.meetings, 0);
}

TEST(MpiRanks, TheTreeOverTwiceAsManyIsThatOverSumsOfNeighbours) {
  for (const int count : {1, 2, 4, 8}) {
    const std::vector<float> wide = sums_of<float>(2 * count, 40);
    std::vector<std::vector<float>> pairs;
    std::vector<const float*> parts;
    for (int rank = 0; rank < count; ++rank) {
      pairs.push_back(values_of<float>(2 * rank, 40));
      const std::vector<float> right = values_of<float>(2 * rank + 1, 40);
      for (size_t i = 0; i < right.size(); ++i) pairs.back()[i] += right[i];
    }
    for (const auto& pair : pairs) parts.push_back(pair.data());
    std::vector<float> sum(40);
    sum_parts(parts, std::span(sum));
    EXPECT_EQ(sum, wide) << count;
  }
}

TEST(SumParts, FlushesDenormals) {
  std::vector<float> first{1, 1e-39f, 3}, second{2, 1e-39f, 4}, third{5, 0, 6};
  const std::array<const float*, 3> parts{first.data(), second.data(), third.data()};
  sum_parts(parts, std::span(first));
  EXPECT_THAT(first, ElementsAre(8, 0, 13));
}

/// Of many small values none is lost beside a large one, as it would be in sums of bf16.
TEST(SumParts, OfBf16AreComputedInF32AndRoundedOnce) {
  std::vector<std::vector<BFloat16>> values(8, std::vector<BFloat16>(600, BFloat16(0.5f)));
  std::vector<const BFloat16*> parts;
  for (const auto& each : values) parts.push_back(each.data());
  values[7].assign(600, BFloat16(256.0f));
  sum_parts(parts, std::span(values[3]));
  for (const BFloat16 sum : values[3]) ASSERT_EQ(float(sum), 260);  // 259.5, to the nearest even
}

TEST(SumParts, OfF32AreRoundedToBf16AndWidened) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> left{1, 1.00390625f, 3e38f, infinity, -2, 1e-39f},
      right{2, 0.0078125f, 3e38f, -infinity, 1, 1e-39f};
  const std::array<const float*, 2> parts{left.data(), right.data()};
  std::vector<BFloat16> sum(left.size());
  sum_parts(parts, std::span(sum));
  std::vector<float> wide(left.size(), 7);
  widen(sum, wide.data());
  EXPECT_EQ(wide[0], 3);
  EXPECT_EQ(wide[1], 1.015625f);  // of 1.01171875, half way, to the even one
  EXPECT_EQ(wide[2], infinity);
  EXPECT_TRUE(std::isnan(wide[3]));
  EXPECT_EQ(wide[4], -1);
  EXPECT_EQ(wide[5], 0);
}

TEST(SumParts, MayOverwriteAnyOfThem) {
  for (const int count : {1, 2, 3, 4, 5, 7, 8}) {
    for (const size_t size : {1, 3, 1537}) {
      const std::vector<float> wanted = sums_of<float>(count, size);
      for (int overwritten = 0; overwritten < count; ++overwritten) {
        std::vector<std::vector<float>> values;
        std::vector<const float*> parts;
        for (int rank = 0; rank < count; ++rank) values.push_back(values_of<float>(rank, size));
        for (const auto& each : values) parts.push_back(each.data());
        std::vector<float>& sum = values[size_t(overwritten)];
        sum_parts(parts, std::span(sum));
        EXPECT_EQ(sum, wanted) << overwritten << " of " << count;
      }
    }
  }
}

void expect_gathers_and_broadcasts(MpiSizes sizes) {
  for (const size_t size : {1, 23, 24, 25, 100, 512, 513, 2000}) {
    FakeMpi fake(3);
    on_ranks(fake, [&](int rank) {
      MpiRanks ranks(fake_module, sizes);
      const auto text = [&](int of) {
        std::string all;
        for (size_t i = 0; i < size; ++i) all += char('a' + (i * 7 + size_t(of) * 3) % 26);
        return all;
      };
      std::string all(3 * size, ' ');
      const std::string mine = text(rank);
      ranks.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
      EXPECT_EQ(all, text(0) + text(1) + text(2));
      for (int root = 0; root < 3; ++root) {
        std::string values = text(rank);
        ranks.broadcast(std::as_writable_bytes(std::span(values)), root);
        EXPECT_EQ(values, text(root));
      }
    });
    EXPECT_LE(fake.longest, sizes.most);
  }
}

TEST(MpiRanks, GatherAndBroadcastInPieces) {
  expect_gathers_and_broadcasts(kTiny);
  expect_gathers_and_broadcasts(kTinyShared);
}

TEST(MpiRanks, FewValuesTakeOneMessageAndManyTwo) {
  for (const auto& [size, calls] : {std::pair<size_t, int>{4, 1}, {5, 2}, {12, 2}, {13, 4}}) {
    FakeMpi fake(2);
    on_ranks(fake, [&, n = size](int) {
      MpiRanks ranks(fake_module, {.most = 24, .gathered = 32, .shared = 0});
      std::vector<float> values(n);
      ranks.all_reduce(std::span(values));
    });
    EXPECT_EQ(fake.calls, calls) << size;
  }
}

TEST(MpiRanks, SayWhichCallFailed) {
  for (const auto& [function, says] :
       {std::pair{"start", "MPI does not start: MPI_ERR_OTHER: as the test wants"},
        std::pair{"all_to_all", "rank 1 of 2: a sum: MPI_ERR_OTHER"},
        std::pair{"meet", "rank 1 of 2: an exchange: MPI_ERR_OTHER"},
        std::pair{"barrier", "rank 1 of 2: a barrier: MPI_ERR_OTHER"}}) {
    FakeMpi fake(2);
    fake.fails = function;
    on_ranks(fake, [&, wanted = says](int rank) {
      try {
        MpiRanks ranks(fake_module, fake.fails == "meet" ? kTinyShared : kTiny);
        std::vector<float> values(99);
        ranks.all_reduce(std::span(values));
        ranks.barrier();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        if (rank == 1) {
          EXPECT_THAT(error.message(), HasSubstr(wanted));
        }
      }
    });
  }
}

TEST(MpiRanks, KnowTheNameOfTheirLibrary) {
  EXPECT_EQ(mpi_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
  EXPECT_EQ(mpi_name("MPICH Version:\t4.0.2\nMPICH Release date: ..."), "MPICH Version: 4.0.2");
  EXPECT_EQ(mpi_name(""), "");
}

TEST(Agree, GathersTextsOfAnyLength) {
  FakeMpi fake(3);
  on_ranks(fake, [&](int rank) {
    MpiRanks ranks(fake_module, kTiny);
    EXPECT_THAT(gather_texts(ranks, std::string(size_t(rank) * 40, 'x')),
                ElementsAre("", std::string(40, 'x'), std::string(80, 'x')));
    EXPECT_THAT(gather_texts(ranks, ""), ElementsAre("", "", ""));
    EXPECT_EQ(broadcast_text(ranks, rank == 2 ? "from the last" : "other", 2), "from the last");
    EXPECT_EQ(broadcast_text(ranks, ""), "");
    EXPECT_TRUE(any_of_ranks(ranks, rank == 1));
    EXPECT_FALSE(any_of_ranks(ranks, false));
  });
}

TEST(Agree, AnErrorOfOneRankIsThrownByAll) {
  FakeMpi fake(4);
  on_ranks(fake, [&](int rank) {
    MpiRanks ranks(fake_module);
    together(ranks, [] {});
    try {
      together(ranks, [&] {
        if (rank >= 2)
          throw input_error({"model.cpp", 7, 0}, "no file {}", rank).note("it is gone");
      });
      ADD_FAILURE() << "no error";
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_STREQ(error.what(),
                   "model.cpp:7: error: no file 2\n  note: it is gone\n  note: on rank 2 of 4");
    }
    try {
      together(ranks, [] { throw std::bad_alloc(); });
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::resource);
      EXPECT_STREQ(error.what(), "error: out of memory");
    }
  });
}

TEST(Agree, OnlyTheFirstRankCallsWhatIsForIt) {
  FakeMpi fake(3);
  std::array<int, 3> calls{};
  on_ranks(fake, [&](int rank) {
    MpiRanks ranks(fake_module);
    on_first(ranks, [&] { ++calls[size_t(rank)]; });
    EXPECT_THROW(on_first(ranks, [] { throw resource_error("full"); }), AgreedError);
  });
  EXPECT_THAT(calls, ElementsAre(1, 0, 0));
}

TEST(CheckSame, NamesTheFirstRankThatDiffersAndBothValues) {
  FakeMpi fake(4);
  on_ranks(fake, [&](int rank) {
    MpiRanks ranks(fake_module);
    check_same(ranks, "--seed", "7");
    try {
      check_same(ranks, "--seed", rank < 2 ? "7" : "8");
      ADD_FAILURE() << "no error";
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_EQ(error.message(),
                "--seed: rank 2 has '8', and rank 0 has '7': wanted the same on all 4 ranks");
    }
  });
}

TEST(OneRank, IsAlone) {
  OneRank rank;
  EXPECT_EQ(rank.count(), 1);
  std::vector<float> values{1, 2};
  rank.all_reduce(std::span(values));
  EXPECT_THAT(values, ElementsAre(1, 2));
  EXPECT_THAT(gather_texts(rank, "mine"), ElementsAre("mine"));
  EXPECT_THROW(together(rank, [] { throw input_error({}, "as it is"); }), Error);
  check_same(rank, "seed", "1");
}

}  // namespace
}  // namespace graphc::core
