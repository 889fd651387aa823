using System.Text.RegularExpressions;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using ProtobufTestMessages.Proto3;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A difference between our ProtoJSON and that of Google.Protobuf 3.36.2 that was judged: ours is
/// what the specification, the conformance tests or most other implementations do.</summary>
/// <param name="Reason">Who is right, and by which word.</param>
/// <param name="Refusal">What the one that refuses says, as a regular expression.</param>
/// <param name="Text">What the text must have, too; with its escapes of ASCII resolved.</param>
internal sealed partial record JsonDifference(string Reason, string Refusal, string Text = "")
{
    private readonly Regex _refusal = new(Refusal, RegexOptions.CultureInvariant | RegexOptions.Singleline);
    private readonly Regex _text = new(Text, RegexOptions.CultureInvariant | RegexOptions.Singleline);

    /// <summary>How often it occurred.</summary>
    public long Count { get; set; }

    /// <summary>What only we refuse to read.</summary>
    public static JsonDifference[] OnlyTheyRead { get; } =
    [
        new(
            "A required field is missing: Google.Protobuf leaves that to the caller.",
            "^MissingRequiredField"),
        new("A field occurs twice: the conformance tests take an error (FieldNameDuplicate).",
            "the field occurs twice"),
        new("A key of a map occurs twice: readers differ in the value that they take, as for a field.",
            "the key occurs twice"),
        new("A number that a closed enum does not have is no value of it (protobuf.dev, Enum Behavior).",
            "which is closed"),
        new("Google.Protobuf reads numbers as double, so a small fraction is lost.",
            @": [^ ]*(\.\d{15,}|\d{15,}\.\d*|[eE]-\d+) is not a (whole number|number of the enum)"),
        new("A path of a FieldMask has letters, digits and dots, as in C++.", "is not a list of paths"),
        new(
            "Base64 has no spaces and line breaks (RFC 4648, 3.3).",
            @"'[^']*(\s|\\[nrt])[^']*' \(String\) is not base64"),
        new(
            "Its regular expressions end before a line break.",
            @"(\n|\\n)' \(String\) is not a (time|duration) such as"),
        new("What is in quotes is a number of JSON, too: no 1. and .5, and no zeros (\\u0000) at the end.",
            @"'(-?\.\d[^']*|-?\d+\.([eE][^']*)?|[^']*(\0|\\0|\\u0000))' "
                + @"\(String\) is not a (whole )?number"),
        new(
            "null is no value of a wrapper that is no field.",
            @"\.value: (null is not a|google\.protobuf\.\w+Value\.value needs text in quotes, not null)"),
        new(
            "With IgnoreUnknownFields: it passes over extensions, which it does not have.",
            @"^\w+: [^ ]*\.\[\w+(\.\w+)+\]"),
        new(
            "With IgnoreUnknownFields: it passes over what is in an Any without \"@type\".",
            "an Any needs '@type'"),
        new(
            "An Any without \"@type\": it passes over its fields, whatever they are.",
            @"google\.protobuf\.Any(\.(type_url|value) needs| has no field)"),
    ];

    /// <summary>What only Google.Protobuf refuses to read.</summary>
    public static JsonDifference[] OnlyWeRead { get; } =
    [
        new("It has no extensions in JSON (FieldNameExtension is in its list of failures).",
            @"Unknown field: \["),
        new(
            "null sets no field of a oneof, so another may follow (OneofFieldNullFirst, in its list).",
            "Multiple values specified for oneof", @":\s*null\s*[,}]"),
        new(
            "An Any of an unknown type is its bytes: a reply must not be lost for it.",
            "no descriptor for type name", "\"value\"\\s*:\\s*\""),
        new("google.protobuf.Empty has no \"value\" in an Any (AnyEmpty).",
            "Expected 'value' property for well-known type", "protobuf.Empty"),
        new(
            "Base64 may lack padding and have the alphabet for URLs (BytesFieldBase64Url, in its list).",
            "InvalidProtocolBufferException: Invalid base64 data"),
        new(
            "RFC 3339 has offsets up to 23:59, and -00:00.",
            @"Invalid Timestamp value: \S+([+-](1[89]|2\d):\d\d|-00:00)$"),
        new("Zeros before a Duration are read, as in C++ and Java.", @"Invalid Duration value: -?0\d"),
        new(
            "It reads numbers as double, so the largest of 64 bits do not fit.",
            @"Value out of range: (-?9\.223372036854776E\+18|1\.8446744073709552E\+19)$"),
        new("With IgnoreUnknownFields: what stands beside \"value\" in an Any is passed over.",
            "^ignoring: .*Expected end-object token after @type/value for well-known type"),
        new("With IgnoreUnknownFields: also what stands before it.",
            "^ignoring: .*Expected 'value' property for well-known type", "\"value\"\\s*:"),
        new("With IgnoreUnknownFields: a name that an enum does not have sets no field of a oneof.",
            "^ignoring: .*Multiple values specified for oneof"),
        new("With IgnoreUnknownFields: what is passed over only has to be JSON.",
            "^ignoring: .*(surrogate pair|Numeric value out of range|DecoderFallbackException)"),
    ];

    /// <summary>What only we refuse to write.</summary>
    public static JsonDifference[] OnlyTheyWrite { get; } =
    [
        new(
            "A required field is missing: Google.Protobuf leaves that to the caller.",
            "^MissingRequiredField"),
        new(
            "A Value holds no NaN and no infinite number (ValueRejectNanNumberValue, in its list).",
            "a Value cannot hold NaN"),
        new(
            "A path of a FieldMask has letters, digits and dots, as in C++.",
            "the path '.*' cannot be written"),
    ];

