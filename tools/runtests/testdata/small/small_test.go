// Package small is run by the tests of runtests.
package small

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"example.org/lockproof/internal/needs"
)

func TestPasses(t *testing.T) {}

func TestNeedsRedis(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			_, err := exec.LookPath("redis-server")
			needs.Check(t, needs.Redis, err)
		})
	}
}

func TestNeedsTime(t *testing.T) { needs.Long(t, "it is an example") }

func TestNeedsMore(t *testing.T) { needs.Check(t, needs.System, errors.New("it has no such thing")) }

func TestFailsOnRequest(t *testing.T) {
	if os.Getenv("SMALL_FAILS") != "" {
		t.Fatal("as requested")
	}
}

func TestDiesOnRequest(t *testing.T) {
	if os.Getenv("SMALL_DIES") != "" {
		println("an output before the exit")
		os.Exit(3)
	}
}
