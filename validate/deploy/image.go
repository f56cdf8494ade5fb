package deploy

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// image is what is known of a container image: which program its entrypoint starts, from which folder, and which
// variables of the environment it reads.
type image struct {
	pattern *regexp.Regexp
	folder  string // in which the server starts, and which the image declares as a volume
	// reads takes the variables that the entrypoint puts into the settings; nil: it reads none.
	reads func(s *Server, at settings.Place, env map[string]string)
	// free: variables that nobody has read are no risk, for the entrypoint reads none of those.
	free bool
	// flags is the variable by which options are added to the server's own.
	flags string
	// own: the entrypoint starts a server with settings of its own.
	own bool
}

// images are the recognised ones. Sources: docker-library/redis (docker-entrypoint.sh), valkey-io/valkey-container,
// bitnami/containers (bitnami/redis, README and libredis.sh).
var images = []image{
	{pattern: regexp.MustCompile(`^(?:docker\.io/|mirror\.gcr\.io/|` +
		`public\.ecr\.aws/docker/)?(?:library/)?redis(?:[:@].*)?$`),
		folder: "/data", free: true},
	{pattern: regexp.MustCompile(`^(?:docker\.io/)?valkey/valkey(?:[:@].*)?$`), folder: "/data",
		reads: extraFlags("VALKEY_EXTRA_FLAGS"), flags: "VALKEY_EXTRA_FLAGS"},
	{pattern: regexp.MustCompile(`^(?:(?:docker|registry-1\.docker)\.io/)?bitnami(?:legacy)?/redis(?:[:@].*)?$`),
		folder: "/bitnami/redis/data", reads: bitnami, own: true, flags: "REDIS_EXTRA_FLAGS"},
}

func imageOf(name string) (image, bool) {
	i := slices.IndexFunc(images, func(i image) bool { return i.pattern.MatchString(name) })
	if i < 0 {
		return image{}, false
	}
	return images[i], true
}

// plainImages have no entrypoint of their own.
var plainImages = regexp.MustCompile(`^(?:docker\.io/)?(?:library/)?(?:alpine|busybox|debian|ubuntu)(?:[:@].*)?$`)

// runsWords reports whether the entrypoint of an image runs the words that it is given.
func runsWords(name string) bool {
	_, known := imageOf(name)
	return known || plainImages.MatchString(name)
}

func extraFlags(name string) func(*Server, settings.Place, map[string]string) {
	return func(s *Server, at settings.Place, env map[string]string) {
		if value, set := env[name]; set {
			words, err := settings.SplitWords(value)
			if err != nil || value == "$"+name || len(words) > 0 && !strings.HasPrefix(words[0], "--") {
				s.misses(Settings, at, name, "add options to the server's command")
				return
			}
			s.appended = append(s.appended, words...)
		}
	}
}

// bitnami takes the variables of the image (README, Configuration): an append-only file unless it is switched off.
func bitnami(s *Server, at settings.Place, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		short, ours := strings.CutPrefix(name, "REDIS_")
		if !ours {
			continue
		}
		if !slices.Contains(allowed["bitnami variables"], short) {
			s.misses(Settings, at, "the variable "+name, "change the settings")
		}
		switch short {
		case "AOF_ENABLED":
			if !strings.EqualFold(value, "yes") { // else snapshots are saved by the image's own redis.conf
				s.misses(Settings, at, name+" "+value, "be any settings of the image's own redis.conf")
			}
		case "EXTRA_FLAGS":
			extraFlags(name)(s, at, env)
		case "DISABLE_COMMANDS":
			for _, command := range strings.Split(value, ",") {
				s.overrides = append(s.overrides,
					settings.Directive{Place: at, Name: "rename-command", Args: []string{command, ""}})
			}
		case "REPLICATION_MODE":
			if value == "slave" || value == "replica" {
				host := cmp.Or(env["REDIS_MASTER_HOST"], env["REDIS_PRIMARY_HOST"], "another server")
				s.overrides = append(s.overrides, settings.Directive{Place: at, Name: "replicaof", Args: []string{host, "6379"}})
			} else if value != "master" && value != "" {
				s.misses(Settings, at, name+" "+value, "be a replica's")
			}
		}
	}
	s.overrides = append(s.overrides, settings.Directive{Place: at, Name: "appendonly", Args: []string{"yes"}})
}

