// Package browser opens pages in Chromium for tests. It records console messages and network requests.
package browser
