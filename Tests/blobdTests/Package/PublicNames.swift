import BlobClient
import BlobJSON
import BlobProtocol
import BlobStore
import LoadGenerator

/// A program that imports all the libraries can name every public type of theirs: each is named
/// here, and a name that two of them had, or that one shares with the module it is in, would not
/// compile or not be told apart.
///
/// `PublicNamesTests` sees to it that no name is missing.
enum PublicNames {
    // BlobJSON
    typealias JSONErrorName = JSONError
    typealias JSONFragmentName = JSONFragment
    typealias JSONLimitsName = JSONLimits
    typealias JSONMemberName = JSONMember
    typealias JSONNumberName = JSONNumber
    typealias JSONValueName = JSONValue

    // BlobStore
    typealias ActionResponseName = ActionResponse
    typealias ActionStateName = ActionState
    typealias BlobHoldName = BlobHold
    typealias BlobReferenceName = BlobReference
    typealias BlobStoreName = BlobStore
    typealias BootIDName = BootID
    typealias BootTimeName = BootTime
    typealias CategoryName = Category
    typealias CategoryOptionsName = CategoryOptions
    typealias CategoryPageName = CategoryPage
    typealias ChangeName = Change
    typealias ChangeFeedName = ChangeFeed
    typealias CodingName = Coding
    typealias ConditionName = Condition
    typealias ContentExtensionAnswerName = ContentExtensionAnswer
    typealias DataPagesName = DataPages
    typealias DigestName = Digest
    typealias DocumentWriterName = DocumentWriter
    typealias DraftPartName = DraftPart
    typealias EntityTagSetName = EntityTagSet
    typealias EnvelopeName = Envelope
    typealias EnvelopeErrorName = EnvelopeError
    typealias ExpiryName = Expiry
    typealias FeedChangeName = FeedChange
    typealias FeedCursorName = FeedCursor
    typealias FeedPageName = FeedPage
    typealias FeedRegistrationName = FeedRegistration
    typealias FeedStartName = FeedStart
    typealias FeedWatchName = FeedWatch
    typealias FieldPatchName = FieldPatch
    typealias FreeResultName = FreeResult
    typealias HeldBlobName = HeldBlob
    typealias HistoryPageName = HistoryPage
    typealias HistoryQueryName = HistoryQuery
    typealias HistoryTokenName = HistoryToken
    typealias InflaterName = Inflater
    typealias InvalidInputName = InvalidInput
    typealias LeaseName = Lease
    typealias LeaseQueueName = LeaseQueue
    typealias LogNoticeName = LogNotice
    typealias LongChangeName = LongChange
    typealias NotificationActionName = NotificationAction
    typealias NotificationDetailsName = NotificationDetails
    typealias NotificationDraftName = NotificationDraft
    typealias NotificationPatchName = NotificationPatch
    typealias NotificationPriorityName = NotificationPriority
    typealias OutcomeName = Outcome
    typealias PartName = Part
    typealias PartLimitName = PartLimit
    typealias PayloadName = Payload
    typealias PayloadLookupName = PayloadLookup
    typealias PayloadWriterName = PayloadWriter
    typealias PreparedPayloadName = PreparedPayload
    typealias PresentStateName = PresentState
    typealias PublicationName = Publication
    typealias PushHeaderName = PushHeader
    typealias PushPlatformName = PushPlatform
    typealias PushStyleName = PushStyle
    typealias ReclaimResultName = ReclaimResult
    typealias RecordName = Record
    typealias RecordFilterName = RecordFilter
    typealias RecordLookupName = RecordLookup
    typealias RecordPageName = RecordPage
    typealias RecordedResponseName = RecordedResponse
    typealias RemovalName = Removal
    typealias SnapshotName = Snapshot
    typealias StatisticsName = Statistics
    typealias StoreErrorName = StoreError
    typealias StoreIDName = StoreID
    typealias StoreLimitsName = StoreLimits
    typealias StoreOptionsName = StoreOptions
    typealias SweepResultName = SweepResult
    typealias TimestampName = Timestamp
    typealias VerifyProgressName = VerifyProgress
    typealias VerifyReportName = VerifyReport
    typealias WatcherLimitName = WatcherLimit

