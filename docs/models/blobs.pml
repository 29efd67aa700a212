/* Names of blobs, and garbage. See README.md.
 *
 * One payload is published, removed and published again. Each upload of it gets a number, of the epoch
 * in which its writer stored it; a segment names it only while it is live, or when it is new. The log is
 * taken for what append.pml and collect.pml prove of it: one history, and only the writer of the last
 * fence appends. Void fences are left out.
 */
#ifndef WRITERS
#define WRITERS 3
#endif
#ifndef NAMES
#define NAMES 6
#endif
/* How many names back the store must be restorable to. */
#ifndef RETENTION
#define RETENTION 1
#endif
#ifndef NUMBERS
#define NUMBERS 1 /* uploads of one epoch */
#endif
#ifndef BASES
#define BASES 2
#endif

#ifdef CONTENT_NAMES
#define NUMBER(epoch, count) 1 /* blob/sha256-… */
#else
#define NUMBER(epoch, count) (((epoch) - 1) * NUMBERS + (count)) /* the first count of an epoch is 1 */
#endif
#define BLOBS (NAMES * NUMBERS)
#define BIT(number) (1 << (number))

byte owner[NAMES + 1]; /* who wrote log/<n> */
byte named[NAMES + 1]; /* which blob the store names after it; 0: none */
byte next[NAMES + 1]; /* the next number, where there is a base after log/<n>; 0: there is none */
byte fences; /* names with fences, as bits */
byte epochs; /* their number: the newest epoch */
byte end; /* the last name */
byte bases; /* how many there are */
byte base; /* the newest one: the segments up to it may be collected */
#define IS_FENCE(n) (fences & BIT(n))

short uploaded; /* blobs that were ever there, as bits */
byte doomed; /* a blob whose deletion was decided: it may be done at any time */
byte confirmed[WRITERS + 1]; /* the last name that a writer knows to be in the log */
byte stored[WRITERS + 1]; /* which blob its own store names: of an upload that may not be in the log */
bool pending[WRITERS + 1]; /* whether that differs from what is confirmed, as far as it knows */

#if defined(GAP_NAMES) || defined(GAP_FENCES)
#define GAPS
/* Epochs whose numbers begin after the last one in the log: after a gap, instead of the ordinal. */
byte generation[NAMES + 1]; /* which gap the numbers in the log are after */
byte made[WRITERS + 1]; /* and that of a writer's pending change */
byte holder[BLOBS + 2]; /* who uploaded what is at a name: the last one, for a PUT replaces it */
byte namer[NAMES + 1]; /* and whose upload the segment means */
#endif
byte begun; /* writers are numbered in the order in which they lead */
byte step;
byte told; /* for REACH */

/* What the history names within the retention is there, and stays. */
inline check() {
    step = (end > RETENTION -> end - RETENTION : 0);
    do
    :: step <= end ->
        assert(named[step] == 0 || (uploaded & BIT(named[step])));
        assert(named[step] == 0 || doomed != named[step]);
#ifdef GAPS
        assert(holder[named[step]] == namer[step]);
#endif
        step++
    :: else -> break
    od;
    step = 0
}

inline append() {
    printf("writer %d: segment at log/%d, and the store names blob %d\n", me, end + 1, stored[me]);
#ifdef GAPS
    generation[end + 1] = made[me];
    namer[end + 1] = (stored[me] == 0 -> 0 : (stored[me] == named[end] -> namer[end] : me));
#endif
    end++;
    owner[end] = me;
    named[end] = stored[me];
    check()
}

inline fence() {
    end++;
    epochs++;
    printf("writer %d: fence %d at log/%d\n", me, epochs, end);
    fences = fences | BIT(end);
    owner[end] = me;
    named[end] = named[end - 1];
#ifdef GAPS
    generation[end] = generation[end - 1];
    namer[end] = namer[end - 1];
    epoch = generation[end] + 1;
#ifdef GAP_FENCES
    /* A gap for each fence since the last segment. */
    step = end - 1;
    do
    :: step > 0 && IS_FENCE(step) -> step--; epoch++
    :: else -> break
    od;
    step = 0;
#endif
    epoch = (epoch > made[me] -> epoch : made[me] + 1);
#else
    epoch = epochs;
#endif
    count = 1;
    confirmed[me] = end
}

