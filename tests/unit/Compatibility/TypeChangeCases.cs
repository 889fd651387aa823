namespace ProtoRpc.Tests.Compatibility;

/// <summary>Pairs of schemas in which messages, enums and services change.</summary>
internal static class TypeChangeCases
{
    /// <summary>Changes of messages, reserved numbers and extensions.</summary>
    public static IReadOnlyList<SchemaChange> Messages { get; } =
    [
        new(
            "A message is deleted",
            "message M { int32 a = 1; } message N {}",
            "message N {}",
            "MessageDeleted c.M | Source | MESSAGE_NO_DELETE, PACKAGE_MESSAGE_NO_DELETE"),
        new(
            "A nested message is deleted",
            "message N { message M { int32 a = 1; } int32 b = 1; }",
            "message N { int32 b = 1; }",
            "MessageDeleted c.N.M | Source | MESSAGE_NO_DELETE, PACKAGE_MESSAGE_NO_DELETE"),
        new(
            "A message is deleted with all that is in it",
            "message M { message N { enum E { ZERO = 0; } } } message O {}",
            "message O {}",
            "MessageDeleted c.M | Source | MESSAGE_NO_DELETE, PACKAGE_MESSAGE_NO_DELETE")
        {
            WithoutBuf = "buf also names what was in the message",
        },
        new(
            "A message moves to another file",
            """
            --- a.proto
            message M {} message N {}
            --- b.proto
            message O {}
            """,
            """
            --- a.proto
            message N {}
            --- b.proto
            message O {} message M {}
            """,
            "MovedToOtherFile c.M | File | MESSAGE_NO_DELETE"),
        new(
            "A reserved number is used again",
            "message M { reserved 2, 5 to 7; }",
            "message M { reserved 5 to 7; int32 a = 2; }",
            "ReservedDeleted c.M | Wire | RESERVED_MESSAGE_NO_DELETE"),
        new(
            "A part of a reserved range is gone",
            "message M { reserved 5 to 7; }",
            "message M { reserved 5, 7; }",
            "ReservedDeleted c.M | Wire | RESERVED_MESSAGE_NO_DELETE"),
        new(
            "A reserved range is in two parts",
            "message M { reserved 5 to 7; }",
            "message M { reserved 5, 6, 7 to 9; }"),
        new(
            "A reserved name is gone",
            """
            message M { reserved "a", "b"; }
            """,
            """
            message M { reserved "b"; }
            """,
            "ReservedDeleted c.M | Json | RESERVED_MESSAGE_NO_DELETE"),
        new(
            "A range of extensions is gone",
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; extensions 300 to max; }
            """,
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 150; extensions 300 to max; }
            """,
            "ExtensionRangeDeleted c.M | Source | EXTENSION_MESSAGE_NO_DELETE"),
        new(
            "no_standard_descriptor_accessor is set",
            "message M {}",
            "message M { option no_standard_descriptor_accessor = true; }",
            "DescriptorAccessorRemoved c.M | Source | MESSAGE_NO_REMOVE_STANDARD_DESCRIPTOR_ACCESSOR"),
        new(
            "no_standard_descriptor_accessor is removed",
            "message M { option no_standard_descriptor_accessor = true; }",
            "message M {}"),
        new(
            "A message becomes a MessageSet",
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; }
            """,
            """
            syntax = "proto2"; package c;
            message M { option message_set_wire_format = true; extensions 100 to 200; }
            """,
            "MessageSetChanged c.M | Wire | MESSAGE_SAME_MESSAGE_SET_WIRE_FORMAT")
        {
            WithoutBuf = "buf 2 has no such rule any more",
        },
        new(
            "json_format of a message changes",
            """
            edition = "2023"; package c;
            message M {}
            """,
            """
            edition = "2023"; package c;
            message M { option features.json_format = LEGACY_BEST_EFFORT; }
            """,
            "JsonFormatChanged c.M | Json | MESSAGE_SAME_JSON_FORMAT"),
        new(
            "An extension is deleted",
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional int32 x = 100;
            optional int32 y = 101; }
            """,
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional int32 y = 101; }
            """,
            "ExtensionDeleted c.x | Source | EXTENSION_NO_DELETE, PACKAGE_EXTENSION_NO_DELETE"),
        new(
            "An extension is renamed",
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional int32 x = 100; }
            """,
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional int32 y = 100; }
            """,
            "FieldRenamed c.x | Json, Source | FIELD_SAME_NAME",
            "ExtensionDeleted c.x | Source | EXTENSION_NO_DELETE, PACKAGE_EXTENSION_NO_DELETE"),
        new(
            "An extension gets another number",
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional int32 x = 100; }
            """,
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional int32 x = 101; }
            """,
            "FieldDeleted c.x | Wire, Json, Source | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "An extension extends another message",
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } message N { extensions 100 to 200; }
            extend M { optional int32 x = 100; }
            """,
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } message N { extensions 100 to 200; }
            extend N { optional int32 x = 100; }
            """,
            "FieldDeleted c.x | Wire, Json, Source | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "An extension has another type",
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional int32 x = 100; }
            """,
            """
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; } extend M { optional string x = 100; }
            """,
            "FieldTypeChanged c.x | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "An extension moves to another file",
            """
            --- a.proto
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; }
            --- b.proto
            syntax = "proto2"; package c; import "a.proto";
            extend M { optional int32 x = 100; }
            """,
            """
            --- a.proto
            syntax = "proto2"; package c;
            message M { extensions 100 to 200; }
            extend M { optional int32 x = 100; }
            --- b.proto
            syntax = "proto2"; package c;
            message N {}
            """,
            "MovedToOtherFile c.x | File | EXTENSION_NO_DELETE"),
    ];

    /// <summary>Changes of enums.</summary>
    public static IReadOnlyList<SchemaChange> Enums { get; } =
    [
        new(
            "An enum is deleted",
            "enum E { ZERO = 0; } enum F { NULL = 0; }",
            "enum F { NULL = 0; }",
            "EnumDeleted c.E | Source | ENUM_NO_DELETE, PACKAGE_ENUM_NO_DELETE"),
        new(
            "The last enum of a package is deleted",
            "enum E { ZERO = 0; } message M {}",
            "message M {}",
            "EnumDeleted c.E | Source | ENUM_NO_DELETE, PACKAGE_ENUM_NO_DELETE")
        {
            WithoutBuf = "buf misses PACKAGE_ENUM_NO_DELETE if the package has no other enum",
        },
        new(
            "An enum moves to another file",
            """
            --- a.proto
            enum E { ZERO = 0; } message N {}
            --- b.proto
            message O {}
            """,
            """
            --- a.proto
            message N {}
            --- b.proto
            message O {} enum E { ZERO = 0; }
            """,
            "MovedToOtherFile c.E | File | ENUM_NO_DELETE"),
        new(
            "An enum becomes closed",
            """
            edition = "2023"; package c;
            enum E { ZERO = 0; }
            """,
            """
            edition = "2023"; package c;
            enum E { option features.enum_type = CLOSED; ZERO = 0; }
            """,
            "EnumOpennessChanged c.E | Source | ENUM_SAME_TYPE"),
        new(
            "A value is deleted",
            "enum E { ZERO = 0; ONE = 1; }",
            "enum E { ZERO = 0; }",
            "EnumValueDeleted c.E.ONE | Wire, Json, Source | ENUM_VALUE_NO_DELETE, "
            + "ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED, "
            + "ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED"),
        new(
            "A value is deleted, and its number is reserved",
            "enum E { ZERO = 0; ONE = 1; }",
            "enum E { reserved 1; ZERO = 0; }",
            "EnumValueDeleted c.E.ONE | Json, Source | ENUM_VALUE_NO_DELETE, "
            + "ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED"),
        new(
            "A value is deleted, and both are reserved",
            "enum E { ZERO = 0; ONE = 1; }",
            """
            enum E { reserved 1 to max; reserved "ONE"; ZERO = 0; }
            """,
            "EnumValueDeleted c.E.ONE | Source | ENUM_VALUE_NO_DELETE"),
        new(
            "A value with two names is deleted, and one name is reserved",
            "enum E { option allow_alias = true; ZERO = 0; ONE = 1; EIN = 1; }",
            """
            enum E { reserved 1; reserved "EIN"; ZERO = 0; }
            """,
            "EnumValueDeleted c.E.ONE | Json, Source | ENUM_VALUE_NO_DELETE, "
            + "ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED"),
        new(
            "A value is renamed",
            "enum E { ZERO = 0; ONE = 1; }",
            "enum E { ZERO = 0; EIN = 1; }",
            "EnumValueRenamed c.E.ONE | Json, Source | ENUM_VALUE_SAME_NAME"),
        new(
            "A value gets another name",
            "enum E { ZERO = 0; ONE = 1; }",
            "enum E { option allow_alias = true; ZERO = 0; ONE = 1; EIN = 1; }"),
        new(
            "A value loses one of its names",
            "enum E { option allow_alias = true; ZERO = 0; ONE = 1; EIN = 1; }",
            "enum E { ZERO = 0; EIN = 1; }",
            "EnumValueRenamed c.E.ONE | Json, Source | ENUM_VALUE_SAME_NAME"),
        new(
            "A value loses all but one of its names",
            "enum E { option allow_alias = true; ZERO = 0; ONE = 1; EIN = 1; UN = 1; }",
            "enum E { ZERO = 0; ONE = 1; }",
            "EnumValueRenamed c.E.EIN | Json, Source | ENUM_VALUE_SAME_NAME",
            "EnumValueRenamed c.E.UN | Json, Source | ENUM_VALUE_SAME_NAME")
        {
            WithoutBuf = "buf lists the names in one line",
        },
        new(
            "A reserved number of an enum is gone",
            "enum E { reserved 5 to 7; ZERO = 0; }",
            "enum E { reserved 5 to 6; ZERO = 0; }",
            "ReservedDeleted c.E | Wire | RESERVED_ENUM_NO_DELETE"),
        new(
            "A reserved name of an enum is gone",
            """
            enum E { reserved "A"; ZERO = 0; }
            """,
            "enum E { ZERO = 0; }",
            "ReservedDeleted c.E | Json | RESERVED_ENUM_NO_DELETE"),
        new(
            "json_format of an enum changes",
            """
            edition = "2023"; package c;
            enum E { ZERO = 0; }
            """,
            """
            edition = "2023"; package c;
            enum E { option features.json_format = LEGACY_BEST_EFFORT; ZERO = 0; }
            """,
            "JsonFormatChanged c.E | Json | ENUM_SAME_JSON_FORMAT"),
    ];

    /// <summary>Changes of services and methods.</summary>
    public static IReadOnlyList<SchemaChange> Services { get; } =
    [
        new(
            "A service is deleted",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "message Q {} message R {} ",
            "ServiceDeleted c.S | Wire, Json, Source | SERVICE_NO_DELETE, PACKAGE_SERVICE_NO_DELETE"),
        new(
            "A service moves to another file",
            """
            --- a.proto
            message Q {} service S { rpc A (Q) returns (Q); }
            --- b.proto
            import "a.proto"; message O {}
            """,
            """
            --- a.proto
            message Q {}
            --- b.proto
            import "a.proto"; message O {} service S { rpc A (Q) returns (Q); }
            """,
            "MovedToOtherFile c.S | File | SERVICE_NO_DELETE"),
        new(
            "A method is deleted",
            "message Q {} message R {} service S { rpc A (Q) returns (R); rpc B (Q) returns (R); }",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "MethodDeleted c.S/B | Wire, Json, Source | RPC_NO_DELETE"),
        new(
            "Methods have another order",
            "message Q {} message R {} service S { rpc A (Q) returns (R); rpc B (Q) returns (R); }",
            "message Q {} message R {} service S { rpc B (Q) returns (R); rpc A (Q) returns (R); }"),
        new(
            "A method has another request",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "message Q {} message R {} service S { rpc A (R) returns (R); }",
            "RequestTypeChanged c.S/A | Wire, Json, Source | RPC_SAME_REQUEST_TYPE"),
        new(
            "A method has another reply",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "message Q {} message R {} service S { rpc A (Q) returns (Q); }",
            "ReplyTypeChanged c.S/A | Wire, Json, Source | RPC_SAME_RESPONSE_TYPE"),
        new(
            "A method streams requests",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "message Q {} message R {} service S { rpc A (stream Q) returns (R); }",
            "StreamingChanged c.S/A | Wire, Json, Source | RPC_SAME_CLIENT_STREAMING"),
        new(
            "A method no longer streams replies",
            "message Q {} message R {} service S { rpc A (Q) returns (stream R); }",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "StreamingChanged c.S/A | Wire, Json, Source | RPC_SAME_SERVER_STREAMING"),
        new(
            "A method streams in both directions",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "message Q {} message R {} service S { rpc A (stream Q) returns (stream R); }",
            "StreamingChanged c.S/A | Wire, Json, Source | RPC_SAME_CLIENT_STREAMING, "
            + "RPC_SAME_SERVER_STREAMING"),
        new(
            "idempotency_level changes",
            "message Q {} message R {} service S { rpc A (Q) returns (R) { option "
            + "idempotency_level = NO_SIDE_EFFECTS; } }",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            "IdempotencyChanged c.S/A | Wire, Json | RPC_SAME_IDEMPOTENCY_LEVEL"),
        new(
            "An interface id changes",
            """
            syntax = "proto3"; package c; import "google/protobuf/csharp_options.proto"; message Q {}
            message R {} service S {
            option (google.protobuf.csharp_service_options).interface_id =
              "00000000-0000-0000-0000-000000000001";
            rpc A (Q) returns (R); }
            """,
            """
            syntax = "proto3"; package c; import "google/protobuf/csharp_options.proto"; message Q {}
            message R {} service S {
            option (google.protobuf.csharp_service_options).interface_id =
              "00000000-0000-0000-0000-000000000002";
            rpc A (Q) returns (R); }
            """,
            "InterfaceIdChanged c.S | Wire | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "An interface id is added",
            """
            syntax = "proto3"; package c; import "google/protobuf/csharp_options.proto"; message Q {}
            message R {} service S { rpc A (Q) returns (R); }
            """,
            """
            syntax = "proto3"; package c; import "google/protobuf/csharp_options.proto"; message Q {}
            message R {} service S {
            option (google.protobuf.csharp_service_options).interface_id =
              "00000000-0000-0000-0000-000000000002";
            rpc A (Q) returns (R); }
            """,
            "InterfaceIdChanged c.S | Wire | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "An interface id is written in another way",
            """
            syntax = "proto3"; package c; import "google/protobuf/csharp_options.proto"; message Q {}
            message R {} service S {
            option (google.protobuf.csharp_service_options).interface_id =
              "00000000-0000-0000-0000-00000000000a";
            rpc A (Q) returns (R); }
            """,
            """
            syntax = "proto3"; package c; import "google/protobuf/csharp_options.proto"; message Q {}
            message R {} service S {
            option (google.protobuf.csharp_service_options).interface_id =
              "{00000000-0000-0000-0000-00000000000A}";
            rpc A (Q) returns (R); }
            """)
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A route is deleted",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{a}" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R); }
            """,
            "RestRouteDeleted c.S/A | Json | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A route has another path",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{a}" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v2/{a}" }; } }
            """,
            "RestRouteDeleted c.S/A | Json | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A route has another method",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = {
            post: "/v1/a" body: "*" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = {
            put: "/v1/a" body: "*" }; } }
            """,
            "RestRouteDeleted c.S/A | Json | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A route is kept beside a new one",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{a}" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = {
            get: "/v2/{a}" additional_bindings { get: "/v1/{a=*}" } }; } }
            """)
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A variable of a route sets another field",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{a}" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{b}" }; } }
            """,
            "RestRouteChanged c.S/A | Json | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A route has its body in another field",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = {
            post: "/v1/{a}" body: "r" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = {
            post: "/v1/{a}" body: "*" }; } }
            """,
            "RestRouteChanged c.S/A | Json | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A route has another response_body",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = {
            get: "/v1/{a}" response_body: "x" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{a}" }; } }
            """,
            "RestRouteChanged c.S/A | Json | ")
        {
            WithoutBuf = "buf has no such rule",
        },
        new(
            "A field of a route is renamed",
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string a = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{a}" }; } }
            """,
            """
            syntax = "proto3"; package c; import "google/api/annotations.proto"; message Q {
            string d = 1; string b = 2; R r = 3; } message R { string x = 1; string y = 2; }
            service S { rpc A (Q) returns (R) { option (google.api.http) = { get: "/v1/{d}" }; } }
            """,
            "FieldRenamed c.Q.a | Json, Source | FIELD_SAME_NAME, FIELD_SAME_JSON_NAME")
        {
            WithoutBuf = "buf has no such rule",
        },
    ];
}
