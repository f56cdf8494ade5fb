package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

// templates are the paths of each kind's pod.
var templates = map[string][]any{
	"Pod": {}, "Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "DaemonSet": {"spec", "template"},
	"ReplicaSet": {"spec", "template"}, "ReplicationController": {"spec", "template"}, "Job": {"spec", "template"},
	"CronJob": {"spec", "jobTemplate", "spec", "template"},
}

// foreign reports whether an object is of another API group than Kubernetes' own: such a name has a dot. A kind may
// have the same name there, like Knative's Service.
func (d item) foreign() bool {
	group, _, _ := strings.Cut(d.text("apiVersion"), "/")
	return strings.Contains(group, ".")
}

// pod is a workload's pod and all objects given.
type pod struct {
	item           // the workload
	template, spec item
	all            []item
	kind           string
}

func (d item) namespace() string { return d.text("metadata", "namespace") }

// named finds an object by kind and name, in the pod's namespace, or the only one if either namespace is open.
func (p pod) named(kind, name string) (found item, only bool) {
	for _, d := range p.all {
		if d.text("kind") != kind || d.text("metadata", "name") != name || !d.sharesNamespace(p.item) {
			continue
		}
		if d.namespace() == p.namespace() {
			return d, true
		}
		found, only = d, found.value == nil
	}
	return found, only
}

// sharesNamespace reports whether two objects may be in one namespace.
func (d item) sharesNamespace(other item) bool {
	return d.namespace() == other.namespace() || d.namespace() == "" || other.namespace() == ""
}

// makers are the kinds of which Kubernetes itself makes others. Any other owner is only deleted with what it owns.
var makers = map[string][]string{
	"Pod":        {"StatefulSet", "ReplicaSet", "DaemonSet", "ReplicationController", "Job"},
	"ReplicaSet": {"Deployment"}, "Job": {"CronJob"}, "EndpointSlice": {"Service"},
	"ControllerRevision": {"StatefulSet", "DaemonSet"},
}

// owner is an object that owns this one, "" for none. made: it was given, and makes such objects.
func (d item) owner(all []item) (name string, made bool) {
	for _, owner := range d.list("metadata", "ownerReferences") {
		name = owner.text("kind") + " " + owner.text("name")
		if slices.Contains(makers[d.text("kind")], owner.text("kind")) && slices.ContainsFunc(all, func(other item) bool {
			return other.object() == name && other.sharesNamespace(d) && !other.foreign()
		}) {
			return name, true
		}
	}
	// Kubernetes writes the Endpoints of a Service with a selector (kubernetes.io, Services without selectors).
	return name, d.text("kind") == "Endpoints" && slices.ContainsFunc(all, func(other item) bool {
		return other.object() == "Service "+d.text("metadata", "name") && other.sharesNamespace(d) && !other.foreign() &&
			len(other.get("spec", "selector").keys()) > 0
	})
}

// object is an object's kind and name.
func (d item) object() string { return d.text("kind") + " " + d.text("metadata", "name") }

// differs reports whether two documents have different versions of one object.
func (d item) differs(other item) bool {
	return d.text("metadata", "name") != "" && d.object() == other.object() && d.sharesNamespace(other) &&
		!reflect.DeepEqual(d.value, other.value)
}

func podOf(d item, all []item) (p pod, known bool) {
	p = pod{item: d, all: all, kind: d.text("kind")}
	above, known := templates[p.kind]
	p.template = d.get(above...)
	p.spec = p.template.get("spec")
	return p, known && !d.foreign()
}

// whole reports whether each container has an image. Without one this is a patch of another object.
func (p pod) whole() bool {
	all := slices.Concat(p.spec.list("containers"), p.spec.list("initContainers"))
	return len(all) > 0 && !slices.ContainsFunc(all, func(c item) bool { return c.text("image") == "" })
}

func (whole *Deployment) readKubernetes(all []item) (found []*Server) {
	for _, d := range all {
		p, known := podOf(d, all)
		if _, made := d.owner(all); !known || made {
			continue
		}
		if !p.whole() {
			whole.unreadable(d.at("metadata"), fmt.Sprintf("a container of %s has no image, so that it is a patch: "+
				"give the rendered objects", d.object()))
		}
		var containers []container
		for _, c := range p.spec.list("containers") {
			containers = append(containers, p.container(c, false))
		}
		servers := whole.containers(containers)
		found, containers = append(found, servers...), nil
		for _, c := range p.spec.list("initContainers") {
			if len(servers) == 0 || c.has("restartPolicy") { // otherwise it ends before the server starts
				containers = append(containers, p.container(c, true))
			}
		}
		whole.containers(containers)
	}
	for _, s := range found {
		for i, d := range all {
			_, made := d.owner(all)
			s.object(d, made)
			if slices.ContainsFunc(all[:i], d.differs) {
				s.unknown(Settings, d.at("metadata"), "a second "+d.object()+", or a patch of it",
					"be the one that counts: give the rendered objects")
			}
		}
	}
	return found
}

