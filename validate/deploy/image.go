package deploy

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// The recognised images. Sources: docker-library/redis (docker-entrypoint.sh), valkey-io/valkey-container.
var (
	redisImage = regexp.MustCompile(`^(?:docker\.io/|mirror\.gcr\.io/|public\.ecr\.aws/docker/)?(?:library/)?` +
		`redis(?:[:@].*)?$`)
	// valkeyImage has an entrypoint that adds the options of extraFlags to the server's own.
	valkeyImage = regexp.MustCompile(`^(?:docker\.io/)?valkey/valkey(?:[:@].*)?$`)
)

const extraFlags = "VALKEY_EXTRA_FLAGS"

// imageFolder is the working directory of the known images; each declares it as a volume.
const imageFolder = "/data"

func knownImage(name string) bool {
	return redisImage.MatchString(name) || valkeyImage.MatchString(name)
}

// plainImages have no entrypoint.
var plainImages = regexp.MustCompile(`^(?:docker\.io/)?(?:library/)?(?:alpine|busybox|debian|ubuntu)(?:[:@].*)?$`)

// runsWords reports whether an image's entrypoint runs its arguments as a command.
func runsWords(name string) bool {
	return knownImage(name) || plainImages.MatchString(name)
}

// container is a container of any format.
type container struct {
	place          settings.Place
	name, label    string
	names          []string // by which other containers reach it
	image, folder  string
	entry, command []string
	hasEntry       bool
	at             settings.Place // of the command
	written        any            // its variables, uninterpreted
	env            map[string]string
	fromFiles      map[string]string // variables of files; env outranks them
	used           []string          // variables in the command
	envAt          settings.Place
	unreadEnv      *settings.Place // of variables that were not read
	checks         []check
	plain          bool          // its words alone decide what it does, not its image or variables
	once           bool          // it ends, or starts before a server
	storage, reach func(*Server) // read its mounts, and judge its access beyond them
	server         func() *Server
}

// check is a command that an engine or kubelet runs in a container, and the link that it could break.
type check struct {
	at      settings.Place
	what    string
	words   []string
	link    LinkName
	crashes []settings.Crash
}

func (c container) words() []string { return slices.Concat(c.entry, c.command) }

// contained reads a server in a container, except for its restart.
func (s *Server) contained(c container) commandLine {
	ok := knownImage(c.image)
	s.Software = imageSoftware(c.image)
	if s.folder = c.folder; ok {
		s.folder = cmp.Or(c.folder, imageFolder)
	}
	s.variables(c)
	line := c.read()
	// The known images start a server for no command, and for options or a file.
	byImage := len(c.words()) == 0 && !c.hasEntry ||
		(line.usesImage || !c.hasEntry) && line.sleep == 0 && (line.config != "" || len(line.options) > 0)
	switch {
	case line.wrong != "":
	case !ok:
		line.wrong = "the image " + c.image +
			", which is none that is known (if it is a copy of one, judge it under that name)"
	case line.server == "" && !byImage:
		line.wrong = "a command that starts no server"
	}
	s.run(c.at, line)
	if s.config != nil {
		s.config.from(s.folder)
	}
	s.loadConfig()
	for _, k := range c.checks {
		s.hook(k.at, k.what, k.words, k.link, k.crashes...)
	}
	return line
}

// read reads the command, and the options that Valkey's entrypoint adds to it, split as a shell does.
func (c container) read() commandLine {
	line, flags := readCommand(c.at, c.words()), c.env[extraFlags]
	switch {
	case flags == "" || !valkeyImage.MatchString(c.image) || c.hasEntry && !line.usesImage:
		return line
	case strings.ContainsAny(flags, `"'\*?[`):
		return commandLine{wrong: "quotes or patterns in " + extraFlags}
	case len(c.words()) == 0:
		return readCommand(c.at, append([]string{"valkey-server"}, strings.Fields(flags)...))
	}
	return readCommand(c.at, append(c.words(), strings.Fields(flags)...))
}

func (s *Server) variables(c container) {
	for _, name := range slices.Sorted(maps.Keys(c.fromFiles)) {
		if _, set := c.env[name]; !set {
			c.env[name] = c.fromFiles[name]
		}
	}
	if c.unreadEnv != nil {
		s.unknown(Settings, *c.unreadEnv, "variables that were not read", "add options to the server, or change the program")
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		s.variable(c.envAt, name, slices.Contains(c.used, name))
	}
}
