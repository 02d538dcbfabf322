#!/bin/bash
# Each call of prm failing in each way: a sample (tests/faults/sweep).
exec "$(dirname "$0")/run" prm
