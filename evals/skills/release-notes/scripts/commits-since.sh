#!/bin/sh
# Lists the commits since a tag (default: the last one), the oldest first, as "hash subject".
# Usage: commits-since.sh [tag]
set -eu

since=${1:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
if [ -n "$since" ]; then
  git log --reverse --no-merges --format='%h %s' "$since..HEAD"
else
  git log --reverse --no-merges --format='%h %s'
fi
