// A small service manager for tests: it holds listening sockets, starts a program that is passed them as systemd
// passes them (sd_listen_fds(3)), and starts it again for each line on its standard input. At the end of its
// input it stops the program.
//
//     activator PATH... -- PROGRAM ARGUMENT...
//
// The line "stop" ends it, too.
//
// It prints "listening" once all sockets listen, and after each end of the program its status, as the shell has it.
// The names of the sockets are in the variable LISTEN_FDNAMES.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int listening(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
        perror(path);
        exit(2);
    }
    return fd;
}

static pid_t start(int *sockets, int count, char **program) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    char number[32];
    snprintf(number, sizeof number, "%d", (int)getpid());
    setenv("LISTEN_PID", number, 1);
    snprintf(number, sizeof number, "%d", count);
    setenv("LISTEN_FDS", number, 1);
    // First out of the way, then to 3, 4, ...
    for (int index = 0; index < count; index++) sockets[index] = dup2(sockets[index], 100 + index);
    for (int index = 0; index < count; index++) {
        dup2(sockets[index], 3 + index);
        close(sockets[index]);
    }
    execv(program[0], program);
    perror(program[0]);
    _exit(127);
}

static void stop(pid_t pid) {
    int status = 0;
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    fflush(stdout);
}

int main(int argc, char **argv) {
    int sockets[8], count = 0, index = 1;
    for (; index < argc && strcmp(argv[index], "--") != 0 && count < 8; index++) {
        sockets[count++] = listening(argv[index]);
    }
    if (index + 1 >= argc) return 2;
    printf("listening\n");
    fflush(stdout);
    char **program = argv + index + 1;
    pid_t pid = start(sockets, count, program);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "stop\n") == 0) break;
        stop(pid);
        pid = start(sockets, count, program);
    }
    stop(pid);
    return 0;
}
