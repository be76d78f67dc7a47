#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# first_program.sh DOCUMENT PREFIX FOLDER: writes the files that the document shows to an empty
# folder and runs its commands there, with the graphc that was installed to the prefix and no other.
set -euo pipefail
document=$1 prefix=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
awk '/^```[a-z]+ [^ ]+$/ { file = $2; next } /^```/ { file = "" } file { print > file }' "$document"
awk '/^\$ / { print substr($0, 3); go = 1; next } go && /^> / { print substr($0, 3); next }
     { go = 0 }' "$document" > commands
test "$(wc -l < commands)" -ge 4
export CMAKE_PREFIX_PATH=$prefix PATH=$prefix/bin:$PATH
bash -euo pipefail -x commands
