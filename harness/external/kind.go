package external

import (
	"context"
	"errors"
	"fmt"

	"example.org/lockproof/harness/locks"
)

// Kind turns a worker's command line into a lock under test, with the name in the worker's hello. If the program sends
// no valid hello, every row fails with that error. renews: the lock renews its key by itself, and its workers learn
// that in their setup. Kind's own error is for a reserved name or an ended ctx.
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

// readHello starts a worker on a bench of its own and returns its hello.
func readHello(ctx context.Context, command []string, renews bool) (*locks.Abilities, error) {
	if err := findProgram(command); err != nil {
		return nil, err
	}
	b, err := newBench(ctx, command)
	if err != nil {
		return nil, err
	}
	b.renews = renews
	defer b.close()
	c, err := b.client(0)
	if err != nil {
		return nil, err
	}
	return c.worker.Hello(), c.worker.Kill()
}
