/* Bases and collecting, beside append and take-over. See README.md.
 *
 * A name that is absent is free, or its segment was collected. Who takes the one for the other
 * writes, or reads on, in the middle of what is history. A writer is one host's store, as in
 * append.pml: it may pause anywhere, wake up at any time, and give up.
 */
#ifndef WRITERS
#define WRITERS 3
#endif
#ifndef NAMES
#define NAMES 6
#endif

#define ABSENT 0
#define SEGMENT(epoch, writer) (16 * (epoch) + 2 * (writer))
#define FENCE(epoch, writer) (16 * (epoch) + 2 * (writer) + 1)
#define EPOCH(object) ((object) / 16)
#define OWNER(object) (((object) / 2) % 8)
#define IS_FENCE(object) ((object) % 2 == 1)
#define OTHER 0 /* stands for the writer of a void fence that is not this one's */
#define BIT(writer) (1 << (writer))

/* What was created first at log/<n>: the one history. [0] is the store's beginning. */
byte history[NAMES + 2];
/* Writers whose fence, or segment, was sent to a name that nothing was created at yet, and may still
 * arrive. Epochs are computed from what is before a name, so they are known. */
byte fences[NAMES + 1];
byte segments[NAMES + 1];
#define FENCE_AT(n, writer) FENCE(EPOCH(history[(n) - 1]) + 1, writer)
#define SEGMENT_AT(n, writer) SEGMENT(EPOCH(history[(n) - 1]), writer)
byte base; /* the newest base has all up to here */
#ifdef STALE_LIST
byte before; /* the base before it, which LIST base/ may still show */
#endif
/* A segment that a base is past may be there or not, at each look, and so may a void fence of
 * anybody: requests to delete and to create it are under way. Who sent them may have paused since, so
 * it does not matter who collects, nor what he has checked: here everybody does, always. */
#if defined(COLLECT_FENCES)
#define MAY_BE_ABSENT(n) ((n) <= base)
#elif defined(COLLECT_UNLED) /* fences with another one after them, which nobody led by */
#define MAY_BE_ABSENT(n) ((n) <= base && (!IS_FENCE(history[n]) || IS_FENCE(history[(n) + 1])))
#elif defined(COLLECT_AHEAD)
#define MAY_BE_ABSENT(n) ((n) <= base + 1 && history[n] != ABSENT && !IS_FENCE(history[n]))
#else
#define MAY_BE_ABSENT(n) ((n) <= base && !IS_FENCE(history[n]))
#endif

byte begun; /* writers are numbered in the order in which they begin */
mtype = { created, exists, lost, created_and_lost, late, created_late, created_in_a_gap, void_one };
mtype answer; /* of the request in the same step */
byte step;
byte told; /* for REACH: which writers acknowledged something */

/* For the story of a counterexample: spin -t. */
inline tell(name, what, how) {
    if
    :: IS_FENCE(what) ->
        printf("writer %d: fence %d at log/%d %e\n", OWNER(what), EPOCH(what), name, how)
    :: else -> printf("writer %d: segment at log/%d %e\n", OWNER(what), name, how)
    fi
}

/* log/<name> is created for the first time. */
inline begin(name, what, how) {
    tell(name, what, how);
    /* One history: no number is skipped, a segment follows its writer's fence or another one of its
     * segments, and epochs are the ordinals of the fences. */
    assert(name == 1 || history[name - 1] != ABSENT);
    assert(IS_FENCE(what) || OWNER(history[name - 1]) == OWNER(what));
    assert(EPOCH(history[name - 1]) + (what) % 2 == EPOCH(what));
    history[name] = what;
    /* Where somebody's segment may still arrive there is a fence, which stays, or that segment. */
    assert(IS_FENCE(what) || (segments[name] & ~BIT(OWNER(what))) == 0);
    fences[name] = 0;
    segments[name] = 0
}

inline send(name, what, how) {
    tell(name, what, how);
    assert(EPOCH(history[name - 1]) + (what) % 2 == EPOCH(what));
    if
    :: history[name] == ABSENT && IS_FENCE(what) -> fences[name] = fences[name] | BIT(me)
    :: history[name] == ABSENT && !IS_FENCE(what) -> segments[name] = segments[name] | BIT(me)
    :: history[name] != ABSENT
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
    fi
}

/* GET log/<name> */
inline get(name) {
    if
    :: got = history[name]
    :: MAY_BE_ABSENT(name) -> got = ABSENT
    :: MAY_BE_ABSENT(name) && name <= base -> got = FENCE_AT(name, me); tell(name, got, void_one)
    :: MAY_BE_ABSENT(name) && name <= base -> got = FENCE_AT(name, OTHER); tell(name, got, void_one)
    fi
}

/* This writer's segment at `at` is in the log. */
inline acknowledge() {
    printf("writer %d: log/%d is acknowledged\n", me, at);
    /* Nothing acknowledged is lost: it is in the history. */
    assert(history[at] == SEGMENT(epoch, me));
    /* Nothing is acknowledged after the fence of another writer. */
    assert(OWNER(history[at - 1]) == me);
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
    epoch = EPOCH(got);
    got = ABSENT;
    at++
}

