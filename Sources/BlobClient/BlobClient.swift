// BlobClient
