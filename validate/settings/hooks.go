package settings

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// between is what stands between two words of a command: blanks in a text, and commas,
// quotes and dashes in a list, also in one of a line for each.
const between = `["']?(?:[ \t]+|\s*,\s*|\s*\n\s*-[ \t]+)["']?`

// What changes a server while it runs is found by its words, in a hook, a script or a sidecar.
var (
	configSet = regexp.MustCompile(`(?i)\bconfig` + between + `set(?:["'\s,]|$)`)
	nosave    = regexp.MustCompile(`(?i)\bshutdown` + between + `nosave\b`)
	removes   = regexp.MustCompile(`(?i)\b(?:rm|unlink|rmdir|shred|truncate|mkfs\S*)\s|\s-delete\b|--remove\b|\bflush(?:all|db)\b`)
	// ofProcess is a removal of files that are about the process, and hold no data.
	ofProcess = regexp.MustCompile(`\b(?:rm|unlink)(?:\s+-\S+)*(?:\s+\S+\.(?:pid|sock|lock)\b)+`)
)

// changedWhileRunning puts in doubt what is not so for as long as the server runs: settings
// that CONFIG SET changes, and a stop that leaves out the snapshot.
func (p *Policy) changedWhileRunning(sources []source) {
	for _, s := range sources {
		text := withoutComments(s.data)
		for _, found := range configSet.FindAllIndex(text, -1) {
			at := Place{s.file, 1 + bytes.Count(text[:found[0]], []byte("\n"))}
			if !slices.ContainsFunc(p.Remarks, func(r Remark) bool { return r.Place == at }) {
				p.Remarks = append(p.Remarks, Remark{Place: at, Doubts: Crashes,
					What: "CONFIG SET changes the settings while the server runs, and is not read"})
			}
		}
		for _, found := range nosave.FindAllIndex(text, 1) {
			p.nosave = Place{s.file, 1 + bytes.Count(text[:found[0]], []byte("\n"))}
		}
	}
}

// withoutComments is a text whose comments are empty lines.
func withoutComments(data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if isComment(line) {
			lines[i] = ""
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// hooked puts crashes in doubt after which a hook has removed data, or removes them.
func (p *Policy) hooked(at Place, what string, command any, crashes ...Crash) {
	all, err := words(command)
	if text := ofProcess.ReplaceAllString(strings.Join(all, " "), ""); err == nil && !removes.MatchString(text+" ") {
		return
	}
	p.Remarks = append(p.Remarks, Remark{Place: at, Doubts: crashes, Data: true,
		What: what + " removes files or keys, and may leave the server without its data"})
}

// lifecycle weighs what a pod runs beside its server: the hooks of the container, and the
// init containers that see its data, which run again for a pod that is made anew, and at boot.
func (p *Policy) lifecycle(d document, pod, container any) {
	at := p.store.at
	p.hooked(at, "postStart", dig(container, "lifecycle", "postStart", "exec", "command"), Crashes...)
	p.hooked(at, "preStop", dig(container, "lifecycle", "preStop", "exec", "command"), Shutdown)
	for _, first := range list(dig(pod, "initContainers")) {
		name, command := fmt.Sprint("the init container ", dig(first, "name")), slices.Concat(list(dig(first, "command")), list(dig(first, "args")))
		if strings.Contains(fmt.Sprint(command...), "sleep") {
			for _, crash := range moved {
				r := p.Returns[crash]
				r.Unsure = cmp.Or(r.Unsure, name+" may wait")
				p.Returns[crash] = r
			}
		}
		if !shares(first, container) {
			continue
		}
		if all, _ := words(command); len(all) == 0 || !slices.Contains(briefly, filepath.Base(all[0])) && !inShellOnly(all) {
			p.Remarks = append(p.Remarks, Remark{Place: at, Doubts: moved, Data: true, What: name + " is not known, and may remove data"})
			continue
		}
		p.hooked(at, name, command, moved...)
	}
}

// inShellOnly reports whether a command is a shell's text, which can be read.
func inShellOnly(words []string) bool {
	return len(words) == 3 && slices.Contains([]string{"sh", "bash", "ash"}, filepath.Base(words[0])) && strings.HasSuffix(words[1], "c")
}

// shares reports whether two containers of a pod mount the same volume.
func shares(one, other any) bool {
	for _, m := range list(dig(one, "volumeMounts")) {
		if dig(m, "mountPath") != serviceAccount && slices.ContainsFunc(list(dig(other, "volumeMounts")), func(n any) bool { return dig(n, "name") == dig(m, "name") }) {
			return true
		}
	}
	return false
}
