#!/bin/sh
# dummynet's FIFO, DRR and QFQ in the neutral loop, from a checkout of dummynet: `dummynet.sh FOLDER`.
set -eu
from=${1:-dummynet}
if [ ! -f "$from/test/test_dn_sched.c" ]; then
  echo "missing: git clone https://github.com/luigirizzo/dummynet, then make dummynet DUMMYNET=the folder"
  exit 1
fi
if ! grep -q 'q->ni.length >= 200' "$from/test/test_dn_sched.c"; then
  echo "this dummynet is another one: check out e717cdd"
  exit 1
fi
to=target/dummynet
mkdir -p "$to"
# A queue of dummynet's tests holds 200 packets, and its FIFO has only one.
sed 's/q->ni.length >= 200/0/' "$from/test/test_dn_sched.c" > "$to/test_dn_sched.c"
kernel=$from/sys/netinet/ipfw
# The sources are of 2012: without warnings.
cc -O3 -w -fcommon -DIPFW -I"$from/test" -I"$kernel" -I"$from/sys/netinet" -o "$to/dummynet" \
  "$kernel/dn_sched_fifo.c" "$kernel/dn_sched_rr.c" "$kernel/dn_sched_qfq.c" "$to/test_dn_sched.c" \
  crates/bench/others/dummynet.c
for flows in ${FLOWS:-64 1024 16384 131072}; do
  for discipline in fifo rr qfq; do
    for burst in 1 32; do
      "$to/dummynet" "$discipline" "$flows" "$burst"
    done
  done
done
