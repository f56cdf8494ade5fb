package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes make a child die with the thread that forks it, and keep a Ctrl-C at the terminal away from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// send signals the process, and its children if it has a group.
func (p *Process) send(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil || !p.group || s == syscall.SIGKILL {
		return err // endGroup kills the group after its leader
	}
	return unix.Kill(-p.cmd.Process.Pid, s)
}

// endGroup waits for the end of a process group's leader, and kills the rest of the group. The leader is not reaped
// yet, so its number is not reused.
func endGroup(leader int) {
	for unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = unix.Kill(-leader, unix.SIGKILL) // the leader is in it, so the group exists
}

// dead reports whether a process has ended, reaped or not.
func dead(pid int) bool {
	states, err := ThreadStates(pid)
	return err != nil || states == "Z" || states == "X"
}

// own reports whether it is a folder of this user to which no other user can write.
func own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}

func identify(pid int) (Identity, error) {
	command, fields, err := readStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Started: fields[22-firstField], Command: command}, nil
}

// ThreadStates returns the state letter of each thread of a process (proc(5)). A signal stops the threads one by one;
// the process is stopped when all are.
func ThreadStates(pid int) (string, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, err := os.ReadDir(dir)
	if err != nil {
		return "", gone(err)
	}
	var states strings.Builder
	for _, t := range threads {
		_, fields, err := readStat(filepath.Join(dir, t.Name(), "stat"))
		if errors.Is(err, errGone) {
			continue // the thread ended
		}
		if err != nil {
			return "", err
		}
		states.WriteString(fields[3-firstField])
	}
	return states.String(), nil
}

// ChildrenOf lists the living children of a process.
func ChildrenOf(pid int) ([]Identity, error) {
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return nil, err
	}
	var children []Identity
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil && !errors.Is(gone(err), errGone) {
			return nil, err
		}
		for _, word := range strings.Fields(string(b)) {
			number, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", list, err)
			}
			id, err := identify(number)
			if err == nil {
				children = append(children, id)
			} else if !errors.Is(err, errGone) {
				return nil, err
			}
		}
	}
	return children, nil
}

// firstField is the number in proc(5) of readStat's first field, after the pid and the command.
const firstField = 3

// readStat reads a stat file of /proc. The command is in parentheses and may contain parentheses; fields follow it.
func readStat(file string) (command string, fields []string, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", nil, gone(err)
	}
	line := string(b)
	begin, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if begin < 0 || end < begin {
		return "", nil, fmt.Errorf("%s: no command in parentheses: %q", file, line)
	}
	fields = strings.Fields(line[end+1:])
	if len(fields) <= 22-firstField {
		return "", nil, fmt.Errorf("%s: only %d fields after the command: %q", file, len(fields), line)
	}
	return line[begin+1 : end], fields, nil
}

// gone replaces the two errors of /proc for an absent process by errGone.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return errGone
	}
	return err
}
