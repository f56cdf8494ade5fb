package settings

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// briefly are programs that need no time and change nothing that a lock depends on.
var briefly = strings.Fields("mkdir install chown chmod chgrp touch test [ true echo ln sysctl setfacl systemd-tmpfiles -")

// sleepOnly is a shell's script that does nothing else.
var sleepOnly = regexp.MustCompile(`^\s*sleep\s+([0-9.]+[smhd]?)\s*;?\s*$`)

// sleeps is how long the unit's ExecStartPre lines sleep at each start, and which of them
// may do more than that.
func (u unit) sleeps(p *Policy) (sum time.Duration, unsure string, err error) {
	for _, a := range u["Service.ExecStartPre"] {
		words, err := splitWords(strings.TrimLeft(a.value, commandPrefixes))
		if err != nil {
			return 0, "", &Problem{Place: a.at, What: err.Error(), Right: "close each quote"}
		}
		privileged := strings.ContainsRune(a.value[:len(a.value)-len(strings.TrimLeft(a.value, commandPrefixes))], '+')
		if len(words) > 0 && !privileged && u.refuses(words[0]) {
			p.Remarks = append(p.Remarks, Remark{Place: a.at, Doubts: Crashes,
				What: fmt.Sprintf("NoExecPaths keeps %s from running, so the server would not start: add ExecPaths=%s",
					words[0], words[0])})
		}
		name := "-"
		if len(words) > 0 {
			name = filepath.Base(words[0])
		}
		if name == "sh" || name == "bash" {
			if m := sleepOnly.FindStringSubmatch(words[len(words)-1]); m != nil && len(words) == 3 && words[1] == "-c" {
				name, words = "sleep", []string{"sleep", m[1]}
			}
		}
		if name == "sleep" && len(words) > 1 {
			d, ok := sleepTime(words[1:])
			if !ok {
				return 0, "", &Problem{Place: a.at, What: fmt.Sprintf("sleep %s is not a time", strings.Join(words[1:], " ")),
					Right: "write it as in /bin/sleep 35"}
			}
			sum += d
			continue
		}
		if slices.Contains(briefly, name) || name == "sleep" {
			p.Remarks = append(p.Remarks, Remark{Place: a.at, What: "ExecStartPre is not a sleep, and is taken to need no time"})
			continue
		}
		unsure = fmt.Sprintf("ExecStartPre=%s (%s) is not a sleep and not known, and may wait, change settings or remove files", name, a.at)
		p.notRead(a.at, unsure)
	}
	return sum, unsure, nil
}

// command reads ExecStart.
func (u unit) command(p *Policy) commandLine {
	a := u.last("Service.ExecStart", "")
	if container := u["Container.Image"]; len(container) > 0 {
		p.notRead(container[0].at, "a Podman quadlet's section Container is not read: "+
			"give the settings with --config and --restart-delay in place of this file")
	}
	words, err := splitWords(strings.TrimLeft(a.value, commandPrefixes))
	if err != nil || len(words) == 0 {
		return commandLine{}
	}
	p.store.at = a.at
	c := readCommand(a.at, u.expanded(p.File, words))
	if c.config != nil {
		c.config.ofUnit(p.File)
	}
	p.started(c)
	return c
}

// beside puts in doubt what runs beside the server at a start and at a stop, and is not
// known, or removes data.
func (u unit) beside(p *Policy) {
	for _, key := range []string{"ExecStartPost", "ExecStop", "ExecStopPost"} {
		for _, a := range u["Service."+key] {
			all, err := splitWords(strings.TrimLeft(a.value, commandPrefixes))
			if err != nil || len(all) == 0 {
				continue
			}
			p.hooked(a.at, key, strings.Join(all, " "), Crashes...)
			if name := filepath.Base(all[0]); key != "ExecStop" && !slices.Contains(briefly, name) &&
				!slices.Contains(plainly, name) && !inShellOnly(all) {
				p.notRead(a.at, fmt.Sprintf("%s=%s (%s) is not known, and may change settings or remove files", key, name, a.at))
			}
		}
	}
	for _, key := range []string{"RootImage", "RootDirectory"} {
		if a := u.last("Service."+key, ""); a.at.File != "" {
			p.notRead(a.at, key+" has the server see other files than these: give the settings with --config and --restart-delay in place of this file")
		}
	}
}

