#!/bin/sh
# Runs one of the studies and makes its report:  sh run.sh STUDY [--full] [OPTIONS OF corral run]
# A second time it goes on where it stopped.
set -eu
cd "$(dirname "$0")"
if [ ! -e "${1-}/report.sh" ]; then
  echo "run.sh: name a study: $(echo */ | tr -d /)" >&2
  exit 2
fi
cd "$1"
shift
size=study
if [ "${1-}" = --full ]; then
  size=full
  shift
fi
[ -e $size.csv ] || corral plan generate $size.yaml -o $size.csv
for option; do
  if [ "$option" = --dry-run ]; then exec corral run $size.csv "$@"; fi
done
status=0
corral run $size.csv "$@" || status=$?
if [ $status -gt 1 ]; then exit $status; fi # interrupted, or not started
. ./report.sh
exit $status
