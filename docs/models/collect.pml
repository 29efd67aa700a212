/* Bases and collecting, beside append and take-over. See README.md.
 *
 * A name that is absent is free, or its segment was collected. Who takes the one for the other
 * writes, or reads on, in the middle of what is history. A writer is one term of one host, as in
 * append.pml.
 */
#ifndef WRITERS
#define WRITERS 3
#endif
#ifndef NAMES
#define NAMES 6
#endif

#define ABSENT 0
#define SEGMENT(epoch) (2 * (epoch))
#define FENCE(epoch) (2 * (epoch) + 1)
#define EPOCH(object) ((object) / 2)
#define IS_FENCE(object) ((object) % 2 == 1)
#define BIT(epoch) (1 << (epoch))

/* What was created first at log/<n>: the one history. [0] is the store's beginning. */
byte history[NAMES + 2];
/* Epochs whose fence, or segment, was sent to log/<n> and may still arrive, or arrive again. */
byte fences[NAMES + 1];
byte segments[NAMES + 1];
byte base; /* the newest base has all up to here */
#ifdef STALE_LIST
byte before; /* the base before it, which LIST base/ may still show */
#endif
/* A segment that a base is past may be there or not, at each look: requests to delete it are under
 * way, and copies of the request that created it. Who sent them may have paused since, so it does
 * not matter who collects, nor what he has checked: here everybody does, always. */
#if defined(COLLECT_FENCES)
#define MAY_BE_ABSENT(n) ((n) <= base)
#elif defined(COLLECT_UNLED) /* fences with another one after them, which nobody led by */
#define MAY_BE_ABSENT(n) ((n) <= base && (!IS_FENCE(history[n]) || IS_FENCE(history[(n) + 1])))
#elif defined(COLLECT_AHEAD)
#define MAY_BE_ABSENT(n) ((n) <= base + 1 && history[n] != ABSENT && !IS_FENCE(history[n]))
#else
#define MAY_BE_ABSENT(n) ((n) <= base && !IS_FENCE(history[n]))
#endif

byte epochs; /* the newest epoch/<n> */
mtype = { created, exists, lost, created_and_lost, late, created_late, created_in_a_gap };
mtype answer; /* of the request in the same step */
byte step;
byte told; /* for REACH: which writers acknowledged something */

/* For the story of a counterexample: spin -t. */
inline tell(name, what, how) {
    if
    :: IS_FENCE(what) -> printf("writer %d: fence at log/%d %e\n", EPOCH(what), name, how)
    :: else -> printf("writer %d: segment at log/%d %e\n", EPOCH(what), name, how)
    fi
}

/* log/<name> is created for the first time. */
inline begin(name, what, how) {
    tell(name, what, how);
    /* One history: no number is skipped, epochs never descend. */
    assert(name == 1 || history[name - 1] != ABSENT);
    assert(EPOCH(history[name - 1]) <= EPOCH(what));
    history[name] = what;
#if !defined(COLLECT_FENCES) && !defined(COLLECT_UNLED)
    if
    :: IS_FENCE(what) -> fences[name] = 0; segments[name] = 0 /* They find it taken for ever. */
    :: else
    fi;
#endif
    /* Another copy of it makes it no different. */
    if
    :: IS_FENCE(what) -> fences[name] = fences[name] & ~BIT(EPOCH(what))
    :: else -> segments[name] = segments[name] & ~BIT(EPOCH(what))
    fi
}

inline send(name, what, how) {
    tell(name, what, how);
    if
    :: what != history[name] && IS_FENCE(what) -> fences[name] = fences[name] | BIT(me)
    :: what != history[name] && !IS_FENCE(what) -> segments[name] = segments[name] | BIT(me)
    :: what == history[name]
    fi
}

/* PUT log/<name> with If-None-Match: *. A lost answer: it was done, or is done later, or never. */
inline put(name, what) {
    if
    :: history[name] == ABSENT -> begin(name, what, created); answer = created
#ifndef REACH
    :: history[name] == ABSENT -> begin(name, what, created_and_lost); answer = lost
    :: history[name] == ABSENT -> send(name, what, late); answer = lost
#endif
    :: history[name] != ABSENT -> answer = exists
    :: MAY_BE_ABSENT(name) -> send(name, what, created_in_a_gap); answer = created
    :: MAY_BE_ABSENT(name) -> send(name, what, late); answer = lost
    fi
}

/* GET log/<name> */
inline get(name) {
    if
    :: got = history[name]
    :: MAY_BE_ABSENT(name) -> got = ABSENT
    :: MAY_BE_ABSENT(name) && (fences[name] | segments[name]) != 0 ->
        step = 1;
        do
        :: step < WRITERS -> step++
        :: fences[name] & BIT(step) -> got = FENCE(step); break
        :: segments[name] & BIT(step) -> got = SEGMENT(step); break
        :: step == WRITERS -> got = ABSENT; break
        od;
        step = 0
    fi
}

/* This writer's segment at `at` is in the log. */
inline acknowledge() {
    printf("writer %d: log/%d is acknowledged\n", me, at);
    /* Nothing acknowledged is lost: it is in the history. */
    assert(history[at] == SEGMENT(me));
    /* Nothing is acknowledged behind the fence of a later epoch. */
    assert(EPOCH(history[at - 1]) <= me);
#ifdef REACH
    told = told | BIT(me);
    assert(told != (1 << (WRITERS + 1)) - 2 || base == 0);
#endif
    at++
}

