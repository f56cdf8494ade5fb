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

func (v service) storage(s *Server) {
	tmpfs := v.list("tmpfs")
	if one := v.get("tmpfs"); one.text() != "" {
		tmpfs = []item{one}
	}
	for _, t := range tmpfs {
		target, _, _ := strings.Cut(fmt.Sprint(t.value), ":")
		s.addVolume(volume{mount: mount{at: t.at(), target: target}, kind: "tmpfs", plain: true})
	}
	for _, mounted := range v.list("volumes") {
		s.addVolume(v.project.volume(mounted))
	}
	for key, folder := range map[string]string{"configs": "/", "secrets": "/run/secrets"} {
		for _, use := range v.list(key) {
			source := cmp.Or(use.text("source"), fmt.Sprint(use.value))
			target := path.Join(folder, cmp.Or(use.text("target"), source))
			if filled := use.text("target"); path.IsAbs(filled) {
				target = filled
			}
			s.mounts = append(s.mounts, mount{at: use.at(), target: target, load: v.project.get(key, source).load,
				loss: maybeLost("not understood: a file of %s at %s; it could be what the server loads", key, target)})
		}
	}
}

// load finds the redis.conf that an item of configs has.
func (d item) load(c *configFile, _ string) {
	content, plain := interpolate(d.text("content"))
	switch {
	case !plain || len(d.oddKeys(allowed["compose config"])) > 0:
		c.unreadReason = "it has variables, or a key that is not known"
	case d.has("content"):
		c.text, c.name = content, d.file+", configs"
	case d.text("file") != "":
		c.findBeside(d.file, d.text("file"))
	}
}

// volume reads a volume of a service. Relative paths begin in the file's folder. A named volume is resolved to the
// engine's name, or to the folder of its device option.
func (d item) volume(mounted item) volume {
	v := readVolume(mounted)
	v.at = mounted.at()
	if v.file = d.file; v.kind == "bind" {
		v.source = d.folderOf(v.from)
	}
	options := strings.Split(d.text("volumes", v.from, "driver_opts", "o"), ",")
	v.readOnly = v.readOnly || v.kind == "volume" && slices.Contains(options, "ro")
	if v.kind != "volume" || v.from == "" {
		return v
	}
	v.loss = d.named(v.from)
	named := d.get("volumes", v.from)
	name := cmp.Or(d.text("name"), path.Base(d.folder())) + "_" + v.from
	outside := named.get("external")
	if yes, _ := truth(outside.value); yes || asMap(outside.value) != nil {
		name = v.from
	}
	name, plain := interpolate(cmp.Or(named.text("name"), named.text("external", "name"), name))
	v.variable = v.variable || !plain
	v.source = path.Join(engineVolumes, name, v.subpath)
	if device := named.text("driver_opts", "device"); device != "" && named.text("driver_opts", "type") != "tmpfs" {
		v.source = path.Join(d.folderOf(device), v.subpath)
	}
	return v
}

// folderOf resolves a folder relative to the file's own.
func (d item) folderOf(folder string) string {
	if path.IsAbs(folder) {
		return path.Clean(folder)
	}
	return path.Join("/", d.folder(), folder)
}

func (d item) named(name string) loss {
	v := d.get("volumes", name)
	if !slices.Contains(d.get("volumes").keys(), name) { // compose refuses this file alone
		return maybeLost("no volume %s is declared here, so that another file says what it is: give the output of docker "+
			"compose config", name)
	}
	if odd := v.oddKeys(allowed["compose volume"]); len(odd) > 0 {
		return maybeLost("not understood: the key %s of the volume %s; it could be memory", odd[0], name)
	}
	driver, options := v.text("driver"), v.get("driver_opts")
	kind, device := options.text("type"), options.text("device")
	_, plain := interpolate(fmt.Sprint(driver, options.value))
	switch {
	case !plain:
		return maybeLost("a variable among the options of the volume %s; it could be memory: give the output of docker "+
			"compose config", name)
	case driver != "" && driver != "local":
		return maybeLost("not understood: the driver %s of the volume %s; it could lose data", driver, name)
	case kind == "tmpfs" || kind == "ramfs": // empty after the last unmount
		return loss{lost: []settings.Crash{settings.PowerLoss}, doubted: []settings.Crash{settings.Kill, settings.Shutdown},
			why: fmt.Sprintf("the volume %s is a %s, which is empty once nothing uses it", name, kind)}
	case len(options.keys()) == 0:
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
