package deploy

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockproof/validate/settings"
)

// serviceKeys are the keys of a service that can touch neither data nor settings, start nor stop of a server, or that
// the reader takes into account (the Compose specification, Services).
var serviceKeys = append(strings.Fields("extends cap_add privileged device_cgroup_rules"), tenantKeys...)

// tenantKeys are those by which a service gets at nothing but its own container, its mounts and its network.
var tenantKeys = strings.Fields(`image command entrypoint working_dir environment env_file volumes tmpfs configs secrets restart stop_signal
	stop_grace_period deploy scale post_start pre_stop build healthcheck
	container_name hostname domainname ports expose networks network_mode dns dns_opt dns_search extra_hosts labels label_file logging depends_on
	links external_links user group_add cap_drop security_opt ulimits sysctls mem_limit memswap_limit mem_reservation
	mem_swappiness cpus cpu_count cpu_percent cpu_shares cpu_period cpu_quota cpu_rt_runtime cpu_rt_period cpuset pids_limit oom_score_adj
	oom_kill_disable shm_size stdin_open tty platform pull_policy profiles init read_only ipc uts cgroup cgroup_parent annotations attach
	mac_address blkio_config userns_mode isolation`)

// deployKeys are those of deploy (the Compose Deploy Specification).
var deployKeys = strings.Fields(`replicas mode restart_policy update_config rollback_config resources placement labels endpoint_mode`)

// engineBackoff is how long the Docker engine waits before it restarts a container for the first time.
const engineBackoff = 100 * time.Millisecond

// readCompose reads the servers of a compose file.
func (all *Deployment) readCompose(d document) (found []*Server, err error) {
	var rest []string
	for _, name := range keys(d.root["services"]) {
		service := dig(d.root, "services", name)
		if !d.serves(name, service) {
			rest = append(rest, name)
			continue
		}
		s, err := d.service(name, service)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	for _, s := range found {
		for _, layer := range append(d.layers, d) {
			if layer.tagged.File != "" {
				s.misses(Settings, layer.tagged, "!reset or !override", "take back anything: give the output of docker compose config")
			}
		}
		for _, key := range keys(any(d.root)) {
			if !slices.Contains(strings.Fields("version name services volumes networks configs secrets"), key) && !strings.HasPrefix(key, "x-") {
				s.misses(Settings, d.at(key), "the section "+key, "bring in other services or settings")
			}
		}
	}
	for _, name := range rest {
		all.besides = append(all.besides, func(s *Server) { d.otherTenant(s, name, dig(d.root, "services", name)) })
	}
	return found, nil
}

// serves tells the services that may run a server, by image and command.
func (d document) serves(name string, service any) bool {
	return mayServe(text(service, "image"), name, dig(service, "entrypoint"), dig(service, "command"))
}

// others are words of images beside a Redis that are none.
var others = regexp.MustCompile(`(?i)export|metrics|commander|insight|proxy|backup|operator|admin|\bui\b`)

// mayServe tells what may run a server of Redis from what does not: by the last part of its image, and by what it is told
// to run there.
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
	return server || (strings.Contains(base, "redis") || strings.Contains(base, "valkey") || strings.Contains(base, "keydb") ||
		strings.Contains(base, "dragonfly")) && !others.MatchString(base)
}

// isSentinel tells a Sentinel by its command, or by the name of its image.
func isSentinel(image string, entry, args any) bool {
	first, _ := words(entry)
	second, _ := words(args)
	all := append(first, second...)
	return sentinelImage.MatchString(image) || slices.ContainsFunc(all, func(w string) bool {
		return w == "--sentinel" || path.Base(w) == "redis-sentinel" || path.Base(w) == "valkey-sentinel"
	})
}

var sentinelImage = regexp.MustCompile(`(?:^|/)(?:redis|valkey)-sentinel(?:[:@]|$)`)

// runsClient reports whether a command of an image of Redis plainly runs something else than a server.
func runsClient(entry, args any) bool {
	first, _ := words(entry)
	second, _ := words(args)
	all := append(first, second...)
	return len(all) > 0 && (path.Base(all[0]) == "redis-cli" || path.Base(all[0]) == "valkey-cli" || path.Base(all[0]) == "redis-benchmark" || besides(all).known)
}

