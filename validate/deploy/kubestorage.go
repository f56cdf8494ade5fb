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
func (p pod) storage(s *Server, in func(...any) settings.Place, c any) {
	s.unmounted = lostAlways("the data are on no volume of the pod, and kubelet makes the container anew")
	for n, m := range list(dig(c, "volumeMounts")) {
		at := in("volumeMounts", n)
		f, source, found := p.volume(text(m, "name"), m)
		if !found {
			f = maybeLost("not understood: the volume %s is not in the pod", text(m, "name"))
		}
		s.allowed(in, m, allowed["kubernetes volumeMount"], "volumeMounts", n)
		load := func(conf *configFile, file string) {
			conf.text, conf.name, conf.unreadReason = p.fromVolume(text(m, "name"), path.Join(text(m, "subPath"), file))
		}
		readOnly, known := truth(dig(m, "readOnly"))
		if !known {
			f = maybeLost("not understood: readOnly of the volume %s; it could be read-only", text(m, "name"))
		}
		s.mounts = append(s.mounts, mount{at: at, target: text(m, "mountPath"), loss: f, source: source,
			readOnly: readOnly, each: source == p.ownVolume(text(m, "name")), load: load})
	}
}

// ownVolume is a name for a pod's own volume, to compare it with other pods' volumes.
func (p pod) ownVolume(name string) string {
	return path.Join(podVolumes, fmt.Sprintf("volume %s of %s %s", name, p.kind,
		strings.TrimPrefix(p.namespace()+"."+text(p.root, "metadata", "name"), ".")))
}

// claimOf is a name for a claim. A claim called template-statefulset-ordinal is that StatefulSet's own volume
// (Kubernetes, StatefulSets, Stable Storage).
func (p pod) claimOf(name string) string {
	for _, d := range p.all {
		set, _ := podOf(d, p.all)
		for _, template := range list(dig(d.root, "spec", "volumeClaimTemplates")) {
			volume := text(template, "metadata", "name")
			ordinal, ok := strings.CutPrefix(name, volume+"-"+text(d.root, "metadata", "name")+"-")
			if _, err := strconv.Atoi(ordinal); ok && err == nil && set.kind == "StatefulSet" {
				return set.ownVolume(volume)
			}
		}
	}
	return path.Join(podVolumes, fmt.Sprintf("claim %s %s", p.namespace(), name))
}

// volume returns the data loss of a pod's volume, and its source.
func (p pod) volume(name string, m any) (f loss, source string, found bool) {
	own := p.ownVolume(name)
	for _, template := range list(dig(p.root, "spec", "volumeClaimTemplates")) {
		if p.kind != "StatefulSet" || text(template, "metadata", "name") != name {
			continue
		}
		return loss{}, own, true
	}
	for _, v := range list(dig(p.spec, "volumes")) {
		if text(v, "name") != name {
			continue
		}
		kind := ""
		for _, key := range keys(v) {
			if key != "name" && dig(v, key) != nil {
				kind = key
			}
		}
		if kind == "" { // (kubernetes.io, SetDefaults_Volume: a volume of no kind is an emptyDir)
			kind = "emptyDir"
		}
		for _, key := range keys(dig(v, kind)) {
			yes, isBool := truth(dig(v, kind, key))
			if !slices.Contains(allowed["kubernetes "+kind], key) && allowed["kubernetes "+kind] != nil && (yes || !isBool) {
				return maybeLost("not understood: the key %s of the volume %s; it could keep nothing that is written", key,
					name), own, true
			}
		}
		switch kind {
		case "emptyDir", "ephemeral":
			if text(v, "emptyDir", "medium") == "Memory" {
				return loss{lost: moved, why: "the data are in an emptyDir in memory, which goes with the pod"}, own, true
			}
			return loss{lost: []settings.Crash{settings.Shutdown}, doubted: []settings.Crash{settings.PowerLoss},
				why: "the data are in an emptyDir or ephemeral volume, which goes with the pod"}, own, true
		case "hostPath":
			f := onMachine(text(v, "hostPath", "path"))
			if !p.pinned() {
				f.doubted, f.why = moved,
					"a hostPath stays behind when the pod moves to another machine: pin it to one by kubernetes.io/hostname"
			}
			return f, path.Join(text(v, "hostPath", "path"), text(m, "subPath")), true
		case "persistentVolumeClaim":
			return loss{}, p.claimOf(text(v, kind, "claimName")), true
		}
		return maybeLost("not understood: a volume of kind %s; it could lose what is written to it: use a claim", kind),
			own, true
	}
	return loss{}, "", false
}

const hostname = "kubernetes.io/hostname"

// pinned reports whether a pod stays on its machine: only a host name ensures that, as several machines may have any
// other label.
func (p pod) pinned() bool {
	return text(p.spec, "nodeName") != "" || text(p.spec, "nodeSelector", hostname) != ""
}

// fromVolume reads a file of a ConfigMap's volume.
func (p pod) fromVolume(volume, file string) (content, name, unreadReason string) {
	for _, v := range list(dig(p.spec, "volumes")) {
		config := dig(v, "configMap")
		if text(v, "name") != volume || config == nil {
			continue
		}
		key := file
		for _, item := range list(dig(config, "items")) {
			if key = ""; text(item, "path") == file {
				key = text(item, "key")
				break
			}
		}
		object, found := p.configMap(text(config, "name"))
		if !found {
			return "", "", fmt.Sprintf("the ConfigMap %s is not in what was given", text(config, "name"))
		}
		if content, has := dig(object.root, "data", key).(string); has {
			return content, fmt.Sprintf("%s, ConfigMap %s, %s", object.file, text(config, "name"), key), ""
		}
	}
	return "", "", fmt.Sprintf("the volume %s holds no ConfigMap with it", volume)
}
