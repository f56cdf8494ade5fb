// Package settings reads redis.conf and the lines given beside it. It reports
// where each directive was set, and the lines that it does not understand.
package settings
