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
func (d item) inspected() container {
	config, name := d.get("Config"), strings.TrimPrefix(d.text("Name"), "/")
	c := container{place: d.at(), name: name, label: "the container " + name, image: config.text("Image"),
		folder: config.text("WorkingDir"), entry: joinWords(config.get("Entrypoint").value),
		command: joinWords(config.get("Cmd").value), at: config.at("Cmd"), envAt: config.at("Env"),
		written: config.get("Env").value, env: map[string]string{},
		checks:  healthCheck(config.at("Healthcheck"), config.get("Healthcheck", "Test").value),
		storage: d.mounted,
		reach: func(s *Server) {
			d.eachKey(func(at settings.Place, key string, value any, known bool) {
				if !zero(value) && value != "private" && (!known || slices.Contains(allowed["inspect reach"], key)) {
					s.unknown(Alone, at, "the key "+key+" of the container "+name, "let it into the server's container")
				}
			})
		}}
	c.hasEntry = len(c.entry) == 0 || path.Base(c.entry[0]) != "docker-entrypoint.sh"
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

func (d item) inspectedServer(c container) *Server {
	s := &Server{Name: c.name, Kind: Container, Place: c.place}
	if ran := joinWords(d.get("Path").value, d.get("Args").value); len(ran) > 0 && !slices.Equal(ran, c.words()) {
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
	s.judgeLabels(d.get("Config", "Labels"))
	line, host := s.contained(c), d.get("HostConfig")
	if host.get("AutoRemove").value == true {
		s.doubt(Data, host.at("AutoRemove"),
			"the container is removed when it ends, with its volumes that have no name")
	}
	s.assume(Alone, s.Place, "no container or program that was not given sees its volumes, or changes its settings")
	s.assume(Single, s.Place, "no other container runs on its volumes")
	s.restarted(host.text("RestartPolicy", "Name"), line.sleep)
	return s
}

// eachKey visits the keys of a container; known: on the allow-list.
func (d item) eachKey(visit func(at settings.Place, key string, value any, known bool)) {
	for section, whole := range map[string]item{"": d, "Config": d.get("Config"), "HostConfig": d.get("HostConfig")} {
		for _, key := range whole.keys() {
			visit(whole.at(key), key, whole.get(key).value, slices.Contains(allowed["inspect "+section], key))
		}
	}
}

// mounted reads a container's mounts.
func (d item) mounted(s *Server) {
	host := d.get("HostConfig")
	if !d.has("Mounts") {
		s.unknown(Data, host.at(), "a container without Mounts", "have its data anywhere: give all of docker inspect")
	}
	for _, m := range d.list("Mounts") {
		v := volume{kind: m.text("Type"), from: m.text("Source"), plain: len(m.oddKeys(allowed["inspect Mounts"])) == 0,
			mount: mount{at: m.at(), target: m.text("Destination"), readOnly: m.get("RW").value == false}}
		for _, option := range append(strings.Split(m.text("Mode"), ","), joinWords(m.get("Options").value)...) {
			v.plain = v.plain && (option == "" || slices.Contains(allowed["volume options"], option))
		}
		if v.kind == "bind" {
			v.source = path.Clean(v.from)
		}
		if v.kind == "volume" {
			if v.from = m.text("Name"); anonymous.MatchString(v.from) {
				v.from = ""
			}
			v.plain, v.source = v.plain && m.text("Driver") == "local", strings.TrimSuffix(m.text("Source"), "/_data")
		}
		v.loss = besideFile("", v.source)
		s.addVolume(v)
	}
	for _, m := range host.list("Mounts") {
		if !zero(m.get("VolumeOptions", "DriverConfig").value) {
			s.unknown(Data, m.at(), "a volume with a driver or options of its own", "be memory")
		}
	}
	for _, target := range host.get("Tmpfs").keys() {
		s.addVolume(volume{mount: mount{at: host.at("Tmpfs"), target: target}, kind: "tmpfs", plain: true})
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
