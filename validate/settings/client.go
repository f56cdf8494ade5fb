package settings

import (
	"slices"
	"strings"
)

// Client is redis-cli with the flags that reach this server and no other: its port or its socket, TLS, its address if
// it does not listen on 127.0.0.1, and a prompt for its password.
func (s *Redis) Client() string {
	words := []string{"redis-cli"}
	if login := s.Login(); login != "" {
		words = append(words, login)
	}
	listens := s.last("bind").Args
	local := func(address string) bool {
		return slices.Contains([]string{"127.0.0.1", "0.0.0.0", "*", ""}, strings.TrimPrefix(address, "-"))
	}
	port, tls := s.Last("port"), s.Last("tls-port")
	secure := port == "0" && tls != "" && tls != "0"
	if secure {
		port = tls
		words = append(words, "--tls")
	}
	switch {
	case port == "0":
		return strings.Join(append(words, "-s", s.Last("unixsocket")), " ")
	case len(listens) > 0 && !slices.ContainsFunc(listens, local):
		words = append(words, "-h", strings.TrimPrefix(listens[0], "-"))
	}
	if port != "" && port != "6379" {
		words = append(words, "-p", port)
	}
	return strings.Join(words, " ")
}

// Login is the flag that makes redis-cli prompt for a password, "" if the server needs none.
func (s *Redis) Login() string {
	if s.Last("requirepass") == "" {
		return ""
	}
	return "--askpass"
}

// Renames reports whether rename-command renames or disables a command.
func (s *Redis) Renames(command string) bool {
	return slices.ContainsFunc(s.Directives, func(d Directive) bool {
		return d.Name == "rename-command" && len(d.Args) > 0 && strings.EqualFold(d.Args[0], command)
	})
}
