package deploy

import (
	"path"
	"strings"

	"example.org/lockproof/validate/settings"
)

func (s *Server) environment(u *unit) {
	u.values = map[string]string{}
	command := ""
	for _, a := range append(u.all("Service.ExecStart"), u.all("Service.ExecStartPre")...) {
		command += a.value + "\n"
	}
	set := func(at settings.Place, name, value string) {
		u.values[name] = value
		used := strings.Contains(command, "$"+name) || strings.Contains(command, "${"+name)
		if !inert(name) && !(used && plainName(name)) {
			s.misses(Program, at, "the variable "+name, "change what the program does")
		}
	}
	for _, a := range u.all("Service.Environment") {
		pairs, err := unitWords(a.value)
		if err != nil {
			s.misses(Program, a.at, "this Environment=", "change the program")
		}
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			if written, known := u.specified(value); known {
				value = written
			} else {
				value = "$" + name
			}
			set(a.at, name, value)
		}
	}
	for _, a := range u.all("Service.EnvironmentFile") { // which outranks Environment=
		file, known := u.specified(strings.TrimPrefix(a.value, "-"))
		values, err := readEnvironment(u.root+file, false)
		if err != nil || !known || !u.inUse {
			u.unreadable = true
			s.misses(Settings, a.at, "the variables of a file that was not read", "change the program or its options")
			continue
		}
		for _, name := range sortedKeys(values) {
			set(settings.Place{File: u.root + file}, name, values[name])
		}
	}
}

// unitFolders are where the folders that systemd makes for a unit lie.
var unitFolders = map[string]string{"State": "/var/lib", "Runtime": "/run", "Cache": "/var/cache", "Logs": "/var/log",
	"Configuration": "/etc"}

// folders establishes what becomes of a service's folders when it stops (systemd.exec(5)).
func (s *Server) folders(u *unit) {
	see := func(key, target string, f fate) {
		s.mounts = append(s.mounts, mount{at: u.last("Service."+key, "").at, target: target, fate: f})
	}
	if a := u.last("Service.WorkingDirectory", ""); a.value != "" {
		folder, known := u.specified(strings.TrimPrefix(a.value, "-"))
		if s.folder = folder; !known || !path.IsAbs(folder) {
			s.misses(Data, a.at, "the folder "+a.value, "be anywhere")
		}
	}
	if u.yes("Service.PrivateTmp") {
		for _, folder := range []string{"/tmp", "/var/tmp"} {
			see("PrivateTmp", folder, gone("the data are in %s, which PrivateTmp empties at each stop", folder))
		}
	}
	for _, folder := range []string{"/home", "/root", "/run/user"} {
		switch strings.ToLower(u.last("Service.ProtectHome", "no").value) {
		case "no", "false", "off", "0", "read-only":
		default: // nothing is there to be read
			see("ProtectHome", folder, doubtful("ProtectHome hides %s", folder))
		}
	}
	for _, name := range u.words("Service.RuntimeDirectory") {
		for _, folder := range []string{"/run/", "/var/run/"} { // which leads to it
			see("RuntimeDirectory", folder+name, gone("the data are in /run/%s, a RuntimeDirectory, which is removed at each "+
				"stop", name))
		}
	}
}
