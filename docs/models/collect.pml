/* Packs, bases and collecting, beside append and take-over. See README.md.
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
byte history[NAMES + 1];
/* Epochs whose fence, or segment, was sent to log/<n> and may still arrive, or arrive again. */
byte fences[NAMES + 1];
byte segments[NAMES + 1];
byte packed; /* packs were made of the names up to here */
/* A segment that is packed may be there or not, at each look: requests to delete it are under way,
 * and copies of the request that created it. Who sent them may have paused since, so it does not
 * matter who collects, nor what he has checked: here everybody does, always. */
#ifdef COLLECT_FENCES
#define MAY_BE_ABSENT(n) ((n) <= packed)
#else
#define MAY_BE_ABSENT(n) ((n) <= packed && !IS_FENCE(history[n]))
#endif

#ifdef BASES
byte base; /* the newest base */
byte dropped; /* packs up to here are deleted again: beyond the retention */
#define LISTED_PACKS (packed > dropped -> packed : 0) /* LIST pack/ */
#define LISTED_BASES base /* LIST base/ */
#else
#define LISTED_PACKS packed
#define LISTED_BASES 0
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
#ifndef COLLECT_FENCES
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
    assert(told != (1 << (WRITERS + 1)) - 2 || packed == 0);
#endif
    at++
}

/* Where packed history ends: two requests, and what became of them in between. */
#ifdef BASES_FIRST
#define FIRST_LOOK LISTED_BASES
#define SECOND_LOOK LISTED_PACKS
#elif defined(NO_BASE_CHECK)
#define FIRST_LOOK LISTED_PACKS
#define SECOND_LOOK 0
#else
#define FIRST_LOOK LISTED_PACKS
#define SECOND_LOOK LISTED_BASES
#endif

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
    byte end; /* where packed history ends, as far as it has looked */
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

look:
#ifdef BASES
    end = FIRST_LOOK;
#endif
    atomic {
#ifndef BASES
        end = FIRST_LOOK;
#endif
        end = (end < SECOND_LOOK -> SECOND_LOOK : end);
        if
#ifdef NO_EPOCH_CHECK_OF_PACKS
        :: at <= end ->
#else
        :: at <= end && EPOCH(history[end]) > me -> goto over
        :: at <= end && EPOCH(history[end]) <= me ->
#endif
            /* Reads packs or the base. A fence of its own before that is no history. */
            at = end + 1;
            verifies = false
        :: at > end && verifies -> goto fenced
        :: at > end && !verifies && got != ABSENT -> apply() /* A fence behind all packs. */
        :: at > end && !verifies && got == ABSENT
        fi;
        got = ABSENT;
        end = 0
    }

search:
    if
    :: at > NAMES -> goto over
    :: else
    fi;
    atomic {
        get(at);
        if
        :: got == FENCE(me) -> goto verify
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

verify:
#ifndef NO_PACK_CHECK
    atomic { verifies = true; got = ABSENT; goto look };
#endif

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
        at - 1 > packed ->
            packed = at - 1;
            printf("writer %d: log/1 to log/%d are packed, and collected\n", me, packed);
            goto lead
    }
#ifdef BASES
    :: atomic {
        packed > base ->
            base = packed;
            printf("writer %d: base/%d\n", me, base);
            goto lead
    }
#endif
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
#ifdef BASES
    /* Packs that a base covers are deleted when they are older than the retention. */
#ifdef DROP_NEWEST_PACK
    :: atomic { dropped < base ->
        dropped = base;
        printf("packs to %d are deleted\n", dropped) }
#else
    :: atomic { dropped < base && dropped + 1 < packed ->
        dropped = (base < packed -> base : packed - 1) }
#endif
#endif
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
        :: got == ABSENT /* It looks at packs, where everything is history, or asks again. */
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
#ifdef BASES
    end = FIRST_LOOK;
#endif
    atomic {
#ifndef BASES
        end = FIRST_LOOK;
#endif
        end = (end < SECOND_LOOK -> SECOND_LOOK : end);
        if
        :: at <= end -> got = ABSENT
        :: else -> apply()
        fi;
        at = 0;
        end = 0;
        goto endless
    }
}
#endif
