package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

// engineBackoff is the Docker engine's delay before the first restart of a container.
const engineBackoff = 100 * time.Millisecond

// service is a service of a compose file.
type service struct {
	item
	name    string
	project item // its file
}

func (all *Deployment) readCompose(d item, files []item) (found []*Server) {
	var containers []container
	var partial []string
	for _, name := range d.get("services").keys() {
		service := service{d.get("services", name), name, d}
		if !service.has("image") && !service.has("build") && !service.has("extends") {
			partial = append(partial, name)
			continue
		}
		containers = append(containers, service.container())
	}
	if len(partial) > 0 {
		all.unreadable(d.at("services", partial[0]), "what has no image is a part of a service in another file ("+
			strings.Join(partial, ", ")+"): give the output of docker compose config")
	}
	found = all.containers(containers)
	for _, s := range found {
		for _, name := range d.get("configs").keys() {
			s.script(d.get("configs", name, "content"), name)
		}
		if at, several := d.merged(files); several {
			s.unknown(Settings, at, "what docker compose merges with "+d.file, "change anything: give the output of docker "+
				"compose config")
		}
		for _, key := range d.oddKeys(allowed["compose"]) {
			s.unknown(Settings, d.at(key), "the section "+key, "bring in other services or settings")
		}
	}
	return found
}

// companions are words in the names of images that accompany a Redis server.
var companions = regexp.MustCompile(`(?i)export|metrics|commander|insight|proxy|backup|operator|admin|\bui\b`)

// mayServe reports whether a container may run a Redis server, by the last part of its image and by its command.
func (c container) mayServe() bool {
	base := path.Base(strings.Split(strings.Split(c.image, "@")[0], ":")[0])
	if c.image == "" || strings.Contains(c.image, "$") {
		base = c.name + base
	}
	all := c.words()
	server := startsServer(all)
	// a command that is known to run something else
	client := effectOf(all).known || len(all) > 0 &&
		slices.Contains([]string{"redis-cli", "valkey-cli", "redis-benchmark"}, path.Base(all[0]))
	if isSentinel(c.image, all) || !server && client {
		return false
	}
	return server ||
		(strings.Contains(base, "redis") || strings.Contains(base, "valkey") || strings.Contains(base, "keydb") ||
			strings.Contains(base, "dragonfly")) && !companions.MatchString(base)
}

// isSentinel recognises a Sentinel by its command, by a script that ends in one, or by the name of its image.
func isSentinel(image string, command []string) bool {
	if text, ok := script(command); ok && !sentinelImage.MatchString(image) {
		last := false // the shell ends in a Sentinel
		for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
			words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(part), "exec "))
			if len(words) == 0 {
				continue
			}
			sentinel := isSentinel("", words)
			if last = sentinel && sentinelPrograms.MatchString(words[0]); !sentinel && startsServer(words) {
				return false
			}
		}
		return last
	}
	return sentinelImage.MatchString(image) || slices.ContainsFunc(command, func(w string) bool {
		return w == "--sentinel" || path.Base(w) == "redis-sentinel" || path.Base(w) == "valkey-sentinel"
	})
}

func startsServer(words []string) bool {
	return strings.Contains(fmt.Sprint(words), "redis-server") || strings.Contains(fmt.Sprint(words), "valkey-server")
}

var (
	sentinelImage    = regexp.MustCompile(`(?:^|/)(?:redis|valkey)-sentinel(?:[:@]|$)`)
	sentinelPrograms = regexp.MustCompile(`^(?:/\S*/)?(?:redis|valkey)-(?:sentinel|server)$`)
)

