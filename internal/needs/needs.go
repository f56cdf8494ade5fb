package needs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// RequireVariable is the environment variable with the names of required needs, separated by blanks: a test that lacks
// one fails. CI sets it, so that no skip there stays unnoticed.
const RequireVariable = "LOCKPROOF_TESTS_REQUIRE"

// MachineVariable is the environment variable with a fingerprint of the machine's programs. Go's cache of test results
// tracks the variables that a test reads, but not PATH: without it, a skip from before a program's installation would
// be reported again.
const MachineVariable = "LOCKPROOF_TESTS_MACHINE"

// ServersVariable is the environment variable with the addresses of running servers, separated by blanks, for products
// that are not installed. Tests may write keys of their own there.
const ServersVariable = "LOCKPROOF_TESTS_SERVERS"

// ServerAddresses are the addresses in ServersVariable.
func ServerAddresses() []string { return strings.Fields(os.Getenv(ServersVariable)) }

// Need is a thing that tests need.
type Need struct {
	Name string // one word, as RequireVariable has it
	What string // in words
	How  string // the command that installs it; "": none
	// External: a program or server beside Go. Its tests wait in real time.
	External bool
}

// All lists the needs.
var All []Need

func need(external bool, name, what, how string) Need {
	n := Need{name, what, how, external}
	All = append(All, n)
	return n
}

// setup is the command that installs everything that Debian packages.
const setup = "make setup"

// The needs of tests.
var (
	Redis    = need(true, "redis-server", "Redis 7.0 or later", setup)
	Compiler = need(true, "compiler", "a C compiler", setup)
	Python   = need(true, "python", "Python 3 with redis-py (Debian: python3-redis)", setup)
	PHP      = need(true, "php",
		"PHP with phpredis, Symfony's and malkusch's locks (Debian: php-symfony-lock, php-malkusch-lock)", setup)
	Node     = need(true, "node", "Node with node-redis (Debian: node-redis)", setup)
	Ruby     = need(true, "ruby", "Ruby with redis-rb (Debian: ruby-redis)", setup)
	Java     = need(true, "java", "a JDK of Java 17 or later (Debian: default-jdk-headless)", setup)
	Chromium = need(true, "chromium", "Chromium", setup)
	Engine   = need(true, "engine", "a Docker engine and Compose", setup)
	Image    = need(true, "image", "a Docker engine that has or gets an image of Debian", setup)
	Shell    = need(false, "shell", "bash and the usual commands", setup)
	Time     = need(false, "time", "time (-short was given)", "make test-all")
	Path     = need(false, "path", "a folder for temporary files without blanks in its path",
		"TMPDIR=/tmp make test-all")
	Modules = need(true, "modules", "the modules of examples/locktest, from a proxy or Go's cache",
		"go -C examples/locktest mod download")
	Servers = need(true, "servers", "Redis 8.4 and Valkey 9.0 or later (images of docker have them)",
		ServersVariable+"=127.0.0.1:6379 make test-all")
	System = need(false, "system", "what this system's kernel or file system does not do", "")
)

// Browsers are the names of Chromium's program, the preferred one first.
var Browsers = []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"}

// Check skips a test or a benchmark that lacks n; lack is the reason, nil if n is usable. If RequireVariable names n,
// the test fails instead. With -short, for tests that need only Go, a test with an external need is skipped.
func Check(t testing.TB, n Need, lack error) {
	t.Helper()
	if testing.Short() && n.External {
		n, lack = Time, fmt.Errorf("it uses %s, and is skipped with -short", n.What)
	}
	skipOrFail(t, n, lack)
}

func skipOrFail(t testing.TB, n Need, lack error) {
	t.Helper()
	// Read them in any case, so that Go's cache of test results depends on them.
	required := strings.Fields(os.Getenv(RequireVariable))
	_ = os.Getenv(MachineVariable)
	if lack == nil {
		return
	}
	if slices.Contains(required, n.Name) {
		t.Fatalf("%s says that there must be %s: %v", RequireVariable, n.Name, lack)
	}
	t.Skipf("%s%s: %v", mark, n.Name, lack)
}

// Long skips a test with -short: why names its long step.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		skipOrFail(t, Time, errors.New(why+": skipped with -short"))
	}
}

// Commands skips a test that runs commands which every Unix has.
func Commands(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := exec.LookPath(name)
		Check(t, Shell, err)
	}
}

// PlainTemp skips a test that preloads a library from the folder for temporary files, if LD_PRELOAD cannot hold its
// path.
func PlainTemp(t testing.TB) {
	t.Helper()
	var lack error
	if strings.ContainsAny(os.TempDir(), " :") {
		lack = fmt.Errorf("LD_PRELOAD cannot name a file in %q", os.TempDir())
	}
	Check(t, Path, lack)
}

// mark begins the reason of a skip in a test's output.
const mark = "skipped for want of "

var skipPattern = regexp.MustCompile(mark + `([a-z-]+): `)

// ParseSkip finds the missing need in a test's output.
func ParseSkip(output string) (n Need, found bool) {
	m := skipPattern.FindStringSubmatch(output)
	if m == nil {
		return Need{}, false
	}
	i := slices.IndexFunc(All, func(n Need) bool { return n.Name == m[1] })
	if i < 0 {
		return Need{}, false
	}
	return All[i], true
}
