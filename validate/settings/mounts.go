package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// officialData is where Docker's official images keep the data, on an anonymous volume.
const officialData = "/data"

// containerFolder is where a container's server starts, "" where nobody knows.
func containerFolder(container any, key, image string) string {
	if folder, _ := dig(container, key).(string); folder != "" {
		return folder
	}
	if ofRedis.MatchString(image) {
		return officialData
	}
	return ""
}

// composeStorage reads where a service keeps its data (the Compose specification, volumes
// and tmpfs).
func (d document) composeStorage(name string, s any) storage {
	image, _ := dig(s, "image").(string)
	st := storage{at: d.at("services", name), folder: containerFolder(s, "working_dir", image)}
	anew := func(format string, args ...any) fate {
		return fate{doubted: []Crash{Shutdown}, why: fmt.Sprintf(format, args...) +
			": a container that is made anew, as by docker compose down and up, begins empty"}
	}
	st.rest = anew("the data are on no volume")
	st.mounts = append(st.mounts, mount{target: "/dev/shm", fate: gone("the data are in /dev/shm, which goes with the container")})
	if ofRedis.MatchString(image) { // named mounts of the same folder come after it, and count
		st.mounts = append(st.mounts, mount{target: officialData, fate: anew("no volume is named for %s", officialData)})
	}
	tmpfs := list(dig(s, "tmpfs"))
	if one, ok := dig(s, "tmpfs").(string); ok {
		tmpfs = []any{one}
	}
	for _, t := range tmpfs {
		target, _, _ := strings.Cut(fmt.Sprint(t), ":")
		st.mounts = append(st.mounts, mount{target: target, fate: gone("the data are in %s, a tmpfs, which goes with the container", target)})
	}
	for _, v := range list(dig(s, "volumes")) {
		kind, from, to := volume(v)
		switch {
		case kind == "tmpfs":
			st.mounts = append(st.mounts, mount{target: to, fate: gone("the data are in %s, a tmpfs, which goes with the container", to)})
		case kind == "bind":
			st.mounts = append(st.mounts, mount{to, inMemory(from), from})
		case from == "":
			st.mounts = append(st.mounts, mount{target: to, fate: anew("the volume at %s has no name", to)})
		case fmt.Sprint(dig(d.root, "volumes", from, "driver_opts", "type")) == "tmpfs":
			st.mounts = append(st.mounts, mount{target: to, fate: fate{lost: []Crash{PowerLoss}, doubted: []Crash{Kill, Shutdown},
				why: fmt.Sprintf("the volume %s is a tmpfs, which is empty once nothing uses it", from)}})
		default: // of a driver's own folder, too (docker volume create, o=bind)
			device, _ := dig(d.root, "volumes", from, "driver_opts", "device").(string)
			st.mounts = append(st.mounts, mount{to, inMemory(device), from})
		}
	}
	if n := several(dig(s, "deploy", "replicas"), dig(s, "scale")); n != "" {
		for i, m := range st.mounts {
			if m.source != "" {
				st.mounts[i].fate = fate{doubted: Crashes, why: fmt.Sprintf("%s containers of %s write to the same %s: give each node a service "+
					"and a volume of its own", n, name, m.source)}
			}
		}
	}
	if signal, _ := dig(s, "stop_signal").(string); signal != "" {
		st.abrupt = signalled("stop_signal", signal)
	}
	if grace, ok := dig(s, "stop_grace_period").(string); ok {
		if wait, err := time.ParseDuration(grace); err == nil && wait == 0 {
			st.abrupt = "stop_grace_period 0s ends the server before it has shut down"
		}
	}
	return st
}

// several is the first of the numbers that is more than one, "" for none.
func several(numbers ...any) string {
	for _, n := range numbers {
		if text := fmt.Sprint(n); n != nil && text != "0" && text != "1" {
			return text
		}
	}
	return ""
}

// volume reads a mount in its short or long form: a name or a folder, and where it is seen.
func volume(value any) (kind, from, to string) {
	switch m := value.(type) {
	case string:
		parts := strings.Split(variable.ReplaceAllString(m, "$$$1"), ":")
		if len(parts) == 1 {
			return "volume", "", parts[0]
		}
		if strings.ContainsAny(parts[0], "./~$") {
			return "bind", parts[0], parts[1]
		}
		return "volume", parts[0], parts[1]
	case map[string]any:
		if len(m) == 1 { // the parser takes [./a:/b:ro], in one line, for a mapping
			for key, rest := range m {
				return volume(fmt.Sprintf("%s:%v", key, rest))
			}
		}
		kind, _ = m["type"].(string)
		from, _ = m["source"].(string)
		to, _ = m["target"].(string)
	}
	return kind, from, to
}

