// Package browser opens pages in Chromium, for tests of them. What a page says
// in the console, and all that it asks the network for, is kept.
package browser
