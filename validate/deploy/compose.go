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

// engineBackoff is how long the Docker engine waits before it restarts a container for the first time.
const engineBackoff = 100 * time.Millisecond

func (all *Deployment) readCompose(d document, files []document) (found []*Server) {
	var rest []string
	for _, name := range keys(d.root["services"]) {
		service := dig(d.root, "services", name)
		if dig(service, "image") == nil && dig(service, "build") == nil && dig(service, "extends") == nil {
			all.unreadable(d.at("services", name), "the service "+name+" has no image, so that it is a part of one in "+
				"another file: give the output of docker compose config")
			continue
		}
		if entry, args := dig(service, "entrypoint"),
			dig(service, "command"); !mayServe(text(service, "image"), name, entry, args) {
			if rest = append(rest, name); isSentinel(text(service, "image"), entry, args) {
				all.sentinel(d.at("services", name, "command"), entry, args, func(s *Server) { d.storage(s, name, service) })
			}
			continue
		}
		found = append(found, d.service(name, service))
	}
	for _, s := range found {
		for _, name := range keys(d.root["configs"]) {
			s.script(d.at("configs", name), name, dig(d.root, "configs", name, "content"))
		}
		for _, name := range keys(d.root["services"]) { // by whose links it has another name
			for _, link := range list(dig(d.root, "services", name, "links")) {
				if to, alias, named := strings.Cut(fmt.Sprint(link), ":"); named && to == s.Name {
					s.aliases = append(s.aliases, alias)
				}
			}
		}
		if at, several := d.merged(files); several {
			s.unknown(Settings, at, "what docker compose merges with "+d.file, "change anything: give the output of docker "+
				"compose config")
		}
		for _, key := range keys(any(d.root)) {
			if !slices.Contains(allowed["compose"], key) && !strings.HasPrefix(key, "x-") {
				s.unknown(Settings, d.at(key), "the section "+key, "bring in other services or settings")
			}
		}
	}
	for _, name := range rest {
		all.tenants = append(all.tenants, func(s *Server) { d.otherTenant(s, name, dig(d.root, "services", name)) })
	}
	for _, s := range found {
		all.tenants = append(all.tenants, func(other *Server) {
			if other != s {
				d.health(other, s.Name, dig(d.root, "services", s.Name))
			}
		})
	}
	return found
}

// companions are words of images beside a Redis that are none.
var companions = regexp.MustCompile(`(?i)export|metrics|commander|insight|proxy|backup|operator|admin|\bui\b`)

// mayServe tells what may run a server of Redis from what does not: by the last part of its image, and by what it is
// told to run there.
func mayServe(image, name string, entry, args any) bool {
	base := path.Base(strings.Split(strings.Split(image, "@")[0], ":")[0])
	if image == "" || strings.Contains(image, "$") {
		base = name + base
	}
	all := fmt.Sprint(entry, " ", args)
	server := strings.Contains(all, "redis-server") || strings.Contains(all, "valkey-server")
	if isSentinel(image, entry, args) || !server && runsClient(entry, args) {
		return false
	}
	return server ||
		(strings.Contains(base, "redis") || strings.Contains(base, "valkey") || strings.Contains(base, "keydb") ||
			strings.Contains(base, "dragonfly")) && !companions.MatchString(base)
}

// isSentinel tells a Sentinel by its command, or by the name of its image.
func isSentinel(image string, entry, args any) bool {
	return sentinelImage.MatchString(image) || slices.ContainsFunc(joined(entry, args), func(w string) bool {
		return w == "--sentinel" || path.Base(w) == "redis-sentinel" || path.Base(w) == "valkey-sentinel"
	})
}

var sentinelImage = regexp.MustCompile(`(?:^|/)(?:redis|valkey)-sentinel(?:[:@]|$)`)

// runsClient reports whether a command of an image of Redis plainly runs something else than a server.
func runsClient(entry, args any) bool {
	all := joined(entry, args)
	return len(all) > 0 && (slices.Contains([]string{"redis-cli", "valkey-cli", "redis-benchmark"}, path.Base(all[0])) ||
		effectOf(all).known)
}

func (d document) service(name string, service any) *Server {
	s := &Server{Name: name, Kind: Compose, Place: d.at("services", name)}
	s.allowed(d.at, service, slices.Concat(allowed["compose service"], allowed["compose other service"]), "services", name)
	s.allowed(d.at, dig(service, "deploy"), allowed["compose deploy"], "services", name, "deploy")
	s.judgeLabels(d.at("services", name, "labels"), dig(service, "labels"))
	s.judgeLabels(d.at("services", name, "deploy"), dig(service, "deploy", "labels"))
	s.addDefaults(text(service, "image"))
	d.storage(s, name, service)
	c := inContainer{image: text(service, "image"), folder: text(service, "working_dir"),
		hasEntry: dig(service, "entrypoint") != nil,
		at:       d.at("services", name, "command"), envAt: d.at("services", name, "environment")}
	if dig(service, "command") == nil {
		c.at = d.at("services", name)
	}
	c.entry = s.words(d.at("services", name, "entrypoint"), interpolated(dig(service, "entrypoint")))
	c.command = s.words(d.at("services", name, "command"), interpolated(dig(service, "command")))
	image, plain := interpolate(c.image)
	if c.image = image; !plain && !strings.Contains(path.Base(image), ":$") {
		s.unknown(Program, d.at("services", name, "image"), "a variable in its image", "be any program")
	}
	d.variables(s, name, service, &c)
	line := s.contained(c)
	for _, network := range keys(d.root["networks"]) {
		if text(d.root, "networks", network, "driver") == "overlay" {
			s.unknown(Settings, d.at("networks", network), "a swarm's network", "be that of a server on any machine")
		}
	}
	if dig(service, "build") != nil {
		s.unknown(Program, d.at("services", name, "build"), "build, of which the rest is elsewhere", "bring another program")
	}
	s.loadConfig()
	d.restart(s, name, service, line.sleep)
	d.health(s, name, service)
	for _, network := range asMap(dig(service, "networks")) {
		for _, alias := range list(dig(network, "aliases")) {
			s.aliases = append(s.aliases, fmt.Sprint(alias))
		}
	}
	s.aliases = append(s.aliases, name, cmp.Or(text(service, "container_name"), name),
		cmp.Or(text(service, "hostname"), name))
	return s
}

