// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/transcript.h"

#include <sstream>

namespace graphc::core::testing {
namespace {

constexpr std::string_view kAnything = "...";

/// Whether a line matches the expectation.
bool line_matches(std::string_view expected, std::string_view found) {
  size_t at = 0;
  bool anchored = true;
  while (true) {
    const size_t gap = expected.find(kAnything);
    const std::string_view piece = expected.substr(0, gap);
    if (gap == std::string_view::npos) {
      if (anchored) return found.substr(at) == piece;
      return found.size() >= at + piece.size() && found.ends_with(piece);
    }
    const size_t place =
        anchored ? (found.substr(at).starts_with(piece) ? at : found.npos) : found.find(piece, at);
    if (place == found.npos) return false;
    at = place + piece.size();
    expected.remove_prefix(gap + kAnything.size());
    anchored = false;
  }
}

bool match_from(const std::vector<std::string>& expected, size_t e,
                const std::vector<std::string>& found, size_t f) {
  for (; e < expected.size(); ++e, ++f) {
    if (expected[e] == kAnything) {
      for (size_t skip = f; skip <= found.size(); ++skip) {
        if (match_from(expected, e + 1, found, skip)) return true;
      }
      return false;
    }
    if (f >= found.size() || !line_matches(expected[e], found[f])) return false;
  }
  return f == found.size();
}

/// The transcripts of a block whose lines are [begin, end).
void read_transcripts(Document& document, size_t begin, size_t end) {
  size_t i = begin;
  while (i < end) {
    Transcript transcript{.command = document.lines[i].substr(2), .line = int(i) + 1};
    while (i + 1 < end && document.lines[i + 1].starts_with("> "))
      transcript.command += "\n" + document.lines[++i].substr(2);
    transcript.begin = ++i;
    while (i < end && !document.lines[i].starts_with("$ "))
      transcript.expected.push_back(document.lines[i++]);
    transcript.end = i;
    document.transcripts.push_back(std::move(transcript));
  }
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Document read_document(std::string_view text) {
  Document document{.lines = lines_of(text)};
  const std::vector<std::string>& lines = document.lines;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("```")) continue;
    size_t end = i + 1;
    while (end < lines.size() && !lines[end].starts_with("```")) ++end;
    if (lines[i] == "```graph" || lines[i].starts_with("```graph ")) {
      GraphBlock block{.name = lines[i].substr(std::min(lines[i].size(), size_t(9))),
                       .line = int(i) + 1};
      for (size_t k = i + 1; k < end; ++k) block.text += lines[k] + "\n";
      document.graphs.push_back(std::move(block));
    } else if (const size_t space = lines[i].find(' '); space != std::string::npos) {
      GraphBlock block{.name = lines[i].substr(space + 1), .line = int(i) + 1};
      for (size_t k = i + 1; k < end; ++k) block.text += lines[k] + "\n";
      document.files.push_back(std::move(block));
    } else if (i + 1 < end && lines[i + 1].starts_with("$ ")) {
      read_transcripts(document, i + 1, end);
    }
    i = end;
  }
  return document;
}

bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
  return match_from(expected, 0, found, 0);
}

std::string with_outputs(const Document& document,
                         const std::vector<std::vector<std::string>>& outputs) {
  std::string text;
  size_t line = 0;
  for (size_t i = 0; i < document.transcripts.size(); ++i) {
    for (; line < document.transcripts[i].begin; ++line) text += document.lines[line] + "\n";
    for (const std::string& output : outputs[i]) text += output + "\n";
    line = document.transcripts[i].end;
  }
  for (; line < document.lines.size(); ++line) text += document.lines[line] + "\n";
  return text;
}

}  // namespace graphc::core::testing
