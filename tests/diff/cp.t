#!/bin/bash
# Random trees, options and operands, run through GNU's cp and pcp: they must leave, say and return
# the same (tests/diff/difftest).
exec "$(dirname "$0")/run" cp
