// SPDX-License-Identifier: Apache-2.0
// Decodes each code section from its first byte to its last: kernels have no data between
// functions.
#include "codegen/targets/cpu/jit/disassemble.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "codegen/targets/cpu/jit/code_module.h"
#include "ir/error.h"

namespace graphc::core::cpu {
namespace {

template <typename T>
T read_or_throw(llvm::Expected<T> result, std::string_view doing) {
  if (result) return std::move(*result);
  throw Error(ErrorKind::internal, {},
              fmt::format("{}: {}", doing, llvm::toString(result.takeError())));
}

/// Decodes every instruction of the architecture, including those that this processor lacks.
class Disassembler {
 public:
  Disassembler()
      : machine_(make_target_machine({})),
        context_(machine_->getTargetTriple(), machine_->getMCAsmInfo(),
                 machine_->getMCRegisterInfo(), machine_->getMCSubtargetInfo()) {
    llvm::InitializeNativeTargetDisassembler();
    const llvm::Target& target = machine_->getTarget();
    decoder_.reset(target.createMCDisassembler(*machine_->getMCSubtargetInfo(), context_));
    printer_.reset(target.createMCInstPrinter(
        machine_->getTargetTriple(), /*SyntaxVariant=*/0, *machine_->getMCAsmInfo(),
        *machine_->getMCInstrInfo(), *machine_->getMCRegisterInfo()));
    GRAPHC_CHECK(decoder_ && printer_, "LLVM has no disassembler for this machine");
  }

  void add(llvm::StringRef code, std::vector<Instruction>& to) {
    for (size_t at = 0; at < code.size();) {
      const llvm::StringRef rest = code.substr(at);
      llvm::MCInst instruction;
      uint64_t size = 0;
      const auto status = decoder_->getInstruction(
          instruction, size, llvm::arrayRefFromStringRef(rest), at, llvm::nulls());
      GRAPHC_CHECK(status == llvm::MCDisassembler::Success && size > 0,
                   "byte {} of the code, {:#04x}, begins no instruction", at,
                   static_cast<unsigned char>(code[at]));
      to.push_back({rest.take_front(size).str(), text_of(instruction)});
      at += size;
    }
  }

 private:
  std::string text_of(const llvm::MCInst& instruction) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&instruction, 0, "", *machine_->getMCSubtargetInfo(), stream);
    std::replace(text.begin(), text.end(), '\t', ' ');
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
  }

  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::MCContext context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

}  // namespace

std::vector<Instruction> disassemble(const ObjectCode& object) {
  const llvm::MemoryBufferRef buffer(object.bytes, "kernel");
  const auto file = read_or_throw(llvm::object::ObjectFile::createObjectFile(buffer),
                                  "reading an object to disassemble");
  Disassembler disassembler;
  std::vector<Instruction> instructions;
  for (const llvm::object::SectionRef& section : file->sections()) {
    if (section.isText())
      disassembler.add(read_or_throw(section.getContents(), "reading a section"), instructions);
  }
  return instructions;
}

}  // namespace graphc::core::cpu
