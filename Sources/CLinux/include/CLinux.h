// What Glibc's Swift module leaves out: epoll, accept4, eventfd, peer credentials. Static inline shims only; no logic lives here.
#ifndef CLINUX_H
#define CLINUX_H
#endif
