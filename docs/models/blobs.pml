/* Names of blobs, and garbage. See README.md.
 *
 * One payload is published, removed and published again. Each upload of it gets a name of its own,
 * blob/<epoch>/<number>; a segment names it only while it is live, or when it is new. The log is
 * taken for what append.pml and collect.pml prove of it: one history, and only the writer of the
 * last fence appends.
 */
#ifndef WRITERS
#define WRITERS 3
#endif
#ifndef SEGMENTS
#define SEGMENTS 5
#endif
/* How many segments back the store must be restorable to. */
#ifndef RETENTION
#define RETENTION 1
#endif
#ifndef NUMBERS
#define NUMBERS 2 /* uploads of one epoch */
#endif

#ifdef CONTENT_NAMES
#define NAME(epoch, number) 1 /* blob/sha256-… */
#define EPOCH(name) 1
#define BLOBS 1
#else
#define NAME(epoch, number) (((epoch) - 1) * NUMBERS + (number))
#define EPOCH(name) (((name) - 1) / NUMBERS + 1)
#define BLOBS (WRITERS * NUMBERS)
#endif
#define BIT(name) (1 << (name))

byte named[SEGMENTS + 1]; /* which blob the store names after a segment; 0: none */
byte end; /* the last segment */
byte epochs; /* the newest epoch/<n> */
byte leader; /* whose fence is the last */

short uploaded; /* blobs that were ever there, as bits */
short doomed; /* blobs whose deletion was decided: it may be done at any time */
byte confirmed[WRITERS + 1]; /* the last segment that a writer knows to be in the log */
byte flying[WRITERS + 1]; /* uploaded by a writer, and not named by a confirmed segment */
#ifdef GARBAGE_OF_UNCONFIRMED
byte removing; /* writers whose segment under way removes the blob, as bits */
#endif
byte deciding; /* writers that have taken over, as bits */

#ifdef GAP_NAMES
/* Names begin behind a gap for each writer that the log has a segment of, instead of its epoch. */
byte generations;
byte holder[BLOBS + 1]; /* who uploaded what is at a name: the last one, for a PUT replaces it */
byte namer[SEGMENTS + 1]; /* and whose upload the segment means */
#endif
byte step;
byte told; /* for REACH */

/* What the history within the retention names is there, and stays. */
inline check() {
    step = (end > RETENTION -> end - RETENTION : 0);
    do
    :: step <= end ->
        assert(named[step] == 0 || (uploaded & BIT(named[step])));
        assert(named[step] == 0 || !(doomed & BIT(named[step])));
#ifdef GAP_NAMES
        assert(holder[named[step]] == namer[step]);
#endif
        step++
    :: else -> break
    od;
    step = 0
}

/* Appends a segment after which the store names `what`. */
#define DEPOSED (leader != me)
inline append(what) {
    printf("writer %d: segment %d, and the store names blob %d\n", me, end + 1, what);
#ifdef GAP_NAMES
    namer[end + 1] = (what == 0 -> 0 : (what == named[end] -> namer[end] : me));
    generations = (generation > generations -> generation : generations);
#endif
    named[end + 1] = what;
    end++;
    check()
}