    // BlobProtocol
    typealias AcceptEncodingName = AcceptEncoding
    typealias CallName = Call
    typealias ChunkedDecoderName = ChunkedDecoder
    typealias ConditionTagsName = ConditionTags
    typealias DeviceProfileName = DeviceProfile
    typealias DialectName = Dialect
    typealias DigestTextName = DigestText
    typealias EmptyHeadName = EmptyHead
    typealias EntityTagsName = EntityTags
    typealias ErrorCodeName = ErrorCode
    typealias FieldLinesName = FieldLines
    typealias FrameErrorName = FrameError
    typealias GetName = Get
    typealias GetBlobName = GetBlob
    typealias HTTPDateName = HTTPDate
    typealias HTTPMethodName = HTTPMethod
    typealias HTTPRequestHeadName = HTTPRequestHead
    typealias HTTPResponseHeadName = HTTPResponseHead
    typealias HeadScannerName = HeadScanner
    typealias HelloName = Hello
    typealias LifetimeName = Lifetime
    typealias ListName = List
    typealias MediaRangesName = MediaRanges
    typealias MultipartHeadName = MultipartHead
    typealias MultipartParserName = MultipartParser
    typealias OpcodeName = Opcode
    typealias PayloadHeadName = PayloadHead
    typealias PlainGetName = PlainGet
    typealias ProblemName = Problem
    typealias ProblemMemberName = ProblemMember
    typealias ProtocolErrorName = ProtocolError
    typealias PublishQueryName = PublishQuery
    typealias PutName = Put
    typealias QueryParametersName = QueryParameters
    typealias RangeSpecName = RangeSpec
    typealias RequestFlagsName = RequestFlags
    typealias RequestFrameName = RequestFrame
    typealias ResolvedRangeName = ResolvedRange
    typealias ResponseFrameName = ResponseFrame
    typealias RevisionTagsName = RevisionTags
    typealias RouteName = Route
    typealias SliceName = Slice
    typealias StatName = Stat
    typealias WatchName = Watch
    typealias WireName = Wire
    typealias WireCodingName = WireCoding
    typealias WireLimitsName = WireLimits
    typealias WireRangeName = WireRange

    // BlobClient
    typealias AnswerName = Answer
    typealias BatchResultName = BatchResult
    typealias BlobConnectionName = BlobConnection
    typealias BlobdClientName = BlobdClient
    typealias CallAnswerName = CallAnswer
    typealias CallConditionName = CallCondition
    typealias CallMethodName = CallMethod
    typealias CategoryReceiptName = CategoryReceipt
    typealias ChangePageName = ChangePage
    typealias ChangeStreamName = ChangeStream
    typealias ClientErrorName = ClientError
    typealias DaemonInfoName = DaemonInfo
    typealias DaemonProblemName = DaemonProblem
    typealias DaemonStatisticsName = DaemonStatistics
    typealias EnvelopePlatformName = EnvelopePlatform
    typealias EnvelopeStyleName = EnvelopeStyle
    typealias FetchedPayloadName = FetchedPayload
    typealias GroupReceiptName = GroupReceipt
    typealias HeldBlobReceiptName = HeldBlobReceipt
    typealias HistoryRequestName = HistoryRequest
    typealias NotificationCategoryName = NotificationCategory
    typealias NotificationChangeName = NotificationChange
    typealias NotificationFilterName = NotificationFilter
    typealias NotificationHistoryName = NotificationHistory
    typealias NotificationPageName = NotificationPage
    typealias NotificationRecordName = NotificationRecord
    typealias NotificationUploadName = NotificationUpload
    typealias PatchRequestName = PatchRequest
    typealias PayloadDigestName = PayloadDigest
    typealias PayloadInfoName = PayloadInfo
    typealias PublishReceiptName = PublishReceipt
    typealias PutReceiptName = PutReceipt
    typealias PutRequestName = PutRequest
    typealias RenderedEnvelopeName = RenderedEnvelope
    typealias ResponseReceiptName = ResponseReceipt
    typealias ResponseRequestName = ResponseRequest
    typealias WatchedPageName = WatchedPage

    // LoadGenerator
    typealias AnswerHeadName = AnswerHead
    typealias BinaryDialectName = BinaryDialect
    typealias GeneratorFiguresName = GeneratorFigures
    typealias HTTPDialectName = HTTPDialect
    typealias KindFiguresName = KindFigures
    typealias LatencyFiguresName = LatencyFigures
    typealias LoadCheckName = LoadCheck
    typealias LoadDialectName = LoadDialect
    typealias LoadFailureName = LoadFailure
    typealias LoadFiguresName = LoadFigures
    typealias LoadItemName = LoadItem
    typealias LoadLimitsName = LoadLimits
    typealias LoadOptionsName = LoadOptions
    typealias LoadPayloadsName = LoadPayloads
    typealias LoadRunName = LoadRun
    typealias PayloadSizesName = PayloadSizes
    typealias RateFiguresName = RateFigures
    typealias RequestKindName = RequestKind
    typealias SeededGeneratorName = SeededGenerator
    typealias ServerFiguresName = ServerFigures
}
