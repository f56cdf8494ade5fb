package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.org/lockproof/internal/input"
	"example.org/lockproof/validate/settings"
)

// configFile is the redis.conf that a server's command names.
type configFile struct {
	place        settings.Place // of the command
	path         string         // as the server sees it
	text, name   string         // its content and source, if another file has it
	file         string         // its path on this machine, "" if unknown
	unreadReason string
}

// findBeside finds a file of this machine that a compose file names.
func (c *configFile) findBeside(policy, file string) {
	switch {
	case strings.ContainsAny(file, "$~"):
		c.unreadReason = fmt.Sprintf("it is %s, which depends on who starts it", file)
		return
	case filepath.IsAbs(file):
		c.file = file
	default:
		c.file = filepath.Join(filepath.Dir(policy), file)
	}
	if _, err := os.Stat(c.file); errors.Is(err, fs.ErrNotExist) {
		c.unreadReason, c.file = fmt.Sprintf("there is no %s", c.file), ""
	}
}

func (s *Server) readSettings() (err error) {
	c := s.config
	switch {
	case s.given != nil:
		copied := *s.given
		s.Redis = &copied
		s.Redis.Directives = slices.Clone(s.given.Directives)
		s.establish(Settings, s.CommandPlace, "%s, which was given", s.given.File)
	case c == nil:
		s.Redis = settings.Default()
		s.establish(Settings, s.CommandPlace, "no redis.conf: defaults and options")
	case c.name != "":
		s.Redis, err = settings.ParseRedis(c.name, c.text)
		s.establish(Settings, c.place, "%s", c.name)
	default:
		text := ""
		if c.file != "" {
			data, cause := input.Read(c.file, input.Config)
			if text = string(data); cause != nil {
				c.unreadReason, c.file = fmt.Sprintf("%s: %v", c.file, input.Cause(cause)), ""
			}
		}
		if s.onMachine() && (s.unit == nil || s.unit.root == "") {
			s.Redis, err = settings.ReadRedis(c.file)
		} else { // includes have other paths on this machine
			s.Redis, err = settings.ParseRedis(c.file, text)
		}
		if c.file == "" {
			s.Unread = true
			because := ""
			if c.unreadReason != "" {
				because = " (" + c.unreadReason + ")"
			}
			s.doubt(Settings, c.place,
				fmt.Sprintf("the server is started with %s, which was not read%s: give it too", c.path, because))
		} else {
			s.establish(Settings, settings.Place{File: c.file}, "%s", c.file)
		}
	}
	return err
}

// judgeDirectives breaks the links that unknown or doubtful directives leave open.
func (s *Server) judgeDirectives(redis *settings.Redis, ignore []string) {
	for _, d := range redis.Unknown {
		if !slices.Contains(ignore, d.Name) {
			s.unknown(Settings, d.Place, "the directive "+d.Name,
				"change what a lock needs (--ignore "+d.Name+" if you know that it does not)")
		}
	}
	for _, r := range redis.Remarks {
		link := Settings
		switch {
		case r.Data:
			link = Data
		case r.Others:
			link = Single
		}
		s.doubt(link, r.Place, r.What)
	}
}

func (c *configFile) from(folder string) {
	if !path.IsAbs(c.path) && folder != "" {
		c.path = path.Join(folder, c.path)
	}
}