active [WRITERS] proctype Writer() {
    byte me = _pid + 1;
    byte number = 1;
#ifdef GAP_NAMES
    byte generation;
#endif

    atomic { epochs == me - 1 -> epochs = me }
    /* The fence. */
    atomic {
        if
        :: leader > me -> goto over
        :: else ->
            printf("writer %d: takes over behind segment %d\n", me, end);
            leader = me;
            confirmed[me] = end;
#ifdef GAP_NAMES
            generation = generations + 1 /* No collector: it fails without one. */
#else
            deciding = deciding | BIT(me)
#endif
        fi
    }
idle:
    if
    :: end >= SEGMENTS -> goto over
    :: else
    fi;
    if
    :: named[confirmed[me]] == 0 && number <= NUMBERS ->
        atomic {
            /* With CONTENT_NAMES: unless it exists. */
#ifdef GAP_NAMES
            flying[me] = NAME(generation, number);
            holder[flying[me]] = me;
#else
            flying[me] = NAME(me, number);
#endif
            uploaded = uploaded | BIT(flying[me]);
            printf("writer %d: blob %d is uploaded\n", me, flying[me]);
            number++;
            check()
        }
        atomic {
            if
            :: DEPOSED || end >= SEGMENTS -> goto over
            :: else -> append(flying[me])
            fi
        }
    :: named[confirmed[me]] != 0 ->
        /* It is removed. */
#ifdef GARBAGE_OF_UNCONFIRMED
        atomic { removing = removing | BIT(me) }
#endif
        atomic {
            if
            :: DEPOSED || end >= SEGMENTS -> goto over
            :: else -> append(0)
            fi
        }
    :: true ->
        /* The same payload once more, or anything else: what the store names stays as it is. */
        atomic {
            if
            :: DEPOSED || end >= SEGMENTS -> goto over
            :: else -> step = named[end]; append(step)
            fi
        }
    fi;
    /* The answer comes. */
    atomic {
        if
        :: DEPOSED -> goto over /* It is confirmed, but no more is to be done. */
        :: else
        fi;
        confirmed[me] = end;
        flying[me] = 0;
#ifdef GARBAGE_OF_UNCONFIRMED
        removing = removing & ~BIT(me);
#endif
#ifdef REACH
        told = told | BIT(me);
        assert(told != (1 << (WRITERS + 1)) - 2 || doomed == 0);
#endif
        goto idle
    }
over:
    atomic { number = 0 }
}

inline dooms() {
    printf("writer %d: deletes blob %d, going by segment %d\n", me, blob, confirmed[me]);
    doomed = doomed | BIT(blob);
    check()
}

/* The garbage of a writer's view: of what it knows to be confirmed, however old that is. */
active [WRITERS] proctype Collector() {
    byte me = _pid + 1 - WRITERS;
    byte blob;
    bool isNamed;
    bool wasNamed;
#ifdef CHECKS_BEFORE_LIST
    atomic { (deciding & BIT(me)) && epochs == me };
#endif
endless:
    do
    :: atomic {
        (deciding & BIT(me));
        select(blob: 1 .. BLOBS);
        isNamed = false;
        wasNamed = false;
        step = 0;
        do
        :: step <= confirmed[me] ->
            if
            :: named[step] == blob -> wasNamed = true; isNamed = step + RETENTION >= confirmed[me]
            :: else
            fi;
            step++
        :: else -> break
        od;
        step = 0;
#ifdef GARBAGE_OF_UNCONFIRMED
        /* It goes by its own disk, which is ahead of the log. */
        if
        :: (removing & BIT(me)) && RETENTION == 0 -> isNamed = false
        :: else
        fi;
#endif
        if
        :: isNamed || !(uploaded & BIT(blob)) || (doomed & BIT(blob)) -> blob = 0
#ifndef COLLECT_FLYING
        :: !isNamed && flying[me] == blob -> blob = 0
#endif
#if defined(CONTENT_NAMES)
        /* The name tells no epoch: only what the history named is garbage. */
        :: !isNamed && !wasNamed -> blob = 0
#elif !defined(LIST_ALL)
        :: !isNamed && EPOCH(blob) > me -> blob = 0
#endif
        :: else
        fi;
        isNamed = false;
        wasNamed = false;
#ifndef READS_EPOCHS
        if
        :: blob != 0 -> dooms()
        :: else
        fi;
        blob = 0
    }
#else
    }
    if
    :: blob == 0
    :: blob != 0 && epochs != me -> break
    :: atomic { blob != 0 && epochs == me -> dooms(); blob = 0 }
    fi
#endif
    od;
    blob = 0
}
