#!/bin/bash
# Each call of pcp failing in each way: a sample (tests/faults/sweep).
exec "$(dirname "$0")/run" pcp
