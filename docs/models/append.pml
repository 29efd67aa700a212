/* Append, take-over and fences: the names log/1, log/2, … while nothing is deleted. See README.md.
 *
 * A writer is one host's store. It knows a part of the log from the beginning, which is on its disk.
 * No writer ever has to continue, so each may pause anywhere, wake up at any time, and give up.
 */
#ifndef WRITERS
#define WRITERS 3
#endif
#ifndef NAMES
#define NAMES 7
#endif
#if defined(SKIP_NUMBERS) || defined(TWO_IN_FLIGHT)
#define HOLES
#endif

/* What is at a name: an epoch, as its writer computed it, the writer, and the kind. A writer's
 * segment under a name is always the same one, so its writer stands for nonce and hash. */
#define ABSENT 0
#define SEGMENT(epoch, writer) (16 * (epoch) + 2 * (writer))
#define FENCE(epoch, writer) (16 * (epoch) + 2 * (writer) + 1)
#define EPOCH(object) ((object) / 16)
#define OWNER(object) (((object) / 2) % 8)
#define IS_FENCE(object) ((object) % 2 == 1)

byte object[NAMES + 1]; /* log/<n>; [0] is the store's beginning */
byte acknowledged[NAMES + 1]; /* what a publisher was told is replicated; never reset */

/* Requests without an answer, which may still arrive: a writer's last fence, and its last segment,
 * which may both be under way after it was started again. */
#define LATE(what) (2 * OWNER(what) + (what) % 2)
byte lateName[2 * WRITERS + 2];
byte lateObject[2 * WRITERS + 2];

byte leads[WRITERS + 1]; /* the name from which on a writer leads; 0: it never did */

byte begun; /* writers are numbered in the order in which they begin */
byte step, other, owner, fenced, led; /* used inside one step */
byte told; /* for REACH: which writers acknowledged something */

mtype = { created, exists, lost, created_and_lost, late, created_late };
mtype answer; /* of the request in the same step */

/* What must always be so. With ONLY_ACKNOWLEDGED: of what was acknowledged alone. */
inline check() {
    owner = 0; /* whose the newest fence is */
    fenced = 0; /* its name */
    led = 0; /* writers that had led before this name, as bits */
    step = 1;
    do
    :: step <= NAMES ->
        if
        :: acknowledged[step] != ABSENT ->
            /* Nothing acknowledged is lost. */
            assert(object[step] == acknowledged[step]);
#ifndef NO_FENCES
            /* Nothing is acknowledged after the fence of another writer. */
            assert(owner == OWNER(acknowledged[step]))
#endif
        :: else
        fi;
        if
        :: object[step] != ABSENT && IS_FENCE(object[step]) ->
#if !defined(ONLY_ACKNOWLEDGED) && !defined(HOLES)
            /* Epochs are the ordinals of the fences, so no two are the same. */
            assert(EPOCH(object[step]) == EPOCH(object[step - 1]) + 1);
#endif
            owner = OWNER(object[step]);
            fenced = step;
            led = led | (leads[owner] > step -> 1 << owner : 0)
        :: object[step] != ABSENT && !IS_FENCE(object[step]) ->
#ifndef ONLY_ACKNOWLEDGED
#ifndef NO_FENCES
            /* One history: a segment follows the fence of its writer. */
            assert(OWNER(object[step]) == owner);
#endif
            other = 1;
            do
            :: other <= WRITERS ->
                if
                :: other != OWNER(object[step]) && leads[other] != 0 ->
                    /* Who leads has all that was, or will be, told by writers before it, … */
                    assert(leads[other] > step || fenced >= leads[other]);
                    /* … in place of changes of its own. */
                    assert(leads[other] <= step || !(led & (1 << other)))
                :: else
                fi;
                other++
            :: else -> break
            od
#endif
        :: else
        fi;
#if !defined(ONLY_ACKNOWLEDGED) && !defined(HOLES)
        /* No number is skipped. */
        assert(object[step] == ABSENT || step == 1 || object[step - 1] != ABSENT);
#endif
        step++
    :: else -> break
    od;
    step = 0;
    other = 0;
    owner = 0;
    fenced = 0;
    led = 0
}

/* For the story of a counterexample: spin -t. */
inline tell(name, what, how) {
    if
    :: IS_FENCE(what) ->
        printf("writer %d: fence %d at log/%d %e\n", OWNER(what), EPOCH(what), name, how)
    :: else -> printf("writer %d: segment at log/%d %e\n", OWNER(what), name, how)
    fi
}

inline create(name, what) {
    object[name] = what;
    /* What is late for this name finds it taken from now on. */
    step = 2;
    do
    :: step < 2 * WRITERS + 2 ->
        if
        :: lateName[step] == name -> lateName[step] = 0; lateObject[step] = ABSENT
        :: else
        fi;
        step++
    :: else -> break
    od;
    check()
}

/* PUT log/<name> with If-None-Match: *. A lost answer: it was done, or is done later, or never. */
inline put(name, what) {
    if
    :: object[name] == ABSENT ->
        d_step { tell(name, what, created); create(name, what) };
        answer = created
    :: object[name] == ABSENT ->
        d_step { tell(name, what, created_and_lost); create(name, what) };
        answer = lost
    :: object[name] == ABSENT ->
        d_step {
            tell(name, what, late);
            lateName[LATE(what)] = name;
            lateObject[LATE(what)] = what
        };
        answer = lost
    :: object[name] != ABSENT -> answer = exists
    :: object[name] != ABSENT -> answer = lost
    fi
}

