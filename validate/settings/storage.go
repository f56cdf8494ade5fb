package settings

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// fate is what becomes of a folder when its server goes down.
type fate struct {
	lost    []Crash // after which it is empty
	doubted []Crash // after which it may be
	why     string  // one clause
}

// mount is a folder that is apart from what lies around it.
type mount struct {
	target string
	fate   fate
	source string // the named volume or folder that is seen there, "" for one of nobody else's
}

// storage is where a server keeps its data, as far as a policy's file says.
type storage struct {
	at     Place
	folder string  // that the server starts in, "" if nobody says so
	mounts []mount // the one that is the nearest above a folder counts
	rest   fate    // of what is on none of them
	// abrupt is why what stops the server does not let it shut down, "" if nothing is said.
	abrupt string
}

// inMemory is a folder of the machine that is memory, or is where systems let it be.
func inMemory(dir string) (f fate) {
	for _, folder := range []string{"/dev/shm", "/run", "/var/run"} {
		if _, below := within(dir, folder); below {
			return fate{lost: []Crash{PowerLoss}, why: fmt.Sprintf("the data are in %s, which is memory", dir)}
		}
	}
	if _, below := within(dir, "/tmp"); below {
		return fate{doubted: []Crash{PowerLoss}, why: fmt.Sprintf("dir %s is memory on many systems, and a power loss empties it", dir)}
	}
	return fate{}
}

// of is what becomes of a folder.
func (s storage) of(dir string) fate {
	if m := s.mountOf(dir); m != nil {
		return m.fate
	}
	if s.rest.why == "" {
		return inMemory(dir)
	}
	return s.rest
}

// mountOf is the mount that a folder is on, nil for none.
func (s storage) mountOf(dir string) (found *mount) {
	for i, m := range s.mounts {
		if _, below := within(dir, m.target); below && (found == nil || len(path.Clean(m.target)) >= len(path.Clean(found.target))) {
			found = &s.mounts[i]
		}
	}
	return found
}

// shared gives the place of a folder in a named volume or a folder of the machine, "" for
// what no other server can have.
func (s storage) shared(dir string) string {
	m := s.mountOf(dir)
	if m == nil || m.source == "" {
		return ""
	}
	rest, _ := within(dir, m.target)
	return path.Join(m.source, rest)
}

// dir is the folder that the settings name, "" for none.
func (s *Redis) dir() string {
	for _, d := range slices.Backward(s.Directives) {
		if d.Name == "dir" && len(d.Args) == 1 {
			return d.Args[0]
		}
	}
	return ""
}

// keeps finds out what becomes of the server's data at each crash.
func (s *Redis) keeps(p Policy) {
	s.Lost = map[Crash]string{}
	dir := s.folder(p)
	if container := p.Kind == Compose || p.Kind == Kubernetes; container && !path.IsAbs(dir) {
		s.Remarks = append(s.Remarks, Remark{Place: p.store.at, Doubts: Crashes, Data: true,
			What: "which folder the server writes to is not known, for its image is not: set dir"})
	}
	if path.IsAbs(dir) {
		f := p.store.of(path.Clean(dir))
		for _, crash := range f.lost {
			s.Lost[crash] = f.why
		}
		if len(f.doubted) > 0 {
			s.Remarks = append(s.Remarks, Remark{Place: p.store.at, What: f.why, Doubts: f.doubted, Data: true})
		}
		s.apart(p, path.Clean(dir), f)
		s.together(p, path.Clean(dir))
	}
	s.stops(p)
}

// folder is where a policy's server writes to, "" or a relative path where that is not known.
func (s *Redis) folder(p Policy) string {
	dir := s.dir()
	if !path.IsAbs(dir) && p.store.folder != "" {
		return path.Join(p.store.folder, dir)
	}
	return dir
}

// apart puts in doubt an append-only file whose own folder, which Redis 7 has it in, is
// mounted apart from dir: it has another fate.
func (s *Redis) apart(p Policy, dir string, around fate) {
	name := "appendonlydir"
	for _, d := range s.Directives {
		if d.Name == "appenddirname" && len(d.Args) == 1 {
			name = d.Args[0]
		}
	}
	m := p.store.mountOf(path.Join(dir, name))
	if !s.AppendOnly || m == nil {
		return
	}
	if _, below := within(m.target, dir); !below || path.Clean(m.target) == dir || slices.Equal(m.fate.lost, around.lost) &&
		slices.Equal(m.fate.doubted, around.doubted) {
		return
	}
	s.Remarks = append(s.Remarks, Remark{Place: p.store.at, Doubts: Crashes, Data: true, What: fmt.Sprintf(
		"%s is mounted apart from %s, and one of them does not keep what the other does: let both be on one volume", m.target, dir)})
}

// together puts in doubt servers that write the same files.
func (s *Redis) together(p Policy, dir string) {
	here := p.store.shared(dir)
	for _, o := range p.others {
		theirs, err := Disk.readSettings("", nil, o.policy.Config)
		if here == "" || err != nil || theirs.Apply(o.policy.Overrides) != nil || o.policy.store.shared(theirs.folder(o.policy)) != here {
			continue
		}
		s.Remarks = append(s.Remarks, Remark{Place: o.at, Doubts: Crashes, Data: true, What: fmt.Sprintf(
			"%s writes to the same %s, and each overwrites what the other has written: give each a volume of its own", o.name, here)})
	}
}

// stops finds out what becomes of a snapshot when the server is stopped.
func (s *Redis) stops(p Policy) {
	if s.AppendOnly { // which a stop has nothing to add to
		s.Remarks = slices.DeleteFunc(s.Remarks, func(r Remark) bool { return strings.HasPrefix(r.What, "shutdown-on-sig") })
		return
	}
	for i, r := range s.Remarks {
		if strings.HasPrefix(r.What, "shutdown-on-sig") {
			s.Remarks[i].Data = true
		}
	}
	if p.store.abrupt != "" && s.Lost[Shutdown] == "" {
		s.Lost[Shutdown] = p.store.abrupt
	}
	if p.nosave.File != "" {
		s.Remarks = append(s.Remarks, Remark{Place: p.nosave, Doubts: []Crash{Shutdown}, Data: true,
			What: "SHUTDOWN NOSAVE leaves out the snapshot"})
	}
}

// clean are the signals at which a server shuts down as for SHUTDOWN.
var clean = []string{"", "TERM", "15", "INT", "2"}

// signalled says why a stop by a signal is none that the server shuts down at, or "".
func signalled(key, signal string) string {
	if slices.Contains(clean, strings.TrimPrefix(strings.ToUpper(signal), "SIG")) {
		return ""
	}
	return fmt.Sprintf("%s %s ends the server without a last snapshot", key, signal)
}

// gone is the fate of what goes with a container or a unit that stops.
func gone(format string, args ...any) fate {
	return fate{lost: Crashes, why: fmt.Sprintf(format, args...)}
}
