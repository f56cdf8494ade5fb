package deploy

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockproof/internal/input"
	"lockproof/validate/settings"
)

// Wanted are the forms that are read.
const Wanted = "give a redis.conf, a systemd unit or quadlet, a compose file, Kubernetes objects, docker inspect, or CONFIG GET '*' and INFO " +
	"of a running server"

// Options are what is given beside the files.
type Options struct {
	Config  string   // the redis.conf that the server is started with
	Set     []string // lines of redis.conf that outrank it
	Service string   // which server is meant, "" for the first
	Ignore  []string // unknown directives that do not matter
	// Delay is for how long a server stays away after each crash, whatever the files say; nil: as they say.
	Delay *time.Duration
	Stdin io.Reader
	// Running are reports of the running server.
	Running []*Report
}

// Deployment is all that was read together.
type Deployment struct {
	Servers  []*Server
	Server   *Server // that is judged
	Failover *Failover
	Files    []string

	sentinels []*configFile
	reports   []*Report
	configs   []*settings.Redis
	units     []*unit
	mounts    []*unit
	documents []document
	besides   []func(*Server) // judge what runs beside a server
	// unread are inputs that name no server by themselves, and what would.
	unread []Link
}

// Read reads files together, as parts of one deployment.
func Read(files []string, o Options) (*Deployment, error) {
	d := &Deployment{Files: files, reports: o.Running}
	var units, dropIns, starters []given
	var tmpfiles []tmpfile
	for i, file := range files {
		if slices.Contains(files[:i], file) {
			return nil, &settings.Problem{Place: settings.Place{File: file}, What: "this is given twice", Right: "give each file once"}
		}
		g, err := open(file, o.Stdin)
		if err != nil {
			return nil, err
		}
		switch kind := d.kind(g); kind {
		case unitForm:
			units = append(units, g)
		case dropInForm:
			dropIns = append(dropIns, g)
		case starterForm:
			starters = append(starters, g)
		case tmpfilesForm:
			tmpfiles = append(tmpfiles, readTmpfiles(g.file, g.text)...)
		default:
			if err := d.read(kind, g, o); err != nil {
				return nil, err
			}
		}
	}
	if len(units) == 0 { // a drop-in says a part of what its unit does
		units, dropIns = dropIns, nil
	}
	for _, g := range units {
		u, err := readUnit(g, dropIns, units)
		if err != nil {
			return nil, err
		}
		u.tmpfiles = append(u.tmpfiles, tmpfiles...)
		for _, starter := range starters {
			u.starters = append(u.starters, starter.file)
		}
		d.units = append(d.units, u)
	}
	if o.Config != "" {
		config, err := settings.ReadRedis(o.Config, o.Set)
		if err != nil {
			return nil, err
		}
		d.configs = []*settings.Redis{config}
		d.Files = append(d.Files, o.Config)
	}
	if err := d.assemble(o); err != nil {
		return nil, err
	}
	return d, d.link(o)
}

// isPipe reports whether a file is standard input, or a pipe that a shell made for a command (process substitution).
func isPipe(file string) bool {
	return file == "stdin" || strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/self/fd/")
}

// readText reads a file or a pipe. /dev/null, to which systemd's links lead that mask something, is an empty one.
func readText(file string) (string, error) {
	if real, err := filepath.EvalSymlinks(file); err == nil && real == os.DevNull {
		return "", nil
	}
	if isPipe(file) {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, input.Config+1))
		return string(data), err
	}
	data, err := input.Read(file, input.Config)
	return string(data), err
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// open reads a file that was named.
func open(file string, stdin io.Reader) (g given, err error) {
	if g.file = file; file == "-" {
		var all []byte
		all, err = io.ReadAll(io.LimitReader(stdin, input.Config+1))
		g = given{"stdin", string(all)}
	} else {
		g.text, err = readText(file)
	}
	problem := func(what string) (given, error) {
		return g, &settings.Problem{Place: settings.Place{File: g.file}, What: what, Right: Wanted}
	}
	switch {
	case err != nil:
		return problem("cannot be read: " + input.Cause(err).Error())
	case int64(len(g.text)) > input.Config:
		return problem("it is too large")
	case strings.TrimSpace(g.text) == "":
		return problem("it is empty")
	case strings.IndexByte(g.text, 0) >= 0:
		return problem("there is a zero byte, so this is no text")
	}
	g.text = strings.TrimPrefix(g.text, "\ufeff")
	return g, nil
}

