// Package proxy is the network of a compose project, and controls its servers' clocks and disks. Its server runs in a
// container of the project. It carries all traffic of the clients over package link's links (toxiproxy with our
// toxics), and mounts the servers' volumes. The client controls it over HTTP, and reads the links' events.
package proxy