func (d document) variables(s *Server, name string, service any, c *inContainer) {
	c.env = map[string]string{}
	for key, value := range asMap(keyed(dig(service, "environment"))) {
		if c.env[key] = "$" + key; value != nil { // else it comes from whoever starts the container
			c.env[key], _ = interpolate(fmt.Sprint(value))
		}
	}
	c.fromFiles = map[string]string{}
	files := dig(service, "env_file")
	if _, several := files.([]any); !several && files != nil {
		files = []any{files}
	}
	for _, file := range list(files) {
		if m := asMap(file); m != nil {
			file = m["path"]
		}
		values, err := readEnvironment(filepath.Join("/", d.folder(), fmt.Sprint(file)), true)
		if err != nil || strings.Contains(fmt.Sprint(file), "$") || filepath.IsAbs(fmt.Sprint(file)) {
			at := d.at("services", name, "env_file")
			c.unreadEnv = &at
		}
		maps.Copy(c.fromFiles, values)
	}
}

// health judges a service's health check, and for another server than the service's what it asks of that one.
func (d document) health(s *Server, name string, service any) {
	test := d.healthTest(service)
	if at := d.at("services", name, "healthcheck"); s.Place == d.at("services", name) {
		s.healthy(at, test)
	} else {
		s.clientOf(at, "the health check of "+name, "", checkCommand(test), nil)
	}
}

// healthTest is a service's test in the form of the engine.
func (d document) healthTest(service any) any {
	test := interpolated(dig(service, "healthcheck", "test"))
	if line, isText := test.(string); isText {
		return []any{"CMD-SHELL", line}
	}
	return test
}

// healthy judges a test of an engine, a list whose first word says what the rest is.
func (s *Server) healthy(at settings.Place, test any) {
	if all := checkCommand(test); len(all) > 0 {
		s.hook(at, "the health check", all, Settings)
	}
}

// checkCommand is what a health check runs, nothing for none.
func checkCommand(test any) []string {
	switch all := joined(test); {
	case len(all) == 0 || all[0] == "NONE":
		return nil
	case all[0] == "CMD":
		return all[1:]
	case all[0] == "CMD-SHELL" && len(all) == 2:
		return []string{"sh", "-c", all[1]}
	default:
		return all
	}
}

// restart reads how soon the engine restarts a service, how it stops it, and how many there are.
func (d document) restart(s *Server, name string, service any, sleep time.Duration) {
	at := func(keys ...any) settings.Place { return d.at(append([]any{"services", name}, keys...)...) }
	for _, many := range []any{dig(service, "deploy", "replicas"), dig(service, "scale")} {
		if n := fmt.Sprint(many); many != nil && n != "0" && n != "1" {
			s.several(n)
			s.doubt(Single, at(), n+" containers of "+name+
				" write to the same volume, or serve the same address: give each node a service and a volume of its own")
		}
	}
	s.establish(Alone, s.Place, "each key of the service is known, and nothing else here sees its data")
	s.assume(Single, s.Place, "docker compose runs it, and no swarm, which may start it on another machine")
	s.establish(Single, s.Place, "one container of the service runs")
	policy := dig(service, "restart")
	s.restarted(fmt.Sprint(cmp.Or(policy, any("no"))), sleep)
}

// restarted notes how soon an engine starts a container again, by its policy.
func (s *Server) restarted(policy string, sleep time.Duration) {
	kill, why := engineBackoff, fmt.Sprintf("restart policy %s brings it back after %s", policy, engineBackoff)
	if slices.Contains([]string{"", "no", "false"}, policy) {
		kill, why = 0, "nothing restarts it: whoever starts it may do so at once"
	}
	s.returns(kill, sleep, map[settings.Crash]string{settings.Kill: why,
		settings.Shutdown:  "docker restart brings it back at once",
		settings.PowerLoss: "the engine starts it at boot, with no delay of its own"})
}

// merged is the place of what docker compose merges with a file, where only its own output says what comes of that: a
// second file of the folder, an override beside it, or a variable that names other files.
func (d document) merged(all []document) (at settings.Place, found bool) {
	for _, other := range all {
		if !reflect.DeepEqual(other.root, d.root) && filepath.Dir(other.file) == filepath.Dir(d.file) {
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

// composeFile is the variable by which docker compose finds its files.
var composeFile = regexp.MustCompile(`(?m)^\s*(?:export\s+)?COMPOSE_FILE\s*=`)

// keyed is a mapping that is written as a list of NAME=value.
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

// composeTag takes back what a file before has said.
var composeTag = regexp.MustCompile(`(?m)(?:^|[\s:,\[-])!(?:reset|override)\b`)

// folder is where the relative paths of a compose file begin: its own folder.
func (d document) folder() string {
	if isPipe(d.file) {
		return "."
	}
	folder, err := filepath.Abs(filepath.Dir(d.file))
	if err != nil {
		return "."
	}
	return folder
}
