package deploy

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

func readInspect(d document) *Server {
	s := &Server{Name: strings.TrimPrefix(text(d.root, "Name"), "/"), Kind: Container, Place: d.at()}
	config, host := d.root["Config"], d.root["HostConfig"]
	c := container{image: text(config, "Image"), folder: text(config, "WorkingDir"), at: d.at("Config", "Cmd"),
		envAt: d.at("Config", "Env"),
		env:   map[string]string{}}
	c.entry, c.command = joinWords(dig(config, "Entrypoint")), joinWords(dig(config, "Cmd"))
	ran := joinWords(d.root["Path"], d.root["Args"])
	if len(ran) > 0 && !slices.Equal(ran, c.words()) {
		s.unknown(Program, d.at("Args"), "a command that is not Entrypoint and Cmd", "be any program with any settings")
	}
	c.hasEntry = len(c.entry) > 0 && path.Base(c.entry[0]) != "docker-entrypoint.sh"
	for _, pair := range list(dig(config, "Env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(pair)), "=")
		if name == "PATH" && plainPath.MatchString(value) || name == "GOSU_VERSION" ||
			strings.HasPrefix(name, "REDIS_DOWNLOAD") || strings.HasPrefix(name, "VALKEY_DOWNLOAD") {
			continue // set by the image itself
		}
		c.env[name] = value
	}
	s.inspected(d, c.image)
	s.judgeLabels(d.at("Config", "Labels"), dig(config, "Labels"))
	c.checks = healthCheck(d.at("Config", "Healthcheck"), dig(config, "Healthcheck", "Test"))
	line := s.contained(c)
	if dig(host, "AutoRemove") == true {
		s.doubt(Data, d.at("HostConfig", "AutoRemove"),
			"the container is removed when it ends, with its volumes that have no name")
	}
	s.assume(Alone, s.Place, "no other container or program sees its volumes, or changes its settings")
	s.assume(Single, s.Place, "no other container runs on its volumes")
	s.restarted(text(host, "RestartPolicy", "Name"), line.sleep)
	return s
}

func (s *Server) inspected(d document, image string) {
	host := d.root["HostConfig"]
	if s.addDefaults(image); d.root["Mounts"] == nil {
		s.unknown(Data, d.at("HostConfig"), "a container without Mounts",
			"have its data anywhere: give all of docker inspect")
	}
	for i, m := range list(d.root["Mounts"]) {
		v := volume{kind: text(m, "Type"), from: text(m, "Source"), to: text(m, "Destination"), plain: true,
			readOnly: dig(m, "RW") == false}
		for _, key := range keys(m) {
			v.plain = v.plain && slices.Contains(allowed["inspect Mounts"], key)
		}
		for _, option := range append(strings.Split(text(m, "Mode"), ","), joinWords(dig(m, "Options"))...) {
			v.plain = v.plain && (option == "" || slices.Contains(allowed["volume options"], option))
		}
		if name := text(m, "Name"); v.kind == "volume" {
			if v.from = name; anonymous.MatchString(name) {
				v.from = ""
			}
			if driver := text(m, "Driver"); driver != "local" {
				v.plain = false
			}
		}
		s.addVolume(d.at("Mounts", i), v, func(string) loss { return loss{} })
	}
	for section, value := range map[string]any{"": d.root, "Config": d.root["Config"], "HostConfig": host} {
		for _, key := range keys(value) {
			path := slices.DeleteFunc([]any{section, key}, func(step any) bool { return step == "" })
			if !zero(dig(value, key)) && !slices.Contains(allowed["inspect "+section], key) {
				s.unknown(Data, d.at(path...), "the key "+key+" of docker inspect", "change the program or its volumes")
			}
			s.judgeValue(d.at(path...), key, dig(value, key))
		}
	}
	for i, m := range list(dig(host, "Mounts")) {
		if !zero(dig(m, "VolumeOptions", "DriverConfig")) {
			s.unknown(Data, d.at("HostConfig", "Mounts", i), "a volume with a driver or options of its own", "be memory")
		}
	}
	for target := range asMap(dig(host, "Tmpfs")) {
		s.addVolume(d.at("HostConfig", "Tmpfs"), volume{kind: "tmpfs", to: target, plain: true}, nil)
	}
}

// zero reports whether a value is empty, or has only empty parts.
func zero(value any) bool {
	parts := slices.Concat(slices.Collect(maps.Values(asMap(value))), list(value))
	plain := slices.Contains([]string{"<nil>", "false", "0", "", "map[]", "[]"}, fmt.Sprint(value))
	return plain || len(parts) > 0 && !slices.ContainsFunc(parts, func(v any) bool { return !zero(v) })
}

// plainPath is a PATH of the system's own folders.
var plainPath = regexp.MustCompile(`^(?::?(?:/usr/local|/usr)?/s?bin)+$`)

// anonymous matches the generated name of a volume.
var anonymous = regexp.MustCompile(`^[0-9a-f]{64}$`)
