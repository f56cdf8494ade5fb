package link

// newProxy makes nothing: toxiproxy is for sockets, which a browser does not have. There all
// links are direct.
func newProxy(*Link) proxy {
	panic("link: a program for browsers has direct links only: set Config.Direct")
}
