package deploy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/validate/settings"
)

// podVolumes is where kubelet keeps the volumes of pods: whoever sees that folder of a machine sees them.
const podVolumes = "/var/lib/kubelet/pods"

// moved are the crashes after which a pod may be on another machine, or made anew.
var moved = []settings.Crash{settings.Shutdown, settings.PowerLoss}

// storage reads where a container of a pod keeps its data (Kubernetes, Volumes): what is on no volume goes with the
// container, which kubelet makes anew.
func (p pod) storage(s *Server, in func(...any) settings.Place, c any) {
	s.unmounted = gone("the data are on no volume of the pod, and kubelet makes the container anew")
	for n, m := range list(dig(c, "volumeMounts")) {
		at := in("volumeMounts", n)
		f, source, found := p.volume(text(m, "name"), m)
		if !found {
			f = doubtful("not understood: the volume %s is not in the pod", text(m, "name"))
		}
		s.allowed(in, m, allowed["kubernetes volumeMount"], "volumeMounts", n)
		load := func(conf *configFile, file string) {
			conf.text, conf.name, conf.lack = p.fromVolume(text(m, "name"), path.Join(text(m, "subPath"), file))
		}
		readOnly, known := truth(dig(m, "readOnly"))
		if !known {
			f = doubtful("not understood: readOnly of the volume %s; it could be read-only", text(m, "name"))
		}
		s.mounts = append(s.mounts, mount{at: at, target: text(m, "mountPath"), fate: f, source: source,
			readOnly: readOnly, each: source == p.ownVolume(text(m, "name")), load: load})
	}
}

// ownVolume names a volume that the pod has for itself, for a comparison with other pods'.
func (p pod) ownVolume(name string) string {
	return path.Join(podVolumes, fmt.Sprintf("volume %s of %s %s", name, p.kind,
		strings.TrimPrefix(p.namespace()+"."+text(p.root, "metadata", "name"), ".")))
}

// claimOf names a claim likewise. One that a StatefulSet makes from a template is that StatefulSet's volume: it is
// called template-statefulset-ordinal (Kubernetes, StatefulSets, Stable Storage).
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

// volume is what becomes of a volume of a pod, and what it is a part of.
func (p pod) volume(name string, m any) (f fate, source string, found bool) {
	own := p.ownVolume(name)
	for _, template := range list(dig(p.root, "spec", "volumeClaimTemplates")) {
		if p.kind != "StatefulSet" || text(template, "metadata", "name") != name {
			continue
		}
		return fate{}, own, true
	}
	for _, v := range list(dig(p.spec, "volumes")) {
		if text(v, "name") != name {
			continue
		}
		kind := ""
		for _, key := range keys(v) {
			if key != "name" {
				kind = key
			}
		}
		for _, key := range keys(dig(v, kind)) {
			yes, isBool := truth(dig(v, kind, key))
			if !slices.Contains(allowed["kubernetes "+kind], key) && allowed["kubernetes "+kind] != nil && (yes || !isBool) {
				return doubtful("not understood: the key %s of the volume %s; it could keep nothing that is written", key,
					name), own, true
			}
		}
		switch kind {
		case "emptyDir", "ephemeral":
			if text(v, "emptyDir", "medium") == "Memory" {
				return fate{lost: moved, why: "the data are in an emptyDir in memory, which goes with the pod"}, own, true
			}
			return fate{lost: []settings.Crash{settings.Shutdown}, doubted: []settings.Crash{settings.PowerLoss},
				why: "the data are in an emptyDir or ephemeral volume, which goes with the pod"}, own, true
		case "hostPath":
			f := onMachine(text(v, "hostPath", "path"))
			if !p.pinned() {
				f.doubted, f.why = moved,
					"a hostPath stays behind when the pod moves to another machine: pin it to one by kubernetes.io/hostname"
			}
			return f, path.Join(text(v, "hostPath", "path"), text(m, "subPath")), true
		case "persistentVolumeClaim":
			return fate{}, p.claimOf(text(v, kind, "claimName")), true
		}
		return doubtful("not understood: a volume of kind %s; it could lose what is written to it: use a claim", kind), own,
			true
	}
	return fate{}, "", false
}

const hostname = "kubernetes.io/hostname"

// pinned reports whether a pod stays on its machine: by its name, and by no other label, which several may have.
func (p pod) pinned() bool {
	return text(p.spec, "nodeName") != "" || text(p.spec, "nodeSelector", hostname) != ""
}

// fromVolume reads a file of a volume that holds a ConfigMap.
func (p pod) fromVolume(volume, file string) (content, name, lack string) {
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