// form is what a file holds.
type form string

// The forms.
const (
	unitForm     form = "unit"
	dropInForm   form = "drop-in"
	starterForm  form = "starter" // a timer and the like
	tmpfilesForm form = "tmpfiles.d"
	mountForm    form = "mount"
	volumeForm   form = "volume"
	sectionsForm form = "sections"
	infoForm     form = "info"
	yamlForm     form = "yaml"
	sentinelForm form = "sentinel"
	configForm   form = "redis.conf"
	sourceForm   form = "source" // of something that another program renders
)

var (
	sectionLine = regexp.MustCompile(`(?m)^\s*\[([A-Za-z][A-Za-z0-9:_-]*)\]\s*$`)
	yamlKey     = regexp.MustCompile(`(?m)^(?:---|[A-Za-z_"'.-][\w."' /-]*:(?:\s|$)|- [\w"'.]+:(?:\s|$)|\s*[{\[])`)
	monitorLine = regexp.MustCompile(`(?m)^\s*sentinel\s+monitor\s`)
)

// kind tells the form of a file by its name and by what it holds.
func (d *Deployment) kind(g given) form {
	ext := filepath.Ext(g.file)
	isYAML := slices.Contains([]string{".yaml", ".yml", ".json"}, ext)
	if sourceOf(g) != nil {
		return sourceForm
	}
	if isDropIn(g.file) {
		return dropInForm
	}
	switch {
	case slices.Contains(starterForms, ext):
		return starterForm
	case filepath.Base(filepath.Dir(g.file)) == "tmpfiles.d":
		return tmpfilesForm
	}
	sections := map[string]bool{}
	for _, m := range sectionLine.FindAllStringSubmatch(g.text, -1) {
		sections[m[1]] = true
	}
	switch {
	case ext == ".volume" || sections["Volume"]:
		return volumeForm
	case sections["Mount"]:
		return mountForm
	case sections["Service"] || sections["Container"] || ext == ".service" || !isYAML && (sections["Unit"] || sections["Install"]):
		return unitForm
	case len(sections) > 0 && !isYAML:
		return sectionsForm
	case infoLine.MatchString(g.text):
		return infoForm
	case isYAML || looksLikeYAML(g.text):
		return yamlForm
	case monitorLine.MatchString(g.text):
		return sentinelForm
	}
	return configForm
}

func looksLikeYAML(data string) bool {
	for line := range strings.Lines(data) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return yamlKey.MatchString(line)
		}
	}
	return false
}

// read takes a file into the deployment.
func (d *Deployment) read(kind form, g given, o Options) error {
	first := settings.Place{File: g.file, Line: 1}
	unread := func(format string, args ...any) {
		d.unread = append(d.unread, Link{Program, Broken, first, "not understood: " + fmt.Sprintf(format, args...), settings.Crashes})
	}
	switch kind {
	case sourceForm:
		s := sourceOf(g)
		unread("%s; it could start any server: give me the rendered %s", s.what, s.command)
	case volumeForm: // read for the quadlet that names it
	case mountForm:
		u := &unit{file: g.file}
		d.mounts = append(d.mounts, u)
		return u.read(g.file, g.text)
	case sectionsForm:
		unread("a file with the section [%s], which is no systemd unit's; it could start any server with any delay",
			sectionLine.FindStringSubmatch(g.text)[1])
	case infoForm:
		d.reports = append(d.reports, ParseInfo(g.file, g.text))
	case yamlForm:
		documents, err := readDocuments(g.file, []byte(g.text))
		if err == nil && len(documents) == 0 {
			err = &settings.Problem{Place: settings.Place{File: g.file}, What: "nothing is described here", Right: Wanted}
		}
		d.documents = append(d.documents, documents...)
		return err
	case sentinelForm:
		d.sentinels = append(d.sentinels, &configFile{path: g.file, name: g.file, text: g.text})
	default:
		return d.readConfig(g, o)
	}
	return nil
}

// readConfig takes a redis.conf, or what CONFIG GET printed.
func (d *Deployment) readConfig(g given, o Options) (err error) {
	if r, ok := parseConfigGet(g.file, g.text); ok {
		d.reports = append(d.reports, r)
		return nil
	}
	var config *settings.Redis
	if isPipe(g.file) {
		config, err = settings.ParseRedis(g.file, g.text, o.Set...)
	} else {
		config, err = settings.ReadRedis(g.file, o.Set)
	}
	d.configs = append(d.configs, config)
	return err
}
