#!/bin/busybox sh
# Process 1 of the stand-in.
/bin/busybox mkdir -p /proc /sys /dev /run /tmp /sbin /usr/bin /usr/sbin /var/run
/bin/busybox --install -s
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts -o mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs run /run
echo 3 4 1 3 >/proc/sys/kernel/printk

value() { sed -n "s/^\(.* \)\?$1=\([^ ]*\).*/\2/p" /proc/cmdline; }
hostname "$(value cnuas.name)"

# The network comes first: the others may be waiting for it.
for m in $(cat /modules/order); do insmod "/modules/$m.ko"; done
rm -r /modules
ip link set lo up
addr=$(value cnuas.addr)
if [ -n "$addr" ]; then
	ip addr add "$addr" dev eth0
	ip link set eth0 up
fi

dropbear -r /etc/dropbear/host -P /run/dropbear.pid -E 2>/run/dropbear.log

# The way in from the host: SSH over a UART, since the host is on no network of
# this machine.
stty -F /dev/ttyS0 1500000 raw -echo -echoe -echok
while :; do nc 127.0.0.1 22 </dev/ttyS0 >/dev/ttyS0; sleep 1; done &

echo "stand-in BMC: log in as root, password 0penBmc"
exec init