inline acknowledge(name) {
    d_step {
        printf("writer %d: log/%d is acknowledged\n", me, name);
        acknowledged[name] = SEGMENT(epoch, me);
        check();
#ifndef HOLES
        acknowledged[name] = ABSENT; /* All before it is there, and stays: it is not looked at again. */
#endif
#ifdef REACH
        told = told | (1 << (me - 1));
        assert(told != (1 << WRITERS) - 1);
#endif
#ifdef REACH_AGAIN
        /* A fence, another writer's, and one of the first one's again. */
        assert(name < 4 || !IS_FENCE(object[name - 1]) || !IS_FENCE(object[name - 2])
            || OWNER(object[name - 2]) == me || OWNER(object[name - 3]) != me);
#endif
    }
}

inline begin() {
    d_step {
        printf("writer %d: leads from log/%d\n", me, at);
        leads[me] = at;
        check()
    }
}

/* It is deposed, or gives up. */
inline stop() {
    at = 0; got = ABSENT; epoch = 0; leads[me] = 0;
    goto endOver
}

active [WRITERS] proctype Writer() {
    byte me = _pid + 1;
    byte at; /* the next name: it knows all before it */
    byte epoch; /* of what is before it */
    byte got;
#ifdef EARLY_EPOCH
    byte chosen;
#endif

    atomic {
        begun == me - 1 -> begun = me;
        at = 1;
        do
        :: at < NAMES && object[at] != ABSENT -> epoch = EPOCH(object[at]); at++ /* on its disk */
        :: break
        od
#ifdef EARLY_EPOCH
        chosen = epoch + 1;
#endif
        goto search
    }

    /* Reads the log to its end, and creates a fence there. */
search:
#ifdef NO_FENCES
    atomic { at <= NAMES && object[at] == ABSENT -> epoch++; begin(); goto lead }
#endif
    atomic {
        if
        :: at > NAMES -> stop()
        :: else
        fi;
#ifdef EARLY_EPOCH
        got = FENCE(chosen, me);
#else
        got = FENCE(epoch + 1, me);
#endif
        put(at, got);
        got = ABSENT;
        if
        :: answer == created ->
            answer = 0; epoch = EPOCH(object[at]); at++; begin(); goto lead
        :: answer == lost -> answer = 0; goto search
        :: answer == exists -> answer = 0
        fi;
        got = object[at]; /* At once: it stays. */
        if
        :: OWNER(got) == me && IS_FENCE(got) ->
            epoch = EPOCH(got); got = ABSENT; at++; begin(); goto lead
        :: OWNER(got) == me && !IS_FENCE(got) -> /* It was started again since it sent it. */
            got = ABSENT; acknowledge(at); at++; goto search
        /* As planned, or automatically, it gives up here, since somebody lives: a pause without an end. By
         * force it applies what it finds. A leader's own changes, some of which may not be in the log,
         * remain good after fences, but not after another writer's changes. */
#ifdef MERGE
        :: OWNER(got) != me ->
#else
        :: OWNER(got) != me && (IS_FENCE(got) || leads[me] == 0) ->
#endif
            epoch = EPOCH(got); got = ABSENT; at++; goto search
        :: else -> stop()
        fi
    }

lead:
#ifdef TWO_IN_FLIGHT
    /* The next one leaves before this one is answered, and may get there first. */
    if
    :: at < NAMES ->
        atomic {
            put(at + 1, SEGMENT(epoch, me));
            if
#ifdef IN_ORDER
            :: answer = 0 /* Acknowledged behind the one before it, and not yet. */
#else
            :: answer == created -> answer = 0; acknowledge(at + 1)
            :: else -> answer = 0
#endif
            fi
        }
    :: true
    fi;
#endif
    atomic {
        if
        :: at > NAMES -> stop()
        :: at <= NAMES
#ifndef NO_FENCES
        :: at <= NAMES -> goto search /* It is started again. */
#endif
        fi;
        put(at, SEGMENT(epoch, me));
        if
        :: answer == created -> answer = 0; acknowledge(at); at++; goto lead
#ifdef SKIP_NUMBERS
        :: answer == lost -> answer = 0; at++; goto lead
#else
        :: answer == lost -> answer = 0; goto lead
#endif
        :: answer == exists -> answer = 0
        fi;
        got = object[at];
        if
        :: OWNER(got) == me && !IS_FENCE(got) ->
            got = ABSENT; acknowledge(at); at++; goto lead
#ifdef LEAD_ON
        :: OWNER(got) != me && IS_FENCE(got) -> got = ABSENT; at++; goto lead
#elif !defined(NO_FENCES)
        :: IS_FENCE(got) -> got = ABSENT; goto search /* It waits for a segment, and fences again. */
#endif
        :: else -> stop()
        fi
    }
endOver:
    false
}

/* Carries out what is late. */
active proctype Network() {
    byte request, name, what;
endless:
    do
    :: atomic {
        select(request: 2 .. (2 * WRITERS + 1));
        if
        :: lateName[request] != 0 ->
            d_step {
                name = lateName[request];
                what = lateObject[request];
                tell(name, what, created_late);
                create(name, what);
                name = 0;
                what = 0
            }
        :: else
        fi;
        request = 0
    }
    od
}
