package external

import (
	"context"
	"errors"
	"fmt"

	"example.org/lockproof/harness/locks"
)

// Kind makes of a worker's command line a lock under test, which is named as it says
// itself. A program that cannot say it makes one of which every row fails for that
// reason. renews: it was seen to renew its key by itself, which its workers are told. An error is in how it was called.
func Kind(ctx context.Context, command []string, renews bool) (locks.Kind, error) {
	k := locks.Kind{
		Name: lockName(command), Doc: "a program that speaks the workers' protocol", External: true, Program: true,
		New: func(locks.Env) (locks.Lock, error) {
			return nil, errors.New("the lock is a program of its own: it is run --on local")
		},
	}
	hello, err := readHello(ctx, command, renews)
	if ctx.Err() != nil {
		return k, ctx.Err()
	}
	if err != nil {
		k.Err = err
	} else {
		if hello.Name != "" {
			k.Name = hello.Name
		}
		k.Abilities = *hello
	}
	k.Renews = k.Renews || renews
	if own, err := locks.Find(k.Name); err == nil && !own.Program {
		return k, fmt.Errorf("lock name %q is reserved: choose another in the worker's hello", k.Name)
	}
	return k, nil
}

// readHello starts a worker once, at servers that are there for that alone, and hears what
// its lock is.
func readHello(ctx context.Context, command []string, renews bool) (*locks.Abilities, error) {
	if err := findProgram(command); err != nil {
		return nil, err
	}
	b, err := newBench(command)
	if err != nil {
		return nil, err
	}
	b.renews = renews
	defer b.close()
	defer context.AfterFunc(ctx, b.kill)()
	c, err := b.client(0)
	if err != nil {
		return nil, err
	}
	return c.worker.Hello(), c.worker.Kill()
}