// object judges another object; made: by one that was given, as a Service makes its EndpointSlices.
func (s *Server) object(d item, made bool) {
	kind := d.text("kind")
	_, workload := podOf(d, nil)
	if kind == "StorageClass" || kind == "PersistentVolume" {
		s.doubt(Data, d.at("kind"), "not understood: what a "+kind+" makes of the server's claim; it could lose what is "+
			"written to it: leave it out, and see that the claim is on a disk")
		return
	}
	for _, key := range d.get("data").keys() {
		s.script(d.get("data", key), key)
	}
	harmless := slices.Contains(allowed["kubernetes kinds"], kind) && !(kind == "Service" && d.foreign())
	if kind != "" && !workload && !harmless && !made {
		s.unknown(Alone, d.at("kind"), strings.TrimSpace("the kind "+kind+" "+d.text("apiVersion")), "lead "+
			"clients to another server, or change, start or stop this one")
	}
}

// container reads a container of a pod, which need not be a server.
func (p pod) container(spec item, initial bool) container {
	c := container{place: spec.at(), name: spec.text("name"), label: "the container " + spec.text("name"),
		image: spec.text("image"), folder: spec.text("workingDir"), hasEntry: len(spec.list("command")) > 0, at: spec.at(),
		envAt: spec.at("env"), written: spec.get("env").value, env: map[string]string{}, fromFiles: map[string]string{},
		once:    initial || p.kind == "Job" || p.kind == "CronJob",
		storage: func(s *Server) { p.storage(s, spec) }}
	if initial {
		c.label = "the init container " + c.name
	}
	c.reach = func(s *Server) { p.reach(s, c.label, spec) }
	p.commands(&c, spec)
	for _, key := range []string{"livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop"} {
		probe, k := spec.get(key), check{what: "the " + key, link: Settings}
		if strings.HasPrefix(key, "p") {
			probe = spec.get("lifecycle", key)
		}
		if key == "preStop" {
			k.link, k.crashes = Data, []settings.Crash{settings.Shutdown}
		}
		k.at, k.words = probe.at(), joinWords(probe.get("exec", "command").value)
		if len(k.words) > 0 {
			c.checks = append(c.checks, k)
		}
	}
	c.server = func() *Server { return p.server(c, spec) }
	return c
}

// reach judges whether a container has access beyond its own files, its mounts and its network.
func (p pod) reach(s *Server, label string, c item) {
	security := c.get("securityContext")
	s.judgeReach(p.spec, "the pod of "+label, append([]string{"shareProcessNamespace"}, allowed["kubernetes pod"]...))
	s.judgeReach(c, label, append([]string{"restartPolicy"}, allowed["kubernetes container"]...))
	s.judgeReach(security, label, allowed["kubernetes securityContext"])
	if added := security.get("capabilities"); len(added.list("add")) > 0 {
		s.unknown(Alone, added.at("add"), "the capabilities that "+label+" adds", "let it into the server's container")
	}
}

func (p pod) server(in container, c item) *Server {
	s := &Server{Name: in.name, Kind: Kubernetes, Place: in.place, Workload: p.object()}
	if p.kind != "Pod" {
		s.allowed(p.get("spec"), "kubernetes", "workload")
	}
	s.allowed(p.spec, "kubernetes", "pod")
	s.allowed(c, "kubernetes", "container")
	s.labels, s.workload = asMap(p.template.get("metadata", "labels").value), p.item
	s.judgeLabels(p.template.get("metadata", "annotations"))
	in.storage(s)
	line := s.contained(in)
	p.initial(s)
	p.endings(s, c, line.sleep)
	p.updates(s)
	s.establish(Alone, s.Place, "each key of the pod and its containers is known, and nothing else here sees its data")
	s.returns(0, line.sleep, "kubelet restarts it at once the first time", "a pod that is replaced starts at once",
		"kubelet starts it at boot, with no delay of its own")
	return s
}

