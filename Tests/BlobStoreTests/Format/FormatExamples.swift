/// More bytes of what `docs/FORMAT.md` describes, in its notation and below its headings.
enum FormatExamples {
    static let text =
        """
        # Counters
        ```
        01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00   1 notification, 2 parts
        03 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00   3 blobs, 4 bytes
        05 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00   5 stored, 6 referred to
        07 00 00 00 00 00 00 00 08 00 00 00 00 00 00 00   7 orphans, 8 stored bytes
        09 00 00 00 00 00 00 00 0a 00 00 00 00 00 00 00   next blob 9, next id "10"
        0b 00 00 00 00 00 00 00 0c 00 00 00 00 00 00 00   revision 11, 12 tombstones
        0d 00 00 00 00 00 00 00 0e 00 00 00 00 00 00 00   13 held blobs, 14 categories
        0f 00 00 00 00 00 00 00 99 77 c8 6c 00 00 00 00   horizon 15, checksum 6cc87799
        ```

        # Zero-copy mark
        ```
        0b 7d 6d 0c 7b 9f 4c 1e 9d 2a 5d 3f 0f 2f 6a 01   boot id
        29 00 00 00 00 00 00 00 61 00 00 00 00 00 00 00   returned 41, last 97,
        80 ee 36 00 00 00 00 00 f6 b5 fb 75 00 00 00 00   an hour after the boot; checksum 75fbb5f6
        ```

        # Scrub mark
        ```
        00 50 5c 18 a3 01 00 00 c0 0d 4d 18 a3 01 00 00   began 08:00, the last one ended 07:43:20
        00 10 00 00 00 00 00 00 02 00 00 00 fb 07 2e 08   4,096 bytes; blobs; checksum 082e07fb
        2c f2 4d ba 5f b0 a3 0e 26 e8 3b 2a c5 b9 e2 9e   the digest of "hello"
        1b 16 1e 5c 1f a7 42 5e 73 04 33 62 93 8b 98 24
        ```

        # Record
        ```
        0000  01 00 02 00 2f d5 93 09 80 3e 93 18 a3 01 00 00   2 parts; checksum 0993d52f; expires 09:00
        0010  00 50 5c 18 a3 01 00 00 0c 00 00 00 00 00 00 00   published 08:00; revision 12
        0020  e7 00 00 00 c6 00 00 00 2c f2 4d ba 5f b0 a3 0e   231 bytes, fields at 198; digest …
        0030  26 e8 3b 2a c5 b9 e2 9e 1b 16 1e 5c 1f a7 42 5e
        0040  73 04 33 62 93 8b 98 24 07 00 00 00 00 00 00 00   … blob 7
        0050  05 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00   5 bytes, 5 stored
        0060  00 07 09 01 a8 00 00 00 00 01 02 03 04 05 06 07   identity, texts at 168; next digest …
        0070  08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16 17
        0080  18 19 1a 1b 1c 1d 1e 1f 09 00 00 00 00 00 00 00   … blob 9
        0090  e8 03 00 00 00 00 00 00 2c 01 00 00 00 00 00 00   1,000 bytes, 300 stored
        00a0  01 04 0a 00 b8 00 00 00 70 61 79 6c 6f 61 64 69   gzip, texts at 184; "payload" "i
        00b0  6d 61 67 65 2f 70 6e 67 69 63 6f 6e 74 65 78 74   mage/png" "icon" "text
        00c0  2f 70 6c 61 69 6e 01 00 00 00 04 00 00 00 61 6e   /plain"; owner "an
        00d0  6e 61 02 00 00 00 02 00 00 00 48 69 03 00 00 00   na"; message "Hi"; rich type
        00e0  03 00 00 00 69 6d 67                              "img"

        0000  01 00 00 00 98 67 b3 58 80 3e 93 18 a3 01 00 00   no parts; checksum 58b36798; expires 09:00
        0010  00 50 5c 18 a3 01 00 00 0d 00 00 00 00 00 00 00   published 08:00; revision 13
        0020  1a 01 00 00 28 00 00 00 01 00 00 00 04 00 00 00   282 bytes, fields at 40; owner, 4 bytes:
        0030  61 6e 6e 61 02 00 00 00 02 00 00 00 48 69 04 00   "anna"; message "Hi"; category,
        0040  00 00 05 00 00 00 72 65 70 6c 79 05 00 00 00 04   5 bytes: "reply"; group,
        0050  00 00 00 6e 65 77 73 06 00 00 00 08 00 00 00 01   4 bytes: "news"; state: read,
        0060  01 01 00 3c 00 00 00 07 00 00 00 0c 00 00 00 01   activated, low, 60 s; actions: foreground,
        0070  04 04 00 6f 70 65 6e 4f 70 65 6e 08 00 00 00 07   "open" "Open"; data,
        0080  00 00 00 7b 22 6e 22 3a 31 7d 09 00 00 00 05 00   7 bytes: {"n":1}; device,
        0090  00 00 70 68 6f 6e 65 0a 00 00 00 08 00 00 00 0c   5 bytes: "phone"; sequence 12
        00a0  00 00 00 00 00 00 00 0b 00 00 00 20 00 00 00 60   responses, 32 bytes: at
        00b0  3a 5d 18 a3 01 00 00 0d 00 00 00 00 00 00 00 00   08:01, revision 13, gone from the screen;
        00c0  02 05 05 6b 31 72 65 70 6c 79 70 68 6f 6e 65 0c   "k1" "reply" "phone"; title,
        00d0  00 00 00 04 00 00 00 4e 65 77 73 0d 00 00 00 04   4 bytes: "News"; app,
        00e0  00 00 00 6d 61 69 6c 0e 00 00 00 08 00 00 00 03   4 bytes: "mail"; platforms, 8 bytes:
        00f0  69 6f 73 03 77 65 62 0f 00 00 00 0b 00 00 00 65   "ios" "web"; target host, 11 bytes:
        0100  78 61 6d 70 6c 65 2e 63 6f 6d 10 00 00 00 08 00   "example.com"; the category's revision,
        0110  00 00 0b 00 00 00 00 00 00 00                     8 bytes: 11
        ```

        # Blob entry
        ```
        key    2c f2 4d ba 5f b0 a3 0e 26 e8 3b 2a c5 b9 e2 9e
               1b 16 1e 5c 1f a7 42 5e 73 04 33 62 93 8b 98 24
        value  07 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00   blob 7, 3 references
               05 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00   5 bytes, 5 stored
               80 3e 93 18 a3 01 00 00 00 00 00 00 00 00 00 00   bound 09:00, identity
               ad 88 35 75 00 00 00 00                           checksum 753588ad

        value  07 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00   blob 7, no reference
               05 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00   5 bytes, 5 stored
               80 3e 93 18 a3 01 00 00 00 00 00 2d ca 18 a3 01   bound 09:00, identity, held until 10:00
               86 f0 30 9f 00 00 00 00                           checksum 9f30f086
        ```

        # Times
        ```
        00 00 01 a3 18 93 3e 80 34 32                     2027-01-15T09:00:00Z, "42"

        00 00 01 a3 b2 db 18 00 00 01 61 6e 6e 61 00 00   2027-02-14T08:00:00Z, tombstone of "anna",
        00 00 00 00 00 00 0d                              revision 13

        00 00 01 a3 18 ca 2d 00 00 02 2c f2 4d ba 5f b0   2027-01-15T10:00:00Z, hold of …
        a3 0e 26 e8 3b 2a c5 b9 e2 9e 1b 16 1e 5c 1f a7
        42 5e 73 04 33 62 93 8b 98 24

        00 00 01 a3 b2 db 18 00 00 03 61 6e 6e 61         2027-02-14T08:00:00Z, purge marker of "anna"
        ```

        # Owners
        ```
        01 61 6e 6e 61 00 02 6e 65 77 73 00 00 00 00 00   "anna", member of the group "news",
        00 00 00 0c                                       sequence 12
        ```

        # Sequence entry
        ```
        key    01 61 6e 6e 61 00 01 00 00 00 00 00 00 00 0e      "anna", 14
        value  02 03 05 00 4a ee 27 48 72 65 70 6c 79 00 18 db   feed, category, "reply",
               b2 a3 01 00 00                                    until 2027-02-14T08:00:00Z; checksum 4827ee4a

        value  02 01 02 05 be 83 93 e0 34 31 70 68 6f 6e 65 00   feed, deleted, "41", of the app "mail";
               18 db b2 a3 01 00 00 6d 61 69 6c                  checksum e09383be
        ```

        # Tombstone index entry
        ```
        key    01 61 6e 6e 61 00 03 3d 91 4f 93 48 c9 cc 0f f8   "anna", the hash of "41"
               a7 97 16 70 0b 9f cd
        value  0d 00 00 00 00 00 00 00 cb 45 9f a6 00 00 00 00   revision 13, checksum a69f45cb

        key    01 61 6e 6e 61 00 03 fd 1c 40 54 96 b2 be 37 db   "anna", the hash of "41", 00, "mail"
               40 5c 1e f5 6f 89 48
        ```

        # Purge marker
        ```
        key    01 61 6e 6e 61 00 04                              "anna"
        value  0b 00 00 00 00 00 00 00 00 18 db b2 a3 01 00 00   revision 11, until 2027-02-14T08:00:00Z
               4c 6b 5e b7 00 00 00 00                           checksum b75e6b4c
        ```

        # Usage
        ```
        key    01 61 6e 6e 61 00 05                              "anna"
        value  02 00 00 00 00 00 00 00 ed 03 00 00 00 00 00 00   2 notifications, 1,005 bytes
               11 3d 6d dc 00 00 00 00                           checksum dc6d3d11
        ```

        # Categories
        ```
        key    02 72 65 70 6c 79                                 "reply"
        value  5d 7d e3 1e 11 00 00 00 0e 00 00 00 00 00 00 00   checksum 1ee37d5d; two options; revision 14;
               00 05 05 00 72 65 70 6c 79 52 65 70 6c 79 06 06   "reply" "Reply"; destroys, unlocked,
               06 00 72 65 6d 6f 76 65 52 65 6d 6f 76 65         "remove" "Remove"

        key    02 72 65 70 6c 79 00 6d 61 69 6c                  "reply" of the app "mail"
        value  05 84 cf 1f 11 00 00 00 0e 00 00 00 00 00 00 00   checksum 1fcf8405; the same
               00 05 05 00 72 65 70 6c 79 52 65 70 6c 79 06 06
               06 00 72 65 6d 6f 76 65 52 65 6d 6f 76 65
        ```

        # Edits of categories
        ```
        key    03 72 65 70 6c 79                                 "reply"
        value  0e 00 00 00 00 00 00 00 61 d6 20 1c 34 32         revision 14, up to "42"; checksum 1c20d661
        ```

        # Quarantine
        ```
        key    04 00 00 00 00 00 00 00 07                        blob 7
        value  2c f2 4d ba 5f b0 a3 0e 26 e8 3b 2a c5 b9 e2 9e
               1b 16 1e 5c 1f a7 42 5e 73 04 33 62 93 8b 98 24
               03 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00   3 references, 5 bytes
               05 00 00 00 00 00 00 00 00 50 5c 18 a3 01 00 00   5 stored, at 08:00
               00 00 00 00 ed 78 c5 5f                           identity; checksum 5fc578ed
        ```

        # State of a blob
        ```
        key    00 00 00 00 00 00 00 07                           released: blob 7
        value  2c f2 4d ba 5f b0 a3 0e 26 e8 3b 2a c5 b9 e2 9e
               1b 16 1e 5c 1f a7 42 5e 73 04 33 62 93 8b 98 24
               2a 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00   transaction 42, 5 bytes
               00 00 00 00 cd 88 dc 68                           released; checksum 68dc88cd
        ```

        # Write-ahead log
        ```
        08 07 06 05 04 03 02 01 18 17 16 15 14 13 12 11   log id
        24 23 22 21 00 00 00 00 01 00 00 00 00 00 00 00   transaction 555,819,812; in use
        81 f6 c0 11 00 00 00 00                           checksum 11c0f681
        ```
        """
}
