package deploy

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

func (d document) storage(s *Server, name string, service any) {
	tmpfs := list(dig(service, "tmpfs"))
	if one, ok := dig(service, "tmpfs").(string); ok {
		tmpfs = []any{one}
	}
	for _, t := range tmpfs {
		target, _, _ := strings.Cut(fmt.Sprint(t), ":")
		s.addVolume(d.at("services", name, "tmpfs"), volume{kind: "tmpfs", to: target, plain: true}, nil)
	}
	for i, v := range list(dig(service, "volumes")) {
		s.addVolume(d.at("services", name, "volumes", i), d.volume(v), d.named)
	}
	for key, folder := range map[string]string{"configs": "/", "secrets": "/run/secrets"} {
		for i, use := range list(dig(service, key)) {
			target := path.Join(folder, cmp.Or(text(use, "target"), text(use, "source"), fmt.Sprint(use)))
			if filled := text(use, "target"); path.IsAbs(filled) {
				target = filled
			}
			config := dig(d.root, key, cmp.Or(text(use, "source"), fmt.Sprint(use)))
			s.mounts = append(s.mounts, mount{at: d.at("services", name, key, i), target: target, load: d.fromConfig(config),
				loss: maybeLost("not understood: a file of %s at %s; it could be what the server loads", key, target)})
		}
	}
}

func (d document) fromConfig(config any) func(*configFile, string) {
	return func(c *configFile, _ string) {
		content, isText := dig(config, "content").(string)
		content, plain := interpolate(content)
		switch {
		case !plain:
			c.unreadReason = "it has variables"
		case isText:
			c.text, c.name = content, d.file+", configs"
		case text(config, "file") != "":
			c.findBeside(d.file, text(config, "file"))
		}
	}
}

// volume reads a volume of a service. Relative paths begin in the file's folder. A named volume is resolved to the
// engine's name, or to the folder of its device option.
func (d document) volume(value any) volume {
	v := readVolume(value)
	v.base, v.file = d.folder(), d.file
	options := strings.Split(text(d.root, "volumes", v.from, "driver_opts", "o"), ",")
	v.readOnly = v.readOnly || v.kind == "volume" && slices.Contains(options, "ro")
	if v.kind != "volume" || v.from == "" {
		return v
	}
	named := dig(d.root, "volumes", v.from)
	name := cmp.Or(text(d.root, "name"), path.Base(v.base)) + "_" + v.from
	if external, _ := truth(dig(named, "external")); external || asMap(dig(named, "external")) != nil {
		name = v.from
	}
	name, plain := interpolate(cmp.Or(text(named, "name"), text(named, "external", "name"), name))
	v.variable = v.variable || !plain
	v.shows = path.Join(engineVolumes, name, v.subpath)
	if device := text(named, "driver_opts", "device"); device != "" && text(named, "driver_opts", "type") != "tmpfs" {
		v.shows = path.Join(d.folderOf(device), v.subpath)
	}
	return v
}

// folderOf resolves a folder relative to the file's own.
func (d document) folderOf(folder string) string {
	if path.IsAbs(folder) {
		return path.Clean(folder)
	}
	return path.Join("/", d.folder(), folder)
}

func (d document) named(name string) loss {
	v, declared := asMap(d.root["volumes"])[name]
	if !declared { // compose refuses this file alone
		return maybeLost("no volume %s is declared here, so that another file says what it is: give the output of docker "+
			"compose config", name)
	}
	for _, key := range keys(v) {
		if !slices.Contains(allowed["compose volume"], key) {
			return maybeLost("not understood: the key %s of the volume %s; it could be memory", key, name)
		}
	}
	options := dig(v, "driver_opts")
	driver := text(v, "driver")
	kind, device := text(options, "type"), text(options, "device")
	_, plain := interpolate(fmt.Sprint(driver, options))
	switch {
	case !plain:
		return maybeLost("a variable among the options of the volume %s; it could be memory: give the output of docker "+
			"compose config", name)
	case driver != "" && driver != "local":
		return maybeLost("not understood: the driver %s of the volume %s; it could lose data", driver, name)
	case kind == "tmpfs" || kind == "ramfs": // empty after the last unmount
		return loss{lost: []settings.Crash{settings.PowerLoss}, doubted: []settings.Crash{settings.Kill, settings.Shutdown},
			why: fmt.Sprintf("the volume %s is a %s, which is empty once nothing uses it", name, kind)}
	case options == nil || len(keys(options)) == 0:
		return loss{}
	case (kind == "none" || kind == "" || kind == "bind") && device != "":
		return besideFile(device, d.folderOf(device))
	}
	return maybeLost("not understood: the options of the volume %s; it could be memory, or not do what fsync asks", name)
}

// composeVariable is a variable that compose replaces (the Compose specification, Interpolation).
var composeVariable = regexp.MustCompile(`\$\$|\$\{(\w+)([^}]*)\}|\$([A-Za-z_]\w*)`)

// interpolate rewrites a text's variables as $NAME, which readCommand recognises. plain reports that there is none:
// their values depend on the caller's environment.
func interpolate(line string) (written string, plain bool) {
	plain = true
	return composeVariable.ReplaceAllStringFunc(line, func(found string) string {
		if found == "$$" {
			return "$"
		}
		plain = false
		m := composeVariable.FindStringSubmatch(found)
		return "$" + m[1] + m[3]
	}), plain
}

func interpolated(value any) any {
	switch v := value.(type) {
	case string:
		written, _ := interpolate(v)
		return written
	case []any:
		all := slices.Clone(v)
		for i, word := range all {
			all[i] = interpolated(word)
		}
		return all
	}
	return value
}