/* Its fence, at `at`, counts. */
inline begins() {
    /* It leads behind a fence of the history, and so knows all that was, or will be, told; … */
    printf("writer %d: leads from log/%d\n", me, at + 1);
    assert(history[at] == FENCE(epoch + 1, me));
    /* … and nobody else's changes came before its own. */
    led = (led == 0 -> at + 1 : led);
    step = led;
    do
    :: step <= at -> assert(IS_FENCE(history[step]) || OWNER(history[step]) == me); step++
    :: else -> break
    od;
    step = 0;
    verifies = false;
    got = ABSENT;
    end = 0;
    epoch++;
    at++
}

/* It is deposed, or gives up. */
inline stop() {
    at = 0; epoch = 0; got = ABSENT; end = 0; led = 0; verifies = false;
    goto endOver
}

active [WRITERS] proctype Writer() {
    byte me = _pid + 1;
    byte at; /* the next name: it knows all before it */
    byte epoch; /* of what is before it */
    byte got;
    byte end; /* the newest base, as far as it has looked */
    byte led; /* the name from which on it led first, and has changes of its own; 0: it never did */
    bool verifies; /* its fence was created */

    atomic {
        begun == me - 1 -> begun = me;
        at = 1;
        do
        :: at <= NAMES && history[at] != ABSENT -> at++ /* on its disk */
        :: break
        od;
        epoch = EPOCH(history[at - 1]);
        goto search
    }

search:
    atomic {
        if
        :: at > NAMES -> stop()
        :: at <= NAMES
        :: at < NAMES && led == 0 ->
            /* By force, it may apply what is before its fence later, and goes on from any name. */
            select(end: (at + 1) .. NAMES);
            if
            :: history[end] == ABSENT -> end = 0; goto search
            :: else -> get(end)
            fi;
            if
            :: got == ABSENT -> end = 0; goto search
            :: else -> at = end; end = 0
            fi;
            if
#ifdef TRUST_LAST
            :: true -> epoch = EPOCH(got); got = ABSENT; at++; goto search
#else
            :: IS_FENCE(got) -> verifies = OWNER(got) == me; goto look
            :: !IS_FENCE(got) -> apply(); goto search
#endif
            fi
        fi;
        put(at, FENCE(epoch + 1, me));
        if
        :: answer == created -> answer = 0; got = FENCE(epoch + 1, me)
        :: answer == lost -> answer = 0; goto search
        :: answer == exists -> answer = 0; get(at)
        fi;
        if
        :: got == ABSENT -> goto search
        :: OWNER(got) == me && IS_FENCE(got) ->
#ifdef NO_BASE_CHECK
            begins();
            goto lead
#else
            verifies = true;
            goto look
#endif
        :: OWNER(got) != me && IS_FENCE(got) ->
#ifdef TRUST_FENCES
            apply();
            goto search
#else
            goto look
#endif
        :: got != ABSENT && !IS_FENCE(got) && (OWNER(got) == me || led == 0) -> apply(); goto search
        :: got != ABSENT && !IS_FENCE(got) && OWNER(got) != me && led != 0 -> stop()
        fi
    }

look:
    atomic {
        listBases();
        if
        :: at > end && verifies -> begins(); goto lead
        :: at > end && !verifies -> apply(); end = 0; goto search
        /* Something continues it. */
        :: at <= end && got == history[at] && !verifies -> apply(); end = 0; goto search
        /* It is void. A writer with changes of its own gives up: a base may have others in their place. */
#ifndef AGAIN_FROM_BASE
        :: at <= end && led != 0 -> stop()
        :: at <= end && led == 0 ->
#else
        :: at <= end ->
#endif
            at = end + 1;
            epoch = EPOCH(history[end]);
            got = ABSENT;
            end = 0;
            verifies = false;
            goto search
        fi
    }

lead:
    if
    :: atomic {
        at <= NAMES ->
            put(at, SEGMENT(epoch, me));
            if
            :: answer == created -> answer = 0; acknowledge(); goto lead
            :: answer == lost -> answer = 0; goto lead
            :: answer == exists -> answer = 0; get(at)
            fi;
            if
            :: got == SEGMENT(epoch, me) -> got = ABSENT; acknowledge(); goto lead
            :: got == ABSENT -> goto lead /* It was collected in between. */
            :: IS_FENCE(got) -> got = ABSENT; goto search /* It fences again, after fences alone. */
            :: got != ABSENT && got != SEGMENT(epoch, me) && !IS_FENCE(got) -> stop()
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
    :: atomic {
        /* It is started again. It may have noted less than it shipped. */
        at <= NAMES ->
            do
            :: history[at - 1] == SEGMENT(epoch, me) -> at--
            :: break
            od;
            goto search
    }
    :: atomic { at > NAMES && at - 1 <= base -> stop() }
    fi;
endOver:
    false
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
        :: history[n] == ABSENT && (fences[n] & BIT(me)) -> begin(n, FENCE_AT(n, me), created_late)
        :: history[n] == ABSENT && (segments[n] & BIT(me)) -> begin(n, SEGMENT_AT(n, me), created_late)
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
    byte me; /* nobody's */
    byte at;
    byte epoch; /* what apply() sets */
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
        /* It looks for bases, where everything is history, or asks again. */
        :: got == ABSENT || got == history[at] -> got = ABSENT
#ifdef TRUST_FENCES
        :: got != ABSENT && got != history[at] -> apply()
#else
        :: got != ABSENT && got != history[at] && !IS_FENCE(got) -> apply()
        :: got != history[at] && IS_FENCE(got) -> goto fence
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
