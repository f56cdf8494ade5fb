package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// Report is a running server's reply to CONFIG GET * or INFO.
type Report struct {
	Place  settings.Place
	Config map[string]string
	Info   map[string]string
}

var infoLine = regexp.MustCompile(`(?m)^(?:redis|valkey)_version:`)

// parseConfigGet reads the output of redis-cli CONFIG GET '*' in a pipe: names and values in turn.
func parseConfigGet(file, data string) (*Report, bool) {
	values := strings.Split(strings.TrimRight(strings.ReplaceAll(data, "\r", ""), "\n"), "\n")
	if len(values)%2 == 1 { // the last value is empty
		values = append(values, "")
	}
	r := &Report{Place: settings.Place{File: file}, Config: map[string]string{}}
	known := 0
	for i := 0; i < len(values); i += 2 {
		name := values[i]
		if !configName.MatchString(name) {
			return nil, false
		}
		if settings.Known(name) {
			known++
		}
		r.Config[name] = values[i+1]
	}
	return r, known > 3 && known*2 > len(r.Config)
}

var configName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.-]*$`)

// ParseInfo reads the output of INFO.
func ParseInfo(file, data string) *Report {
	r := &Report{Place: settings.Place{File: file}, Info: map[string]string{}}
	for _, line := range strings.Split(data, "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(name, "#") {
			if name == "module" { // there may be several
				name += ":" + value
			}
			r.Info[name] = value
		}
	}
	return r
}

func (r *Report) apply(s *Server) (err error) {
	if s.Redis, err = settings.FromConfigGet(r.Place, r.Config); err != nil {
		return err
	}
	s.Unread = false
	s.Links = slices.DeleteFunc(s.Links,
		func(l Link) bool { return l.Name == Settings && strings.Contains(l.What, "which was not read") })
	s.establish(Settings, r.Place, "what the running server says")
	for i, name := range strings.Fields("appendonly appendfsync save dir no-appendfsync-on-rewrite maxmemory " +
		"maxmemory-policy replicaof cluster-enabled") {
		link := Settings
		if i > 3 { // the others make nothing safer
			link = Alone
		}
		if s.Redis.At(name).File == "" {
			s.doubt(link, r.Place, "it says nothing of "+name+": give all of CONFIG GET '*'")
		}
	}
	s.assume(Settings, r.Place, "its redis.conf says the same, so that it runs so after a restart (CONFIG REWRITE)")
	return nil
}

// compare compares a running server's settings with its files. A difference breaks the settings link, because a
// restart uses the files. If no file was read, the running server's settings count.
func (r *Report) compare(s *Server, ignore []string) error {
	if len(r.Config) == 0 {
		return nil
	}
	if s.Unread {
		return r.apply(s)
	}
	running, err := settings.FromConfigGet(r.Place, r.Config)
	if err != nil {
		return err
	}
	s.judgeDirectives(running, ignore)
	files, now := s.Redis.Values(), running.Values()
	switch dir := running.Dir(); {
	case dir != "" && path.IsAbs(s.dir()):
		files["dir"], now["dir"] = path.Clean(s.dir()), path.Clean(dir)
	case dir != "": // the files leave it open
		if err := s.Redis.Apply([]settings.Directive{{Place: r.Place, Name: "dir", Args: []string{dir}}}); err != nil {
			return err
		}
	}
	names := maps.Clone(files)
	maps.Copy(names, now)
	for _, name := range sortedKeys(names) {
		if theirs, ours := now[name], files[name]; theirs != ours {
			s.doubt(Settings, cmp.Or(s.Redis.At(name), r.Place),
				fmt.Sprintf("the file says %s, and the running server (%s) has %s: a restart brings the file's back",
					valueOf(name, ours), r.Place, valueOf(name, theirs)))
		}
	}
	return nil
}

func valueOf(name, value string) string {
	if value == "" {
		return "no " + name
	}
	return name + " " + value
}

// state judges INFO: the server's program, settings, role and data.
func (r *Report) state(s *Server) {
	differs := func(key, ours string) {
		if theirs, said := r.Info[key]; said && theirs != ours && !s.Unread {
			s.doubt(Settings, r.Place,
				fmt.Sprintf("the running server says %s:%s, and by what was read it is %s", key, theirs, cmp.Or(ours, "none")))
		}
	}
	number := map[bool]string{true: "1", false: "0"}
	differs("aof_enabled", number[s.Redis.AppendOnly])
	differs("cluster_enabled", number[s.Redis.Last("cluster-enabled") == "yes"])
	differs("maxmemory", fmt.Sprint(s.Redis.MaxMemory))
	port := s.Redis.Last("port")
	if port == "0" {
		port = cmp.Or(s.Redis.Last("tls-port"), port)
	}
	if port != "" {
		differs("tcp_port", port)
	}
	if s.Kind != Running && s.Kind != ConfigOnly && (s.ConfigPath == "" || path.IsAbs(s.ConfigPath)) {
		differs("config_file", s.ConfigPath)
	}
	if executable := r.Info["executable"]; len(r.Info) > 0 && !slices.Contains(serverNames, path.Base(executable)) {
		s.doubt(Program, r.Place,
			fmt.Sprintf("not understood: the executable %q, which INFO names; it could be a server that writes otherwise",
				executable))
	}
	if role := r.Info["role"]; role != "" && role != "master" {
		s.doubt(Settings, r.Place, "this server is a replica, which takes no locks: ask its master")
	}
	s.identify(r)
	for _, key := range sortedKeys(r.Info) {
		value := r.Info[key]
		switch {
		case lastStatus.MatchString(key) && value != "ok":
			s.doubt(Data, r.Place, fmt.Sprintf("the server could not write its data: INFO persistence says %s:%s", key, value))
		case strings.HasSuffix(key, "_version") && !ownVersions.MatchString(key):
			s.unknown(Program, r.Place, key+" of INFO", "be that of another server than Redis or Valkey")
		case strings.HasPrefix(key, "module:") && !ownModules.MatchString(key):
			s.unknown(Program, r.Place, "the module of INFO, "+key, "do anything to keys")
		}
	}
	if r.Info["process_id"] == "1" && (s.Kind == Running || s.Kind == ConfigOnly) {
		s.doubt(Data, r.Place, "the server is the first process of a container, with which its data may go: give what "+
			"runs it (docker inspect, or kubectl get -o yaml)")
	}
	if n := r.Info["aof_delayed_fsync"]; n != "" && n != "0" && s.Redis.AppendOnly && s.Redis.AppendFsync == "everysec" {
		s.doubt(Data, r.Place, "fsyncs have taken for longer than 2 s (INFO says aof_delayed_fsync:"+n+"), in which Redis "+
			"answers before it writes: a kill then loses the lock", settings.Kill, settings.Shutdown)
	}
	for _, key := range []string{"loading", "aof_rewrite_in_progress", "aof_rewrite_scheduled"} {
		if r.Info[key] == "1" { // until the first rewrite of an append-only file has ended, a start does not read it
			s.doubt(Data, r.Place, "INFO says "+key+":1, and until that is over the data may not be on disk: ask again")
		}
	}
}

// lastStatus is the result of the last write, snapshot or rewrite. ownModules are those of Redis's own packages.
var (
	ownVersions = regexp.MustCompile(`^(?:redis|valkey|gcc)_version$`)
	lastStatus  = regexp.MustCompile(`^(?:aof|rdb)_\w+_status$`)
	ownModules  = regexp.MustCompile(`^module:name=(?:search|ReJSON|timeseries|bf|vectorset|RedisCompat),`)
)

func readRunning(config, info *Report) (*Server, error) {
	at := config.Place
	s := alone(at)
	s.Kind = Running
	if err := config.apply(s); err != nil {
		return nil, err
	}
	if info != nil && (info.Info["redis_version"] != "" || info.Info["valkey_version"] != "") {
		s.establish(Program, info.Place, "Redis or Valkey, by INFO server")
		info.state(s)
		if file, said := info.Info["config_file"]; said && file == "" {
			s.assume(Settings, info.Place,
				"what starts it gives it these settings as options: it has no redis.conf to keep them in")
		}
	}
	return s, nil
}

func (s *Server) atOnce(why string) {
	s.returns(0, 0, why, why, why)
}
