package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"

	"example.org/lockproof/harness/cluster/docker"
	"example.org/lockproof/internal/needs"
)

// programs are those whose presence decides what tests run.
var programs = append([]string{
	"redis-server", "redis-benchmark", "cc", "gcc", "clang", "docker", "docker-compose", "debootstrap", "bash",
}, needs.Browsers...)

// fingerprint tells machines apart by what they have of all that tests need.
func fingerprint(ctx context.Context) string {
	h := sha256.New()
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	engine, err := docker.Find(ctx)
	fmt.Fprintln(h, engine, err, os.Geteuid())
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
