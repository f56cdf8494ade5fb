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

	"example.org/lockproof/internal/input"
	"example.org/lockproof/validate/settings"
)

// Wanted lists the accepted inputs.
const Wanted = "give a redis.conf, a systemd unit, a compose file, Kubernetes objects, docker inspect, or CONFIG GET " +
	"'*' and INFO of a running server"

// Options are the settings beside the files.
type Options struct {
	Config   string   // the redis.conf that the server is started with
	Set      []string // lines of redis.conf that outrank it
	Sentinel string   // a Sentinel's file
	Service  string   // which server is meant, "" for the first
	Ignore   []string // unknown directives that do not matter
	// Delay is a server's downtime after each crash, in place of the files'; nil: as in the files.
	Delay *time.Duration
	Stdin io.Reader
	// Running are reports of the running server.
	Running []*Report
}

// Deployment is the result of reading files together.
type Deployment struct {
	Servers  []*Server
	Server   *Server // the one to judge
	Failover *Failover
	Files    []string

	sentinels                []*configFile
	reports                  []*Report
	configs                  []*settings.Redis
	mounts                   []machineMount
	jobs                     []textFile
	units, dropIns, starters []textFile
	documents                []item
	tenants                  []func(*Server) // judge the other containers
	// unread are the broken links of inputs that name no server.
	unread []Link
}

// Read reads files together, as parts of one deployment.
func Read(files []string, o Options) (*Deployment, error) {
	d := &Deployment{Files: files, reports: o.Running}
	for i, file := range files {
		if slices.Contains(files[:i], file) {
			return nil, &settings.Problem{Place: settings.Place{File: file}, What: "this is given twice",
				Right: "give each file once"}
		}
		g, err := open(file, o.Stdin)
		if err == nil {
			err = d.classify(g)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(d.units) == 0 { // a drop-in alone is a part of its unit
		d.units, d.dropIns = d.dropIns, nil
	}
	if o.Config != "" {
		config, err := settings.ReadRedis(o.Config)
		if err != nil {
			return nil, err
		}
		d.configs = []*settings.Redis{config}
		d.Files = append(d.Files, o.Config)
	}
	if err := d.assemble(o); err != nil {
		return nil, err
	}
	if o.Sentinel != "" {
		text, err := readText(o.Sentinel)
		if err != nil {
			return nil, &settings.Problem{Place: settings.Place{File: o.Sentinel},
				What: "cannot be read: " + input.Cause(err).Error(), Right: "name a file that is there"}
		}
		if _, _, err := parseSentinel(o.Sentinel, text); err != nil {
			return nil, err
		}
		d.sentinels = []*configFile{{path: o.Sentinel, name: o.Sentinel, text: text}}
	}
	return d, d.link(o)
}

// isPipe reports whether a file is standard input or a shell's process substitution.
func isPipe(file string) bool {
	return file == "stdin" || strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/self/fd/")
}

// readText reads a file or a pipe. A link to /dev/null, by which systemd masks a unit, is an empty file.
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
		data, err := io.ReadAll(io.LimitReader(f, input.Objects+1))
		return string(data), err
	}
	data, err := input.Read(file, input.Objects)
	return string(data), err
}

func open(file string, stdin io.Reader) (g textFile, err error) {
	if g.file = file; file == "-" {
		var all []byte
		all, err = io.ReadAll(io.LimitReader(stdin, input.Objects+1))
		g = textFile{"stdin", string(all)}
	} else {
		g.text, err = readText(file)
	}
	line := 0
	problem := func(what string) (textFile, error) {
		return g, &settings.Problem{Place: settings.Place{File: g.file, Line: line}, What: what, Right: Wanted}
	}
	switch {
	case err != nil:
		return problem("cannot be read: " + input.Cause(err).Error())
	case int64(len(g.text)) > input.Objects:
		return problem("it is too large")
	case strings.TrimSpace(g.text) == "":
		return problem("it is empty")
	case strings.IndexByte(g.text, 0) >= 0:
		line = 1 + strings.Count(g.text[:strings.IndexByte(g.text, 0)], "\n")
		return problem("there is a zero byte, so this is no text")
	}
	g.text = strings.TrimPrefix(g.text, "\ufeff")
	return g, nil
}

