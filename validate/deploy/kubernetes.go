package deploy

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

// podPaths are the paths of each kind's pod.
var podPaths = map[string][]any{
	"Pod": {"spec"}, "Deployment": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"},
	"DaemonSet": {"spec", "template", "spec"}, "ReplicaSet": {"spec", "template", "spec"},
	"Job":     {"spec", "template", "spec"},
	"CronJob": {"spec", "jobTemplate", "spec", "template", "spec"}, "ReplicationController": {"spec", "template", "spec"},
}

// foreign reports whether an object is of another API group than Kubernetes' own: such a name has a dot. A kind may
// have the same name there, like Knative's Service.
func (d document) foreign() bool {
	group, _, _ := strings.Cut(text(d.root, "apiVersion"), "/")
	return strings.Contains(group, ".")
}

// pod is a workload's pod and all objects given.
type pod struct {
	document
	all  []document
	kind string
	path []any
	spec any
}

func (d document) namespace() string { return text(d.root, "metadata", "namespace") }

func (p pod) place(steps ...any) settings.Place {
	return p.at(append(slices.Clone(p.path), steps...)...)
}

// configMap finds a ConfigMap by name, in the pod's namespace, or the only one if either namespace is open.
func (p pod) configMap(name string) (found document, only bool) {
	for _, d := range p.all {
		if text(d.root, "kind") != "ConfigMap" || text(d.root, "metadata", "name") != name || !d.sharesNamespace(p.document) {
			continue
		}
		if d.namespace() == p.namespace() {
			return d, true
		}
		found, only = d, found.root == nil
	}
	return found, only
}

// sharesNamespace reports whether two objects may be in one namespace.
func (d document) sharesNamespace(other document) bool {
	return d.namespace() == other.namespace() || d.namespace() == "" || other.namespace() == ""
}

// owner is the object that made this one, as a StatefulSet makes its pods, "" for none. given: it is among the objects.
func (d document) owner(all []document) (name string, given bool) {
	for _, owner := range list(dig(d.root, "metadata", "ownerReferences")) {
		name = text(owner, "kind") + " " + text(owner, "name")
		for _, other := range all {
			if other.root["kind"] == dig(owner, "kind") && dig(other.root, "metadata", "name") == dig(owner, "name") &&
				other.namespace() == d.namespace() {
				return name, true
			}
		}
	}
	return name, false
}

// differs reports whether two documents have different versions of one object.
func (d document) differs(other document) bool {
	name := text(d.root, "metadata", "name")
	return name != "" && d.root["kind"] == other.root["kind"] && name == text(other.root, "metadata", "name") &&
		d.sharesNamespace(other) && !reflect.DeepEqual(d.root, other.root)
}

func podOf(d document, all []document) (p pod, known bool) {
	p = pod{document: d, all: all, kind: text(d.root, "kind")}
	if p.path, known = podPaths[p.kind]; !known || d.foreign() {
		return p, false
	}
	p.spec = any(d.root)
	for _, step := range p.path {
		p.spec = dig(p.spec, step.(string))
	}
	return p, true
}

// whole reports whether each container has an image. Without one this is a patch of another object.
func (p pod) whole() bool {
	all := slices.Concat(list(dig(p.spec, "containers")), list(dig(p.spec, "initContainers")))
	return len(all) > 0 && !slices.ContainsFunc(all, func(c any) bool { return text(c, "image") == "" })
}

func (whole *Deployment) readKubernetes(all []document) (found []*Server) {
	for _, d := range all {
		p, known := podOf(d, all)
		if _, given := d.owner(all); !known || given {
			continue
		}
		if !p.whole() {
			whole.unreadable(d.at("metadata"), fmt.Sprintf("a container of %s %s has no image, so that it is a patch: "+
				"give the rendered objects", p.kind, text(d.root, "metadata", "name")))
		}
		var containers []container
		for i := range list(dig(p.spec, "containers")) {
			containers = append(containers, p.container("containers", i))
		}
		servers := whole.containers(containers)
		found, containers = append(found, servers...), nil
		for i, c := range list(dig(p.spec, "initContainers")) {
			if len(servers) == 0 || dig(c, "restartPolicy") != nil { // otherwise it ends before the server starts
				containers = append(containers, p.container("initContainers", i))
			}
		}
		whole.containers(containers)
	}
	for _, s := range found {
		for i, d := range all {
			_, made := d.owner(all)
			s.object(d, made)
			if slices.ContainsFunc(all[:i], d.differs) {
				s.unknown(Settings, d.at("metadata"), fmt.Sprintf("a second %s %s, or a patch of it", text(d.root, "kind"),
					text(d.root, "metadata", "name")), "be the one that counts: give the rendered objects")
			}
		}
	}
	return found
}

