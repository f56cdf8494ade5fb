module example.com/record

go 1.26.4

require (
	example.com/redislock/v0_9_1 v0.0.0
	example.com/redislock/v0_9_4 v0.0.0
	example.com/redsync/v4_0_4 v0.0.0
	example.com/redsync/v4_3_0 v0.0.0
	example.com/redsync/v4_4_4 v0.0.0
	example.com/redsync/v4_5_1 v0.0.0
	example.org/lockproof v0.0.0
	github.com/go-redsync/redsync/v4 v4.18.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/Shopify/toxiproxy/v2 v2.12.0 // indirect
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/bsm/redislock v0.10.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/charmbracelet/x/ansi v0.11.8 // indirect
	github.com/clipperhouse/displaywidth v0.11.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/gorilla/mux v1.8.1 // indirect
	github.com/hashicorp/errwrap v1.1.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/hbollon/go-edlib v1.7.0 // indirect
	github.com/klauspost/compress v1.17.11 // indirect
	github.com/lucasb-eyer/go-colorful v1.4.1 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.22 // indirect
	github.com/mattn/go-runewidth v0.0.24 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_golang v1.21.1 // indirect
	github.com/prometheus/client_model v0.6.1 // indirect
	github.com/prometheus/common v0.62.0 // indirect
	github.com/prometheus/procfs v0.15.1 // indirect
	github.com/redis/rueidis/rueidiscompat v1.0.79 // indirect
	github.com/rs/xid v1.5.0 // indirect
	github.com/rs/zerolog v1.33.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	gopkg.in/tomb.v1 v1.0.0-20141024135613-dd632973f1e7 // indirect
)

replace (
	example.com/redislock/v0_9_1 => github.com/bsm/redislock v0.9.1
	example.com/redislock/v0_9_4 => github.com/bsm/redislock v0.9.4
	example.com/redsync/v4_0_4 => github.com/go-redsync/redsync/v4 v4.0.4
	example.com/redsync/v4_3_0 => github.com/go-redsync/redsync/v4 v4.3.0
	example.com/redsync/v4_4_4 => github.com/go-redsync/redsync/v4 v4.4.4
	example.com/redsync/v4_5_1 => github.com/go-redsync/redsync/v4 v4.5.1
	example.org/lockproof => ../../
	github.com/go-redsync/redsync/v4 => github.com/go-redsync/redsync/v4 v4.13.0 // the old ones share its pools
)