// plainly are programs that say or ask something: what they set by CONFIG SET is found by its words.
var plainly = strings.Fields("redis-cli valkey-cli kill systemctl logger sleep systemd-notify systemd-cat")

// unitVariable is a variable in a unit's command (systemd.service(5), Command Lines).
var unitVariable = regexp.MustCompile(`\$\$|\$\{?([A-Za-z_]\w*)\}?`)

// expanded is a command with the instance of a unit, and with the variables of Environment=,
// where no EnvironmentFile outranks them: $NAME as a word of its own is several words.
func (u unit) expanded(file string, words []string) (all []string) {
	prefix, instance, template := strings.Cut(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), "@")
	values := map[string]string{}
	for _, a := range u["Service.Environment"] {
		pairs, _ := splitWords(a.value)
		for _, pair := range pairs {
			if name, value, ok := strings.Cut(pair, "="); ok && len(u["Service.EnvironmentFile"]) == 0 {
				values[name] = value
			}
		}
	}
	for _, word := range words {
		specifiers := []string{"%%", "%", "%p", prefix}
		if template && instance != "" {
			specifiers = append(specifiers, "%i", instance, "%I", instance)
		}
		word = strings.NewReplacer(specifiers...).Replace(word)
		if name, alone := strings.CutPrefix(word, "$"); alone && !strings.ContainsAny(name, "${") {
			if value, known := values[name]; known {
				all = append(all, strings.Fields(value)...)
				continue
			}
		}
		all = append(all, unitVariable.ReplaceAllStringFunc(word, func(found string) string {
			if value, known := values[strings.Trim(found, "${}")]; known {
				return value
			}
			return found
		}))
	}
	return all
}

// abruptly is a command that does not let a server shut down.
var abruptly = regexp.MustCompile(`\bkill(?:all)?\s+(?:-s\s*|-)(?:9|KILL|SIGKILL)\b`)

// storage is what becomes of a service's folders when it stops (systemd.exec(5)).
func (u unit) storage(file string) storage {
	st := storage{at: Place{File: file}}
	if a := u.last("Service.WorkingDirectory", ""); a.at.File != "" {
		st.at, st.folder = a.at, strings.TrimPrefix(a.value, "-")
	}
	if u.says("Service.PrivateTmp") || u.says("Service.DynamicUser") { // which implies it
		for _, folder := range []string{"/tmp", "/var/tmp"} {
			st.mounts = append(st.mounts, mount{target: folder, fate: gone("the data are in %s, which PrivateTmp empties at each stop", folder)})
		}
	}
	for _, folder := range u.words("Service.TemporaryFileSystem") {
		folder, _, _ = strings.Cut(folder, ":")
		st.mounts = append(st.mounts, mount{target: folder, fate: gone("the data are in %s, a TemporaryFileSystem", folder)})
	}
	for _, bound := range u.words("Service.BindPaths") {
		parts := strings.Split(strings.TrimPrefix(bound, "-"), ":")
		st.mounts = append(st.mounts, mount{target: parts[min(1, len(parts)-1)], fate: inMemory(parts[0])})
	}
	for _, folder := range u.words("Service.RuntimeDirectory") {
		folder, _, _ = strings.Cut(folder, ":")
		in := inMemory("/run/" + folder)
		switch u.last("Service.RuntimeDirectoryPreserve", "no").value {
		case "yes", "true", "on", "1":
		case "restart":
			in.doubted = []Crash{Shutdown}
		default:
			in = gone("the data are in /run/%s, a RuntimeDirectory, which is removed at each stop", folder)
		}
		st.mounts = append(st.mounts, mount{target: "/run/" + folder, fate: in}, mount{target: "/var/run/" + folder, fate: in})
	}
	st.abrupt = signalled("KillSignal", u.last("Service.KillSignal", "").value)
	for _, a := range u["Service.ExecStop"] {
		if abruptly.MatchString(a.value) {
			st.abrupt = "ExecStop kills the server without a last snapshot"
		}
	}
	return st
}

// says reports whether a key is one of systemd's words for yes.
func (u unit) says(key string) bool {
	return slices.Contains([]string{"yes", "true", "on", "1", "disconnected"}, strings.ToLower(u.last(key, "no").value))
}

// words are those of all lines of a key.
func (u unit) words(key string) (all []string) {
	for _, a := range u[key] {
		all = append(all, strings.Fields(a.value)...)
	}
	return all
}