// service reads one service into a server.
func (d document) service(name string, service any) (*Server, error) {
	s := &Server{Name: name, Kind: Compose, Place: d.at("services", name)}
	s.allowed(d, service, "the key", serviceKeys, "services", name)
	s.allowed(d, dig(service, "deploy"), "the key deploy.", deployKeys, "services", name, "deploy")
	s.own(text(service, "image"))
	d.storage(s, name, service)
	d.swarm(s, name, service)
	c := inContainer{image: text(service, "image"), folder: text(service, "working_dir"), hasEntry: dig(service, "entrypoint") != nil,
		at: d.at("services", name, "command"), envAt: d.at("services", name, "environment")}
	if dig(service, "command") == nil {
		c.at = d.at("services", name)
	}
	for _, part := range []struct {
		key  string
		into *[]string
	}{{"entrypoint", &c.entry}, {"command", &c.command}} {
		all, err := words(interpolated(dig(service, part.key)))
		if err != nil {
			return nil, &settings.Problem{Place: d.at("services", name, part.key), What: "the command cannot be read: " + err.Error(),
				Right: "write it as a list of words"}
		}
		*part.into = all
	}
	image, plain := interpolate(c.image)
	if c.image = image; !plain && !strings.Contains(path.Base(image), ":$") {
		s.misses(Program, d.at("services", name, "image"), "a variable in its image", "be any program")
	}
	d.variables(s, name, service, &c)
	line, err := s.contained(c)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"extends", "build"} {
		if dig(service, key) != nil {
			s.misses(Program, d.at("services", name, key), key+", of which the rest is elsewhere",
				"bring another program, settings or volumes: give the output of docker compose config")
		}
	}
	s.loadConfig()
	if err := d.restart(s, name, service, line.sleep); err != nil {
		return nil, err
	}
	d.hooks(s, name, service)
	return s, nil
}

// swarmKeys are those of deploy that a swarm alone takes into account.
var swarmKeys = strings.Fields("placement update_config rollback_config endpoint_mode")

// swarm puts volumes of a machine in doubt where a swarm may start the service on another one.
func (d document) swarm(s *Server, name string, service any) {
	deploy := dig(service, "deploy")
	if !slices.ContainsFunc(swarmKeys, func(key string) bool { return dig(deploy, key) != nil }) {
		return
	}
	for _, c := range list(dig(deploy, "placement", "constraints")) {
		if oneNode.MatchString(fmt.Sprint(c)) {
			return
		}
	}
	for i, m := range s.mounts {
		if m.source != "" && len(m.fate.lost)+len(m.fate.doubted) == 0 {
			s.mounts[i].fate = fate{doubted: moved, why: "a swarm may start the service on another machine, where the volume is empty: pin it by the constraint node.hostname"}
		}
	}
}

var oneNode = regexp.MustCompile(`^node\.(?:hostname|id)\s*==\s*\S+$`)