/* LIST base/ */
inline listBases() {
#ifdef STALE_LIST
    if
    :: end = base
    :: end = before
    fi
#else
    end = base
#endif
}

/* What is read at `at` is taken for history. */
inline apply() {
    tell(at, got, exists);
    assert(got == history[at]);
    got = ABSENT;
    at++
}

active [WRITERS] proctype Writer() {
    byte me = _pid + 1;
    byte at; /* the next name: it knows all before it */
    byte got;
    byte end; /* the newest base, as far as it has looked */
    bool verifies; /* its fence was created */

    /* Creates the epoch behind the newest; who loses the race for it takes the next. */
    atomic {
        epochs == me - 1 -> epochs = me;
        at = 1;
        do
        :: at <= NAMES && history[at] != ABSENT -> at++ /* from its disk */
        :: break
        od
    }

search:
    if
    :: at > NAMES -> goto over
    :: else
    fi;
    atomic {
        get(at);
        if
        :: got == FENCE(me) -> verifies = true; goto look
        :: EPOCH(got) > me -> goto over
        :: got != ABSENT && EPOCH(got) < me && !IS_FENCE(got) -> apply(); goto search
#ifdef TRUST_FENCES
        :: got != ABSENT && EPOCH(got) < me && IS_FENCE(got) -> apply(); goto search
#else
        :: got != ABSENT && EPOCH(got) < me && IS_FENCE(got) -> goto look
#endif
        :: got == ABSENT
        fi
    }
    atomic {
        put(at, FENCE(me));
        if
        :: answer == created -> answer = 0
        :: answer != created -> answer = 0; goto search
        fi
    }
    atomic {
        verifies = true;
        got = FENCE(me);
#ifdef NO_BASE_CHECK
        goto fenced
#endif
    }

look:
    atomic {
        listBases();
        if
        :: at > end && verifies -> goto fenced
        :: at > end && !verifies -> apply(); end = 0; goto search
        /* Something continues it. */
        :: at <= end && got == history[at] && !verifies -> apply(); end = 0; goto search
#ifdef NO_EPOCH_CHECK
        :: at <= end ->
#else
        :: at <= end && EPOCH(history[end]) > me -> goto over
        :: at <= end && EPOCH(history[end]) <= me ->
#endif
            /* Starts over from the base. A fence of its own before that is none. */
            at = end + 1;
            got = ABSENT;
            end = 0;
            verifies = false;
            goto search
        fi
    }

fenced:
    atomic {
        /* It leads behind a fence of the history, and so knows all that was, or will be, told. */
        printf("writer %d: leads from log/%d\n", me, at + 1);
        assert(history[at] == FENCE(me));
        verifies = false;
        got = ABSENT;
        end = 0;
        at++
    }

lead:
    if
    :: at <= NAMES ->
        atomic {
            put(at, SEGMENT(me));
            if
            :: answer == created -> answer = 0; acknowledge(); goto lead
            :: answer == lost -> answer = 0; goto lead
            :: answer == exists -> answer = 0
            fi
        }
        atomic {
            get(at);
            if
            :: got == SEGMENT(me) -> got = ABSENT; acknowledge(); goto lead
            :: got == ABSENT -> goto lead /* It was collected in between. */
            :: got != ABSENT && got != SEGMENT(me) -> goto over /* Deposed. */
            fi
        }
    :: atomic {
        at - 1 > base ->
#ifdef STALE_LIST
            before = base;
#endif
            base = at - 1;
            printf("writer %d: base/%d, and log/1 to log/%d are collected\n", me, base, base);
            goto lead
    }
    :: at > NAMES -> goto over
    fi;
over:
    atomic {
        at = 0;
        got = ABSENT;
        end = 0;
        verifies = false
    }
}

/* What requests of somebody who is paused, or gone, still do. */
active proctype Bucket() {
    byte n;
    byte me;
endless:
    do
    :: atomic {
        select(n: 1 .. NAMES);
        select(me: 1 .. WRITERS);
        if
        :: history[n] == ABSENT && (fences[n] & BIT(me)) -> begin(n, FENCE(me), created_late)
        :: history[n] == ABSENT && (segments[n] & BIT(me)) -> begin(n, SEGMENT(me), created_late)
        :: else
        fi;
        n = 0;
        me = 0
    }
    od
}

#ifdef READER
/* A follower that knows the history up to some name, reads on: one name of it. */
active proctype Reader() {
    byte at;
    byte got;
    byte end;
endless:
    do
    :: atomic {
        select(at: 1 .. NAMES);
        if
        :: at == 1 || history[at - 1] != ABSENT -> get(at)
        :: else
        fi;
        if
        :: got == ABSENT /* It looks for bases, where everything is history, or asks again. */
#ifdef TRUST_FENCES
        :: got != ABSENT -> apply()
#else
        :: got != ABSENT && !IS_FENCE(got) -> apply()
        :: IS_FENCE(got) -> goto fence
#endif
        fi;
        at = 0
    }
    od;
fence:
    atomic {
        listBases();
        if
        :: at <= end -> got = ABSENT /* It starts over from the base, or reads what is history. */
        :: else -> apply()
        fi;
        at = 0;
        end = 0;
        goto endless
    }
}
#endif