active [WRITERS] proctype Writer() {
    byte me = _pid + 1;
    byte epoch;
    byte count; /* of the next upload in it */
    byte first; /* its first fence */

endBefore:
    /* It has applied all. */
    atomic {
        begun == me - 1 && end < NAMES ->
            begun = me;
            stored[me] = named[end];
            fence();
            first = end
    }
endless:
    do
    /* A change: a publish, whose blob is uploaded first, or a removal, or anything else. */
    :: atomic {
        !pending[me] ->
            if
            :: stored[me] == 0 && count <= NUMBERS ->
                /* With CONTENT_NAMES: unless it exists. */
                stored[me] = NUMBER(epoch, count);
                count++;
                uploaded = uploaded | BIT(stored[me]);
                printf("writer %d: blob %d is uploaded\n", me, stored[me]);
#ifdef GAPS
                holder[stored[me]] = me;
                check()
#endif
            :: stored[me] != 0 -> stored[me] = 0; printf("writer %d: removes it\n", me)
            :: true
            fi;
#ifdef GAPS
            made[me] = epoch;
#endif
            pending[me] = true
    }
    :: atomic { pending[me] && confirmed[me] == end && end < NAMES -> append() }
    /* Its answer comes, or it reads its own segment. */
    :: atomic {
        confirmed[me] < end && owner[confirmed[me] + 1] == me && !IS_FENCE(confirmed[me] + 1) ->
            confirmed[me]++;
            pending[me] = false;
#ifdef REACH
            told = told | BIT(me);
            assert(told != (1 << (WRITERS + 1)) - 2 || doomed == 0);
#endif
    }
    /* It meets others' fences alone, and fences again. */
    :: atomic {
        confirmed[me] < end && end < NAMES ->
            step = confirmed[me] + 1;
            do
            :: step <= end && IS_FENCE(step) -> step++
            :: else -> break
            od;
            if
            :: step > end -> step = 0; fence()
            :: else -> step = 0
            fi
    }
    /* A base, of all that its store has, which is confirmed. It may bear the name of an earlier name that
     * this writer appended after, for it was begun there, and be one of its earlier epochs. */
    :: atomic {
#ifdef BASE_AT_FENCE
        !pending[me] && bases < BASES ->
#else
        !pending[me] && bases < BASES && !IS_FENCE(confirmed[me]) ->
#endif
            step = confirmed[me];
            do
            :: step > 1 && (IS_FENCE(step) || owner[step] == me) && step > first -> step--
            :: break
            od;
            if
            :: owner[step] == me && next[step] == 0 ->
                bases++;
                next[step] = NUMBER(epoch, count);
                base = (step > base -> step : base);
                printf("writer %d: base/%d, and the next number is %d\n", me, step, next[step])
            :: else
            fi;
            step = 0
    }
    :: end == NAMES && confirmed[me] == end -> break
    od
}

inline stop() {
    me = 0; blob = 0; oldest = 0; isKept = false; wasNamed = false; step = 0;
    goto endOver
}

/* The garbage collection of one writer, which may pause before each step, for whatever time. One
 * deletion is enough: nobody else's steps depend on it. */
active proctype Collector() {
    byte me;
    byte blob;
    byte oldest; /* the base that the retention begins with, then the name that is asked for */
    bool isKept;
    bool wasNamed;

endBefore:
    atomic {
        begun > 0;
        select(me: 1 .. begun)
    }
#ifdef CHECKS_FIRST
    goto asks;
found:
#endif
    /* LIST base/ */
    atomic {
        step = (end > RETENTION -> end - RETENTION : 0);
        do
        :: step > 0 && next[step] == 0 -> step--
        :: else -> break
        od;
        oldest = step;
        step = 0;
        printf("writer %d: collects what is older than base/%d\n", me, oldest)
    }
    /* A snapshot of its store, and what of the bases' is garbage by that. */
    atomic {
        select(blob: 1 .. BLOBS);
        step = oldest;
        do
        :: step <= confirmed[me] -> isKept = isKept || named[step] == blob; step++
        :: else -> break
        od;
        step = 0;
        do
        :: step <= confirmed[me] -> wasNamed = wasNamed || named[step] == blob; step++
        :: else -> break
        od;
        step = 0;
        isKept = isKept || named[confirmed[me]] == blob;
#ifdef GARBAGE_OF_UNCONFIRMED
        /* It goes by its own disk, which is ahead of the log. */
        isKept = (RETENTION == 0 -> stored[me] == blob : isKept);
#endif
#ifndef COLLECT_PENDING
        isKept = isKept || stored[me] == blob;
#endif
#if defined(CONTENT_NAMES)
        /* The name tells nothing: only what the history named is garbage. */
        isKept = isKept || !wasNamed;
#elif !defined(LIST_ALL)
        isKept = isKept || blob >= next[oldest];
#elif !defined(SNAPSHOT_FIRST)
        /* LIST blob/ was before the snapshot. */
        isKept = isKept || !(uploaded & BIT(blob));
#endif
        wasNamed = false;
        if
        :: isKept -> stop()
        :: else -> oldest = 0
        fi
    }
    /* LIST blob/ */
    atomic {
        if
        :: uploaded & BIT(blob)
        :: else -> stop()
        fi
    }
#if defined(NO_CHECK) || defined(CHECKS_FIRST)
    goto dooms;
#endif
asks:
#ifdef LIST_FIRST
    atomic {
        if
        :: base > confirmed[me] -> stop()
        :: else
        fi
    }
#endif
    /* GET of the name after the last one that it knows; its own segments are stepped over. */
    atomic {
#if defined(LIST_ALL) && !defined(AT_FENCE)
        /* After a fence alone an earlier leader may fence again. */
        if
        :: IS_FENCE(confirmed[me]) -> stop()
        :: else
        fi;
#endif
        step = confirmed[me] + 1;
#ifndef NO_GET
        do
        :: step <= end && owner[step] == me && !IS_FENCE(step) -> step++
        :: step <= end && step <= base && !IS_FENCE(step) -> break /* It was collected. */
        :: step <= end && (owner[step] != me || IS_FENCE(step)) && (step > base || IS_FENCE(step)) ->
            stop()
        :: step > end -> break
        od;
#endif
        oldest = step;
        step = 0
    }
#if !defined(NO_LIST) && !defined(LIST_FIRST)
    /* LIST base/ */
    atomic {
        if
        :: base >= oldest -> stop()
        :: else
        fi
    }
#endif
#ifdef CHECKS_FIRST
    goto found;
#endif
dooms:
    atomic {
        printf("writer %d: deletes blob %d\n", me, blob);
        doomed = blob;
        check();
        stop()
    }
endOver:
    false
}
