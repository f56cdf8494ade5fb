package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockproof/internal/input/yamlfile"
)

// start is where a policy's file says how the server is started.
type start struct {
	// at is the service or container, and first and second are the keys of its command: the
	// image has what the first stands for where it is not there.
	at            yamlfile.Path
	first, second string
	values        map[string]any
	image         string
	probes        any    // the container, which may have some
	exec          string // a unit's ExecStart
	script        bool   // it is one of a shell
	sleep         time.Duration
	unsure        string
}

func startOf(at yamlfile.Path, service any, first, second string) start {
	image, _ := dig(service, "image").(string)
	return start{at: at, first: first, second: second, image: image, probes: service,
		values: map[string]any{first: dig(service, first), second: dig(service, second)}}
}

func anys(words []string) (list []any) {
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

// ofRedis are images whose entrypoint is Docker's official one, by their names without a
// tag: it starts what it is given, with the rights of a user that it makes.
var ofRedis = regexp.MustCompile(`^(?:[^/]*[.:][^/]*/(?:docker/)?)?(?:(?:library/)?redis|valkey/valkey)(?:[:@][^/]*)?$`)

// official says why the image's entrypoint is not known, or nil.
func (st start) official() error {
	if ofRedis.MatchString(st.image) {
		return nil
	}
	return fmt.Errorf("what the image %q starts its server with is not known", st.image)
}

// setOption puts a line of redis.conf on the server's command line.
func (f Files) setOption(line string, p Policy) (Files, error) {
	name, value, _ := strings.Cut(line, " ")
	st := p.start
	switch {
	case st.unsure != "":
		return nil, errors.New(st.unsure)
	case p.Kind == Systemd && st.exec == "":
		return nil, fmt.Errorf("%s has no ExecStart", p.File)
	case p.Kind == Systemd:
		command, found := optionInText(st.exec, name, value)
		if !found && st.script {
			return nil, errors.New("ExecStart is a script")
		}
		if !found {
			command += " --" + line
		}
		return f.inDropIn(p, "ExecStart=", "ExecStart="+command)
	}
	for _, key := range []string{st.first, st.second} {
		if changed, found := st.option(key, name, value); found {
			return f.putBelow(p, changed, "image", key)
		}
	}
	for _, key := range []string{st.second, st.first} {
		if st.values[key] != nil {
			changed, err := st.added(key, line)
			if err != nil {
				return nil, err
			}
			return f.putBelow(p, changed, "image", key)
		}
	}
	if err := st.official(); err != nil {
		return nil, err
	}
	return f.putBelow(p, []any{"redis-server", "--" + name, value}, "image", st.second)
}

// optionInText changes the value of an option that a command has.
func optionInText(command, name, value string) (changed string, found bool) {
	option := regexp.MustCompile(`((?:^|\s)--` + regexp.QuoteMeta(name) + `\s+)([A-Za-z0-9_-]+)(\s|['"]?$)`)
	if len(option.FindAllString(command, 2)) != 1 {
		return command, false
	}
	return option.ReplaceAllString(command, "${1}"+value+"${3}"), true
}

// option changes the value of an option in a key's command.
func (st start) option(key, name, value string) (changed any, found bool) {
	switch v := st.values[key].(type) {
	case string:
		return optionInText(v, name, value)
	case []any:
		list := slices.Clone(v)
		if st.script && len(list) > 0 {
			last := len(list) - 1
			list[last], found = optionInText(fmt.Sprint(list[last]), name, value)
			return list, found
		}
		for i, word := range list {
			last := i+2 == len(list) || i+2 < len(list) && strings.HasPrefix(fmt.Sprint(list[i+2]), "--")
			if last && strings.EqualFold(fmt.Sprint(word), "--"+name) {
				list[i+1] = value
				return list, true
			}
		}
	}
	return nil, false
}

// added puts an option at the end of a key's command; the last of a name counts.
func (st start) added(key, line string) (any, error) {
	name, value, _ := strings.Cut(line, " ")
	switch v := st.values[key].(type) {
	case string:
		if !st.script {
			return strings.TrimRight(v, " \n") + " --" + line, nil
		}
	case []any:
		list := slices.Clone(v)
		if !st.script {
			return append(list, "--"+name, value), nil
		}
		if last := len(list) - 1; last >= 0 {
			list[last] = strings.TrimRight(fmt.Sprint(list[last]), " \n") + " --" + line
			return list, nil
		}
	}
	return nil, fmt.Errorf("%s is a script in one text", key)
}

// putBelow gives the files with a value of the service or container set; where its key is
// new, it comes after another.
func (f Files) putBelow(p Policy, value any, after string, steps ...any) (Files, error) {
	return f.put(p.File, func(data []byte) ([]byte, error) { return yamlfile.Put(data, p.start.at.Below(steps...), value, after) })
}
