// BlobStore
