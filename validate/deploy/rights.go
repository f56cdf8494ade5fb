package deploy

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/validate/settings"
)

// right is who owns a path of the machine, and with which mode, once a command or systemd-tmpfiles was there; "" for
// what stays as it was.
type right struct {
	at                settings.Place
	path, owner, mode string
}

// rightsOf are those that a command gives. What is not understood of it is a mode that nobody writes with.
func rightsOf(at settings.Place, words []string) (all []right) {
	if text, ok := script(words); ok {
		for _, part := range shellParts(text) {
			words, _ := settings.SplitWords(part)
			all = append(all, rightsOf(at, words)...)
		}
		return all
	}
	if len(words) == 0 || !slices.Contains(setters, filepath.Base(words[0])) {
		return nil
	}
	given := right{at: at, mode: "?"}
	args, understood := afterFlags(words[1:], "R v c f h recursive verbose changes silent quiet no-dereference")
	switch name := filepath.Base(words[0]); {
	case name == "install":
		given.mode = ""
		for i, word := range words[:len(words)-1] {
			switch value := words[i+1]; word {
			case "-o", "--owner":
				given.owner = value
			case "-m", "--mode":
				given.mode = value
			}
		}
	case understood && name == "chown":
		owner, _, _ := strings.Cut(args[0], ":")
		given.owner, given.mode = owner, ""
	case understood && name == "chmod":
		given.mode = args[0]
	}
	for _, word := range words[1:] {
		if given.path = word; path.IsAbs(word) {
			all = append(all, given)
		}
	}
	return all
}

// setters of rights.
var setters = strings.Fields("chown chmod chgrp setfacl install")

// symbol is one symbolic change of a mode that lets the owner write, or is not about the owner.
const symbol = `(?:[ugoa]*\+[rwxXst]+|u=[rxX]*w[rwxX]*|[go]+[-=][rwxXst]*)`

// writable are modes by which the owner may write.
var writable = regexp.MustCompile(`^[~:]?(?:|-|[0-7]?[2367][0-7]{2}|` + symbol + `(?:,` + symbol + `)*)$`)

// imageUsers are those that the images' servers run as.
var imageUsers = regexp.MustCompile(`^(?:redis|valkey|999|1001)$`)

// rightsBeside puts a last snapshot in doubt where a command beside the server may take its folder from its user.
func (s *Server) rightsBeside(at settings.Place, who string, command []string, user string) {
	for _, r := range rightsOf(at, command) {
		if !writable.MatchString(r.mode) || r.owner != "" && r.owner != user && !imageUsers.MatchString(r.owner) {
			s.unsureStop = &Link{Place: at, What: who + " may take the folder from the server's user, who cannot save " +
				"there then"}
		}
	}
}

// keepsOut reports whether the server's user may not be able to write to its folder because of a right. Root may.
func (s *Server) keepsOut(r right, dir string) bool {
	if s.unit == nil {
		return false
	}
	user, _ := s.unit.specified(s.unit.last("Service.User", "root").value)
	begin := r.path[:strings.IndexAny(r.path+"*", "*?[%")]
	near := overlap(path.Clean(begin), dir) || begin != r.path && strings.HasPrefix(dir, begin)
	return near && user != "root" && user != "0" &&
		(!slices.Contains([]string{user, "-"}, cmp.Or(r.owner, "-")) || !writable.MatchString(r.mode))
}
