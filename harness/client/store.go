package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/history"
)

// store is the data that the lock guards: one register for each key, on a separate Redis server. value:<key> has its
// version; fence:<key> the highest fencing token that a fenced store has seen.
type store struct {
	client                         *redis.Client
	fenced, readsUnfenced, compare bool
}

// readsClaim reports whether a read within a lease sends its token to the store.
func (s *store) readsClaim() bool { return s.fenced && !s.readsUnfenced }

// FencedReadScript claims: from now on the store rejects older tokens. If only writes sent tokens, the store would
// accept an older holder's write before the newer holder's first one (redis.io, "fencing").
// KEYS: the register, the highest token. ARGV: the token.
const FencedReadScript = `
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return false end
redis.call('SET', KEYS[2], ARGV[1])
return redis.call('GET', KEYS[1]) or ''`

// FencedWriteScript is Kleppmann's check: it rejects a write with a token older than the highest one.
// KEYS: the register, the highest token. ARGV: the token, the new version.
const FencedWriteScript = `
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
return 1`

// CompareWriteScript is antirez's answer: without an order of tokens, a write names the version that it was derived
// from.
// KEYS: the register. ARGV: the base, the new version.
const CompareWriteScript = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`

var fencedRead, fencedWrite, compareWrite = redis.NewScript(FencedReadScript), redis.NewScript(FencedWriteScript),
	redis.NewScript(CompareWriteScript)

var errStale = errors.New("the store rejected it")

// Register is the name of a key's register at the store.
func Register(key string) string { return history.RegisterPrefix + key }

func fenceKey(key string) string { return history.FencePrefix + key }

// read returns the current version, "" for the initial one. If reads claim, a read within a lease sends the lease's
// token; one without a lease is a plain GET.
func (s *store) read(ctx context.Context, key string, held *heldLease) (string, error) {
	if s.readsClaim() && held != nil {
		value, err := fencedRead.Run(ctx, s.client, []string{Register(key), fenceKey(key)}, held.fence).Text()
		if errors.Is(err, redis.Nil) {
			return "", fmt.Errorf("%w: it has seen a newer fencing token than %d", errStale, held.fence)
		}
		return value, err
	}
	value, err := s.client.Get(ctx, Register(key)).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

// write stores a version if the store's check accepts it.
func (s *store) write(ctx context.Context, key, value, base string, fence int64) error {
	var accepted bool
	var err error
	why := fmt.Sprintf("it has seen a newer fencing token than %d", fence)
	switch {
	case s.fenced:
		accepted, err = fencedWrite.Run(ctx, s.client, []string{Register(key), fenceKey(key)}, fence, value).Bool()
	case s.compare:
		accepted, err = compareWrite.Run(ctx, s.client, []string{Register(key)}, base, value).Bool()
		why = fmt.Sprintf("its version is not %q any more", base)
	default:
		return s.client.Set(ctx, Register(key), value, 0).Err()
	}
	if err == nil && !accepted {
		return fmt.Errorf("%w: %s", errStale, why)
	}
	return err
}

// outcomeOf is a write's outcome after an error: fail if the store rejected it or never received it, otherwise info.
func outcomeOf(err error) (outcome history.Type, reason string) {
	if errors.Is(err, errStale) {
		return history.TypeFail, history.ReasonStale
	}
	if _, undelivered := errors.AsType[*dialError](err); undelivered {
		return history.TypeFail, history.ReasonOther
	}
	if _, answered := errors.AsType[redis.Error](err); answered {
		return history.TypeFail, history.ReasonOther
	}
	return history.TypeInfo, history.ReasonOther
}