// podStorage reads where a container of a pod keeps its data (Kubernetes, Volumes): what is
// on no volume goes with the container, which kubelet makes anew, and an emptyDir with the pod.
func (d document) podStorage(kind string, pod, container any) storage {
	image, _ := dig(container, "image").(string)
	st := storage{at: Place{File: d.file}, folder: containerFolder(container, "workingDir", image)}
	st.rest = gone("the data are on no volume of the pod, and kubelet makes the container anew")
	for _, m := range list(dig(container, "volumeMounts")) {
		to, _ := dig(m, "mountPath").(string)
		f, found := d.volumeFate(kind, pod, fmt.Sprint(dig(m, "name")))
		if expression, ok := dig(m, "subPathExpr").(string); ok && strings.Contains(expression, "$(") && kind != "StatefulSet" && kind != "Pod" {
			f.doubted, f.why = moved, fmt.Sprintf("subPathExpr %s may be another folder for a pod that is made anew", expression)
		}
		if found {
			st.mounts = append(st.mounts, mount{target: to, fate: f, source: d.claim(pod, dig(m, "name"), dig(m, "subPath"))})
		}
	}
	if fmt.Sprint(dig(pod, "terminationGracePeriodSeconds")) == "0" {
		st.abrupt = "terminationGracePeriodSeconds 0 ends the server before it has shut down"
	}
	return st
}

// moved is what becomes of data on a machine that the pod may leave.
var moved = []Crash{Shutdown, PowerLoss}

// volumeFate is what becomes of a volume of a pod; a claim's outlives it.
func (d document) volumeFate(kind string, pod any, name string) (f fate, found bool) {
	for _, template := range list(dig(d.root, "spec", "volumeClaimTemplates")) {
		if kind != "StatefulSet" || fmt.Sprint(dig(template, "metadata", "name")) != name {
			continue
		}
		if dig(d.root, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled") == "Delete" {
			return fate{doubted: []Crash{Shutdown}, why: "whenScaled: Delete removes a pod's claim, with its data, when the StatefulSet is scaled down"}, true
		}
		return fate{}, true
	}
	for _, v := range list(dig(pod, "volumes")) {
		if fmt.Sprint(dig(v, "name")) != name {
			continue
		}
		m, _ := v.(map[string]any)
		_, empty := m["emptyDir"]
		host, _ := dig(v, "hostPath", "path").(string)
		switch {
		case empty && fmt.Sprint(dig(v, "emptyDir", "medium")) == "Memory":
			return fate{lost: moved, why: "the data are in an emptyDir in memory, which goes with the pod"}, true
		case empty, dig(v, "ephemeral") != nil:
			return fate{lost: []Crash{Shutdown}, doubted: []Crash{PowerLoss}, why: "the data are in an emptyDir or ephemeral volume, " +
				"which goes with the pod"}, true
		case host != "" && !pinned(kind, pod):
			f := inMemory(host)
			f.doubted, f.why = moved, "a hostPath stays behind when the pod moves to another machine: pin it with a nodeSelector"
			return f, true
		case host != "":
			return inMemory(host), true
		case dig(v, "persistentVolumeClaim") != nil:
			if n := several(dig(d.root, "spec", "replicas")); n != "" {
				return fate{doubted: Crashes, why: fmt.Sprintf("%s pods write to the same claim %v: give each one of its own, as by "+
					"volumeClaimTemplates", n, dig(v, "persistentVolumeClaim", "claimName"))}, true
			}
		case slices.ContainsFunc(passing, func(key string) bool { return dig(v, key) != nil }):
			return fate{doubted: moved, why: fmt.Sprintf("the volume %s is made with the pod, and may go with it: use a claim", name)}, true
		}
		return fate{}, true
	}
	return fate{}, false
}

// passing are volumes that are made for one pod (Kubernetes, Volumes).
var passing = []string{"csi", "gitRepo", "configMap", "secret", "projected", "downwardAPI", "image"}

// claim names what of a claim is mounted, for a comparison with another pod's; "" for any other volume.
func (d document) claim(pod, name, sub any) string {
	for _, v := range list(dig(pod, "volumes")) {
		if claimed, ok := dig(v, "persistentVolumeClaim", "claimName").(string); ok && dig(v, "name") == name {
			below, _ := sub.(string)
			return fmt.Sprintf("claim %s/%s", d.namespace(), claimed) + strings.TrimRight("/"+below, "/")
		}
	}
	return ""
}

// pinned reports whether a pod stays on its machine.
func pinned(kind string, pod any) bool {
	return kind == "DaemonSet" || kind == "Pod" || dig(pod, "nodeName") != nil || dig(pod, "nodeSelector") != nil ||
		dig(pod, "affinity", "nodeAffinity") != nil
}
