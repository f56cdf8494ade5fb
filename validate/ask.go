package validate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Ask reads the settings and the state of a running server. It changes nothing.
func Ask(ctx context.Context, address, password string) ([]*deploy.Report, error) {
	if !strings.Contains(address, ":") {
		address += ":6379"
	}
	client := redis.NewClient(&redis.Options{Addr: address, Password: password, MaxRetries: -1,
		DialTimeout:              5 * time.Second,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	at := settings.Place{File: address}
	values, err := client.ConfigGet(ctx, "*").Result()
	if err != nil {
		return nil, fmt.Errorf("%s: CONFIG GET: %w", address, err)
	}
	info, err := client.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("%s: INFO: %w", address, err)
	}
	return []*deploy.Report{{Place: at, Config: values}, deploy.ParseInfo(address, info)}, nil
}
