package deploy

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
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
func (p pod) storage(s *Server, i int, c any) {
	s.rest = gone("the data are on no volume of the pod, and kubelet makes the container anew")
	for n, m := range list(dig(c, "volumeMounts")) {
		at := p.in("containers", i, "volumeMounts", n)
		f, source, found := p.volume(text(m, "name"), m)
		if !found {
			f = doubtful("not understood: the volume %s is not in the pod", text(m, "name"))
		}
		s.allowed(p.document, m, "the key", allowed["kubernetes volumeMount"],
			append(slices.Clone(p.path), "containers", i, "volumeMounts", n)...)
		stable, each := p.named(text(m, "subPathExpr"), c)
		if !stable {
			f.doubted, f.why = moved,
				fmt.Sprintf("subPathExpr %s may be another folder for a pod that is made anew", text(m, "subPathExpr"))
		}
		load := func(conf *configFile, file string) {
			conf.text, conf.name, conf.lack = p.fromVolume(text(m, "name"), path.Join(text(m, "subPath"), file))
		}
		s.hosts = append(s.hosts, p.sources(m)[1:]...)
		own := source == p.ownVolume(text(m, "name")) ||
			p.kind == "DaemonSet" && strings.HasPrefix(source, "/") && !strings.HasPrefix(source, podVolumes)
		readOnly, known := truth(dig(m, "readOnly"))
		s.mounts = append(s.mounts, mount{at: at, target: text(m, "mountPath"), fate: f, source: source,
			readOnly: readOnly || !known, each: own || each, load: load})
	}
	if log := text(c, "terminationMessagePath"); log != "" && log != "/dev/termination-log" {
		s.mounts = append(s.mounts, mount{at: p.in("containers", i, "terminationMessagePath"), target: log,
			fate: gone("the container's message is written over %s", log)})
	}
}

// named tells of a folder's name with variables whether a pod that is made anew has the same, and each of several its
// own: a StatefulSet keeps the names of its pods.
func (p pod) named(expression string, c any) (stable, each bool) {
	stable = true
	for _, found := range kubernetesVariable.FindAllStringSubmatch(expression, -1) {
		field := ""
		for _, v := range list(dig(c, "env")) {
			if text(v, "name") == found[1] {
				field = text(v, "valueFrom", "fieldRef", "fieldPath")
			}
		}
		pods := field == "metadata.name" && p.kind == "StatefulSet"
		each = each || pods
		stable = stable && (pods || field == "metadata.namespace")
	}
	return stable, each
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

// retention is what a StatefulSet's policy lets become of its claims.
func (p pod) retention() fate {
	policy := dig(p.root, "spec", "persistentVolumeClaimRetentionPolicy")
	for _, key := range keys(policy) {
		if value := text(policy, key); value != "Retain" {
			return fate{doubted: []settings.Crash{settings.Shutdown}, why: fmt.Sprintf("%s: %s may remove a pod's claim, "+
				"with its data, when the StatefulSet is scaled down or made anew", key, value)}
		}
	}
	return fate{}
}

// volume is what becomes of a volume of a pod, and what it is a part of.
func (p pod) volume(name string, m any) (f fate, source string, found bool) {
	own := p.ownVolume(name)
	for _, template := range list(dig(p.root, "spec", "volumeClaimTemplates")) {
		if p.kind != "StatefulSet" || text(template, "metadata", "name") != name {
			continue
		}
		if f := p.retention(); len(f.doubted) > 0 {
			return f, own, true
		}
		return p.bound(name, own), own, true
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
			claimed := text(v, kind, "claimName")
			return p.bound(name, p.claimOf(claimed)), p.claimOf(claimed), true
		case "configMap", "secret", "projected", "downwardAPI", "csi", "image", "gitRepo":
			return fate{doubted: moved,
				why: fmt.Sprintf("the volume %s is made with the pod, and may go with it: use a claim", name)}, own, true
		}
		return doubtful("not understood: a volume of kind %s; it could lose what is written to it: use a claim", kind), own,
			true
	}
	return fate{}, "", false
}