// inContainer is what a container's description says, in whatever format it stands.
type inContainer struct {
	image, folder  string
	entry, command []string
	hasEntry       bool
	env            map[string]string
	fromFiles      map[string]string // variables of files, which env outranks
	used           []string          // variables that the command has taken
	envAt          settings.Place
	file           string                 // that relative paths begin beside
	named          func(name string) fate // what becomes of a named volume
	unreadEnv      *settings.Place        // variables from somewhere that was not read
	at             settings.Place         // of the command
}

// set takes a variable; one without a value comes from whoever starts the container.
func (c *inContainer) set(pair string) {
	name, value, set := strings.Cut(pair, "=")
	if c.env[name] = value; !set {
		c.env[name] = "$" + name
	}
}

func (s *Server) contained(c inContainer) commandLine {
	known, ok := imageOf(c.image)
	s.folder = cmp.Or(c.folder, known.folder)
	if known.own {
		s.folder = known.folder
	}
	s.variables(c, known, ok)
	line := readCommand(c.at, append(slices.Clone(c.entry), c.command...))
	switch {
	case !ok && line.wrong == "":
		line.wrong = "the image " + c.image +
			", which is none that is known (if it is a copy of one, judge it under that name)"
	case known.own && (c.hasEntry || len(c.command) > 0) && line.wrong == "":
		// Its entrypoint may ignore them, or its settings not count.
		line.wrong = "a command for this image"
	case line.server != "" && !standard(line.server):
		line.wrong = "the program " + line.server
	case ok && !c.hasEntry && known.reads == nil && line.server == "" && line.wrong == "" && line.config == "" &&
		len(c.command) > 0 && len(line.options) == 0:
		line.wrong = "its command"
	case c.hasEntry && len(c.entry) > 0 && line.server == "" && line.wrong == "" && !line.usesImage:
		line.wrong = "an entrypoint that names no server"
	}
	if len(s.appended) > 0 && (!c.hasEntry || line.usesImage) && !line.shell {
		line.options = append(line.options, options(c.envAt, s.appended)...)
		line.unsettled()
	}
	if line.sleep > 0 && line.server == "" && line.wrong == "" {
		line.wrong = "what is started after the sleep"
	}
	s.run(c.at, line)
	if s.config != nil {
		s.config.from(s.folder)
	}
	return line
}

func (s *Server) variables(c inContainer, known image, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(c.fromFiles)) {
		if _, set := c.env[name]; !set {
			c.env[name] = c.fromFiles[name]
		}
	}
	if c.unreadEnv != nil && (!ok || !known.free) {
		s.misses(Settings, *c.unreadEnv, "variables that were not read", "add options to the server, or change the program")
	}
	if c.unreadEnv != nil && ok && known.free {
		s.assume(Program, *c.unreadEnv, "the variables that were not read load no other library into the server")
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		special := ok && known.reads != nil && (strings.HasSuffix(name, "_EXTRA_FLAGS") || strings.HasSuffix(name, "_ARGS"))
		if !inert(name) && !special && !(slices.Contains(c.used, name) && plainName(name)) &&
			name != "ALLOW_EMPTY_PASSWORD" && name != "BITNAMI_DEBUG" {
			s.misses(Program, c.envAt, "the variable "+name, "change what the program does")
		}
	}
	if known.reads != nil {
		known.reads(s, c.envAt, c.env)
		if known.own || len(s.appended) > 0 {
			s.Flags = known.flags
		}
	}
}
