package suite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"example.org/lockproof/harness/locks"
)

// hostileActs are what hostile locks do in their first acquire.
var hostileActs = map[string]func(){
	"panics":        func() { panic("the lock is broken") },
	"panics-aside":  func() { go panic("broken in the background"); time.Sleep(time.Second) },
	"exits-as-fine": func() { os.Exit(0) },
	"exits-as-1":    func() { os.Exit(1) },
	"exits-as-2":    func() { os.Exit(2) },
	"spins": func() {
		for n := 0; n >= 0; n = n&1 + 1 {
		}
	},
	"blocks-in-mutex": func() { var mu sync.Mutex; mu.Lock(); mu.Lock() },
	"blocks-all":      func() { select {} },
	"eats-memory":     eat,
	"breaks-a-mutex":  func() { new(sync.Mutex).Unlock() }, // a fatal error, which recover cannot stop
	"prints":          func() { fmt.Println("hello"); fmt.Fprintln(os.Stderr, "panic: just talking") },
	"leaks":           leak,
}

// eaten keeps the memory reachable.
var eaten [][]byte

func eat() {
	for {
		piece := make([]byte, 1<<20)
		for i := range piece {
			piece[i] = 1
		}
		eaten = append(eaten, piece)
	}
}

// leaked is a channel of an earlier bubble.
var leaked chan int

// leak uses the channel of an earlier bubble in this process.
func leak() {
	if leaked == nil {
		leaked = make(chan int, 1)
		return
	}
	leaked <- 1
}

func init() {
	reference, err := locks.Find(locks.Reference)
	if err != nil {
		panic(err)
	}
	for name, deed := range hostileActs {
		k := reference
		k.Name, k.Doc = name, "a lock that takes the process down"
		k.New = func(env locks.Env) (locks.Lock, error) {
			inner, err := reference.New(env)
			return &hostile{inner, deed}, err
		}
		locks.Register(k)
	}
}

// hostile does its act once and then behaves as the reference.
type hostile struct {
	locks.Lock
	deed func()
}

func (h *hostile) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	h.deed()
	return h.Lock.Acquire(ctx, key)
}