// commands reads a container's variables, and expands them in its command.
func (p pod) commands(in *container, c item) {
	for _, v := range c.list("env") {
		name := v.text("name")
		if in.env[name] = v.text("value"); v.has("valueFrom") {
			in.env[name] = "$" + name
		}
	}
	for _, from := range c.list("envFrom") {
		config, found := p.named("ConfigMap", from.text("configMapRef", "name"))
		secret, hidden := p.named("Secret", from.text("secretRef", "name"))
		if at := from.at(); !found && !hidden || from.text("prefix") != "" {
			in.unreadEnv = &at
		}
		for key, value := range asMap(config.get("data").value) {
			in.fromFiles[key] = fmt.Sprint(value)
		}
		for _, key := range slices.Concat(secret.get("data").keys(), secret.get("stringData").keys()) {
			in.fromFiles[key] = "$" + key
		}
	}
	env := maps.Clone(in.fromFiles)
	maps.Copy(env, in.env)
	read := func(key string) []string {
		all := joinWords(c.get(key).value)
		for name := range env {
			if strings.Contains(strings.Join(all, " "), "$("+name+")") {
				in.used = append(in.used, name)
			}
		}
		if c.has(key) {
			in.at = c.at(key)
		}
		return expandKubernetes(all, env)
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
			return found // a shell runs it as a command
		})
	}
	return all
}

func (p pod) initial(s *Server) {
	for _, spec := range p.spec.list("initContainers") {
		c, t := p.container(spec, true), &Server{}
		e := effectOf(c.words())
		if spec.has("restartPolicy") || e.known && e.most == 0 && (runsWords(c.image) || c.hasEntry) {
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
		if !seen && clientImage.MatchString(c.image) || commander.MatchString(fmt.Sprint(c.words(), c.written)) {
			s.unknown(Alone, c.place, c.label, "run CONFIG SET, FLUSHALL or SHUTDOWN on a server, this pod's or another's")
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
	spec := p.get("spec")
	if owner, _ := p.owner(p.all); owner != "" {
		s.unknown(Single, p.at("metadata", "ownerReferences"),
			"the "+owner+", which owns this "+p.kind, "start another one beside it, elsewhere or with other settings: "+
				"give what made it too")
	}
	replicas := fmt.Sprint(cmp.Or(spec.get("replicas").value, any(1)))
	s.setCount(replicas)
	switch p.kind {
	case "Pod", "StatefulSet":
		s.establish(Single, s.Place, "a %s runs one pod of a name at a time", p.kind)
		s.assume(Single, s.Place, "nobody deletes a pod by force, which lets a second one start beside it")
		if kind := spec.text("updateStrategy", "type"); !slices.Contains([]string{"", "RollingUpdate", "OnDelete"}, kind) {
			s.unknown(Single, spec.at("updateStrategy"), "the updateStrategy "+kind, "start a second server",
				settings.Shutdown)
		}
	case "Deployment": // (kubernetes.io, Deployments, Recreate Deployment)
		s.doubt(Single, p.at("kind"), "a Deployment may start the new pod beside the old one, at an update or when one is "+
			"deleted or evicted: it loads the data while the old one still grants locks: use a StatefulSet", settings.Shutdown)
	default:
		s.unknown(Single, p.at("kind"), "a server in a "+p.kind, "run beside another one: use a StatefulSet")
	}
	if s.Several() && p.kind != "StatefulSet" {
		s.doubt(Single, spec.at("replicas"),
			replicas+" pods serve one address, or write to the same claim: give each one of its own, as by volumeClaimTemplates")
	}
}

// endings judges what ends a container early: a probe during a sleep, or the pod's grace.
func (p pod) endings(s *Server, c item, sleep time.Duration) {
	if limit := probeLimit(c); limit > 0 && sleep >= limit {
		s.doubt(Restart, c.at("livenessProbe"),
			fmt.Sprintf("the command sleeps for %s, and the liveness probe ends the container after %s: "+
				"give it a startupProbe that waits longer", sleep, limit))
	}
	const grace = "terminationGracePeriodSeconds"
	if number(p.spec.get(grace).value, 30) == 0 { // (kubernetes.io, Force Delete StatefulSet Pods)
		s.doubt(Single, p.spec.at(grace),
			"terminationGracePeriodSeconds 0 deletes a pod before its server has ended, so that a second one may start "+
				"beside it: leave it out", settings.Shutdown)
	}
}

// probeLimit is the time after its start at which a silent container is killed by its liveness probe, or by its
// startup probe, which delays the other (Kubernetes, Configure Probes); 0 for none.
func probeLimit(c item) time.Duration {
	for _, probe := range []item{c.get("startupProbe"), c.get("livenessProbe")} {
		if probe.value != nil {
			return time.Duration(number(probe.get("initialDelaySeconds").value, 0)+
				number(probe.get("periodSeconds").value, 10)*number(probe.get("failureThreshold").value, 3)) * time.Second
		}
	}
	return 0
}
