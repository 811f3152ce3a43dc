#!/bin/sh
# Pages of `vbslab report` in Chromium (browser.py). `make test-report` installs what this needs and runs
# it; it takes longer than the tests of `make check`, of which it is none.
# VBSLAB: the program; BUILD: screenshots are kept in its folder report.
. "$(dirname "$0")/../cli/lib.sh"

python=/usr/bin/python3 # whose packages are the system's
skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}
command -v chromium >/dev/null || skip_all "chromium is not installed; make test-report installs it"
command -v chromedriver >/dev/null || skip_all "chromium-driver is not installed; make test-report installs it"
$python -c 'import selenium' 2>/dev/null || skip_all "python3-selenium is not installed; make test-report installs it"

screenshots=${BUILD:-$ROOT/build}/report
mkdir -p "$screenshots"
VBSLAB=$VBSLAB ROOT=$ROOT SCREENSHOTS=$screenshots $python "$ROOT/tests/report/browser.py"
