// libcurl by its header alone: no program is linked with it. `ccurl_load` loads libcurl.so.4 with dlopen(3) and looks
// its functions up; every other function here calls one of them. So a daemon that uses no bucket loads no library.
//
// `curl_easy_setopt` and `curl_easy_getinfo` are variadic, which Swift cannot call. Here they have a function for each
// type of argument.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ccurl_library {
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *);
    CURLMcode (*multi_setopt)(CURLM *, CURLMoption, ...);
    CURLMcode (*multi_add_handle)(CURLM *, CURL *);
    CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
    CURLMcode (*multi_perform)(CURLM *, int *);
    CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd[], unsigned int, int, int *);
    CURLMsg *(*multi_info_read)(CURLM *, int *);
};

/// Loads the library, for ever. NULL: it is not there, lacks a function, or does not start; `error` then has why.
/// To be called once in a process.
static inline const struct ccurl_library *ccurl_load(const char *name, char *error, size_t error_size) {
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;
    struct ccurl_library *l = NULL;
    if (object) l = (struct ccurl_library *)calloc(1, sizeof *l);
#define CCURL_FIND(field, symbol) \
    if (l && !missing && !(*(void **)&l->field = dlsym(object, symbol))) missing = symbol;
    CCURL_FIND(global_init, "curl_global_init")
    CCURL_FIND(easy_init, "curl_easy_init")
    CCURL_FIND(easy_cleanup, "curl_easy_cleanup")
    CCURL_FIND(easy_reset, "curl_easy_reset")
    CCURL_FIND(easy_setopt, "curl_easy_setopt")
    CCURL_FIND(easy_getinfo, "curl_easy_getinfo")
    CCURL_FIND(easy_strerror, "curl_easy_strerror")
    CCURL_FIND(slist_append, "curl_slist_append")
    CCURL_FIND(slist_free_all, "curl_slist_free_all")
    CCURL_FIND(multi_init, "curl_multi_init")
    CCURL_FIND(multi_cleanup, "curl_multi_cleanup")
    CCURL_FIND(multi_setopt, "curl_multi_setopt")
    CCURL_FIND(multi_add_handle, "curl_multi_add_handle")
    CCURL_FIND(multi_remove_handle, "curl_multi_remove_handle")
    CCURL_FIND(multi_perform, "curl_multi_perform")
    CCURL_FIND(multi_poll, "curl_multi_poll")
    CCURL_FIND(multi_info_read, "curl_multi_info_read")
#undef CCURL_FIND
    const char *words = NULL;
    if (!object) words = dlerror();
    else if (!l) words = "out of memory";
    else if (missing) words = missing;
    else if (l->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) words = "curl_global_init failed";
    if (!words && l) return l;
    free(l);
    if (object) dlclose(object);
    if (error_size > 0) {
        strncpy(error, words ? words : name, error_size - 1);
        error[error_size - 1] = 0;
    }
    return NULL;
}

static inline CURL *ccurl_easy_init(const struct ccurl_library *l) { return l->easy_init(); }
static inline void ccurl_easy_cleanup(const struct ccurl_library *l, CURL *h) { l->easy_cleanup(h); }
static inline void ccurl_easy_reset(const struct ccurl_library *l, CURL *h) { l->easy_reset(h); }
static inline const char *ccurl_words(const struct ccurl_library *l, CURLcode c) { return l->easy_strerror(c); }

static inline CURLcode ccurl_set_long(const struct ccurl_library *l, CURL *h, CURLoption o, long v) {
    return l->easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_offset(const struct ccurl_library *l, CURL *h, CURLoption o, curl_off_t v) {
    return l->easy_setopt(h, o, v);
}
/// libcurl copies texts, but not what is behind other pointers.
static inline CURLcode ccurl_set_text(const struct ccurl_library *l, CURL *h, CURLoption o, const char *v) {
    return l->easy_setopt(h, o, v);
}
static inline CURLcode ccurl_set_pointer(const struct ccurl_library *l, CURL *h, CURLoption o, void *v) {
    return l->easy_setopt(h, o, v);
}

/// For CURLOPT_READFUNCTION, CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
typedef size_t (*ccurl_data_function)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode ccurl_set_data_function(
    const struct ccurl_library *l, CURL *h, CURLoption o, ccurl_data_function v) {
    return l->easy_setopt(h, o, v);
}

static inline int ccurl_mark_socket(void *context, curl_socket_t socket, curlsocktype purpose) {
    (void)purpose;
    // A program that is started keeps no connection open.
    (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
    *(int *)context = socket;
    return CURL_SOCKOPT_OK;
}
/// Closes sockets at exec, and writes the number of each new one to `last`.
static inline CURLcode ccurl_watch_sockets(const struct ccurl_library *l, CURL *h, int *last) {
    l->easy_setopt(h, CURLOPT_SOCKOPTDATA, last);
    return l->easy_setopt(h, CURLOPT_SOCKOPTFUNCTION, ccurl_mark_socket);
}

static inline CURLcode ccurl_get_long(const struct ccurl_library *l, CURL *h, CURLINFO i, long *v) {
    return l->easy_getinfo(h, i, v);
}

static inline struct curl_slist *ccurl_append(const struct ccurl_library *l, struct curl_slist *list, const char *text) {
    return l->slist_append(list, text);
}
static inline void ccurl_free_list(const struct ccurl_library *l, struct curl_slist *list) { l->slist_free_all(list); }

static inline CURLM *ccurl_multi_init(const struct ccurl_library *l) { return l->multi_init(); }
static inline void ccurl_multi_cleanup(const struct ccurl_library *l, CURLM *m) { l->multi_cleanup(m); }
static inline CURLMcode ccurl_multi_set_long(const struct ccurl_library *l, CURLM *m, CURLMoption o, long v) {
    return l->multi_setopt(m, o, v);
}
static inline CURLMcode ccurl_multi_add(const struct ccurl_library *l, CURLM *m, CURL *h) {
    return l->multi_add_handle(m, h);
}
static inline CURLMcode ccurl_multi_remove(const struct ccurl_library *l, CURLM *m, CURL *h) {
    return l->multi_remove_handle(m, h);
}
static inline CURLMcode ccurl_multi_perform(const struct ccurl_library *l, CURLM *m, int *running) {
    return l->multi_perform(m, running);
}
/// Waits for the sockets of `m`, or until `descriptor` (-1: none) can be read.
static inline CURLMcode ccurl_multi_poll(const struct ccurl_library *l, CURLM *m, int descriptor, int timeout_ms) {
    struct curl_waitfd extra = {.fd = descriptor, .events = CURL_WAIT_POLLIN, .revents = 0};
    return l->multi_poll(m, &extra, descriptor < 0 ? 0 : 1, timeout_ms, NULL);
}
/// The end of the one request of `m`: 1 and its code, or 0 while it runs.
static inline int ccurl_multi_result(const struct ccurl_library *l, CURLM *m, CURLcode *code) {
    int left = 0, found = 0;
    CURLMsg *message;
    while ((message = l->multi_info_read(m, &left)))
        if (message->msg == CURLMSG_DONE) {
            *code = message->data.result;
            found = 1;
        }
    return found;
}

#endif
