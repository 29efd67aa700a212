// Written by Scripts/openapi from docs/openapi.json. Do not edit.
// swift-format-ignore-file

/// The text of `GET /v1/openapi.json`.
enum OpenAPIText {
    /// The document with the values of this daemon.
    static func text(version: String, ttlSecondsMax: Int64, payloadByteCountMax: Int) -> String {
        #"""
{
  "openapi": "3.1.0",
  "info": {
    "title": "blobd",
    "version": "\#(version)",
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "description": "The payload store for rich push notifications, over HTTP/1.1 on a Unix socket. Who may connect is the socket's permissions. Lengths of texts are of UTF-8: x-max-bytes. Limits with x-setting are those of this daemon's options. docs/HTTP.md has every call with an example."
  },
  "servers": [{"url": "/", "description": "The socket of --socket. That of --device-socket has the paths under /d/ and /livez only."}],
  "tags": [
    {"name": "publish"},
    {"name": "read"},
    {"name": "change"},
    {"name": "categories"},
    {"name": "feeds"},
    {"name": "devices", "description": "Signed links."},
    {"name": "operation"}
  ],
  "paths": {
    "/livez": {
      "get": {
        "operationId": "live",
        "summary": "Whether the process answers.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/OK"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "liveHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/readyz": {
      "get": {
        "operationId": "ready",
        "summary": "Whether a publish can be stored.",
        "tags": ["operation"],
        "description": "503 has the code that a publish would get as reason.",
        "responses": {
          "200": {"$ref": "#/components/responses/OK"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "readyHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/healthz": {
      "get": {
        "operationId": "healthy",
        "summary": "Whether a publish can be stored.",
        "tags": ["operation"],
        "description": "503 has the code that a publish would get as reason.",
        "responses": {
          "200": {"$ref": "#/components/responses/OK"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "healthyHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/v1/stats": {
      "get": {
        "operationId": "statistics",
        "summary": "The counters.",
        "tags": ["operation"],
        "responses": {
          "200": {
            "description": "The counters.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Statistics"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "statisticsHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/metrics": {
      "get": {
        "operationId": "metrics",
        "summary": "Metrics in Prometheus' text format; docs/MONITORING.md has their meanings.",
        "tags": ["operation"],
        "responses": {
          "200": {
            "description": "The metrics.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"text/plain": {"schema": {"type": "string"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "metricsHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/v1/openapi.json": {
      "get": {
        "operationId": "openAPI",
        "summary": "This document.",
        "tags": ["operation"],
        "responses": {
          "200": {
            "description": "This document, with the version and the limits of this daemon.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"type": "object"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "openAPIHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/v1/backup": {
      "get": {
        "operationId": "backup",
        "summary": "A backup of the whole store.",
        "tags": ["operation"],
        "responses": {
          "200": {
            "description": "The backup, as blobd backup writes it. If the connection ends before the last chunk, it is not whole.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/vnd.blobd.backup": {}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "backupHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/v1/scrub": {
      "get": {
        "operationId": "scrub",
        "summary": "How far the daemon has read its store again, and what is damaged.",
        "tags": ["operation"],
        "responses": {
          "200": {
            "description": "How far it is.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Scrub"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "scrubHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "post": {
        "operationId": "startScrub",
        "summary": "Begin to read the whole store again, at once and without pauses.",
        "tags": ["operation"],
        "responses": {
          "200": {
            "description": "How far it is.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Scrub"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      }
    },
    "/v1/replication": {
      "get": {
        "operationId": "replication",
        "summary": "What the daemon is in its shard, and how far it is.",
        "tags": ["operation"],
        "responses": {
          "200": {
            "description": "What it is.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Replication"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "replicationHead",
        "summary": "The answer of GET without its body.",
        "tags": ["operation"],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "post": {
        "operationId": "promote",
        "summary": "Take the lead of the shard. The answer comes when this daemon leads.",
        "tags": ["operation"],
        "parameters": [{"name": "force", "in": "query", "schema": {"type": "boolean", "default": false}, "description": "Do not ask the leader: it is gone."}],
        "responses": {
          "200": {
            "description": "What it is.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Replication"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "409": {"$ref": "#/components/responses/Conflict"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      }
    },
    "/v1/notifications": {
      "post": {
        "operationId": "publishNew",
        "summary": "Publish; the daemon chooses the id, unless the document has one.",
        "tags": ["publish"],
        "description": "A JSON document or a form without a query is a whole notification. With a query, or of another type, the body is the payload; application/x-www-form-urlencoded and text/plain then need a query. Blobd-Device is for whole notifications, Content-Encoding for payloads.",
        "parameters": [
          {"$ref": "#/components/parameters/ttl"}, {"$ref": "#/components/parameters/expiresAt"}, {"$ref": "#/components/parameters/title"},
          {"$ref": "#/components/parameters/message"}, {"$ref": "#/components/parameters/richType"}, {"$ref": "#/components/parameters/ownerOfNew"},
          {"$ref": "#/components/parameters/appOfNew"}, {"$ref": "#/components/parameters/profile"},
          {"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/device"},
          {"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}
        ],
        "requestBody": {
          "required": true,
          "content": {
            "application/json": {
              "schema": {"$ref": "#/components/schemas/Notification"},
              "example": {
                "owner": "ann",
                "app": "mail",
                "title": "Ann",
                "message": "Dinner?",
                "category": null,
                "actions": [{"identifier": "yes", "title": "Yes", "foreground": true}],
                "group": "weekend",
                "priority": "high",
                "display_ttl": 30,
                "data": {"table": 4},
                "ttl": 3600
              }
            },
            "multipart/form-data": {
              "schema": {
                "type": "object",
                "required": ["notification"],
                "properties": {"notification": {"$ref": "#/components/schemas/Notification"}},
                "propertyNames": {"$ref": "#/components/schemas/PartName"},
                "additionalProperties": {"contentMediaType": "application/octet-stream", "description": "The file of the part of that name."}
              },
              "encoding": {"notification": {"contentType": "application/json"}}
            },
            "*/*": {"schema": {"x-max-bytes": \#(payloadByteCountMax), "x-setting": "--max-payload"}}
          }
        },
        "responses": {
          "200": {"$ref": "#/components/responses/Record"}, "201": {"$ref": "#/components/responses/RecordLocated"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "408": {"$ref": "#/components/responses/Timeout"},
          "411": {"$ref": "#/components/responses/LengthRequired"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "415": {"$ref": "#/components/responses/UnsupportedMediaType"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "422": {"$ref": "#/components/responses/Unprocessable"}, "429": {"$ref": "#/components/responses/TooManyRequests"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}, "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/notifications:batch": {
      "post": {
        "operationId": "publishBatch",
        "summary": "Publish many notifications.",
        "tags": ["publish"],
        "parameters": [{"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/device"}],
        "requestBody": {
          "description": "One Notification per line, at most 1,000. Each is stored or refused on its own.",
          "content": {
            "application/x-ndjson": {
              "schema": {"x-max-bytes": 8388608},
              "example": "{\"owner\":\"ann\",\"message\":\"Sale\"}\n{\"id\":\"b\",\"owner\":\"bob\",\"title\":\"Sale\",\"ttl\":3600}\n"
            }
          }
        },
        "responses": {
          "200": {
            "description": "One BatchLine for each line, in order.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "415": {"$ref": "#/components/responses/UnsupportedMediaType"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/notifications/{id}": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "get": {
        "operationId": "notification",
        "summary": "The record.",
        "tags": ["read"],
        "parameters": [{"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}],
        "responses": {
          "200": {"$ref": "#/components/responses/Record"}, "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "404": {"$ref": "#/components/responses/NotFound"},
          "408": {"$ref": "#/components/responses/Timeout"}, "410": {"$ref": "#/components/responses/Gone"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "notificationHead",
        "summary": "The answer of GET without its body.",
        "tags": ["read"],
        "parameters": [{"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "304": {"$ref": "#/components/responses/Head"},
          "4XX": {"$ref": "#/components/responses/HeadError"}, "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "put": {
        "operationId": "publish",
        "summary": "Publish a whole notification.",
        "tags": ["publish"],
        "description": "One transaction. It replaces what is there, but not the creation time and the position in the history.",
        "parameters": [
          {"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/device"},
          {"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}
        ],
        "requestBody": {
          "required": true,
          "content": {
            "application/json": {
              "schema": {"$ref": "#/components/schemas/Notification"},
              "example": {
                "owner": "ann",
                "app": "mail",
                "title": "Ann",
                "message": "Dinner?",
                "category": null,
                "actions": [{"identifier": "yes", "title": "Yes", "foreground": true}],
                "group": "weekend",
                "priority": "high",
                "display_ttl": 30,
                "data": {"table": 4},
                "ttl": 3600
              }
            },
            "multipart/form-data": {
              "schema": {
                "type": "object",
                "required": ["notification"],
                "properties": {"notification": {"$ref": "#/components/schemas/Notification"}},
                "propertyNames": {"$ref": "#/components/schemas/PartName"},
                "additionalProperties": {"contentMediaType": "application/octet-stream", "description": "The file of the part of that name."}
              },
              "encoding": {"notification": {"contentType": "application/json"}}
            }
          }
        },
        "responses": {
          "200": {"$ref": "#/components/responses/Record"}, "201": {"$ref": "#/components/responses/RecordCreated"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "408": {"$ref": "#/components/responses/Timeout"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "415": {"$ref": "#/components/responses/UnsupportedMediaType"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "422": {"$ref": "#/components/responses/Unprocessable"},
          "429": {"$ref": "#/components/responses/TooManyRequests"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      },
      "patch": {
        "operationId": "patch",
        "summary": "Change some members.",
        "tags": ["change"],
        "parameters": [
          {"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/device"},
          {"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}
        ],
        "requestBody": {
          "required": true,
          "content": {
            "application/merge-patch+json": {"schema": {"$ref": "#/components/schemas/Patch"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/Patch"}}
          }
        },
        "responses": {
          "200": {"$ref": "#/components/responses/Record"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"}, "408": {"$ref": "#/components/responses/Timeout"},
          "410": {"$ref": "#/components/responses/Gone"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "415": {"$ref": "#/components/responses/UnsupportedMediaType"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "422": {"$ref": "#/components/responses/Unprocessable"}, "428": {"$ref": "#/components/responses/PreconditionRequired"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}, "507": {"$ref": "#/components/responses/Full"}
        }
      },
      "delete": {
        "operationId": "delete",
        "summary": "Delete the notification.",
        "tags": ["change"],
        "parameters": [{"$ref": "#/components/parameters/device"}, {"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}],
        "responses": {
          "204": {"$ref": "#/components/responses/Gone204"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"}, "408": {"$ref": "#/components/responses/Timeout"},
          "410": {"$ref": "#/components/responses/Gone"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}, "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/notifications/{id}/payload": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "get": {
        "operationId": "getPayload",
        "summary": "The payload.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Payload"}, "206": {"$ref": "#/components/responses/PayloadRange"},
          "304": {"$ref": "#/components/responses/PayloadNotModified"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"}, "406": {"$ref": "#/components/responses/NotAcceptable"},
          "408": {"$ref": "#/components/responses/Timeout"}, "410": {"$ref": "#/components/responses/Gone"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "416": {"$ref": "#/components/responses/RangeNotSatisfiable"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "getPayloadHead",
        "summary": "The answer of GET without its body.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "206": {"$ref": "#/components/responses/Head"},
          "304": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "put": {
        "operationId": "putPayload",
        "summary": "Publish one part.",
        "tags": ["publish"],
        "description": "What is not given stays as it is; the defaults are for a new notification. An empty parameter is an absent one.",
        "parameters": [
          {"$ref": "#/components/parameters/ttl"}, {"$ref": "#/components/parameters/expiresAt"}, {"$ref": "#/components/parameters/title"},
          {"$ref": "#/components/parameters/message"}, {"$ref": "#/components/parameters/richType"}, {"$ref": "#/components/parameters/ownerOfNew"},
          {"$ref": "#/components/parameters/appOfNew"}, {"$ref": "#/components/parameters/profile"},
          {"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}
        ],
        "requestBody": {
          "description": "The bytes. Their media type is stored and returned. An empty body is an empty payload.",
          "content": {"*/*": {"schema": {"x-max-bytes": \#(payloadByteCountMax), "x-setting": "--max-payload"}}}
        },
        "responses": {
          "200": {"$ref": "#/components/responses/Published"}, "201": {"$ref": "#/components/responses/PublishedNew"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "408": {"$ref": "#/components/responses/Timeout"},
          "411": {"$ref": "#/components/responses/LengthRequired"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "415": {"$ref": "#/components/responses/UnsupportedMediaType"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "422": {"$ref": "#/components/responses/Unprocessable"}, "429": {"$ref": "#/components/responses/TooManyRequests"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}, "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/notifications/{id}/parts/{name}": {
      "parameters": [{"$ref": "#/components/parameters/id"}, {"$ref": "#/components/parameters/name"}],
      "get": {
        "operationId": "getPart",
        "summary": "A part.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Payload"}, "206": {"$ref": "#/components/responses/PayloadRange"},
          "304": {"$ref": "#/components/responses/PayloadNotModified"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"}, "406": {"$ref": "#/components/responses/NotAcceptable"},
          "408": {"$ref": "#/components/responses/Timeout"}, "410": {"$ref": "#/components/responses/Gone"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "416": {"$ref": "#/components/responses/RangeNotSatisfiable"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "getPartHead",
        "summary": "The answer of GET without its body.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "206": {"$ref": "#/components/responses/Head"},
          "304": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "put": {
        "operationId": "putPart",
        "summary": "Publish one part.",
        "tags": ["publish"],
        "description": "What is not given stays as it is; the defaults are for a new notification. An empty parameter is an absent one.",
        "parameters": [
          {"$ref": "#/components/parameters/ttl"}, {"$ref": "#/components/parameters/expiresAt"}, {"$ref": "#/components/parameters/title"},
          {"$ref": "#/components/parameters/message"}, {"$ref": "#/components/parameters/richType"}, {"$ref": "#/components/parameters/ownerOfNew"},
          {"$ref": "#/components/parameters/appOfNew"}, {"$ref": "#/components/parameters/profile"},
          {"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}
        ],
        "requestBody": {
          "description": "The bytes. Their media type is stored and returned. An empty body is an empty payload.",
          "content": {"*/*": {"schema": {"x-max-bytes": \#(payloadByteCountMax), "x-setting": "--max-payload"}}}
        },
        "responses": {
          "200": {"$ref": "#/components/responses/Published"}, "201": {"$ref": "#/components/responses/PublishedNew"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "408": {"$ref": "#/components/responses/Timeout"},
          "411": {"$ref": "#/components/responses/LengthRequired"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "415": {"$ref": "#/components/responses/UnsupportedMediaType"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "422": {"$ref": "#/components/responses/Unprocessable"}, "429": {"$ref": "#/components/responses/TooManyRequests"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}, "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/api/notifications/{id}": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "get": {
        "operationId": "getClassicPayload",
        "summary": "The payload.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Payload"}, "206": {"$ref": "#/components/responses/PayloadRange"},
          "304": {"$ref": "#/components/responses/PayloadNotModified"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"}, "406": {"$ref": "#/components/responses/NotAcceptable"},
          "408": {"$ref": "#/components/responses/Timeout"}, "410": {"$ref": "#/components/responses/Gone"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "416": {"$ref": "#/components/responses/RangeNotSatisfiable"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "getClassicPayloadHead",
        "summary": "The answer of GET without its body.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "206": {"$ref": "#/components/responses/Head"},
          "304": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/v1/notifications/{id}/responses": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "post": {
        "operationId": "respond",
        "summary": "Record the user's response.",
        "tags": ["change"],
        "parameters": [{"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/device"}],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Response"}}}},
        "responses": {
          "200": {"$ref": "#/components/responses/Record"}, "201": {"$ref": "#/components/responses/RecordCreated"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "404": {"$ref": "#/components/responses/NotFound"},
          "408": {"$ref": "#/components/responses/Timeout"}, "409": {"$ref": "#/components/responses/Conflict"},
          "410": {"$ref": "#/components/responses/Gone"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "415": {"$ref": "#/components/responses/UnsupportedMediaType"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/notifications/{id}/envelope": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "get": {
        "operationId": "envelope",
        "summary": "The push to send.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/platform"}, {"$ref": "#/components/parameters/style"}, {"$ref": "#/components/parameters/format"},
          {"$ref": "#/components/parameters/token"}
        ],
        "responses": {
          "200": {
            "description": "The push. With format=json an Envelope.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"type": "object"}}, "text/xml": {"schema": {"type": "string"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "410": {"$ref": "#/components/responses/Gone"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "422": {"$ref": "#/components/responses/Unprocessable"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "envelopeHead",
        "summary": "The answer of GET without its body.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/platform"}, {"$ref": "#/components/parameters/style"}, {"$ref": "#/components/parameters/format"},
          {"$ref": "#/components/parameters/token"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/v1/blobs": {
      "post": {
        "operationId": "holdNew",
        "summary": "Store bytes ahead of time.",
        "tags": ["publish"],
        "parameters": [{"$ref": "#/components/parameters/ttl"}, {"$ref": "#/components/parameters/contentEncoding"}],
        "requestBody": {
          "description": "The bytes. Their media type is stored and returned. An empty body is an empty payload.",
          "content": {"*/*": {"schema": {"x-max-bytes": \#(payloadByteCountMax), "x-setting": "--max-payload"}}}
        },
        "responses": {
          "200": {
            "description": "The bytes were stored already; they are held.",
            "headers": {"Location": {"$ref": "#/components/headers/Location"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HeldBlob"}}},
            "links": {"blob": {"$ref": "#/components/links/blob"}}
          },
          "201": {
            "description": "The bytes are stored and held.",
            "headers": {"Location": {"$ref": "#/components/headers/Location"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HeldBlob"}}},
            "links": {"blob": {"$ref": "#/components/links/blob"}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "411": {"$ref": "#/components/responses/LengthRequired"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "415": {"$ref": "#/components/responses/UnsupportedMediaType"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/blobs/{digest}": {
      "parameters": [{"$ref": "#/components/parameters/digest"}],
      "get": {
        "operationId": "getBlob",
        "summary": "The bytes of a digest.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Payload"}, "206": {"$ref": "#/components/responses/PayloadRange"},
          "304": {"$ref": "#/components/responses/PayloadNotModified"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"}, "406": {"$ref": "#/components/responses/NotAcceptable"},
          "408": {"$ref": "#/components/responses/Timeout"}, "410": {"$ref": "#/components/responses/Gone"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "416": {"$ref": "#/components/responses/RangeNotSatisfiable"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "getBlobHead",
        "summary": "The answer of GET without its body.",
        "tags": ["read"],
        "parameters": [
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "206": {"$ref": "#/components/responses/Head"},
          "304": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "put": {
        "operationId": "hold",
        "summary": "Store bytes ahead of time.",
        "tags": ["publish"],
        "parameters": [{"$ref": "#/components/parameters/ttl"}, {"$ref": "#/components/parameters/contentEncoding"}],
        "requestBody": {
          "description": "The bytes. Their media type is stored and returned. An empty body is an empty payload.",
          "content": {"*/*": {"schema": {"x-max-bytes": \#(payloadByteCountMax), "x-setting": "--max-payload"}}}
        },
        "responses": {
          "200": {"$ref": "#/components/responses/HeldBlob"}, "201": {"$ref": "#/components/responses/HeldBlobCreated"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "408": {"$ref": "#/components/responses/Timeout"},
          "411": {"$ref": "#/components/responses/LengthRequired"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "415": {"$ref": "#/components/responses/UnsupportedMediaType"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/categories": {
      "get": {
        "operationId": "categories",
        "summary": "All categories, by name.",
        "tags": ["categories"],
        "parameters": [{"$ref": "#/components/parameters/after"}],
        "responses": {
          "200": {
            "description": "A page of at most 256 KiB of records.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Categories"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "categoriesHead",
        "summary": "The answer of GET without its body.",
        "tags": ["categories"],
        "parameters": [{"$ref": "#/components/parameters/after"}],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/v1/categories/{name}": {
      "parameters": [{"$ref": "#/components/parameters/category"}],
      "get": {
        "operationId": "category",
        "summary": "A category.",
        "tags": ["categories"],
        "parameters": [{"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}],
        "responses": {
          "200": {"$ref": "#/components/responses/Category"}, "304": {"$ref": "#/components/responses/NotModified"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "404": {"$ref": "#/components/responses/NotFound"},
          "408": {"$ref": "#/components/responses/Timeout"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "categoryHead",
        "summary": "The answer of GET without its body.",
        "tags": ["categories"],
        "parameters": [{"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "304": {"$ref": "#/components/responses/Head"},
          "4XX": {"$ref": "#/components/responses/HeadError"}, "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "put": {
        "operationId": "setCategory",
        "summary": "Set a category.",
        "tags": ["categories"],
        "description": "Every user with a notification that names it has a change before this is answered.",
        "parameters": [
          {"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/device"},
          {"$ref": "#/components/parameters/ifMatch"}, {"$ref": "#/components/parameters/ifNoneMatch"}
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/CategoryDocument"}}}},
        "responses": {
          "200": {"$ref": "#/components/responses/Category"}, "201": {"$ref": "#/components/responses/CategoryCreated"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "408": {"$ref": "#/components/responses/Timeout"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "415": {"$ref": "#/components/responses/UnsupportedMediaType"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      },
      "delete": {
        "operationId": "deleteCategory",
        "summary": "Delete a category.",
        "tags": ["categories"],
        "parameters": [
          {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/device"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}
        ],
        "responses": {
          "204": {"$ref": "#/components/responses/Gone204"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "404": {"$ref": "#/components/responses/NotFound"}, "408": {"$ref": "#/components/responses/Timeout"},
          "412": {"$ref": "#/components/responses/PreconditionFailed"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/users/{owner}": {
      "parameters": [{"$ref": "#/components/parameters/owner"}],
      "delete": {
        "operationId": "deleteOwner",
        "summary": "Delete all notifications of a user.",
        "tags": ["change"],
        "responses": {
          "200": {"$ref": "#/components/responses/Deleted"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/users/{owner}/notifications": {
      "parameters": [{"$ref": "#/components/parameters/owner"}],
      "get": {
        "operationId": "history",
        "summary": "The notifications of a user, newest first.",
        "tags": ["feeds"],
        "parameters": [
          {"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/before"}, {"$ref": "#/components/parameters/app"},
          {"$ref": "#/components/parameters/read"}, {"$ref": "#/components/parameters/actionState"}, {"$ref": "#/components/parameters/group"},
          {"$ref": "#/components/parameters/targetPlatform"}, {"$ref": "#/components/parameters/targetHost"},
          {"$ref": "#/components/parameters/status"}
        ],
        "responses": {
          "200": {
            "description": "A page.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/History"}}},
            "links": {"before": {"$ref": "#/components/links/before"}, "following": {"$ref": "#/components/links/following"}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "410": {"$ref": "#/components/responses/Gone"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "historyHead",
        "summary": "The answer of GET without its body.",
        "tags": ["feeds"],
        "parameters": [
          {"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/before"}, {"$ref": "#/components/parameters/app"},
          {"$ref": "#/components/parameters/read"}, {"$ref": "#/components/parameters/actionState"}, {"$ref": "#/components/parameters/group"},
          {"$ref": "#/components/parameters/targetPlatform"}, {"$ref": "#/components/parameters/targetHost"},
          {"$ref": "#/components/parameters/status"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      },
      "patch": {
        "operationId": "patchGroup",
        "summary": "Change all notifications of a group.",
        "tags": ["change"],
        "parameters": [
          {"$ref": "#/components/parameters/contentEncoding"}, {"$ref": "#/components/parameters/groupRequired"},
          {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/device"}
        ],
        "requestBody": {
          "required": true,
          "content": {
            "application/merge-patch+json": {"schema": {"$ref": "#/components/schemas/Patch"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/Patch"}}
          }
        },
        "responses": {
          "200": {
            "description": "How many there are, and how many were changed.",
            "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Matched"}}}
          },
          "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "414": {"$ref": "#/components/responses/URITooLong"},
          "415": {"$ref": "#/components/responses/UnsupportedMediaType"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "422": {"$ref": "#/components/responses/Unprocessable"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      },
      "delete": {
        "operationId": "deleteGroup",
        "summary": "Delete all notifications of a group.",
        "tags": ["change"],
        "parameters": [{"$ref": "#/components/parameters/groupRequired"}, {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/device"}],
        "responses": {
          "200": {"$ref": "#/components/responses/Deleted"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"},
          "507": {"$ref": "#/components/responses/Full"}
        }
      }
    },
    "/v1/users/{owner}/changes": {
      "parameters": [{"$ref": "#/components/parameters/owner"}],
      "get": {
        "operationId": "changes",
        "summary": "What changed since a cursor.",
        "tags": ["feeds"],
        "parameters": [
          {"$ref": "#/components/parameters/since"}, {"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/wait"},
          {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/read"}, {"$ref": "#/components/parameters/actionState"},
          {"$ref": "#/components/parameters/group"}, {"$ref": "#/components/parameters/targetPlatform"},
          {"$ref": "#/components/parameters/targetHost"}, {"$ref": "#/components/parameters/status"}, {"$ref": "#/components/parameters/lastEventID"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Changes"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "408": {"$ref": "#/components/responses/Timeout"}, "410": {"$ref": "#/components/responses/Gone"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "417": {"$ref": "#/components/responses/ExpectationFailed"},
          "429": {"$ref": "#/components/responses/TooManyRequests"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "changesHead",
        "summary": "The answer of GET without its body.",
        "tags": ["feeds"],
        "parameters": [
          {"$ref": "#/components/parameters/since"}, {"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/wait"},
          {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/read"}, {"$ref": "#/components/parameters/actionState"},
          {"$ref": "#/components/parameters/group"}, {"$ref": "#/components/parameters/targetPlatform"},
          {"$ref": "#/components/parameters/targetHost"}, {"$ref": "#/components/parameters/status"}, {"$ref": "#/components/parameters/lastEventID"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/d/{id}": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "get": {
        "operationId": "linkedPayload",
        "summary": "The payload, by a signed link.",
        "tags": ["devices"],
        "parameters": [
          {"$ref": "#/components/parameters/e"}, {"$ref": "#/components/parameters/k"}, {"$ref": "#/components/parameters/sig"},
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Payload"}, "206": {"$ref": "#/components/responses/PayloadRange"},
          "304": {"$ref": "#/components/responses/PayloadNotModified"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "403": {"$ref": "#/components/responses/Forbidden"}, "404": {"$ref": "#/components/responses/NotFound"},
          "406": {"$ref": "#/components/responses/NotAcceptable"}, "408": {"$ref": "#/components/responses/Timeout"},
          "410": {"$ref": "#/components/responses/Gone"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "416": {"$ref": "#/components/responses/RangeNotSatisfiable"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "linkedPayloadHead",
        "summary": "The answer of GET without its body.",
        "tags": ["devices"],
        "parameters": [
          {"$ref": "#/components/parameters/e"}, {"$ref": "#/components/parameters/k"}, {"$ref": "#/components/parameters/sig"},
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "206": {"$ref": "#/components/responses/Head"},
          "304": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/d/{id}/parts/{name}": {
      "parameters": [{"$ref": "#/components/parameters/id"}, {"$ref": "#/components/parameters/name"}],
      "get": {
        "operationId": "linkedPart",
        "summary": "A part, by a signed link.",
        "tags": ["devices"],
        "parameters": [
          {"$ref": "#/components/parameters/e"}, {"$ref": "#/components/parameters/k"}, {"$ref": "#/components/parameters/sig"},
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Payload"}, "206": {"$ref": "#/components/responses/PayloadRange"},
          "304": {"$ref": "#/components/responses/PayloadNotModified"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "403": {"$ref": "#/components/responses/Forbidden"}, "404": {"$ref": "#/components/responses/NotFound"},
          "406": {"$ref": "#/components/responses/NotAcceptable"}, "408": {"$ref": "#/components/responses/Timeout"},
          "410": {"$ref": "#/components/responses/Gone"}, "412": {"$ref": "#/components/responses/PreconditionFailed"},
          "414": {"$ref": "#/components/responses/URITooLong"}, "416": {"$ref": "#/components/responses/RangeNotSatisfiable"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "431": {"$ref": "#/components/responses/HeadersTooLarge"},
          "500": {"$ref": "#/components/responses/InternalError"}, "501": {"$ref": "#/components/responses/NotImplemented"},
          "503": {"$ref": "#/components/responses/Unavailable"}, "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "linkedPartHead",
        "summary": "The answer of GET without its body.",
        "tags": ["devices"],
        "parameters": [
          {"$ref": "#/components/parameters/e"}, {"$ref": "#/components/parameters/k"}, {"$ref": "#/components/parameters/sig"},
          {"$ref": "#/components/parameters/range"}, {"$ref": "#/components/parameters/ifRange"}, {"$ref": "#/components/parameters/ifMatch"},
          {"$ref": "#/components/parameters/ifNoneMatch"}, {"$ref": "#/components/parameters/acceptEncoding"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "206": {"$ref": "#/components/responses/Head"},
          "304": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    },
    "/d/users/{owner}/changes": {
      "parameters": [{"$ref": "#/components/parameters/owner"}],
      "get": {
        "operationId": "linkedChanges",
        "summary": "What changed since a cursor, by a signed link.",
        "tags": ["devices"],
        "parameters": [
          {"$ref": "#/components/parameters/e"}, {"$ref": "#/components/parameters/k"}, {"$ref": "#/components/parameters/sig"},
          {"$ref": "#/components/parameters/since"}, {"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/wait"},
          {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/read"}, {"$ref": "#/components/parameters/actionState"},
          {"$ref": "#/components/parameters/group"}, {"$ref": "#/components/parameters/targetPlatform"},
          {"$ref": "#/components/parameters/targetHost"}, {"$ref": "#/components/parameters/status"}, {"$ref": "#/components/parameters/lastEventID"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Changes"}, "400": {"$ref": "#/components/responses/BadRequest"},
          "403": {"$ref": "#/components/responses/Forbidden"}, "408": {"$ref": "#/components/responses/Timeout"},
          "410": {"$ref": "#/components/responses/Gone"}, "414": {"$ref": "#/components/responses/URITooLong"},
          "417": {"$ref": "#/components/responses/ExpectationFailed"}, "429": {"$ref": "#/components/responses/TooManyRequests"},
          "431": {"$ref": "#/components/responses/HeadersTooLarge"}, "500": {"$ref": "#/components/responses/InternalError"},
          "501": {"$ref": "#/components/responses/NotImplemented"}, "503": {"$ref": "#/components/responses/Unavailable"},
          "505": {"$ref": "#/components/responses/VersionNotSupported"}
        }
      },
      "head": {
        "operationId": "linkedChangesHead",
        "summary": "The answer of GET without its body.",
        "tags": ["devices"],
        "parameters": [
          {"$ref": "#/components/parameters/e"}, {"$ref": "#/components/parameters/k"}, {"$ref": "#/components/parameters/sig"},
          {"$ref": "#/components/parameters/since"}, {"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/wait"},
          {"$ref": "#/components/parameters/app"}, {"$ref": "#/components/parameters/read"}, {"$ref": "#/components/parameters/actionState"},
          {"$ref": "#/components/parameters/group"}, {"$ref": "#/components/parameters/targetPlatform"},
          {"$ref": "#/components/parameters/targetHost"}, {"$ref": "#/components/parameters/status"}, {"$ref": "#/components/parameters/lastEventID"}
        ],
        "responses": {
          "200": {"$ref": "#/components/responses/Head"}, "4XX": {"$ref": "#/components/responses/HeadError"},
          "5XX": {"$ref": "#/components/responses/HeadError"}
        }
      }
    }
  },
  "components": {
    "schemas": {
      "NotificationID": {"type": "string", "minLength": 1, "maxLength": 255, "x-max-bytes": 255, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
      "PartName": {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
      "Owner": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "x-max-bytes": 255,
        "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
        "not": {"pattern": "(^|/)\\.\\.?(/|$)"}
      },
      "App": {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
      "CategoryName": {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
      "Device": {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
      "Platform": {"type": "string", "minLength": 1, "maxLength": 32, "x-max-bytes": 32, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
      "Platforms": {
        "type": "array",
        "maxItems": 16,
        "uniqueItems": true,
        "items": {"$ref": "#/components/schemas/Platform"},
        "description": "What it is for; empty: all."
      },
      "TargetHost": {"type": "string", "minLength": 1, "maxLength": 255, "x-max-bytes": 255, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},
      "Group": {"type": "string", "minLength": 1, "maxLength": 128, "x-max-bytes": 128, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},
      "Title": {"type": "string", "minLength": 1, "maxLength": 256, "x-max-bytes": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},
      "RichType": {"type": "string", "minLength": 1, "maxLength": 255, "x-max-bytes": 255, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},
      "Message": {
        "type": "string",
        "minLength": 1,
        "maxLength": 4096,
        "x-max-bytes": 4096,
        "pattern": "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$"
      },
      "MediaType": {
        "type": "string",
        "minLength": 3,
        "maxLength": 255,
        "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+",
        "description": "type/subtype with parameters (RFC 9110, section 8.3.1), in ASCII."
      },
      "Digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$", "description": "The SHA-256 of the bytes before any compression."},
      "Cursor": {"type": "string", "pattern": "^[A-Za-z0-9_-]{32}$", "description": "A position in the changes of one user, for one filter."},
      "Revision": {"type": "integer", "minimum": 1},
      "TTL": {
        "type": "integer",
        "minimum": 1,
        "maximum": \#(ttlSecondsMax),
        "x-setting": "--max-ttl",
        "description": "Seconds. Without a lifetime a new notification has that of --default-ttl."
      },
      "Moment": {"type": "string", "format": "date-time", "description": "A time as of RFC 3339, 1970 to 9999. Answers have milliseconds and Z."},
      "Priority": {"enum": ["high", "low"]},
      "ActionState": {"enum": ["none", "activated", "dismissed", "snoozed"]},
      "DisplayTTL": {"type": "integer", "minimum": 0, "maximum": 2592000, "description": "Seconds on the screen; 0: not set."},
      "Coding": {"enum": ["identity", "gzip"], "description": "How the bytes are stored."},
      "ByteCount": {"type": "integer", "minimum": 0},
      "Data": {"description": "Any JSON, at most 16,384 bytes when minified, arrays and objects at most 64 deep.", "x-max-bytes": 16384},
      "Action": {
        "type": "object",
        "required": ["identifier", "title"],
        "properties": {
          "identifier": {
            "type": "string",
            "minLength": 1,
            "maxLength": 64,
            "x-max-bytes": 64,
            "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$",
            "not": {"enum": ["default", "dismiss"]}
          },
          "title": {"type": "string", "maxLength": 256, "x-max-bytes": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"},
          "foreground": {"type": ["boolean", "null"]},
          "destructive": {"type": ["boolean", "null"]},
          "authentication_required": {"type": ["boolean", "null"]}
        },
        "additionalProperties": false,
        "description": "A button. default and dismiss are reserved identifiers. The flags are false by default; in answers they are always present."
      },
      "Actions": {"type": "array", "maxItems": 10, "items": {"$ref": "#/components/schemas/Action"}, "description": "Their identifiers differ."},
      "Part": {
        "type": "object",
        "required": ["name", "media_type", "digest", "byte_count", "stored_byte_count", "coding"],
        "properties": {
          "name": {"$ref": "#/components/schemas/PartName"}, "media_type": {"$ref": "#/components/schemas/MediaType"},
          "digest": {"$ref": "#/components/schemas/Digest"}, "byte_count": {"$ref": "#/components/schemas/ByteCount"},
          "stored_byte_count": {"$ref": "#/components/schemas/ByteCount"}, "coding": {"$ref": "#/components/schemas/Coding"}
        }
      },
      "RecordedResponse": {
        "type": "object",
        "required": ["action", "at", "revision", "dismissed"],
        "properties": {
          "action": {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
          "key": {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
          "device": {"$ref": "#/components/schemas/Device"},
          "at": {"$ref": "#/components/schemas/Moment"},
          "revision": {"$ref": "#/components/schemas/Revision"},
          "dismissed": {"type": "boolean"},
          "extension": {"$ref": "#/components/schemas/ContentExtension"}
        }
      },
      "ContentExtension": {"enum": ["dismiss", "dismiss_and_forward", "do_not_dismiss"]},
      "Record": {
        "type": "object",
        "required": ["id", "created_at", "expires_at", "revision", "parts", "priority", "read", "action_state"],
        "properties": {
          "id": {"$ref": "#/components/schemas/NotificationID"},
          "owner": {"$ref": "#/components/schemas/Owner"},
          "app": {"$ref": "#/components/schemas/App"},
          "title": {"$ref": "#/components/schemas/Title"},
          "message": {"$ref": "#/components/schemas/Message"},
          "rich_type": {"$ref": "#/components/schemas/RichType"},
          "created_at": {"$ref": "#/components/schemas/Moment"},
          "expires_at": {"$ref": "#/components/schemas/Moment"},
          "revision": {"$ref": "#/components/schemas/Revision"},
          "parts": {"type": "array", "maxItems": 32, "items": {"$ref": "#/components/schemas/Part"}},
          "category": {"$ref": "#/components/schemas/CategoryName"},
          "category_revision": {"$ref": "#/components/schemas/Revision"},
          "actions": {"$ref": "#/components/schemas/Actions"},
          "group": {"$ref": "#/components/schemas/Group"},
          "platforms": {"$ref": "#/components/schemas/Platforms"},
          "target_host": {"$ref": "#/components/schemas/TargetHost"},
          "priority": {"$ref": "#/components/schemas/Priority"},
          "display_ttl": {"$ref": "#/components/schemas/DisplayTTL"},
          "data": {"$ref": "#/components/schemas/Data"},
          "read": {"type": "boolean"},
          "action_state": {"$ref": "#/components/schemas/ActionState"},
          "device": {"$ref": "#/components/schemas/Device"},
          "responses": {"type": "array", "maxItems": 32, "items": {"$ref": "#/components/schemas/RecordedResponse"}}
        },
        "description": "A notification as it is stored. Members without a value are left out. Readers ignore unknown members."
      },
      "Notification": {
        "type": "object",
        "properties": {
          "id": {"anyOf": [{"$ref": "#/components/schemas/NotificationID"}, {"type": "null"}]},
          "owner": {"anyOf": [{"$ref": "#/components/schemas/Owner"}, {"type": "null"}]},
          "app": {"anyOf": [{"$ref": "#/components/schemas/App"}, {"type": "null"}]},
          "title": {"anyOf": [{"$ref": "#/components/schemas/Title"}, {"type": "null"}]},
          "message": {"anyOf": [{"$ref": "#/components/schemas/Message"}, {"type": "null"}]},
          "rich_type": {"anyOf": [{"$ref": "#/components/schemas/RichType"}, {"type": "null"}]},
          "category": {"anyOf": [{"$ref": "#/components/schemas/CategoryName"}, {"type": "null"}]},
          "actions": {"anyOf": [{"$ref": "#/components/schemas/Actions"}, {"type": "null"}]},
          "group": {"anyOf": [{"$ref": "#/components/schemas/Group"}, {"type": "null"}]},
          "platforms": {"anyOf": [{"$ref": "#/components/schemas/Platforms"}, {"type": "null"}]},
          "target_host": {"anyOf": [{"$ref": "#/components/schemas/TargetHost"}, {"type": "null"}]},
          "priority": {"anyOf": [{"$ref": "#/components/schemas/Priority"}, {"type": "null"}]},
          "display_ttl": {"anyOf": [{"$ref": "#/components/schemas/DisplayTTL"}, {"type": "null"}]},
          "data": {"$ref": "#/components/schemas/Data"},
          "read": {"type": ["boolean", "null"]},
          "action_state": {"anyOf": [{"$ref": "#/components/schemas/ActionState"}, {"type": "null"}]},
          "ttl": {"anyOf": [{"$ref": "#/components/schemas/TTL"}, {"type": "null"}]},
          "expires_at": {"anyOf": [{"$ref": "#/components/schemas/Moment"}, {"type": "null"}]},
          "parts": {"type": ["array", "null"], "maxItems": 32, "items": {"$ref": "#/components/schemas/NotificationPart"}},
          "profile": {"enum": ["ios", "android", null]}
        },
        "additionalProperties": false,
        "x-max-bytes": 65536,
        "description": "A notification to publish. null is the same as absent. It needs a title, a message, data or a part (422). At most one of ttl and expires_at. Without parts all files of a form become parts. profile refuses parts that these devices do not take.",
        "not": {"required": ["ttl", "expires_at"], "properties": {"ttl": {"type": "integer"}, "expires_at": {"type": "string"}}}
      },
      "NotificationPart": {
        "type": "object",
        "required": ["name"],
        "properties": {
          "name": {"$ref": "#/components/schemas/PartName"},
          "media_type": {"anyOf": [{"$ref": "#/components/schemas/MediaType"}, {"type": "null"}]},
          "digest": {"anyOf": [{"$ref": "#/components/schemas/Digest"}, {"type": "null"}]}
        },
        "additionalProperties": false,
        "description": "A part by the digest of stored bytes, or, in a form, by the file of its name."
      },
      "Patch": {
        "type": "object",
        "properties": {
          "title": {"anyOf": [{"$ref": "#/components/schemas/Title"}, {"type": "null"}]},
          "message": {"anyOf": [{"$ref": "#/components/schemas/Message"}, {"type": "null"}]},
          "rich_type": {"anyOf": [{"$ref": "#/components/schemas/RichType"}, {"type": "null"}]},
          "category": {"anyOf": [{"$ref": "#/components/schemas/CategoryName"}, {"type": "null"}]},
          "actions": {"anyOf": [{"$ref": "#/components/schemas/Actions"}, {"type": "null"}]},
          "group": {"anyOf": [{"$ref": "#/components/schemas/Group"}, {"type": "null"}]},
          "platforms": {"anyOf": [{"$ref": "#/components/schemas/Platforms"}, {"type": "null"}]},
          "target_host": {"anyOf": [{"$ref": "#/components/schemas/TargetHost"}, {"type": "null"}]},
          "priority": {"anyOf": [{"$ref": "#/components/schemas/Priority"}, {"type": "null"}]},
          "display_ttl": {"anyOf": [{"$ref": "#/components/schemas/DisplayTTL"}, {"type": "null"}]},
          "data": {"$ref": "#/components/schemas/Data"},
          "read": {"type": ["boolean", "null"]},
          "action_state": {"anyOf": [{"$ref": "#/components/schemas/ActionState"}, {"type": "null"}]},
          "expires_at": {"$ref": "#/components/schemas/Moment"}
        },
        "additionalProperties": false,
        "x-max-bytes": 65536,
        "description": "A merge patch (RFC 7396). null resets a member; data is merged member by member."
      },
      "Response": {
        "type": "object",
        "required": ["action"],
        "properties": {
          "action": {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
          "key": {
            "anyOf": [
              {"type": "string", "minLength": 1, "maxLength": 64, "x-max-bytes": 64, "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
              {"type": "null"}
            ]
          },
          "dismissed": {"type": ["boolean", "null"]},
          "extension": {"anyOf": [{"$ref": "#/components/schemas/ContentExtension"}, {"type": "null"}]}
        },
        "additionalProperties": false,
        "x-max-bytes": 65536,
        "description": "What the user chose: the identifier of an action, default or dismiss. A key records it once for each device. dismissed and extension must not contradict."
      },
      "CategoryOption": {"enum": ["custom_dismiss_action", "allow_in_carplay", "hidden_previews_show_title", "hidden_previews_show_subtitle", "allow_announcement"]},
      "Category": {
        "type": "object",
        "required": ["name", "actions"],
        "properties": {
          "name": {"$ref": "#/components/schemas/CategoryName"},
          "app": {"$ref": "#/components/schemas/App"},
          "revision": {"$ref": "#/components/schemas/Revision"},
          "actions": {"$ref": "#/components/schemas/Actions"},
          "options": {"type": "array", "items": {"$ref": "#/components/schemas/CategoryOption"}}
        }
      },
      "CategoryDocument": {
        "type": "object",
        "required": ["actions"],
        "properties": {
          "name": {"anyOf": [{"$ref": "#/components/schemas/CategoryName"}, {"type": "null"}]},
          "app": {"anyOf": [{"$ref": "#/components/schemas/App"}, {"type": "null"}]},
          "revision": {"type": ["integer", "null"], "minimum": 0, "maximum": 9223372036854775807},
          "actions": {"$ref": "#/components/schemas/Actions"},
          "options": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/CategoryOption"}}
        },
        "additionalProperties": false,
        "x-max-bytes": 65536,
        "description": "name and app, if present, must be those of the path and the query. revision is ignored."
      },
      "Categories": {
        "type": "object",
        "required": ["categories"],
        "properties": {
          "categories": {"type": "array", "items": {"$ref": "#/components/schemas/Category"}},
          "next": {"type": "string", "description": "Absent on the last page."}
        }
      },
      "DeletedCategory": {
        "type": "object",
        "required": ["name", "deleted"],
        "properties": {"name": {"$ref": "#/components/schemas/CategoryName"}, "app": {"$ref": "#/components/schemas/App"}, "deleted": {"const": true}}
      },
      "History": {
        "type": "object",
        "required": ["next", "cursor"],
        "oneOf": [{"required": ["notifications"]}, {"required": ["deleted"]}],
        "properties": {
          "notifications": {"type": "array", "maxItems": 1000, "items": {"$ref": "#/components/schemas/Record"}},
          "deleted": {"type": "array", "maxItems": 1000, "items": {"$ref": "#/components/schemas/DeletedNotification"}},
          "next": {"anyOf": [{"$ref": "#/components/schemas/Cursor"}, {"type": "null"}]},
          "cursor": {"$ref": "#/components/schemas/Cursor"}
        },
        "description": "deleted in place of notifications with status=deleted. next is the value for before, null at the end. A page may be short and not be the last. cursor is the position in the changes to continue from."
      },
      "DeletedNotification": {
        "type": "object",
        "required": ["id", "kind", "revision", "remembered_until"],
        "properties": {
          "id": {"$ref": "#/components/schemas/NotificationID"},
          "kind": {"enum": ["deleted", "expired"]},
          "revision": {"$ref": "#/components/schemas/Revision"},
          "device": {"$ref": "#/components/schemas/Device"},
          "app": {"$ref": "#/components/schemas/App"},
          "remembered_until": {"type": "string", "format": "date-time"}
        }
      },
      "Change": {
        "type": "object",
        "required": ["cursor", "kind", "revision"],
        "properties": {
          "cursor": {"$ref": "#/components/schemas/Cursor"},
          "kind": {"enum": ["published", "updated", "deleted", "expired", "left", "category"]},
          "id": {"$ref": "#/components/schemas/NotificationID"},
          "revision": {"$ref": "#/components/schemas/Revision"},
          "device": {"$ref": "#/components/schemas/Device"},
          "notification": {"$ref": "#/components/schemas/Record"},
          "category": {"anyOf": [{"$ref": "#/components/schemas/DeletedCategory"}, {"$ref": "#/components/schemas/Category"}]}
        },
        "if": {"properties": {"kind": {"const": "category"}}},
        "then": {"required": ["category"]},
        "else": {"required": ["id"]}
      },
      "Changes": {
        "type": "object",
        "required": ["changes", "next", "more"],
        "properties": {
          "changes": {"type": "array", "maxItems": 1000, "items": {"$ref": "#/components/schemas/Change"}},
          "next": {"$ref": "#/components/schemas/Cursor"},
          "more": {"type": "boolean"}
        },
        "description": "next is the cursor for the next call, also without changes."
      },
      "HeldBlob": {
        "type": "object",
        "required": ["digest", "byte_count", "stored_byte_count", "coding", "held_until"],
        "properties": {
          "digest": {"$ref": "#/components/schemas/Digest"}, "byte_count": {"$ref": "#/components/schemas/ByteCount"},
          "stored_byte_count": {"$ref": "#/components/schemas/ByteCount"}, "coding": {"$ref": "#/components/schemas/Coding"},
          "held_until": {"$ref": "#/components/schemas/Moment"}
        }
      },
      "Envelope": {
        "type": "object",
        "required": ["media_type", "headers", "body"],
        "properties": {"media_type": {"type": "string"}, "headers": {"type": "object", "additionalProperties": {"type": "string"}}, "body": {"type": "string"}},
        "description": "The push and the fields of the request to its provider. Send body unchanged."
      },
      "BatchLine": {
        "type": "object",
        "required": ["status"],
        "properties": {
          "id": {"type": "string"},
          "status": {"type": "integer"},
          "revision": {"$ref": "#/components/schemas/Revision"},
          "code": {"type": "string"},
          "detail": {"type": "string"}
        },
        "description": "The outcome of one line."
      },
      "Deleted": {"type": "object", "required": ["deleted"], "properties": {"deleted": {"type": "integer", "minimum": 0}}},
      "Matched": {
        "type": "object",
        "required": ["matched", "changed"],
        "properties": {"matched": {"type": "integer", "minimum": 0}, "changed": {"type": "integer", "minimum": 0}}
      },
      "ScrubFigures": {
        "type": "object",
        "required": ["running", "bytes_read", "bytes_total", "bytes_per_second", "corrupt_chunks", "damaged_records", "damaged_entries", "quarantined"],
        "properties": {
          "running": {"enum": [0, 1], "description": "1 while a round is under way."},
          "bytes_read": {"type": "integer"},
          "bytes_total": {"type": "integer", "description": "About."},
          "bytes_per_second": {"type": "integer"},
          "began_at": {"$ref": "#/components/schemas/Moment"},
          "last_ended_at": {"$ref": "#/components/schemas/Moment"},
          "corrupt_chunks": {"type": "integer", "description": "Found since the start."},
          "damaged_records": {"type": "integer"},
          "damaged_entries": {"type": "integer"},
          "quarantined": {"type": "integer", "description": "Damaged payloads now."}
        },
        "description": "How far the store was read again."
      },
      "Scrub": {
        "allOf": [
          {"$ref": "#/components/schemas/ScrubFigures"},
          {
            "type": "object",
            "required": ["quarantine"],
            "properties": {
              "quarantine": {
                "type": "array",
                "maxItems": 100,
                "items": {
                  "type": "object",
                  "required": ["digest", "byte_count", "references", "found_at"],
                  "properties": {
                    "digest": {"$ref": "#/components/schemas/Digest"},
                    "byte_count": {"$ref": "#/components/schemas/ByteCount"},
                    "references": {"type": "integer"},
                    "found_at": {"$ref": "#/components/schemas/Moment"}
                  }
                }
              }
            }
          }
        ]
      },
      "Replication": {
        "type": "object",
        "required": ["role"],
        "properties": {
          "role": {"enum": ["alone", "leader", "follower", "changing"]},
          "shard": {"type": "string"},
          "leader": {"type": "string", "description": "As it calls itself (--advertise)."},
          "epoch": {"type": "integer"},
          "segment": {"type": "integer", "description": "The last one that is known to be in the log, or was applied."},
          "sequence": {"type": "integer", "description": "The last batch of changes here."},
          "shipped_sequence": {"type": "integer", "description": "The last one in the bucket."},
          "unreplicated_bytes": {"type": "integer"},
          "lag_milliseconds": {"type": "integer"},
          "evicted_payloads": {"type": "integer", "description": "Payloads whose bytes are in the bucket and not here (--local-bytes)."},
          "evicted_bytes": {"type": "integer", "description": "Their bytes, as stored."}
        },
        "description": "What a daemon is in its shard. One that is not replicated has the role alone."
      },
      "Statistics": {
        "type": "object",
        "required": ["notifications", "store_id", "version", "errors"],
        "properties": {
          "store_id": {"type": "string"},
          "version": {"type": "string"},
          "errors": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "A count for each code."},
          "quotas": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "The quotas that are set."},
          "operations": {
            "type": "object",
            "additionalProperties": {"type": "object"},
            "description": "For each operation a count for each status, and its durations."
          },
          "bucket_nanoseconds": {"type": "array", "items": {"type": "integer"}, "description": "The upper bounds of the buckets of durations."},
          "slowest": {"type": "array", "items": {"type": "object"}, "description": "The slowest requests of the last minute."},
          "scrub": {"$ref": "#/components/schemas/ScrubFigures"}
        },
        "additionalProperties": {"type": "integer"},
        "description": "Counters; docs/PROTOCOL.md has their meanings. More may be added."
      },
      "Problem": {
        "type": "object",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
          "type": {"const": "about:blank"},
          "title": {"type": "string"},
          "status": {"type": "integer"},
          "code": {"$ref": "#/components/schemas/ErrorCode"},
          "detail": {"type": "string", "description": "For people."},
          "limit": {"type": "integer", "description": "The limit that was exceeded."},
          "expired_at": {"$ref": "#/components/schemas/Moment"},
          "history": {"type": "string", "description": "resync: the target of the history."},
          "revision": {"type": ["integer", "null"], "description": "precondition_failed: that of what is there; null: nothing is."},
          "digest": {"$ref": "#/components/schemas/Digest"},
          "expected": {"$ref": "#/components/schemas/Digest"},
          "actual": {"$ref": "#/components/schemas/Digest"},
          "limit_name": {"type": "string"},
          "reason": {"type": "string"},
          "retry_after": {"type": "integer", "description": "Seconds."},
          "byte_count": {"$ref": "#/components/schemas/ByteCount"},
          "part": {"type": "string"},
          "media_type": {"type": "string"},
          "profile": {"type": "string"},
          "allowed": {"type": "array", "items": {"type": "string"}, "description": "unsupported_attachment: the media types that the profile takes."},
          "setting": {
            "enum": ["max-bytes", "max-notifications", "owner-max-bytes", "owner-max-notifications", "min-free-disk"],
            "description": "quota_exceeded: the setting that has the limit."
          },
          "used": {"type": "integer", "description": "quota_exceeded: the count before the change."},
          "free": {"type": "integer", "description": "quota_exceeded of min-free-disk: the free bytes."}
        },
        "description": "RFC 9457. Programs check code; for an unknown code, the status."
      },
      "ErrorCode": {
        "type": "string",
        "enum": [
          "malformed", "bad_id", "bad_part", "bad_ttl", "bad_expiry", "bad_media_type", "bad_owner", "bad_rich_type", "bad_message", "bad_title",
          "bad_app", "bad_query", "bad_digest", "body_mismatch", "bad_coding", "bad_json", "not_utf8", "duplicate_key", "too_deep", "bad_document",
          "unknown_member", "immutable_member", "bad_action_state", "bad_priority", "bad_display_ttl", "bad_category", "bad_group", "bad_device",
          "bad_data", "bad_response", "bad_actions", "bad_options", "unknown_category", "unknown_action", "unknown_digest", "digest_mismatch",
          "bad_multipart", "part_missing", "part_unexpected", "too_many_parts", "bad_cursor", "bad_limit", "bad_wait", "bad_platform", "bad_profile",
          "bad_target_host", "forbidden", "not_found", "method_not_allowed", "not_acceptable", "timeout", "expired", "length_required",
          "precondition_failed", "precondition_required", "payload_too_large", "uri_too_long", "unsupported_content_coding", "bad_range",
          "expectation_failed", "too_many_requests", "headers_too_large", "response_conflict", "resync", "record_too_large", "unsupported_media_type",
          "envelope_too_large", "attachment_too_large", "unsupported_attachment", "no_message", "empty_notification", "internal", "corrupt",
          "outcome_unknown", "unsupported_transfer_coding", "stopping", "unavailable", "follower", "unreplicated", "behind", "sequence_lost",
          "not_replicated", "version_not_supported", "full", "quota_exceeded"
        ],
        "description": "docs/PROTOCOL.md has their meanings. Codes may be added."
      }
    },
    "responses": {
      "BadRequest": {
        "description": "The request is malformed, or a value breaks its rules.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {
                  "properties": {
                    "status": {"const": 400},
                    "code": {
                      "enum": [
                        "malformed", "bad_id", "bad_part", "bad_ttl", "bad_expiry", "bad_media_type", "bad_owner", "bad_rich_type", "bad_message",
                        "bad_title", "bad_app", "bad_query", "bad_digest", "body_mismatch", "bad_coding", "bad_json", "not_utf8", "duplicate_key",
                        "too_deep", "bad_document", "unknown_member", "immutable_member", "bad_action_state", "bad_priority", "bad_display_ttl",
                        "bad_category", "bad_group", "bad_device", "bad_data", "bad_response", "bad_actions", "bad_options", "unknown_category",
                        "unknown_action", "unknown_digest", "digest_mismatch", "bad_multipart", "part_missing", "part_unexpected", "too_many_parts",
                        "bad_cursor", "bad_limit", "bad_wait", "bad_platform", "bad_profile", "bad_target_host"
                      ]
                    }
                  }
                }
              ]
            }
          }
        }
      },
      "Forbidden": {
        "description": "The link is not valid.",
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 403}, "code": {"enum": ["forbidden"]}}}]}
          }
        }
      },
      "NotFound": {
        "description": "It does not exist.",
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 404}, "code": {"enum": ["not_found"]}}}]}
          }
        }
      },
      "MethodNotAllowed": {
        "description": "The resource does not have the method.",
        "headers": {"Allow": {"$ref": "#/components/headers/Allow"}},
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 405}, "code": {"enum": ["method_not_allowed"]}}}]
            }
          }
        }
      },
      "NotAcceptable": {
        "description": "Accept-Encoding excludes every available coding.",
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 406}, "code": {"enum": ["not_acceptable"]}}}]}
          }
        }
      },
      "Timeout": {
        "description": "The request did not arrive in time; the connection ends.",
        "content": {
          "application/problem+json": {"schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 408}, "code": {"enum": ["timeout"]}}}]}}
        }
      },
      "Conflict": {
        "description": "The device used the key for another response.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"status": {"const": 409}, "code": {"enum": ["response_conflict", "sequence_lost", "not_replicated"]}}}
              ]
            }
          }
        }
      },
      "Gone": {
        "description": "It has expired, or the cursor is too old.",
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 410}, "code": {"enum": ["expired", "resync"]}}}]}
          }
        }
      },
      "LengthRequired": {
        "description": "Content-Length or Transfer-Encoding is required.",
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 411}, "code": {"enum": ["length_required"]}}}]}
          }
        }
      },
      "PreconditionFailed": {
        "description": "A condition is not met.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 412}, "code": {"enum": ["precondition_failed"]}}}]
            }
          }
        }
      },
      "ContentTooLarge": {
        "description": "The body, or the record, is over its limit.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"status": {"const": 413}, "code": {"enum": ["payload_too_large", "record_too_large"]}}}
              ]
            }
          }
        }
      },
      "URITooLong": {
        "description": "The request line is over 8,192 bytes; the connection ends.",
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 414}, "code": {"enum": ["uri_too_long"]}}}]}
          }
        }
      },
      "UnsupportedMediaType": {
        "description": "The media type or the coding of the body is not supported.",
        "headers": {
          "Accept": {"$ref": "#/components/headers/Accept"}, "Accept-Patch": {"$ref": "#/components/headers/AcceptPatch"},
          "Accept-Encoding": {"$ref": "#/components/headers/AcceptEncoding"}
        },
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"status": {"const": 415}, "code": {"enum": ["unsupported_content_coding", "unsupported_media_type"]}}}
              ]
            }
          }
        }
      },
      "RangeNotSatisfiable": {
        "description": "The range begins at or past the end.",
        "headers": {"Content-Range": {"$ref": "#/components/headers/ContentRange"}},
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 416}, "code": {"enum": ["bad_range"]}}}]}
          }
        }
      },
      "ExpectationFailed": {
        "description": "An Expect other than 100-continue; the connection ends.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 417}, "code": {"enum": ["expectation_failed"]}}}]
            }
          }
        }
      },
      "Unprocessable": {
        "description": "The document is valid, but cannot be carried out.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {
                  "properties": {
                    "status": {"const": 422},
                    "code": {"enum": ["envelope_too_large", "attachment_too_large", "unsupported_attachment", "no_message", "empty_notification"]}
                  }
                }
              ]
            }
          }
        }
      },
      "PreconditionRequired": {
        "description": "This daemon requires If-Match (--require-if-match).",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 428}, "code": {"enum": ["precondition_required"]}}}]
            }
          }
        }
      },
      "TooManyRequests": {
        "description": "A limit of concurrent requests is reached, or a quota of the owner is used up.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"status": {"const": 429}, "code": {"enum": ["too_many_requests", "quota_exceeded"]}}}
              ]
            }
          }
        }
      },
      "HeadersTooLarge": {
        "description": "The header section is over its limit; the connection ends.",
        "content": {
          "application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 431}, "code": {"enum": ["headers_too_large"]}}}]}
          }
        }
      },
      "InternalError": {
        "description": "An error in the daemon, or of its disk.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"status": {"const": 500}, "code": {"enum": ["internal", "corrupt", "outcome_unknown"]}}}
              ]
            }
          }
        }
      },
      "NotImplemented": {
        "description": "A Transfer-Encoding other than chunked; the connection ends.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"status": {"const": 501}, "code": {"enum": ["unsupported_transfer_coding"]}}}
              ]
            }
          }
        }
      },
      "Unavailable": {
        "description": "Not now; try again.",
        "headers": {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}},
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"status": {"const": 503}, "code": {"enum": ["stopping", "unavailable", "follower", "unreplicated", "behind"]}}}
              ]
            }
          }
        }
      },
      "VersionNotSupported": {
        "description": "An HTTP version other than 1.1 and 1.0; the connection ends.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 505}, "code": {"enum": ["version_not_supported"]}}}]
            }
          }
        }
      },
      "Full": {
        "description": "No space left, or a quota of the store is used up; reads and deletes continue.",
        "content": {
          "application/problem+json": {
            "schema": {
              "allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"status": {"const": 507}, "code": {"enum": ["full", "quota_exceeded"]}}}]
            }
          }
        }
      },
      "HeadError": {"description": "An error, as of GET, without its problem document."},
      "Payload": {
        "description": "The bytes, with the media type they were published with.",
        "headers": {
          "ETag": {"$ref": "#/components/headers/PayloadETag"}, "Accept-Ranges": {"$ref": "#/components/headers/AcceptRanges"},
          "Content-Encoding": {"$ref": "#/components/headers/ContentEncoding"}, "Vary": {"$ref": "#/components/headers/Vary"},
          "Cache-Control": {"$ref": "#/components/headers/PayloadCacheControl"}, "X-Content-Type-Options": {"$ref": "#/components/headers/NoSniff"},
          "Content-Security-Policy": {"$ref": "#/components/headers/Sandbox"}
        },
        "content": {"*/*": {}}
      },
      "PayloadRange": {
        "description": "One range of the bytes.",
        "headers": {
          "ETag": {"$ref": "#/components/headers/PayloadETag"}, "Accept-Ranges": {"$ref": "#/components/headers/AcceptRanges"},
          "Vary": {"$ref": "#/components/headers/Vary"}, "Cache-Control": {"$ref": "#/components/headers/PayloadCacheControl"},
          "X-Content-Type-Options": {"$ref": "#/components/headers/NoSniff"}, "Content-Security-Policy": {"$ref": "#/components/headers/Sandbox"},
          "Content-Range": {"$ref": "#/components/headers/ContentRange"}
        },
        "content": {"*/*": {}}
      },
      "PayloadNotModified": {
        "description": "If-None-Match names the form that would be sent.",
        "headers": {
          "ETag": {"$ref": "#/components/headers/PayloadETag"}, "Vary": {"$ref": "#/components/headers/Vary"},
          "Cache-Control": {"$ref": "#/components/headers/PayloadCacheControl"}
        }
      },
      "NotModified": {"description": "If-None-Match names the present revision.", "headers": {"ETag": {"$ref": "#/components/headers/RevisionETag"}}},
      "Record": {
        "description": "The record.",
        "headers": {"ETag": {"$ref": "#/components/headers/RevisionETag"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Record"}}}
      },
      "RecordCreated": {
        "description": "The record; the notification, part or response is new.",
        "headers": {"ETag": {"$ref": "#/components/headers/RevisionETag"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Record"}}},
        "links": {
          "record": {"$ref": "#/components/links/record"}, "payload": {"$ref": "#/components/links/payload"},
          "envelope": {"$ref": "#/components/links/envelope"}, "patch": {"$ref": "#/components/links/patch"},
          "respond": {"$ref": "#/components/links/respond"}, "replace": {"$ref": "#/components/links/replace"},
          "delete": {"$ref": "#/components/links/delete"}
        }
      },
      "Published": {
        "description": "The record, on disk; the part existed.",
        "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Record"}}},
        "links": {
          "record": {"$ref": "#/components/links/record"}, "payload": {"$ref": "#/components/links/payload"},
          "delete": {"$ref": "#/components/links/delete"}
        }
      },
      "PublishedNew": {
        "description": "The record, on disk; the part is new.",
        "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Record"}}},
        "links": {
          "record": {"$ref": "#/components/links/record"}, "payload": {"$ref": "#/components/links/payload"},
          "delete": {"$ref": "#/components/links/delete"}
        }
      },
      "RecordLocated": {
        "description": "The record; the daemon chose the id.",
        "headers": {
          "ETag": {"$ref": "#/components/headers/RevisionETag"}, "Location": {"$ref": "#/components/headers/Location"},
          "Cache-Control": {"$ref": "#/components/headers/NoStore"}
        },
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Record"}}},
        "links": {
          "record": {"$ref": "#/components/links/record"}, "payload": {"$ref": "#/components/links/payload"},
          "envelope": {"$ref": "#/components/links/envelope"}, "patch": {"$ref": "#/components/links/patch"},
          "respond": {"$ref": "#/components/links/respond"}, "replace": {"$ref": "#/components/links/replace"},
          "delete": {"$ref": "#/components/links/delete"}
        }
      },
      "Category": {
        "description": "The category.",
        "headers": {"ETag": {"$ref": "#/components/headers/RevisionETag"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Category"}}}
      },
      "CategoryCreated": {
        "description": "The category; it is new.",
        "headers": {"ETag": {"$ref": "#/components/headers/RevisionETag"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Category"}}},
        "links": {"setCategory": {"$ref": "#/components/links/setCategory"}}
      },
      "HeldBlob": {
        "description": "The bytes were stored already; they are held.",
        "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HeldBlob"}}}
      },
      "HeldBlobCreated": {
        "description": "The bytes are stored and held.",
        "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HeldBlob"}}},
        "links": {"blob": {"$ref": "#/components/links/blob"}}
      },
      "Deleted": {
        "description": "How many notifications were deleted.",
        "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Deleted"}}}
      },
      "Gone204": {"description": "It is deleted."},
      "OK": {
        "description": "ok",
        "headers": {"Cache-Control": {"$ref": "#/components/headers/NoStore"}},
        "content": {"text/plain": {"schema": {"const": "ok\n"}}}
      },
      "Head": {"description": "As of GET, without the body."},
      "Changes": {
        "description": "A page, or, with Accept: text/event-stream, an event stream that does not end: id is the cursor, event the kind or resync or problem, data the change or the problem.",
        "headers": {
          "Cache-Control": {"$ref": "#/components/headers/NoStore"},
          "X-Accel-Buffering": {"description": "no, of an event stream.", "schema": {"const": "no"}}
        },
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Changes"}}, "text/event-stream": {"schema": {"type": "string"}}},
        "links": {"next": {"$ref": "#/components/links/next"}}
      }
    },
    "parameters": {
      "id": {
        "name": "id",
        "in": "path",
        "required": true,
        "schema": {"allOf": [{"$ref": "#/components/schemas/NotificationID"}, {"not": {"pattern": "^\\.\\.?$"}}]}
      },
      "name": {
        "name": "name",
        "in": "path",
        "required": true,
        "description": "The part. The unnamed one is payload.",
        "schema": {"allOf": [{"$ref": "#/components/schemas/PartName"}, {"not": {"pattern": "^\\.\\.?$"}}]}
      },
      "owner": {
        "name": "owner",
        "in": "path",
        "required": true,
        "description": "May contain an encoded slash.",
        "schema": {"allOf": [{"$ref": "#/components/schemas/Owner"}, {"minLength": 1}]}
      },
      "digest": {"name": "digest", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Digest"}},
      "category": {
        "name": "name",
        "in": "path",
        "required": true,
        "schema": {"allOf": [{"$ref": "#/components/schemas/CategoryName"}, {"not": {"pattern": "^\\.\\.?$"}}]}
      },
      "ttl": {"name": "ttl", "in": "query", "description": "Not together with expires_at.", "schema": {"$ref": "#/components/schemas/TTL"}},
      "expiresAt": {"name": "expires_at", "in": "query", "schema": {"$ref": "#/components/schemas/Moment"}},
      "title": {"name": "title", "in": "query", "schema": {"anyOf": [{"$ref": "#/components/schemas/Title"}, {"const": ""}]}},
      "message": {"name": "message", "in": "query", "schema": {"anyOf": [{"$ref": "#/components/schemas/Message"}, {"const": ""}]}},
      "richType": {"name": "rich_type", "in": "query", "schema": {"anyOf": [{"$ref": "#/components/schemas/RichType"}, {"const": ""}]}},
      "ownerOfNew": {"name": "owner", "in": "query", "schema": {"anyOf": [{"$ref": "#/components/schemas/Owner"}, {"const": ""}]}},
      "appOfNew": {"name": "app", "in": "query", "schema": {"anyOf": [{"$ref": "#/components/schemas/App"}, {"const": ""}]}},
      "profile": {"name": "profile", "in": "query", "description": "Refuses parts that these devices do not take.", "schema": {"enum": ["ios", "android"]}},
      "app": {"name": "app", "in": "query", "schema": {"$ref": "#/components/schemas/App"}},
      "group": {"name": "group", "in": "query", "schema": {"$ref": "#/components/schemas/Group"}},
      "groupRequired": {"name": "group", "in": "query", "required": true, "schema": {"$ref": "#/components/schemas/Group"}},
      "read": {"name": "read", "in": "query", "schema": {"type": "boolean"}},
      "actionState": {"name": "action_state", "in": "query", "schema": {"$ref": "#/components/schemas/ActionState"}},
      "limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
      "before": {"name": "before", "in": "query", "description": "next of the previous page.", "schema": {"$ref": "#/components/schemas/Cursor"}},
      "since": {
        "name": "since",
        "in": "query",
        "description": "0: all changes; latest: new ones only; or a cursor.",
        "schema": {"anyOf": [{"enum": ["0", "latest"]}, {"$ref": "#/components/schemas/Cursor"}], "default": "0"}
      },
      "wait": {
        "name": "wait",
        "in": "query",
        "description": "Seconds to wait for a change if there is none.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 60, "default": 0}
      },
      "after": {"name": "after", "in": "query", "description": "next of the previous page.", "schema": {"type": "string"}},
      "targetPlatform": {
        "name": "platform",
        "in": "query",
        "schema": {"$ref": "#/components/schemas/Platform"},
        "description": "Without notifications that name only other platforms."
      },
      "targetHost": {
        "name": "target_host",
        "in": "query",
        "schema": {"$ref": "#/components/schemas/TargetHost"},
        "description": "Without notifications that name another host."
      },
      "status": {
        "name": "status",
        "in": "query",
        "schema": {"enum": ["active", "deleted"], "default": "active"},
        "description": "deleted: what is remembered of deleted and expired notifications. No other filter but app goes with it."
      },
      "platform": {"name": "platform", "in": "query", "required": true, "schema": {"enum": ["apns", "fcm", "wns"]}},
      "style": {
        "name": "style",
        "in": "query",
        "schema": {"enum": ["silent", "alert"], "default": "silent"},
        "description": "silent: wakes the app, which fetches and shows. alert: the system shows title and message."
      },
      "token": {
        "name": "token",
        "in": "query",
        "schema": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^[\\u0021-\\u007e]+$"},
        "description": "fcm: the device's registration token, which becomes part of the push. Refused for other platforms."
      },
      "format": {
        "name": "format",
        "in": "query",
        "description": "body: the push; json: with the fields of the request to its provider.",
        "schema": {"enum": ["body", "json"], "default": "body"}
      },
      "e": {
        "name": "e",
        "in": "query",
        "required": true,
        "description": "The second since 1970 at which the link is no longer valid.",
        "schema": {"type": "integer", "minimum": 0}
      },
      "k": {
        "name": "k",
        "in": "query",
        "required": true,
        "description": "The id of the key.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 32, "pattern": "^[A-Za-z0-9._~-]+$"}
      },
      "sig": {
        "name": "sig",
        "in": "query",
        "required": true,
        "description": "The unpadded base64url of HMAC-SHA-256 over GET, the path as sent, e and k, joined by line feeds.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{43}$"}
      },
      "ifMatch": {
        "name": "If-Match",
        "in": "header",
        "description": "* or a list of entity tags: revisions and, of payloads, digests.",
        "schema": {"type": "string"},
        "example": "*"
      },
      "ifNoneMatch": {"name": "If-None-Match", "in": "header", "description": "* or a list of entity tags.", "schema": {"type": "string"}, "example": "*"},
      "ifRange": {
        "name": "If-Range",
        "in": "header",
        "description": "The strong tag that the range is of; with another, all bytes are sent.",
        "schema": {"type": "string"}
      },
      "range": {
        "name": "Range",
        "in": "header",
        "description": "One range of bytes, bytes=FIRST-LAST. Any other is ignored.",
        "schema": {"type": "string"},
        "example": "bytes=0-99"
      },
      "acceptEncoding": {"name": "Accept-Encoding", "in": "header", "description": "Without it the bytes are sent as given.", "schema": {"type": "string"}},
      "contentEncoding": {
        "name": "Content-Encoding",
        "in": "header",
        "description": "How the body is coded. Digest, length and limits are those of the decoded bytes.",
        "schema": {"enum": ["identity", "gzip", "x-gzip", "deflate"]}
      },
      "device": {"name": "Blobd-Device", "in": "header", "description": "The device that makes the change.", "schema": {"$ref": "#/components/schemas/Device"}},
      "lastEventID": {"name": "Last-Event-ID", "in": "header", "description": "Of an event stream: a cursor, which overrides since.", "schema": {"type": "string"}}
    },
    "headers": {
      "PayloadETag": {"description": "The digest of the payload, or of its gzip form.", "schema": {"type": "string", "pattern": "^\"sha256:[0-9a-f]{64}(-gzip)?\"$"}},
      "RevisionETag": {"description": "The revision.", "schema": {"type": "string", "pattern": "^\"[0-9]+\"$"}},
      "AcceptRanges": {"schema": {"const": "bytes"}},
      "ContentRange": {"description": "bytes FIRST-LAST/ALL, of a 416 bytes */ALL.", "schema": {"type": "string"}},
      "ContentEncoding": {"description": "gzip, if the payload is stored that way and Accept-Encoding allows it.", "schema": {"const": "gzip"}},
      "Vary": {"description": "Accept-Encoding, if the payload has a gzip form.", "schema": {"const": "Accept-Encoding"}},
      "PayloadCacheControl": {"description": "private, max-age= the remaining lifetime in seconds.", "schema": {"type": "string", "pattern": "^private, max-age=[0-9]+$"}},
      "NoStore": {"schema": {"const": "no-store"}},
      "NoSniff": {"schema": {"const": "nosniff"}},
      "Sandbox": {"schema": {"const": "sandbox; default-src 'none'"}},
      "Location": {"description": "The path of what was created.", "schema": {"type": "string"}},
      "RetryAfter": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 0}},
      "Allow": {"description": "The methods that the resource has.", "schema": {"type": "string"}},
      "Accept": {"description": "The media types that are supported.", "schema": {"type": "string"}},
      "AcceptPatch": {"description": "The media types that are supported for a PATCH.", "schema": {"type": "string"}},
      "AcceptEncoding": {"description": "The codings that are supported.", "schema": {"type": "string"}}
    },
    "links": {
      "record": {"operationId": "notification", "parameters": {"id": "$response.body#/id"}},
      "payload": {"operationId": "getPayload", "parameters": {"id": "$response.body#/id"}},
      "envelope": {"operationId": "envelope", "parameters": {"id": "$response.body#/id"}},
      "patch": {"operationId": "patch", "parameters": {"id": "$response.body#/id"}},
      "respond": {"operationId": "respond", "parameters": {"id": "$response.body#/id"}},
      "delete": {"operationId": "delete", "parameters": {"id": "$response.body#/id"}},
      "replace": {"operationId": "publish", "parameters": {"id": "$response.body#/id"}},
      "blob": {"operationId": "getBlob", "parameters": {"digest": "$response.body#/digest"}},
      "next": {"operationId": "changes", "parameters": {"owner": "$request.path.owner", "since": "$response.body#/next"}},
      "following": {"operationId": "changes", "parameters": {"owner": "$request.path.owner", "since": "$response.body#/cursor"}},
      "before": {"operationId": "history", "parameters": {"owner": "$request.path.owner", "before": "$response.body#/next"}},
      "setCategory": {"operationId": "category", "parameters": {"name": "$request.path.name"}}
    }
  }
}

"""#
    }
}
