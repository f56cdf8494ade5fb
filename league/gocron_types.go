package league

import (
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// Parameter types of gocron-redis-lock.
type (
	redisClient   = redis.UniversalClient
	redsyncOption = redsync.Option
)
