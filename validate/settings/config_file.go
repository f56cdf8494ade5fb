package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lockproof/internal/input"
	"lockproof/internal/input/yamlfile"
)

// ConfigFile is the redis.conf that a server's command names, and where it was found.
type ConfigFile struct {
	Place Place  // of the command
	Path  string // as the server sees it
	// Text is what it holds, where the policy's own file has it, and Name says where there.
	Text, Name string
	at         yamlfile.Path
	// File is where it is on this machine, "" if that cannot be told.
	File string
	// Lack is why it cannot be read, "" if nobody can tell.
	Lack string
}

// unread says that a file was not read, and how to give it.
func (c *ConfigFile) unread() string {
	return fmt.Sprintf("the server is started with %s, which was not read%s: give it with --config", c.Path, c.because())
}

// ReadSettings reads the redis.conf that a policy's server is started with, lines that
// outrank it, and then the directives on the server's command line. A file that is given
// is taken in place of the one that the command names. Where none is given and the named
// one cannot be read, the settings are Redis's defaults, and [Redis.Unread] says so.
func (f Files) ReadSettings(file string, lines []string, policy Policy) (*Redis, error) {
	s, err := f.readSettings(file, lines, policy.Config)
	if err != nil {
		return nil, err
	}
	if err := s.Apply(policy.Overrides); err != nil {
		return s, err
	}
	if file == "" && policy.Kind == Systemd && policy.start.exec == "" {
		policy.notRead(Place{File: policy.File}, "no ExecStart here says which redis.conf the server is started with: give it with --config")
	}
	if s.Unread == "" && policy.unread != "" {
		s.Unread = policy.unread
		s.Remarks = append(s.Remarks, Remark{Place: policy.unreadAt, What: s.Unread, Doubts: Crashes})
	}
	if s.Unread == "" {
		s.keeps(policy)
	}
	return s, nil
}

func (f Files) readSettings(file string, lines []string, c *ConfigFile) (*Redis, error) {
	switch {
	case file != "" || c == nil:
		return f.ReadRedis(file, lines)
	case c.Name != "":
		r := &reader{elsewhere: true}
		r.text(c.Name, []byte(c.Text))
		for _, line := range lines {
			r.line(given(line), line)
		}
		s := Default()
		s.block = c
		return s.from(r)
	case c.File != "":
		if _, err := f.read(c.File, input.Config); err == nil {
			return f.ReadRedis(c.File, lines)
		} else {
			c.Lack = fmt.Sprintf("%s: %v", c.File, input.Cause(err))
		}
	}
	s, err := f.ReadRedis("", lines)
	if err != nil {
		return nil, err
	}
	s.Unread = c.unread()
	s.Remarks = append(s.Remarks, Remark{Place: c.Place, What: s.Unread, Doubts: Crashes})
	return s, nil
}

// onThisMachine are the folders of units that are in use where they are read, so that the
// files that they name are this machine's.
var onThisMachine = []string{"/etc/systemd/", "/run/systemd/", "/lib/systemd/", "/usr/lib/systemd/"}

// ofUnit finds the redis.conf of a unit.
func (c *ConfigFile) ofUnit(unit string) {
	absolute, err := filepath.Abs(unit)
	if err != nil || !path.IsAbs(c.Path) {
		return
	}
	for _, folder := range onThisMachine {
		if strings.HasPrefix(absolute, folder) {
			c.File = c.Path
		}
	}
}

// ofCompose finds the redis.conf of a service: in a bind mount, or in a config of the
// file (the Compose specification, volumes and configs).
func (c *ConfigFile) ofCompose(d document, service any) {
	c.from(service, "working_dir", "/data")
	for _, mount := range list(dig(service, "volumes")) {
		from, to := mounted(mount)
		if rest, below := within(c.Path, to); below && from != "" {
			c.local(d.file, path.Join(from, rest))
			return
		}
	}
	for _, use := range list(dig(service, "configs")) {
		name, target := fmt.Sprint(use), "/"+fmt.Sprint(use)
		if m, ok := use.(map[string]any); ok {
			name = fmt.Sprint(m["source"])
			if target, ok = m["target"].(string); !ok {
				target = "/" + name
			}
		}
		if target != c.Path {
			continue
		}
		config := dig(d.root, "configs", name)
		if text, ok := dig(config, "content").(string); ok {
			c.Text, c.Name = text, fmt.Sprintf("%s, config %s", d.file, name)
			c.at = d.path("configs", name, "content")
		} else if file, ok := dig(config, "file").(string); ok {
			c.local(d.file, file)
		}
		return
	}
}

