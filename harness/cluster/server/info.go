package server

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Information reads what INFO says of a server's memory, persistence and errors,
// field by field. An error counter that is not there is 0.
func Information(ctx context.Context, addr string) (map[string]string, error) {
	var info map[string]string
	err := With(addr, func(client *redis.Client) error {
		var err error
		info, err = information(ctx, client)
		return err
	})
	return info, err
}

func information(ctx context.Context, client *redis.Client) (map[string]string, error) {
	text, err := client.Info(ctx, "memory", "stats", "persistence", "errorstats").Result()
	if err != nil {
		return nil, err
	}
	return fields(text), nil
}

// fields reads the lines name:value of INFO.
func fields(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			all[name] = value
		}
	}
	return all
}

// number is a field that is a whole number; 0 if it is not there.
func number(info map[string]string, name string) int {
	n, _ := strconv.Atoi(info[name])
	return n
}
