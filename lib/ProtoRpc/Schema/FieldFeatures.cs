using Google.Protobuf.Reflection;
using static Google.Protobuf.Reflection.FeatureSet.Types;

namespace ProtoRpc.Schema;

/// <summary>The language features of an element, for every syntax and edition.</summary>
/// <remarks>
/// Computed here because the descriptors of Google.Protobuf 3.25 know nothing of editions: they take every
/// edition for a file without presence and without packing.
/// </remarks>
internal sealed record FieldFeatures(
    FieldPresence Presence,
    EnumType EnumType,
    RepeatedFieldEncoding Repeated,
    Utf8Validation Utf8,
    MessageEncoding Encoding)
{
    private const int Edition2023 = 1000;
    private const int LastKnownEdition = 1002;

    private static readonly FieldFeatures Proto2 = new(
        FieldPresence.Explicit, EnumType.Closed, RepeatedFieldEncoding.Expanded,
        Utf8Validation.None, MessageEncoding.LengthPrefixed);

    private static readonly FieldFeatures Proto3 = new(
        FieldPresence.Implicit, EnumType.Open, RepeatedFieldEncoding.Packed,
        Utf8Validation.Verify, MessageEncoding.LengthPrefixed);

    // The editions so far differ in features that concern source code only.
    private static readonly FieldFeatures Editions = Proto3 with { Presence = FieldPresence.Explicit };

    /// <summary>The features of a file.</summary>
    /// <exception cref="RpcException">InvalidArgument for a syntax or edition that is not known.</exception>
    public static FieldFeatures OfFile(FileDescriptorProto file)
    {
        FieldFeatures defaults = file.Syntax switch
        {
            "" or "proto2" => Proto2,
            "proto3" => Proto3,
            "editions" when (int)file.Edition is >= Edition2023 and <= LastKnownEdition => Editions,
            "editions" => throw SchemaError.Invalid(
                $"'{file.Name}' uses edition {(int)file.Edition}, which is not supported; 2023 and "
                + "2024 are."),
            _ => throw SchemaError.Invalid(
                $"'{file.Name}' has the syntax '{file.Syntax}'; proto2, proto3 and editions are supported."),
        };
        return defaults.With(file.Options?.Features);
    }

    /// <summary>The name of an edition as it is written in a .proto.</summary>
    public static string EditionName(Edition edition) => (int)edition switch
    {
        Edition2023 => "2023",
        Edition2023 + 1 => "2024",
        // There was none in 2025.
        LastKnownEdition => "2026",
        _ => throw new ArgumentOutOfRangeException(nameof(edition), edition, "Not an edition."),
    };

    /// <summary>These features with those that an element sets itself.</summary>
    public FieldFeatures With(FeatureSet? own) => own is null ? this : new FieldFeatures(
        own.HasFieldPresence ? own.FieldPresence : Presence,
        own.HasEnumType ? own.EnumType : EnumType,
        own.HasRepeatedFieldEncoding ? own.RepeatedFieldEncoding : Repeated,
        own.HasUtf8Validation ? own.Utf8Validation : Utf8,
        own.HasMessageEncoding ? own.MessageEncoding : Encoding);
}
