package league

import (
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// What gocron-redis-lock takes.
type (
	redisClient   = redis.UniversalClient
	redsyncOption = redsync.Option
)
