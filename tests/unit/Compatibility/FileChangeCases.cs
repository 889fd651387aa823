namespace ProtoRpc.Tests.Compatibility;

/// <summary>Pairs of schemas in which files and packages change.</summary>
internal static class FileChangeCases
{
    /// <summary>Changes of files and packages.</summary>
    public static IReadOnlyList<SchemaChange> Files { get; } =
    [
        new(
            "A file is deleted",
            """
            --- a.proto
            message M {}
            --- b.proto
            message N {}
            """,
            """
            --- a.proto
            message M {} message N {}
            """,
            "FileDeleted b.proto | File | FILE_NO_DELETE"),
        new(
            "A file and its message are deleted",
            """
            --- a.proto
            message M {}
            --- b.proto
            message N {}
            """,
            """
            --- a.proto
            message M {}
            """,
            "FileDeleted b.proto | File | FILE_NO_DELETE",
            "MessageDeleted c.N | Source | PACKAGE_MESSAGE_NO_DELETE"),
        new(
            "A package is deleted",
            """
            --- a.proto
            message M {}
            --- b.proto
            syntax = "proto3"; package d;
            message N {}
            """,
            """
            --- a.proto
            message M {}
            """,
            "FileDeleted b.proto | File | FILE_NO_DELETE",
            "PackageDeleted d | Source | PACKAGE_NO_DELETE"),
        new(
            "A package is renamed",
            "message M {}",
            """
            syntax = "proto3"; package d;
            message M {}
            """,
            "FilePackageChanged a.proto | Wire, Json, Source | FILE_SAME_PACKAGE",
            "PackageDeleted c | Source | PACKAGE_NO_DELETE"),
        new(
            "A package with a service is renamed",
            "message Q {} message R {} service S { rpc A (Q) returns (R); }",
            """
            syntax = "proto3"; package d;
            message Q {} message R {} service S { rpc A (Q) returns (R); }
            """,
            "FilePackageChanged a.proto | Wire, Json, Source | FILE_SAME_PACKAGE",
            "PackageDeleted c | Source | PACKAGE_NO_DELETE",
            "ServiceDeleted c.S | Wire, Json, Source | ")
        {
            WithoutBuf = "buf does not name the services of a package that is gone",
        },
        new(
            "proto3 becomes an edition without a change",
            "enum E { ZERO = 0; } message M { int32 a = 1; repeated int32 b = 2; string c = 3; E "
            + "d = 4; map<string, string> e = 5; optional int32 f = 6; M g = 7; oneof h { int32 i "
            + "= 8; } }",
            """
            edition = "2023"; package c;
            option features.field_presence = IMPLICIT;
            enum E { ZERO = 0; } message M { int32 a = 1; repeated int32 b = 2; string c = 3;
            E d = 4; map<string, string> e = 5; int32 f = 6 [features.field_presence = EXPLICIT];
            M g = 7; oneof h { int32 i = 8; } }
            """,
            "FileSyntaxChanged a.proto | File | FILE_SAME_SYNTAX"),
        new(
            "proto2 becomes an edition without a change",
            """
            syntax = "proto2"; package c;
            enum E { ZERO = 0; } message M { required int32 a = 1; repeated int32 b = 2;
            optional string c = 3; optional E d = 4; optional group G = 5 { optional int32 x = 1; } }
            """,
            """
            edition = "2023"; package c;
            option features.enum_type = CLOSED; option features.repeated_field_encoding = EXPANDED;
            option features.utf8_validation = NONE; option features.json_format = LEGACY_BEST_EFFORT;
            enum E { ZERO = 0; } message M { int32 a = 1 [features.field_presence = LEGACY_REQUIRED];
            repeated int32 b = 2; string c = 3; E d = 4; message G { int32 x = 1; }
            G g = 5 [features.message_encoding = DELIMITED]; }
            """,
            "FileSyntaxChanged a.proto | File | FILE_SAME_SYNTAX")
        {
            WithoutBuf = "buf looks for the word required",
        },
        new(
            "proto3 becomes proto2",
            "enum E { ZERO = 0; } message M { int32 a = 1; string b = 2; }",
            """
            syntax = "proto2"; package c;
            enum E { ZERO = 0; } message M { optional int32 a = 1; optional string b = 2; }
            """,
            "FileSyntaxChanged a.proto | File | FILE_SAME_SYNTAX",
            "JsonFormatChanged c.E | Json | ENUM_SAME_JSON_FORMAT",
            "EnumOpennessChanged c.E | Source | ENUM_SAME_TYPE",
            "JsonFormatChanged c.M | Json | MESSAGE_SAME_JSON_FORMAT",
            "FieldCardinalityChanged c.M.a | Source | FIELD_SAME_CARDINALITY",
            "FieldCardinalityChanged c.M.b | Source | FIELD_SAME_CARDINALITY",
            "FieldUtf8Changed c.M.b | Source | FIELD_SAME_UTF8_VALIDATION, "
            + "FIELD_SAME_JAVA_UTF8_VALIDATION"),
        new(
            "cc_enable_arenas changes",
            "message M {}",
            "option cc_enable_arenas = false; message M {}",
            "FileOptionChanged a.proto | Source | FILE_SAME_CC_ENABLE_ARENAS"),
        new(
            "cc_generic_services changes",
            "message M {}",
            "option cc_generic_services = true; message M {}",
            "FileOptionChanged a.proto | Source | FILE_SAME_CC_GENERIC_SERVICES"),
        new(
            "csharp_namespace changes",
            "message M {}",
            """
            option csharp_namespace = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_CSHARP_NAMESPACE"),
        new(
            "go_package changes",
            "message M {}",
            """
            option go_package = "example.com/n"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_GO_PACKAGE"),
        new(
            "java_generic_services changes",
            "message M {}",
            "option java_generic_services = true; message M {}",
            "FileOptionChanged a.proto | Source | FILE_SAME_JAVA_GENERIC_SERVICES"),
        new(
            "java_multiple_files changes",
            "message M {}",
            "option java_multiple_files = true; message M {}",
            "FileOptionChanged a.proto | Source | FILE_SAME_JAVA_MULTIPLE_FILES"),
        new(
            "java_outer_classname changes",
            "message M {}",
            """
            option java_outer_classname = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_JAVA_OUTER_CLASSNAME"),
        new(
            "java_package changes",
            "message M {}",
            """
            option java_package = "n"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_JAVA_PACKAGE"),
        new(
            "objc_class_prefix changes",
            "message M {}",
            """
            option objc_class_prefix = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_OBJC_CLASS_PREFIX"),
        new(
            "optimize_for changes",
            "message M {}",
            "option optimize_for = CODE_SIZE; message M {}",
            "FileOptionChanged a.proto | Source | FILE_SAME_OPTIMIZE_FOR"),
        new(
            "php_class_prefix changes",
            "message M {}",
            """
            option php_class_prefix = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_PHP_CLASS_PREFIX"),
        new(
            "php_metadata_namespace changes",
            "message M {}",
            """
            option php_metadata_namespace = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_PHP_METADATA_NAMESPACE"),
        new(
            "php_namespace changes",
            "message M {}",
            """
            option php_namespace = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_PHP_NAMESPACE"),
        new(
            "py_generic_services changes",
            "message M {}",
            "option py_generic_services = true; message M {}",
            "FileOptionChanged a.proto | Source | FILE_SAME_PY_GENERIC_SERVICES"),
        new(
            "ruby_package changes",
            "message M {}",
            """
            option ruby_package = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_RUBY_PACKAGE"),
        new(
            "swift_prefix changes",
            "message M {}",
            """
            option swift_prefix = "N"; message M {}
            """,
            "FileOptionChanged a.proto | Source | FILE_SAME_SWIFT_PREFIX"),
        new(
            "A schema grows",
            "message Q {} message R {} enum E { ZERO = 0; } service S { rpc A (Q) returns (R); }",
            "message Q {} message R {} enum E { ZERO = 0; ONE = 1; } message T { E e = 1; } "
            + "service S { rpc A (Q) returns (R); rpc B (T) returns (T); } service U { rpc A (Q) "
            + "returns (R); }"),
    ];
}
