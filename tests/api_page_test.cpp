// SPDX-License-Identifier: Apache-2.0
// docs/api.md is what the headers declare. GRAPHC_BLESS=1 rewrites it.
#include "tests/testing/api_page.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <regex>

#include "runtime/files/files.h"
#include "tests/testing/documents.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

TEST(ApiPage, IsInTheDocuments) {
  const std::string page = api_page();
  if (std::getenv("GRAPHC_BLESS") != nullptr)
    write_file_atomically(source_path("docs/api.md"), page);
  EXPECT_TRUE(page == document_text("docs/api.md"))
      << "docs/api.md is not what the headers declare: GRAPHC_BLESS=1 rewrites it";
}

TEST(ApiPage, HasEveryHeaderThatUsersInclude) {
  const std::string page = document_text("docs/api.md"), all = document_text("frontend/graphc.h");
  const std::regex include("#include \"(frontend/[a-z_]+\\.h)\"");
  int count = 0;
  for (std::sregex_iterator it(all.begin(), all.end(), include), end; it != end; ++it, ++count)
    EXPECT_NE(page.find("\n## " + (*it)[1].str() + "\n"), page.npos) << (*it)[1];
  EXPECT_GE(count, 11);
}

TEST(ApiPage, HasEveryNameThatTheFrontendExports) {
  const std::string page = api_page(), all = document_text("frontend/vocabulary.h");
  const std::regex exported("using core::([A-Za-z_0-9]+);");
  int count = 0;
  for (std::sregex_iterator it(all.begin(), all.end(), exported), end; it != end; ++it, ++count) {
    const std::regex word("\\b" + (*it)[1].str() + "\\b");
    EXPECT_TRUE(std::regex_search(page, word)) << (*it)[1] << " is not in docs/api.md";
  }
  EXPECT_GE(count, 100);
}

TEST(ApiPage, ShowsDeclarationsWithoutBodiesAndPrivateParts) {
  EXPECT_EQ(declarations_of(R"(#include <a>
namespace graphc::core {
namespace detail {
int hidden();
}  // namespace detail

class Later;

/// A thing.
template <typename T>
struct Thing : Base {
  double size = 0;             ///< of it
  std::optional<int> all = {};

  Thing(int number = {}) : size(number) { all = {1}; }
  int operator[](int i) const { return "}"[i]; }
};

GRAPHC_UNARY(exp)
GRAPHC_BINARY(pow)

class Other {
 public:
  /// Does it.
  void done();

 private:
  int secret_;
};
inline int two(int x) {
  return 2 * x;
}
enum class Kind { a, b };
}  // namespace graphc::core
)"),
            R"(/// A thing.
template <typename T>
struct Thing : Base {
  double size = 0;             ///< of it
  std::optional<int> all = {};

  Thing(int number = {});
  int operator[](int i) const;
};

Value exp(Value x);
Value pow(Operand a, Operand b);

class Other {
  /// Does it.
  void done();
};
inline int two(int x);
enum class Kind { a, b };
)");
}

}  // namespace
}  // namespace graphc::core::testing