// object judges another object; made: by one that was given, as a Service makes its EndpointSlices.
func (s *Server) object(d document, made bool) {
	kind := text(d.root, "kind")
	_, workload := podOf(d, nil)
	if kind == "StorageClass" || kind == "PersistentVolume" {
		s.doubt(Data, d.at("kind"), "not understood: what a "+kind+" makes of the server's claim; it could lose what is "+
			"written to it: leave it out, and see that the claim is on a disk")
		return
	}
	for _, key := range keys(d.root["data"]) {
		s.script(d.at("data", key), key, dig(d.root, "data", key))
	}
	harmless := slices.Contains(allowed["kubernetes kinds"], kind) && !(kind == "Service" && d.foreign())
	if kind != "" && !workload && !harmless && !made {
		s.unknown(Alone, d.at("kind"), strings.TrimSpace("the kind "+kind+" "+text(d.root, "apiVersion")), "lead "+
			"clients to another server, or change, start or stop this one")
	}
}

// container reads a container of a pod, which need not be a server.
func (p pod) container(field string, i int) container {
	spec := list(dig(p.spec, field))[i]
	at := func(keys ...any) settings.Place { return p.place(append([]any{field, i}, keys...)...) }
	c := container{place: at(), name: text(spec, "name"), label: "the container " + text(spec, "name"),
		image: text(spec, "image"), folder: text(spec, "workingDir"), hasEntry: dig(spec, "command") != nil, at: at(),
		envAt: at("env"), written: dig(spec, "env"), env: map[string]string{}, fromFiles: map[string]string{},
		once:    field == "initContainers" || p.kind == "Job" || p.kind == "CronJob",
		storage: func(s *Server) { p.storage(s, at, spec) }}
	if field == "initContainers" {
		c.label = "the init container " + c.name
	}
	c.reach = func(s *Server) { p.reach(s, c.place, c.label, spec) }
	p.commands(&c, at, spec)
	for _, key := range []string{"livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop"} {
		k := check{at: at(key), what: "the " + key, link: Settings, words: joinWords(dig(spec, key, "exec", "command"))}
		if strings.HasPrefix(key, "p") {
			k.at, k.words = at("lifecycle", key), joinWords(dig(spec, "lifecycle", key, "exec", "command"))
		}
		if key == "preStop" {
			k.link, k.crashes = Data, []settings.Crash{settings.Shutdown}
		}
		if len(k.words) > 0 {
			c.checks = append(c.checks, k)
		}
	}
	c.server = func() *Server { return p.server(c, at, spec) }
	return c
}

// reach judges whether a container has access beyond its own files, its mounts and its network.
func (p pod) reach(s *Server, at settings.Place, label string, c any) {
	inContainer := func(any) settings.Place { return at }
	s.judgeReach(func(key any) settings.Place { return p.place(key) }, "the pod of "+label, p.spec,
		append([]string{"shareProcessNamespace"}, allowed["kubernetes pod"]...))
	s.judgeReach(inContainer, label, c, append([]string{"restartPolicy"}, allowed["kubernetes container"]...))
	s.judgeReach(inContainer, label, dig(c, "securityContext"), allowed["kubernetes securityContext"])
	if add := list(dig(c, "securityContext", "capabilities", "add")); len(add) > 0 {
		s.unknown(Alone, at, "the capabilities that "+label+" adds", "let it into the server's container")
	}
}

