namespace ProtoRpc.Tests.Compatibility;

/// <summary>Pairs of schemas in which fields change.</summary>
internal static class FieldChangeCases
{
    /// <summary>Changes of fields of messages.</summary>
    public static IReadOnlyList<SchemaChange> Fields { get; } =
    [
        new(
            "A field is deleted",
            "message M { int32 a = 1; string b = 2; }",
            "message M { int32 a = 1; }",
            "FieldDeleted c.M.b | Wire, Json, Source | FIELD_NO_DELETE, "
            + "FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED, FIELD_NO_DELETE_UNLESS_NAME_RESERVED"),
        new(
            "A field is deleted, and its number is reserved",
            "message M { int32 a = 1; string b = 2; }",
            "message M { reserved 2; int32 a = 1; }",
            "FieldDeleted c.M.b | Json, Source | FIELD_NO_DELETE, FIELD_NO_DELETE_UNLESS_NAME_RESERVED"),
        new(
            "A field is deleted, and its name is reserved",
            "message M { int32 a = 1; string b = 2; }",
            """
            message M { reserved "b"; int32 a = 1; }
            """,
            "FieldDeleted c.M.b | Wire, Source | FIELD_NO_DELETE, "
            + "FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED"),
        new(
            "A field is deleted, and both are reserved",
            "message M { int32 a = 1; string b = 2; }",
            """
            message M { reserved 2 to 5; reserved "b"; int32 a = 1; }
            """,
            "FieldDeleted c.M.b | Source | FIELD_NO_DELETE"),
        new(
            "A field is renamed",
            "message M { int32 first_name = 1; }",
            "message M { int32 last_name = 1; }",
            "FieldRenamed c.M.first_name | Json, Source | FIELD_SAME_NAME, FIELD_SAME_JSON_NAME"),
        new(
            "A field is renamed and keeps its name in JSON",
            "message M { int32 first_name = 1; }",
            """
            message M { int32 last_name = 1 [json_name = "firstName"]; }
            """,
            "FieldRenamed c.M.first_name | Json, Source | FIELD_SAME_NAME"),
        new(
            "A field gets a name in JSON",
            "message M { int32 first_name = 1; }",
            """
            message M { int32 first_name = 1 [json_name = "first"]; }
            """,
            "FieldJsonNameChanged c.M.first_name | Json | FIELD_SAME_JSON_NAME"),
        new(
            "A field has another number",
            "message M { int32 a = 1; }",
            "message M { int32 a = 2; }",
            "FieldDeleted c.M.a | Wire, Json, Source | FIELD_NO_DELETE, "
            + "FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED, FIELD_NO_DELETE_UNLESS_NAME_RESERVED"),
        new(
            "A field of int32 becomes int64",
            "enum E { ZERO = 0; } message M { int32 a = 1; }",
            "enum E { ZERO = 0; } message M { int64 a = 1; }",
            "FieldTypeChanged c.M.a | Json, Source | FIELD_SAME_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of int32 becomes uint32",
            "enum E { ZERO = 0; } message M { int32 a = 1; }",
            "enum E { ZERO = 0; } message M { uint32 a = 1; }",
            "FieldTypeChanged c.M.a | Source | FIELD_SAME_TYPE"),
        new(
            "A field of int32 becomes sint32",
            "enum E { ZERO = 0; } message M { int32 a = 1; }",
            "enum E { ZERO = 0; } message M { sint32 a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of int64 becomes uint64",
            "enum E { ZERO = 0; } message M { int64 a = 1; }",
            "enum E { ZERO = 0; } message M { uint64 a = 1; }",
            "FieldTypeChanged c.M.a | Source | FIELD_SAME_TYPE"),
        new(
            "A field of uint32 becomes bool",
            "enum E { ZERO = 0; } message M { uint32 a = 1; }",
            "enum E { ZERO = 0; } message M { bool a = 1; }",
            "FieldTypeChanged c.M.a | Json, Source | FIELD_SAME_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of sint32 becomes sint64",
            "enum E { ZERO = 0; } message M { sint32 a = 1; }",
            "enum E { ZERO = 0; } message M { sint64 a = 1; }",
            "FieldTypeChanged c.M.a | Json, Source | FIELD_SAME_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of fixed32 becomes sfixed32",
            "enum E { ZERO = 0; } message M { fixed32 a = 1; }",
            "enum E { ZERO = 0; } message M { sfixed32 a = 1; }",
            "FieldTypeChanged c.M.a | Source | FIELD_SAME_TYPE"),
        new(
            "A field of fixed32 becomes int32",
            "enum E { ZERO = 0; } message M { fixed32 a = 1; }",
            "enum E { ZERO = 0; } message M { int32 a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of fixed64 becomes int64",
            "enum E { ZERO = 0; } message M { fixed64 a = 1; }",
            "enum E { ZERO = 0; } message M { int64 a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of float becomes double",
            "enum E { ZERO = 0; } message M { float a = 1; }",
            "enum E { ZERO = 0; } message M { double a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of string becomes bytes",
            "enum E { ZERO = 0; } message M { string a = 1; }",
            "enum E { ZERO = 0; } message M { bytes a = 1; }",
            "FieldTypeChanged c.M.a | Json, Source | FIELD_SAME_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of bytes becomes string",
            "enum E { ZERO = 0; } message M { bytes a = 1; }",
            "enum E { ZERO = 0; } message M { string a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of string becomes int32",
            "enum E { ZERO = 0; } message M { string a = 1; }",
            "enum E { ZERO = 0; } message M { int32 a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of int32 becomes E",
            "enum E { ZERO = 0; } message M { int32 a = 1; }",
            "enum E { ZERO = 0; } message M { E a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of E becomes int32",
            "enum E { ZERO = 0; } message M { E a = 1; }",
            "enum E { ZERO = 0; } message M { int32 a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field of M becomes bytes",
            "enum E { ZERO = 0; } message M { M a = 1; }",
            "enum E { ZERO = 0; } message M { bytes a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE",
            "FieldCardinalityChanged c.M.a | Source | FIELD_SAME_CARDINALITY"),
        new(
            "A field of double becomes M",
            "enum E { ZERO = 0; } message M { double a = 1; }",
            "enum E { ZERO = 0; } message M { M a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE",
            "FieldCardinalityChanged c.M.a | Source | FIELD_SAME_CARDINALITY"),
        new(
            "A field has another message",
            "message A { int32 x = 1; } message B { int32 x = 1; } message M { A a = 1; }",
            "message A { int32 x = 1; } message B { int32 x = 1; } message M { B a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field has another enum",
            "enum E { E_ZERO = 0; } enum F { F_ZERO = 0; } message M { E a = 1; }",
            "enum E { E_ZERO = 0; } enum F { F_ZERO = 0; } message M { F a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field has an enum of the same name with the same values and more",
            "message M { enum E { ZERO = 0; } E a = 1; } message N { enum E { ZERO = 0; ONE = 1; } }",
            "message M { enum E { ZERO = 0; } N.E a = 1; } message N { enum E { ZERO = 0; ONE = 1; } }",
            "FieldTypeChanged c.M.a | Source | FIELD_SAME_TYPE"),
        new(
            "A field has an enum of the same name with other values",
            "message M { enum E { ZERO = 0; } E a = 1; } message N { enum E { NULL = 0; ONE = 1; } }",
            "message M { enum E { ZERO = 0; } N.E a = 1; } message N { enum E { NULL = 0; ONE = 1; } }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A field becomes repeated",
            "message M { int32 a = 1; }",
            "message M { repeated int32 a = 1; }",
            "FieldCardinalityChanged c.M.a | Wire, Json, Source | FIELD_SAME_CARDINALITY, "
            + "FIELD_WIRE_COMPATIBLE_CARDINALITY, FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY"),
        new(
            "A field gets presence",
            "message M { int32 a = 1; }",
            "message M { optional int32 a = 1; }",
            "FieldCardinalityChanged c.M.a | Source | FIELD_SAME_CARDINALITY"),
        new(
            "A repeated field becomes a map",
            "message M { repeated AEntry a = 1; message AEntry { string key = 1; int32 value = 2; } }",
            "message M { map<string, int32> a = 1; }",
            "FieldCardinalityChanged c.M.a | Json, Source | FIELD_SAME_CARDINALITY, "
            + "FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY"),
        new(
            "The values of a map have another type",
            "message M { map<string, int32> a = 1; }",
            "message M { map<string, string> a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "The keys of a map have another type",
            "message M { map<int32, int32> a = 1; }",
            "message M { map<int64, int32> a = 1; }",
            "FieldTypeChanged c.M.a | Json, Source | FIELD_SAME_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "The values of a map are another message",
            "message A {} message B {} message M { map<string, A> a = 1; }",
            "message A {} message B {} message M { map<string, B> a = 1; }",
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A map is renamed",
            "message M { map<string, int32> a = 1; }",
            "message M { map<string, int32> b = 1; }",
            "FieldRenamed c.M.a | Json, Source | FIELD_SAME_NAME, FIELD_SAME_JSON_NAME")
        {
            WithoutBuf = "buf names the entry of the map, as another message",
        },
        new(
            "Packed becomes expanded, which all parsers read",
            "message M { repeated int32 a = 1; }",
            "message M { repeated int32 a = 1 [packed = false]; }"),
        new(
            "A field moves into a oneof",
            "message M { oneof o { int32 x = 2; } int32 a = 1; }",
            "message M { oneof o { int32 x = 2; int32 a = 1; } }",
            "FieldCardinalityChanged c.M.a | Source | FIELD_SAME_CARDINALITY",
            "FieldOneofChanged c.M.a | Wire, Json, Source | FIELD_SAME_ONEOF"),
        new(
            "A field moves out of a oneof",
            "message M { oneof o { int32 a = 1; int32 x = 2; } }",
            "message M { oneof o { int32 x = 2; } optional int32 a = 1; }",
            "FieldOneofChanged c.M.a | Wire, Json, Source | FIELD_SAME_ONEOF"),
        new(
            "A field moves to another oneof",
            "message M { oneof o { int32 a = 1; int32 x = 2; } oneof p { int32 y = 3; } }",
            "message M { oneof o { int32 x = 2; } oneof p { int32 y = 3; int32 a = 1; } }",
            "FieldOneofChanged c.M.a | Wire, Json, Source | FIELD_SAME_ONEOF"),
        new(
            "A oneof is deleted",
            "message M { oneof o { int32 a = 1; } }",
            "message M { optional int32 a = 1; }",
            "FieldOneofChanged c.M.a | Wire, Json, Source | FIELD_SAME_ONEOF",
            "OneofDeleted c.M.o | Source | ONEOF_NO_DELETE"),
        new(
            "A oneof is renamed",
            "message M { oneof o { int32 a = 1; } }",
            "message M { oneof p { int32 a = 1; } }",
            "FieldOneofChanged c.M.a | Wire, Json, Source | FIELD_SAME_ONEOF",
            "OneofDeleted c.M.o | Source | ONEOF_NO_DELETE"),
        new(
            "A required field is added",
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1; }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1; required int32 b = 2; }
            """,
            "RequiredFieldAdded c.M.b | Wire, Json | MESSAGE_SAME_REQUIRED_FIELDS"),
        new(
            "A required field is deleted",
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1; required int32 b = 2; }
            """,
            """
            syntax = "proto2"; package c;
            message M { reserved 2; reserved "b"; optional int32 a = 1; }
            """,
            "FieldDeleted c.M.b | Wire, Json, Source | FIELD_NO_DELETE, MESSAGE_SAME_REQUIRED_FIELDS"),
        new(
            "A required field becomes optional",
            """
            syntax = "proto2"; package c;
            message M { required int32 a = 1; }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1; }
            """,
            "FieldCardinalityChanged c.M.a | Wire, Json, Source | FIELD_SAME_CARDINALITY, "
            + "FIELD_WIRE_COMPATIBLE_CARDINALITY, FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY, "
            + "MESSAGE_SAME_REQUIRED_FIELDS"),
        new(
            "An optional field becomes required",
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1; }
            """,
            """
            syntax = "proto2"; package c;
            message M { required int32 a = 1; }
            """,
            "FieldCardinalityChanged c.M.a | Wire, Json, Source | FIELD_SAME_CARDINALITY, "
            + "FIELD_WIRE_COMPATIBLE_CARDINALITY, FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY, "
            + "MESSAGE_SAME_REQUIRED_FIELDS"),
        new(
            "A default changes",
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1 [default = 5]; }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1 [default = 6]; }
            """,
            "FieldDefaultChanged c.M.a | Wire, Json | FIELD_SAME_DEFAULT"),
        new(
            "A default is added",
            """
            syntax = "proto2"; package c;
            message M { optional string a = 1; optional bytes b = 2; }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional string a = 1 [default = "x"];
            optional bytes b = 2 [default = "\001"]; }
            """,
            "FieldDefaultChanged c.M.a | Wire, Json | FIELD_SAME_DEFAULT",
            "FieldDefaultChanged c.M.b | Wire, Json | FIELD_SAME_DEFAULT"),
        new(
            "A default is written in another way",
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1; optional double b = 2 [default = 1.50];
            optional bool c = 3; }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1 [default = 0]; optional double b = 2 [default = 15e-1];
            optional bool c = 3 [default = false]; }
            """),
        new(
            "The first value of an enum is another default",
            """
            syntax = "proto2"; package c;
            enum E { ONE = 1; TWO = 2; } message M { optional E a = 1; }
            """,
            """
            syntax = "proto2"; package c;
            enum E { TWO = 2; ONE = 1; } message M { optional E a = 1; }
            """,
            "FieldDefaultChanged c.M.a | Wire, Json | FIELD_SAME_DEFAULT"),
        new(
            "A type and a default change",
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1 [default = 1]; optional float b = 2 [default = 0.1];
            optional string c = 3 [default = "x"]; optional string d = 4; }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional int64 a = 1 [default = 1]; optional double b = 2 [default = 0.1];
            optional bytes c = 3 [default = "x"]; optional int32 d = 4; }
            """,
            "FieldTypeChanged c.M.a | Json, Source | FIELD_SAME_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE",
            "FieldTypeChanged c.M.b | Wire, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE",
            "FieldTypeChanged c.M.c | Json, Source | FIELD_SAME_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE",
            "FieldTypeChanged c.M.d | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A text with a default becomes a number",
            """
            syntax = "proto2"; package c;
            message M { optional string a = 1 [default = "x"]; }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional int32 a = 1; }
            """,
            "FieldTypeChanged c.M.a | Wire, Json, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE",
            "FieldDefaultChanged c.M.a | Wire, Json | FIELD_SAME_DEFAULT"),
        new(
            "jstype changes",
            "message M { int64 a = 1; }",
            "message M { int64 a = 1 [jstype = JS_STRING]; }",
            "FieldOptionChanged c.M.a | Source | FIELD_SAME_JSTYPE"),
        new(
            "ctype changes",
            "message M { string a = 1; }",
            "message M { string a = 1 [ctype = CORD]; }",
            "FieldOptionChanged c.M.a | Source | FIELD_SAME_CPP_STRING_TYPE"),
        new(
            "ctype changes from a piece to a string",
            "message M { string a = 1 [ctype = STRING_PIECE]; }",
            "message M { string a = 1; }"),
        new(
            "utf8_validation changes",
            """
            edition = "2023"; package c;
            message M { string a = 1; }
            """,
            """
            edition = "2023"; package c;
            message M { string a = 1 [features.utf8_validation = NONE]; }
            """,
            "FieldUtf8Changed c.M.a | Source | FIELD_SAME_UTF8_VALIDATION, "
            + "FIELD_SAME_JAVA_UTF8_VALIDATION"),
        new(
            "java_string_check_utf8 changes",
            """
            syntax = "proto2"; package c;
            message M { optional string a = 1; }
            """,
            """
            syntax = "proto2"; package c;
            option java_string_check_utf8 = true;
            message M { optional string a = 1; }
            """,
            "FieldUtf8Changed c.M.a | Source | FIELD_SAME_JAVA_UTF8_VALIDATION"),
        new(
            "string_type of C++ changes",
            """
            --- cpp.proto
            syntax = "proto2"; package pb; import "google/protobuf/descriptor.proto";
            extend google.protobuf.FeatureSet { optional CppFeatures cpp = 1000; }
            message CppFeatures { optional StringType string_type = 2 [
              retention = RETENTION_RUNTIME, targets = TARGET_TYPE_FIELD, targets = TARGET_TYPE_FILE,
              feature_support = { edition_introduced: EDITION_2023 },
              edition_defaults = { edition: EDITION_LEGACY, value: "STRING" }];
              enum StringType { STRING_TYPE_UNKNOWN = 0; VIEW = 1; CORD = 2; STRING = 3; } }
            --- a.proto
            edition = "2023"; package c; import "cpp.proto";
            option features.(pb.cpp).string_type = STRING;
            message M { string a = 1; }
            """,
            """
            --- cpp.proto
            syntax = "proto2"; package pb; import "google/protobuf/descriptor.proto";
            extend google.protobuf.FeatureSet { optional CppFeatures cpp = 1000; }
            message CppFeatures { optional StringType string_type = 2 [
              retention = RETENTION_RUNTIME, targets = TARGET_TYPE_FIELD, targets = TARGET_TYPE_FILE,
              feature_support = { edition_introduced: EDITION_2023 },
              edition_defaults = { edition: EDITION_LEGACY, value: "STRING" }];
              enum StringType { STRING_TYPE_UNKNOWN = 0; VIEW = 1; CORD = 2; STRING = 3; } }
            --- a.proto
            edition = "2023"; package c; import "cpp.proto";
            option features.(pb.cpp).string_type = VIEW;
            message M { string a = 1; }
            """,
            "FieldOptionChanged c.M.a | Source | FIELD_SAME_CPP_STRING_TYPE"),
        new(
            "string_type of C++ changes, but not that of a field",
            """
            --- cpp.proto
            syntax = "proto2"; package pb; import "google/protobuf/descriptor.proto";
            extend google.protobuf.FeatureSet { optional CppFeatures cpp = 1000; }
            message CppFeatures { optional StringType string_type = 2 [
              retention = RETENTION_RUNTIME, targets = TARGET_TYPE_FIELD, targets = TARGET_TYPE_FILE,
              feature_support = { edition_introduced: EDITION_2023 },
              edition_defaults = { edition: EDITION_LEGACY, value: "STRING" }];
              enum StringType { STRING_TYPE_UNKNOWN = 0; VIEW = 1; CORD = 2; STRING = 3; } }
            --- a.proto
            edition = "2023"; package c; import "cpp.proto";
            option features.(pb.cpp).string_type = CORD;
            message M { string a = 1 [features.(pb.cpp).string_type = STRING]; }
            """,
            """
            --- cpp.proto
            syntax = "proto2"; package pb; import "google/protobuf/descriptor.proto";
            extend google.protobuf.FeatureSet { optional CppFeatures cpp = 1000; }
            message CppFeatures { optional StringType string_type = 2 [
              retention = RETENTION_RUNTIME, targets = TARGET_TYPE_FIELD, targets = TARGET_TYPE_FILE,
              feature_support = { edition_introduced: EDITION_2023 },
              edition_defaults = { edition: EDITION_LEGACY, value: "STRING" }];
              enum StringType { STRING_TYPE_UNKNOWN = 0; VIEW = 1; CORD = 2; STRING = 3; } }
            --- a.proto
            edition = "2023"; package c; import "cpp.proto";
            option features.(pb.cpp).string_type = STRING;
            message M { string a = 1; }
            """),
        new(
            "utf8_validation of Java changes",
            """
            --- java.proto
            syntax = "proto2"; package pb; import "google/protobuf/descriptor.proto";
            extend google.protobuf.FeatureSet { optional JavaFeatures java = 1001; }
            message JavaFeatures { optional Utf8Validation utf8_validation = 2 [
              retention = RETENTION_RUNTIME, targets = TARGET_TYPE_FIELD, targets = TARGET_TYPE_FILE,
              feature_support = { edition_introduced: EDITION_2023 },
              edition_defaults = { edition: EDITION_LEGACY, value: "DEFAULT" }];
              enum Utf8Validation { UTF8_VALIDATION_UNKNOWN = 0; DEFAULT = 1; VERIFY = 2; } }
            --- a.proto
            edition = "2023"; package c; import "java.proto";
            option features.utf8_validation = NONE;
            message M { string a = 1; }
            """,
            """
            --- java.proto
            syntax = "proto2"; package pb; import "google/protobuf/descriptor.proto";
            extend google.protobuf.FeatureSet { optional JavaFeatures java = 1001; }
            message JavaFeatures { optional Utf8Validation utf8_validation = 2 [
              retention = RETENTION_RUNTIME, targets = TARGET_TYPE_FIELD, targets = TARGET_TYPE_FILE,
              feature_support = { edition_introduced: EDITION_2023 },
              edition_defaults = { edition: EDITION_LEGACY, value: "DEFAULT" }];
              enum Utf8Validation { UTF8_VALIDATION_UNKNOWN = 0; DEFAULT = 1; VERIFY = 2; } }
            --- a.proto
            edition = "2023"; package c; import "java.proto";
            option features.utf8_validation = NONE;
            option features.(pb.java).utf8_validation = VERIFY;
            message M { string a = 1; }
            """,
            "FieldUtf8Changed c.M.a | Source | FIELD_SAME_JAVA_UTF8_VALIDATION"),
        new(
            "A message becomes delimited",
            """
            edition = "2023"; package c;
            message M { M a = 1; }
            """,
            """
            edition = "2023"; package c;
            message M { M a = 1 [features.message_encoding = DELIMITED]; }
            """,
            "FieldTypeChanged c.M.a | Wire, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
        new(
            "A group becomes a message",
            """
            syntax = "proto2"; package c;
            message M { optional group A = 1 { optional int32 x = 1; } }
            """,
            """
            syntax = "proto2"; package c;
            message M { optional A a = 1; message A { optional int32 x = 1; } }
            """,
            "FieldTypeChanged c.M.a | Wire, Source | FIELD_SAME_TYPE, "
            + "FIELD_WIRE_COMPATIBLE_TYPE, FIELD_WIRE_JSON_COMPATIBLE_TYPE"),
    ];
}
