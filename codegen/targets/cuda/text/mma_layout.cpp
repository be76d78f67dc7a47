// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/mma_layout.h"

namespace graphc::core::cuda {

MmaForm mma_form(Factors factors) {
  switch (factors) {
    case Factors::bf16:
      return {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, "bf16_pair"};
    case Factors::f16:
      return {"m16n8k16.row.col.f32.f16.f16.f32", 16, "f16_pair"};
    default:
      return {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, "tf32_bits"};
  }
}

void MmaLayout::declare(TextWriter& text, int warps) const {
  text.line("// A warp has the sums of {} x {} elements; which of them a lane has, the instruction",
            rows * 8, columns * 4);
  text.line("// of the tensor cores says: rows of its group, two columns side by side.");
  text.line("const int lane = thread % 32, warp = thread / 32;");
  text.line("const int group = lane / 4, in_group = lane % 4;");
  const bool in_turns = warps < kMmaWarps;
  if (in_turns) text.line("const int warp_of_piece = warp % {0}, in_turn = warp / {0};", warps);
  text.line("const int warp_row = {0} / {1} * {2}, warp_column = {0} % {1} * {3};",
            in_turns ? "warp_of_piece" : "warp", warp_columns, rows * 8, columns * 4);
}

void write_mma(TextWriter& text, const MmaForm& form, std::string_view left,
               const std::array<std::string, 2>& right, std::string_view part,
               std::string_view column) {
  text.line("asm volatile(");
  text.line("    \"mma.sync.aligned.{} \"", form.name);
  text.line("    \"{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};\"");
  const auto sum = [&](int i) {
    return fmt::format("\"+f\"(sums[{}][at_row{}][{}{}])", part, i / 2 == 0 ? "" : " + 1", column,
                       i % 2 == 0 ? "" : " + 1");
  };
  text.line("    : {}, {},", sum(0), sum(1));
  text.line("      {}, {}", sum(2), sum(3));
  text.line("    : \"r\"({0}[at_row / 2][0]), \"r\"({0}[at_row / 2][1]),", left);
  text.line("      \"r\"({0}[at_row / 2][2]), \"r\"({0}[at_row / 2][3]),", left);
  text.line("      \"r\"({}), \"r\"({}));", right[0], right[1]);
}

}  // namespace graphc::core::cuda