func (p pod) server(in container, at func(...any) settings.Place, c any) *Server {
	s := &Server{Name: in.name, Kind: Kubernetes, Place: in.place,
		Workload: p.kind + " " + text(p.root, "metadata", "name")}
	if p.kind != "Pod" {
		s.allowed(p.at, p.root["spec"], allowed["kubernetes workload"], "spec")
		const retention = "persistentVolumeClaimRetentionPolicy"
		s.allowed(p.at, dig(p.root, "spec", retention), allowed[retention], "spec", retention)
	}
	s.allowed(p.place, p.spec, allowed["kubernetes pod"])
	s.allowed(at, c, allowed["kubernetes container"])
	security := slices.Concat(allowed["kubernetes securityContext"], allowed["kubernetes pod securityContext"])
	s.allowed(p.place, dig(p.spec, "securityContext"), security, "securityContext")
	s.allowed(at, dig(c, "securityContext"), security, "securityContext")
	above := p.root
	for _, step := range p.path[:len(p.path)-1] {
		above = asMap(above[step.(string)])
	}
	s.labels, s.workload = asMap(dig(above, "metadata", "labels")), p.document
	s.judgeLabels(p.place(), dig(above, "metadata", "annotations"))
	in.storage(s)
	line := s.contained(in)
	p.initial(s)
	p.hooks(s, at, c, line.sleep)
	p.updates(s)
	s.establish(Alone, s.Place, "each key of the pod and its containers is known, and nothing else here sees its data")
	s.returns(0, line.sleep, "kubelet restarts it at once the first time", "a pod that is replaced starts at once",
		"kubelet starts it at boot, with no delay of its own")
	return s
}

// commands reads a container's variables, and expands them in its command.
func (p pod) commands(in *container, at func(...any) settings.Place, c any) {
	for _, v := range list(dig(c, "env")) {
		name := text(v, "name")
		if in.env[name] = text(v, "value"); dig(v, "valueFrom") != nil {
			in.env[name] = "$" + name
		}
	}
	for n, from := range list(dig(c, "envFrom")) {
		config, found := p.configMap(text(from, "configMapRef", "name"))
		if at := at("envFrom", n); !found || text(from, "prefix") != "" {
			in.unreadEnv = &at
		}
		for key, value := range asMap(config.root["data"]) {
			in.fromFiles[key] = fmt.Sprint(value)
		}
	}
	read := func(key string) []string {
		all := joinWords(dig(c, key))
		for name := range in.env {
			if strings.Contains(strings.Join(all, " "), "$("+name+")") {
				in.used = append(in.used, name)
			}
		}
		if dig(c, key) != nil {
			in.at = at(key)
		}
		return expandKubernetes(all, in.env)
	}
	in.entry, in.command = read("command"), read("args")
}

// kubernetesVariable is a variable in a container's command (Kubernetes, Define a Command).
var kubernetesVariable = regexp.MustCompile(`\$\$|\$\(([A-Za-z_][\w.-]*)\)`)

func expandKubernetes(all []string, env map[string]string) []string {
	all = slices.Clone(all)
	for i, word := range all {
		all[i] = kubernetesVariable.ReplaceAllStringFunc(word, func(found string) string {
			if found == "$$" {
				return "$"
			}
			name := kubernetesVariable.FindStringSubmatch(found)[1]
			if value, set := env[name]; set {
				return value
			}
			return "$" + name
		})
	}
	return all
}

func (p pod) initial(s *Server) {
	for i, spec := range list(dig(p.spec, "initContainers")) {
		c, t := p.container("initContainers", i), &Server{}
		e := effectOf(c.words())
		if dig(spec, "restartPolicy") != nil || e.known && e.most == 0 && (runsWords(c.image) || c.hasEntry) {
			continue
		}
		c.reach(s)
		seen := false
		c.storage(t)
		for _, m := range t.mounts {
			s.judgeSockets(c.place, c.label, m.source)
			seen = seen || !m.readOnly &&
				slices.ContainsFunc(s.mounts, func(other mount) bool { return overlap(other.source, m.source) })
		}
		if seen || len(c.words()) == 0 {
			s.unknown(Data, c.place, c.label, "remove or replace what lies on the volumes that it sees", settings.Shutdown,
				settings.PowerLoss)
		}
		if seen && s.config != nil && s.config.name == "" {
			s.unknown(Settings, c.place, c.label, "write the settings")
		}
		if !seen && clientImage.MatchString(c.image) {
			s.unknown(Alone, c.place, c.label, "run CONFIG SET, FLUSHALL or SHUTDOWN on a server")
		}
	}
}