// variables reads a service's environment.
func (d document) variables(s *Server, name string, service any, c *inContainer) {
	c.env = map[string]string{}
	set := func(key, value string) {
		v, _ := interpolate(value)
		c.env[key] = v
	}
	switch env := dig(service, "environment").(type) {
	case map[string]any:
		for key, value := range env {
			if set(key, fmt.Sprint(value)); value == nil {
				c.set(key)
			}
		}
	case []any:
		for _, pair := range env {
			if key, value, given := strings.Cut(fmt.Sprint(pair), "="); given {
				set(key, value)
			} else {
				c.set(key)
			}
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
		values, err := readEnvironment(filepath.Join("/", d.folder(), fmt.Sprint(file)))
		if err != nil || strings.Contains(fmt.Sprint(file), "$") || filepath.IsAbs(fmt.Sprint(file)) {
			at := d.at("services", name, "env_file")
			c.unreadEnv = &at
		}
		maps.Copy(c.fromFiles, values)
	}
}

// hooks judges what a service is told to run beside its server.
func (d document) hooks(s *Server, name string, service any) {
	for _, key := range []string{"post_start", "pre_stop"} {
		for i, hook := range list(dig(service, key)) {
			all, err := words(interpolated(dig(hook, "command")))
			if err != nil {
				all = nil
			}
			if at := d.at("services", name, key, i); key == "post_start" {
				s.beside(at, key, all, Settings)
			} else {
				s.beside(at, key, all, Data, settings.Shutdown)
			}
		}
	}
	test := dig(service, "healthcheck", "test")
	if test == nil {
		return
	}
	test = interpolated(test)
	all, err := words(test)
	switch line, isText := test.(string); {
	case isText:
		all = []string{"sh", "-c", line}
	case err != nil || len(all) == 0 || all[0] == "NONE":
		return
	case all[0] == "CMD":
		all = all[1:]
	case all[0] == "CMD-SHELL" && len(all) == 2:
		all = []string{"sh", "-c", all[1]}
	}
	s.beside(d.at("services", name, "healthcheck"), "healthcheck", all, Settings)
}

// restart reads how soon the engine restarts a service, how it stops it, and how many there are.
func (d document) restart(s *Server, name string, service any, sleep time.Duration) error {
	if signal := text(service, "stop_signal"); signal != "" {
		s.stopSignal(d.at("services", name, "stop_signal"), "stop_signal", signal)
	}
	if grace := text(service, "stop_grace_period"); grace != "" {
		wait, err := time.ParseDuration(grace)
		if err != nil {
			wait = 1
		}
		s.stopTimeout(d.at("services", name, "stop_grace_period"), "stop_grace_period", wait)
	}
	if order := text(service, "deploy", "update_config", "order"); order != "" && order != "stop-first" {
		s.misses(Single, d.at("services", name, "deploy", "update_config", "order"), "order: "+order,
			"start a second server, which loads the data while the old one still grants locks", settings.Shutdown)
	}
	if order := text(service, "deploy", "rollback_config", "order"); order != "" && order != "stop-first" {
		s.misses(Single, d.at("services", name, "deploy", "rollback_config", "order"), "order: "+order, "start a second server beside the old one",
			settings.Shutdown)
	}
	for _, many := range []any{dig(service, "deploy", "replicas"), dig(service, "scale")} {
		if n := fmt.Sprint(many); many != nil && n != "0" && n != "1" {
			s.count = -1
			if number, err := strconv.Atoi(n); err == nil {
				s.count = number
			}
			s.lacks(Single, d.at("services", name), n+" containers of "+name+" write to the same volume, or serve the same address: give each node "+
				"a service and a volume of its own")
		}
	}
	if mode := text(service, "deploy", "mode"); mode != "" && mode != "replicated" {
		s.misses(Single, d.at("services", name, "deploy", "mode"), "mode: "+mode, "run several servers under one name")
	}
	s.establish(Alone, s.Place, "each key of the service is known, and nothing else here sees its data")
	s.establish(Single, s.Place, "one container of the service runs")
	at := d.at("services", name, "restart")
	restart := fmt.Sprint(dig(service, "restart"))
	if dig(service, "restart") == nil || restart == "false" {
		restart = "no"
	}
	kind, _, _ := strings.Cut(restart, ":")
	kinds := []string{"no", "always", "on-failure", "unless-stopped"}
	if value, known := interpolate(kind); !known || strings.HasPrefix(value, "$") {
		kind = "always" // the soonest
	} else if !slices.Contains(kinds, kind) {
		return &settings.Problem{Place: at, What: fmt.Sprintf("restart: %s: there is no such policy", restart), Right: "there are " + strings.Join(kinds, ", ")}
	}
	kill, why := engineBackoff, fmt.Sprintf("restart: %s; compose has no key for a delay", kind)
	delay := dig(service, "deploy", "restart_policy", "delay")
	switch swarm := dig(service, "deploy", "restart_policy"); {
	case kind == "no" && dig(service, "restart") == nil && swarm != nil && fmt.Sprint(dig(swarm, "condition")) != "none":
		why = "docker compose restarts it after 100ms, by the condition of deploy.restart_policy and without its delay"
	case kind == "no":
		kill, why = 0, "nothing restarts it: whoever starts it may do so at once"
	}
	if delay != nil {
		at := d.at("services", name, "deploy", "restart_policy", "delay")
		if wait, err := time.ParseDuration(fmt.Sprint(delay)); err != nil || wait < 0 {
			return &settings.Problem{Place: at, What: fmt.Sprintf("delay: %v: this is not a duration", delay), Right: "write it as in 35s"}
		}
		if dig(service, "restart") == nil {
			s.lacks(Restart, at, "a swarm would wait for this delay, and docker compose does not: give --restart-delay", settings.Kill)
		}
	}
	s.returns(kill, sleep, map[settings.Crash]string{settings.Kill: why, settings.Shutdown: "docker restart brings it back at once",
		settings.PowerLoss: "the engine starts it at boot, with no delay of its own"})
	return nil
}