// container reads a service, which need not be a server.
func (v service) container() container {
	image := v.text("image")
	c := container{place: v.at(), name: v.name, label: "the service " + v.name, image: image,
		folder: v.text("working_dir"), hasEntry: v.has("entrypoint"),
		entry:   joinWords(interpolated(v.get("entrypoint").value)),
		command: joinWords(interpolated(v.get("command").value)), at: v.at("command"), envAt: v.at("environment"),
		written: v.get("environment").value,
		plain:   runsWords(image) && !v.has("build") && !v.has("environment") && !v.has("env_file"),
		storage: v.storage, names: v.names(),
		reach: func(s *Server) { s.judgeReach(v.item, "the service "+v.name, allowed["compose service"]) }}
	if !v.has("command") {
		c.at = v.at()
	}
	test := interpolated(v.get("healthcheck", "test").value)
	if line, isText := test.(string); isText {
		test = []any{"CMD-SHELL", line}
	}
	c.checks = healthCheck(v.at("healthcheck"), test)
	c.server = func() *Server { return v.server(c) }
	return c
}

// names are those by which other services reach a service: its own, its aliases, and those of their links.
func (v service) names() []string {
	all := []string{v.name, cmp.Or(v.text("container_name"), v.name), cmp.Or(v.text("hostname"), v.name)}
	for _, network := range v.get("networks").keys() {
		for _, alias := range v.list("networks", network, "aliases") {
			all = append(all, fmt.Sprint(alias.value))
		}
	}
	for _, other := range v.project.get("services").keys() {
		for _, link := range v.project.list("services", other, "links") {
			if to, alias, named := strings.Cut(fmt.Sprint(link.value), ":"); named && to == v.name {
				all = append(all, alias)
			}
		}
	}
	return all
}

func (v service) server(c container) *Server {
	s := &Server{Name: v.name, Kind: Compose, Place: v.at()}
	s.allowed(v.item, "compose", "service")
	s.judgeLabels(v.get("labels"))
	s.judgeLabels(v.get("deploy", "labels"))
	s.addDefaults(c.image)
	v.storage(s)
	image, plain := interpolate(c.image)
	if c.image = image; !plain && !strings.Contains(path.Base(image), ":$") {
		s.unknown(Program, v.at("image"), "a variable in its image", "be any program")
	}
	v.variables(&c)
	line := s.contained(c)
	networks := v.project.get("networks")
	for _, network := range networks.keys() {
		if networks.text(network, "driver") == "overlay" {
			s.unknown(Settings, networks.at(network), "a swarm's network", "be that of a server on any machine")
		}
	}
	if v.has("build") {
		s.unknown(Program, v.at("build"), "build, of which the rest is elsewhere", "bring another program")
	}
	v.restart(s, line.sleep)
	s.aliases = c.names
	return s
}

func (v service) variables(c *container) {
	c.env = map[string]string{}
	for key, value := range asMap(keyed(v.get("environment").value)) {
		if c.env[key] = "$" + key; value != nil { // otherwise the caller's environment sets it
			c.env[key], _ = interpolate(fmt.Sprint(value))
		}
	}
	c.fromFiles = map[string]string{}
	files := v.get("env_file").value
	if _, several := files.([]any); !several && files != nil {
		files = []any{files}
	}
	for _, file := range list(files) {
		if m := asMap(file); m != nil {
			file = m["path"]
		}
		name := fmt.Sprint(file)
		values, err := readEnvironment(filepath.Join("/", v.folder(), name), true)
		if err != nil || strings.Contains(name, "$") || filepath.IsAbs(name) {
			at := v.at("env_file")
			c.unreadEnv = &at
		}
		maps.Copy(c.fromFiles, values)
	}
}

// healthCheck reads an engine's health check: a list whose first word is its kind.
func healthCheck(at settings.Place, test any) []check {
	all := joinWords(test)
	switch {
	case len(all) == 0 || all[0] == "NONE":
		return nil
	case all[0] == "CMD":
		all = all[1:]
	case all[0] == "CMD-SHELL" && len(all) == 2:
		all = []string{"sh", "-c", all[1]}
	}
	return []check{{at: at, what: "the health check", words: all, link: Settings}}
}

