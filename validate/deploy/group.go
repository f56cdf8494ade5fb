package deploy

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lockproof/validate/settings"
)

// mentions is what a file says that has to do with a server of locks. It only chooses what a linter opens.
var mentions = regexp.MustCompile(`(?i)redis|valkey|keydb|dragonfly|(?m:^\s*appendonly\s)`)

// Group finds the deployments below a folder: a unit or a compose file with what it names is one, and the Kubernetes
// objects of a folder are one, and so are its redis.conf and sentinel.conf that none of the others names.
func Group(folder string) (groups [][]string, err error) {
	objects, confs, units := map[string][]string{}, map[string][]string{}, map[string][]string{}
	var order []string
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "node_modules" || strings.HasSuffix(name, ".service.d") || name == "service.d"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !candidateName(name) || strings.Contains(name, "compose.override."): // which its base file is merged with
			return nil
		}
		data, err := readText(file)
		if err != nil || !mentions.MatchString(data) {
			return nil
		}
		dir := filepath.Dir(file)
		if !slices.Contains(order, dir) {
			order = append(order, dir)
		}
		switch ext := filepath.Ext(name); {
		case ext == ".service" || ext == ".container":
			units[dir] = append(units[dir], file)
		case ext == ".conf":
			confs[dir] = append(confs[dir], file)
		case strings.Contains(data, "\nkind:") || strings.HasPrefix(data, "kind:") || strings.Contains(data, `"kind":`):
			objects[dir] = append(objects[dir], file)
		case strings.Contains(data, "services:") || strings.Contains(data, "HostConfig") || ext == ".tf" || ext == ".nomad" || ext == ".hcl" ||
			name == "Chart.yaml" || playbook.MatchString(data):
			groups = append(groups, []string{file})
		}
		return nil
	})
	for _, dir := range order {
		var used []string
		for _, unit := range units[dir] {
			group := []string{unit}
			for _, conf := range confs[dir] {
				if text, err := readText(unit); err == nil && strings.Contains(text, filepath.Base(conf)) {
					group, used = append(group, conf), append(used, conf)
				}
			}
			groups = append(groups, group)
		}
		if len(objects[dir]) > 0 {
			groups = append(groups, objects[dir])
		}
		var rest []string
		for _, conf := range confs[dir] {
			named := slices.ContainsFunc(groups, func(g []string) bool {
				text, err := readText(g[0])
				return err == nil && g[0] != conf && strings.Contains(text, filepath.Base(conf))
			})
			if !slices.Contains(used, conf) && !named {
				rest = append(rest, conf)
			}
		}
		if len(rest) > 0 {
			groups = append(groups, rest)
		}
	}
	return groups, err
}

// candidateName reports whether a name is one of a form that is read.
func candidateName(name string) bool {
	return slices.Contains([]string{".conf", ".service", ".container", ".yaml", ".yml", ".json", ".tf", ".nomad", ".hcl"}, filepath.Ext(name))
}

// Managed is the server of a managed service, of which its documents say all that is known.
func Managed(service settings.Service, replicas int) (*Server, *Failover) {
	s := &Server{Name: service.Name, Kind: "managed service", Place: settings.Place{File: service.Page}, Redis: settings.Default()}
	for _, name := range chain {
		s.assume(name, s.Place, "%s", service.Says)
	}
	f := PromotedAtOnce(replicas)
	f.Why = "by its documents " + service.Says
	return s, f
}

// JudgesTakeovers notes that replicas are judged by trials, where nothing was known of them.
func (s *Server) JudgesTakeovers() {
	s.Links = slices.DeleteFunc(s.Links, func(l Link) bool { return l.Name == Takeover })
	s.establish(Takeover, s.Place, "its replicas' takeovers are judged")
}
