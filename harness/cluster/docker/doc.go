// Package docker is a cluster of real containers: compose/docker-compose.yml,
// brought up by Compose under a project name of its own, and found and broken
// through the engine's API. Each client is a process of its own on the host;
// toxiproxy's links, in a container of the project, are the network between each
// client and each server. Time is real.
//
// A project takes seconds to come up, so a harness keeps its projects (Projects)
// from run to run. Nothing outlives the harness: Close removes every container,
// network and volume; what a killed harness leaves behind, Clean finds by its
// labels and removes, and every harness does so when it begins.
package docker