// restart reads a service's restart policy and its number of containers.
func (v service) restart(s *Server, sleep time.Duration) {
	for _, many := range []any{v.get("deploy", "replicas").value, v.get("scale").value} {
		if n := fmt.Sprint(many); many != nil && n != "0" && n != "1" {
			s.setCount(n)
			s.doubt(Single, v.at(), n+" containers of "+v.name+
				" write to the same volume, or serve the same address: give each node a service and a volume of its own")
		}
	}
	s.establish(Alone, s.Place, "each key of the service is known, and nothing else here sees its data")
	s.assume(Single, s.Place,
		"docker compose runs it by the given files alone, and no swarm, which may start it on another machine")
	s.establish(Single, s.Place, "one container of the service runs")
	policy, outranks := v.get("restart").value, v.get("deploy", "restart_policy")
	if outranks.value != nil {
		policy = deployPolicy
		if outranks.has("delay") {
			s.later(outranks.at(), "a swarm keeps the delay of deploy.restart_policy, and docker compose does not: "+
				"which of them runs it is not known", settings.Kill)
		}
	}
	s.restarted(fmt.Sprint(cmp.Or(policy, any("no"))), sleep)
}

const deployPolicy = "deploy.restart_policy"

// restarted sets how soon an engine restarts a container, by its policy.
func (s *Server) restarted(policy string, sleep time.Duration) {
	kill, why := engineBackoff, fmt.Sprintf("restart policy %s brings it back after %s", policy, engineBackoff)
	switch policy {
	case "", "no", "false":
		kill, why = 0, "nothing restarts it: whoever starts it may do so at once"
	case deployPolicy:
		kill, why = 0, "deploy.restart_policy, of which docker compose keeps no delay"
	}
	s.returns(kill, sleep, why, "docker restart brings it back at once",
		"the engine starts it at boot, with no delay of its own")
}

// merged is the place of a file or variable that makes docker compose merge other files into this one: a second file
// of the folder, an override beside it, or COMPOSE_FILE. Only docker compose config shows the result.
func (d item) merged(all []item) (at settings.Place, found bool) {
	for _, other := range all {
		if !reflect.DeepEqual(other.value, d.value) && filepath.Dir(other.file) == filepath.Dir(d.file) {
			return other.at(), true
		}
	}
	env := filepath.Join(filepath.Dir(d.file), ".env")
	if text, err := readText(env); err == nil && composeFile.MatchString(text) && !isPipe(d.file) {
		return settings.Place{File: env}, true
	}
	base := strings.TrimSuffix(filepath.Base(d.file), filepath.Ext(d.file))
	over, _ := filepath.Glob(filepath.Join(filepath.Dir(d.file), "*compose.override.y*ml"))
	if (base == "compose" || base == "docker-compose") && len(over) > 0 {
		return settings.Place{File: over[0]}, true
	}
	return at, false
}

// composeFile is the variable that names docker compose's files.
var composeFile = regexp.MustCompile(`(?m)^\s*(?:export\s+)?COMPOSE_FILE\s*=`)

// keyed converts a list of NAME=value to a mapping.
func keyed(v any) any {
	if list(v) == nil {
		return v
	}
	m := map[string]any{}
	for _, item := range list(v) {
		name, value, set := strings.Cut(fmt.Sprint(item), "=")
		if m[name] = any(value); !set {
			m[name] = nil
		}
	}
	return m
}

// composeTag resets or overrides values of an earlier file.
var composeTag = regexp.MustCompile(`(?m)(?:^|[\s:,\[-])!(?:reset|override)\b`)

// folder is the base of a compose file's relative paths: its own folder.
func (d item) folder() string {
	if isPipe(d.file) {
		return "."
	}
	folder, err := filepath.Abs(filepath.Dir(d.file))
	if err != nil {
		return "."
	}
	return folder
}
