package agent

// What the host and the guest's process 1 agree on.
const (
	// Token on the kernel's command line tells process 1 that this is a lab VM.
	Token = "cnuas.lab=1"
	// PortName is the name of the virtio serial port.
	PortName = "cnuas.agent"
	// HostTag is the 9p mount tag of the host's root.
	HostTag = "host"
	// BootFile in the root of the initramfs holds a Boot as JSON.
	BootFile = "lab.json"
	// ModuleDir in the initramfs holds the files of Boot.Modules.
	ModuleDir = "lab-modules"
	// BinDir in the guest has this program; it is in PATH.
	BinDir = "/run/lab"
)

// Boot tells process 1 what to do.
type Boot struct {
	// HostRoot: the guest's root is the host's, read-only below a layer in
	// memory. Otherwise it is what the initramfs holds.
	HostRoot bool `json:"host_root,omitempty"`
	// Tree is a directory of the guest with lib/modules, or "".
	Tree string `json:"tree,omitempty"`
	// Modules are loaded in this order.
	Modules []BootModule `json:"modules,omitempty"`
}

// BootModule is a kernel module in the initramfs.
type BootModule struct {
	Name string `json:"name"` // its file is ModuleDir/Name.ko
	// Early: the guest needs it to find its root or the port.
	Early bool `json:"early,omitempty"`
}
