package lock

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislockLocker is rueidislock with as many keys as there are servers, all on the first: it does not support
// independent servers. It has its defaults, and NOLOOP, which its documentation recommends from Redis 7.0.5 on.
type rueidislockLocker struct{ locker rueidislock.Locker }

func openRueidislock(addrs []string) (locker, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: addrs[:1]},
		KeyMajority:    int32(majority(len(addrs))),
		KeyValidity:    ttl,
		NoLoopTracking: true,
	})
	if err != nil {
		return nil, err
	}
	return rueidislockLocker{l}, nil
}

func (l rueidislockLocker) acquire(ctx context.Context, key string) (held, error) {
	_, release, err := l.locker.WithContext(ctx, key)
	if err != nil {
		return nil, err
	}
	return rueidislockHeld(release), nil
}

func (l rueidislockLocker) close() error {
	l.locker.Close()
	return nil
}

type rueidislockHeld func()

func (release rueidislockHeld) release(context.Context) error {
	release()
	return nil
}
