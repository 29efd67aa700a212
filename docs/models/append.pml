/* Append, take-over and fences: the names log/1, log/2, … while nothing is deleted. See README.md.
 *
 * A writer is one term of one host: a process that has created an epoch. A host that restarts is
 * another writer, which knows what is on its disk: a part of the log, from the beginning. No writer
 * ever has to go on, so each may pause anywhere and wake up at any time.
 */
#ifndef WRITERS
#define WRITERS 4
#endif
#ifndef NAMES
#define NAMES 7
#endif
#if defined(SKIP_NUMBERS) || defined(TWO_IN_FLIGHT)
#define HOLES
#endif

/* What is at a name. An epoch is one writer's, and one number one segment of it, so the epoch
 * stands for the writer's nonce and the hash. */
#define ABSENT 0
#define SEGMENT(epoch) (2 * (epoch))
#define FENCE(epoch) (2 * (epoch) + 1)
#define EPOCH(object) ((object) / 2)
#define IS_FENCE(object) ((object) % 2 == 1)

byte object[NAMES + 1]; /* log/<n>; [0] is the store's beginning */
byte acknowledged[NAMES + 1]; /* what a publisher was told is replicated; never reset */
byte epochs; /* the newest epoch/<n> */

/* A request without an answer, which may still arrive: one of each writer. */
byte lateName[WRITERS + 1];
byte lateObject[WRITERS + 1];

byte leads[WRITERS + 1]; /* the name from which on a writer leads; 0: it does not */

byte step, other, newest; /* used inside one step */
byte told; /* for REACH: which writers acknowledged something */

mtype = { created, exists, lost, created_and_lost, late, created_late };
mtype answer; /* of the request in the same step */

/* What must always be so. With ONLY_ACKNOWLEDGED: of what was acknowledged alone. */
inline check() {
    newest = 0;
    step = 1;
    do
    :: step <= NAMES ->
#ifndef ONLY_ACKNOWLEDGED
        if
        :: object[step] != ABSENT ->
            /* One history: epochs never descend. */
            assert(EPOCH(object[step]) >= newest);
#ifndef HOLES
            /* No number is skipped. */
            assert(step == 1 || object[step - 1] != ABSENT);
#endif
            /* Who leads has applied everything that writers before it were, or will be, told. */
            other = EPOCH(object[step]) + 1;
            do
            :: other <= WRITERS ->
                assert(leads[other] == 0 || leads[other] > step);
                other++
            :: else -> break
            od
        :: else
        fi;
#endif
        if
        :: acknowledged[step] != ABSENT ->
            /* Nothing acknowledged is lost. */
            assert(object[step] == acknowledged[step]);
            /* Nothing is acknowledged behind the fence of a later epoch. */
            assert(newest <= EPOCH(acknowledged[step]))
        :: else
        fi;
        if
        :: EPOCH(object[step]) > newest -> newest = EPOCH(object[step])
        :: else
        fi;
        step++
    :: else -> break
    od;
    step = 0;
    other = 0;
    newest = 0
}

/* For the story of a counterexample: spin -t. */
inline tell(name, what, how) {
    if
    :: IS_FENCE(what) -> printf("writer %d: fence at log/%d %e\n", EPOCH(what), name, how)
    :: else -> printf("writer %d: segment at log/%d %e\n", EPOCH(what), name, how)
    fi
}

inline create(name, what) {
    object[name] = what;
    /* What is late for this name finds it taken from now on. */
    step = 1;
    do
    :: step <= WRITERS ->
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
        d_step { tell(name, what, late); lateName[me] = name; lateObject[me] = what };
        answer = lost
    :: object[name] != ABSENT -> answer = exists
    :: object[name] != ABSENT -> answer = lost
    fi
}

inline acknowledge(name) {
    d_step {
        printf("writer %d: log/%d is acknowledged\n", me, name);
        acknowledged[name] = SEGMENT(me);
        check();
#ifdef REACH
        told = told | (1 << (me - 1));
        assert(told != (1 << WRITERS) - 1);
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

active [WRITERS] proctype Writer() {
    byte me = _pid + 1;
    byte at; /* the next name: it knows all before it */
    byte got;

    /* Creates the epoch behind the newest; who loses the race for it takes the next. */
    atomic {
        epochs == me - 1 -> epochs = me;
        at = 1;
        do
        :: at < NAMES && object[at] != ABSENT -> at++ /* from its disk */
        :: break
        od
    }

search:
    if
    :: at > NAMES -> goto over
    :: else
    fi;
#ifdef NO_FENCES
    if
    :: atomic { object[at] == ABSENT -> begin(); goto lead }
    :: else
    fi;
#endif
    atomic {
        put(at, FENCE(me));
        if
        :: answer == created -> answer = 0; at++; begin(); goto lead
        :: answer == lost -> answer = 0; goto search
        :: answer == exists -> answer = 0
        fi
    }
    atomic {
        got = object[at];
        if
        :: got == FENCE(me) -> got = 0; at++; begin(); goto lead
        :: EPOCH(got) > me -> goto over
        :: else -> at++; got = 0; goto search
        fi
    }

lead:
    if
    :: at > NAMES -> goto over
    :: else
    fi;
#ifdef TWO_IN_FLIGHT
    /* The next one leaves before this one is answered, and may get there first. */
    if
    :: at < NAMES ->
        atomic {
            put(at + 1, SEGMENT(me));
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
        put(at, SEGMENT(me));
        if
        :: answer == created -> answer = 0; acknowledge(at); at++; goto lead
#ifdef SKIP_NUMBERS
        :: answer == lost -> answer = 0; at++; goto lead
#else
        :: answer == lost -> answer = 0; goto lead
#endif
        :: answer == exists -> answer = 0
        fi
    }
    atomic {
        got = object[at];
        if
        :: got == SEGMENT(me) -> got = 0; acknowledge(at); at++; goto lead
        :: else /* Deposed. */
        fi
    }
over:
    at = 0; got = 0
}

/* Carries out what is late. */
active proctype Network() {
    byte writer, name, what;
endless:
    do
    :: atomic {
        select(writer: 1 .. WRITERS);
        if
        :: lateName[writer] != 0 ->
            d_step {
                name = lateName[writer];
                what = lateObject[writer];
                tell(name, what, created_late);
                create(name, what);
                name = 0;
                what = 0
            }
        :: else
        fi;
        writer = 0
    }
    od
}
