// Package small has tests for those of runtests.
package small

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"example.org/lockproof/internal/needs"
)

func TestPasses(t *testing.T) {}

func TestWantsRedis(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			_, err := exec.LookPath("redis-server")
			needs.Check(t, needs.Redis, err)
		})
	}
}

func TestWantsTime(t *testing.T) { needs.Long(t, "it is an example") }

func TestWantsMore(t *testing.T) { needs.Check(t, needs.System, errors.New("it has no such thing")) }

func TestFailsIfTold(t *testing.T) {
	if os.Getenv("SMALL_FAILS") != "" {
		t.Fatal("as it was told")
	}
}

func TestDiesIfTold(t *testing.T) {
	if os.Getenv("SMALL_DIES") != "" {
		println("some last words")
		os.Exit(3)
	}
}