    /// <summary>What only Google.Protobuf refuses to write.</summary>
    public static JsonDifference[] OnlyWeWrite { get; } =
    [
        new(
            "A Value without a kind is null, as in C++, Java and Python.",
            "must contain a value for the oneof"),
        new(
            "An Any of an unknown type is its bytes: a reply must not be lost for it.",
            "no descriptor for type name '"),
        new("A Struct may have an empty key.", "cannot have an empty key"),
    ];

    /// <summary>Cases of the rows of reading.</summary>
    public static (string Type, string Json)[] Cases { get; } =
    [
        ("TestAllTypesProto3", """{"optionalInt32":1,"optionalInt32":1}"""),
        ("TestAllTypesProto3", """{"mapInt32Int32":{"1":1,"1":1}}"""),
        ("TestAllTypesProto2", """{"optionalNestedEnum":99}"""),
        ("TestAllTypesProto3", """{"optionalInt32":1.0000000000000000000000001}"""),
        ("TestAllTypesProto3", """{"optionalFieldMask":"a,,b"}"""),
        ("TestAllTypesProto3", """{"optionalBytes":"Y Q=="}"""),
        ("TestAllTypesProto3", """{"optionalDuration":"1s\n"}"""),
        ("TestAllTypesProto3", """{"optionalDouble":".5"}"""),
        ("TestAllTypesProto3", """{"optionalDouble":"1."}"""),
        ("TestAllTypesProto3", """{"optionalInt32":"1\u0000"}"""),
        ("TestAllTypesProto3", """{"optionalAny":{"@type":"a/google.protobuf.Int32Value","value":null}}"""),
        (
            "TestAllTypesProto3",
            """{"optionalAny":{"@type":"a/google.protobuf.Int32Value","x":0,"value":1}}"""),
        ("TestAllTypesProto2", """{"[protobuf_test_messages.proto2.extension_int32]":1}"""),
        ("TestAllTypesProto3", """{"oneofUint32":null,"oneofString":"a"}"""),
        ("TestAllTypesProto3", """{"optionalAny":{}}"""),
        ("TestAllTypesProto3", """{"optionalAny":{"@type":"a/no.Such","value":"AQ=="}}"""),
        ("TestAllTypesProto3", """{"optionalAny":{"@type":"a/google.protobuf.Empty"}}"""),
        ("TestAllTypesProto3", """{"optionalBytes":"YQ"}"""),
        ("TestAllTypesProto3", """{"optionalTimestamp":"2024-02-29T12:30:00+19:00"}"""),
        ("TestAllTypesProto3", """{"optionalTimestamp":"2024-02-29T12:30:00-00:00"}"""),
        ("TestAllTypesProto3", """{"optionalDuration":"01s"}"""),
        ("TestAllTypesProto3", """{"optionalInt64":9223372036854775807}"""),
        ("TestAllTypesProto3", """{"optionalAny":{"@type":"a/google.protobuf.Empty","value":{},"x":1}}"""),
        ("TestAllTypesProto3", """{"optionalAny":{"x":1}}"""),
        ("TestAllTypesProto3", """{"oneofEnum":"NOBODY","oneofString":"a"}"""),
        ("TestAllTypesProto3", """{"nobody":"\ud800"}"""),
        ("TestAllTypesProto3", """{"optionalUint64":9007199254740993}"""),
        ("TestAllTypesProto3", """{"optionalFieldMask":"fooBAR"}"""),
        ("TestAllTypesProto3", """{"optionalDoubleWrapper":"-0"}"""),
        ("TestAllTypesProto2", """{"[protobuf_test_messages.proto2.extension_int32]":"x"}"""),
        ("Required", "{}"),
        ("TestAllTypesProto2", """{"mapStringNestedEnum":{"a":1,"a":99}}"""),
        ("TestAllTypesProto3", """{"optionalAny":{"@type":"a/google.protobuf.Struct","value":{"":null}}}"""),
    ];

    /// <summary>Cases of the rows of writing.</summary>
    public static IMessage[] Written { get; } =
    [
        new TestAllTypesProto3 { OptionalValue = Value.ForNumber(double.NaN) },
        new TestAllTypesProto3 { OptionalValue = new Value() },
        new TestAllTypesProto3 { OptionalAny = new Any() },
        new TestAllTypesProto3 { OptionalAny = new Any { Value = ByteString.CopyFromUtf8("a") } },
        new TestAllTypesProto3 { OptionalAny = new Any { TypeUrl = "a/no.Such" } },
        new TestAllTypesProto3 { OptionalAny = new Any { TypeUrl = "no.slash" } },
        new TestAllTypesProto3 { OptionalFieldMask = new FieldMask { Paths = { "a-b" } } },
        new TestAllTypesProto3 { OptionalStruct = new Struct { Fields = { [""] = Value.ForNull() } } },
        new TestAllTypesProto3 { OptionalNullValue = (NullValue)1 },
        new TestAllTypesProto3 { OptionalAny = new Any { TypeUrl = "a/everything.proto2.Required" } },
    ];

    /// <summary>The first row that a case is of; it is counted.</summary>
    public static bool IsJudged(JsonDifference[] rows, string refusal, string text)
    {
        string plain = Escape().Replace(text, match => $"{(char)Convert.ToInt32(match.Groups[1].Value, 16)}");
        JsonDifference? row = Array.Find(
            rows, row => row._refusal.IsMatch(refusal) && row._text.IsMatch(plain));
        if (row is null)
        {
            return false;
        }

        row.Count++;
        return true;
    }

    // Letters, digits and signs of ASCII.
    [GeneratedRegex(@"\\u00([2-7][0-9A-Fa-f])")]
    private static partial Regex Escape();
}
