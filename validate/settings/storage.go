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
	found, longest := s.rest, -1
	if s.rest.why == "" {
		found = inMemory(dir)
	}
	for _, m := range s.mounts {
		if _, below := within(dir, m.target); below && len(path.Clean(m.target)) >= longest {
			found, longest = m.fate, len(path.Clean(m.target))
		}
	}
	return found
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
	dir := s.dir()
	if !path.IsAbs(dir) && p.store.folder != "" {
		dir = path.Join(p.store.folder, dir)
	}
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
	}
	s.stops(p)
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
