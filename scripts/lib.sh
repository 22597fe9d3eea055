# Sourced by the scripts beside it. Installs what is missing on Debian and
# Ubuntu, finds or fetches a Go that is new enough, and builds the program.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# as_root CMD...: runs it as root, by sudo if need be.
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else
		command -v sudo >/dev/null || die "$1 needs root: run this script as root or install sudo"
		sudo "$@"
	fi
}

updated=
# need PROGRAM=PACKAGE...: installs the packages whose program is missing.
need() {
	local want=() pair
	for pair in "$@"; do
		command -v "${pair%%=*}" >/dev/null || [ -e "${pair%%=*}" ] || want+=("${pair#*=}")
	done
	[ ${#want[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "missing: ${want[*]}; this script installs packages with apt-get only, please install them by hand"
	say "installing ${want[*]}"
	if [ -z "$updated" ]; then as_root apt-get -qq update; updated=1; fi
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${want[@]}" >/dev/null
}

# need_go leaves in $GO a Go that can build the module. Distributions carry
# older ones: those from 1.21 on fetch the version that go.mod names by
# themselves, before that the toolchain is taken from the module mirror, which
# carries it as a module.
need_go() {
	local want have dir
	want=$(awk '$1 == "go" {print $2}' go.mod)
	PATH=$PATH:/usr/local/go/bin
	command -v go >/dev/null || need go=golang-go
	GO=$(command -v go)
	have=$("$GO" env GOVERSION 2>/dev/null || "$GO" version | awk '{print $3}')
	have=${have#go}
	if [ "$(printf '%s\n%s\n' 1.21 "$have" | sort -V | head -n1)" != 1.21 ]; then
		dir=$(mktemp -d)
		say "fetching go $want (the installed $have is too old)"
		(cd "$dir" && "$GO" mod init x >/dev/null 2>&1 &&
			"$GO" mod download "golang.org/toolchain@v0.0.1-go$want.linux-$("$GO" env GOARCH)")
		rm -rf "$dir"
		dir=$("$GO" env GOMODCACHE)/golang.org/toolchain@v0.0.1-go$want.linux-$("$GO" env GOARCH)
		chmod -R u+w "$dir"
		chmod +x "$dir"/bin/* "$dir"/pkg/tool/*/*
		GO=$dir/bin/go
	fi
	export GO
	PATH=$(dirname "$GO"):$PATH
}

# build leaves the program in bin/cnuas.
build() {
	need_go
	say "building bin/cnuas with $("$GO" version | awk '{print $3}')"
	CGO_ENABLED=0 "$GO" build -o bin/cnuas ./cmd/cnuas
}

# examples builds the C programs of examples/ into bin/.
examples() {
	local dir
	for dir in examples/*/; do make -s -C "$dir"; done
}

programs_demo=(ip=iproute2 tcpdump=tcpdump ib_write_bw=perftest ibv_devinfo=ibverbs-utils
	/etc/libibverbs.d/rxe.driver=ibverbs-providers ping=iputils-ping /etc/ssl/certs/ca-certificates.crt=ca-certificates)
programs_test=("${programs_demo[@]}" tshark=tshark traceroute=traceroute gcc=gcc /usr/include/stdlib.h=libc6-dev git=git
	rping=rdmacm-utils
	make=make /usr/include/infiniband/verbs.h=libibverbs-dev ucx_perftest=ucx-utils mpirun=openmpi-bin mpicc=libopenmpi-dev
	iperf3=iperf3 unshare=util-linux opensm=opensm ibstat=infiniband-diags mbpoll=mbpoll
	/usr/include/modbus/modbus.h=libmodbus-dev /usr/bin/python3=python3 /usr/lib/python3/dist-packages/pymodbus=python3-pymodbus
	/usr/lib/python3/dist-packages/serial=python3-serial /usr/lib/python3/dist-packages/serial_asyncio=python3-serial-asyncio)
programs_lab=("${programs_demo[@]}" qemu-system-x86_64=qemu-system-x86 qemu-system-arm=qemu-system-arm modprobe=kmod xz=xz-utils make=make gcc=gcc rping=rdmacm-utils)
programs_sm=(opensm=opensm ibsim=ibsim-utils gcc=gcc /usr/include/stdlib.h=libc6-dev)
programs_bench=("${programs_demo[@]}" qperf=qperf iperf3=iperf3 mn=mininet python3=python3 brctl=bridge-utils)