var clientImage = regexp.MustCompile("redis|valkey")

// number parses a whole number, with a default.
func number(value any, otherwise int) int {
	n, err := strconv.Atoi(fmt.Sprint(value))
	if err != nil || n < 0 || n > 1e6 {
		return otherwise
	}
	return n
}

func (p pod) updates(s *Server) {
	spec := p.root["spec"]
	if owner, _ := p.owner(p.all); owner != "" {
		s.unknown(Single, p.at("metadata", "ownerReferences"), "what made this "+p.kind+", the "+owner+", which was not given",
			"start another one beside it, elsewhere or with other settings: give it too")
	}
	replicas := fmt.Sprint(cmp.Or(dig(spec, "replicas"), any(1)))
	s.setCount(replicas)
	switch p.kind {
	case "Pod":
	case "StatefulSet":
		if kind := text(spec, "updateStrategy", "type"); !slices.Contains([]string{"", "RollingUpdate", "OnDelete"}, kind) {
			s.unknown(Single, p.at("spec", "updateStrategy"), "the updateStrategy "+kind, "start a second server",
				settings.Shutdown)
		}
	case "Deployment": // (kubernetes.io, Deployments, Recreate Deployment)
		s.doubt(Single, p.at("kind"), "a Deployment may start the new pod beside the old one, at an update or when one is "+
			"deleted or evicted: it loads the data while the old one still grants locks: use a StatefulSet", settings.Shutdown)
	default:
		s.unknown(Single, p.at("kind"), "a server in a "+p.kind, "run beside another one: use a StatefulSet")
	}
	if s.Several() && p.kind != "StatefulSet" {
		s.doubt(Single, p.at("spec", "replicas"),
			replicas+" pods serve one address, or write to the same claim: give each one of its own, as by volumeClaimTemplates")
	}
	s.establish(Single, s.Place, "a %s runs one pod of a name at a time", p.kind)
	s.assume(Single, s.Place, "nobody deletes a pod by force, which lets a second one start beside it")
}

// hooks judges whether a probe ends a sleep, and hooks that run no command.
func (p pod) hooks(s *Server, at func(...any) settings.Place, c any, sleep time.Duration) {
	if limit := probeLimit(c); limit > 0 && sleep >= limit {
		s.doubt(Restart, at("livenessProbe"),
			fmt.Sprintf("the command sleeps for %s, and the liveness probe ends the container after %s: "+
				"give it a startupProbe that waits longer", sleep, limit))
	}
	for _, key := range []string{"postStart", "preStop"} {
		if hook := dig(c, "lifecycle", key); hook != nil && dig(hook, "sleep") == nil && dig(hook, "exec") == nil {
			s.unknown(Settings, at("lifecycle", key), key, "change settings or data by a request")
		}
	}
	if number(dig(p.spec, "terminationGracePeriodSeconds"), 30) == 0 { // (kubernetes.io, Force Delete StatefulSet Pods)
		s.doubt(Single, p.place("terminationGracePeriodSeconds"),
			"terminationGracePeriodSeconds 0 deletes a pod before its server has ended, so that a second one may start "+
				"beside it: leave it out", settings.Shutdown)
	}
}

// probeLimit is the time after its start at which a silent container is killed by its liveness probe, or by its
// startup probe, which delays the other (Kubernetes, Configure Probes); 0 for none.
func probeLimit(c any) time.Duration {
	probe := dig(c, "livenessProbe")
	if startup := dig(c, "startupProbe"); startup != nil {
		probe = startup
	}
	if probe == nil {
		return 0
	}
	return time.Duration(number(dig(probe, "initialDelaySeconds"), 0)+
		number(dig(probe, "periodSeconds"), 10)*number(dig(probe, "failureThreshold"), 3)) * time.Second
}