// from takes a relative path as the server does.
func (c *ConfigFile) from(container any, key, otherwise string) {
	if path.IsAbs(c.Path) {
		return
	}
	folder, _ := dig(container, key).(string)
	if folder == "" {
		folder = otherwise
	}
	c.Path = path.Join(folder, c.Path)
}

// local finds a file beside the policy's.
func (c *ConfigFile) local(policy, file string) {
	switch {
	case strings.ContainsAny(file, "$~"):
		c.Lack = fmt.Sprintf("it is %s, which depends on who starts it", file)
	case filepath.IsAbs(file):
		c.File = file
	default:
		c.File = filepath.Join(filepath.Dir(policy), file)
	}
	if _, err := os.Stat(c.File); c.File != "" && errors.Is(err, fs.ErrNotExist) {
		c.Lack, c.File = fmt.Sprintf("there is no %s", c.File), ""
	}
}

// mounted reads a bind mount in its short or long form. A named volume gives none.
func mounted(mount any) (from, to string) {
	switch m := mount.(type) {
	case string:
		parts := strings.Split(m, ":")
		if len(parts) >= 2 && strings.ContainsAny(parts[0], "./~$") {
			return parts[0], parts[1]
		}
	case map[string]any:
		if len(m) == 1 { // the parser takes [./a:/b:ro], in one line, for a mapping
			for key, value := range m {
				return mounted(fmt.Sprintf("%s:%v", key, value))
			}
		}
		if kind, _ := m["type"].(string); kind == "bind" {
			from, _ = m["source"].(string)
			to, _ = m["target"].(string)
		}
	}
	return from, to
}

// ofPod finds the redis.conf of a container in a ConfigMap of the same file.
func (c *ConfigFile) ofPod(d document, documents []document, pod, container any) {
	c.from(container, "workingDir", "/data")
	for _, mount := range list(dig(container, "volumeMounts")) {
		at, _ := dig(mount, "mountPath").(string)
		rest, below := within(c.Path, at)
		if !below {
			continue
		}
		if sub, ok := dig(mount, "subPath").(string); ok {
			rest = path.Join(sub, rest)
		}
		for _, volume := range list(dig(pod, "volumes")) {
			if name, ok := dig(volume, "configMap", "name").(string); ok && dig(volume, "name") == dig(mount, "name") {
				c.ofConfigMap(d, documents, name, keyOf(dig(volume, "configMap", "items"), rest))
				return
			}
		}
	}
}

// keyOf is the key of a ConfigMap that stands at a path: another, if items say so.
func keyOf(items any, at string) string {
	for _, item := range list(items) {
		if dig(item, "path") == at {
			return fmt.Sprint(dig(item, "key"))
		}
	}
	return at
}

// ofConfigMap takes a key of the ConfigMap in the pod's namespace: of several the last one,
// which is applied last. One that names no namespace may be it.
func (c *ConfigFile) ofConfigMap(pod document, documents []document, name, key string) {
	var found *document
	for _, d := range documents {
		if d.root["kind"] != "ConfigMap" || dig(d.root, "metadata", "name") != name {
			continue
		}
		exact := d.namespace() == pod.namespace()
		if exact || found == nil && (d.namespace() == "" || pod.namespace() == "") {
			found = &d
		}
	}
	if found == nil {
		c.Lack = fmt.Sprintf("the ConfigMap %s is not in this file", name)
		return
	}
	text, ok := dig(found.root, "data", key).(string)
	if !ok {
		c.Lack = fmt.Sprintf("the ConfigMap %s has no %s", name, key)
		return
	}
	c.Text, c.Name = text, fmt.Sprintf("%s, ConfigMap %s, %s", found.file, name, key)
	c.at = found.path("data", key)
}

// within gives what of a path comes below a folder, "." for the folder itself.
func within(file, folder string) (rest string, below bool) {
	file, folder = path.Clean(file), path.Clean(folder)
	if folder == "" || folder == "." {
		return "", false
	}
	if file == folder {
		return "", true
	}
	return strings.CutPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

// list is a value that should be one.
func list(value any) []any {
	l, _ := value.([]any)
	return l
}
