package doctor

// gives is what gives a container something that a session needs: flags of docker run and podman run, and of a Pod's manifest what stands in the
// container's part, but for hostUsers.
type gives struct {
	Docker     string `json:"docker,omitempty"`
	Podman     string `json:"podman,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty"`
}

// manifests say it by what a finding is about. In a Pod, only one with user namespaces of its own may have all of /proc
// (https://kubernetes.io/docs/concepts/workloads/pods/user-namespaces/), and devices come by a plugin
// (https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/).
var manifests = map[string]gives{
	"user namespaces": {
		Docker:     "--security-opt seccomp=unconfined --security-opt apparmor=unconfined",
		Podman:     "--security-opt seccomp=unconfined --security-opt apparmor=unconfined",
		Kubernetes: "securityContext: {seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}",
	},
	"/proc": {
		Docker:     "--security-opt systempaths=unconfined",
		Podman:     "--security-opt unmask=ALL",
		Kubernetes: "securityContext: {procMount: Unmasked}, and hostUsers: false for the Pod",
	},
	"FUSE": {
		Docker:     "--device /dev/fuse",
		Podman:     "--device /dev/fuse",
		Kubernetes: "resources: {limits: {squat.ai/fuse: 1}}, by a plugin for devices",
	},
	"network by name": {
		Docker:     "--device /dev/net/tun",
		Podman:     "--device /dev/net/tun",
		Kubernetes: "resources: {limits: {squat.ai/tun: 1}}, by a plugin for devices",
	},
	"control groups": {
		Podman:     "--cgroupns private --security-opt unmask=/sys/fs/cgroup",
		Kubernetes: "resources: {limits: {memory: 4Gi}}, which holds for all sessions together",
	},
}

// lacks returns those findings that are of no use to a session as they are, with what gives it to a container.
func lacks(findings []Finding) (some []Finding) {
	for _, f := range findings {
		if f.State == OK {
			continue
		}
		if m, ok := manifests[f.What]; ok {
			f.Gives = &m
		}
		some = append(some, f)
	}
	if len(some) == 0 {
		some = []Finding{{What: "container", Says: "it lacks nothing that sessions need"}}
	}
	return some
}
