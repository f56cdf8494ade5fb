package deploy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/validate/settings"
)

// podVolumes is kubelet's folder of volumes: a container that mounts that folder of the machine sees them.
const podVolumes = "/var/lib/kubelet/pods"

// moved are the crashes after which a pod may be on another machine, or a new one.
var moved = []settings.Crash{settings.Shutdown, settings.PowerLoss}

// storage reads the mounts of a pod's container (Kubernetes, Volumes). Data outside of volumes are lost with the
// container, which kubelet recreates.
func (p pod) storage(s *Server, c item) {
	s.unmounted = lostAlways("the data are on no volume of the pod, and kubelet makes the container anew")
	for _, m := range c.list("volumeMounts") {
		name := m.text("name")
		f, source := p.volume(name, m)
		load := func(conf *configFile, file string) {
			conf.text, conf.name, conf.unreadReason = p.fromVolume(name, path.Join(m.text("subPath"), file))
		}
		readOnly, known := truth(m.get("readOnly").value)
		if !known {
			f = maybeLost("not understood: readOnly of the volume %s; it could be read-only", name)
		}
		s.mounts = append(s.mounts, mount{at: m.at(), target: m.text("mountPath"), loss: f, source: source,
			readOnly: readOnly, each: isBelow(source, []string{p.ownVolume(name)}), load: load})
	}
}

// ownVolume is a name for a pod's own volume, to compare it with other pods' volumes.
func (p pod) ownVolume(name string) string {
	return path.Join(podVolumes, fmt.Sprintf("volume %s of %s %s", name, p.kind,
		strings.TrimPrefix(p.namespace()+"."+p.text("metadata", "name"), ".")))
}

// claimOf is a name for a claim. A claim called template-statefulset-ordinal is that StatefulSet's own volume
// (Kubernetes, StatefulSets, Stable Storage).
func (p pod) claimOf(name string) string {
	for _, d := range p.all {
		set, _ := podOf(d, p.all)
		for _, template := range d.list("spec", "volumeClaimTemplates") {
			volume := template.text("metadata", "name")
			ordinal, ok := strings.CutPrefix(name, volume+"-"+d.text("metadata", "name")+"-")
			if _, err := strconv.Atoi(ordinal); ok && err == nil && set.kind == "StatefulSet" {
				return set.ownVolume(volume)
			}
		}
	}
	return path.Join(podVolumes, fmt.Sprintf("claim %s %s", p.namespace(), name))
}

// volume returns the data loss of a pod's volume, and its source.
func (p pod) volume(name string, m item) (f loss, source string) {
	own := p.ownVolume(name)
	named := func(d item) bool { return d.text("metadata", "name") == name }
	if p.kind == "StatefulSet" && slices.ContainsFunc(p.list("spec", "volumeClaimTemplates"), named) {
		return loss{}, path.Join(own, m.text("subPath"))
	}
	for _, v := range p.spec.list("volumes") {
		if v.text("name") != name {
			continue
		}
		kind := "emptyDir" // of a volume without a kind (kubernetes.io, SetDefaults_Volume)
		for _, key := range v.keys() {
			if key != "name" && v.has(key) {
				kind = key
			}
		}
		for _, key := range v.get(kind).keys() {
			yes, isBool := truth(v.get(kind, key).value)
			if !slices.Contains(allowed["kubernetes "+kind], key) && allowed["kubernetes "+kind] != nil && (yes || !isBool) {
				return maybeLost("not understood: the key %s of the volume %s; it could keep nothing that is written", key,
					name), own
			}
		}
		switch kind {
		case "emptyDir", "ephemeral":
			if v.text("emptyDir", "medium") == "Memory" {
				return loss{lost: moved, why: "the data are in an emptyDir in memory, which goes with the pod"}, own
			}
			return loss{lost: []settings.Crash{settings.Shutdown}, doubted: []settings.Crash{settings.PowerLoss},
				why: "the data are in an emptyDir or ephemeral volume, which goes with the pod"}, own
		case "hostPath":
			f := onMachine(v.text(kind, "path"))
			if !p.pinned() {
				f.doubted, f.why = moved,
					"a hostPath stays behind when the pod moves to another machine: pin it to one by kubernetes.io/hostname"
			}
			return f, path.Join(v.text(kind, "path"), m.text("subPath"))
		case "persistentVolumeClaim":
			return loss{}, path.Join(p.claimOf(v.text(kind, "claimName")), m.text("subPath"))
		}
		return maybeLost("not understood: a volume of kind %s; it could lose what is written to it: use a claim", kind), own
	}
	return maybeLost("not understood: the volume %s is not in the pod", name), ""
}

const hostname = "kubernetes.io/hostname"

// pinned reports whether a pod stays on its machine: only a host name ensures that, as several machines may have any
// other label.
func (p pod) pinned() bool {
	return p.spec.text("nodeName") != "" || p.spec.text("nodeSelector", hostname) != ""
}

// fromVolume reads a file of a ConfigMap's volume.
func (p pod) fromVolume(volume, file string) (content, name, unreadReason string) {
	for _, v := range p.spec.list("volumes") {
		if v.text("name") != volume || !v.has("configMap") {
			continue
		}
		config, key := v.text("configMap", "name"), file
		for _, mapped := range v.list("configMap", "items") {
			if key = ""; mapped.text("path") == file {
				key = mapped.text("key")
				break
			}
		}
		object, found := p.named("ConfigMap", config)
		if !found {
			return "", "", fmt.Sprintf("the ConfigMap %s is not in what was given", config)
		}
		if content, has := object.get("data", key).value.(string); has {
			return content, fmt.Sprintf("%s, ConfigMap %s, %s", object.file, config, key), ""
		}
	}
	return "", "", fmt.Sprintf("the volume %s holds no ConfigMap with it", volume)
}
