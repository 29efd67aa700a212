// BlobProtocol
