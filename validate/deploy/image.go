package deploy

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// image is what is known of a container image.
type image struct {
	pattern *regexp.Regexp
	// flags is the variable by which the entrypoint adds options to the server's own; "": it reads none, so that
	// variables that nobody has read are no risk.
	flags string
}

// images are the recognised ones. Sources: docker-library/redis (docker-entrypoint.sh), valkey-io/valkey-container.
var images = []image{
	{pattern: regexp.MustCompile(`^(?:docker\.io/|mirror\.gcr\.io/|` +
		`public\.ecr\.aws/docker/)?(?:library/)?redis(?:[:@].*)?$`)},
	{pattern: regexp.MustCompile(`^(?:docker\.io/)?valkey/valkey(?:[:@].*)?$`), flags: "VALKEY_EXTRA_FLAGS"},
}

// imageFolder is where the server of an image starts, which each of them declares as a volume.
const imageFolder = "/data"

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

// flags takes the options that a variable adds to the server's own.
func (s *Server) flags(at settings.Place, name, value string) {
	words, err := settings.SplitWords(value)
	if err != nil || value == "$"+name || len(words) > 0 && !strings.HasPrefix(words[0], "--") {
		s.unknown(Settings, at, name, "add options to the server's command")
		return
	}
	s.appended = words
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
	unreadEnv      *settings.Place // variables from somewhere that was not read
	at             settings.Place  // of the command
}

func (s *Server) contained(c inContainer) commandLine {
	known, ok := imageOf(c.image)
	if s.folder = c.folder; ok {
		s.folder = cmp.Or(c.folder, imageFolder)
	}
	s.variables(c, known, ok)
	line := readCommand(c.at, append(slices.Clone(c.entry), c.command...))
	switch {
	case !ok && line.wrong == "":
		line.wrong = "the image " + c.image +
			", which is none that is known (if it is a copy of one, judge it under that name)"
	case ok && !c.hasEntry && line.server == "" && line.wrong == "" && line.config == "" &&
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
	switch {
	case c.unreadEnv == nil:
	case ok && known.flags == "":
		s.assume(Program, *c.unreadEnv, "the variables that were not read load no other library into the server")
	default:
		s.unknown(Settings, *c.unreadEnv, "variables that were not read", "add options to the server, or change the program")
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		if !inert(name) && !(slices.Contains(c.used, name) && plainName(name)) {
			s.unknown(Program, c.envAt, "the variable "+name, "change what the program does")
		}
	}
	if value, set := c.env[known.flags]; set {
		s.flags(c.envAt, known.flags, value)
	}
	if len(s.appended) > 0 {
		s.Flags = known.flags
	}
}