// diskDrivers make volumes on disks that outlive a pod and its machine, or pin the pod to its machine.
var diskDrivers = regexp.MustCompile(`^(?:kubernetes\.io/(?:aws-ebs|gce-pd|azure-disk|no-provisioner)|(?:ebs|` +
	`efs)\.csi\.aws\.com|` +
	`(?:pd|filestore)\.csi\.storage\.gke\.io|(?:disk|file)\.csi\.azure\.com|dobs\.csi\.digitalocean\.com|` +
	`csi\.hetzner\.cloud|driver\.longhorn\.io|` +
	`(?:[a-z-]+\.)?(?:rbd|cephfs)\.csi\.ceph\.com|csi\.vsphere\.vmware\.com|cinder\.csi\.openstack\.org|` +
	`linodebs\.csi\.linode\.com|` +
	`block\.csi\.vultr\.com|rancher\.io/local-path)$`)

// claims are what may bind a volume of the pod: the claim of its name, those that were made of its template, or that;
// nil for one that was not given.
func (p pod) claims(name, source string) (all []any) {
	for _, v := range list(dig(p.spec, "volumes")) {
		if of := text(v, "persistentVolumeClaim", "claimName"); text(v, "name") == name && of != "" {
			all = []any{objectRoot(p.object("PersistentVolumeClaim", of))}
		}
	}
	for _, template := range list(dig(p.root, "spec", "volumeClaimTemplates")) {
		if text(template, "metadata", "name") != name {
			continue
		}
		all = nil
		for _, d := range p.all {
			if text(d.root, "kind") == "PersistentVolumeClaim" && p.claimOf(text(d.root, "metadata", "name")) == source {
				all = append(all, d.root)
			}
		}
		if len(all) == 0 {
			all = []any{template}
		}
	}
	return all
}

// mayBind reports whether a PersistentVolume may be a claim's: the claim that it names is, or the one that names it, or
// one of its class.
func (p pod) mayBind(claim any, source string, volume document) bool {
	if ref := text(volume.root, "spec", "claimRef", "name"); ref != "" {
		return p.claimOf(ref) == source
	}
	if bound := text(claim, "spec", "volumeName"); bound != "" {
		return bound == text(volume.root, "metadata", "name")
	}
	return claim == nil || classOf(claim) == classOf(volume.root)
}

// bound judges a volume of the pod by each claim that may bind it.
func (p pod) bound(name, source string) fate {
	for _, claim := range p.claims(name, source) {
		if f := p.claim(claim, source); f.why != "" {
			return f
		}
	}
	return fate{}
}

// claim judges the volume that a claim binds to, as far as one that may be it, or the class that makes it, was given.
func (p pod) claim(object any, source string) fate {
	class, claim := classOf(object), dig(object, "spec")
	for _, d := range p.all {
		name, spec := text(d.root, "metadata", "name"), d.root["spec"]
		switch text(d.root, "kind") {
		case "StorageClass":
			if standard := class == "" && dig(claim, "storageClassName") == nil && isDefault(d); name != class && !standard {
				continue
			}
			if f := madeBy("the class "+name, text(d.root, "provisioner"), d.root["mountOptions"],
				d.root["parameters"]); f.why != "" {
				return f
			}
		case "PersistentVolume":
			if !p.mayBind(object, source, d) {
				continue
			}
			host, driver := text(spec, "hostPath", "path")+text(spec, "local", "path"), text(spec, "csi", "driver")
			if host != "" {
				driver = onMachineDriver
			}
			f := madeBy("the volume "+name, driver, dig(spec, "mountOptions"), dig(spec, "csi", "volumeAttributes"))
			if host != "" && f.why == "" {
				f = onMachine(host)
			}
			if host != "" && !hostnames(dig(spec, "nodeAffinity", "required", "nodeSelectorTerms")) {
				f.doubted, f.why = moved,
					fmt.Sprintf("the volume %s lies on one machine, and nothing pins its pod there: give it a nodeAffinity by "+
						"kubernetes.io/hostname", name)
			}
			if f.why != "" {
				return f
			}
		}
	}
	return fate{}
}

// onMachineDriver is that of a volume that is a folder of a machine.
const onMachineDriver = "kubernetes.io/no-provisioner"

// isDefault reports whether a class counts for a claim that names none, by its annotation or the older one.
func isDefault(class document) bool {
	all := asMap(dig(class.root, "metadata", "annotations"))
	return slices.ContainsFunc(sortedKeys(all), func(name string) bool {
		return strings.HasSuffix(name, "/is-default-class") && all[name] == "true"
	})
}

