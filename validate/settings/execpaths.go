package settings

import "strings"

// Sleep is the program that keeps a server of systemd's away.
const Sleep = "/bin/sleep"

// commandPrefixes may stand before a command in a unit (systemd.service(5)).
const commandPrefixes = "-@:+!"

// refuses reports whether NoExecPaths keep the unit from running a program. Of
// the paths that it lies below, the longest counts; ExecPaths wins a draw
// (systemd.exec(5)).
func (u unit) refuses(program string) bool {
	return u.longest("Service.NoExecPaths", program) > u.longest("Service.ExecPaths", program)
}

// longest is the length of the longest of a key's paths that the program is or
// lies below, 0 for none.
func (u unit) longest(key, program string) int {
	longest := 0
	for _, a := range u[key] {
		for _, path := range strings.Fields(a.value) {
			path = merged(strings.TrimLeft(path, "-+")) + "/"
			if strings.HasPrefix(merged(program)+"/", path) {
				longest = max(longest, len(path))
			}
		}
	}
	return longest
}

// merged is the path where /bin and /sbin lead to /usr, as they do wherever
// systemd is of today (file-hierarchy(7)).
func merged(path string) string {
	path = strings.TrimRight(path, "/")
	if first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); first == "bin" || first == "sbin" {
		return "/usr" + path
	}
	return path
}
