package link

// startTCP cannot be: toxiproxy is for sockets, which a browser does not have.
func startTCP(*connection) {
	panic("link: a program for browsers has direct links only: set Config.Direct")
}
