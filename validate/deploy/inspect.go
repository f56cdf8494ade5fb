package deploy

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// inspected reads a container as docker inspect shows it, which need not be a server.
func (d document) inspected() container {
	config, name := d.root["Config"], strings.TrimPrefix(text(d.root, "Name"), "/")
	c := container{place: d.at(), name: name, label: "the container " + name, image: text(config, "Image"),
		folder: text(config, "WorkingDir"), entry: joinWords(dig(config, "Entrypoint")), command: joinWords(dig(config, "Cmd")),
		at: d.at("Config", "Cmd"), envAt: d.at("Config", "Env"), written: dig(config, "Env"), env: map[string]string{},
		checks:  healthCheck(d.at("Config", "Healthcheck"), dig(config, "Healthcheck", "Test")),
		storage: d.mounted,
		reach: func(s *Server) {
			d.eachKey(func(at settings.Place, key string, value any, known bool) {
				if !zero(value) && value != "private" && (!known || slices.Contains(allowed["inspect reach"], key)) {
					s.unknown(Alone, at, "the key "+key+" of the container "+name, "let it into the server's container")
				}
			})
		}}
	c.hasEntry = len(c.entry) > 0 && path.Base(c.entry[0]) != "docker-entrypoint.sh"
	for _, pair := range list(c.written) {
		name, value, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(pair)), "=")
		if name == "PATH" && plainPath.MatchString(value) || name == "GOSU_VERSION" ||
			strings.HasPrefix(name, "REDIS_DOWNLOAD") || strings.HasPrefix(name, "VALKEY_DOWNLOAD") {
			continue // set by the image itself
		}
		c.env[name] = value
	}
	c.server = func() *Server { return d.inspectedServer(c) }
	return c
}

func (d document) inspectedServer(c container) *Server {
	s := &Server{Name: c.name, Kind: Container, Place: c.place}
	if ran := joinWords(d.root["Path"], d.root["Args"]); len(ran) > 0 && !slices.Equal(ran, c.words()) {
		s.unknown(Program, d.at("Args"), "a command that is not Entrypoint and Cmd", "be any program with any settings")
	}
	s.addDefaults(c.image)
	d.mounted(s)
	d.eachKey(func(at settings.Place, key string, value any, known bool) {
		if !zero(value) && !known {
			s.unknown(Data, at, "the key "+key+" of docker inspect", "change the program or its volumes")
		}
		s.judgeValue(at, key, value)
	})
	s.judgeLabels(d.at("Config", "Labels"), dig(d.root, "Config", "Labels"))
	line, host := s.contained(c), d.root["HostConfig"]
	if dig(host, "AutoRemove") == true {
		s.doubt(Data, d.at("HostConfig", "AutoRemove"),
			"the container is removed when it ends, with its volumes that have no name")
	}
	s.assume(Alone, s.Place, "no container or program that was not given sees its volumes, or changes its settings")
	s.assume(Single, s.Place, "no other container runs on its volumes")
	s.restarted(text(host, "RestartPolicy", "Name"), line.sleep)
	return s
}

// eachKey visits the keys of a container; known: on the allow-list.
func (d document) eachKey(visit func(at settings.Place, key string, value any, known bool)) {
	for section, whole := range map[string]any{"": d.root, "Config": d.root["Config"], "HostConfig": d.root["HostConfig"]} {
		for _, key := range keys(whole) {
			path := slices.DeleteFunc([]any{section, key}, func(step any) bool { return step == "" })
			visit(d.at(path...), key, dig(whole, key), slices.Contains(allowed["inspect "+section], key))
		}
	}
}

// mounted reads a container's mounts.
func (d document) mounted(s *Server) {
	host := d.root["HostConfig"]
	if d.root["Mounts"] == nil {
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
