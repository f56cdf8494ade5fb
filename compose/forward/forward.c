/*
 * forward FOLDER FIRST LAST: passes each connection to a TCP port from FIRST to
 * LAST to the socket of that name in FOLDER.
 *
 * The links of a run are in the harness's process, outside. A firewall may keep
 * containers from the ports of their host, but not from a socket in a folder. Each
 * connection has a process; a port without a socket closes its connections.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* pass copies both ways until either side closes. */
static void pass(int a, int b)
{
	struct pollfd ends[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
	char data[65536];

	while (poll(ends, 2, -1) > 0) {
		for (int from = 0; from < 2; from++) {
			if (!ends[from].revents)
				continue;
			ssize_t n = read(ends[from].fd, data, sizeof data);
			if (n <= 0)
				return;
			for (ssize_t done = 0, sent; done < n; done += sent)
				if ((sent = write(ends[!from].fd, data + done, n - done)) <= 0)
					return;
		}
	}
}

static void connect_and_pass(int client, const char *folder, int port)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int link = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%s/%d", folder, port);
	if (link >= 0 && connect(link, (struct sockaddr *)&to, sizeof to) == 0)
		pass(client, link);
}

/* serve accepts the connections of one port. */
static int serve(const char *folder, int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 128) != 0) {
		perror("forward");
		return 1;
	}
	for (;;) {
		int client = accept(listener, NULL, NULL);
		if (client < 0)
			continue;
		setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		if (fork() == 0) {
			close(listener);
			connect_and_pass(client, folder, port);
			return 0;
		}
		close(client);
	}
}

int main(int count, char **words)
{
	if (count != 4)
		return 64;
	for (int port = atoi(words[2]); port <= atoi(words[3]); port++)
		if (fork() == 0) {
			signal(SIGCHLD, SIG_IGN); /* no zombies */
			signal(SIGPIPE, SIG_IGN);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			return serve(words[1], port);
		}
	signal(SIGTERM, exit); /* as the first process of a container, it gets only signals that it handles */
	signal(SIGINT, exit);
	wait(NULL); /* a port cannot be served */
	return 1;
}
