package figures

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine describes where the figures were measured. Figures of different machines do not compare.
type Machine struct {
	System    string `json:"system"` // linux/amd64
	Processor string `json:"processor,omitempty"`
	Cores     int    `json:"cores"` // available to Go
	Go        string `json:"go"`
	Server    string `json:"server,omitempty"` // the first line of redis-server --version
}

// ThisMachine describes the current machine, as far as the system reports it.
func ThisMachine() Machine {
	m := Machine{
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Processor: processor(),
		Cores:     runtime.GOMAXPROCS(0),
		Go:        runtime.Version(),
	}
	if out, err := exec.Command("redis-server", "--version").Output(); err == nil {
		m.Server, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	}
	return m
}

// processor is Linux's name of the first processor, or "".
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// String is the machine in one line.
func (m Machine) String() string {
	text := m.System
	if m.Processor != "" {
		text += ", " + m.Processor
	}
	text += fmt.Sprintf(", %d cores, %s", m.Cores, m.Go)
	if m.Server != "" {
		text += ", " + m.Server
	}
	return text
}