// madeBy judges what a driver makes under some options and parameters, of a class or of a volume alike.
func madeBy(what, driver string, options, parameters any) fate {
	if !diskDrivers.MatchString(driver) {
		return doubtful("not understood: the driver %q of %s; it could lose what is written to it", driver, what)
	}
	if option := oddOption(joined(options)...); option != "" {
		return doubtful("not understood: the mount option %s of %s; it could undo what fsync promises", option, what)
	}
	for _, key := range keys(parameters) {
		if !slices.Contains(allowed["kubernetes class parameters"], key) {
			return doubtful("not understood: the parameter %s of %s; it could be a place in memory", key, what)
		}
	}
	return fate{}
}

// classOf is the class of a claim or a volume. The annotation outranks the key (Kubernetes, Persistent Volumes).
func classOf(object any) string {
	return cmp.Or(text(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class"),
		text(object, "spec", "storageClassName"))
}

// sources are a mount's own source, and the folders of machines that its claim may be bound to.
func (p pod) sources(m any) []string {
	_, source, _ := p.volume(text(m, "name"), m)
	all, claims := []string{source}, p.claims(text(m, "name"), source)
	for _, d := range p.all {
		host := text(d.root, "spec", "hostPath", "path") + text(d.root, "spec", "local", "path")
		if host != "" && text(d.root, "kind") == "PersistentVolume" &&
			slices.ContainsFunc(claims, func(claim any) bool { return p.mayBind(claim, source, d) }) {
			all = append(all, host)
		}
	}
	return all
}

const hostname = "kubernetes.io/hostname"

// pinned reports whether a pod stays on its machine: by its name, and by no other label, which several may have.
func (p pod) pinned() bool { return p.kind == "DaemonSet" || p.pinnedByName() }

func (p pod) pinnedByName() bool {
	return text(p.spec, "nodeName") != "" || text(p.spec, "nodeSelector", hostname) != "" ||
		hostnames(dig(p.spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
			"nodeSelectorTerms"))
}

// hostnames reports whether the terms of a node's selector leave one machine.
func hostnames(terms any) bool {
	all := list(terms)
	if len(all) != 1 {
		return false
	}
	for _, e := range list(dig(all[0], "matchExpressions")) {
		if text(e, "key") == hostname && text(e, "operator") == "In" && len(list(dig(e, "values"))) == 1 {
			return true
		}
	}
	for _, e := range list(dig(all[0], "matchFields")) {
		if text(e, "key") == "metadata.name" && text(e, "operator") == "In" && len(list(dig(e, "values"))) == 1 {
			return true
		}
	}
	return false
}

// fromVolume reads a file of a volume that holds ConfigMaps. Of several sources, the last that may have it counts.
func (p pod) fromVolume(volume, file string) (content, name, lack string) {
	for _, v := range list(dig(p.spec, "volumes")) {
		if text(v, "name") != volume {
			continue
		}
		sources := []any{v}
		if dig(v, "projected") != nil {
			sources = list(dig(v, "projected", "sources"))
		}
		for _, source := range slices.Backward(sources) {
			config := dig(source, "configMap")
			of := cmp.Or(config, dig(source, "secret"))
			key, listed := file, of != nil && dig(of, "items") == nil
			for _, item := range list(dig(of, "items")) {
				if text(item, "path") == file {
					key, listed = text(item, "key"), true
				}
			}
			object := p.object("ConfigMap", text(config, "name"))
			switch content, has := dig(objectRoot(object), "data", key).(string); {
			case !listed:
			case config == nil:
				return "", "", "the volume " + volume + " may have it from a Secret"
			case object == nil:
				return "", "", fmt.Sprintf("the ConfigMap %s is not in what was given", text(config, "name"))
			case has:
				return content, fmt.Sprintf("%s, ConfigMap %s, %s", object.file, text(config, "name"), key), ""
			}
		}
		return "", "", fmt.Sprintf("the volume %s holds no ConfigMap with it", volume)
	}
	return "", "", ""
}

func objectRoot(d *document) any {
	if d == nil {
		return nil
	}
	return d.root
}
