# Reads the disassembly of a program (objdump -d). Fails for functions in which a text's bytes outlive it.
#
# The bytes of a short text are in the text itself, so `text.utf8.span` may point into the frame of the function that asks
# for it. Swift 6.3.1 does not see that, and may end such a function by a jump to the one that it gives the span to: then
# that reads a frame which is gone. Jumps to functions of Swift that take no span, and to its runtime, are none of these.
# What is called by its address is not seen.

function endFunction() {
    if (hasSpan && jumps != "") {
        print name " ends by a jump to" jumps
        found = 1
    }
    hasSpan = 0
    jumps = ""
}

/^[0-9a-f]+ <.*>:$/ {
    endFunction()
    name = $2
    gsub(/^<|>:$/, "", name)
}

/\t(call|bl) .*<\$sSS8UTF8ViewV4spans4SpanVys5UInt8VGvg(@plt)?>$/ {
    hasSpan = 1
    count++
}

# A jump in either order of the blocks, also one on a condition.
/\t(j[a-z]+|b|b\.[a-z]+) +[0-9a-f]+ <[^+]*>$/ {
    target = $NF
    gsub(/^<|>$/, "", target)
    if (target != name && target !~ /^(swift_|objectdestroy)/ && target ~ /SpanV|^[^$]/)
        jumps = jumps " " target
}

END {
    endFunction()
    # A program without one call is not read rightly, or was written otherwise: this check is blind.
    if (count == 0) print "no text's bytes are asked for"
    exit found || count == 0
}
