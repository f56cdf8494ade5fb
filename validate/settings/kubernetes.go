package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// podPaths say where each kind keeps its pod.
var podPaths = map[string][]string{
	"Pod": {"spec"}, "Deployment": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"},
	"DaemonSet": {"spec", "template", "spec"}, "ReplicaSet": {"spec", "template", "spec"},
}

// parseKubernetes reads the first workload that runs Redis.
func parseKubernetes(file string, documents []document, asked string) (Policy, error) {
	var names []string
	var found *Policy
	var others []node
	for _, d := range documents {
		kind, _ := d.root["kind"].(string)
		path, known := podPaths[kind]
		if !known || d.owned(documents) {
			continue
		}
		for i, container := range list(dig(dig(d.root, path...), "containers")) {
			name, _ := dig(container, "name").(string)
			image, _ := dig(container, "image").(string)
			names = append(names, name)
			runs := isServer(name, image)
			meant := asked == "" && runs && serves(dig(container, "command"), dig(container, "args")) || asked != "" && name == asked
			if !runs && !meant {
				continue
			}
			p, err := d.container(documents, kind, path, name, i, container)
			if meant && found == nil {
				if err != nil {
					return p, err
				}
				found = &p
				continue
			}
			other := fmt.Sprintf("the container %s of %s %v", name, kind, dig(d.root, "metadata", "name"))
			if meant && (err != nil || p.shape() != found.shape()) {
				found.Remarks = append(found.Remarks, found.unlike(d.at(path...), other))
			}
			if err == nil {
				others = append(others, node{other, d.at(path...), p})
			}
		}
	}
	if found != nil {
		found.others = others
		return *found, nil
	}
	slices.Sort(names)
	what := "no Pod, Deployment, StatefulSet, DaemonSet or ReplicaSet here runs a Redis"
	if asked != "" {
		what = fmt.Sprintf("there is no container %q", asked)
	}
	right := wantedPolicy
	if len(names) > 0 {
		right = "name one with --service: there are " + strings.Join(names, ", ")
	}
	return Policy{}, &Problem{Place: Place{File: file}, What: what, Right: right}
}

// owned reports whether an object was made by another of the same file, as a StatefulSet
// makes its pods: it comes back as that one says.
func (d document) owned(documents []document) bool {
	for _, owner := range list(dig(d.root, "metadata", "ownerReferences")) {
		for _, other := range documents {
			if other.root["kind"] == dig(owner, "kind") && dig(other.root, "metadata", "name") == dig(owner, "name") &&
				other.namespace() == d.namespace() {
				return true
			}
		}
	}
	return false
}

// namespace is where an object lives, "" where its file leaves that to whoever applies it.
func (d document) namespace() string {
	name, _ := dig(d.root, "metadata", "namespace").(string)
	return name
}

// container reads how a container comes back. Kubernetes promises no delay: the
// first restart comes at once, and only later ones are held back
// (CrashLoopBackOff: 10 s, 20 s, ... 5 min, forgotten after 10 min).
func (d document) container(documents []document, kind string, path []string, name string, i int, container any) (Policy, error) {
	p := Policy{Kind: Kubernetes, File: d.file, Service: name}
	pod := dig(d.root, path...)
	at := d.at(append(slices.Clone(path), "restartPolicy")...)
	policy, _ := dig(pod, "restartPolicy").(string)
	switch policy {
	case "", "Always", "OnFailure":
	case "Never":
		p.Remarks = append(p.Remarks, Remark{Place: at,
			What: "restartPolicy Never: the pod stays down until it is replaced, at a time that cannot be read here"})
	default:
		return Policy{}, &Problem{Place: at, What: fmt.Sprintf("restartPolicy: %s: there is no such policy", policy),
			Right: "there are Always, OnFailure, Never"}
	}
	p.Remarks = append(p.Remarks, Remark{Place: Place{File: d.file},
		What: "CrashLoopBackOff cannot be judged exactly: it holds back the second restart and those after it; " +
			"the first comes at once, and is what is judged"})
	p.store = d.podStorage(kind, pod, container)
	c, err := command(d.at(append(slices.Clone(path), "containers")...), expanded(dig(container, "command"), container),
		expanded(dig(container, "args"), container))
	if err != nil {
		return Policy{}, err
	}
	p.sentinels = sentinelsOf(documents)
	p.ByImage = dig(container, "command") == nil
	p.start = startOf(d.path().Below(anys(path)...).Below("containers", i), container, "command", "args")
	p.byEnvironment(d.at(append(slices.Clone(path), "containers")...), dig(container, "env"))
	p.byImage(d.at(append(slices.Clone(path), "containers")...))
	if p.ProbeLimit = probeLimit(container); p.ProbeLimit > 0 && c.sleep >= p.ProbeLimit {
		p.Remarks = append(p.Remarks, Remark{Place: Place{File: d.file}, Doubts: Crashes,
			What: fmt.Sprintf("the command sleeps for %s, and the liveness probe ends the container after %s: give it a startupProbe "+
				"that waits longer", c.sleep, p.ProbeLimit)})
	}
	if c.config != nil {
		c.config.ofPod(d, documents, pod, container)
	}
	p.returns(0, map[Crash]string{Kill: "kubelet restarts it at once the first time", Shutdown: "a pod that is replaced starts at once",
		PowerLoss: "kubelet starts it at boot, with no delay of its own"}, c)
	p.lifecycle(d, pod, container)
	return p, nil
}

// sentinelsOf are the files that the Sentinels of all workloads are started with.
func sentinelsOf(documents []document) (files []*ConfigFile) {
	for _, d := range documents {
		kind, _ := d.root["kind"].(string)
		pod := dig(d.root, podPaths[kind]...)
		for _, container := range list(dig(pod, "containers")) {
			if c := sentinelFile(Place{File: d.file}, dig(container, "command"), dig(container, "args")); c != nil {
				c.ofPod(d, documents, pod, container)
				files = append(files, c)
			}
		}
	}
	return files
}

// environment is a variable of a container in its command (Kubernetes, Define a Command).
var environment = regexp.MustCompile(`\$\(([A-Za-z_][\w.-]*)\)`)

// expanded is a command with the variables whose values stand in the container.
func expanded(command, container any) any {
	words := slices.Clone(list(command))
	for i, word := range words {
		words[i] = environment.ReplaceAllStringFunc(fmt.Sprint(word), func(found string) string {
			for _, v := range list(dig(container, "env")) {
				if value, ok := dig(v, "value").(string); ok && dig(v, "name") == environment.FindStringSubmatch(found)[1] {
					return value
				}
			}
			return found
		})
	}
	if words == nil {
		return command
	}
	return words
}

// probeLimit is how long a container may say nothing after its start until its liveness
// probe has it killed (Kubernetes, Configure Probes: 3 failures, every 10 s, from the start
// on); 0 where there is none, or a startup probe holds it back.
func probeLimit(container any) time.Duration {
	probe, startup := dig(container, "livenessProbe"), dig(container, "startupProbe")
	if probe == nil {
		return 0
	}
	if startup != nil {
		probe = startup
	}
	seconds := func(key string, otherwise int) time.Duration {
		n, err := strconv.Atoi(fmt.Sprint(dig(probe, key)))
		if err != nil || n < 0 || n > 1e6 {
			n = otherwise
		}
		return time.Duration(n) * time.Second
	}
	return seconds("initialDelaySeconds", 0) + seconds("periodSeconds", 10)*(seconds("failureThreshold", 3)/time.Second)
}