var (
	sectionLine = regexp.MustCompile(`(?m)^\s*\[([A-Za-z][A-Za-z0-9:_-]*)\]\s*$`)
	yamlKey     = regexp.MustCompile(`(?m)^(?:---|[A-Za-z_"'.-][\w."' /-]*:(?:\s|$)|- [\w"'.]+:(?:\s|$)|\s*[{\[])`)
	numbered    = regexp.MustCompile(`^\s*1[#)] "`)
	monitorLine = regexp.MustCompile(`(?m)^\s*sentinel\s+monitor\s`)
)

// classify adds a file to the deployment, by its name and content.
func (d *Deployment) classify(g textFile) error {
	ext, sections := filepath.Ext(g.file), map[string]bool{}
	isYAML := slices.Contains([]string{".yaml", ".yml", ".json"}, ext)
	for _, m := range sectionLine.FindAllStringSubmatch(g.text, -1) {
		sections[m[1]] = true
	}
	unread := func(format string, args ...any) {
		d.unreadable(settings.Place{File: g.file, Line: 1}, "not understood: "+fmt.Sprintf(format, args...))
	}
	source := sourceOf(g)
	switch {
	case source != nil:
		unread("%s; it could start any server: give me the rendered %s", source.what, source.command)
	case isDropIn(g.file):
		d.dropIns = append(d.dropIns, g)
	case slices.Contains(starterForms, ext):
		d.starters = append(d.starters, g)
	case g.isTable():
		d.jobs = append(d.jobs, g)
	case sections["Mount"]:
		m, err := readMount(g)
		d.mounts = append(d.mounts, m)
		return err
	case sections["Service"] || sections["Container"] || ext == ".service" ||
		!isYAML && (sections["Unit"] || sections["Install"]):
		d.units = append(d.units, g)
	case len(sections) > 0 && !isYAML:
		unread("a file with the section [%s], which is no systemd unit's; it could start any server with any delay",
			sectionLine.FindStringSubmatch(g.text)[1])
	case numbered.MatchString(g.text):
		unread("what a terminal shows of CONFIG GET; it could be cut off: give redis-cli CONFIG GET '*' | cat")
	case infoLine.MatchString(g.text):
		d.reports = append(d.reports, ParseInfo(g.file, g.text))
	case isYAML || looksLikeYAML(g.text):
		documents, err := readDocuments(g.file, g.text)
		if err == nil && len(documents) == 0 && !kindLine.MatchString(g.text) {
			err = &settings.Problem{Place: settings.Place{File: g.file}, What: "nothing is described here", Right: Wanted}
		}
		if d.documents = append(d.documents, documents...); composeTag.MatchString(g.text) {
			unread("a tag that takes back what another file says; it could change anything: give the output of docker " +
				"compose config")
		}
		return err
	case monitorLine.MatchString(g.text):
		d.sentinels = append(d.sentinels, &configFile{path: g.file, name: g.file, text: g.text})
	default:
		return d.readConfig(g)
	}
	return nil
}

func (d *Deployment) unreadable(at settings.Place, what string) {
	d.unread = append(d.unread, Link{Program, Broken, at, what, settings.Crashes})
}

func looksLikeYAML(data string) bool {
	for line := range strings.Lines(data) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return yamlKey.MatchString(line)
		}
	}
	return false
}

func (d *Deployment) readConfig(g textFile) (err error) {
	if r, ok := parseConfigGet(g.file, g.text); ok {
		d.reports = append(d.reports, r)
		return nil
	}
	var config *settings.Redis
	if isPipe(g.file) {
		config, err = settings.ParseRedis(g.file, g.text)
	} else {
		config, err = settings.ReadRedis(g.file)
	}
	d.configs = append(d.configs, config)
	return err
}
